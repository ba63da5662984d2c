"""Defaults of CQL: those of SAC, except for these."""

from typing import ClassVar

from algos.sac.config import Config as SAC
from config.schema import NonNegative, Positive, PositiveInt


class Config(SAC):
    """CQL: SAC on given data, with values that are low for actions that the data do not choose."""

    OFFLINE: ClassVar = True
    SPECIAL_LAYERS: ClassVar[tuple[str, ...]] = ()

    cql_alpha: NonNegative = 5.0
    """Weight of the conservative loss."""
    cql_actions: PositiveInt = 10
    """Number of actions that are drawn from each of the uniform distribution, the policy, and the policy in the next
    state, to estimate the conservative loss."""
    actor_lr: Positive = 1e-4
    critic_lr: Positive = 3e-4
    alpha_lr: Positive = 1e-4
