"""Episodes and files for the tests of data files."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np

from framework.dataset import Dataset
from framework.dataset.trajectories import TrajectoryWriter

FINAL = ("obs", "action", "reward", "next_obs", "terminated", "truncated")


def episode(length: int, start: float = 0.0, ended: bool = True) -> dict[str, np.ndarray]:
    """An episode whose observation counts up from `start`, with the action 0 or 1 and the reward 1, 2, 3, ..."""
    states = start + np.arange(length + 1, dtype=np.float32)[:, None] * np.ones(2, np.float32)
    last = np.arange(length) == length - 1
    return {
        "obs": states[:-1],
        "action": np.arange(length) % 2,
        "reward": np.arange(1, length + 1, dtype=np.float32),
        "next_obs": states[1:],
        "terminated": last & ended,
        "truncated": last & (not ended),
    }


def flat(*episodes: dict[str, np.ndarray], without: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    return {name: np.concatenate([each[name] for each in episodes]) for name in episodes[0] if name not in without}


NAMES = {
    "obs": "observations", "action": "actions", "reward": "rewards", "next_obs": "next_observations",
    "terminated": "terminals", "truncated": "timeouts",
}  # fmt: skip


def npz(path: Path, columns: dict[str, np.ndarray], **more: Any) -> Path:
    np.savez(path, **{NAMES[name]: column for name, column in columns.items()}, **more)
    return path


def jsonl(path: Path, *episodes: dict[str, Any]) -> Path:
    lines = ({name: np.asarray(column).tolist() for name, column in each.items()} for each in episodes)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def recorded(each: dict[str, np.ndarray], info: list[Any] | None = None) -> dict[str, Any]:
    """An episode as a recorder gives it to a writer."""
    names = {"obs": "state", "next_obs": "next_state"}
    return {
        **{names.get(name, name): column for name, column in each.items()},
        "info": info or [{} for _ in each["reward"]],
    }


def ours(folder: Path, *episodes: dict[str, np.ndarray]) -> Path:
    writer = TrajectoryWriter(folder)
    for each in episodes:
        writer.add(recorded(each))
    writer.close()
    return folder / "trajs.pkl"


def pickled(path: Path, content: Any) -> Path:
    path.write_bytes(pickle.dumps(content))
    return path


def whole(data: Dataset) -> dict[str, np.ndarray]:
    pieces = list(data.pieces())
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in FINAL}


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    for name in FINAL:
        assert one[name].dtype == other[name].dtype, name
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)
