"""Signals, and processes that are started or forked."""

import os
import signal
import subprocess
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NoReturn

from config.system.name import NAME, is_windows

STOPS: dict[int, str] = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}
"""Signals that stop a run, and their names, without SIGHUP."""
HANGUP: int | None = getattr(signal, "SIGHUP", None)
"""Signal of a closed terminal; None on Windows."""
if hasattr(signal, "SIGBREAK"):
    STOPS[signal.SIGBREAK] = "Ctrl-Break"
KILLED = getattr(signal, "SIGKILL", signal.SIGTERM)
"""Signal of a process that the system has ended."""


def at_fork(**calls: Callable[[], object]) -> None:
    """Registers calls of `os.register_at_fork`; nothing where processes are not forked."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(**calls)


def survives(work: Callable[[], object]) -> bool:
    """Returns False if a signal ends a process that does this: a library may end it for what is in a file, and then no
    exception can be caught. The process is forked; where none can be, nothing is tried, and True is returned."""
    if not hasattr(os, "fork"):
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads: the work needs none of them
        child = os.fork()
    if not child:
        try:
            with open(os.devnull, "wb") as nowhere:  # for what the library writes before it ends
                os.dup2(nowhere.fileno(), 2)
            import_module("resource").setrlimit(import_module("resource").RLIMIT_CORE, (0, 0))
            work()
        finally:
            os._exit(0)
    return not os.WIFSIGNALED(os.waitpid(child, 0)[1])


def out_of_reach(detached: bool = False) -> dict[str, Any]:
    """Returns the arguments of subprocess.Popen for a process that Ctrl-C in this terminal does not reach, and that
    `interrupt` can stop. detached: it does not even notice that the terminal is closed."""
    if is_windows():
        return {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0x200)}
    return {"start_new_session": True} if detached else {"process_group": 0}


def unblock(numbers: Iterable[int]) -> None:
    """Lets this thread, and the processes that it starts, get these signals; Windows blocks none."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)


def interrupt(process: Any, number: int) -> None:
    """Sends a signal to a process that was started `out_of_reach`; on Windows Ctrl-Break, since any other one would
    end it at once."""
    process.send_signal(getattr(signal, "CTRL_BREAK_EVENT", 1) if is_windows() else number)


def end_group(process: Any) -> None:
    """Ends a process that was started `out_of_reach`, and on Linux and macOS those that it has started, too; waits for
    its end."""
    if is_windows():
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def end_own_group() -> NoReturn:
    """Ends this process at once, and on Linux and macOS those that it has started, if it leads a group."""
    if not is_windows() and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


LOOPBACK = {"linux": "lo", "darwin": "lo0"}.get(NAME)
"""Name of the network interface that leads to this machine alone; None where it has none that is always the same."""
