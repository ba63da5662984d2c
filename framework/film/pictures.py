"""Frames as pictures: of a size that fits, below a line of text, or side by side."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from framework.pages import fonts

MAX_SIDE = 640
"""Pixels of the longer side of a picture."""
CAPTION_HEIGHT = 16
"""Pixels of the line above a picture; it covers nothing of it."""
SIZE = 12
"""Pixels of the letters of the line."""
_SAMPLE = "回合"
"""Letters that a font of a Chinese line has."""
GAP = 4
"""Pixels between pictures side by side."""


def picture_of(frame: np.ndarray | None, most: int = MAX_SIDE) -> Image.Image | None:
    """Returns a frame [height, width], or [height, width, 1, 3 or 4], as a picture of at most this many pixels on its
    longer side; None if it is none."""
    array = np.asarray(frame)
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.shape[2] not in (1, 3, 4) or array.dtype.kind not in "biuf" or not array.size:
        return None
    if array.dtype.kind == "b" or (array.dtype.kind == "f" and np.nanmax(array, initial=0) <= 1):
        array = array * 255.0  # floats of a picture are from 0 to 1, as bits are
    if array.dtype != np.uint8:
        array = np.clip(np.nan_to_num(array), 0, 255).astype(np.uint8)
    array = np.repeat(array, 3, axis=2) if array.shape[2] == 1 else array[:, :, :3]
    picture = Image.fromarray(np.ascontiguousarray(array))
    if max(picture.size) > most:
        picture.thumbnail((most, most), Image.Resampling.BILINEAR)
    return picture


def fitted(picture: Image.Image, width: int, height: int) -> Image.Image:
    """Returns the picture at this size, with black bars if its shape differs."""
    if picture.size == (width, height):
        return picture
    scale = min(width / picture.width, height / picture.height)
    size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
    canvas = Image.new("RGB", (width, height))
    canvas.paste(picture.resize(size), ((width - size[0]) // 2, (height - size[1]) // 2))
    return canvas


def side_by_side(pictures: Sequence[Image.Image], columns: int) -> Image.Image:
    """Returns pictures of one size in rows of this many."""
    width, height = (side + GAP for side in pictures[0].size)
    rows = -(-len(pictures) // columns)
    canvas = Image.new("RGB", (columns * width - GAP, rows * height - GAP))
    for at, picture in enumerate(pictures):
        canvas.paste(picture, (at % columns * width, at // columns * height))
    return canvas


def captioned(picture: Image.Image, text: str) -> Image.Image:
    """Returns the picture below a line of text; the ends of words that do not fit are left out."""
    font = _font(not text.isascii())
    while text and font.getlength(text) > picture.width - 4:
        text = text.rpartition("   ")[0]
    canvas = Image.new("RGB", (picture.width, picture.height + CAPTION_HEIGHT))
    canvas.paste(picture, (0, CAPTION_HEIGHT))
    draw = ImageDraw.Draw(canvas)
    draw.fontmode = "1"  # without gray edges, so that the picture keeps its exact colors
    draw.text((4, CAPTION_HEIGHT // 2), text, fill=(255, 255, 255), font=font, anchor="lm")
    return canvas


@cache
def _font(chinese: bool) -> Any:
    path = fonts.file_with(_SAMPLE) if chinese else None
    return ImageFont.truetype(path, SIZE) if path else ImageFont.load_default(SIZE)
