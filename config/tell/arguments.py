"""Arguments that a function does not have, and what to write in place of those of another library's function."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from types import MappingProxyType
from typing import ParamSpec, TypeVar

from config.tell.language import tr
from config.tell.names import did_you_mean
from config.tell.traceback import concise

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


class ArgumentError(TypeError):
    """A call has an argument that there is no place for."""

    _render_traceback_ = concise


def with_hints(
    words: Mapping[str, str], remarks: Mapping[str, str] = MappingProxyType({})
) -> Callable[[Callable[Arguments, Returned]], Callable[Arguments, Returned]]:
    """Returns what makes a function answer for arguments that it does not have. words: argument -> what to write;
    remarks: argument -> end of the sentence."""

    def answering(function: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
        call = function.__qualname__.removesuffix(".__init__")
        names = inspect.signature(function).parameters

        @wraps(function)
        def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
            for name in kwargs:
                if name not in names:
                    from config.foreign.names import remark_on

                    instead, remark = words.get(name), remarks.get(name) or remark_on(name)
                    hint = f"; {remark}" if remark else did_you_mean(name, names)
                    hint = tr("; write {instead}", instead=instead) if instead else hint
                    raise ArgumentError(tr("{call} has no argument {name!r}{hint}", call=call, name=name, hint=hint))
            return function(*args, **kwargs)

        return checked

    return answering
