"""Defaults of TD3."""

from collections.abc import Iterator
from dataclasses import replace

from algos.common.settings import ActionNoise, ContinuousConfig, TargetConfig
from config.model.fields import NonNegative, Positive, Problem
from config.model.memory_spec import ReplaySpec
from config.tell.language import tr


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
    bc_actor: NonNegative = 0.0
    """Weight of the squared distance to the actions of the data in the policy's loss, beside a value that is divided by
    its mean size (ReBRAC)."""
    bc_critic: NonNegative = 0.0
    """Weight of the squared distance of the target action to the next action of the data, which is subtracted from the
    value in the targets (ReBRAC)."""
    exploration_type: ActionNoise = "gaussian"

    def memory(self, rows: int) -> ReplaySpec:
        spec = super().memory(rows)
        return replace(spec, next_action=True) if self.bc_critic else spec

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.bc_alpha and self.bc_actor:
            message = tr("is another weight of the same distance; set bc_alpha to null, or this to 0")
            yield Problem("bc_actor", message, depends_on=("bc_alpha",))
        if self.bc_critic and self.remembers():
            yield Problem("bc_critic", tr("does not support lstm and gru layers; set it to 0"))
