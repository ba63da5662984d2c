"""Whole runs with a fault at one input or output call: an error, a kill, a torn write, or a power cut.

A run trains, saves and ends, and is resumed once with a higher limit. Each of the calls below its folder is numbered. A
trial lets one call go wrong in a forked process, continues as the printed command says, and compares the end with that
of a run without a fault. SQLite's tests do the same.
"""

import builtins
import errno
import io
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from framework.checkpoint.store import CheckpointStore

KINDS = ("error", "kill", "torn", "power")
"""Outcomes of the chosen call: raises OSError; the process ends after it; the process ends in the middle of a write;
everything that was not fsynced is lost after it."""
KILLED = 137
TRACEBACK = 99
COMMON = (
    "general_cfg.seed=3", "general_cfg.save_fig=false", "general_cfg.online_eval=true",
    "general_cfg.online_eval_episode=2", "general_cfg.collect_traj=true", "general_cfg.keep_checkpoints=2",
)  # fmt: skip
ALGORITHMS = {
    "QLearning": (
        "general_cfg.algo_name=QLearning", "general_cfg.env_name=toy", "env_cfg.id=walk",
        "general_cfg.model_save_fre=30",
    ),
    "DQN": (
        "general_cfg.algo_name=DQN", "general_cfg.env_name=toy", "env_cfg.id=match", "general_cfg.model_save_fre=15",
        "algo_cfg.buffer_size=40", "algo_cfg.batch_size=4", "algo_cfg.learning_starts=8",
        "algo_cfg.value_layers=[{layer_type: linear, layer_size: [4], activation: relu}]",
    ),
}  # fmt: skip
LIMITS = ("general_cfg.max_total_step=80", "general_cfg.max_total_step=140")
"""End of the run, and of its resume."""


class Disk:
    """Remembers what would survive a power cut: the content of each file at its last fsync, and the names in each
    folder at the last fsync of the folder. Everything that exists at the start is durable."""

    def __init__(self, root: Path) -> None:
        self.root, self.numbers = root, count()
        self.content: dict[int, bytes] = {}
        self.names: dict[int, dict[str, int]] = {}
        self.identity: dict[int, int] = {}
        """inode -> number of our own, since an inode is used again after its file was deleted"""
        for folder, _, files in os.walk(root):
            self.sync(Path(folder))
            for name in files:
                self.sync(Path(folder, name))

    def made(self, path: Path) -> None:
        """Registers a new file or folder, of which nothing is durable yet."""
        self.identity.pop(path.stat().st_ino, None)
        number = self.number(path.stat().st_ino)
        if path.is_dir():
            self.names[number] = {}
        else:
            self.content[number] = b""

    def number(self, inode: int) -> int:
        return self.identity.setdefault(inode, next(self.numbers))

    def sync(self, path: Path) -> None:
        """Makes the present state of a file or folder durable."""
        number = self.number(path.stat().st_ino)
        if path.is_dir():
            self.names[number] = {entry.name: self.number(entry.inode()) for entry in os.scandir(path)}
        else:
            self.content[number] = path.read_bytes()

    def restore(self, target: Path, number: int | None = None) -> None:
        """Writes what survives to a new folder."""
        number = self.number(self.root.stat().st_ino) if number is None else number
        target.mkdir()
        for name, inner in self.names[number].items():
            if inner in self.names:
                self.restore(target / name, inner)
            elif inner in self.content:
                (target / name).write_bytes(self.content[inner])


class Faults:
    """Numbers the calls below a folder, and lets the one with the number `at` go wrong."""

    def __init__(self, root: Path, kind: str, at: int, survivors: Path) -> None:
        self.root, self.kind, self.at, self.survivors = str(root), kind, at, survivors
        self.count = 0
        self.calls: list[str] = []
        self.disk = Disk(root) if kind == "power" else None
        self.busy = False

    def install(self) -> None:
        """Replaces the functions of this process for good; it is a forked one."""
        self.open = builtins.open
        os.fsync = lambda descriptor: None  # the model of the disk takes its place
        for name in ("mkdir", "unlink", "remove", "rmdir", "fsync", "rename", "replace", "link", "truncate", "open"):
            setattr(os, name, self.wrapped(name, getattr(os, name)))
        builtins.open = io.open = self.faulty_open  # type: ignore[assignment]

    def below(self, path: Any, folder: int | None = None) -> Path | None:
        """The path, if it is inside the folder under test."""
        if isinstance(path, int):
            path = os.readlink(f"/proc/self/fd/{path}")
        elif folder is not None:
            path = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), path)
        path = os.path.abspath(os.fspath(path))
        return Path(path) if isinstance(path, str) and (path + "/").startswith(self.root + "/") else None

    def wrapped(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            path = None if self.busy else self.below(args[0], options.get("dir_fd"))
            if path is None:
                return original(*args, **options)
            return self.perform(name, path, lambda: original(*args, **options))

        return call

    def perform(self, name: str, path: Path, work: Callable[[], Any], half: Callable[[], Any] | None = None) -> Any:
        """Makes a call, or lets it go wrong."""
        torn = self.kind == "torn"
        if torn and half is None:
            return work()
        self.count += 1
        self.calls.append(f"{name} {path.relative_to(self.root)}")
        chosen = self.count == self.at
        if chosen and self.kind in ("error", "torn") and half is not None:
            half()
        if chosen and torn:
            os._exit(KILLED)
        if chosen and self.kind == "error":
            raise OSError(errno.ENOSPC, "No space left on device", *([] if name in ("write", "fsync") else [str(path)]))
        new = not path.exists()
        result = work()
        if self.disk is not None:
            self.note(name, path, new)
        if chosen and self.kind in ("kill", "power"):
            self.busy = True
            if self.disk is not None:
                self.disk.restore(self.survivors)
            os._exit(KILLED)
        return result

    def note(self, name: str, path: Path, new: bool) -> None:
        """Tells the model of the disk about a call that was made."""
        assert self.disk is not None
        self.busy = True
        if name == "fsync":
            self.disk.sync(path)
        elif name in ("open", "mkdir") and new:
            self.disk.made(path)
        self.busy = False

    def faulty_open(self, file: Any, mode: str = "r", buffering: int = -1, encoding: str | None = None,
                    errors: str | None = None, newline: str | None = None, closefd: bool = True,
                    opener: Any = None) -> Any:  # fmt: skip
        """Stands for `open`; a file that is written counts its writes and truncations."""
        path = None if self.busy or isinstance(file, int) else self.below(file)
        writes = set(mode) & set("wax+")
        plain = mode.replace("b", "").replace("t", "")

        def make() -> Any:
            if path is None or not writes:
                return self.open(file, mode, buffering, encoding, errors, newline, closefd, opener)
            raw = CountedFile(self, path, plain, opener)
            if buffering == 0:
                return raw
            buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
            return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)

        return make() if path is None or opener else self.perform("open", path, make)


class CountedFile(io.FileIO):
    """A file whose writes and truncations are numbered calls."""

    def __init__(self, faults: Faults, path: Path, mode: str, opener: Any) -> None:
        self.faults, self.path = faults, path
        super().__init__(path, mode, opener=opener)

    def write(self, data: Any) -> int:
        data = bytes(data)
        write = super().write
        return self.faults.perform("write", self.path, lambda: write(data), lambda: write(data[: len(data) // 2]))

    def truncate(self, size: int | None = None) -> int:
        truncate = super().truncate
        return self.faults.perform("truncate", self.path, lambda: truncate(size))


class End(NamedTuple):
    """What a run leaves that must not depend on faults."""

    train: bytes
    evaluations: bytes
    trajectories: bytes
    counts: dict[str, Any]
    arrays: str
    """Digest of all arrays of the newest checkpoint: weights, optimizer, streams, tapes."""
    best: Any


class Experiment:
    """A run, its resume, and the trials of their calls."""

    def __init__(self, algorithm: str, folder: Path) -> None:
        self.words = (*COMMON, *ALGORITHMS[algorithm])
        _import_early(self.words)
        self.folder = folder
        self.totals: dict[tuple[str, int], int] = {}
        self.halfway = folder / "halfway"
        base = folder / "reference"
        base.mkdir()
        for phase in (0, 1):
            if phase:
                shutil.copytree(base, self.halfway)
            status, text = self.run(base, phase)
            assert status == 0, text
        self.reference = end_of(base / "run")

    def total(self, kind: str, phase: int) -> int:
        """The number of calls that can go wrong: only writes can be torn, and all calls have the other faults."""
        kind = counted_as(kind)
        if (kind, phase) not in self.totals:
            base = self.start(phase)
            status, text = self.run(base, phase, kind)
            assert status == 0, text
            self.totals[kind, phase] = int((self.folder / "count").read_text())
            shutil.rmtree(base)
        return self.totals[kind, phase]

    def start(self, phase: int) -> Path:
        base = self.folder / "trial"
        shutil.rmtree(base, ignore_errors=True)
        if phase:
            shutil.copytree(self.halfway, base)
        else:
            base.mkdir()
        return base

    def command(self, base: Path, phase: int) -> list[str]:
        """Resumes where there is a checkpoint, and starts over where nothing was saved."""
        if CheckpointStore(base / "run" / "models").numbers():
            return ["--resume", str(base / "run"), LIMITS[phase]]
        shutil.rmtree(base / "run", ignore_errors=True)
        return ["--into", str(base / "run"), *self.words, LIMITS[phase]]

    def run(self, base: Path, phase: int, kind: str = "none", at: int = 0) -> tuple[int, str]:
        """Runs the command line in a forked process. Returns its exit status and what it printed."""
        command, said = self.command(base, phase), self.folder / "said.txt"
        sys.stdout.flush()
        child = os.fork()
        if not child:
            status = TRACEBACK
            try:
                descriptor = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(descriptor, 1)
                os.dup2(descriptor, 2)
                sys.stdout = sys.stderr = open(1, "w")  # noqa: SIM115  # until the process ends
                status = _in_child(command, Faults(base, kind, at, self.folder / "survivors"), self.folder)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(status)
        _, code = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(code), said.read_text()

    def trial(self, kind: str, phase: int, at: int) -> list[str]:
        """Lets one call go wrong, continues to the end, and returns what is wrong then."""
        shutil.rmtree(self.folder / "survivors", ignore_errors=True)
        base = self.start(phase)
        status, text = self.run(base, phase, kind, at)
        if status == TRACEBACK or (kind == "error" and status not in (0, 2)):
            return [f"status {status}: {text}"]
        if kind == "power" and status == KILLED:
            shutil.rmtree(base)
            (self.folder / "survivors").rename(base)
        if phase and not CheckpointStore(base / "run" / "models").numbers():
            return ["no checkpoint is left"]
        unchosen = "the best model could not be chosen" in text  # the run has succeeded; a resume chooses again
        for later in range(phase if status or unchosen else phase + 1, 2):
            status, text = self.run(base, later)
            if status:
                return [f"continuing failed with status {status}: {text}"]
        end = end_of(base / "run")
        return [f"{name} differs" for name in End._fields if getattr(end, name) != getattr(self.reference, name)]

    def failures(self, kind: str, phase: int, every: int = 1, first: int = 1) -> Iterator[str]:
        """Tries every call, or a share of them."""
        for at in range(first, self.total(kind, phase) + 1, every):
            for wrong in self.trial(kind, phase, at):
                yield f"{kind} at call {at}, {self.call(kind, at)}, phase {phase}: {wrong}"

    def call(self, kind: str, at: int) -> str:
        calls = json.loads((self.folder / f"calls_{counted_as(kind)}").read_text())
        return calls[at - 1]


def counted_as(kind: str) -> str:
    """Returns the kind of fault whose calls have the same numbers."""
    return kind if kind == "torn" else "error"


def _import_early(words: Iterable[str]) -> None:
    """Imports everything that a run imports, so that the forked processes need not."""
    from config.loader import load
    from framework import build, compatibility
    from framework.catalog import ALGOS, ENVS
    from framework.runs import train  # noqa: F401

    config = load(None, words, find_algo=ALGOS, find_env=ENVS)
    compatibility.check(config)
    env = build.make_env(config, 1)
    build.make_agent(config, build.env_spec(config, env), 1, build.device_of(config))
    env.close()


def _in_child(command: list[str], faults: Faults, folder: Path) -> int:
    """Runs the command with the faults installed. Leaves the number of calls for `Experiment.total`."""
    import torch

    from framework.runs import task_dir
    from main import main

    torch.set_num_threads(1)
    task_dir._git_commit = lambda: None  # type: ignore[assignment]  # two processes a run
    if faults.kind != "none":
        faults.install()
    status = main(command)
    faults.busy = True
    if faults.at == 0 and faults.kind != "none":
        (folder / "count").write_text(str(faults.count))
        (folder / f"calls_{faults.kind}").write_text(json.dumps(faults.calls))
    return status


def end_of(run: Path) -> End:
    """Reads the end of a run."""

    def manifest(name: str) -> Any:
        return json.loads((run / "models" / name / "manifest.json").read_text().splitlines()[0])

    newest = manifest(str(CheckpointStore(run / "models").numbers()[-1]))
    counts = {name: newest["facts"][name] for name in ("step", "episode", "update")}
    files = (run / "results" / name for name in ("train.csv", "eval.csv", "trajs.pkl"))
    return End(*(path.read_bytes() for path in files), counts, newest["state_sha256"], manifest("best")["facts"])
