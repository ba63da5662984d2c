"""Strict base class of every settings model, and the types of its fields. Imports nothing heavy."""

import json
import math
from collections.abc import Iterator
from numbers import Integral
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from config.model import bounds
from config.model.inherit import Condition, Inheriting
from config.program import PROGRAM
from config.tell.language import UserError, tr


class Problem(NamedTuple):
    """An error in a section."""

    key: str
    message: str
    depends_on: tuple[str, ...] = ()
    """Other settings that the error follows from. It is not reported while one of them is wrong itself."""


def _accepts_null(annotation: Any) -> bool:
    return type(None) in getattr(annotation, "__args__", ())


class Strict(BaseModel, metaclass=Inheriting):
    """Rejects unknown keys and wrong types. A null means the default unless the field accepts null."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        validate_default=True,
        allow_inf_nan=False,
    )
    ALIASES: ClassVar[dict[str, str]] = {}
    """Other spellings that are accepted silently: spelling -> field."""
    READ_WITH: ClassVar[dict[str, tuple[str, tuple[Any, ...]] | Condition]] = {}
    """Settings that are read only under a condition: setting -> Condition, or (other setting, its values); with no
    values, any but 0 and false."""
    STAND_INS: ClassVar[dict[str, Any]] = {}
    """Values for required settings, with which the others are checked while those are missing or wrong."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        bounds.keep(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            remedy = tr("a schedule changes one (docs/schedules.md), and a resume continues with others")
            raise AttributeError(
                tr("{name} stays what it is while a run lasts: {remedy}", name=name, remedy=remedy), name=name, obj=self
            )
        super().__setattr__(name, value)

    @model_validator(mode="before")
    @classmethod
    def _aliases_and_nulls(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        settings: dict[str, Any] = {}
        spellings: dict[str, str] = {}
        for key, value in values.items():
            name = cls.field_name(key)
            if name in spellings:
                other = spellings[name]
                raise ValueError(
                    tr("{key} and {other} are two spellings of one setting; keep one", key=key, other=other)
                )
            spellings[name] = key
            if cls.is_silent(name, value):
                continue
            settings[name] = value
        return settings

    @classmethod
    def is_silent(cls, name: str, value: Any) -> bool:
        """Returns True for a null that stands for the default of this field."""
        field = cls.model_fields.get(name)
        return value is None and field is not None and not _accepts_null(field.annotation)

    @classmethod
    def field_name(cls, key: str) -> str:
        """Returns the field that a spelling means."""
        return cls.ALIASES.get(key, key)

    @classmethod
    def spellings(cls) -> set[str]:
        """Returns every key that may be written."""
        return {*cls.model_fields, *cls.ALIASES}

    def problems(self) -> Iterator[Problem]:
        """Yields the contradictions between settings of this section, all of them."""
        return iter(())

    def own(self) -> Iterator[tuple[str, str]]:
        """Yields (setting, name) for each class or function of the user's own: module:name, or a registered name."""
        return iter(())

    def checks(self) -> Iterator[Problem]:
        """Yields the problems, and violations of the rules that all sections of this kind share. Raises UserError for
        a section of the user's own that yields something else."""
        for problem in self.problems():
            if not isinstance(problem, Problem):
                raise UserError(
                    "problems of {config} yields {problem!r}; expected a Problem of config.model.fields, such as "
                    "Problem(setting, sentence)",
                    config=f"{type(self).__module__}.{type(self).__qualname__}",
                    problem=problem,
                )
            yield problem

    def changed(self, key: str) -> bool:
        """Returns True if the setting differs from its default."""
        return bool(getattr(self, key) != type(self).model_fields[key].default)

    def unread(self) -> Iterator[tuple[str, str]]:
        """Yields each changed setting that nothing reads, and why."""
        for key in self.READ_WITH:
            if key in type(self).model_fields and self.changed(key) and (why := self._why_unread(key)):
                yield key, why

    def _why_unread(self, key: str) -> str | None:
        """Returns the reason that nothing reads a setting; None if it is read. Follows chains of settings."""
        rule = self.READ_WITH.get(key)
        if rule is None or isinstance(rule, Condition):
            return None if rule is None or rule.holds(self) else rule.otherwise
        other, values = rule
        value = getattr(self, other)
        if value in values or (not values and value):
            return self._why_unread(other)
        text = value if isinstance(value, str) else json.dumps(value)
        return tr("{setting} is {value}", setting=other, value=text)


def is_number(value: Any) -> bool:
    """Returns True for a finite number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf


def is_whole(value: Any, least: int = 1, most: int | None = None) -> bool:
    """Returns True for a whole number within these limits, also one of numpy; true and false are none."""
    is_integral = isinstance(value, Integral) and not isinstance(value, bool)
    return is_integral and least <= int(value) and (most is None or int(value) <= most)


def same(value: Any, other: Any) -> bool:
    """Returns True for equal values of one type: true is not 1."""
    return type(value) is type(other) and bool(value == other)


def whole(value: Any) -> Any:
    """Converts 1e5 to a whole number; leaves 64.5 as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def switch(value: Any) -> Any:
    """Returns on or off for what YAML 1.1 reads them as, and other values in lower case."""
    return ("on" if value else "off") if isinstance(value, bool) else lower(value)


def upper(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


def listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def steps_of_factor(value: Any) -> int | None:
    """Returns the time constant, in steps, of a decay by this factor per step; None for any other value."""
    return round(1 / (1 - value)) if isinstance(value, float) and 0 < value < 1 else None


def _no_factor(value: Any) -> Any:
    """Rejects a factor per step, as other programs have it: exploration would end within a few steps."""
    if steps := steps_of_factor(value):
        raise ValueError(
            tr(
                "got {value}, a factor per step; expected a number of environment steps: write {steps}, "
                "which is 1 / (1 - {value}) ({PROGRAM} convert OLD.yaml does this for a file of JoyRL)",
                value=value,
                steps=steps,
                PROGRAM=PROGRAM,
            )
        )
    return value


Int = Annotated[int, BeforeValidator(whole)]
PositiveInt = Annotated[Int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
PositiveFraction = Annotated[float, Field(gt=0.0, le=1.0)]
Positive = Annotated[float, Field(gt=0.0)]
NonNegative = Annotated[float, Field(ge=0.0)]
Decay = Annotated[float, Field(ge=1.0), BeforeValidator(_no_factor)]
"""Time constant in environment steps."""
