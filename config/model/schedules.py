"""Settings that change over a run: {linear: [0.01, 0.0]} in the place of a number. Imports nothing heavy."""

import json
import math
from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError, core_schema

from config.model.fields import Fraction, NonNegative, Positive, PositiveFraction
from config.tell.language import tr

KINDS = ("constant", "linear", "cosine", "piecewise")
OF_THE_RUN = "schedule"
"""Format of a schedule in the JSON Schema, and the type of an error of one of its numbers."""


class Schedule(dict[str, Any]):
    """Values over the fraction of the run: a kind of KINDS, and the numbers that it is made of."""

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


def _checked(adapter: TypeAdapter[Any], value: Any) -> Any:
    """Returns a value that is no schedule, or a right one. adapter: type of the values of a schedule."""
    if not isinstance(value, Mapping):
        return value
    if len(value) != 1 or next(iter(value)) not in KINDS:
        raise ValueError(
            tr(
                "got {value}; a schedule has one key of {kinds}, such as {example}",
                value=_written(value),
                kinds=", ".join(KINDS),
                example="{linear: [0.01, 0.0]}",
            )
        )
    [(kind, numbers)] = value.items()
    for number in _VALUES[kind](kind, numbers):
        try:
            adapter.validate_python(number, strict=True)
        except ValidationError:
            context = {"of": kind, "value": number, "number": adapter.json_schema()}
            raise PydanticCustomError(OF_THE_RUN, "wrong number", context) from None
    return dict(value)


def _written(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _single(kind: str, number: Any) -> list[Any]:
    return [number]


def _ends(kind: str, numbers: Any) -> list[Any]:
    """Returns the first and the last value."""
    if not isinstance(numbers, list) or len(numbers) != 2:
        raise ValueError(
            tr(
                "{kind}: got {value}; expected two numbers, the first value and the last one",
                kind=kind,
                value=_written(numbers),
            )
        )
    return numbers


def _points(kind: str, points: Any) -> list[Any]:
    """Returns the values of points [fraction, value]."""
    pairs = isinstance(points, list) and all(isinstance(point, list) and len(point) == 2 for point in points)
    fractions = [point[0] for point in points] if pairs else []
    real = all(isinstance(place, int | float) and not isinstance(place, bool) for place in fractions)
    if not fractions or not real or fractions != sorted(fractions) or not 0 <= fractions[0] <= fractions[-1] <= 1:
        raise ValueError(
            tr(
                "{kind}: got {value}; expected pairs [fraction of the run, value] with fractions from 0 to 1 in "
                "ascending order",
                kind=kind,
                value=_written(points),
            )
        )
    return [point[1] for point in points]


_VALUES = {"constant": _single, "linear": _ends, "cosine": _ends, "piecewise": _points}


def _of(number: Any) -> BeforeValidator:
    """Returns the check of a setting. number: type of the values of its schedules."""
    return BeforeValidator(partial(_checked, TypeAdapter(number)))


Rate = Annotated[Positive | Schedule, _of(NonNegative)]
"""Learning rate, which may fall to 0."""
ScheduledPositive = Annotated[Positive | Schedule, _of(Positive)]
ScheduledNonNegative = Annotated[NonNegative | Schedule, _of(NonNegative)]
ScheduledFraction = Annotated[Fraction | Schedule, _of(Fraction)]
TableRate = Annotated[PositiveFraction | Schedule, _of(Fraction)]
ScheduledClip = Annotated[
    Annotated[float, Field(gt=0.0, lt=1.0)] | Schedule, _of(Annotated[float, Field(ge=0.0, lt=1.0)])
]
