"""Defaults of HAPPO."""

from algos.common.settings import JointRateConfig, MinibatchConfig
from config.model.fields import Fraction, PositiveInt
from config.model.memory_spec import RolloutSpec
from config.model.schedules import ScheduledClip


class Config(MinibatchConfig, JointRateConfig):
    """HAPPO: a policy of its own for each of several cooperating agents; each step of one counts with those before."""

    ACTION_SPACES = ("Discrete", "Box")
    SPECIAL_LAYERS = ()
    JOINT = True

    gae_lambda: Fraction = 0.95
    """Lambda of generalized advantage estimation: 0 is the 1-step TD error, 1 the Monte Carlo return less the value."""
    lr = 5e-4
    lr_schedule = "linear"
    batch_size: PositiveInt = 2048
    """Transitions collected per window, over all rows; one is a step of all agents."""
    sgd_batch_size: PositiveInt = 256
    """Transitions per minibatch; where the window does not divide evenly, the last one of an epoch is smaller."""
    k_epochs: PositiveInt = 5
    """Epochs: passes of each agent's policy, and of the value network, over each window."""
    eps_clip: ScheduledClip = 0.2
    """Clip range of the probability ratio of an agent, 1 - eps_clip to 1 + eps_clip."""
    entropy_coef = 0.01
    max_grad_norm = 0.5
    normalize_obs = True
    normalize_advantage: bool = True
    """Normalize the advantages of each window to mean 0 and standard deviation 1."""

    def needs_global_state(self) -> bool:
        return True

    def memory(self, rows: int) -> RolloutSpec:
        return RolloutSpec.of_transitions(self.batch_size, rows, reward_clip=self.reward_clip)
