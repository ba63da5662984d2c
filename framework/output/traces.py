"""Traces: the steps of training as JSON lines, in the format of RLlib's SampleBatch (docs/traces.md).

A recorder in each process that collects makes a line of each fragment. The lines travel with the fragments to the
process that drives the run, which writes a file for each worker: so a resume can cut them back to the checkpoint.
"""

import contextlib
import io
import json
import time
import zlib
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from config.general import task_folder
from envs.base import Array, Step, VectorEnv
from framework.fragment import Fragment, Record, Recorder
from framework.output.csv_log import JsonLog
from framework.output.trace_reader import NAME, trace_files
from framework.output.trajectories import MOST_WAITING, plain

TRACES = "traces"
_RENAMED = {
    "obs": "obs",
    "action": "actions",
    "reward": "rewards",
    "next_obs": "new_obs",
    "terminated": "terminateds",
    "truncated": "truncateds",
    "log_prob": "action_logp",
}
"""Column of a fragment -> column of a trace. Other columns of the policy keep their names."""


class TraceRecorder(Recorder):
    """Makes a line of each fragment: the steps of row 0, then those of row 1, and so on."""

    def __init__(self, rows: int, compress: Sequence[str]) -> None:
        self._compress = compress
        self._seed, self._t = np.zeros((2, rows), np.int64)
        self._steps: list[tuple[Array, Array, list[Any]]] = []
        """Seeds [N], numbers of the step in its episode [N] and infos of each step since the last fragment."""

    def begin(self, row: int, seed: int, obs: Array, env: VectorEnv) -> None:
        self._seed[row], self._t[row] = seed, 0

    def step(self, obs: Array, action: Array, step: Step, env: VectorEnv) -> None:
        infos = [plain(env.info(row)) for row in range(env.rows)]
        self._steps.append((self._seed.copy(), self._t.copy(), infos))
        self._t += 1 if env.valid is None else env.valid

    def collected(self, fragment: Fragment, env: VectorEnv) -> Iterable[Record]:
        steps = self._steps[-fragment.steps :]  # those before were replayed by a resume
        self._steps = []
        columns = dict(fragment.columns)
        kept = _by_row(columns.pop("valid", np.ones((fragment.steps, fragment.rows), bool)))
        if not kept.any():
            return ()
        columns["obs"] = columns["obs"] + env.observation_start
        columns["next_obs"] = columns["next_obs"] + env.observation_start
        columns["action"] = columns["action"] + env.action_start
        seeds, numbers, infos = zip(*steps, strict=True)
        batch: dict[str, Any] = {
            "eps_id": _by_row(np.stack(seeds))[kept],
            "agent_id": np.zeros(kept.sum(), np.int64),
            "policy": ["default"] * int(kept.sum()),
            "t": _by_row(np.stack(numbers))[kept],
            **{_RENAMED.get(name, name): _by_row(column)[kept] for name, column in columns.items()},
        }
        batch["dones"] = batch["terminateds"] | batch["truncateds"]
        by_row = [info for row in zip(*infos, strict=True) for info in row]
        batch["infos"] = [info for info, keep in zip(by_row, kept, strict=True) if keep]
        packed = {name: pack(batch[name]) for name in self._compress}
        text = json.dumps({"type": "SampleBatch", **batch, **packed}, separators=(",", ":"), default=_as_json)
        return [Record(TRACES, (fragment.origin.worker, text))]


def _by_row(column: Array) -> Array:
    """Returns a column [T, N, ...] as [N * T, ...]: the steps of row 0 first."""
    return column.swapaxes(0, 1).reshape(-1, *column.shape[2:])


def _as_json(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else str(value)


def pack(column: Array) -> str:
    """Returns base64 of zlib of the column as a NumPy file."""
    file = io.BytesIO()
    np.save(file, column, allow_pickle=False)
    return b64encode(zlib.compress(file.getvalue(), 1)).decode()


class TraceWriter:
    """Writes output-<date>_worker-<i>_<k>.json, with a further file after `file_mb` MiB."""

    def __init__(self, task: Path, folder: str, file_mb: float) -> None:
        self.task, self.folder, self.limit = task, folder, file_mb * 2**20
        self.path.mkdir(parents=True, exist_ok=True)
        self._logs: dict[int, JsonLog] = {}
        """Current file of each worker."""

    @property
    def path(self) -> Path:
        """The folder of the files."""
        return self.task / self.folder

    def add(self, record: tuple[int, str]) -> None:
        """Writes a line of a worker. A line that cannot be written (a full disk) waits in memory."""
        worker, line = record
        log = self._logs.get(worker)
        if log is None or log.size >= self.limit:
            log = self._logs[worker] = self._next(worker, log)
        log.append_line(line)
        if log.waiting > MOST_WAITING:
            log.flush()

    def _next(self, worker: int, before: JsonLog | None) -> JsonLog:
        """Begins the next file of a worker; returns the one before while the disk has no room for it."""
        numbers = [number for _, other, number in trace_files(self.path) if other == worker]
        date = time.strftime("%Y-%m-%d_%H-%M-%S")
        try:
            if before is not None:
                before.position()  # `state` only makes the files that follow durable
            log = JsonLog(self.path / f"output-{date}_worker-{worker}_{max(numbers, default=-1) + 1}.json")
        except OSError:
            if before is None:
                raise
            return before
        if before is not None:
            before.close()
        return log

    def state(self) -> dict[str, Any]:
        """Returns the ends of the current files, which are on the disk now: the state for an exact resume."""
        files = {
            str(worker): {"name": log.path.name, "position": log.position(), "crc": log.crc}
            for worker, log in self._logs.items()
        }
        return {"folder": self.folder, "files": files}

    def restore(self, state: Mapping[str, Any]) -> bool:
        """Drops every line that was written after this state. Returns False if the lines before it in the newest files
        are no longer those that were written."""
        for log in self._logs.values():
            with contextlib.suppress(OSError):
                log.close()
        ends = {int(worker): end for worker, end in state["files"].items()}
        folder = self.task / task_folder(state["folder"])
        logs = _cut(folder, ends) if folder.is_dir() else {}
        same = [log.restore(ends[worker]["position"], ends[worker]["crc"]) for worker, log in logs.items()]
        if folder != self.path:
            while logs:
                logs.popitem()[1].close()
        self._logs = logs
        return all(same)

    def close(self) -> None:
        """Closes the files."""
        with contextlib.ExitStack() as stack:
            for log in self._logs.values():
                stack.callback(log.close)


def _cut(folder: Path, ends: Mapping[int, Mapping[str, Any]]) -> dict[int, JsonLog]:
    """Deletes the files that were begun after these ends. Opens the ones that the ends are in, by worker."""
    last: dict[int, int] = {}
    for worker, end in ends.items():
        match = NAME.fullmatch(end["name"])
        if match is None or not (folder / end["name"]).is_file():
            raise ValueError(
                f"{folder / end['name']}, which the checkpoint continues, is missing; "
                "general_cfg.traces=null resumes without it"
            )
        last[worker] = int(match[2])
    for path, worker, number in trace_files(folder):
        if number > last.get(worker, -1):
            path.unlink()
    return {worker: JsonLog(folder / end["name"]) for worker, end in ends.items()}
