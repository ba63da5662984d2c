"""Inheritance between classes of settings: types, bounds and tables. Imports nothing heavy."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar, cast, dataclass_transform

from annotated_types import BaseMetadata
from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)

T = TypeVar("T")
TABLES = ("ALIASES", "READ_WITH", "NEEDED", "BEFORE", "STAND_INS", "ADJUSTABLE")
"""Names of the dicts and sets to which a class adds its own entries."""


class Condition(NamedTuple):
    """Condition on the settings of a section."""

    holds: Callable[[Any], Any]
    """Function that is true for the settings that fulfill it."""
    otherwise: str
    """Reason to be told for the others."""


def unread(why: str) -> Condition:
    """Returns the condition of a setting that nothing ever reads."""
    return Condition(lambda cfg: False, why)


class _Fixed(NamedTuple):
    value: Any


def fixed(value: T) -> T:
    """Returns the default of a setting that has no other value in this class, since it defines the algorithm."""
    return cast(T, _Fixed(value))


@dataclass_transform(kw_only_default=True, field_specifiers=(Field,))
class Inheriting(ModelMetaclass):
    """Lets a class override a setting by its value alone, as in `gamma = 0.95` or `double = fixed(True)`: its type and
    bounds are those of the nearest parent that has the setting. The TABLES of the parents are merged."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        types = _annotations(namespace)
        values = {key: value.value if isinstance(value, _Fixed) else value for key, value in namespace.items()}
        for key, value in namespace.items():
            if key not in types and (field := _inherited(bases, key)):
                types[key] = _only(value.value, field) if isinstance(value, _Fixed) else field.rebuild_annotation()
        values |= {"__annotations__": types} if types else {}
        return super().__new__(mcs, name, bases, values | _tables(bases, values), **options)


def _annotations(namespace: dict[str, Any]) -> dict[str, Any]:
    """Returns the types that stand in the body of a class, which Python 3.14 keeps in a function."""
    if sys.version_info >= (3, 14) and "__annotations__" not in namespace:
        import annotationlib

        function = annotationlib.get_annotate_from_class_namespace(namespace)
        return annotationlib.call_annotate_function(function, annotationlib.Format.FORWARDREF) if function else {}
    return dict(namespace.get("__annotations__", {}))


def _inherited(bases: tuple[type, ...], key: str) -> FieldInfo | None:
    """Returns the field of this name of the first class that has one."""
    every = (getattr(base, "__pydantic_fields__", {}) for base in bases)
    return next((fields[key] for fields in every if key in fields), None)


def _only(value: Any, field: FieldInfo) -> Any:
    """Returns the type that accepts this value alone, in the spellings that the field understands."""
    spellings = [part for part in field.metadata if not isinstance(part, BaseMetadata)]
    return Annotated[(Literal[value], *spellings)] if spellings else Literal[value]


def _tables(bases: tuple[type, ...], values: dict[str, Any]) -> dict[str, Any]:
    """Returns the tables of a class with the entries of its parents; of two for one setting the nearest counts."""
    merged: dict[str, Any] = {}
    for name in TABLES:
        for part in [*(getattr(base, name, None) for base in reversed(bases)), values.get(name)]:
            if part:
                merged[name] = merged[name] | part if name in merged else part
    return merged
