"""Kills the processes that a killed driver leaves behind. Runs as a process that waits for its pipe to close.

Called as `python reaper.py FOLDER [detached]`. When standard input ends, it kills every process of this user that has
FOLDER in its command line or environment, and removes the folder.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

GRACE_SECONDS = 5.0
"""Largest number of seconds until the last process is gone."""
PROC = Path("/proc")
DETACHED: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
"""Flag of Windows for a process that Ctrl-C in the terminal does not reach. There Ray's processes end with the one that
has started them."""


class Reaper(subprocess.Popen):
    """The process for a folder. It acts when this process ends, in whatever way."""

    def __init__(self, folder: Path, detached: bool = False) -> None:
        """detached: it is not a child of this process, for a worker of Ray, which kills its children when it ends."""
        super().__init__(
            [sys.executable, "-S", "-E", __file__, str(folder), *(["detached"] if detached else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            **({"creationflags": DETACHED} if DETACHED else {"start_new_session": True}),
        )

    def close(self) -> None:
        """Lets the reaper act now, and waits for it."""
        self.communicate()


def workers_of(folder: str) -> list[int]:
    """Returns the other processes with this folder in their command line or environment."""
    if not PROC.is_dir():
        return _listed(folder)
    pids = []
    for place in PROC.glob("[0-9]*"):
        try:
            mine = any(folder.encode() in (place / name).read_bytes() for name in ("cmdline", "environ"))
        except OSError:  # it has ended, or belongs to another user
            continue
        if mine and int(place.name) != os.getpid():
            pids.append(int(place.name))
    return pids


def _listed(folder: str) -> list[int]:
    """Returns the processes with this folder in their command line, as `ps` lists them: macOS has no /proc. Workers,
    which have it in their environment alone, end when their Ray does."""
    try:
        command = ["ps", "-axww", "-o", "pid=,command="]
        listed = subprocess.run(command, capture_output=True, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    lines = (line.split(None, 1) for line in listed.decode("utf-8", "replace").splitlines() if folder in line)
    return [int(pid) for pid, _ in lines if int(pid) != os.getpid()]


def end(folder: str) -> None:
    """Kills the processes until none is left, and removes the folder."""
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
    if sys.argv[2:] and hasattr(os, "fork") and os.fork():
        os._exit(0)
    sys.stdin.read()
    end(sys.argv[1])
