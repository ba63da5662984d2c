"""The course of a run: its planned length, and values that change over it. Imports nothing heavy."""

import math
from itertools import pairwise
from typing import Any, NamedTuple

from pydantic_core import core_schema


class RunLength(NamedTuple):
    """Planned length of a run: limits in what is counted. A number that is not above 0 is no limit."""

    steps: int
    """Environment steps, over all rows."""
    episodes: int
    updates: int
    iterations: int

    def share(self, step: float, episode: float, update: float, iterations: float) -> float:
        """Returns the fraction of the run that is done, by the nearest limit; 0 without limits. iterations: the number
        of complete ones, and the part of the running one that is done."""
        share = 0.0
        for count, limit in (
            (step, self.steps),
            (episode, self.episodes),
            (update, self.updates),
            (iterations, self.iterations),
        ):
            if limit > 0:
                share = max(share, count / limit)
        return min(1.0, share)


OF_THE_RUN = "schedule"
"""Format of a schedule in the JSON Schema, and the type of an error of one of its numbers."""


class Schedule(dict[str, Any]):
    """Values over the fraction of the run: a kind of schedules.KINDS, and the numbers that it is made of."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(cls, core_schema.dict_schema())

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        return {"type": "object", "format": OF_THE_RUN}

    def at(self, fraction: float) -> float:
        """Returns the value after this fraction of the planned run."""
        [(kind, numbers)] = self.items()
        done = min(max(fraction, 0.0), 1.0)
        match kind:
            case "constant":
                return float(numbers)
            case "linear":
                return float(numbers[0] * (1.0 - done) + numbers[1] * done)
            case "cosine":
                return float(numbers[1] + (numbers[0] - numbers[1]) * 0.5 * (1.0 + math.cos(math.pi * done)))
        return _between(numbers, done)


def _between(points: list[list[float]], done: float) -> float:
    """Returns the value at this fraction on straight lines between points [fraction, value]."""
    value = points[0][1]
    for (begin, first), (end, last) in pairwise(points):
        if begin <= done and begin < end:
            share = min((done - begin) / (end - begin), 1.0)
            value = first * (1.0 - share) + last * share
    return float(points[-1][1] if done >= points[-1][0] else value)


def rising(start: float) -> Schedule:
    """Returns the schedule that rises to 1 over the run."""
    return Schedule(linear=[start, 1.0])


def value_at(setting: float | Schedule, fraction: float) -> float:
    """Returns the value of a setting that may be a schedule after this fraction of the planned run."""
    return setting.at(fraction) if isinstance(setting, Schedule) else setting


def varies(setting: Any) -> bool:
    """Returns True for a schedule whose value changes."""
    return isinstance(setting, Schedule) and "constant" not in setting
