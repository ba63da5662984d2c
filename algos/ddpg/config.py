"""DDPG: TD3 with one critic, no target policy smoothing and no policy delay."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator

from algos.td3.config import Config as TD3
from config.model.fields import NonNegative, Positive, PositiveFraction, PositiveInt, lower


class Config(TD3):
    """DDPG: a deterministic policy trained by the gradient of one critic."""

    FIXED: ClassVar[dict[str, Any]] = {"n_critics": 1, "policy_noise": 0.0}

    n_critics: PositiveInt = 1
    policy_noise: NonNegative = 0.0
    policy_freq: PositiveInt = 1
    actor_lr: Positive = 1e-4
    batch_size: PositiveInt = 128
    tau: PositiveFraction = 0.001
    exploration_type: Annotated[Literal["gaussian", "ou", "none"], BeforeValidator(lower)] = "ou"
    expl_noise: NonNegative = 0.2
