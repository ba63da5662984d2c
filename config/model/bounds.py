"""Keeps the bounds of a setting whose default a subclass overrides: `n_step: int = 3` still refuses 0 if the parent's
type is PositiveInt. Imports nothing heavy."""

from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import BaseMetadata
from pydantic import BaseModel
from pydantic.fields import FieldInfo


def keep(model: type[BaseModel]) -> None:
    """Gives fields that a class annotates again without bounds the bounds of its parents' fields."""
    changed = [_keep(field, parent) for name, field in model.model_fields.items() if (parent := _parent(model, name))]
    if any(changed):
        model.model_rebuild(force=True)


def _parent(model: type[BaseModel], name: str) -> FieldInfo | None:
    """Returns the field of this name that a class would have inherited."""
    fields = (getattr(base, "__pydantic_fields__", {}) for base in model.__mro__[1:])
    return next((parent[name] for parent in fields if name in parent), None)


def _keep(field: FieldInfo, parent: FieldInfo) -> bool:
    """Adds the parent's bounds to a field. Returns True if that changes it."""
    if (field.annotation, field.metadata) == (parent.annotation, parent.metadata):
        return False
    kinds = _kinds(parent)
    union: Any = Union[tuple(_bounded(kind, kinds) for kind in _kinds(field))]  # noqa: UP007
    bounded = FieldInfo.from_annotation(union)
    changed = (field.annotation, field.metadata) != (bounded.annotation, bounded.metadata)
    field.annotation, field.metadata = bounded.annotation, bounded.metadata
    return changed


def _kinds(field: FieldInfo) -> list[Any]:
    """Returns the types of a field that accepts several, such as a number or null, each with its own bounds."""
    kinds = get_args(field.annotation) if _is_union(field.annotation) else (field.annotation,)
    return [_annotated(kind, field.metadata) if kind is not type(None) else kind for kind in kinds]


def _bounded(kind: Any, parents: list[Any]) -> Any:
    """Returns a type with the bounds that the parent's field has for values of this kind, unless it has its own."""
    if _has_bounds(kind):
        return kind
    for parent in parents:
        if _bare(parent) == _bare(kind):
            return parent
    if get_origin(kind) is Annotated:
        return kind
    alike = [parent for parent in parents if _rough(parent) == _rough(kind)]
    return _annotated(kind, FieldInfo.from_annotation(alike[0]).metadata) if alike else kind


def _annotated(kind: Any, metadata: list[Any]) -> Any:
    return Annotated[(kind, *metadata)] if metadata else kind


def _is_union(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, UnionType)


def _has_bounds(annotation: Any) -> bool:
    """Returns True if a type, or a part of it, has a bound."""
    info = FieldInfo.from_annotation(annotation)
    return any(isinstance(metadata, BaseMetadata) for metadata in info.metadata) or any(
        map(_has_bounds, _parts(info.annotation))
    )


def _parts(annotation: Any) -> tuple[Any, ...]:
    """Returns the types that a type is made of; none for the values of a Literal."""
    return () if get_origin(annotation) is Literal else get_args(annotation)


def _bare(annotation: Any) -> Any:
    """Returns a type without bounds and validators, to be compared."""
    if get_origin(annotation) is Annotated:
        return _bare(get_args(annotation)[0])
    if not (parts := _parts(annotation)):
        return annotation
    bare = [_bare(part) for part in parts]
    return frozenset(bare) if _is_union(annotation) else (get_origin(annotation), *bare)


def _rough(annotation: Any) -> Any:
    """Returns what bounds are of: numbers, choices, lists ..."""
    bare = FieldInfo.from_annotation(annotation).annotation
    return "number" if bare in (int, float) else get_origin(bare) or bare
