"""Finds the files of the user's own code: of the classes and packages that settings name, and of what these import."""

import ast
import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.util import resolve_name
from itertools import accumulate
from pathlib import Path, PurePosixPath
from types import ModuleType

from config.own.lines import is_own
from config.read.opening import named


def of(modules: Iterable[str]) -> dict[str, bytes]:
    """Returns the contents of the files of modules, of those below them and of those of the user that they import, as
    far as they are loaded, by their paths from the folder that they are imported from. What cannot be read is left
    out."""
    names = set(modules)
    waiting = [name for name in sys.modules if any(f"{name}.".startswith(f"{top}.") for top in names)]
    waiting += [package for name in names for package in _with_packages(name)]
    files: dict[str, bytes] = {}
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None) or ""
        if name in seen or module is None or not file.endswith(".py") or not is_own(file):
            continue
        seen.add(name)
        try:
            with open(file, "rb", opener=named) as stream:
                content = stream.read()
            waiting += _imported(content, module)
        except (OSError, SyntaxError, ValueError):  # it was edited, moved or deleted since it was imported
            continue
        files[_path_of(name, Path(file))] = content
    return dict(sorted(files.items()))


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """Returns the SHA-256 of each file as hexadecimal digits."""
    return {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}


def _path_of(name: str, file: Path) -> str:
    """Returns where a module lies below the folder that it is imported from; a program is named by its file."""
    if name == "__main__":
        return file.name
    folder = PurePosixPath(*name.split("."))
    return str(folder / file.name if file.name == "__init__.py" else folder.with_name(file.name))


def _imported(content: bytes, module: ModuleType) -> Iterator[str]:
    """Yields the modules that the text of a module imports, with the packages that they lie in."""
    for node in ast.walk(ast.parse(content)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            with suppress(ImportError):  # it leads out of the package; the module expects that, since it is loaded
                start = resolve_name(start, module.__package__ or None)
            names = [start, *(f"{start}.{alias.name}" for alias in node.names)]
        for name in names:
            yield from _with_packages(name)


def _with_packages(name: str) -> list[str]:
    """Returns the packages that a module lies in, whose code is run before its own, and the module."""
    return list(accumulate(name.split("."), "{}.{}".format))
