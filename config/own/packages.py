"""Finds the packages that algo_name and env_name mean. Imports a user's own package only with permission."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

from config.foreign import names as foreign_names
from config.model.schema import AlgoConfig, EnvConfig
from config.own import env_packages, trust
from config.own import objects as own
from config.program import PROGRAM
from config.read import presets
from config.read.finder import Finder
from config.tell.error_text import several_algorithms
from config.tell.language import tr
from config.tell.names import did_you_mean

NEEDED = {"algo_name": ("Config", "NAME"), "env_name": ("Config",)}
"""Names that a package defines."""
_TASK = tr("a task directory, from which nothing is ever imported")


def find(key: str, name: str, finder: Finder, allow: Sequence[str]) -> tuple[ModuleType | None, str]:
    """Returns the package that a name means, or None and why; key: algo_name or env_name; allow: --allow-import."""
    if key == "env_name" and name.endswith(".py"):
        return None, tr(
            "{name!r} is an environment; write env_name: {kind} and env_cfg.id: {name}", name=name, kind="python"
        )
    if "." in name and (task := trust.task_of(name)):
        return None, tr("{name!r} lies in {folder}, {reason}", name=name, folder=task, reason=_TASK)
    if "." in name and not allowed(name, allow):
        return None, tr(
            "{name!r} is not built in; to run a package of your own, add {permission}",
            name=name,
            permission=permission(name),
        )
    try:
        package = finder.get(name)
        fault = _fault_of(package, key, name, finder)
        return (None, fault) if fault else (package, "")
    except LookupError as error:
        instead = getattr(error, "instead", "")
        if not instead:
            return None, _unknown(key, name, finder)
        return None, tr("unknown name {name!r}; {advice} {list}", name=name, advice=instead, list=_listed(key))
    except Exception as error:
        if "." not in name:
            raise
        return None, _unimported(name, error)


def _fault_of(package: ModuleType, key: str, name: str, finder: Finder) -> str:
    """Returns what is wrong with a package that was imported; empty if nothing is."""
    base = AlgoConfig if key == "algo_name" else EnvConfig
    if lacking := [part for part in NEEDED[key] if not hasattr(package, part)]:
        return tr("{name} lacks {parts}; define it in its __init__.py", name=name, parts=tr(" and ").join(lacking))
    if not (isinstance(package.Config, type) and issubclass(package.Config, base)):
        return tr("{name}.Config must inherit from config.model.schema.{base}", name=name, base=base.__name__)
    dotted = key == "algo_name" and "." in name  # asked last: the list of all algorithms takes a while
    if dotted and package.NAME in finder.available() and finder.get(package.NAME) is not package:
        return tr(
            "{name} has the NAME of an algorithm that is built in, {other}, and would be taken for it in presets and "
            "comparisons; write another NAME in its __init__.py",
            name=name,
            other=package.NAME,
        )
    return ""


def _unimported(name: str, error: Exception) -> str:
    """Returns why a package cannot be imported, and what to write in place of a setting without a type."""
    if getattr(error, "code", None) != "model-field-missing-annotation":
        return tr("{name} cannot be imported: {error}", name=name, error=f"{type(error).__name__}: {error}")
    untyped = str(error).split("`")[1]  # power = 0.5
    typed = untyped.replace(" =", ": float =", 1)
    return tr("{name}: {untyped} is a setting without a type; write {typed}", name=name, untyped=untyped, typed=typed)


def _unknown(key: str, name: str, finder: Finder) -> str:
    """Returns what to write in place of an unknown name."""
    if key == "algo_name" and (instead := foreign_names.algorithm_here(name)):
        return tr("unknown name {name!r}; {advice}", name=name, advice=instead)
    if key == "env_name" and (now := foreign_names.environment_here(name)):
        return tr("{name!r} is an environment; write env_name: gym and env_cfg.id: {id}", name=name, id=now)
    if key == "algo_name" and (several := several_algorithms(name)):
        return tr("unknown name {name!r}{end}", name=name, end=several)
    stem = foreign_names.algorithm_of_class(name)
    if key == "algo_name" and stem != name and stem.lower() in map(str.lower, finder.available()):
        return tr("unknown name {name!r}; write {other}", name=name, other=stem)
    kinds = [] if key == "algo_name" else [kind for kind, _ in presets.kinds_with(name, finder)]
    if kinds:
        return tr("{name!r} is an environment; write env_name: {kind} and env_cfg.id: {name}", name=name, kind=kinds[0])
    folder = Path(name)
    is_package = not folder.is_absolute() and (folder / "__init__.py").is_file()
    if is_package and key == "algo_name" and folder.parts == (name,):
        return _undotted(name, folder)
    near = did_you_mean(name, [".".join(folder.parts)] if is_package else finder.available())
    return tr("unknown name {name!r}{near} {list}", name=name, near=near, list=_listed(key))


def _undotted(name: str, folder: Path) -> str:
    """Returns what to write in place of a package of the current folder whose name has no dot: one of those in it, or
    itself in another folder."""
    if inner := [f"{name}.{file.parent.name}" for file in sorted(folder.glob("*/__init__.py"))]:
        listed = ", ".join(inner[:4])
        return tr(
            "{name!r} is a folder of packages; write the one that is meant, such as {names}", name=name, names=listed
        )
    return tr(
        "{name!r} is a package of this folder, and an algorithm of your own needs a dotted name; move it to {folder}, "
        "and write {other}, also in its imports",
        name=name,
        folder=f"mine/{name}",
        other=f"mine.{name}",
    )


def _listed(key: str) -> str:
    return tr("({command} shows all)", command=f"{PROGRAM} list {key.removesuffix('_name')}s")


def allowed(dotted: str, allow: Sequence[str]) -> bool:
    """Returns True if the command line allows to import this module, or the user trusts the folder that it is in."""
    return _listed_in(dotted, allow) or trust.covers(dotted)


def _listed_in(dotted: str, allow: Iterable[str]) -> bool:
    return any(dotted == name or dotted.startswith(f"{name}.") for name in allow)


def forbidden(name: str, allow: Sequence[str], task: Path | None = None) -> str | None:
    """Returns why a class or function of the user's own may not be imported; None if it may. task: the task directory
    that is loaded."""
    module, colon, _ = name.partition(":")
    if not colon or own.comes_from_python(name) or env_packages.is_listed(name):
        return None
    if folder := trust.task_of(module, task):
        return tr("imports {module}, which lies in {folder}, {reason}", module=module, folder=folder, reason=_TASK)
    if allowed(module, allow):
        return None
    return tr("imports {module}; to allow it, add {permission}", module=module, permission=permission(module))


def imported(names: Iterable[str], allow: Sequence[str]) -> Iterator[str]:
    """Yields the packages of classes, functions and packages of the user's own that --allow-import does not name:
    Python code has given them as objects, or the user trusts their folder."""
    for name in names:
        module, colon, _ = name.partition(":")
        if (colon or "." in module) and not _listed_in(module, allow) and not env_packages.is_listed(name):
            yield module.partition(".")[0]


def own_modules(names: Iterable[str]) -> Iterator[str]:
    """Yields the modules of classes, functions and packages of the user's own."""
    for name in names:
        module, colon, _ = name.partition(":")
        if own.is_registered(name):
            yield getattr(own.find(name), "__module__", None) or ""
        elif (colon or "." in module) and not env_packages.is_listed(name):
            yield module


def permission(dotted: str) -> str:
    """Returns the flag that allows to import a module."""
    return f"--allow-import {dotted.partition('.')[0]}"
