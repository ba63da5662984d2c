"""Types of settings that may change over a run, {linear: [0.01, 0.0]} in the place of a number, and their messages.
Imports nothing heavy."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from config.model.course import OF_THE_RUN, Schedule
from config.model.course import value_at as value_at  # for algorithms of users, who have it from here
from config.model.fields import Fraction, NonNegative, Positive, PositiveFraction, is_number
from config.tell.language import tr

KINDS = ("constant", "linear", "cosine", "piecewise")


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
    real = all(map(is_number, fractions))
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
    return BeforeValidator(partial(_checked, TypeAdapter(number, config=ConfigDict(allow_inf_nan=False))))


Rate = Annotated[Positive | Schedule, _of(NonNegative)]
"""Learning rate, which may fall to 0."""
ScheduledPositive = Annotated[Positive | Schedule, _of(Positive)]
ScheduledNonNegative = Annotated[NonNegative | Schedule, _of(NonNegative)]
ScheduledFraction = Annotated[Fraction | Schedule, _of(Fraction)]
TableRate = Annotated[PositiveFraction | Schedule, _of(Fraction)]
ScheduledClip = Annotated[
    Annotated[float, Field(gt=0.0, lt=1.0)] | Schedule, _of(Annotated[float, Field(ge=0.0, lt=1.0)])
]
