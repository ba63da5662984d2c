"""Writers of collected episodes in the formats that a program other than ours reads more easily than a pickle."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol
from zlib import crc32

import numpy as np

from config.model.policies import NAMES
from config.read.opening import regular
from config.read.paths import as_written
from framework.dataset import archives, lines
from framework.dataset.columns import Columns, joined, renamed, rows, size_of
from framework.dataset.convert import convert
from framework.dataset.trajectories import LIMIT, MOST_WAITING, TrajectoryWriter
from framework.disk.atomic import discard, ensure_folder, finish, naming, sync_folder, unfinished
from framework.disk.csv_log import JsonLog, last_end
from framework.errors import DataError
from framework.log import LOGGER

LIMIT_BYTES = 2**25
"""Bytes at which a new file is started. This much is kept in memory, and written again at each save."""


class EpisodeWriter(Protocol):
    """A writer of the episodes of a run."""

    @property
    def path(self) -> Path: ...

    def add(self, item: Mapping[str, Any]) -> None: ...

    def state(self) -> Any: ...

    def restore(self, state: Any) -> bool: ...

    def close(self) -> None: ...


def episode_writer(form: Literal["pkl", "npz", "jsonl", "minari"], folder: Path) -> EpisodeWriter:
    """Makes the writer of a format, into a folder of results."""
    kinds = {"pkl": TrajectoryWriter, "npz": ArchiveWriter, "jsonl": LinesWriter, "minari": MinariWriter}
    return kinds[form](folder)


def _check_form(state: Mapping[str, Any], form: str) -> None:
    if (written := state.get("form", "pkl")) != form:
        raise ValueError(f"its trajectories are in {written}; resume with general_cfg.collect_format={written}")


def _columns(episode: Mapping[str, Any]) -> Columns:
    """Returns the columns of an episode as a recorder gives it, without its infos."""
    return {name: np.asarray(episode[given]) for name, given in renamed(episode).items()}


def _policy_of(infos: Sequence[Mapping[str, Any]]) -> str:
    """Returns the policy that an agent's episode names in its first info; empty for an episode of a single agent."""
    facts = infos[0] if infos else {}
    policy = facts.get("policy")
    return policy if "agent" in facts and isinstance(policy, str) and re.fullmatch(NAMES, policy) else ""


class LinesWriter:
    """Writes results/trajs.jsonl, a line for each episode."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "trajs.jsonl"
        self._log: JsonLog | None = None

    def add(self, item: Mapping[str, Any]) -> None:
        """Writes an episode. One that cannot be written (a full disk) waits in memory."""
        log = self._opened()
        log.append_line(lines.line_of(_columns(item), item["info"]))
        if log.waiting > MOST_WAITING:
            log.flush()

    def _opened(self) -> JsonLog:
        """Returns the file, cut back to its last whole line when it is opened."""
        if self._log is None:
            ensure_folder(self.path.parent)
            if self.path.exists():
                _cut_torn_line(self.path)
            self._log = JsonLog(self.path)
        return self._log

    def state(self) -> dict[str, Any]:
        """Returns the end of the file, which is on the disk now: the state for an exact resume."""
        log = self._opened()
        return {"form": "jsonl", "position": log.position(), "crc": log.crc}

    def restore(self, state: Mapping[str, Any]) -> bool:
        """Drops every episode that was written after this state. Returns False if those before it have changed."""
        _check_form(state, "jsonl")
        return self._opened().restore(int(state["position"]), state["crc"])

    def close(self) -> None:
        """Closes the file."""
        if self._log is not None:
            self._log.close()
            self._log = None


def _cut_torn_line(path: Path) -> None:
    """Removes the end of a file behind its last line, which a crash has left."""
    with open(path, "r+b", opener=regular) as file:
        file.truncate(last_end(file, os.fstat(file.fileno()).st_size))


class ArchiveWriter:
    """Writes results/trajs_0.npz, trajs_1.npz, ...; with several agents a series for each policy, trajs_NAME_0.npz.

    An archive cannot be appended to. So the episodes of the current one are in memory, and it is written whole, in the
    place of the one before, when it is full, at each save of the run and at its end."""

    FORM = "npz"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._series: dict[str, _Series] = {}
        """Name of the policy, empty for a single agent -> its files."""

    @property
    def path(self) -> Path:
        """The folder of the files."""
        return self.folder

    def add(self, item: Mapping[str, Any]) -> None:
        """Takes an episode. One that cannot be written (a full disk) stays in memory."""
        policy = _policy_of(item["info"])
        if policy not in self._series:
            self._series[policy] = _Series(self.folder, policy)
        self._series[policy].add(_columns(item))

    def state(self) -> dict[str, Any]:
        """Returns the ends of the files, which are on the disk now: the state for an exact resume."""
        return {"form": self.FORM, "series": {policy: series.state() for policy, series in self._series.items()}}

    def restore(self, state: Mapping[str, Any]) -> bool:
        """Drops every episode that was written after this state. Returns False if those before it have changed."""
        _check_form(state, self.FORM)
        self._series = {str(policy): _Series(self.folder, str(policy)) for policy in state["series"]}
        kept = {path for series in self._series.values() for path in series.files().values()}
        for path in self.folder.glob("trajs*_*.npz"):
            if path not in kept and re.fullmatch(r"trajs(_[A-Za-z]\w*)?_\d+\.npz", path.name):
                path.unlink()  # of a policy that had no episode yet
        return all([self._series[policy].restore(end) for policy, end in state["series"].items()])

    def close(self) -> None:
        """Writes what is in memory."""
        for series in self._series.values():
            series.write()
        self._series = {}


class MinariWriter(ArchiveWriter):
    """Writes the same files, from which a resume goes on, and results/trajs.minari of them whenever the run ends: HDF5
    cannot be cut back to a checkpoint."""

    FORM = "minari"

    def close(self) -> None:
        """Writes what is in memory, and the data sets."""
        names = list(self._series)
        super().close()
        for policy in names:
            files = [str(path) for _, path in sorted(_Series(self.folder, policy).files().items())]
            target = self.folder / f"{stem_of(policy)}.minari"
            try:
                discard(target)
                convert(files, str(target))
            except (DataError, OSError) as error:
                LOGGER.warning("%s could not be written: %s; %s has the episodes", target, error, ", ".join(files))


def stem_of(policy: str) -> str:
    """Returns the beginning of the names of a policy's files."""
    return f"trajs_{policy}" if policy else "trajs"


def _read(path: Path) -> Columns:
    """Returns what is in an archive that was written here; nothing if it is missing."""
    try:
        return joined([block.columns for block in archives.read(path)]) if path.exists() else {}
    except Exception as error:  # each damage has an error of its own
        raise ValueError(
            f"{as_written(path)} is damaged: {error}; general_cfg.collect_traj=false resumes without it"
        ) from error


class _Series:
    """Files of one kind of episodes, the newest of them in memory."""

    def __init__(self, folder: Path, policy: str) -> None:
        self.folder, self._stem = folder, stem_of(policy)
        self._number = max(self.files(), default=-1) + 1
        self._begin()

    def _begin(self) -> None:
        self._parts: list[Columns] = []
        self._episodes = self._bytes = 0
        self._crc: dict[str, int] = {}
        self._written = True
        self._warned = False

    def files(self) -> dict[int, Path]:
        """Returns the files that exist, by number."""
        found = [(path, re.fullmatch(rf"{self._stem}_(\d+)", path.stem)) for path in self.folder.glob("trajs*.npz")]
        return {int(match[1]): path for path, match in found if match}

    def _path(self) -> Path:
        return self.folder / f"{self._stem}_{self._number}.npz"

    def add(self, episode: Columns) -> None:
        """Takes an episode, and writes the file if it is full now."""
        self._keep(episode)
        self._episodes += 1
        if self._episodes < LIMIT and self._bytes < LIMIT_BYTES:
            return
        try:
            self.write()
        except OSError as error:
            if self._bytes > MOST_WAITING:
                raise
            if not self._warned:
                LOGGER.warning("%s: %s; trajectories wait in memory", error.filename, error.strerror)
            self._warned = True
        else:
            self._number += 1
            self._begin()

    def _keep(self, steps: Columns) -> None:
        self._parts.append(steps)
        self._bytes += size_of(steps)
        self._crc = {name: crc32(archives.content(steps[name]), self._crc.get(name, 0)) for name in steps}
        self._written = False

    def write(self) -> None:
        """Writes the current file whole, unless it is as it was."""
        if self._written:
            return
        ensure_folder(self.folder)
        count = sum(len(part["reward"]) for part in self._parts)
        columns = {name: (part, [each[name] for each in self._parts]) for name, part in self._parts[0].items()}
        path = self._path()
        try:
            with naming(path), open(unfinished(path), "w+b", opener=regular) as file:
                archives.write(file, count, columns)
                finish(file, path)
        except OSError:
            unfinished(path).unlink(missing_ok=True)
            raise
        self._written = True

    def state(self) -> dict[str, Any]:
        """Writes the current file, and returns its number and what is in it."""
        self.write()
        steps = sum(len(part["reward"]) for part in self._parts)
        return {"file": self._number, "episodes": self._episodes, "steps": steps, "crc": self._crc}

    def restore(self, end: Mapping[str, Any]) -> bool:
        """Continues after this state. Returns False if what was written before it has changed."""
        for number, path in self.files().items():
            if number > int(end["file"]):
                path.unlink()
        self._number, steps = int(end["file"]), int(end["steps"])
        self._begin()
        path = self._path()
        if steps:
            found = _read(path)
            if len(found.get("reward", ())) < steps:
                raise ValueError(
                    f"{as_written(path)} is shorter than at the checkpoint; general_cfg.collect_traj=false resumes "
                    "without it"
                )
            self._keep(rows(found, slice(steps)))
            self._episodes = int(end["episodes"])
            self.write()
        else:
            path.unlink(missing_ok=True)
            sync_folder(self.folder)
        return self._crc == dict(end["crc"])
