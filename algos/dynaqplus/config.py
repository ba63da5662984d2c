"""Defaults of Dyna-Q+."""

from algos.dynaq.config import Config as DynaQ
from config.model.inherit import Condition
from config.tell.language import tr


class Config(DynaQ):
    """DynaQPlus: Dyna-Q that tries again what it has not tried for long, since the environment may change."""

    NEEDED = {"kappa": Condition(lambda cfg: cfg.kappa > 0, tr("0 adds no bonus: this is DynaQ then"))}

    kappa = 1e-3
