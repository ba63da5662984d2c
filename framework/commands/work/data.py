"""The table of what data contain: python main.py data DATA."""

import json
import math
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from config.read.loader import load
from config.read.paths import as_written
from config.tell.cells import padded
from config.tell.language import english, tr
from framework.catalog import ALGOS, ENVS
from framework.collect.env_calls import Watch
from framework.dataset import fit, open_data
from framework.dataset.behavior import Behavior
from framework.dataset.data import Dataset
from framework.dataset.fit import own_space
from framework.dataset.summary import Range
from framework.errors import MISTAKE, JoystickError
from framework.screen.formatting import counted, short
from framework.screen.terminal import fitted

BARS = 10
"""Number of bars of the histogram."""
WIDTH = 40
"""Characters of its longest bar."""
MOST_FILES = 8
"""Files that the table lists by name."""


def run(request: Namespace) -> int:
    """Prints what data contain, and what of it does not fit an environment. Status 2 if something does not."""
    content = open_data(request.data)
    problems = None if request.env is None else _unfit(content, request.env, request.allow_import)
    sys.stdout.write(as_json(content, problems) if request.json else fitted(table(content, problems)))
    return MISTAKE if problems else 0


def _unfit(data: Dataset, env_id: str, allow_import: Sequence[str]) -> list[str]:
    """Returns a sentence for each way in which the data do not fit an environment."""
    from framework.assemble import build  # imports torch

    config = load(None, [], find_algo=ALGOS, find_env=ENVS, env=env_id, allow_import=allow_import)
    with build.opened_env(config, 1, Watch()) as env:
        if env.joint is not None:
            raise JoystickError(
                "{env_id} has several agents; data are compared with an environment of one", env_id=env_id
            )
        seen = own_space(env.observation_space, env.observation_start)
        return fit.problems(data.summary, seen, own_space(env.action_space, env.action_start))


def facts(data: Dataset) -> dict[str, Any]:
    """Returns everything that the card shows, as JSON has it."""
    summary = data.summary
    return {
        "files": [str(as_written(path)) for path in data.files],
        "bytes": sum(_size(path) for path in data.files),
        "sha256": data.sha256,
        "transitions": summary.transitions,
        "episodes": summary.episodes,
        "obs": _range(summary.obs),
        "action": _range(summary.action),
        "action_mask": summary.mask,
        "next_obs_given": summary.next_obs_given,
        "truncated_given": summary.truncated_given,
        "terminated": summary.terminated,
        "truncated": summary.truncated,
        "returns": spread(summary.returns),
        "lengths": spread(summary.lengths),
        **Behavior(data).facts(),
        "notes": data.notes,
    }


def as_json(data: Dataset, unfit: list[str] | None) -> str:
    """Returns the facts as JSON. unfit: what does not fit an environment; None if none was named."""
    return json.dumps({**facts(data), **({} if unfit is None else {"unfit": unfit})}, indent=1, allow_nan=False) + "\n"


def _size(path: Path) -> int:
    return sum(part.stat().st_size for part in (path.rglob("*") if path.is_dir() else [path]) if part.is_file())


def spread(values: np.ndarray) -> dict[str, float]:
    """Returns mean, standard deviation, extremes and quartiles."""
    quartiles = np.quantile(values, (0.25, 0.5, 0.75))
    return {
        english("mean"): float(values.mean()), english("std"): float(values.std()), english("min"): float(values.min()),
        "25%": float(quartiles[0]), english("median"): float(quartiles[1]), "75%": float(quartiles[2]),
        english("max"): float(values.max()),
    }  # fmt: skip


def _range(values: Range) -> dict[str, Any]:
    ends = {"low": values.low.min().item(), "high": values.high.max().item()}
    return {"shape": list(values.shape), "dtype": str(values.dtype), **ends}


def table(data: Dataset, unfit: list[str] | None) -> str:
    """Returns the card. unfit: what does not fit an environment; None if none was named."""
    values, summary = facts(data), data.summary
    rows = [
        (tr("files"), tr("{count}, {size:,} bytes", count=len(data.files), size=values["bytes"])),
        *[("", str(as_written(path))) for path in data.files[:MOST_FILES]],
        *([("", tr("and {count} more", count=len(data.files) - MOST_FILES))] if len(data.files) > MOST_FILES else []),
        ("sha256", values["sha256"]),
        (
            tr("data"),
            tr(", ").join([counted(values["episodes"], "episode"), counted(values["transitions"], "transition")]),
        ),
        ("obs", _described(values["obs"])),
        ("action", _described(values["action"])),
        *([(tr("masks"), tr("of {actions}", actions=counted(summary.mask, "action")))] if summary.mask else []),
        (
            tr("ends"),
            tr(
                "{terminated:,} terminated, {truncated:,} truncated",
                terminated=values["terminated"],
                truncated=values["truncated"],
            ),
        ),
        (tr("numbers"), tr("all finite")),
        (
            tr("repeated"),
            tr(
                "{share:.2%} of the transitions have an (obs, action) that came before",
                share=values["repeated_pairs"],
            ),
        ),
        *[(tr("behavior"), line) for line in values["behaviour"]],
        *[(tr("note"), note) for note in data.notes],
        *[(tr("unfit"), problem) for problem in unfit or ()],
        *([(tr("fits"), tr("the spaces of the environment"))] if unfit == [] else []),
    ]
    lines = [f"{padded(name, 10)} {value}" for name, value in rows]
    return "\n".join([*lines, "", *_spreads(values), "", *histogram(summary.returns)]) + "\n"


def _described(values: dict[str, Any]) -> str:
    shape = tuple(values["shape"])
    return tr(
        "{dtype}, shape {shape}, values from {low} to {high}",
        dtype=values["dtype"],
        shape=shape,
        low=short(values["low"]),
        high=short(values["high"]),
    )


def _spreads(values: dict[str, Any]) -> list[str]:
    names = list(values["returns"])
    lines = [" " * 10 + "".join(padded(tr(name), 11, right=True) for name in names)]
    for row in (english("returns"), english("lengths")):
        lines.append(padded(tr(row), 10) + "".join(f"{short(values[row][name]):>11}" for name in names))
    return lines


def histogram(values: np.ndarray) -> list[str]:
    """Returns a line for each range of the returns: where it begins, a bar, and the number of episodes."""
    if values.min() == values.max():
        return [f"{short(float(values[0])):>11} {'#' * WIDTH} {len(values):,}"]
    counts, edges = np.histogram(values, BARS)
    bars = [math.ceil(WIDTH * count / counts.max()) for count in counts]
    return [
        f"{short(float(edge)):>11} {'#' * bar:<{WIDTH}} {count:,}".rstrip()
        for edge, bar, count in zip(edges[:-1], bars, counts, strict=True)
    ]
