"""Gradient steps as one call: their programs (program.py), for the CPU compiled to packages of machine code by
AOTInductor; for a GPU captured as a CUDA graph, which starts all kernels of a step together and needs no compiler.

A package is made once for each program, version of torch and processor, in a process of its own, and kept in a folder
of the user's own: nothing of torch's compiler is ever imported here, whether a package has to be made or not, and so no
number of a run depends on it. A later run loads it in milliseconds.
"""

import atexit
import contextlib
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from algos.common.fast import program, switch, tensors
from algos.common.nets import custom
from algos.common.nets.layers import ImplicitQuantiles, NoisyLinear
from config import machine
from config.system.files import is_private, lock
from config.system.folders import private_cache
from config.system.name import NAME, is_windows
from config.system.processes import end_group, out_of_reach
from config.tell.language import tr

T = TypeVar("T")
Run = Callable[[list[Tensor]], Sequence[Tensor]]
"""Function of all tensors that a program reads, some of which it changes, to its outputs."""
Tell = Callable[[str], None]
"""Shows a sentence to the user."""


class CompileError(Exception):
    """Raised if a program cannot be compiled here; the message explains why."""


class CompiledStep:
    """A function of rates and of inputs, which are tensors and dicts of them, as a compiled program. Python numbers and
    modules are those of the first call; tensors are read at every call."""

    package: str | None = None
    """Name of the package that computes it; None on a GPU."""

    def __init__(self, function: Callable[..., Any], rates: Tensor, inputs: Sequence[Any], tell: Tell) -> None:
        """inputs: some of the sizes that it is for. tell: hears what one waits for. Raises CompileError."""
        self._forms = _forms(inputs)
        inputs = [_apart(part) for part in inputs]
        try:
            recording = program.record(function, (rates, *inputs))
        except program.ProgramError as error:
            raise CompileError(str(error)) from error
        self._outputs = recording.outputs
        numbers = {id(x): number for number, x in enumerate(_tensors(rates, inputs))}
        self._read = [x.detach() for x in recording.inputs]
        self._changing = [(place, numbers[id(x)]) for place, x in enumerate(recording.inputs) if id(x) in numbers]
        """Places of what comes with each call: among what the program reads, and among the tensors of the call."""
        self._draws = recording.draws
        if rates.is_cuda:
            changing = [*(place for place, _ in self._changing), *self._draws]
            self._run = graph_of(recording.text, self._read, changing)
        else:
            package = load(recording.text, tell)
            self.package, self._run = package.name, package.run

    def fits(self, inputs: Sequence[Any]) -> bool:
        """Returns True if it was compiled for inputs of these sizes and types."""
        return _forms(inputs) == self._forms

    def __call__(self, rates: Tensor, *inputs: Any) -> Any:
        """Returns what the function returns. The inputs must fit: they are not looked at."""
        read, called = self._read.copy(), _tensors(rates, inputs)
        for place, number in self._changing:
            read[place] = called[number]
        for place, draw in self._draws.items():
            read[place] = draw()
        return program.with_tensors(self._outputs, self._run(read))


def _forms(inputs: Sequence[Any]) -> list[Any]:
    """Returns name, type, sizes and strides of each tensor."""
    return [
        (name, x.dtype, x.shape, x.stride())
        for part in inputs
        for name, x in (part.items() if isinstance(part, dict) else (("", part),))
        if isinstance(x, Tensor)
    ]


def _apart(part: Any) -> Any:
    """Returns a part of the inputs as tensors of its own: two inputs may be the same tensor in one call, not later."""
    if isinstance(part, dict):
        return {name: _apart(x) for name, x in part.items()}
    return part.detach() if isinstance(part, Tensor) else part


def _tensors(rates: Tensor, inputs: Sequence[Any]) -> list[Tensor]:
    """Returns the tensors of a call."""
    parts = (part.values() if isinstance(part, dict) else (part,) for part in inputs)
    return [rates, *(x for part in parts for x in part if isinstance(x, Tensor))]


def capture(device: torch.device, first: Callable[[], object], work: Callable[[], T]) -> tuple[torch.cuda.CUDAGraph, T]:
    """Returns the kernels of `work` as a CUDA graph, and what it returns, which each replay writes anew. first: is
    called before, since libraries make their workspaces in a first call. Raises CompileError."""
    try:
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream(device)
        stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(stream):
            first()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            outputs = work()
    except RuntimeError as error:  # such as memory that is full
        raise CompileError(switch.first_line(error)) from error
    return graph, outputs


@torch.no_grad()
def graph_of(text: str, read: list[Tensor], changing: Sequence[int]) -> Run:
    """Returns what runs a program as a CUDA graph, whose kernels have fixed addresses: what comes with each call is
    copied to where the graph reads it, and the outputs are copied, since the next call writes over them. read: what
    the program reads. changing: places of what comes with each call. Raises CompileError."""
    step, _ = program.module(text)
    fixed = read.copy()
    for place in changing:
        fixed[place] = read[place].clone()
    # the first call changes only copies
    graph, outputs = capture(read[0].device, lambda: step(*(x.clone() for x in fixed)), lambda: step(*fixed))

    def run(read: list[Tensor]) -> list[Tensor]:
        tensors.copy([fixed[place] for place in changing], [read[place] for place in changing])
        graph.replay()
        return [x.clone() for x in outputs]

    return run


SEEN_BEFORE, MOST_SIZES = 10, 4
"""Passes of some size without a graph before one is captured, and sizes that have one: episodes that end leave fewer
rows, of which each number is seen for a few steps."""


class Passes:
    """Forward passes of a network on a GPU, as CUDA graphs for the sizes that come often. A graph gives the bits of the
    pass that it was captured from."""

    def __init__(self, network: nn.Module, device: torch.device) -> None:
        self._network, self._device = network, device
        self._noisy = [part for part in network.modules() if isinstance(part, NoisyLinear)]
        self._seen: Counter[Any] = Counter()
        self._graphs: dict[Any, tuple[Tensor, torch.cuda.CUDAGraph, Tensor]] = {}
        self._most = MOST_SIZES

    @torch.inference_mode()
    def __call__(self, x: Tensor) -> Tensor:
        """Returns the outputs for observations on the CPU. The next call may write over them."""
        # with noise, which explores, and without it these are different kernels
        size = x.shape, x.dtype, *(part.noise is None for part in self._noisy)
        self._seen[size] += 1
        if size not in self._graphs and self._seen[size] > SEEN_BEFORE and len(self._graphs) < self._most:
            self._add(size, x.to(self._device))
        if size not in self._graphs:
            return self._forward(x.to(self._device))
        fixed, graph, outputs = self._graphs[size]
        fixed.copy_(x)
        graph.replay()
        return outputs

    def _forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self._network.forward(x)
        return outputs

    def _add(self, size: Any, fixed: Tensor) -> None:
        """Captures a graph for a size; where that fails, there are no further ones."""
        try:
            graph, outputs = capture(self._device, lambda: self._forward(fixed), lambda: self._forward(fixed))
        except CompileError:
            self._most = 0
        else:
            self._graphs[size] = fixed, graph, outputs

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy has graphs of its own."""
        return type(self), (self._network, self._device)


def passes(network: nn.Module, device: torch.device) -> Passes | None:
    """Returns the graphs of a network's passes; None on a CPU, and for layers that may do what a graph cannot: those of
    the user's own, and one that draws numbers in each pass."""
    drawing = any(custom.is_own(part) or isinstance(part, ImplicitQuantiles) for part in network.modules())
    if device.type != "cuda" or not switch.on("compile") or drawing:
        return None
    return Passes(network, device)


# packages ---------------------------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[3]
"""Folder of the program, from which the process that makes a package imports it."""
LIBRARY, FACTS = "step.so", "facts.json"
"""Files in the folder of a package."""
MOST = 200
"""Packages that are kept; those used least recently go first. One has 2 MB."""
PAUSE = 0.1
"""Seconds between two looks whether another process has made a package."""
PATIENCE = 180.0
"""Seconds after which a process makes a package itself that another one has begun."""
LOCK = ".lock"
"""End of the name of the file that a process locks while it makes a package."""
ABANDONED = 86_400
"""Age in seconds of what a process left that was killed while it made a package."""
FOR_TORCH = ("TORCH_", "TORCHINDUCTOR_", "TORCHDYNAMO_", "AOT_INDUCTOR_")
"""Beginnings of variables that would change what the compiler makes."""


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
    kept = folder()
    place = kept.path / name
    if (run := _loaded(place, tell)) is not None:
        return Package(name, run, 0.0)
    began = time.perf_counter()
    try:
        with alone(place, partial(tell, tr("another process compiles this gradient step; this one waits for it"))):
            if (run := _loaded(place, tell)) is None:  # no other process has made it meanwhile
                if kept.refusal is None:
                    tell(tr("compiling a gradient step for this machine, once: later runs of these sizes load it"))
                else:
                    tell(tr("compiling a gradient step for this run alone, since {reason}", reason=kept.refusal))
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
        "vectors": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "options": program.OPTIONS,
        "makers": [digest(Path(__file__).with_name("program.py"))],
    }


# the folder -------------------------------------------------------------------------------------------------


class Folder(NamedTuple):
    """Folder of the compiled_steps."""

    path: Path
    refusal: str | None = None
    """Reason why it is one of this process alone; None for the user's own."""


@functools.cache
def folder() -> Folder:
    """Returns the folder with the packages, which nobody else can look into: what is there is executed. A folder of
    this process takes its place where the user has none, or one that others can look into."""
    try:
        return Folder(private_cache("steps"))
    except OSError as error:
        place = tempfile.mkdtemp(prefix="joystick-steps-")
        atexit.register(shutil.rmtree, place, ignore_errors=True)
        return Folder(Path(place), str(error))


def _loaded(place: Path, tell: Tell) -> Callable[[list[Tensor]], list[Tensor]] | None:
    """Returns what runs a package; None if there is none. A damaged one is deleted. Raises CompileError if a whole one
    cannot be loaded."""
    try:
        recorded = json.loads((place / FACTS).read_text(encoding="utf-8"))
        if not is_private(os.lstat(place), 0o077):
            raise ValueError(tr("other users can look into its folder"))
        if recorded["sha256"] != _checksum(place):
            raise ValueError(tr("wrong checksum"))
    except (FileNotFoundError, NotADirectoryError):
        if not os.path.lexists(place):
            return None
        reason = tr("a file is missing")
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = switch.first_line(error)
    else:
        try:
            library = torch._C._aoti.AOTIModelContainerRunnerCpu(str(place / LIBRARY), 1)
        except RuntimeError as error:
            message = tr(
                "the package {name} cannot be loaded ({reason})", name=place.name, reason=switch.first_line(error)
            )
            raise CompileError(message) from error
        with contextlib.suppress(OSError):
            os.utime(place)  # used now
        return library.run
    tell(tr("a compiled gradient step is damaged and was deleted ({reason})", reason=reason))
    _delete(place)
    return None


def _delete(place: str | Path) -> None:
    """Deletes a folder, or a file in its place."""
    if os.path.isdir(place) and not os.path.islink(place):
        shutil.rmtree(place, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            os.unlink(place)


def _checksum(place: Path) -> str:
    """Returns the checksum of the files of a package, without that of its facts."""
    files = sorted(path for path in place.iterdir() if path.name != FACTS)
    return hashlib.sha256("".join(f"{path.name} {digest(path)}\n" for path in files).encode()).hexdigest()


def digest(path: Path) -> str:
    """Returns the checksum of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@contextlib.contextmanager
def alone(place: Path, waits: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Keeps other processes from making this package meanwhile. waits: called once if another one is at it. Where files
    have no locks, or that process takes too long, several make it: the last one to finish leaves what is there."""
    path = place.with_name(f"{place.name}{LOCK}")
    try:
        with open(path, "ab") as file:
            with contextlib.suppress(OSError):
                until = None
                while not lock(file) and (until is None or time.monotonic() < until):
                    if until is None:
                        until = time.monotonic() + PATIENCE
                        waits()
                    time.sleep(PAUSE)
            yield
    finally:
        with contextlib.suppress(OSError):  # Windows deletes no file that another process has opened
            path.unlink(missing_ok=True)


def _tidy() -> None:
    """Deletes the packages that were used least recently, beyond the number that is kept, and what was abandoned: all
    else that is old, and that nothing needs."""
    kept: list[tuple[float, Path]] = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder().path):
            age = time.time() - entry.stat(follow_symlinks=False).st_mtime
            if entry.is_dir(follow_symlinks=False) and (Path(entry.path) / FACTS).is_file():
                kept.append((age, Path(entry.path)))
            elif age > ABANDONED:
                _delete(entry.path)
    for _, place in sorted(kept)[MOST:]:
        _delete(place)


# making -----------------------------------------------------------------------------------------------------

CODE = "import sys; sys.path[:] = {path!r}; from algos.common.fast import program; program.make(*sys.argv[1:])"


def _make(place: Path, text: str, circumstances: dict[str, Any]) -> None:
    """Makes a package in a process of its own, which no Ctrl-C reaches. It gets its name when it is whole."""
    _tidy()
    began = time.perf_counter()
    work = Path(tempfile.mkdtemp(prefix="making-", dir=folder().path))
    try:
        made = work / "made"
        made.mkdir(mode=0o700)
        (work / "program.json").write_text(text, encoding="utf-8")
        words = [sys.executable, "-c", CODE.format(path=[str(ROOT), *(part or os.getcwd() for part in sys.path)])]
        words += [str(work / "program.json"), str(made / LIBRARY), str(torch.get_num_threads())]
        surroundings = {name: value for name, value in os.environ.items() if not name.startswith(FOR_TORCH)}
        surroundings |= {"TORCHINDUCTOR_CACHE_DIR": str(work / "inductor"), "TMPDIR": str(work)}
        with open(work / "errors", "w+b") as errors:
            # it ends when its input does: with this process, however that ends
            streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": errors, "stderr": errors}
            with subprocess.Popen(words, env=surroundings, **streams, **out_of_reach(detached=True)) as process:
                try:
                    process.wait()
                finally:
                    if process.poll() is None:
                        end_group(process)
            errors.seek(0)
            said = errors.read().decode(errors="replace")
        if process.returncode:
            raise CompileError(_reason(said) or tr("the compiler ended with {code}", code=process.returncode))
        recorded = {"sha256": _checksum(made), "seconds": round(time.perf_counter() - began, 1)}
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
        mark = folder().path / f"compiler-{hashlib.sha256(text.encode()).hexdigest()[:40]}"
        if not is_windows():
            if not mark.exists():
                _try(path)
            mark.touch(0o600)  # used now
    except OSError as error:
        raise CompileError(str(error)) from error
    return text


def _try(path: str) -> None:
    """Compiles a few lines as torch compiles its own. Raises CompileError if that fails."""
    linux = NAME == "linux"
    more = ["-march=native", "-fopenmp"] if linux else []
    with tempfile.TemporaryDirectory(dir=folder().path) as work:
        words = [path, "-shared", "-fPIC", *more, "-x", "c++", "-", "-o", os.path.join(work, "trial.so")]
        source = TRIAL.format(more="#include <omp.h>" if linux else "")
        done = subprocess.run(words, input=source.encode(), capture_output=True, check=False)
    if done.returncode:
        reason = _reason(done.stderr.decode(errors="replace"))
        raise CompileError(tr("the C++ compiler {path} fails: {reason}", path=path, reason=reason))
