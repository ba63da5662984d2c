"""Tuning whose processes are forked: none of them need import torch again."""

import contextlib
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from framework.distributed import ray_cluster
from framework.jobs import job
from main import main
from tests.tools.fake_ray import FakeRay, Fate
from tests.tools.process import fork_runs, forking

__all__ = ["GENERAL", "cluster", "forking", "once", "run", "table", "written"]


def table(folder: str | Path, without: Sequence[str] = ("seconds",)) -> list[dict[str, str]]:
    """The rows of trials.csv."""
    with open(Path(folder) / "trials.csv", encoding="utf-8", newline="") as file:
        return [{key: row[key] for key in row if key not in without} for row in csv.DictReader(file)]


def run(*words: str) -> int:
    """The exit status, also where argparse ends the program."""
    try:
        return main(list(words))
    except SystemExit as end:
        return int(end.code or 0)


def written(text: str, name: str = "tune.yaml") -> Path:
    path = Path(name)
    path.write_text(text)
    return path


def cluster(monkeypatch: pytest.MonkeyPatch, fate: Fate = lambda call: None) -> FakeRay:
    """A fake Ray with two CPUs, at any address."""
    ray: Any = FakeRay(fate=fate)
    ray.cluster_resources = lambda: {"CPU": 2.0}

    @contextlib.contextmanager
    def started(*_: Any) -> Iterator[FakeRay]:
        yield ray

    monkeypatch.setattr(ray_cluster, "started", started)
    return ray


@contextlib.contextmanager
def once(folder: Path) -> Iterator[None]:
    """Trains groups and tunings in a folder of their own, for a fixture that is made once for a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(job, "POLL_SECONDS", 0.01)
        fork_runs(patch)
        yield


GENERAL = "env_name: toy, seed: 3, save_fig: false, online_eval_episode: 2, model_save_fre: 100, iteration_steps: 30"
