"""REDQ: SAC with ten critics and five updates per step."""

from algos.sac.config import Config as SAC
from config.model.schema import run


class Config(SAC):
    """REDQ: SAC with a large ensemble of critics, a random subset of which makes each target, and many updates per
    step."""

    RUN = run(steps=50_000, save=10_000)

    n_critics = 10
    actor_value = "mean"
    updates_per_train = 5
    policy_freq = 5
