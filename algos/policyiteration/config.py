"""Defaults of policy iteration."""

from collections.abc import Iterator

from config.model.fields import Problem
from config.model.memory_spec import RolloutSpec
from config.model.schema import AlgoConfig
from config.tell.language import tr


class Config(AlgoConfig):
    """Policy iteration: plans with the known transition model of a finite environment, one improvement per step."""

    ACTION_SPACES = ("Discrete",)
    OBSERVATION_SPACES = ("Discrete",)
    NEEDS_MODEL = True

    gamma = 0.95
    """Discount factor; below 1."""

    def memory(self, rows: int) -> RolloutSpec:
        return RolloutSpec(length=1)

    def problems(self) -> Iterator[Problem]:
        if self.gamma == 1.0:
            message = tr(
                "must be below 1: a policy that never reaches the end has an infinite value, and most initial policies "
                "do not; use 0.9999, or ValueIteration"
            )
            yield Problem("gamma", message)
