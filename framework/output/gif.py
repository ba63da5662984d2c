"""Videos as GIF."""

from math import ceil
from typing import BinaryIO

import numpy as np
from PIL import Image
from PIL.GifImagePlugin import getdata

from config.opening import regular
from framework.checkpoint.atomic import finish, unfinished
from framework.output.video import VideoWriter

SHORTEST_DELAY = 20
"""Milliseconds between frames; browsers show anything shorter at a tenth of a second."""
LONGEST_DELAY = 655_350
"""Milliseconds that GIF can express."""


class GifWriter(VideoWriter):
    """Writes of each frame only the rectangle that has changed, with colors of its own."""

    _file: BinaryIO
    _last: np.ndarray

    @staticmethod
    def timing(fps: float) -> tuple[float, int]:
        """Returns milliseconds in steps of 10, which GIF has."""
        stride = max(1, ceil((SHORTEST_DELAY - 5) * fps / 1000))
        return min(10 * round(100 * stride / fps), LONGEST_DELAY), stride

    def _begin(self, width: int, height: int) -> None:
        """Writes the header: size, no global colors, endless repetition."""
        self._file = open(unfinished(self.path), "wb", opener=regular)  # noqa: SIM115  # held until close()
        screen = width.to_bytes(2, "little") + height.to_bytes(2, "little") + b"\x70\x00\x00"
        self._file.write(b"GIF89a" + screen + b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00")
        self._last = np.empty((height, width, 3), np.uint8)

    def _write(self, picture: np.ndarray, delay: float) -> None:
        height, width = picture.shape[:2]
        top, bottom, left, right = _changed(picture, self._last) if self._written else (0, height, 0, width)
        part = _with_palette(picture[top:bottom, left:right])
        for data in getdata(part, (left, top), duration=int(delay), include_color_table=True):
            self._file.write(data)
        self._last = picture

    def _finish(self) -> None:
        self._file.write(b";")
        finish(self._file, self.path)

    def _discard(self) -> None:
        self._file.close()


def _changed(new: np.ndarray, old: np.ndarray) -> tuple[int, int, int, int]:
    """Returns the smallest rectangle that holds every difference: top, bottom, left, right; one pixel without any."""
    different = (new != old).any(axis=2)
    rows, columns = np.flatnonzero(different.any(axis=1)), np.flatnonzero(different.any(axis=0))
    if not len(rows):
        return 0, 1, 0, 1
    return int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1


def _with_palette(part: np.ndarray) -> Image.Image:
    """Returns the exact colors if there are at most 256, as in most drawn environments; else the best 256."""
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
