"""Videos of episodes that were played before: repeated from their seeds and actions in an environment that draws."""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from algos.base import Tree
from config.read.loader import RunConfig
from config.tell.language import tr
from envs.base import Array, Step, VectorEnv
from framework.collect.env_calls import Watch
from framework.collect.fragment import Episode, Recorder
from framework.disk.atomic import write_whole
from framework.disk.task_dir import TaskDir
from framework.errors import Interrupted
from framework.film.camera import Camera, Lens, Mosaic, writer
from framework.film.episode_text import Scribe
from framework.film.video import Film
from framework.loop.evaluator import Repetition, replay
from framework.loop.iteration import Row
from framework.loop.observer import Observer
from framework.record.console import Console
from framework.record.recorders import TAPES
from framework.screen.formatting import counted
from framework.screen.stages import FILMING, FILMING_EPISODE, part, stage

OpenEnv = Callable[[], AbstractContextManager[VectorEnv]]
"""Opens an environment of one row that draws, and closes it at the end."""
MOSAIC_SIDE = 960
"""Pixels of the longer side of episodes side by side."""
_NAME = re.compile(r"worker-\d+\.episode-(\d+)\.(gif|mp4|txt|html|meta\.json)")


class Taped(NamedTuple):
    """An episode that was played before."""

    number: int
    """Number that its caption shows."""
    episode: Episode
    actions: Array
    rewards: Array | None = None
    """Rewards [T], if they were recorded."""


class _Rewards(Recorder):
    """Keeps the rewards of a one-row environment."""

    def __init__(self) -> None:
        self.rewards: list[float] = []

    def step(self, obs: Array, action: Array, step: Step, env: VectorEnv) -> None:
        self.rewards.append(float(step.reward[0]))


def film_into(
    path: Path, open_env: OpenEnv, taped: Sequence[Taped], check: Callable[[], None], watch: Watch, columns: int = 0
) -> tuple[Film, str]:
    """Repeats episodes into a video, a text (.txt), or a window. `check` is called before each step and may raise; what
    breaks off leaves an older file as it was. columns: number of episodes side by side, in as many rows as it takes; 0:
    one after another. Returns the video, and how the first episode that went differently did so; nothing if none."""
    [number, *others], lengths, steps = [take.number for take in taped], [take.episode.length for take in taped], 0
    name = tr(FILMING, episodes=counted(len(taped), "episode")) if others else tr(FILMING_EPISODE, number=number)
    total = max(lengths) if columns else sum(lengths)

    def step() -> None:
        nonlocal steps
        check()
        steps += 1

    with stage(name, lambda: part(steps, total, tr("steps")), logged=True):
        if columns:
            return _film_at_once(path, open_env, taped, step, watch, columns)
        return _film_in_turn(path, open_env, taped, step, watch)


def _film_in_turn(
    path: Path, open_env: OpenEnv, taped: Sequence[Taped], check: Callable[[], None], watch: Watch
) -> tuple[Film, str]:
    """Repeats one episode after another."""
    different = ""
    with open_env() as env:
        numbers = [take.number for take in taped]
        camera = (
            Scribe(path, numbers) if path.suffix == ".txt" else Camera(writer(path, env.render_fps), numbers, watch)
        )
        try:
            for take in taped:
                rewards = _Rewards()
                again = replay(env, take.episode, take.actions, camera, rewards, check=check, watch=watch)
                different = different or _difference(take, again, rewards.rewards)
                if camera.full:
                    break
        except BaseException:
            camera.abandon()
            raise
        film = camera.close()
    return film, different


def _film_at_once(
    path: Path, open_env: OpenEnv, taped: Sequence[Taped], check: Callable[[], None], watch: Watch, columns: int
) -> tuple[Film, str]:
    """Repeats episodes side by side, each in an environment of its own."""
    with ExitStack() as stack:
        envs = [stack.enter_context(open_env()) for _ in taped]
        lenses, rewards = [Lens(take.number, watch) for take in taped], [_Rewards() for _ in taped]
        repetitions = [
            Repetition(env, take.episode, take.actions, recorders, watch)
            for env, take, *recorders in zip(envs, taped, lenses, rewards, strict=True)
        ]
        video = writer(path, envs[0].render_fps, MOSAIC_SIDE)
        mosaic = Mosaic(video, lenses, columns)
        try:
            while not (mosaic.full or all(repetition.episode for repetition in repetitions)):
                check()
                for repetition in repetitions:
                    repetition.step()
                mosaic.take()
            mosaic.take(hold=True)
        except BaseException:
            video.abandon()
            raise
        film = video.close()
    differences = [
        _difference(take, repetition.episode, recorder.rewards)
        for take, repetition, recorder in zip(taped, repetitions, rewards, strict=True)
        if repetition.episode
    ]
    return film, next(filter(None, differences), "")


def _difference(taped: Taped, again: Episode, rewards: Sequence[float]) -> str:
    """Describes how the repetition of an episode differs from it; empty if it does not."""
    episode = taped.episode
    same = abs(again.total - episode.total) <= 1e-6 * max(1.0, abs(episode.total))
    if not (same and (again.length, again.terminated) == (episode.length, episode.terminated)):
        difference = tr(
            "return {total} for {taped_total}, length {length} for {taped_length}",
            total=again.total,
            taped_total=episode.total,
            length=again.length,
            taped_length=episode.length,
        )
        if again.terminated != episode.terminated:
            difference += tr(", terminated") if again.terminated else tr(", not terminated")
    elif taped.rewards is None:
        return ""
    else:
        other = np.flatnonzero(np.asarray(rewards, np.float32) != taped.rewards)
        if not len(other):
            return ""
        difference = tr(
            "another reward in {steps}, the first in step {step}", steps=counted(len(other), "step"), step=other[0] + 1
        )
    return tr(
        "the filmed episode with seed {seed} went differently: {difference}", seed=episode.seed, difference=difference
    )


class TrainingVideos(Observer):
    """Films every video_fre-th training episode when the round that it ended in is complete. What cannot be filmed
    costs a warning, never the run."""

    KEY = "TrainingVideos"

    def __init__(
        self,
        config: RunConfig,
        env: VectorEnv,
        task: TaskDir,
        console: Console,
        open_env: OpenEnv,
        check: Callable[[], None],
        watch: Watch,
    ) -> None:
        """env: the one of the training. open_env: opens one that draws. check: raises Interrupted if the run was asked
        to stop."""
        self.suffix, self.every = file_name(config).suffix, config.general.video_fre
        self.folder, self.console = task.videos, console
        self.open_env, self.check, self.watch = open_env, check, watch
        self._tapes: dict[tuple[int, int, int], Array] = {}
        """Actions of the episodes of a fragment, by worker, row and number in the row."""
        self._due: list[Taped] = []
        """Episodes that are to be filmed, by their numbers in train.csv."""
        self._last = 0
        """Number of the newest episode."""
        self._warned = self._failed = False
        if not env.replayable:
            self._warn(tr("no training episode is filmed: the environment cannot be repeated from seeds and actions"))

    def recorded(self, kind: str, item: Any) -> None:
        if kind == TAPES:
            key, actions = item
            self._tapes[key] = actions

    def episodes(self, episodes: Sequence[Episode], rows: Sequence[Row]) -> None:
        for episode, row in zip(episodes, rows, strict=True):
            self._last = row["episode"]
            actions = self._tapes.pop((episode.worker, episode.row, episode.number), None)
            if actions is not None and self._last % self.every == 0:
                self._due.append(Taped(self._last, episode, actions))

    def settled(self) -> None:
        """Films the episodes that are due. After a stop signal they stay due, and the resumed run films them."""
        while self._due:
            try:
                if not self._failed:
                    self._film(self._due[0])
            except Interrupted:
                return
            except Exception as error:  # the training does not depend on it, whatever the environment does
                self.console.log_traceback(error)
                self._warn(tr("no further training episodes are filmed: {error}", error=error))
                self._failed = True
            self._due.pop(0)

    def _film(self, due: Taped) -> None:
        episode = due.episode
        name = f"worker-{episode.worker}.episode-{due.number}"
        self.check()
        self.folder.mkdir(exist_ok=True)
        film, different = film_into(self.folder / f"{name}{self.suffix}", self.open_env, [due], self.check, self.watch)
        if film.path is None:
            self._warn(film.text)
            return
        if different:
            self._warn(different)
        write_meta(self.folder / f"{name}.meta.json", due, not different)

    def _warn(self, text: str) -> None:
        """Shows the first warning about videos."""
        if not self._warned:
            self.console.warn(text)
        self._warned = True

    def state(self) -> Tree:
        due = [{"number": due.number, "episode": _plain(due.episode), "actions": due.actions} for due in self._due]
        return {"last": self._last, "due": due}

    def load_state(self, state: Tree) -> None:
        """Restores `state`, and deletes the videos of later episodes."""
        self._last, self._tapes = state["last"], {}
        self._due = [Taped(due["number"], Episode(**due["episode"]), due["actions"]) for due in state["due"]]
        for path in self.folder.glob("*"):
            match = _NAME.fullmatch(path.name)
            if match and int(match[1]) > self._last:
                path.unlink()


def file_name(config: RunConfig) -> Path:
    """Returns the name of the file that episodes are filmed into."""
    name = Path(config.env.FILM[1])
    return name.with_suffix(f".{config.general.video_format}") if name.suffix == ".gif" else name


def write_meta(path: Path, taped: Taped, exact: bool) -> None:
    """Writes the facts about the video of one episode. exact: the repetition went as the episode did."""
    episode = taped.episode
    meta = {
        "episode": taped.number,
        "length": episode.length,
        "return": episode.total,
        "seed": episode.seed,
        "exact": exact,
    }
    write_whole(path, (json.dumps(meta) + "\n").encode())


def _plain(episode: Episode) -> dict[str, Any]:
    return {**episode._asdict(), "metrics": dict(episode.metrics)}
