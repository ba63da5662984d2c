"""Words for a shell, and what its terminal can do."""

import os
import re
import sys
from collections.abc import Iterable

from config.system.name import is_windows

_ESCAPES, _OUTPUTS = 0x0004, {1: -11, 2: -12}
"""Windows: bit of a console that obeys escape sequences; descriptors and their consoles."""
_PLAIN = re.compile(r"[\w.:\\/+=-]+")
"""Words that both cmd and PowerShell take as they are."""


def quoted(word: str) -> str:
    """Returns a word as the shell takes it: bash and zsh, or cmd and PowerShell, which agree on double quotes."""
    if not is_windows():
        import shlex

        return shlex.quote(word)
    if _PLAIN.fullmatch(word):
        return word
    # backslashes count as such, unless a quote follows
    inner = re.sub(r'(\\*)"', r'\1\1\\"', word)
    return '"' + re.sub(r"(\\+)$", r"\1\1", inner) + '"'


def joined(words: Iterable[str]) -> str:
    """Returns words as a command for the shell."""
    return " ".join(map(quoted, words))


def variable(name: str, value: str) -> str:
    """Returns what sets an environment variable for the commands that follow in a terminal."""
    if is_windows():
        return f'set {name}={value} (PowerShell: $env:{name} = "{value}")'
    return f"export {name}={value}"


def obeys_escapes(descriptor: int) -> bool:
    """Returns True for a terminal that moves its cursor as it is told. A console of Windows has to be asked to."""
    if not is_windows():
        return os.environ.get("TERM", "dumb") != "dumb"
    if os.environ.get("TERM") == "dumb":
        return False
    import ctypes

    try:
        kernel = getattr(ctypes, "windll").kernel32  # noqa: B009  # type checkers know it on Windows alone
        kernel.GetStdHandle.restype = ctypes.c_void_p
        console, mode = ctypes.c_void_p(kernel.GetStdHandle(_OUTPUTS[descriptor])), ctypes.c_uint32()
        if not kernel.GetConsoleMode(console, ctypes.byref(mode)):
            return False
        return bool(mode.value & _ESCAPES or kernel.SetConsoleMode(console, ctypes.c_uint32(mode.value | _ESCAPES)))
    except (AttributeError, KeyError, OSError):
        return False


def bytes_for(descriptor: int, text: str) -> bytes:
    """Returns a text in the encoding of the terminal behind a descriptor: on Windows that of its console, such as
    cp936 (GBK). Characters that it lacks become question marks."""
    return text.encode(os.device_encoding(descriptor) or sys.stderr.encoding or "utf-8", "replace")
