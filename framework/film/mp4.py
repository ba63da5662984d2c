"""Videos as MP4 (H.264), by the package imageio and the ffmpeg that imageio-ffmpeg brings."""

import re
import subprocess
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from config.own.extras import install
from config.read.opening import regular
from config.read.paths import as_written
from config.system.processes import out_of_reach
from config.tell.language import tr
from framework.disk.atomic import finish, unfinished
from framework.errors import JoystickError
from framework.film.video import VideoWriter

MOST_FPS = 60
"""Frames per second that screens show."""
INSTALL = install("imageio_ffmpeg")


def check_package() -> None:
    """Raises JoystickError if the package or its ffmpeg is missing."""
    try:
        import imageio_ffmpeg

        imageio_ffmpeg.get_ffmpeg_exe()
    except ImportError:
        raise JoystickError(
            "mp4 needs the package imageio-ffmpeg, which is not installed: {install}", install=INSTALL
        ) from None
    except RuntimeError:
        raise JoystickError(
            "mp4 needs ffmpeg, which imageio-ffmpeg does not bring for this system; install ffmpeg, or {install}",
            install=INSTALL,
        ) from None


class Mp4Writer(VideoWriter):
    """Sends frames to ffmpeg. A frame that stays for longer is written several times."""

    _film: Any

    @staticmethod
    def timing(fps: float) -> tuple[float, int]:
        stride = ceil(fps / MOST_FPS)
        return 1000 * stride / fps, stride

    def _begin(self, width: int, height: int) -> None:
        from imageio import v2

        with open(unfinished(self.path), "wb", opener=regular):
            pass  # refuses a link in the place of the file
        self._even = width + width % 2, height + height % 2
        self._film = v2.get_writer(
            str(unfinished(self.path)), format="mp4", mode="I", fps=1000 / self.delay, macro_block_size=2,
            ffmpeg_log_level="error", output_params=["-crf", "20", "-f", "mp4", "-movflags", "+faststart"],
        )  # fmt: skip

    def _write(self, picture: np.ndarray, delay: float) -> None:
        height, width = picture.shape[:2]
        wide, high = self._even  # which the codec needs
        whole = np.pad(picture, ((0, high - height), (0, wide - width), (0, 0)))
        for _ in range(max(1, round(delay / self.delay))):
            self._send(whole)

    def _send(self, picture: np.ndarray) -> None:
        """Writes a frame; the first one starts ffmpeg."""
        try:
            self._film.append_data(picture)
        except OSError:
            raise
        except Exception as error:  # whatever comes of reading what a broken ffmpeg says of itself
            import imageio_ffmpeg

            program = imageio_ffmpeg.get_ffmpeg_exe()
            raise OSError(
                tr(
                    "{program} does not work: {install}, or general_cfg.video_format=gif",
                    program=program,
                    install=INSTALL,
                )
            ) from error

    def _finish(self) -> None:
        self._film.close()  # which hides how ffmpeg ended
        if not _frames_in(unfinished(self.path)):
            raise OSError(tr("ffmpeg failed, and {path} was not written", path=as_written(self.path)))
        finish(open(unfinished(self.path), "r+b", opener=regular), self.path)  # noqa: SIM115  # finish closes it

    def _discard(self) -> None:
        self._film.close()


def _frames_in(path: Path) -> int:
    """Returns the number of frames in a video, counted without decoding them; 0 if it cannot be read."""
    import imageio_ffmpeg

    done = subprocess.run(
        [
            imageio_ffmpeg.get_ffmpeg_exe(), "-nostdin", "-v", "error", "-i", str(path), "-map", "0:v:0", "-c", "copy",
            "-progress", "pipe:1", "-f", "null", "-",
        ],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8", errors="replace",
        **out_of_reach(),  # Ctrl-C is for the run alone
    )  # fmt: skip
    counts = re.findall(r"^frame=\s*(\d+)", done.stdout, re.MULTILINE)
    return int(counts[-1]) if counts and done.returncode == 0 else 0
