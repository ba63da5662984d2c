"""Defaults of Sarsa(lambda)."""

from algos.sarsa.config import Config as Sarsa
from config.model.inherit import Condition
from config.tell.language import tr


class Config(Sarsa):
    """SarsaLambda: Sarsa whose eligibility traces pass each TD error on to the earlier pairs of the episode."""

    NEEDED = {"trace_lambda": Condition(lambda cfg: cfg.trace_lambda > 0, tr("0 has no traces: this is Sarsa then"))}

    lr = 0.1
    trace_lambda = 0.9
    traces = "replacing"
