"""The writer of GIF of the package imageio that streams. Imported when a film begins, as imageio is."""

import numpy as np
from imageio.plugins import pillow_legacy  # noqa: F401  # must be imported before pillowmulti, which imports it again
from imageio.plugins.pillowmulti import GifWriter
from PIL import Image

FULL_TABLE = 3 * 256
"""Bytes of the longest table of colors."""


class Stream(GifWriter):
    """Writes of each frame only the rectangle that has changed, with a table of its own colors, as long as it must be.

    The writer behind `imageio.v3` keeps all frames until the end; this one writes each at once. Replaced here is what
    would lose colors or cost bytes: the rectangles, which fail with numpy 2.4, the choice of colors, and a table of 256
    entries with each frame."""

    _table = FULL_TABLE

    def getSubRectangle(self, im: np.ndarray) -> tuple[np.ndarray, tuple[int, int]]:
        """Returns the part of a frame that has changed, and its left and upper edge."""
        if self._previous_image is None:
            return im, (0, 0)
        top, bottom, left, right = changed(im, self._previous_image)
        return im[top:bottom, left:right], (left, top)

    def converToPIL(self, im: np.ndarray, quantizer: int, palette_size: int = 256) -> Image.Image:
        """Returns a picture with a table of colors."""
        return with_palette(im)

    def write_header(self, im: Image.Image, globalPalette: bytes, loop: int) -> None:
        """Writes the header of the file, whose table has 256 entries and is that of no frame."""
        super().write_header(im, globalPalette.ljust(FULL_TABLE, b"\0"), loop)

    def write_image(
        self, im: Image.Image, palette: bytes, rect: tuple[int, int], duration: float, dispose: int
    ) -> None:
        """Writes a frame with a table of its own."""
        self._table = len(palette)
        super().write_image(im, palette, rect, duration, dispose)

    def getImageDescriptor(self, im: Image.Image, xy: tuple[int, int] | None = None) -> bytes:
        """Returns place and size of a frame, and the length of its table: 2 ** (n + 1) entries."""
        *place, flags = super().getImageDescriptor(im, xy)
        return bytes([*place, flags & 0b11111000 | (self._table // 3).bit_length() - 2])


def changed(new: np.ndarray, old: np.ndarray) -> tuple[int, int, int, int]:
    """Returns the smallest rectangle that holds every difference: top, bottom, left, right; one pixel without any."""
    different = (new != old).any(axis=2)
    rows, columns = np.flatnonzero(different.any(axis=1)), np.flatnonzero(different.any(axis=0))
    if not len(rows):
        return 0, 1, 0, 1
    return int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1


def with_palette(part: np.ndarray) -> Image.Image:
    """Returns the exact colors if there are at most 256, as in most drawn environments; else the best 256."""
    red, green, blue = np.moveaxis(part.astype(np.uint32), 2, 0)
    colors, index = np.unique(red << 16 | green << 8 | blue, return_inverse=True)
    if len(colors) > 256:
        return Image.fromarray(np.ascontiguousarray(part)).quantize(
            256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE
        )
    picture = Image.fromarray(index.reshape(part.shape[:2]).astype(np.uint8))
    palette = np.stack([colors >> 16, colors >> 8 & 255, colors & 255], axis=1).astype(np.uint8)
    picture.putpalette(palette.tobytes())
    return picture
