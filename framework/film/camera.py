"""Recorders that film: one episode after another, or several at once."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from config.tell.language import tr
from envs.base import Array, Step, VectorEnv
from framework.collect.env_calls import Watch
from framework.collect.fragment import Episode, Recorder
from framework.film.gif import GifWriter
from framework.film.mp4 import Mp4Writer
from framework.film.pictures import CAPTION_HEIGHT, GAP, captioned, fitted, picture_of, side_by_side
from framework.film.video import MAX_SIDE, Film, VideoWriter
from framework.pages import fonts
from framework.screen.formatting import counted, short


def writer(path: Path, fps: float, max_side: int = MAX_SIDE) -> VideoWriter:
    """Makes the writer of a video, by the ending of its name: .gif or .mp4."""
    return (Mp4Writer if path.suffix == ".mp4" else GifWriter)(path, fps, max_side=max_side)


class Lens(Recorder):
    """Sees one episode of a one-row environment: its latest picture, and a caption with the number of the episode, the
    step and the return so far."""

    def __init__(self, number: int, watch: Watch | None = None) -> None:
        """number: that of the episode."""
        self.watch = watch or Watch()
        self.number, self.over = number, False
        self.frame: np.ndarray | None = None
        self._total, self._steps = 0.0, 0

    def step(self, obs: Array, action: Array, step: Step, env: VectorEnv) -> None:
        """Draws the state after a step."""
        self._steps += 1
        self._total += float(step.reward[0])
        with self.watch("render"):
            self.frame = env.render()

    def end(self, episode: Episode, env: VectorEnv) -> dict[str, float]:
        """Marks the end of the episode."""
        self.over = True
        return {}

    @property
    def caption(self) -> str:
        values = {"number": self.number, "steps": self._steps, "total": short(self._total)}
        with fonts.language():
            if self.over:
                return tr("episode {number}   step {steps}   return {total}   end", **values)
            return tr("episode {number}   step {steps}   return {total}", **values)


class Camera(Recorder):
    """Films one episode after another. The last picture of each stays for a second."""

    def __init__(self, writer: VideoWriter, numbers: Sequence[int], watch: Watch | None = None) -> None:
        """numbers: of the episodes."""
        self.writer, self.numbers = writer, numbers
        self._watch = watch
        self._lens: Lens | None = None
        """Sees the running episode; None before its first step."""
        self.filmed = 0
        """Number of episodes that have begun."""

    @property
    def full(self) -> bool:
        """True if no more is filmed."""
        return self.writer.full

    def step(self, obs: Array, action: Array, step: Step, env: VectorEnv) -> None:
        """Films the state after a step."""
        if self._lens is None:
            self._lens = Lens(self.numbers[self.filmed], self._watch)
            self.filmed += 1
        self._lens.step(obs, action, step, env)
        if self._lens.frame is not None:
            self.writer.add(self._lens.frame, self._lens.caption)

    def end(self, episode: Episode, env: VectorEnv) -> dict[str, float]:
        if self._lens is not None:
            self._lens.over = True
            if self._lens.frame is not None:
                self.writer.hold(self._lens.frame, self._lens.caption)
        self._lens = None
        return {}

    def close(self) -> Film:
        """Finishes the video; its description says if episodes are missing."""
        if 0 < self.filmed < len(self.numbers):
            if self.writer.full:
                self.writer.note(tr("cut off after {count} frames", count=self.writer.max_frames))
            self.writer.note(
                tr("{filmed} of {episodes}", filmed=self.filmed, episodes=counted(len(self.numbers), "episode"))
            )
        return self.writer.close()

    def abandon(self) -> None:
        """Deletes the unfinished video, in the place of `close`."""
        self.writer.abandon()


class Mosaic:
    """Films several episodes side by side. One that is over keeps its last picture until all are."""

    def __init__(self, writer: VideoWriter, lenses: Sequence[Lens], columns: int) -> None:
        self.writer, self.lenses, self.columns = writer, lenses, columns
        rows = -(-len(lenses) // columns)
        wide, high = (writer.max_side // count - GAP for count in (columns, rows))
        self._side = max(1, min(wide, high - CAPTION_HEIGHT))
        self._cells: list[Image.Image | None] = [None] * len(lenses)

    def take(self, hold: bool = False) -> None:
        """Adds a frame of what all lenses see now. hold: it stays for a second."""
        for at, lens in enumerate(self.lenses):
            picture = picture_of(lens.frame, self._side)
            if picture is not None:
                self._cells[at] = captioned(picture, lens.caption)
        first = next((cell for cell in self._cells if cell is not None), None)
        if first is None:
            self.writer.note(tr("frames that are not pictures were left out"))
            return
        black = Image.new("RGB", first.size)
        cells = [black if cell is None else fitted(cell, *first.size) for cell in self._cells]
        frame = np.asarray(side_by_side(cells, self.columns))
        (self.writer.hold if hold else self.writer.add)(frame)

    @property
    def full(self) -> bool:
        """True if no more is filmed."""
        return self.writer.full
