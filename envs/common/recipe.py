"""Recipes: lines of Python by which a program makes an environment by itself."""

from typing import Any

from config.own import env_packages
from config.own import objects as own
from envs.base import Recipe, literal
from envs.common import wrappers
from envs.gym.config import Wrappers

OURS = "import joystick  # the wrappers of Joystick can be imported then"


def of_gymnasium(env_id: str, settings: dict[str, Any], entries: Wrappers) -> Recipe | None:
    """Returns how gymnasium makes an environment. entries: its wrappers."""
    imported, registered = _registering(env_id)
    making = f"env = gymnasium.make({literal(env_id)}{_words(settings)})"
    return _wrapped(["import gymnasium", *imported], [registered, making], entries)


def _registering(env_id: str) -> tuple[list[str], str]:
    """Returns imports and a line that register an id of another package."""
    package = env_packages.of_id(env_id)
    if package is None:
        return [], ""
    module, _, function = package.register.partition(":")
    ours = [OURS] if module.startswith("envs.") else []
    imports = [f"import {package.module}", *ours, f"import {module}" if module else ""]
    return imports, module and f"{module}.{function}()"


def of_own(name: str, settings: dict[str, Any], parameter: str | None, entries: Wrappers) -> Recipe | None:
    """Returns how a class or function module:name makes an environment; None for one that has no module. parameter:
    the one that gets all settings."""
    if ":" not in name:
        return None
    words = f"{parameter}={settings!r}" if parameter else _words(settings).removeprefix(", ")
    return _wrapped([_import(name)], [f"env = {_path(name)}({words})"], entries)


def _wrapped(imports: list[str], lines: list[str], entries: Wrappers) -> Recipe | None:
    """Returns a recipe with wrappers; None if one of them has no module."""
    for name, settings in map(wrappers.split, entries or []):
        if own.is_registered(name):
            return None
        kind = wrappers.find(name)
        place = name if own.is_own(name) else f"{kind.__module__}:{kind.__name__}"
        theirs = place.startswith("gymnasium.")
        imports += ["import gymnasium"] if theirs else [] if own.is_own(name) else [OURS]
        imports += [] if theirs else [_import(place)]
        words = _words(wrappers.arguments(kind, settings))
        lines.append(f"env = {'gymnasium.wrappers.' if theirs else ''}{_path(place)}(env{words})")
    return Recipe(tuple(filter(None, dict.fromkeys(imports))), tuple(filter(None, lines)))


def _import(name: str) -> str:
    """Returns the import of module:name."""
    return f"from {name.partition(':')[0]} import {_path(name).partition('.')[0]}"


def _path(name: str) -> str:
    return name.partition(":")[2]


def _words(settings: dict[str, Any]) -> str:
    return "".join(f", {key}={literal(value)}" for key, value in settings.items())
