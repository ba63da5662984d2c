"""Videos, written frame by frame: memory holds one picture, however long the video is."""

import contextlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from config.tell.language import tr
from framework.disk.atomic import unfinished
from framework.film.pictures import MAX_SIDE, captioned, fitted, picture_of
from framework.screen.formatting import counted

MAX_FRAMES = 6000
"""Number of frames of the longest video: two minutes at 50 frames a second."""
PAUSE = 1000
"""Milliseconds for which the last frame of an episode stays."""
DEFAULT_FPS = 30.0


class Film(NamedTuple):
    """A finished video."""

    path: Path | None
    """None if there was nothing to film."""
    frames: int
    seconds: float
    text: str
    """Description of the video in a sentence."""


class VideoWriter(ABC):
    """Takes frames until it is full; the video appears under its name when it is closed. A format says how a file
    begins, how a picture is written, and how the file ends."""

    def __init__(self, path: Path, fps: float, max_frames: int = MAX_FRAMES, max_side: int = MAX_SIDE) -> None:
        self.path, self.max_frames, self.max_side = path, max_frames, max_side
        self.delay, self._stride = self.timing(fps if 0 < fps < float("inf") else DEFAULT_FPS)
        self._seen = self._written = 0
        self._duration = 0.0
        self._size: tuple[int, int] | None = None
        """Width and height of the first picture."""
        self._notes: dict[str, None] = {}

    @staticmethod
    @abstractmethod
    def timing(fps: float) -> tuple[float, int]:
        """Returns milliseconds between frames, and how many frames of the environment each covers: a fast environment
        has frames left out."""

    @property
    def full(self) -> bool:
        """True if no more frames are taken."""
        return self._written >= self.max_frames

    def add(self, frame: np.ndarray | None, caption: str | None = None) -> None:
        """Adds a picture [height, width], or [height, width, 1, 3 or 4]. caption: a line above it."""
        if self.full:
            self.note(tr("cut off after {count} frames", count=self.max_frames))
            return
        picture = self._picture(frame)
        if picture is None:
            return
        self._seen += 1
        if not (self._seen - 1) % self._stride:
            self._put(picture, caption, self.delay)

    def hold(self, frame: np.ndarray | None, caption: str | None = None) -> None:
        """Adds a picture that stays for a second, as a mark between episodes. The next frame follows in any case."""
        picture = None if self.full else self._picture(frame)
        if picture is not None:
            self._put(picture, caption, max(PAUSE, self.delay))
            self._seen = 0

    def note(self, text: str) -> None:
        """Adds to the description of the video."""
        self._notes[text] = None

    def close(self) -> Film:
        """Finishes the video and gives it its name."""
        notes = "".join(tr("; {note}", note=note) for note in self._notes)
        if self._size is None:
            text = tr(
                "no video: the environment gave no pictures; render() is to return an array of uint8 "
                "with shape (height, width, 3){notes}",
                notes=notes,
            )
            return Film(None, 0, 0.0, text)
        try:
            self._finish()
        except BaseException:
            self.abandon()
            raise
        seconds = self._duration / 1000
        text = tr(
            "video: {frames}, {seconds:.1f} s{notes}",
            frames=counted(self._written, "frame"),
            seconds=seconds,
            notes=notes,
        )
        return Film(self.path, self._written, seconds, text)

    def abandon(self) -> None:
        """Deletes what was written, in the place of `close`; an older video of that name stays."""
        new = unfinished(self.path)
        with contextlib.suppress(OSError):
            if self._size is not None:
                self._discard()
        with contextlib.suppress(OSError):
            if not new.is_symlink():
                new.unlink(missing_ok=True)

    def _picture(self, frame: np.ndarray | None) -> Image.Image | None:
        picture = picture_of(frame, self.max_side)
        if picture is None:
            self.note(tr("frames that are not pictures were left out"))
        return picture

    def _put(self, picture: Image.Image, caption: str | None, delay: float) -> None:
        if caption is not None:
            picture = captioned(picture, caption)
        if self._size is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._begin(*picture.size)
            self._size = picture.size
        elif picture.size != self._size:
            self.note(tr("pictures of another size were fitted to the first"))
        self._write(np.asarray(fitted(picture, *self._size)), delay)
        self._written += 1
        self._duration += delay

    @abstractmethod
    def _begin(self, width: int, height: int) -> None:
        """Opens the file."""

    @abstractmethod
    def _write(self, picture: np.ndarray, delay: float) -> None:
        """Writes a picture [height, width, 3] that stays for this many milliseconds."""

    @abstractmethod
    def _finish(self) -> None:
        """Closes the file and gives it its name."""

    @abstractmethod
    def _discard(self) -> None:
        """Closes a file that is not finished, and may be closed already."""
