"""Defaults of PPO."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from algos.common.settings import (
    BonusConfig,
    CentralCriticConfig,
    JointRateConfig,
    MinibatchConfig,
    RateCourse,
    StateNoiseConfig,
)
from config.model.fields import Fraction, Int, Positive, PositiveInt, lower, upper
from config.model.memory_spec import RolloutSpec
from config.model.schedules import ScheduledClip
from config.tell.language import tr


class Config(MinibatchConfig, CentralCriticConfig, JointRateConfig, BonusConfig, StateNoiseConfig):
    """PPO: an on-policy actor-critic whose updates keep the new policy near the one that collected the data."""

    MAY_LAG = True
    ADJUSTABLE = {"desired_kl"}
    READ_WITH = {
        "eps_clip": ("ppo_type", ("clip",)),
        "target_kl": ("ppo_type", ("clip",)),
        "kl_target": ("ppo_type", ("kl",)),
        "kl_lambda": ("ppo_type", ("kl",)),
        "kl_beta": ("ppo_type", ("kl",)),
        "kl_alpha": ("ppo_type", ("kl",)),
        "desired_kl": ("lr_schedule", ("adaptive",)),
    }

    gae_lambda: Fraction = 0.95
    """Lambda of generalized advantage estimation: 0 is the 1-step TD error, 1 the Monte Carlo return less the value."""

    vtrace: bool = False
    """Correct off-policy data of workers that run ahead of the learner (general_cfg.run_ahead) with V-trace importance
    weights."""

    lr = 5e-4
    lr_schedule: Literal[RateCourse, "adaptive"] = "linear"  # type: ignore[assignment]
    """Schedule of the learning rates that are numbers, over the planned run: linear and cosine decay towards 0 and need
    max_episode, max_total_step, max_update or max_iteration. A rate such as {linear: [0.001, 0.0001]} has its own. A
    window is learned with the rate at the start of its collection. adaptive multiplies those of the networks of
    policy and value by a factor from 0.01 to 10, which begins with 1 and changes after each window, towards updates as
    large as desired_kl asks for."""
    desired_kl: Positive = 0.01
    """adaptive: mean KL divergence in the last epoch of a window; below half of it, the learning rates become 1.5 times
    as large, above twice this, a third smaller."""
    batch_size: PositiveInt = 2048
    """Transitions collected per window, over all rows."""
    sgd_batch_size: PositiveInt = 256
    """Transitions per minibatch; where the window does not divide evenly, the last one of an epoch is smaller."""
    k_epochs: PositiveInt = 8
    """Epochs: passes over each window."""
    lookup_step: Annotated[Int, Field(ge=2)] = 16
    """With lstm or gru layers: steps per training sequence (truncated backpropagation through time)."""
    buffer_type: Annotated[Literal["ONPOLICY_QUE", "ONPOLICY"], BeforeValidator(upper)] = "ONPOLICY_QUE"
    """Rollout buffer of on-policy transitions; both names mean the same."""

    ppo_type: Annotated[Literal["clip", "kl"], BeforeValidator(lower)] = "clip"
    """Objective: clip is the clipped surrogate, kl the surrogate with an adaptive KL penalty."""
    eps_clip: ScheduledClip = 0.2
    """clip: clip range of the probability ratio, 1 - eps_clip to 1 + eps_clip."""
    target_kl: Positive | None = None
    """clip: stop the epochs of a window after the update whose approximate KL divergence exceeds 1.5 times this; null
    runs all epochs."""
    kl_target: Positive = 0.01
    """kl: target KL divergence per window, to which the penalty adapts."""
    kl_lambda: Positive = 0.5
    """kl: initial penalty coefficient."""
    kl_beta: Annotated[float, Field(ge=1.0)] = 1.5
    """kl: tolerance; the penalty changes if the KL divergence is above kl_target times this, or below kl_target divided
    by this."""
    kl_alpha: Annotated[float, Field(gt=1.0)] = 2.0
    """kl: factor of each change of the penalty."""
    value_clip: Positive | None = None
    """Clip range of the value around its value before the updates of the window; null disables value clipping."""
    max_grad_norm = 0.5
    normalize_obs = True
    normalize_advantage: bool = True
    """Normalize the advantages of each minibatch to mean 0 and standard deviation 1."""

    def memory(self, rows: int) -> RolloutSpec:
        sequence = self.lookup_step if self.remembers() else 1
        return RolloutSpec.of_transitions(
            self.batch_size, rows, self.k_epochs, self.sgd_batch_size, sequence, self.reward_clip
        )

    def must_wait(self) -> str | None:
        if (self.normalize_obs or self.ppo_type == "kl") and not self.vtrace:
            return tr("normalize_obs and ppo_type kl compare with the policy at the time a window arrives")
        return None
