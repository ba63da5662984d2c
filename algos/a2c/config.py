"""Defaults of A2C."""

from algos.common.settings import BonusConfig, CentralCriticConfig, JointRateConfig, StateNoiseConfig
from config.model.fields import Fraction, PositiveInt
from config.model.memory_spec import RolloutSpec


class Config(CentralCriticConfig, JointRateConfig, BonusConfig, StateNoiseConfig):
    """A2C: an on-policy actor-critic with one update from each short window of many environments."""

    MAY_LAG = True

    gae_lambda: Fraction = 0.95
    """Lambda of generalized advantage estimation: 0 is the 1-step TD error, 1 the n-step return up to the end of the
    window, less the value."""

    vtrace: bool = False
    """Correct off-policy data of workers that run ahead of the learner (general_cfg.run_ahead) with V-trace importance
    weights."""

    lr_schedule = "linear"
    batch_size: PositiveInt = 128
    """Transitions per update, over all rows: with n_envs 8, 128 are 16 steps of each."""
    max_grad_norm = 0.5
    normalize_obs = True
    normalize_advantage: bool = False
    """Normalize the advantages of each window to mean 0 and standard deviation 1."""

    def memory(self, rows: int) -> RolloutSpec:
        length, sequence = max(1, self.batch_size // rows), 0 if self.remembers() else 1
        return RolloutSpec(length, sequence=sequence, reward_clip=self.reward_clip)
