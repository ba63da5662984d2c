"""Task directory: config, models, results, videos and logs of one run, and the lock on it."""

import errno
import functools
import json
import os
import platform
import re
import subprocess
import time
import weakref
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

from config.machine import processor_name
from config.program import MAIN, PROGRAM
from config.read.opening import fault_below, read_regular, regular
from config.read.paths import as_url, as_written, fixed
from config.read.stores import is_url
from config.read.task_files import GROUPS, LOCK, RUN, TaskFiles
from config.system.files import NO_LOCKS, lock
from config.system.processes import at_fork
from config.system.terminal import quoted
from config.tell.system_errors import reason_of
from framework.disk.atomic import make_folder, replaced, sync_folder, write_whole
from framework.disk.facts import RunFacts
from framework.errors import TaskDirError

ROOT = Path("tasks")
CLOSED = "closed by the program"
"""Outcome of a run that Python code has closed before a stop rule was met."""
FAILED = "failed:"
"""Beginning of the outcome of a run that an error has ended; the error's sentence follows."""
PAUSED = "paused at step"
"""Outcome of a run that has paused, before the step."""
MOST_BYTES = 2**24
"""Size of the largest file of facts that is read."""
LOOK_SECONDS = 0.1
"""Pause before the second attempt to take a lock: `is_locked` may have held it for a moment."""
_NOT_IN_NAMES = re.compile(r'[<>:"/\\|?*\x00-\x1f]')
"""Characters of an environment's id that the name of a folder cannot have, on any system."""
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")
"""Name of the folder of a checkpoint."""
_PACKAGES = ("torch", "gymnasium", "numpy", "pydantic", "safetensors", "ray")


class TaskDir(TaskFiles):
    """Files of one run, and the lock that keeps out a second process."""

    def __init__(self, path: Path) -> None:
        super().__init__(fixed(path))
        self._lock: IO[str] | None = None

    @classmethod
    def create(
        cls, mode: str, env_id: str, algo: str, into: Path | None = None, start: Path | None = None, mark: str = ""
    ) -> "TaskDir":
        """Creates and opens a new folder under tasks/, or the one that --into names. mark: see new_folder."""
        task = cls(new_folder(mode, env_id, algo, into, start, mark))
        task.open(training=mode == "train")
        return task

    def open(self, training: bool = True) -> None:
        """Creates the folders and takes the lock. A test has neither models nor TensorBoard files."""
        self.check()
        try:
            for folder in (self.results, self.logs, *((self.models, self.tb_logs) if training else ())):
                folder.mkdir(exist_ok=True)
            sync_folder(self.path)
            self._lock = held_lock(self.path, if_any=True)
        except FileExistsError as error:
            raise TaskDirError(
                "{path} is in the place of a folder of the run; move it away", path=as_written(Path(error.filename))
            ) from error
        except OSError as error:
            place = Path(error.filename) if isinstance(error.filename, str) else self.path
            raise TaskDirError(
                "cannot write to {path}: {reason}", path=as_written(place), reason=reason_of(error)
            ) from error
        if self._lock is None:
            raise TaskDirError(
                "{path} is being written by another run; wait for it, or stop it first", path=as_written(self.path)
            )

    @property
    def has_locks(self) -> bool:
        """False if the file system of an open directory has no locks, which would keep a second process out."""
        try:
            if self._lock is not None:
                lock(self._lock)
        except OSError as error:
            return error.errno not in NO_LOCKS
        return True

    def check(self) -> None:
        """Raises TaskDirError if anything below is neither a file nor a folder."""
        if fault := fault_below(self.path):
            raise TaskDirError(fault)

    def check_there(self) -> None:
        """Raises TaskDirError if the folder of a training run was deleted or moved: open files take what is written and
        lose it, and what is saved would lie in a new folder that no resume can use."""
        if not self.config.exists() and not self.models.exists():
            raise TaskDirError(
                "{path} was deleted or moved while the run was training: nothing more can be saved there",
                path=as_written(self.path),
            )

    def close(self) -> None:
        """Releases the lock."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def write_run(self, facts: Mapping[str, Any]) -> None:
        """Adds facts to run.json. Raises ValueError for one that RunFacts does not have."""
        RunFacts.model_validate(facts)
        add_facts(self.run, facts)

    def facts(self) -> RunFacts:
        """Returns the facts in run.json; none if it is missing or damaged."""
        return RunFacts.read(read_facts(self.run))


def checkpoint_numbers(models: Path) -> list[int]:
    """Returns the updates of the checkpoints in a folder, oldest first. Reads the names alone."""
    if not models.is_dir():
        return []
    names = {replaced(path).name for path in models.iterdir() if path.is_dir()}
    return sorted(int(name) for name in names if _NUMBER.fullmatch(name))


def add_facts(path: Path, facts: Mapping[str, Any]) -> None:
    """Adds facts to a file of JSON."""
    write_whole(path, facts_as_bytes({**read_facts(path), **facts}))


def facts_as_bytes(facts: Mapping[str, Any]) -> bytes:
    """Returns facts as JSON. Bytes of a path that are no UTF-8 are surrogates, which JSON has as escapes."""
    return (json.dumps(facts, indent=2, ensure_ascii=False) + "\n").encode(errors="backslashreplace")


def read_facts(path: Path) -> dict[str, Any]:
    """Returns the facts in a file of JSON; none if it is missing or damaged."""
    try:
        return _facts(path)
    except (OSError, ValueError, RecursionError, MemoryError):
        return {}


def is_damaged(path: Path) -> bool:
    """Returns True for a file of facts that can be read, and is no object of JSON."""
    try:
        _facts(path)
    except OSError:
        return False
    except (ValueError, RecursionError, MemoryError):
        return True
    return False


def _facts(path: Path) -> dict[str, Any]:
    facts = json.loads(read_regular(path, MOST_BYTES))
    if not isinstance(facts, dict):
        raise ValueError
    return facts


def check_new(into: Path | None, start: Path | None = None) -> None:
    """Raises TaskDirError if the folder that --into names exists, or cannot be made where it is. start: working
    directory that it is in; None: the current one."""
    if not into or is_url(str(into)):
        return
    path = fixed(into, start)
    if any(os.path.lexists(path / name) for name in (RUN, *GROUPS)):
        raise TaskDirError(
            "{path} exists; --into names a new folder; to go on with what was begun there: {command}",
            path=as_written(path),
            command=f"{PROGRAM} resume {quoted(str(as_written(path)))}",
        )
    if os.path.lexists(path):
        raise TaskDirError("{path} exists; --into names a new folder", path=as_written(path))
    above = next(folder for folder in path.parents if os.path.lexists(folder))
    refused = errno.ENOTDIR if not above.is_dir() else errno.EACCES if not os.access(above, os.W_OK | os.X_OK) else 0
    if refused:
        raise _unmade(path, OSError(refused, os.strerror(refused)))


def _unmade(path: Path, error: OSError) -> TaskDirError:
    """Returns the error of a folder that cannot be made."""
    return TaskDirError(
        "cannot make the task directory {path}: {reason}", path=as_written(path), reason=reason_of(error)
    )


def new_folder(
    kind: str, env_id: str, algo: str, into: Path | None = None, start: Path | None = None, mark: str = ""
) -> Path:
    """Creates the folder of a run, and returns its absolute path. A second run in the same second gets a suffix, never
    the same folder. start: working directory that into and tasks/ are in; None: the current one. mark: end of a name
    that is chosen here, for one that other machines must not choose in the same second."""
    if into and is_url(str(into)):
        raise TaskDirError(
            "{into}: only what trains is copied to a store; name a folder of this machine", into=as_url(into)
        )
    into, root = into and fixed(into, start), fixed(ROOT, start)
    safe = _NOT_IN_NAMES.sub("-", env_id)
    name = f"{kind.capitalize()}_{safe}_{algo}_{time.strftime('%Y%m%d-%H%M%S')}{mark}"
    suffixes = ("", *(f"_{attempt}" for attempt in range(2, 1000)))
    for path in [into] if into else [root / f"{name}{suffix}" for suffix in suffixes]:
        try:
            make_folder(path)
        except FileExistsError:
            continue
        except OSError as error:
            raise _unmade(path, error) from error
        return path
    check_new(into, start)
    raise TaskDirError("no free name like {name} in {path}", name=name, path=as_written(root))


_held: "weakref.WeakSet[IO[str]]" = weakref.WeakSet()
"""Lock files of this process."""


def _close_inherited() -> None:
    """Closes the copies of the locks in a forked child: an environment process that outlives a run must not keep the
    directory locked. The lock itself stays with the parent."""
    for file in list(_held):
        file.close()


at_fork(after_in_child=_close_inherited)


def held_lock(folder: Path, if_any: bool = False) -> IO[str] | None:
    """Returns the lock of a folder, which lasts until it is closed; None if another process has it. if_any: as for
    `take_lock`."""
    file = open(folder / LOCK, "a+", encoding="utf-8", opener=regular)  # noqa: SIM115  # held until it is closed
    if not take_lock(file, if_any):
        file.close()
        return None
    _held.add(file)
    return file


def take_lock(file: IO[Any], if_any: bool = False) -> bool:
    """Returns True if the lock on an open file was taken. See `lock` for when it ends. if_any: True also where the file
    system has no locks, for what would rather go on without one than not at all."""
    for pause in (LOOK_SECONDS, 0):
        try:
            if lock(file):
                return True
        except OSError as error:
            if error.errno in NO_LOCKS:
                return if_any
        time.sleep(pause)
    return False


def is_locked(folder: Path, unknown: bool = False) -> bool:
    """Returns True if a process is writing to a task directory, or drives a group or a tuning. Takes a shared lock for
    a moment. unknown: what to return where the file system has no locks."""
    try:
        with open(folder / LOCK, "rb", opener=regular) as file:
            return not lock(file, shared=True)
    except OSError as error:
        return unknown and error.errno in NO_LOCKS


def circumstances(command_line: list[str]) -> dict[str, Any]:
    """Returns the facts that explain a run later: command, versions, commit. No environment variables."""
    return {
        "command_line": command_line,
        "started": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "cpu": processor_name(),
        "versions": {name: installed_version(name) for name in _PACKAGES},
        "git_commit": _git_commit(),
    }


@functools.cache
def installed_version(package: str) -> str | None:
    """Returns the version of an installed package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@functools.cache
def _git_commit() -> str | None:
    """Returns the commit of this code, with + if code or presets differ from it at the first call; None outside a
    checkout."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(MAIN.parent), *words],  # noqa: S607  # where git is differs between systems
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=True,
            timeout=5,
        ).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", str(MAIN))  # an installed copy may lie inside another project's checkout
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ":/*.py", ":/*.yaml")
        return git("rev-parse", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return None
