"""Films as GIF, written frame by frame: memory holds one picture, however long the film is."""

from math import ceil
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from PIL import Image
from PIL.GifImagePlugin import getdata

from framework.checkpoint.atomic import finish, regular, unfinished

MAX_FRAMES = 6000
"""Two minutes at 50 frames a second."""
MAX_SIDE = 640
SHORTEST_DELAY = 20
"""Milliseconds; browsers show anything shorter at a tenth of a second."""
DEFAULT_FPS = 30.0


class Film(NamedTuple):
    """What a GIF has become."""

    path: Path | None
    """None where there was nothing to film."""
    frames: int
    seconds: float
    text: str
    """The same, as a sentence."""


def timing(fps: float) -> tuple[int, int]:
    """Milliseconds between frames on GIF's grid of 10, and how many frames of the environment each stands for."""
    if not 0 < fps < float("inf"):
        fps = DEFAULT_FPS
    stride = max(1, ceil((SHORTEST_DELAY - 5) * fps / 1000))
    return min(10 * round(100 * stride / fps), 655_350), stride


class GifWriter:
    """Takes frames until it is full; the film appears under its name when it is closed."""

    def __init__(self, path: Path, fps: float, max_frames: int = MAX_FRAMES) -> None:
        self.path, self.max_frames = path, max_frames
        self.delay, self._stride = timing(fps)
        self._seen = self._written = 0
        self._file: BinaryIO | None = None
        self._last = np.empty((0, 0, 3), np.uint8)
        self._notes: dict[str, None] = {}

    @property
    def full(self) -> bool:
        """No more frames are taken."""
        return self._written >= self.max_frames

    def add(self, frame: np.ndarray | None) -> None:
        """A picture [height, width], or [height, width, 1, 3 or 4]."""
        if self.full:
            self._note(f"cut off after {self.max_frames} frames")
            return
        picture = self._picture(frame)
        if picture is None:
            return
        self._seen += 1
        if (self._seen - 1) % self._stride:
            return
        if self._file is None:
            self._begin(picture)
        self._write(self._fitted(picture))

    def close(self) -> Film:
        """Finish the film and give it its name."""
        notes = "".join(f"; {note}" for note in self._notes)
        if self._file is None:
            return Film(None, 0, 0.0, f"no video: the environment gave no pictures{notes}")
        self._file.write(b";")
        finish(self._file, self.path)
        seconds = self._written * self.delay / 1000
        return Film(self.path, self._written, seconds, f"{self.path}: {self._written} frames, {seconds:.1f} s{notes}")

    def _note(self, text: str) -> None:
        self._notes[text] = None

    def _picture(self, frame: np.ndarray | None) -> Image.Image | None:
        """The frame as a picture of at most MAX_SIDE, or None where it is none."""
        array = np.asarray(frame)
        if array.ndim == 2:
            array = array[:, :, None]
        if array.ndim != 3 or array.shape[2] not in (1, 3, 4) or array.dtype.kind not in "biuf" or not array.size:
            self._note("what was no picture was left out")
            return None
        if array.dtype != np.uint8:
            array = np.clip(np.nan_to_num(array), 0, 255).astype(np.uint8)
        array = np.repeat(array, 3, axis=2) if array.shape[2] == 1 else array[:, :, :3]
        picture = Image.fromarray(np.ascontiguousarray(array))
        if max(picture.size) > MAX_SIDE:
            picture.thumbnail((MAX_SIDE, MAX_SIDE), Image.Resampling.BILINEAR)
        return picture

    def _fitted(self, picture: Image.Image) -> np.ndarray:
        """The picture [height, width, 3] at the size of the first one, with black bars where it has another form."""
        height, width = self._last.shape[:2]
        if picture.size != (width, height):
            self._note("pictures of another size were fitted to the first")
            scale = min(width / picture.width, height / picture.height)
            size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
            canvas = Image.new("RGB", (width, height))
            canvas.paste(picture.resize(size), ((width - size[0]) // 2, (height - size[1]) // 2))
            picture = canvas
        return np.asarray(picture)

    def _begin(self, first: Image.Image) -> None:
        """Header: size, no global colours, endless repetition."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(unfinished(self.path), "wb", opener=regular)  # noqa: SIM115  # held until close()
        width, height = first.size
        screen = width.to_bytes(2, "little") + height.to_bytes(2, "little") + b"\x70\x00\x00"
        self._file.write(b"GIF89a" + screen + b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00")
        self._last = np.empty((height, width, 3), np.uint8)

    def _write(self, picture: np.ndarray) -> None:
        """Only the rectangle that has changed, with colours of its own."""
        assert self._file is not None
        height, width = picture.shape[:2]
        top, bottom, left, right = _changed(picture, self._last) if self._written else (0, height, 0, width)
        part = _with_palette(picture[top:bottom, left:right])
        for data in getdata(part, (left, top), duration=self.delay, include_color_table=True):
            self._file.write(data)
        self._last = picture
        self._written += 1


def _changed(new: np.ndarray, old: np.ndarray) -> tuple[int, int, int, int]:
    """The smallest rectangle that holds every difference: top, bottom, left, right. One pixel where there is none."""
    different = (new != old).any(axis=2)
    rows, columns = np.flatnonzero(different.any(axis=1)), np.flatnonzero(different.any(axis=0))
    if not len(rows):
        return 0, 1, 0, 1
    return int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1


def _with_palette(part: np.ndarray) -> Image.Image:
    """The exact colours where there are at most 256, as in most drawn environments; the best 256 otherwise."""
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
