"""Defaults of A2C."""

from algos.common.settings import CentralCriticConfig
from config.model.fields import Fraction, NonNegative, Positive, PositiveInt
from config.model.layers import Layers, mlp
from config.model.memory_spec import RolloutSpec


class Config(CentralCriticConfig):
    """A2C: an on-policy actor-critic with one update from each short window of many environments."""

    ALIASES = {"critic_loss_coef": "value_coef", "vf_coef": "value_coef"}
    ACTION_SPACES = ("Discrete", "Box", "MultiDiscrete", "MultiBinary")
    SPECIAL_LAYERS = ("lstm", "gru")
    MAY_LAG = True

    actor_layers: Layers = mlp(64, 64, activation="tanh")
    """Layers of the policy network; its output layer is added automatically."""
    critic_layers: Layers = mlp(64, 64, activation="tanh")
    """Layers of the value network; its output layer is added automatically."""
    gae_lambda: Fraction = 0.95
    """Lambda of generalized advantage estimation: 0 is the 1-step TD error, 1 the n-step return up to the end of the
    window, less the value."""

    vtrace: bool = False
    """Correct off-policy data of workers that run ahead of the learner (general_cfg.run_ahead) with V-trace importance
    weights."""

    lr: Positive = 1e-3
    """Learning rate of actor and critic, unless actor_lr or critic_lr is set."""
    actor_lr: Positive | None = None
    """Learning rate of the actor; null is lr."""
    critic_lr: Positive | None = None
    """Learning rate of the critic; null is lr."""
    lr_schedule = "linear"
    batch_size: PositiveInt = 128
    """Transitions per update, over all rows: with n_envs 8, 128 are 16 steps of each."""
    entropy_coef: NonNegative = 0.0
    """Entropy bonus coefficient."""
    value_coef: NonNegative = 0.5
    """Value loss coefficient."""
    max_grad_norm = 0.5
    """Clips the global gradient norm to this value; null disables clipping."""
    normalize_obs = True
    normalize_advantage: bool = False
    """Normalize the advantages of each window to mean 0 and standard deviation 1."""
    log_std_init: float = 0.0
    """Initial log standard deviation of continuous actions; with unlike finite bounds, of actions scaled to -1..1."""
    normalize_reward: bool = False
    """Divide rewards by the running standard deviation of the discounted return. Saved with the model."""

    def memory(self, rows: int) -> RolloutSpec:
        length, sequence = max(1, self.batch_size // rows), 0 if self.remembers() else 1
        return RolloutSpec(length, sequence=sequence, reward_clip=self.reward_clip)
