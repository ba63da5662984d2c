"""Finds classes and functions of the user's own by the names in settings: `module:name`, or a name under which Python
code has registered an object. The loader decides which modules may be imported."""

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, count
from operator import attrgetter
from pathlib import Path
from typing import Any

from config.model.fields import Problem
from config.own import env_packages, former
from config.own.lines import last_line
from config.tell.language import tr
from config.tell.names import did_you_mean

_REGISTERED: dict[str, Any] = {}
_BY_PYTHON: set[str] = set()
"""Names of the form module:name that Python code has given as objects, so that nothing has to be allowed."""


class OwnError(LookupError):
    """A name leads to no class or function; the message gives the reason and the remedy."""


UNKNOWN = tr("unknown")
"""Beginning of the message about a keyword that there is not."""


def register(name: str, thing: Callable[..., Any]) -> None:
    """Registers a class or function, such as the creator of an environment, under a name for the settings. A later
    registration of the same name replaces it."""
    if not isinstance(name, str) or not name.isprintable() or not name.strip() or ":" in name:
        raise ValueError(tr("{name!r} cannot be registered as a name; use text without a colon", name=name))
    if not callable(thing):
        raise TypeError(
            tr("{name!r}: {thing!r} cannot be registered; use a class or a function", name=name, thing=thing)
        )
    _REGISTERED[name] = thing


def provide(objects: Mapping[str, Any]) -> None:
    """Registers the objects of a run, in whatever process it makes its parts."""
    _REGISTERED.update(objects)


def is_own(name: str) -> bool:
    """Returns True if a name is module:name or a registered one."""
    return ":" in name or name in _REGISTERED


def is_registered(name: Any) -> bool:
    """Returns True if an object is registered under this name."""
    return isinstance(name, str) and name in _REGISTERED


def comes_from_python(name: str) -> bool:
    """Returns True if Python code has given the object of this module:name."""
    return name in _BY_PYTHON


def missing(name: str) -> str:
    """Returns what to do about a name that is not registered."""
    remedy = tr("call joystick.register({name!r}, ...) before, or write module:name", name=name)
    return tr(
        "{name!r} is not registered in this process; {remedy}{near}",
        name=name,
        remedy=remedy,
        near=did_you_mean(name, _REGISTERED),
    )


def find(name: str) -> Any:
    """Returns the object of a name; imports its module. Raises OwnError if there is none."""
    module, colon, path = name.partition(":")
    if not colon:
        if name not in _REGISTERED:
            raise OwnError(missing(name))
        return _REGISTERED[name]
    if not module or not path:
        if module:
            raise OwnError(tr("{name!r} has no name after the colon; write module:name", name=name))
        raise OwnError(tr("{name!r} has no module before the colon; write module:name", name=name))
    former.answer()
    try:
        contents = (env_packages.load if env_packages.is_listed(name) else importlib.import_module)(module)
    except Exception as error:  # a module may raise anything on import
        raise OwnError(
            tr(
                "the module of {name} cannot be imported: {error}",
                name=name,
                error=described(error) + _way(name, error),
            )
        ) from error
    try:
        return attrgetter(path)(contents)
    except AttributeError:
        near = did_you_mean(path, vars(contents))
        raise OwnError(tr("module {module} has no {path!r}{near}", module=module, path=path, near=near)) from None


def _way(name: str, error: Exception) -> str:
    """Returns the end of a sentence about a module that is not there itself, such as the environment of a run that was
    copied without it; empty for any other error."""
    module, _, path = name.partition(":")
    top = module.partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and module == f"{top}.py" == error.name:
        return tr("; write {right}, without .py", right=f"{top}:{path}")
    if not isinstance(error, ModuleNotFoundError) or error.name != top or env_packages.is_listed(name):
        return ""
    return tr(
        "; start the program in the folder that has {module} (this one is {folder}), or name that folder in PYTHONPATH",
        module=top,
        folder=Path.cwd(),
    )


def by_name(value: Any) -> Any:
    """Replaces the classes and functions in settings from Python, in lists and mappings too, by names: module:name if
    that leads to the object, otherwise the object's own name, under which it is registered; with a number if another
    object has that name."""
    if isinstance(value, Mapping):
        return {key: by_name(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [by_name(item) for item in value]
    return _name_of(value) if callable(value) else value


def _name_of(thing: Callable[..., Any]) -> str:
    """Returns module:name of what can be imported, or registers it under its own name."""
    module, path = getattr(thing, "__module__", None) or "", getattr(thing, "__qualname__", "")
    if module != "__main__" and path and "<" not in path:
        try:
            if attrgetter(path)(sys.modules.get(module)) is thing:
                _BY_PYTHON.add(f"{module}:{path}")
                return f"{module}:{path}"
        except AttributeError:
            pass
    first = getattr(thing, "__name__", type(thing).__name__).strip("<>")
    names = chain([first], (f"{first}_{number}" for number in count(2)))
    # another object of this name belongs to another run of this process, which may be resumed
    name = next(candidate for candidate in names if _REGISTERED.get(candidate, thing) is thing)
    register(name, thing)
    return name


def described(error: BaseException) -> str:
    """Returns the text of an error of a module in one line, with the user's line that led to it unless the text has
    it."""
    if isinstance(error, ImportError | SyntaxError):
        return str(error)
    file, number = last_line(error)
    return f"{type(error).__name__}: {' '.join(str(error).split())} ({file}:{number})"


def parameters_of(creator: Callable[..., Any], skip: int = 0) -> list[inspect.Parameter] | None:
    """Returns the parameters of a class or function after the first `skip`; None if they cannot be determined."""
    try:
        return list(inspect.signature(creator).parameters.values())[skip:]
    except (TypeError, ValueError):
        return None


def keyword_problems(
    creator: Callable[..., Any],
    keywords: Mapping[str, Any],
    accepted: tuple[str, ...] = (),
    skip: int = 0,
    supplied: tuple[str, ...] = (),
    beside: tuple[str, ...] = (),
) -> Iterator[Problem]:
    """Yields keywords that a constructor does not take or lacks. The first `skip` parameters are not settings; names in
    `accepted` are known too; `supplied` ones need not be given; `beside` are other names that a hint may give."""
    parameters = parameters_of(creator, skip)
    if parameters is None or any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return
    names = {parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_POSITIONAL}
    names |= set(accepted)
    for key in keywords:
        if key not in names:
            end = tr("; known are: {names}", names=", ".join(sorted(names)) or tr("none"))
            yield Problem(key, UNKNOWN + (did_you_mean(key, names | set(beside)) or end))
    for parameter in parameters:
        optional = parameter.default is not parameter.empty or parameter.kind is parameter.VAR_POSITIONAL
        if not optional and parameter.name not in keywords and parameter.name not in supplied:
            yield Problem(parameter.name, tr("is required, and not set"))
