"""Ends what a killed driver leaves behind. A child process that waits for its pipe to close.

Run as a program: `python reaper.py FOLDER`. When standard input ends, every process of this user that works in FOLDER
(it stands in its command line or its environment) is ended, and the folder removed.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

GRACE_SECONDS = 5.0


def start(folder: Path) -> "Reaper":
    """A reaper of this folder, that begins when this process ends, however it does."""
    return Reaper(
        subprocess.Popen(
            [sys.executable, "-S", "-E", __file__, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C in the terminal is not for it
        )
    )


class Reaper:
    """The child process."""

    def __init__(self, process: subprocess.Popen) -> None:
        self.process = process

    def close(self) -> None:
        """Everything has been ended in order, or is ended now."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()


def workers_of(folder: str) -> list[int]:
    """Processes with this folder in their command line or environment, but for this one."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            mine = any(folder.encode() in (place / name).read_bytes() for name in ("cmdline", "environ"))
        except OSError:  # ended meanwhile, or somebody else's
            continue
        if mine and int(place.name) != os.getpid():
            found.append(int(place.name))
    return found


def end(folder: str) -> None:
    """SIGKILL, until none is left."""
    until = time.monotonic() + GRACE_SECONDS
    while (left := workers_of(folder)) and time.monotonic() < until:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        time.sleep(0.1)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.stdin.read()
    end(sys.argv[1])
