"""Imitates Windows on this machine, for what our own code asks of the system: python -m tests.tools.windows WORDS...

It is no Windows, and proves nothing about the libraries that we use. What Python lacks there is taken away (locks of
Unix, processes that fork, most signals, owners of files, /proc); what refuses there refuses here: to open a folder, to
rename or delete what is open in this process, to rename to a name that is taken, to sync what was opened for reading.
A process that this one starts with our program imitates it as well. Text that is opened without an encoding is an
error.
"""

import builtins
import contextlib
import errno
import importlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import types
import warnings
from collections.abc import Callable
from functools import partial
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OURS = ("config", "algos", "envs", "framework", "main", "joystick")
MODULES = ("fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty")
"""Modules that Python does not have on Windows."""
OF_OS = (
    "chown", "chroot", "fchmod", "fchown", "fork", "forkpty", "getegid", "geteuid", "getgid", "getloadavg", "getpgid",
    "getpgrp", "getpriority", "getsid", "getuid", "killpg", "lchown", "lockf", "mkfifo", "mknod", "nice", "openpty",
    "pidfd_open", "posix_fadvise", "posix_fallocate", "pread", "pwrite", "register_at_fork", "sched_getaffinity",
    "sched_setaffinity", "setpgid", "setsid", "sync", "sysconf", "ttyname", "uname", "wait", "wait3",
    "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK",
)  # fmt: skip
"""Names that the module os does not have there, without those with which Python waits for processes here."""
OF_SIGNAL = (
    "SIGALRM", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGSTOP", "SIGTSTP", "SIGTTIN",
    "SIGTTOU", "SIGUSR1", "SIGUSR2", "SIG_BLOCK", "SIG_UNBLOCK", "alarm", "pause", "pidfd_send_signal", "pthread_kill",
    "pthread_sigmask", "setitimer", "sigtimedwait", "sigwait",
)  # fmt: skip
"""Names that the module signal does not have there."""
OUTSIDE = (
    "PIL.Image", "asyncio", "cloudpickle", "gymnasium.envs.classic_control", "gymnasium.vector", "http.server",
    "multiprocessing.shared_memory", "numpy", "pydantic", "rich.live", "rich.progress_bar",
    "safetensors.numpy", "socketserver", "tempfile", "torch", "torch.utils.tensorboard", "webbrowser", "yaml",
)  # fmt: skip
"""Modules that are imported before, since they would ask the system as well."""
BREAK = 21
"""Number of SIGBREAK there; here that of another signal which a process can get."""


class _Popen(subprocess.Popen):
    """Starts our program as one that imitates Windows, too, and sends the signals that there are."""

    def __init__(self, command: Any, **options: Any) -> None:
        assert "preexec_fn" not in options
        assert not options.pop("process_group", None), "not on Windows"
        words = [str(word) for word in command]
        if str(ROOT / "main.py") in words:
            at = words.index(str(ROOT / "main.py"))
            words[at : at + 1] = ["-m", "tests.tools.windows"]
            options["env"] = {**(options.get("env") or os.environ), "PYTHONPATH": str(ROOT)}
        own_group = options.pop("creationflags", 0) == subprocess.CREATE_NEW_PROCESS_GROUP  # type: ignore[attr-defined]
        super().__init__(words, **options, process_group=0 if own_group else None)

    def send_signal(self, number: int) -> None:
        if number == signal.SIGTERM:
            self.kill()
        elif number == signal.CTRL_BREAK_EVENT:  # type: ignore[attr-defined]
            super().send_signal(BREAK)
        else:
            raise ValueError(f"Unsupported signal: {number}")

    def kill(self) -> None:
        super().send_signal(9)

    terminate = kill


def _refusing_open_files(change: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a change of names that refuses what is open in this process."""

    def checked(*paths: Any, **options: Any) -> Any:
        if not options:  # relative to a folder that is open: of shutil, which does otherwise there
            for path in paths:
                place = os.path.realpath(os.fspath(path))
                if change.__name__ == "rename" and path is paths[1] and os.path.lexists(place):
                    raise FileExistsError(errno.EEXIST, "the name is taken", os.fspath(path))
                for taken in _open_here():
                    if taken == place or taken.startswith(place + os.sep):
                        raise PermissionError(errno.EACCES, f"{taken} is open in this process", os.fspath(path))
        return change(*paths, **options)

    return checked


def _open_here() -> list[str]:
    """Returns the files that are open in this process."""
    places = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            places.append(os.readlink(f"/proc/self/fd/{name}"))
    return [place for place in places if "/pym-" not in place]  # of multiprocessing, which does otherwise there


def _locking(fcntl: Any) -> types.ModuleType:
    """Returns the module msvcrt. Its locks are those of Linux, which children inherit."""
    module: Any = types.ModuleType("msvcrt")
    module.LK_NBLCK = 2

    def locking(descriptor: int, mode: int, count: int) -> None:
        assert (mode, count) == (2, 1)
        assert os.lseek(descriptor, 0, os.SEEK_CUR) > os.fstat(descriptor).st_size, "others could not read the file"
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, "Permission denied") from None

    module.locking = locking
    return module


def imitate() -> None:
    """Makes this process imitate Windows, on Linux. Elsewhere it does nothing, so that a test tries the system itself.
    To be called before our own modules are imported."""
    if sys.platform != "linux":
        return
    for name in OUTSIDE:
        importlib.import_module(name)
    ours = [name for name in sys.modules if name.split(".")[0] in OURS]
    assert not ours, ours
    fcntl = importlib.import_module("fcntl")
    sys.modules["msvcrt"] = _locking(fcntl)
    _change_python()
    _change_files(fcntl)
    for module, names in ((os, OF_OS), (signal, OF_SIGNAL)):
        for name in filter(partial(hasattr, module), names):
            delattr(module, name)
    _hide_modules()
    for variable in ("TERM", "DISPLAY"):
        os.environ.pop(variable, None)
    # an error in our own modules alone; it needs python -X warn_default_encoding
    warnings.filterwarnings("error", category=EncodingWarning, module=rf"({'|'.join(OURS)})\b")

    from config import machine
    from config.system import name as system

    system.NAME = "win32"
    machine.PROC = machine.CGROUPS = machine.SHARED = Path("/nothing")


def _change_python() -> None:
    """Makes Python's own library do what it does there."""
    tempfile.TemporaryFile = tempfile.NamedTemporaryFile
    resource_tracker._HAVE_SIGMASK = False  # type: ignore[attr-defined]
    shutil._use_fd_functions = False  # type: ignore[attr-defined]
    multiprocessing.set_start_method("spawn")
    new: Any = signal
    new.SIGBREAK, new.CTRL_BREAK_EVENT = BREAK, 1
    new = subprocess
    new.CREATE_NEW_PROCESS_GROUP, new.Popen = 0x200, _Popen


def _change_files(fcntl: Any) -> None:
    """Refuses what is refused there."""
    open_file, sync = os.open, os.fsync

    def opened(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        if not options and os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied", os.fspath(path))
        return open_file(path, flags, *rest, **options)

    def synced(descriptor: int) -> None:
        if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, "Bad file descriptor")
        sync(descriptor)

    def linked(*paths: Any, **options: Any) -> None:
        raise OSError(errno.EPERM, "A required privilege is not held by the client")

    for name in ("rename", "replace", "unlink", "remove", "rmdir"):
        setattr(os, name, _refusing_open_files(getattr(os, name)))
    new: Any = os
    new.open, new.fsync, new.symlink = opened, synced, linked


def _hide_modules() -> None:
    """Hides modules from our own code. Those of Python and of others, which know this system, keep them."""
    usual, usual_by_name = builtins.__import__, importlib.import_module

    def imported(name: str, globals: Any = None, *rest: Any, **options: Any) -> Any:
        file = (globals or {}).get("__file__") or ""
        if name in MODULES and file.startswith(str(ROOT)):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return usual(name, globals, *rest, **options)

    def imported_by_name(name: str, package: str | None = None) -> Any:
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return usual_by_name(name, package)

    builtins.__import__, importlib.import_module = imported, imported_by_name


def run(words: list[str]) -> int:
    """Runs main.py with these words."""
    imitate()
    sys.argv = ["main.py", *words]
    from main import main

    return main(words)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(run(sys.argv[1:]))
