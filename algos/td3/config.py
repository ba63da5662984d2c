"""Defaults of TD3."""

from algos.common.settings import ActionNoise, ContinuousConfig, TargetConfig
from config.model.fields import NonNegative, Positive


class Config(ContinuousConfig, TargetConfig):
    """TD3: a deterministic policy with two critics, target policy smoothing and delayed policy updates."""

    SPECIAL_LAYERS = ("lstm", "gru")
    READ_WITH = {"noise_clip": ("policy_noise", ())}

    policy_freq = 2
    """Critic updates per update of the actor and the target networks (policy delay)."""
    target_update = 1
    """Actor updates between target-network updates, which is target_update times policy_freq critic updates."""
    policy_noise: NonNegative = 0.2
    """Standard deviation of the noise on target actions (smoothing), with actions scaled to -1..1."""
    noise_clip: NonNegative = 0.5
    """Clip range of that noise."""
    bc_alpha: Positive | None = None
    """Weight of the value in the policy's loss beside the squared distance to the actions of the data (TD3+BC); null:
    the value alone."""
    exploration_type: ActionNoise = "gaussian"
