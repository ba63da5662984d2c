"""Traces: the steps of training as JSON lines, in the format of RLlib's SampleBatch (docs/traces.md).

A recorder in each process that collects makes a line of each fragment. The lines travel with the fragments to the
process that drives the run, which writes a file for each worker: so a resume can cut them back to the checkpoint.
"""

import io
import json
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from config.config import task_folder
from config.read.paths import as_written
from config.tell.language import tr
from envs.base import Array, Step, VectorEnv
from framework.collect.fragment import Fragment, Record, Recorder
from framework.dataset.store import StepStore
from framework.dataset.trace_reader import NAME, trace_files
from framework.dataset.trajectories import plain
from framework.disk.atomic import ensure_folder
from framework.disk.csv_log import JsonLog

TRACES = "traces"
RENAMED = {
    "obs": "obs",
    "action": "actions",
    "reward": "rewards",
    "next_obs": "new_obs",
    "terminated": "terminateds",
    "truncated": "truncateds",
    "log_prob": "action_logp",
}
"""Column of a fragment -> column of a trace. Other columns of the policy keep their names."""


class Steps(NamedTuple):
    """Facts about the steps of a fragment that are not in its columns."""

    eps_id: Array
    """Seed [T, N] of the episode."""
    t: Array
    """Number [T, N] of the step in its episode."""
    infos: Array
    """Infos [T, N]."""
    agents: Array
    """Names [T, N, S] of the agents in the slots of joint observations; S is 0 for a single agent."""


class TraceRecorder(Recorder):
    """Makes a line of each fragment: the steps of row 0, then the steps of row 1, and so on."""

    def __init__(
        self,
        rows: int,
        compress: Sequence[str],
        by_policy: Callable[[Fragment, Steps], Mapping[str, dict[str, Any]]] | None = None,
        first_worker: int = 0,
    ) -> None:
        """by_policy: returns the columns of each policy, in place of a single agent's. first_worker: number of the
        first worker in names of files, as in EnvContext.worker_index."""
        self._compress, self._by_policy, self._first_worker = compress, by_policy, first_worker
        self._seed, self._t = np.zeros((2, rows), np.int64)
        self._steps: list[tuple[Array, Array, list[Any], list[Sequence[str]]]] = []
        """Seeds [N], numbers of the step in its episode [N], infos and agents of each step since the last fragment."""

    def begin(self, row: int, seed: int, obs: Array, env: VectorEnv) -> None:
        self._seed[row], self._t[row] = seed, 0

    def step(self, obs: Array, action: Array, step: Step, env: VectorEnv) -> None:
        infos = [plain(env.info(row)) for row in range(env.rows)]
        agents = [env.agents(row) for row in range(env.rows)]
        self._steps.append((self._seed.copy(), self._t.copy(), infos, agents))
        self._t += 1 if env.valid is None else env.valid

    def collected(self, fragment: Fragment, env: VectorEnv) -> Iterable[Record]:
        seeds, numbers, infos, agents = zip(*self._steps[-fragment.steps :], strict=True)  # those before were replayed
        self._steps = []
        info = np.empty((fragment.steps, fragment.rows), object)
        info[:] = infos
        steps = Steps(np.stack(seeds), np.stack(numbers), info, np.array(agents))
        if self._by_policy is None:
            line = {"type": "SampleBatch", **self._packed(_of_one(fragment, steps, env))}
        else:
            batches = {policy: self._packed(batch) for policy, batch in self._by_policy(fragment, steps).items()}
            line = {"type": "MultiAgentBatch", "count": info.size, "policy_batches": batches}
        if not len(line.get("t", ())) and not line.get("policy_batches"):
            return ()
        text = json.dumps(line, separators=(",", ":"), default=_as_json)
        return [Record(TRACES, (self._first_worker + fragment.origin.worker, text))]

    def _packed(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Returns the columns of a line, those in traces_compress as text."""
        return {**batch, **{name: pack(batch[name]) for name in self._compress}}


def _of_one(fragment: Fragment, steps: Steps, env: VectorEnv) -> dict[str, Any]:
    """Returns the columns of a single agent, without dummy steps."""
    columns = dict(fragment.columns)
    mask = _by_row(columns.pop("valid", np.ones((fragment.steps, fragment.rows), bool)))
    columns["obs"] = columns["obs"] + env.observation_start
    columns["next_obs"] = columns["next_obs"] + env.observation_start
    columns["action"] = columns["action"] + env.action_start
    batch: dict[str, Any] = {
        "eps_id": _by_row(steps.eps_id)[mask],
        "agent_id": np.zeros(mask.sum(), np.int64),
        "policy": ["default"] * int(mask.sum()),
        "t": _by_row(steps.t)[mask],
        **{RENAMED.get(name, name): _by_row(column)[mask] for name, column in columns.items()},
    }
    batch["dones"] = batch["terminateds"] | batch["truncateds"]
    batch["infos"] = list(_by_row(steps.infos)[mask])
    return batch


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


class TraceWriter(StepStore):
    """Writes output-<date>_worker-<i>_<k>.json, with a further file after `file_mb` MiB. An item is a worker and a
    line."""

    NOUN = "traces"

    def __init__(self, task: Path, folder: str, file_mb: float) -> None:
        super().__init__(task / folder)
        self._task, self._name, self._most_bytes = task, folder, file_mb * 2**20
        ensure_folder(self.folder)

    def _record(self, item: tuple[int, str]) -> tuple[int, str, int]:
        worker, line = item
        return worker, line, len(line)

    def _opened(self, key: int, before: JsonLog | None) -> JsonLog:
        numbers = [number for _, worker, number in trace_files(self.folder) if worker == key]
        date = time.strftime("%Y-%m-%d_%H-%M-%S")
        name = f"output-{date}_worker-{key}_{max(numbers, default=-1) + 1}.json"
        return JsonLog(self.folder / name, most_bytes=self._most_bytes)

    def state(self) -> dict[str, Any]:
        files = {str(worker): {"name": self._files[worker].path.name, **end} for worker, end in self._ends().items()}
        return {"folder": self._name, "files": files}

    def restore(self, state: Mapping[str, Any]) -> bool:
        self._drop()
        ends = {int(worker): end for worker, end in state["files"].items()}
        folder = self._task / task_folder(state["folder"])
        files = self._cut(folder, ends) if folder.is_dir() else {}
        same = [file.restore(ends[worker]["position"], ends[worker]["crc"]) for worker, file in files.items()]
        if folder == self.folder:
            self._files = dict(files)
        else:
            for file in files.values():
                file.close()
        return all(same)

    def _cut(self, folder: Path, ends: Mapping[int, Mapping[str, Any]]) -> dict[int, JsonLog]:
        """Deletes files newer than the checkpoint; reopens the current file of each worker."""
        last: dict[int, int] = {}
        for worker, end in ends.items():
            match = NAME.fullmatch(end["name"])
            if match is None or not (folder / end["name"]).is_file():
                raise ValueError(
                    tr(
                        "{path}, which the checkpoint continues, is missing; "
                        "general_cfg.traces=null resumes without it",
                        path=as_written(folder / end["name"]),
                    )
                )
            last[worker] = int(match[2])
        for path, worker, number in trace_files(folder):
            if number > last.get(worker, -1):
                path.unlink()
        return {worker: JsonLog(folder / end["name"], most_bytes=self._most_bytes) for worker, end in ends.items()}
