"""Videos of episodes that were played before: repeated from their seeds and actions in an environment that draws."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from algos.base import Tree
from config.loader import RunConfig
from envs.base import Array, VectorEnv
from framework import build
from framework.checkpoint.atomic import write_whole
from framework.evaluator import Interrupted, replay
from framework.fragment import Episode
from framework.observer import Observer
from framework.output.console import Console
from framework.output.gif import Camera, Film, GifWriter
from framework.output.recorders import TAPES
from framework.output.scribe import Scribe
from framework.runs.task_dir import TaskDir
from framework.watch import Watch

_NAME = re.compile(r"worker-\d+\.episode-(\d+)\.(gif|txt|html|meta\.json)")


def film_into(
    path: Path, config: RunConfig, taped: Iterable[tuple[Episode, Array]], check: Callable[[], None], watch: Watch
) -> tuple[Film, str]:
    """Repeats episodes into a video, a text, or a window. `check` is called before each step and may raise. Returns
    the video, and how the first episode that went differently did so; nothing if none did."""
    taped, different = list(taped), ""
    with build.opened_env(config, 1, watch, draw=True) as env:
        writes = config.env.render_mode == "text"
        camera: Scribe | Camera = Scribe(path) if writes else Camera(GifWriter(path, env.render_fps), len(taped), watch)
        try:
            for episode, actions in taped:
                again = replay(env, episode, actions, camera, check, watch)
                different = different or _difference(episode, again)
                if camera.full:
                    break
        finally:
            made = camera.close()
    return made, different


def _difference(episode: Episode, again: Episode) -> str:
    """Describes how the repetition of an episode differs from it; empty if it does not."""
    same = abs(again.total - episode.total) <= 1e-6 * max(1.0, abs(episode.total))
    if same and (again.length, again.terminated) == (episode.length, episode.terminated):
        return ""
    text = f"return {again.total} for {episode.total}, length {again.length} for {episode.length}"
    if again.terminated != episode.terminated:
        text += f", {'' if again.terminated else 'not '}terminated"
    return f"the filmed episode with seed {episode.seed} went differently: {text}"


class _Due(NamedTuple):
    """An episode that is to be filmed."""

    number: int
    """Number of the episode in train.csv."""
    episode: Episode
    actions: Array


class TrainingVideos(Observer):
    """Films every video_fre-th training episode when the round that it ended in is complete. What cannot be filmed
    costs a warning, never the run."""

    def __init__(
        self,
        config: RunConfig,
        env: VectorEnv,
        task: TaskDir,
        console: Console,
        check: Callable[[], None],
        watch: Watch,
    ) -> None:
        """env: the one of the training. check: raises Interrupted if the run was asked to stop."""
        self.config = replace(config, env=config.env.model_copy(update={"render_mode": config.env.FILM[0]}))
        self.every = config.general.video_fre
        self.folder, self.console, self.check, self.watch = task.videos, console, check, watch
        self._tapes: dict[tuple[int, int, int], Array] = {}
        """Actions of the episodes of a fragment, by worker, row and number in the row."""
        self._due: list[_Due] = []
        self._last = 0
        """Number of the newest episode."""
        self._warned = self._failed = False
        if not env.replayable:
            self._warn("no training episode is filmed: the environment cannot be repeated from seeds and actions")

    def recorded(self, kind: str, item: Any) -> None:
        if kind == TAPES:
            key, actions = item
            self._tapes[key] = actions

    def episode(self, episode: Episode, row: Mapping[str, Any]) -> None:
        self._last = row["episode"]
        actions = self._tapes.pop((episode.worker, episode.row, episode.number), None)
        if actions is not None and self._last % self.every == 0:
            self._due.append(_Due(self._last, episode, actions))

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
                self._warn(f"no further training episodes are filmed: {error}")
                self._failed = True
            self._due.pop(0)

    def _film(self, due: _Due) -> None:
        episode = due.episode
        name = f"worker-{episode.worker}.episode-{due.number}"
        suffix = Path(self.config.env.FILM[1]).suffix
        self.check()
        self.folder.mkdir(exist_ok=True)
        with self.console.during(f"filming episode {due.number:,}"):
            taped = [(episode, due.actions)]
            made, different = film_into(self.folder / f"{name}{suffix}", self.config, taped, self.check, self.watch)
        if made.path is None:
            self._warn(made.text)
            return
        if different:
            self._warn(different)
        meta = {
            "episode": due.number,
            "length": episode.length,
            "return": episode.total,
            "seed": episode.seed,
            "exact": not different,
        }
        write_whole(self.folder / f"{name}.meta.json", (json.dumps(meta) + "\n").encode())

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
        self._due = [_Due(due["number"], Episode(**due["episode"]), due["actions"]) for due in state["due"]]
        for path in self.folder.glob("*"):
            match = _NAME.fullmatch(path.name)
            if match and int(match[1]) > self._last:
                path.unlink()


def _plain(episode: Episode) -> dict[str, Any]:
    return {**episode._asdict(), "metrics": dict(episode.metrics)}
