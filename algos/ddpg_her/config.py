"""DDPG with hindsight experience replay."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator

from algos.td3.config import Config as TD3
from config.model.fields import Fraction, NonNegative, Positive, PositiveFraction, PositiveInt, lower
from config.model.schema import Needed


class Config(TD3):
    """DDPG_HER: DDPG with hindsight experience replay, for goal-conditioned environments."""

    FIXED: ClassVar[dict[str, Any]] = {
        "n_critics": 1,
        "policy_noise": 0.0,
        "her_ratio": Needed(lambda cfg: cfg.her_ratio > 0, "0 disables hindsight: this is DDPG then"),
    }

    n_critics: PositiveInt = 1
    policy_noise: NonNegative = 0.0
    policy_freq: PositiveInt = 1
    actor_lr: Positive = 1e-3
    tau: PositiveFraction = 0.05
    exploration_type: Annotated[Literal["gaussian", "ou", "none"], BeforeValidator(lower)] = "gaussian"
    expl_noise: NonNegative = 0.2
    her_ratio: Fraction = 0.8
