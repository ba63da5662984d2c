"""Cores, memory and GPUs that this process may use: all of the machine, or fewer in a container or a batch job."""

import contextlib
import ctypes
import functools
import math
import os
import platform
import re
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from config.tell.language import tr

PROC = Path("/proc")
CGROUPS = Path("/sys/fs/cgroup")
SHARED = Path("/dev/shm")  # noqa: S108  # looked at, never written to
"""Folder whose files are in memory. Linux alone has these three."""

SPINS = 3000
"""Times that a thread which waits for others looks whether they are ready, before it sleeps."""
NO_MEMORY = re.compile(
    "out of memory|can.?t allocate memory|cannot allocate memory|can't start new thread|failed to map segment|"
    "could not create a (primitive|memory)",
    re.IGNORECASE,
)
"""Phrases of Python, the system, torch and its libraries for a lack of memory."""


def choose_waiting() -> None:
    """Chooses how threads of OpenMP wait for each other, unless the environment says it; to be called before torch is
    loaded. Two threads that look for a while are 1.4 times as fast as one if they have their cores for themselves, and
    far slower beside another program. So they sleep at once unless all cores of this process are idle now, or as many
    others of the machine. The numbers are the same either way."""
    if "OMP_WAIT_POLICY" in os.environ or "GOMP_SPINCOUNT" in os.environ:
        return
    if _others_running() + cores() <= (os.cpu_count() or 1):
        os.environ["GOMP_SPINCOUNT"] = str(SPINS)
    else:
        os.environ["OMP_WAIT_POLICY"] = "passive"


def _others_running() -> float:
    """Returns the number of other threads on the machine that run or wait for a core, the minimum of a few
    samples; infinity if unknown."""
    least = math.inf
    for look in range(3):
        if look:
            time.sleep(0.002)
        running = re.search(r" (\d+)/", _text(PROC / "loadavg"))  # this one is among them
        if running is None or not int(running[1]):
            return math.inf
        least = min(least, int(running[1]) - 1)
        if least == 0:
            break
    return least


@functools.cache
def processor() -> str:
    """Returns the name of the processor and its instructions, for which machine code is made."""
    table = _table(PROC / "cpuinfo", ":") if (PROC / "cpuinfo").exists() else {}
    names = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags", "CPU part", "Features")
    return "; ".join([platform.machine(), platform.processor(), *(table[name] for name in names if name in table)])


def processor_name() -> str | None:
    """Returns the name of the processor that its maker gives it; None if the system does not say it."""
    return _table(PROC / "cpuinfo", ":").get("model name") or platform.processor() or None


def cores() -> int:
    """Returns the number of cores that this process may use: by its affinity and by the CPU quota of its cgroup."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for folder in _cgroups("cpu"):
        quota, period = (_text(folder / "cpu.max").split() or ["", ""])[:2]
        quota, period = quota or _text(folder / "cpu.cfs_quota_us"), period or _text(folder / "cpu.cfs_period_us")
        if quota.isdecimal() and period.isdecimal() and int(period):  # "max" and -1 mean none
            count = min(count, -(-int(quota) // int(period)))
    return max(1, count)


MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1
"""Numbers of two parameters of glibc's mallopt."""


def keep_freed_memory() -> None:
    """Lets the C library keep up to 256 MiB of freed memory for what is allocated next. By default it gives the arrays
    of a large minibatch back to the system, and gets empty pages for them in the next update: a fifth of its time. Does
    nothing where the C library is another one than glibc."""
    with contextlib.suppress(OSError, TypeError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        # older ones take at most 32 MiB; without the first, the second would make everything slower
        if mallopt(MMAP_THRESHOLD, 64 * 2**20) or mallopt(MMAP_THRESHOLD, 32 * 2**20):
            mallopt(TRIM_THRESHOLD, 256 * 2**20)


def available_bytes() -> int | None:
    """Returns the memory that this process may still take, in bytes: what is free on the machine, and no more than the
    limit of its cgroup leaves. None if the system does not tell."""
    free = _number(_table(PROC / "meminfo", ":").get("MemAvailable", ""))
    left = [] if free is None else [free * 1024]
    for folder in _cgroups("memory"):
        for limit, usage in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
            most, used = _number(_text(folder / limit)), _number(_text(folder / usage))
            if most is not None and used is not None:
                left.append(max(0, most - used + _reclaimable(folder)))
    return min(left, default=None)


class Peak(NamedTuple):
    """Largest memory of processes so far, in bytes; None where the system does not tell."""

    own: int | None
    """Peak of this process."""
    children: int
    """Sum over the processes that it has started and that still run; what several share counts in each."""
    processes: int
    """Their number."""


def peak_memory() -> Peak:
    """Returns the largest memory of this process and of those below it."""
    below = [size for pid in _below("self") if (size := _peak_of(pid)) is not None]
    return Peak(_peak_of("self") or _peak_of_usage(), sum(below), len(below))


class Use(NamedTuple):
    """Use of the machine by processes."""

    cpu_seconds: float
    """Seconds of cores that they have used so far, with those of the processes that they have started."""
    memory: int | None
    """Bytes that they hold now, where what several share counts in each; without /proc the peak of this process. None
    where the system does not tell."""


def use(others: Iterable[int] = ()) -> Use:
    """Returns the use of this process, of those below it, and of others with what is below them."""
    pids = dict.fromkeys(pid for top in ("self", *map(str, others)) for pid in (top, *_below(top)))
    below = [words for pid in pids if pid != "self" and (words := stat_of(pid))]
    ticks = sum(int(words[place]) for words in below for place in _TIMES)
    sizes = [size for pid in pids if (size := _number(_text(PROC / pid / "statm").partition(" ")[2])) is not None]
    seconds = sum(os.times()[:4]) + (ticks / os.sysconf("SC_CLK_TCK") if ticks else 0)
    return Use(seconds, sum(sizes) * os.sysconf("SC_PAGE_SIZE") if sizes else _peak_of_usage())


_TIMES = (11, 12, 13, 14)
"""Places in /proc/PID/stat, behind the name, of its times: user, system, and those of its children that have ended."""


def stat_of(pid: int | str) -> list[str]:
    """Returns what /proc/PID/stat has behind the name of a process; nothing if it has ended."""
    return _text(PROC / str(pid) / "stat").rpartition(")")[2].split()


def _peak_of(pid: str) -> int | None:
    size = _number(_table(PROC / pid / "status", ":").get("VmHWM", ""))
    return None if size is None else size * 1024


def _peak_of_usage() -> int | None:
    """Returns the same for this process where there is no /proc."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _below(pid: str) -> Iterator[str]:
    """Yields the ids of the processes that a process has started, and of those that they have."""
    for file in (PROC / pid / "task").glob("*/children"):
        for child in _text(file).split():
            yield child
            yield from _below(child)


def missing_device(name: str) -> str | None:
    """Returns why this machine has no such device (cpu, cuda, cuda:1, auto); None if it has. Imports torch for cuda."""
    if not name.startswith("cuda"):
        return None
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(name.partition(":")[2] or 0) < count:
        return None
    if not count:
        return tr("torch finds no CUDA device here; use cpu, or auto (cuda if available)")
    devices = "cuda:0" if count == 1 else tr("cuda:0 to cuda:{last}", last=count - 1)
    return tr("torch finds only {devices} here; use cpu, or auto (cuda if available)", devices=devices)


def _reclaimable(folder: Path) -> int:
    """Returns the bytes of files that the cgroup would give up for memory; its usage counts them."""
    table = _table(folder / "memory.stat", " ")
    return _number(table.get("total_inactive_file") or table.get("inactive_file", "")) or 0


def _cgroups(controller: str) -> Iterator[Path]:
    """Yields the folder of this process's cgroup and those of all above it, whose limits hold as well (version 2, or
    the controller's own hierarchy of version 1). Inside a container, only the top one may be there."""
    for line in _text(PROC / "self" / "cgroup").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers and controller not in controllers.split(","):
            continue
        top = CGROUPS / controller if controllers else CGROUPS
        parts = [part for part in path.split("/") if part not in ("", "..")]
        yield from (top.joinpath(*parts[:length]) for length in range(len(parts), -1, -1))


def _table(path: Path, separator: str) -> dict[str, str]:
    """Returns the lines `name separator value` of a file."""
    rows = (line.partition(separator) for line in _text(path).splitlines())
    return {name.strip(): value.strip() for name, _, value in rows}  # cpuinfo has tabs before its colons


def _number(text: str) -> int | None:
    """Returns the number at the beginning of a text; None if there is none."""
    word = (text.split() or [""])[0]
    return int(word) if word.isdecimal() else None


def _text(path: Path) -> str:
    """Returns the content of a small file; nothing if it cannot be read."""
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
