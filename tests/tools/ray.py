"""Small runs with and without Ray."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from framework.disk.checkpoints import CheckpointStore
from framework.disk.csv_table import read_csv
from main import main

if find_spec("ray") is None:
    pytest.skip("Ray is not installed", allow_module_level=True)

TINY = (
    "general_cfg.seed=3",
    "general_cfg.save_fig=false",
    "general_cfg.max_episode=-1",
    "general_cfg.online_eval_episode=2",
    "general_cfg.model_save_fre=100000",
)
EPISODES = "results/train.csv"
RAY = "general_cfg.mp_backend=ray"


def train(folder: Path, *words: str) -> Path:
    """A run of main.py in this process, and its task directory."""
    assert main([*TINY, *words, "--into", str(folder)]) == 0
    return folder


def weights(folder: Path) -> dict[str, np.ndarray]:
    """Everything the last agent knows, by name."""
    saved = CheckpointStore(folder / "models").newest(print)
    return dict(leaves(saved.tree["agent"]))


def leaves(tree, name=""):
    """(path, value) of everything in a tree."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, f"{name}/{key}")
    elif isinstance(tree, list | tuple):
        for key, value in enumerate(tree):
            yield from leaves(value, f"{name}/{key}")
    else:
        yield name, tree


def same(one: dict, other: dict) -> bool:
    """Equal to the bit."""
    return one.keys() == other.keys() and all(_equal(one[name], other[name]) for name in one)


def _equal(a, b) -> bool:
    return a.tobytes() == b.tobytes() if isinstance(a, np.ndarray) else a == b


def episodes(folder: Path) -> list[dict]:
    """The rows of train.csv."""
    return read_csv(folder / EPISODES)
