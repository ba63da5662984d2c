"""The task directory: one run's config, models, results, videos and logs, under a name that tells them apart."""

import json
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

from framework.errors import TaskDirError

ROOT = Path("tasks")
_PACKAGES = ("torch", "gymnasium", "numpy", "pydantic", "safetensors", "ray")


class TaskDir:
    """Paths of one run, and the lock that keeps a second process out."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.yaml"
        self.run = path / "run.json"
        self.models = path / "models"
        self.results = path / "results"
        self.videos = path / "videos"
        self.logs = path / "logs"
        self.tb_logs = path / "tb_logs"
        self._lock: IO[str] | None = None

    @classmethod
    def create(cls, mode: str, env_id: str, algo: str, into: Path | None = None, root: Path = ROOT) -> "TaskDir":
        """A new folder under tasks/, or the one that --into names."""
        task = cls(new_folder(mode, env_id, algo, into, root))
        task.open(training=mode == "train")
        return task

    def open(self, training: bool = True) -> None:
        """Makes the folders and takes the lock. A test has neither models nor TensorBoard files."""
        try:
            for folder in (self.results, self.logs, *((self.models, self.tb_logs) if training else ())):
                folder.mkdir(exist_ok=True)
            self._lock = open(self.path / ".lock", "a+")  # noqa: SIM115  # held until close()
        except OSError as error:
            raise TaskDirError(f"cannot write to {self.path}: {error.strerror}") from error
        if not _lock(self._lock):
            raise TaskDirError(f"{self.path} is being written by another run; wait for it, or stop it first")

    def close(self) -> None:
        """Let go of the lock."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def write_run(self, facts: dict[str, Any]) -> None:
        """Add facts to run.json."""
        merged = {**self.read_run(), **facts}
        new = self.run.with_suffix(".tmp")
        new.write_text(json.dumps(merged, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        os.replace(new, self.run)

    def read_run(self) -> dict[str, Any]:
        """The facts in run.json; empty if there is none."""
        try:
            facts = json.loads(self.run.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return facts if isinstance(facts, dict) else {}


def new_folder(kind: str, env_id: str, algo: str, into: Path | None = None, root: Path = ROOT) -> Path:
    """Make the folder of a run; a second one in the same second gets a suffix, never the same folder."""
    safe = env_id.replace("/", "-").replace(":", "-")
    name = f"{kind.capitalize()}_{safe}_{algo}_{time.strftime('%Y%m%d-%H%M%S')}"
    suffixes = ("", *(f"_{attempt}" for attempt in range(2, 1000)))
    for path in [into] if into else [root / f"{name}{suffix}" for suffix in suffixes]:
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise TaskDirError(f"cannot make the task directory {path}: {error.strerror}") from error
        return path
    raise TaskDirError(f"{into} exists; --into names a new folder" if into else f"no free name like {name} in {root}")


def _lock(file: IO[str]) -> bool:
    """Whether the lock could be had. Systems without flock run unlocked."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def circumstances(command_line: list[str]) -> dict[str, Any]:
    """What a run needs to be understood later: command, versions, commit. No environment variables."""
    return {
        "command_line": command_line,
        "started": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "cpu": _cpu(),
        "versions": {name: _version(name) for name in _PACKAGES},
        "git_commit": _git_commit(),
    }


def _cpu() -> str | None:
    """Returns the name of the processor; None if the system does not say it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git_commit() -> str | None:
    """The commit of this code, with + where code or presets differ from it; None outside a checkout."""
    here = Path(sys.modules[__name__].__file__ or ".").parent

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(here), *words], capture_output=True, text=True, check=True, timeout=5
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ":/*.py", ":/*.yaml")
        return git("rev-parse", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return None
