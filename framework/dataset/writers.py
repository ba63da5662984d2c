"""Writers of collected episodes in the formats that a program other than ours reads more easily than a pickle."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

import numpy as np

from config.model.policies import NAMES
from config.read.opening import regular
from config.read.paths import as_written
from config.tell.language import tr
from framework.dataset import archives, lines
from framework.dataset.columns import Columns, joined, renamed, rows, size_of
from framework.dataset.convert import convert
from framework.dataset.store import StepStore
from framework.dataset.trajectories import LIMIT, TrajectoryWriter
from framework.disk.appended import last_end
from framework.disk.atomic import discard, ensure_folder, finish, naming, sync_folder, unfinished
from framework.disk.csv_log import JsonLog
from framework.errors import DataError
from framework.log import LOGGER

LIMIT_BYTES = 2**25
"""Bytes at which a new file is started. This much is kept in memory, and written again at each save."""


def episode_writer(form: Literal["pkl", "npz", "jsonl", "minari"], folder: Path) -> StepStore:
    """Makes the writer of a format, into a folder of results."""
    return WRITERS[form](folder)


def _columns(episode: Mapping[str, Any]) -> Columns:
    """Returns the columns of an episode as a recorder gives it, without its infos."""
    return {name: np.asarray(episode[key]) for name, key in renamed(episode).items()}


def _policy_of(infos: Sequence[Mapping[str, Any]]) -> str:
    """Returns the policy that an agent's episode names in its first info; empty for an episode of a single agent."""
    facts = infos[0] if infos else {}
    policy = facts.get("policy")
    return policy if "agent" in facts and isinstance(policy, str) and re.fullmatch(NAMES, policy) else ""


class LinesWriter(StepStore):
    """Writes results/trajs.jsonl, a line for each episode."""

    FORM = "jsonl"

    @property
    def path(self) -> Path:
        return self.folder / "trajs.jsonl"

    def _record(self, item: Mapping[str, Any]) -> tuple[str, str, int]:
        line = lines.line_of(_columns(item), item["info"])
        return "", line, len(line)

    def _opened(self, key: str, before: None) -> JsonLog:
        """Opens the file, cut back to its last whole line, which a crash may have torn."""
        ensure_folder(self.folder)
        if self.path.exists():
            with open(self.path, "r+b", opener=regular) as file:
                file.truncate(last_end(file, os.fstat(file.fileno()).st_size))
        return JsonLog(self.path)

    def state(self) -> dict[str, Any]:
        return {"form": self.FORM, **self._only_end()}

    def restore(self, state: Mapping[str, Any]) -> bool:
        self._check_form(state)
        self._drop()
        file: JsonLog = self._following("", None)
        return file.restore(int(state["position"]), state["crc"])


class ArchiveFile:
    """An archive, which cannot be appended to. So its episodes are in memory, and it is written whole, in the place of
    the one before, when it is full, at each save of the run and at its end."""

    waiting = 0

    def __init__(self, folder: Path, policy: str, number: int) -> None:
        self.number, self.path = number, folder / f"{stem_of(policy)}_{number}.npz"
        self._parts: list[Columns] = []
        self._episodes = self._bytes = 0
        self._crc: dict[str, int] = {}
        self._written = True

    @property
    def full(self) -> bool:
        return self._episodes >= LIMIT or self._bytes >= LIMIT_BYTES

    def take(self, steps: Columns, episodes: int = 1) -> None:
        self._parts.append(steps)
        self._episodes += episodes
        self._bytes += size_of(steps)
        self._crc = {name: crc32(archives.content(steps[name]), self._crc.get(name, 0)) for name in steps}
        self._written = False

    def close(self) -> None:
        """Writes the file whole, unless it is as it was."""
        if self._written:
            return
        ensure_folder(self.path.parent)
        columns = {name: (part, [part[name] for part in self._parts]) for name, part in self._parts[0].items()}
        try:
            with naming(self.path), open(unfinished(self.path), "w+b", opener=regular) as file:
                archives.write(file, self._steps(), columns)
                finish(file, self.path)
        except OSError:
            unfinished(self.path).unlink(missing_ok=True)
            raise
        self._written = True

    def _steps(self) -> int:
        return sum(len(part["reward"]) for part in self._parts)

    def end(self) -> dict[str, Any]:
        self.close()
        return {"file": self.number, "episodes": self._episodes, "steps": self._steps(), "crc": self._crc}

    def restore(self, end: Mapping[str, Any]) -> bool:
        """Reads the file, and cuts it back to this end. Returns False if what was written before it has changed."""
        steps = int(end["steps"])
        if steps:
            columns = _read(self.path)
            if len(columns.get("reward", ())) < steps:
                raise ValueError(
                    tr(
                        "{path} is shorter than at the checkpoint; general_cfg.collect_traj=false resumes without it",
                        path=as_written(self.path),
                    )
                )
            self.take(rows(columns, slice(steps)), int(end["episodes"]))
            self.close()
        else:
            self.path.unlink(missing_ok=True)
            sync_folder(self.path.parent)
        return self._crc == dict(end["crc"])


class ArchiveWriter(StepStore):
    """Writes results/trajs_0.npz, trajs_1.npz, ...; with several agents a series for each policy, trajs_NAME_0.npz.

    For minari it writes the same files, from which a resume goes on, and results/trajs.minari of them whenever the run
    ends: HDF5 cannot be cut back to a checkpoint."""

    def __init__(self, folder: Path, form: str = "npz") -> None:
        super().__init__(folder)
        self.FORM = form

    def _record(self, item: Mapping[str, Any]) -> tuple[str, Columns, int]:
        """The key is the name of the policy, empty for a single agent."""
        columns = _columns(item)
        return _policy_of(item["info"]), columns, size_of(columns)

    def _opened(self, key: str, before: ArchiveFile | None) -> ArchiveFile:
        number = max(self._archives(key), default=-1) if before is None else before.number
        return ArchiveFile(self.folder, key, number + 1)

    def _archives(self, policy: str) -> dict[int, Path]:
        """Returns the files of a policy that exist, by number."""
        stem = stem_of(policy)
        matches = [(path, re.fullmatch(rf"{stem}_(\d+)", path.stem)) for path in self.folder.glob("trajs*.npz")]
        return {int(match[1]): path for path, match in matches if match}

    def state(self) -> dict[str, Any]:
        return {"form": self.FORM, "series": self._ends()}

    def restore(self, state: Mapping[str, Any]) -> bool:
        self._check_form(state)
        self._waiting.clear()
        ends = {str(policy): end for policy, end in state["series"].items()}
        series = {policy: self._archives(policy) for policy in ends}
        later = [path for policy, files in series.items() for n, path in files.items() if n > int(ends[policy]["file"])]
        others = {*self.folder.glob("trajs*_*.npz")}.difference(*(files.values() for files in series.values()))
        # the others are of a policy that had no episode yet
        for path in (*later, *(path for path in others if re.fullmatch(r"trajs(_[A-Za-z]\w*)?_\d+\.npz", path.name))):
            path.unlink()
        self._files = {policy: ArchiveFile(self.folder, policy, int(end["file"])) for policy, end in ends.items()}
        return all([self._files[policy].restore(end) for policy, end in ends.items()])

    def close(self) -> None:
        policies = list(self._files)
        super().close()
        for policy in policies if self.FORM == "minari" else ():
            files = [str(path) for _, path in sorted(self._archives(policy).items())]
            target = self.folder / f"{stem_of(policy)}.minari"
            try:
                discard(target)
                convert(files, str(target))
            except (DataError, OSError) as error:
                LOGGER.warning(tr("%s could not be written: %s; %s has the episodes"), target, error, ", ".join(files))


def stem_of(policy: str) -> str:
    """Returns the beginning of the names of a policy's files."""
    return f"trajs_{policy}" if policy else "trajs"


def _read(path: Path) -> Columns:
    """Returns what is in an archive that was written here; nothing if it is missing."""
    try:
        return joined([block.columns for block in archives.read(path)]) if path.exists() else {}
    except Exception as error:  # each damage has an error of its own
        raise ValueError(
            tr(
                "{path} is damaged: {error}; general_cfg.collect_traj=false resumes without it",
                path=as_written(path),
                error=error,
            )
        ) from error


WRITERS: dict[str, Callable[[Path], StepStore]] = {
    "pkl": TrajectoryWriter,
    "npz": ArchiveWriter,
    "jsonl": LinesWriter,
    "minari": partial(ArchiveWriter, form="minari"),
}
"""Format -> what makes its writer."""
