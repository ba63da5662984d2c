"""Help texts of settings: the docstrings under their fields.

They are read from the source when they are asked for. pydantic would read them whenever a model is defined, which takes
about a quarter of the time until a command knows its settings.
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from config.tell.language import tr


def help_text(model: type[BaseModel], name: str) -> str:
    """Returns the help text of a field in one line: its own, or that of a parent whose field it overrides; empty if
    there is none."""
    text, _ = written(model, name)
    return tr(text) if text else ""


def written(model: type[BaseModel], name: str) -> tuple[str, str]:
    """Returns the help text of a field as the code has it, in one line, and its module."""
    if text := model.model_fields[name].description:
        return one_line(text), model.__module__
    modules = ((parent.__module__, parent.__qualname__) for parent in model.__mro__)
    texts = ((_module(module).get(owner, {}).get(name, ""), module) for module, owner in modules)
    text, module = next((pair for pair in texts if pair[0]), ("", model.__module__))
    return one_line(text), module


def one_line(text: str | None) -> str:
    """Returns a docstring without its line breaks."""
    return " ".join((text or "").split())


@cache
def _module(name: str) -> dict[str, dict[str, str]]:
    """Returns the docstrings under the fields of each class of a module; nothing without its source."""
    try:
        source = inspect.getsource(sys.modules[name])
    except (KeyError, OSError, TypeError):
        return {}
    return dict(_classes(ast.parse(source), ""))


def _classes(node: ast.AST, prefix: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yields the qualified names of the classes in a node, and the docstrings under their fields."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield prefix + child.name, dict(_docstrings(child))
            yield from _classes(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.FunctionDef):
            yield from _classes(child, f"{prefix}{child.name}.<locals>.")


def _docstrings(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, text in zip(node.body, node.body[1:], strict=False):
        match field, text:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(docstring))),
            ):
                yield name, docstring


class WithHelp(GenerateJsonSchema):
    """Adds the help texts to a JSON Schema."""

    def model_schema(self, schema: core_schema.ModelSchema) -> dict[str, Any]:
        node = super().model_schema(schema)
        for name, setting in node["properties"].items():
            if text := help_text(schema["cls"], name):
                setting["description"] = text
        return node
