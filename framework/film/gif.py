"""Videos as GIF, by the package imageio."""

from math import ceil
from typing import Any, BinaryIO

import numpy as np

from config.read.opening import regular
from framework.disk.atomic import finish, unfinished
from framework.film.video import VideoWriter

SHORTEST_DELAY = 20
"""Milliseconds between frames; browsers show anything shorter at a tenth of a second."""
LONGEST_DELAY = 655_350
"""Milliseconds that GIF can express."""
STAYS = 1
"""Disposal of a frame when the next one is shown: it stays, since the next one holds only what has changed."""


class GifWriter(VideoWriter):
    """Streams frames into the file, each with a delay of its own."""

    _file: BinaryIO
    _stream: Any

    @staticmethod
    def timing(fps: float) -> tuple[float, int]:
        """Returns milliseconds in steps of 10, which GIF has."""
        stride = max(1, ceil((SHORTEST_DELAY - 5) * fps / 1000))
        return min(10 * round(100 * stride / fps), LONGEST_DELAY), stride

    def _begin(self, width: int, height: int) -> None:
        from framework.film.gif_stream import Stream

        self._file = open(unfinished(self.path), "wb", opener=regular)  # noqa: SIM115  # held until close()
        self._stream = Stream(self._file)

    def _write(self, picture: np.ndarray, delay: float) -> None:
        self._stream.add_image(picture, delay / 1000, STAYS)

    def _finish(self) -> None:
        self._stream.close()
        finish(self._file, self.path)

    def _discard(self) -> None:
        self._file.close()
