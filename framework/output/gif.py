"""Videos as GIF, written frame by frame: memory holds one picture, however long the video is."""

from functools import cache
from math import ceil
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from PIL.GifImagePlugin import getdata

from envs.base import Array, Step, VectorEnv
from framework.checkpoint.atomic import finish, regular, unfinished
from framework.fragment import Episode, Recorder
from framework.output.formatting import counted, short
from framework.watch import Watch

MAX_FRAMES = 6000
"""Number of frames of the longest video: two minutes at 50 frames a second."""
MAX_SIDE = 640
"""Pixels of the longer side of a picture."""
SHORTEST_DELAY = 20
"""Milliseconds between frames; browsers show anything shorter at a tenth of a second."""
LONGEST_DELAY = 655_350
"""Milliseconds that GIF can express."""
PAUSE = 1000
"""Milliseconds for which the last frame of an episode stays."""
CAPTION_HEIGHT = 16
"""Pixels of the line above a picture; it covers nothing of it."""
DEFAULT_FPS = 30.0


class Film(NamedTuple):
    """A finished video."""

    path: Path | None
    """None if there was nothing to film."""
    frames: int
    seconds: float
    text: str
    """Description of the video in a sentence."""


def timing(fps: float) -> tuple[int, int]:
    """Returns milliseconds between frames, in GIF's steps of 10, and how many frames of the environment each covers."""
    if not 0 < fps < float("inf"):
        fps = DEFAULT_FPS
    stride = max(1, ceil((SHORTEST_DELAY - 5) * fps / 1000))
    return min(10 * round(100 * stride / fps), LONGEST_DELAY), stride


class GifWriter:
    """Takes frames until it is full; the video appears under its name when it is closed."""

    def __init__(self, path: Path, fps: float, max_frames: int = MAX_FRAMES) -> None:
        self.path, self.max_frames = path, max_frames
        self.delay, self._stride = timing(fps)
        self._seen = self._written = self._duration = 0
        self._file: BinaryIO | None = None
        self._last = np.empty((0, 0, 3), np.uint8)
        self._notes: dict[str, None] = {}

    @property
    def full(self) -> bool:
        """True if no more frames are taken."""
        return self._written >= self.max_frames

    def add(self, frame: np.ndarray | None, caption: str | None = None) -> None:
        """Adds a picture [height, width], or [height, width, 1, 3 or 4]. caption: a line above it."""
        if self.full:
            self.note(f"cut off after {self.max_frames} frames")
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
        notes = "".join(f"; {note}" for note in self._notes)
        if self._file is None:
            return Film(None, 0, 0.0, f"no video: the environment gave no pictures{notes}")
        self._file.write(b";")
        finish(self._file, self.path)
        seconds = self._duration / 1000
        text = f"video: {counted(self._written, 'frame')}, {seconds:.1f} s{notes}"
        return Film(self.path, self._written, seconds, text)

    def _put(self, picture: Image.Image, caption: str | None, delay: int) -> None:
        if caption is not None:
            picture = captioned(picture, caption)
        if self._file is None:
            self._begin(picture)
        self._write(self._fitted(picture), delay)

    def _picture(self, frame: np.ndarray | None) -> Image.Image | None:
        """Returns the frame as a picture of at most MAX_SIDE, or None if it is none."""
        array = np.asarray(frame)
        if array.ndim == 2:
            array = array[:, :, None]
        if array.ndim != 3 or array.shape[2] not in (1, 3, 4) or array.dtype.kind not in "biuf" or not array.size:
            self.note("frames that are no pictures were left out")
            return None
        if array.dtype != np.uint8:
            array = np.clip(np.nan_to_num(array), 0, 255).astype(np.uint8)
        array = np.repeat(array, 3, axis=2) if array.shape[2] == 1 else array[:, :, :3]
        picture = Image.fromarray(np.ascontiguousarray(array))
        if max(picture.size) > MAX_SIDE:
            picture.thumbnail((MAX_SIDE, MAX_SIDE), Image.Resampling.BILINEAR)
        return picture

    def _fitted(self, picture: Image.Image) -> np.ndarray:
        """Returns the picture [height, width, 3] at the size of the first one, with black bars if its shape differs."""
        height, width = self._last.shape[:2]
        if picture.size != (width, height):
            self.note("pictures of another size were fitted to the first")
            scale = min(width / picture.width, height / picture.height)
            size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
            canvas = Image.new("RGB", (width, height))
            canvas.paste(picture.resize(size), ((width - size[0]) // 2, (height - size[1]) // 2))
            picture = canvas
        return np.asarray(picture)

    def _begin(self, first: Image.Image) -> None:
        """Writes the header: size, no global colours, endless repetition."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(unfinished(self.path), "wb", opener=regular)  # noqa: SIM115  # held until close()
        width, height = first.size
        screen = width.to_bytes(2, "little") + height.to_bytes(2, "little") + b"\x70\x00\x00"
        self._file.write(b"GIF89a" + screen + b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00")
        self._last = np.empty((height, width, 3), np.uint8)

    def _write(self, picture: np.ndarray, delay: int) -> None:
        """Writes only the rectangle that has changed, with colours of its own."""
        assert self._file is not None
        height, width = picture.shape[:2]
        top, bottom, left, right = _changed(picture, self._last) if self._written else (0, height, 0, width)
        part = _with_palette(picture[top:bottom, left:right])
        for data in getdata(part, (left, top), duration=delay, include_color_table=True):
            self._file.write(data)
        self._last = picture
        self._written += 1
        self._duration += delay


class Camera(Recorder):
    """Films a one-row environment: number and return of the episode are above each picture, and the
    last one of each episode stays for a second."""

    def __init__(self, writer: GifWriter, episodes: int, watch: Watch | None = None) -> None:
        self.writer, self.episodes, self.watch = writer, episodes, watch or Watch()
        self.filmed = 0
        """Number of episodes that have begun."""
        self._total = 0.0
        self._steps = 0
        self._frame: np.ndarray | None = None

    @property
    def full(self) -> bool:
        """True if no more is filmed."""
        return self.writer.full

    def step(self, obs: Array, action: Array, step: Step, env: VectorEnv) -> None:
        """Films the state after a step."""
        if not self._steps:
            self.filmed += 1
        self._steps += 1
        self._total += float(step.reward[0])
        with self.watch("render"):
            self._frame = env.render()
        if self._frame is not None:
            self.writer.add(self._frame, self._caption())

    def end(self, episode: Episode, env: VectorEnv) -> dict[str, float]:
        """Marks the end of an episode."""
        if self._frame is not None:
            self.writer.hold(self._frame, f"{self._caption()}   end")
        self.drop(episode.row)
        return {}

    def drop(self, row: int) -> None:
        """Starts a new episode; what was filmed stays."""
        self._total, self._steps, self._frame = 0.0, 0, None

    def close(self) -> Film:
        """Finishes the video; its description says if episodes are missing."""
        if 0 < self.filmed < self.episodes:
            if self.writer.full:
                self.writer.note(f"cut off after {self.writer.max_frames} frames")
            self.writer.note(f"{self.filmed} of {counted(self.episodes, 'episode')}")
        return self.writer.close()

    def _caption(self) -> str:
        return f"episode {self.filmed}   step {self._steps}   return {short(self._total)}"


def captioned(picture: Image.Image, text: str) -> Image.Image:
    """Returns the picture below a line of text; the ends of words that do not fit are left out."""
    font = _font()
    while text and font.getlength(text) > picture.width - 4:
        text = text.rpartition("   ")[0]
    canvas = Image.new("RGB", (picture.width, picture.height + CAPTION_HEIGHT))
    canvas.paste(picture, (0, CAPTION_HEIGHT))
    draw = ImageDraw.Draw(canvas)
    draw.fontmode = "1"  # without grey edges, so that the picture keeps its exact colours
    draw.text((4, CAPTION_HEIGHT // 2), text, fill=(255, 255, 255), font=font, anchor="lm")
    return canvas


@cache
def _font() -> Any:
    return ImageFont.load_default(12)


def _changed(new: np.ndarray, old: np.ndarray) -> tuple[int, int, int, int]:
    """Returns the smallest rectangle that holds every difference: top, bottom, left, right; one pixel without any."""
    different = (new != old).any(axis=2)
    rows, columns = np.flatnonzero(different.any(axis=1)), np.flatnonzero(different.any(axis=0))
    if not len(rows):
        return 0, 1, 0, 1
    return int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1


def _with_palette(part: np.ndarray) -> Image.Image:
    """Returns the exact colours if there are at most 256, as in most drawn environments; else the best 256."""
    red, green, blue = np.moveaxis(part.astype(np.uint32), 2, 0)
    colours, index = np.unique(red << 16 | green << 8 | blue, return_inverse=True)
    if len(colours) > 256:
        return Image.fromarray(np.ascontiguousarray(part)).quantize(
            256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE
        )
    picture = Image.fromarray(index.reshape(part.shape[:2]).astype(np.uint8))
    palette = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=1).astype(np.uint8)
    picture.putpalette(palette.tobytes())
    return picture
