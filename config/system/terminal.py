"""Words for a shell, and what its terminal can do."""

import os
import re
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from config.system.name import is_windows

_ESCAPES = 0x0004
"""Bit in the mode of a console of Windows that obeys escape sequences."""
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


def obeys_escapes(terminal: Any) -> bool:
    """Returns True if a terminal moves its cursor as it is told. A console of Windows has to be asked to. terminal: the
    stream that leads to it."""
    name = os.environ.get("TERM", "" if is_windows() else "dumb")
    return name != "dumb" and (not is_windows() or _console_obeys(terminal))


def _console_obeys(terminal: Any) -> bool:
    """Asks a console of Windows to obey escape sequences. Returns False if it cannot, as before Windows 10."""
    import ctypes

    system: Any = ctypes
    try:
        kernel, console = system.windll.kernel32, import_module("msvcrt").get_osfhandle(terminal.fileno())
        handle, mode = ctypes.c_void_p(console), ctypes.c_uint32()
        if not kernel.GetConsoleMode(handle, ctypes.byref(mode)):
            return False
        return bool(mode.value & _ESCAPES or kernel.SetConsoleMode(handle, ctypes.c_uint32(mode.value | _ESCAPES)))
    except (AttributeError, ImportError, OSError):
        return False


def bytes_for(descriptor: int, text: str) -> bytes:
    """Returns a text in the encoding of the terminal behind a descriptor: on Windows that of its console, such as
    cp936 (GBK). Characters that it lacks become question marks."""
    return text.encode(os.device_encoding(descriptor) or sys.stderr.encoding or "utf-8", "replace")


def at_terminal() -> bool:
    """Returns True if Ctrl-C in the terminal reaches this process, and its children in the same group."""
    if is_windows():
        return bool(sys.stdin and sys.stdin.isatty())
    try:
        with open("/dev/tty", "rb", buffering=0) as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False
