"""Checks values that no section of the settings has as a field, such as those of a wrapper, by types of their own."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from config.model.fields import Problem
from config.tell.error_text import expected, shown, standard_bounds
from config.tell.language import tr


def value_problems(values: Mapping[str, tuple[TypeAdapter[Any], Any]]) -> Iterator[Problem]:
    """Yields the values that their types do not take. values: by key, each behind what checks it."""
    for key, (adapter, value) in values.items():
        try:
            adapter.validate_python(value, strict=True)
        except ValidationError:
            schema = standard_bounds(adapter.json_schema())
            kind = expected(schema, schema)
            yield Problem(key, tr("got {value}; expected {kind}{end}", value=shown(value), kind=kind, end=""))
