"""Compiled programs on disk: packages of machine code, which AOTInductor makes, in a folder of the user's own.

A package is made once for each program (algos/common/fast/program.py), version of torch and processor, in a process of
its own (making.py): nothing of torch's compiler is ever imported here, whether a package has to be made or not, and so
no number of a run depends on it. A later run loads it in milliseconds.
"""

import atexit
import contextlib
import functools
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from config import machine
from config.system.files import is_private, lock
from config.system.folders import user_cache
from config.system.name import NAME, is_windows
from config.system.processes import out_of_reach
from config.tell.language import tr

Tell = Callable[[str], None]
"""Shows a sentence to the user."""
ROOT = Path(__file__).resolve().parents[3]
"""Folder of the program, from which the process that makes a package imports it."""
OPTIONS: dict[str, Any] = {
    "aot_inductor.precompile_headers": False,  # torch would keep them in a folder that all users share
    "compile_threads": 1,  # others would be processes that outlive this one
    "cpp.vec_isa_ok": True,  # asks the compiler for seconds whether it knows this processor's vectors
}
"""Settings of AOTInductor."""
PACKAGE, FACTS = "step.pt2", "facts.json"
"""Files in the folder of a package."""
MOST = 200
"""Packages that are kept; those used least recently go first. One has 2 MB."""
PAUSE = 0.1
"""Seconds between two looks whether another process has made a package."""
ABANDONED = 86_400
"""Age in seconds of what a process left that was killed while it made a package."""


class CompileError(Exception):
    """Raised if a program cannot be compiled here; the message explains why."""


class Package(NamedTuple):
    """A compiled program."""

    name: str
    run: Callable[[list[Tensor]], list[Tensor]]
    """Returns the outputs for inputs, which it may change. It looks at neither their sizes nor their types."""
    seconds: float
    """Seconds that making it took now; 0 if it was there."""


def load(text: str, tell: Tell) -> Package:
    """Returns the package of a program, which is made if there is none. tell: hears if that is so, and if a package is
    damaged. Raises CompileError."""
    circumstances = facts()
    name = hashlib.sha256(json.dumps([text, circumstances], sort_keys=True).encode()).hexdigest()[:40]
    place = folder() / name
    if (run := _loaded(place, tell)) is not None:
        return Package(name, run, 0.0)
    began = time.perf_counter()
    try:
        with alone(place):
            if (run := _loaded(place, tell)) is None:  # no other process has made it meanwhile
                tell(tr("compiling a gradient step for this machine, once: later runs of these sizes load it"))
                _make(place, text, circumstances)
                tell(tr("compiled in {seconds:.1f} s", seconds=time.perf_counter() - began))
                run = _loaded(place, tell)
    except OSError as error:  # such as a disk that is full
        raise CompileError(str(error)) from error
    if run is None:
        raise CompileError(tr("the new package cannot be loaded"))
    return Package(name, run, time.perf_counter() - began)


def facts() -> dict[str, Any]:
    """Returns what the machine code of a program depends on besides its text."""
    return {
        "torch": [torch.version.__version__, torch.version.git_version],
        "processor": machine.processor(),
        "compiler": compiler(),
        "threads": torch.get_num_threads(),
        "options": OPTIONS,
        "makers": [digest(Path(__file__).with_name(name)) for name in ("program.py", "making.py")],
    }


# the folder -------------------------------------------------------------------------------------------------


@functools.cache
def folder() -> Path:
    """Returns the folder with the packages, which nobody else can look into: what is there is executed. A folder of
    this process takes its place where the user has none, or one that others can write to."""
    with contextlib.suppress(OSError, RuntimeError):  # a user without a folder
        place = user_cache() / "steps"
        place.parent.mkdir(parents=True, exist_ok=True)
        return place if is_own(place) else of_this_process()
    return of_this_process()


def is_own(place: str | Path) -> bool:
    """Makes a folder if there is none. Returns True if it is this user's, and nobody else may look into it."""
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(place, 0o700)
        status = os.lstat(place)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and is_private(status, 0o077) and os.access(place, os.W_OK)


def of_this_process() -> Path:
    """Returns a new private folder, which is removed when this process ends."""
    place = tempfile.mkdtemp(prefix="joystick-steps-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return Path(place)


def _loaded(place: Path, tell: Tell) -> Callable[[list[Tensor]], list[Tensor]] | None:
    """Returns what runs a package; None if there is none. A damaged one is deleted."""
    try:
        recorded = json.loads((place / FACTS).read_text(encoding="utf-8"))
        if not is_private(os.lstat(place), 0o077) or recorded["sha256"] != digest(place / PACKAGE):
            raise ValueError(tr("wrong checksum"))
        package = torch._C._aoti.AOTIModelPackageLoader(str(place / PACKAGE), "model", True, 1, -1)
    except FileNotFoundError:
        if not place.exists():
            return None
        reason = tr("a file is missing")
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        reason = (str(error).strip().splitlines() or [""])[0]
    else:
        with contextlib.suppress(OSError):
            os.utime(place)  # used now
        return package.run
    tell(tr("a compiled gradient step is damaged and was deleted ({reason})", reason=reason))
    shutil.rmtree(place, ignore_errors=True)
    return None


def digest(path: Path) -> str:
    """Returns the checksum of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@contextlib.contextmanager
def alone(place: Path) -> Iterator[None]:
    """Context in which no other process makes this package. Where files have no locks, several may make it: the last
    one to finish finds that it is there."""
    path = place.with_name(f"{place.name}.lock")
    with open(path, "ab") as file:
        with contextlib.suppress(OSError):
            while not lock(file):
                time.sleep(PAUSE)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _tidy() -> None:
    """Deletes the packages that were used least recently, beyond the number that is kept, and what was abandoned."""
    kept: list[tuple[float, Path]] = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder()):
            age = time.time() - entry.stat().st_mtime
            if entry.name.startswith("making-") and age > ABANDONED:
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.is_dir(follow_symlinks=False) and (Path(entry.path) / FACTS).is_file():
                kept.append((age, Path(entry.path)))
    for _, place in sorted(kept)[MOST:]:
        shutil.rmtree(place, ignore_errors=True)


# making -----------------------------------------------------------------------------------------------------

CODE = "import sys; sys.path[:] = {path!r}; from algos.common.fast import making; making.main(*sys.argv[1:])"


def _make(place: Path, text: str, circumstances: dict[str, Any]) -> None:
    """Makes a package in a process of its own, which no Ctrl-C reaches. It gets its name when it is whole."""
    _tidy()
    began = time.perf_counter()
    work = Path(tempfile.mkdtemp(prefix="making-", dir=folder()))
    try:
        made = work / "made"
        made.mkdir(mode=0o700)
        (work / "program.json").write_text(text, encoding="utf-8")
        words = [sys.executable, "-c", CODE.format(path=[str(ROOT), *(part or os.getcwd() for part in sys.path)])]
        words += [str(work / "program.json"), str(made / PACKAGE), str(torch.get_num_threads())]
        surroundings = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(work / "inductor"), "TMPDIR": str(work)}
        with open(work / "errors", "w+b") as errors:
            streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": errors, "stderr": errors}
            process = subprocess.Popen(words, env=surroundings, **streams, **out_of_reach(detached=True))
            try:
                process.wait()
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
            errors.seek(0)
            said = errors.read().decode(errors="replace")
        if process.returncode:
            raise CompileError(_reason(said) or tr("the compiler ended with {code}", code=process.returncode))
        recorded = {"sha256": digest(made / PACKAGE), "seconds": round(time.perf_counter() - began, 1)}
        (made / FACTS).write_text(json.dumps({**recorded, **circumstances}, indent=1), encoding="utf-8")
        with contextlib.suppress(OSError):  # another process was faster
            os.rename(made, place)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _reason(said: str) -> str:
    """Returns the line of a process's output that says why it failed: the first error of a compiler, or the last
    line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return next((line for line in lines if "error:" in line), lines[-1] if lines else "")


# the compiler -----------------------------------------------------------------------------------------------

TRIAL = '#include <cmath>\n#include <vector>\n{more}\nextern "C" double root(double x) {{ return std::sqrt(x); }}\n'


def _compiler_name() -> str:
    """Returns the C++ compiler that torch calls."""
    standard = "cl" if is_windows() else "clang++" if NAME == "darwin" else "g++"
    return os.environ.get("CXX") or standard


@functools.cache
def compiler() -> str:
    """Returns path and version of the C++ compiler. Raises CompileError if there is none that works."""
    name = _compiler_name()
    path = shutil.which(name)
    if path is None:
        raise CompileError(tr("there is no C++ compiler ({name})", name=name))
    try:
        done = subprocess.run([path, "--version"], capture_output=True, check=False)
        text = f"{path}: {done.stdout.decode(errors='replace')}"
        mark = folder() / f"compiler-{hashlib.sha256(text.encode()).hexdigest()[:40]}"
        if not is_windows() and not mark.exists():
            _try(path)
            mark.touch(0o600)
    except OSError as error:
        raise CompileError(str(error)) from error
    return text


def _try(path: str) -> None:
    """Compiles a few lines as torch compiles its own. Raises CompileError if that fails."""
    linux = NAME == "linux"
    more = ["-march=native", "-fopenmp"] if linux else []
    with tempfile.TemporaryDirectory(dir=folder()) as work:
        words = [path, "-shared", "-fPIC", *more, "-x", "c++", "-", "-o", os.path.join(work, "trial.so")]
        source = TRIAL.format(more="#include <omp.h>" if linux else "")
        done = subprocess.run(words, input=source.encode(), capture_output=True, check=False)
    if done.returncode:
        reason = _reason(done.stderr.decode(errors="replace"))
        raise CompileError(tr("the C++ compiler {path} fails: {reason}", path=path, reason=reason))
