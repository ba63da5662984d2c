"""Records what a run takes of the machine while it trains: processor, memory and GPU, every few seconds."""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from config import machine
from config.system.files import patiently
from framework.disk.csv_log import CsvLog
from framework.disk.csv_table import last_row, read_csv
from framework.errors import TaskDirError
from framework.loop.iteration import Count
from framework.loop.observer import Observer
from framework.screen.formatting import number

EVERY = 5.0
"""Seconds between two rows, at least."""
LEAST = 0.5
"""Seconds between the last two rows, at least: the last one is written when the run ends."""
SHARE = 500
"""The pause is at least this many times as long as a row has taken."""
MEGABYTE = 1e6
COLUMNS = ("step", "update", "seconds", "cpu_percent", "memory_mb", "gpu_percent", "gpu_memory_mb")
"""Columns of system.csv. 100 percent are one core; the numbers of the GPU are those of all programs that use it."""


class SystemLog(Observer):
    """Appends rows to system.csv between two rounds. The file depends on the clock, so no checkpoint knows it: rows
    behind the step that a resume begins at are cut off. A failure ends the recording, not the run."""

    KEY = "SystemLog"

    def __init__(
        self,
        path: Path,
        place: Callable[[], tuple[Count, float]],
        gpu: "Gpu | None" = None,
        others: Callable[[], Iterable[int]] = lambda: (),
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """place: returns the counters and the seconds of training. others: returns the processes that train besides
        this one and those that it has started. now: returns the time in seconds."""
        self._file: CsvLog | None = None
        with contextlib.suppress(OSError, TaskDirError):  # another version, or a stranger, may have left other columns
            self._file = CsvLog(path, COLUMNS)
        self._place, self._gpu, self._others, self._now = place, gpu, others, now
        self._last = now(), machine.use().cpu_seconds
        self._next = self._last[0] + EVERY
        self._step = int(number((last_row(path) or {}).get("step")) or 0)
        """Step of the last row in the file."""

    def settled(self) -> None:
        if self._file is None or self._now() < self._next:
            return
        try:
            self._record(self._file)
        except (OSError, ValueError):  # a full disk, or a file that a stranger has made; no reason to end a run
            self.close()

    def _record(self, file: CsvLog) -> None:
        begin, before = self._last
        now, use, (count, seconds) = self._now(), machine.use(self._others()), self._place()
        if count.step < self._step:
            file = self._cut(file, count.step)
        gpu = self._gpu.read() if self._gpu else {}
        file.append(
            {
                "step": count.step,
                "update": count.update,
                "seconds": round(seconds, 1),
                "cpu_percent": round(100 * max(0.0, use.cpu_seconds - before) / (now - begin), 1),
                "memory_mb": None if use.memory is None else round(use.memory / MEGABYTE, 1),
                **gpu,
            }
        )
        file.flush()
        self._step, self._last = count.step, (now, use.cpu_seconds)
        self._next = max(now + EVERY, self._now() + SHARE * (self._now() - now))

    def _cut(self, file: CsvLog, step: int) -> CsvLog:
        """Removes the rows behind a step: a resume, or processes that began again, trains it once more."""
        file.flush()
        rows = [row for row in read_csv(file.path) if (number(row.get("step")) or 0) <= step]
        file.close()
        patiently(os.unlink, file.path)
        self._file = file = CsvLog(file.path, COLUMNS)
        file.extend([{name: number(row.get(name)) for name in COLUMNS} for row in rows])
        return file

    def close(self) -> None:
        """Ends the recording, with a row for what is new since the last one."""
        if self._file is not None and self._now() - self._last[0] >= LEAST and self._place()[0].step > self._step:
            with contextlib.suppress(OSError, ValueError):
                self._record(self._file)
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):
                file.close()
        if self._gpu:
            self._gpu.close()


class Gpu:
    """Use of a GPU of NVIDIA, as its own program tells: it is asked when a row is written, and what it has said to the
    question before that is the answer, so training never waits for it."""

    def __init__(self, device: str) -> None:
        """device: name of torch, such as cuda:1."""
        index = int(device.partition(":")[2] or 0)
        visible = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
        self._name = visible[index] if index < len(visible) else str(index)
        self._program = shutil.which("nvidia-smi")
        self._asked: subprocess.Popen[str] | None = None

    def read(self) -> dict[str, float]:
        """Returns cells of a row; none if there is no answer yet, or no such program."""
        asked, answer = self._asked, ""
        if asked is not None:
            if asked.poll() is None:  # it still looks
                return {}
            answer = asked.communicate()[0]
        if self._program is not None:
            query = [self._program, "-i", self._name, "--query-gpu=utilization.gpu,memory.used"]
            with contextlib.suppress(OSError):
                self._asked = subprocess.Popen(
                    [*query, "--format=csv,noheader,nounits"],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    encoding="ascii",
                    errors="replace",
                )
        try:
            percent, mebibytes = map(float, answer.strip().split(","))
        except ValueError:
            return {}
        return {"gpu_percent": percent, "gpu_memory_mb": round(mebibytes * 2**20 / MEGABYTE, 1)}

    def close(self) -> None:
        """Ends a question without an answer."""
        asked, self._asked = self._asked, None
        if asked is not None:
            asked.kill()
            asked.communicate()
