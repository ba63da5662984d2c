"""Reads content that was changed with everything in the product that reads files, requests and words. Counts inputs
that end in a traceback, take longer than a second of the processor, end the process, run code, or take more memory
than 64 MiB over their size.

python -m tests.stress.fuzz [READER ...] [--inputs N] [--seconds S] [--seed N] [--ways bytes structure guided]
    [--keep FOLDER]

bytes: changes by chance. structure: changes of the content's tree, by hypothesis, written with right checksums. guided:
bytes that reach new lines of the product, by atheris; only where that package is installed. Inputs that fail are kept
in a folder; those of faults that were mended lie in tests/data/fuzz and are read by the tests.
"""

import argparse
import base64
import contextlib
import ctypes
import itertools
import json
import mmap
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from config import machine

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("traceback", "hang", "signal", "code", "memory")
WAYS = ("bytes", "structure", "guided")
PACKAGES = {"structure": "hypothesis", "guided": "atheris"}
"""Way -> package that makes its inputs."""
MOST_SECONDS = 1.0
"""Seconds of the processor for an input."""
PATIENCE = 60.0
"""Seconds on the clock after which an input that waits for something is ended."""
START = 300.0
"""Further seconds for the imports of a process."""
MOST_MEMORY = 64 * 2**20
AT_ONCE = 20_000
"""Inputs of a process, at most: what a reader keeps is gone after them."""
BATCH_SECONDS = 5.0
"""Seconds of the processor after which a process reads no further input, so that each reader has the same time."""
GUIDED_SECONDS = 20.0
"""The same for a process whose inputs are guided: its imports are instrumented, which takes as long."""
HEAD = 24
"""Bytes before a noted input: its time, its length, and its number."""
ROOM = 2**21
"""Bytes of the place where a process notes its present input, so that it is known when the process is ended."""
FORBIDDEN = {
    "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "subprocess.Popen", "socket.connect",
    "socket.bind", "ctypes.dlopen", "shutil.rmtree", "os.startfile", "webbrowser.open", "pty.spawn",
}  # fmt: skip
"""Audit events of Python that reading may not cause."""
ALLOWED = (("load", "env_packages.py"), ("survives", "processes.py"), ("_of_mujoco", "headless.py"))
"""Functions and their files, in which an event is no fault."""
EARLY = (
    "hypothesis", "framework.archive.groups", "framework.archive.task_list", "framework.data.buffer",
    "framework.dataset", "framework.disk.checkpoints", "framework.live.group_view", "framework.live.server",
    "framework.pages.html_report", "framework.sharing.bundle", "framework.storage.copy_record", "glfw", "mujoco",
    "tests.tools.fuzz", "tests.tools.mutations",
)  # fmt: skip
"""Modules that are imported once, before processes are forked."""
CHANGES = {"os.mkdir", "os.remove", "os.rmdir", "os.rename", "os.link", "os.symlink", "os.chmod", "os.truncate"}
"""Audit events that it may cause in its own folder alone."""


def _may() -> bool:
    """Returns True while config/own/env_packages.py imports an installed package of its table, or a file is tried in a
    process of its own, which may be."""
    frame = sys._getframe(2)
    while frame is not None:
        if (frame.f_code.co_name, Path(frame.f_code.co_filename).name) in ALLOWED:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


class Watched:
    """Events of Python that say that an input ran code, or changed something outside of its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.seen, self.armed = str(folder), list[str](), False
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.armed and self._is_wrong(event, arguments):
            self.armed = False  # to look at frames is an event, too
            if not _may():
                self.seen.append(f"{event} {arguments!r}"[:300])
            self.armed = True

    def _is_wrong(self, event: str, arguments: tuple[Any, ...]) -> bool:
        if event == "open":
            writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT
            path, _, flags = arguments
            return isinstance(path, str | bytes) and bool((flags or 0) & writes) and not self._inside(path)
        if event == "pickle.find_class":
            return not str(arguments[0]).startswith("numpy")
        if event == "exec":
            return bool(getattr(arguments[0], "co_filename", "").startswith(self.folder))
        return event in FORBIDDEN or (event in CHANGES and not self._inside(arguments[0]))

    def _inside(self, path: Any) -> bool:
        return str(os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else path).startswith(self.folder)


def memory(reset: bool = False) -> int:
    """Returns the largest number of bytes that this process has had in memory since the last reset."""
    if reset:
        with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    with open("/proc/self/status", "rb") as file:
        text = file.read()
    return int(text.partition(b"VmHWM:")[2].split(None, 1)[0]) * 1024


class Enough(KeyboardInterrupt):
    """The time of a process is over; hypothesis lets it pass."""


class Trials:
    """Reads inputs in this process, and counts what goes wrong."""

    def __init__(self, name: str, folder: Path, note: mmap.mmap | None = None) -> None:
        from tests.tools.mutations import LONGEST
        from tests.tools.readers import READERS, refusals

        self.longest = LONGEST
        self.reader, self.folder, self.note, self.refusals = READERS[name], folder, note, refusals()
        self.tried, self.until = 0, float("inf")
        self.faults: dict[str, tuple[str, bytes]] = {}
        """What went wrong, by kind and place -> description and the shortest input."""
        self.counts: Counter[str] = Counter()
        for data in (*self.seeds(), *self.seeds()):  # imports and caches are no part of an input
            with contextlib.suppress(*self.refusals):
                self.reader.read(data, folder)
        self.watched = Watched(folder)

    def seeds(self) -> list[bytes]:
        return [self.reader.dress(tree) for tree in self.reader.trees()]

    def read(self, data: bytes) -> None:
        """Reads an input, up to the longest length. Raises Enough if the time is over."""
        if time.process_time() > self.until:
            raise Enough
        data = data[: self.longest]
        self.tried += 1
        if self.note is not None:
            facts = int(time.monotonic() * 1000), len(data), self.tried
            self.note[:HEAD] = b"".join(number.to_bytes(8, "little") for number in facts)
            self.note[HEAD : HEAD + len(data)] = data
        before, began = memory(reset=True), time.process_time()
        self.watched.armed = True
        try:
            self.reader.read(data, self.folder)
        except self.refusals as error:
            if not str(error).strip():
                self.fault("traceback", "an error without words", data)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)
            ours = [line for line in place if not line.filename.startswith((sys.prefix, sys.base_prefix, "<"))]
            at = next((line for line in reversed(ours) if "/tests/" not in line.filename), place[-1])
            where = f"{Path(at.filename).name}:{at.lineno} {type(error).__name__}"
            self.fault("traceback", f"{where}: {error}"[:300], data, where)
        finally:
            self.watched.armed = False
        if (seconds := time.process_time() - began) > MOST_SECONDS:
            self.fault("hang", f"took {seconds:.1f} s", data, "")
        if (more := memory() - before) > MOST_MEMORY + len(data):
            self.fault("memory", f"took {more / 2**20:.0f} MiB", data, "")
        if self.watched.seen:
            self.fault("code", self.watched.seen.pop(), data)
            self.watched.seen.clear()

    def fault(self, kind: str, text: str, data: bytes, place: str | None = None) -> None:
        """Counts a fault. place: of faults that count as the same one."""
        self.counts[kind] += 1
        key = f"{kind} {text[:80] if place is None else place}"
        if key not in self.faults or len(data) < len(self.faults[key][1]):
            self.faults[key] = text, data

    def report(self) -> dict[str, Any]:
        faults = {key: [text, base64.b64encode(data).decode()] for key, (text, data) in self.faults.items()}
        return {"tried": self.tried, "counts": dict(self.counts), "faults": faults}


# ------------------------------------------------------------------------------------------------------------- inputs


def by_chance(trials: Trials, seed: str, count: int) -> None:
    from tests.tools.fuzz import Texts
    from tests.tools.mutations import changed_bytes

    seeds, texts = trials.seeds(), Texts(0)
    for number in range(count):
        draws = random.Random(f"{seed} {number}")
        strange = number % 20 == 0  # what belongs to no format
        trials.read(texts.noise(draws) if strange else changed_bytes(seeds, draws))


def by_structure(trials: Trials, seed: str, count: int) -> None:
    if trials.reader.read.__name__ == "_yaml":  # it has a generator of its own
        from tests.tools.fuzz import Texts

        texts = Texts(random.Random(seed).randrange(10**9))
        for number in range(count):
            trials.read(texts.draw(number))
        return
    import hypothesis

    from tests.tools.mutations import changes

    dress = trials.reader.dress

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count, database=None, deadline=None, derandomize=False, phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    @hypothesis.given(changes(trials.reader.trees()))
    def read(tree: Any) -> None:
        try:
            data = dress(tree)
        except Exception:  # the format cannot say it
            return
        trials.read(data)

    with contextlib.suppress(hypothesis.errors.FlakyStrategyDefinition):  # not of a reader
        read()


def guided(name: str, seed: str, count: int, out: Path, note: mmap.mmap) -> None:
    """Lets atheris choose the inputs; ends the process."""
    import atheris

    place = tempfile.mkdtemp(dir=out.parent)
    folder, corpus = Path(place) / "read", Path(place) / "corpus"
    folder.mkdir()
    corpus.mkdir()
    os.chdir(folder)
    with atheris.instrument_imports(include=["config", "framework", "envs"]):
        import_early()
        trials = Trials(name, folder, note)
    for number, data in enumerate(trials.seeds()):
        (corpus / str(number)).write_bytes(data)
    until = time.process_time() + GUIDED_SECONDS

    def one(data: bytes) -> None:
        trials.read(data)
        if trials.tried >= count or time.process_time() > until:
            out.write_text(json.dumps(trials.report()))
            os._exit(0)

    number = random.Random(seed).randrange(1, 2**31)
    words = [f"-seed={number}", f"-runs={10 * count}", f"-max_len={trials.longest}", "-timeout=1000", "-rss_limit_mb=0"]
    atheris.Setup([sys.argv[0], *words, str(corpus)], one, enable_python_coverage=True)
    atheris.Fuzz()


# ---------------------------------------------------------------------------------------------------------- processes


def limited() -> None:
    """Lets this process have a GiB more than it has: a reader that believes a size ends with an error."""
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + 2**30, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def unpooled() -> None:
    """Lets glibc give freed memory back at once: what stays free after an input, or after a test in this process, would
    be used again without counting as more memory."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(machine.MMAP_THRESHOLD, 2**20)
        library.mallopt(machine.TRIM_THRESHOLD, 2**20)
        library.malloc_trim(0)


def batch(name: str, way: str, seed: str, count: int) -> dict[str, Any]:
    """Reads inputs in a process of its own, and returns its report; if it was ended, with the input that did it."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as place:
        out, noted = Path(place) / "out.json", Path(place) / "note"
        noted.write_bytes(bytes(ROOM))
        with open(noted, "r+b") as file, mmap.mmap(file.fileno(), ROOM) as note:
            note[:8] = int((time.monotonic() + START) * 1000).to_bytes(8, "little")
            if way == "guided":
                words = [sys.executable, "-m", "tests.stress.fuzz", name, "--guided", seed, str(count), str(out)]
                errors = open(Path(place) / "errors", "wb")  # noqa: SIM115  # closed with the process
                process = subprocess.Popen([*words, str(noted)], cwd=ROOT, stdout=errors, stderr=errors)
                status = _ended(process.pid, note)
                errors.close()
            else:
                sys.stdout.flush()
                pid = os.fork()
                if not pid:
                    _child(name, way, seed, count, Path(place), out, note)
                status = _ended(pid, note)
            if out.exists():
                return dict(json.loads(out.read_text()))
            length, count = (int.from_bytes(note[at : at + 8], "little") for at in (8, 16))
            said = (Path(place) / "errors").read_text(errors="replace")[-1500:] if way == "guided" else ""
            if status >= 0 and not count:
                raise RuntimeError(f"{name}, {way}: the process read nothing: status {status} {said}")
            kind = "hang" if status == -signal.SIGKILL else "signal"
            fault = [f"status {status} {said}", base64.b64encode(note[HEAD : HEAD + length]).decode()]
            return {"tried": count, "counts": {kind: 1}, "faults": {f"{kind} {status}": fault}}


def _child(name: str, way: str, seed: str, count: int, place: Path, out: Path, note: mmap.mmap) -> None:
    try:
        folder = place / "read"
        folder.mkdir()
        os.chdir(folder)
        sys.setrecursionlimit(1000)
        trials = Trials(name, folder, note)
        limited()
        unpooled()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        trials.until = time.process_time() + BATCH_SECONDS
        with contextlib.suppress(Enough):
            (by_structure if way == "structure" else by_chance)(trials, seed, count)
        trials.watched.armed = False
        out.write_text(json.dumps(trials.report()))
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _ended(pid: int, note: mmap.mmap) -> int:
    """Waits for a process, and ends it if an input takes too long; returns its status."""
    while True:
        ended, code = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(code)
        if time.monotonic() - int.from_bytes(note[:8], "little") / 1000 > PATIENCE:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def import_early() -> None:
    """Imports what some inputs would import."""
    from config.own import env_packages

    sys.dont_write_bytecode = True  # a module that is imported late would be compiled, and its file renamed
    for module in (*EARLY, *(row.module for row in env_packages.PACKAGES)):
        if find_spec(module.partition(".")[0]):
            import_module(module)


def campaign(
    names: Sequence[str], ways: Sequence[str], inputs: int, seed: str, until: float = float("inf")
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yields reports of readers and ways, each in its turn. until: time on the monotonic clock after which none
    begins."""
    from tests.tools.readers import READERS

    import_early()
    cases = [(name, way) for name in names for way in ways if READERS[name].is_here]
    cases = [(name, way) for name, way in cases if way != "structure" or READERS[name].structured]
    left = dict.fromkeys(cases, inputs)
    for turn in itertools.count():
        for (name, way), most in left.items():
            if most > 0 and time.monotonic() < until:
                report = batch(name, way, f"{seed} {name} {way} {turn}", min(AT_ONCE, most))
                left[name, way] -= max(1, report["tried"])
                yield name, way, report
        if time.monotonic() >= until or max(left.values()) <= 0:
            return


def main() -> int:
    if "--guided" in sys.argv:
        name, _, seed, count, out, noted = sys.argv[1:]
        with open(noted, "r+b") as file:
            guided(name, seed, int(count), Path(out), mmap.mmap(file.fileno(), ROOM))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readers", nargs="*", metavar="READER")
    parser.add_argument("--inputs", type=int, default=2000, help="of each reader, in each way")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=list(WAYS))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time after which nothing begins")
    parser.add_argument("--keep", type=Path, help="folder for inputs that fail")
    request = parser.parse_args()
    from tests.stress.counts import record
    from tests.tools.readers import READERS

    if unknown := set(request.readers) - READERS.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(READERS)}")
    ways = [way for way in request.ways if find_spec(PACKAGES.get(way, "json"))]
    totals: dict[str, Counter[str]] = {}
    names, until = request.readers or list(READERS), time.monotonic() + request.seconds
    for name, way, report in campaign(names, ways, request.inputs, request.seed, until):
        counts = totals.setdefault(name, Counter())
        counts.update({"tried": report["tried"], **report["counts"]})
        record(f"fuzz {name}", report["tried"], sum(report["counts"].values()))
        for key, (text, data) in report["faults"].items():
            print(f"{name}: {way}: {key}: {text}", flush=True)
            if request.keep:
                request.keep.mkdir(parents=True, exist_ok=True)
                file = request.keep / f"{name} {key}"[:80].replace("/", "_")
                file.write_bytes(base64.b64decode(data))
    print(f"\n| reader | inputs | {' | '.join(KINDS)} |\n|---|{'---|' * (len(KINDS) + 1)}")
    totals["all"] = sum(totals.values(), Counter())
    for name, counts in totals.items():
        print(f"| {name} | {counts['tried']:,} | {' | '.join(str(counts[kind]) for kind in KINDS)} |")
    return 1 if any(totals["all"][kind] for kind in KINDS) else 0


if __name__ == "__main__":
    sys.exit(main())
