"""Environments of the user's own as --env names them: module:Class, file.py:Class, or file.py with one class."""

import ast
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from config.read.opening import named
from config.tell.language import UserError, tr
from config.tell.names import did_you_mean

_DRIVE = re.compile(r"[A-Za-z]:(?=[\\/])")
"""Drive of Windows, whose colon is not the one before the name of a class."""


class OwnEnvError(UserError):
    """A file leads to no environment; the message says why, and what to write."""


def class_name(env: str) -> str | None:
    """Returns module:name if --env names a class or a function of the user's own; None for any other id, such as
    my_module:MyEnv-v0, which the module registers. Reads a file.py, and runs nothing in it."""
    drive = _DRIVE.match(env)
    module, colon, name = env[drive.end() :].partition(":") if drive else env.partition(":")
    module = (drive[0] if drive else "") + module
    if module.endswith(".py"):
        return f"{module_of(module)}:{name if colon else _only_class(Path(module))}"
    return env if colon and all(part.isidentifier() for part in f"{module}.{name}".split(".")) else None


def module_of(path: str) -> str:
    """Returns the module that a file below the current folder is."""
    parts = PurePosixPath(path.replace("\\", "/")).with_suffix("").parts
    if not all(part.isidentifier() for part in parts):
        raise OwnEnvError(
            "{path!r} is not a module of this folder; go to the folder of the file, and name it alone", path=path
        )
    return ".".join(parts)


def _only_class(path: Path) -> str:
    """Returns the environment that a file defines. Raises OwnEnvError if there is not exactly one."""
    try:
        with open(path, "rb", opener=named) as file:
            nodes = ast.parse(file.read(), path.name).body
    except (OSError, SyntaxError, ValueError, RecursionError) as error:
        reason = tr("cannot be read: {error}", error=error)
        if isinstance(error, FileNotFoundError):
            reason = tr("no such file") + did_you_mean(path.name, [file.name for file in Path().glob("*.py")])
        raise OwnEnvError(f"{str(path)!r}: {reason}") from None
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    names = [node.name for node in classes if _is_environment(node)]
    if not names and len(classes) == 1 and _may_inherit(classes[0], nodes):
        return classes[0].name
    if len(names) == 1:
        return names[0]
    advice = tr("name the class or function: --env {path}:{name}", path=path, name=names[0] if names else "NAME")
    if not names:
        raise OwnEnvError("{path!r} has no class with reset and step; {advice}", path=str(path), advice=advice)
    listed = ", ".join(names)
    raise OwnEnvError(
        "{path!r} has several environments, {names}; {advice}", path=str(path), names=listed, advice=advice
    )


def _is_environment(node: ast.ClassDef) -> bool:
    """Returns True for a class with reset and step, or with a base that may have them, such as MujocoEnv."""
    own = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
    return {"reset", "step"} <= own or any(base.endswith("Env") for base in _bases(node) - {"Env"})


def _may_inherit(node: ast.ClassDef, nodes: Sequence[ast.stmt]) -> bool:
    """Returns True for the only class of a file that may have reset and step from a class that is imported. A wrapper
    is no environment by itself, and beside a function, which may be the environment, a class may be anything."""
    others = any(isinstance(other, ast.FunctionDef) for other in nodes)
    bases = _bases(node)
    return bool(bases) and not others and not any(base.endswith("Wrapper") for base in bases)


def _bases(node: ast.ClassDef) -> set[str]:
    """Returns the names of the bases of a class, without their modules."""
    return {ast.unparse(base).rpartition(".")[2] for base in node.bases}
