"""Command film: a test with a video, or an episode of the training once more, from its seed and its actions."""

from argparse import Namespace
from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np

from config.read.loader import RunConfig
from config.read.paths import as_written
from config.tell.language import tr
from framework.archive.run import RecordedRun
from framework.assemble import build
from framework.collect.env_calls import Watch
from framework.collect.fragment import Episode
from framework.commands.work import test
from framework.dataset import open_data
from framework.dataset.columns import Columns
from framework.dataset.episodes import episodes
from framework.disk.task_dir import TaskDir
from framework.errors import DataError, JoystickError, TaskDirError
from framework.film.film import Taped, file_name, film_into, write_meta
from framework.runs.final_output import FilmSelection
from framework.runs.signals import StopSignals
from framework.screen.formatting import short


def run(config: RunConfig, request: Namespace, signals: StopSignals) -> int:
    """Tests and films, or films an episode of the training. Returns the exit status."""
    if request.episode is None:
        return test.run(config, request.command_line, signals, FilmSelection(request.worst, request.grid))
    return _again(config, request.command_line, request.episode, signals)


def _again(config: RunConfig, command_line: list[str], number: int, signals: StopSignals) -> int:
    """Films the training episode of this number into a task directory of its own."""
    if config.task is None:
        raise TaskDirError("film --episode needs the name of a run")
    source, watch = TaskDir(config.task), Watch()
    source.check()
    if config.policies:
        raise JoystickError(
            "--episode: the run has several agents, whose trajectories are apart; "
            "general_cfg.video_fre films episodes while they are trained"
        )
    taped = _taped(config, source, number, watch)
    facts = {"filmed": {"run": str(as_written(source.path)), "episode": number, "seed": taped.episode.seed}}
    with test.recorded(config, config.env_id, command_line, facts, tr("stopped")) as (task, _):
        place = task.videos / file_name(config)
        film, different = film_into(place, build.open_drawing(config, watch), [taped], signals.check, watch)
        if film.path is None:
            raise JoystickError(film.text)
    write_meta(place.with_suffix(".meta.json"), taped, not different)
    task.write_run({"finished": True, "outcome": f"filmed episode {number} of {source.path.name}"})
    total = short(taped.episode.total)
    print(
        different
        or tr(
            "episode {number:,} again: the same {length:,} rewards, return {total}",
            number=number,
            length=taped.episode.length,
            total=total,
        )
    )
    print(f"{film.text}   {as_written(film.path)}")
    return 0


def _taped(config: RunConfig, source: TaskDir, number: int, watch: Watch) -> Taped:
    """Returns the episode with its actions and rewards. Raises JoystickError if they were not kept."""
    rows = RecordedRun(source.path).episodes
    places = np.flatnonzero(rows.numbers("episode") == number)
    if not len(places):
        if not rows:
            raise JoystickError("--episode {number}: the run has no training episode", number=number)
        first, last = (f"{int(rows[at]['episode']):,}" for at in (0, -1))
        raise JoystickError(
            "--episode {number}: train.csv has the episodes {first} to {last}", number=number, first=first, last=last
        )
    at = int(places[0])
    try:
        data = open_data(str(source.path))
    except DataError as error:
        why = str(error).replace(str(source.path), str(as_written(source.path)))
        raise JoystickError(
            "--episode {number} needs the trajectories of the run: {why}. --episodes {number} films {number} new ones",
            number=number,
            why=why,
        ) from None
    # collected until the end, perhaps not from the beginning
    place = at - (len(rows) - data.summary.episodes)
    steps = next(islice(episodes(data.pieces()), place, None), None) if place >= 0 else None
    episode = _episode(rows[at])
    if steps is None or not _fits(steps, episode):
        raise JoystickError(
            "--episode {number}: the trajectories of {path} do not have it in its place",
            number=number,
            path=as_written(source.path),
        )
    with build.opened_env(config, 1, watch) as env:
        if not env.replayable:
            raise JoystickError("--episode: the environment cannot be repeated from seeds and actions")
        actions = (steps["action"] - env.action_start).astype(env.action_space.dtype)
    return Taped(number, episode, actions, steps["reward"])


def _fits(steps: Columns, episode: Episode) -> bool:
    """Returns True if a trajectory has the length and the return of an episode."""
    return len(steps["reward"]) == episode.length and bool(
        np.isclose(steps["reward"].sum(dtype=np.float64), episode.total, rtol=1e-4, atol=1e-6)
    )


def _episode(row: Mapping[str, Any]) -> Episode:
    """Returns an episode from its row in train.csv."""
    return Episode(
        worker=int(row["worker"]), row=int(row["row"]), number=0, seed=int(row["seed"]), total=float(row["return"]),
        length=int(row["length"]), terminated=bool(row["terminated"]), steps=int(row["step"]), phase=row.get("phase"),
    )  # fmt: skip
