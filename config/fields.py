"""The strict base of every model of settings, and the types of their fields. Nothing heavy is imported."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator


class Problem(NamedTuple):
    """One thing that is wrong with a section: the key it is about, and a sentence."""

    key: str
    message: str
    unread: bool = False
    """The setting is one that nothing reads."""


def _accepts_null(annotation: Any) -> bool:
    return type(None) in getattr(annotation, "__args__", ())


class Strict(BaseModel):
    """Unknown keys fail, types are not guessed, a null means the default where null is not a value."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        validate_default=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )
    ALIASES: ClassVar[dict[str, str]] = {}
    """Other spellings that are accepted silently: spelling -> field."""

    @model_validator(mode="before")
    @classmethod
    def _aliases_and_nulls(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        known: dict[str, Any] = {}
        written: dict[str, str] = {}
        for key, value in values.items():
            name = cls.field_name(key)
            if name in written:
                raise ValueError(f"{key} and {written[name]} are two spellings of one setting; keep one")
            written[name] = key
            field = cls.model_fields.get(name)
            if value is None and field is not None and not _accepts_null(field.annotation):
                continue
            known[name] = value
        return known

    @classmethod
    def field_name(cls, key: str) -> str:
        """The field that a spelling means."""
        return cls.ALIASES.get(key, key)

    @classmethod
    def spellings(cls) -> set[str]:
        """Every key that may be written."""
        return {*cls.model_fields, *cls.ALIASES}

    def problems(self) -> Iterator[Problem]:
        """Settings of this section that contradict one another. All are reported, not only the first."""
        return iter(())

    def checks(self) -> Iterator[Problem]:
        """The problems, and what is wrong by rules that all sections of this kind share."""
        yield from self.problems()


def _whole(value: Any) -> Any:
    """1e5 is a whole number to a person; 64.5 is not."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def upper(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


def listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Int = Annotated[int, BeforeValidator(_whole)]
PositiveInt = Annotated[Int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
PositiveFraction = Annotated[float, Field(gt=0.0, le=1.0)]
Positive = Annotated[float, Field(gt=0.0)]
NonNegative = Annotated[float, Field(ge=0.0)]
