"""Chooses kernels (kernels.py) by a measurement on this processor, once: the times are kept in a folder of the user's
own, beside the compiled steps.

Each kernel is tried beside torch's own with growing or shrinking amounts of work, and is used as far as it is clearly
faster. Other programs disturb this little: the two take turns of a fraction of a millisecond, and the fastest of them
counts. What was measured holds for this processor, these libraries and this code; a run records what it uses.
"""

import contextlib
import functools
import hashlib
import json
import math
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from algos.common.fast import kernels, layers, switch
from algos.common.fast.compiled_steps import alone, digest
from algos.common.parts.passes import FewRows
from config import machine
from config.model.kernels import Kernels
from config.system.files import is_private
from config.system.folders import private_cache

MARGIN = 1.1
"""Times that torch's own kernel must take of the other's: a smaller gain would be chosen by chance."""
TURNS = 7
"""Turns of both kernels, of which the fastest one counts."""
TURN = 50e-6
"""Least seconds of a turn; a kernel that is quicker is called several times in it."""
CODE = ("kernels.py", "layers.py", "measuring.py", "../parts/passes.py")
"""Files that are measured, and that measure."""
LONGEST_FILE = 2**16
"""Bytes of the largest file that is read."""

Way = Callable[[], object]
Pair = tuple[Way, Way]
"""Torch's own way to some numbers, and the other one."""
Times = dict[int, tuple[float, float]]
"""Amount of work -> seconds of torch's own kernel, and of the other one, for each that was tried."""


class Kernel(NamedTuple):
    """A kernel that can take the place of torch's own."""

    library: str
    """Name of the library, or of the way, that computes it."""
    amounts: tuple[int, ...]
    """Amounts of work that are tried, until one does not gain: from where it gains most to where it gains least."""
    pairs: Callable[[int], list[Pair]]
    """Returns work of this amount, in layers of usual sizes."""


class Choice(NamedTuple):
    """The kernels for this machine."""

    kernels: Kernels
    times: dict[str, Times]
    """Times of each kernel; empty if none was measured."""
    folder: Path | None = None
    """Folder with the file that they are from; None without one."""


# work to measure --------------------------------------------------------------------------------------------


def _numbers(*shape: int, learns: bool = False) -> Tensor:
    """Returns numbers from -1 to 1."""
    return torch.linspace(-1, 1, math.prod(shape)).reshape(shape).requires_grad_(learns)


def _with_gradients(function: Callable[..., Tensor], inputs: tuple[Tensor, ...]) -> Way:
    """Returns a forward and a backward pass of a function. The loss is a product with fixed numbers: a gradient that is
    handed to autograd makes torch import sympy, half a second."""
    with torch.no_grad():
        above = torch.ones_like(function(*inputs)).flatten()
    learning = [x for x in inputs if x.requires_grad]
    return lambda: torch.autograd.grad(function(*inputs).flatten().dot(above), learning)


def _without_gradients(function: Callable[..., Tensor], inputs: tuple[Tensor | None, ...]) -> Way:
    """Returns a forward pass of a function."""
    way: Way = torch.no_grad()(lambda: function(*inputs))
    return way


PRODUCTS = {1 << 24: (256, 256, 256), 1 << 22: (64, 256, 256), 1 << 21: (128, 128, 128), 1 << 20: (256, 64, 64)}
"""Number of multiplications -> samples, inputs and outputs of a layer with so many."""


def _products(amount: int) -> list[Pair]:
    samples, inputs, outputs = PRODUCTS[amount]
    x, w = _numbers(samples, inputs, learns=True), _numbers(outputs, inputs, learns=True)
    of = (x, w, _numbers(outputs, learns=True))
    return [(_with_gradients(F.linear, of), _with_gradients(lambda x, w, b: kernels.addmm(b, x, w.t()), of))]


def _bare_products(amount: int) -> list[Pair]:
    """Returns the three products alone, as a compiled step calls them: it has g^T in rows (program.py)."""
    samples, inputs, outputs = PRODUCTS[amount]
    x, w, b, g = (_numbers(*shape) for shape in ((samples, inputs), (outputs, inputs), (outputs,), (samples, outputs)))
    return [
        (_without_gradients(torch.addmm, (b, x, w.t())), _without_gradients(kernels.addmm, (b, x, w.t()))),
        (_without_gradients(torch.mm, (g, w)), _without_gradients(kernels.addmm, (None, g, w))),
        (_without_gradients(torch.mm, (g.t(), x)), _without_gradients(kernels.addmm, (None, g.t().contiguous(), x))),
    ]


def _tanh(amount: int) -> list[Pair]:
    x = _numbers(amount // 64, 64, learns=True)
    return [(_with_gradients(torch.tanh, (x,)), _with_gradients(kernels.tanh_by_numpy, (x,)))]


def _acting_tanh(amount: int) -> list[Pair]:
    x = _numbers(amount // 64, 64)
    return [(lambda: torch.tanh(x), lambda: kernels.tanh_by_numpy(x))]


def _narrow_gradients(amount: int) -> list[Pair]:
    return [
        (_with_gradients(F.linear, of), _with_gradients(kernels.narrow_linear, of))
        for inputs in (4, layers.NARROW)
        for of in [
            (_numbers(amount // 64, inputs), _numbers(64, inputs, learns=True), _numbers(64, learns=True)),
        ]
    ]


def _single_outputs(amount: int) -> list[Pair]:
    bias, weight = _numbers(2, 1, 1, learns=True), _numbers(2, 256, 1, learns=True)
    of = (bias, _numbers(2, amount // 256, 256, learns=True), weight)
    ways: list[Callable[..., Tensor]] = [torch.baddbmm, layers.by_member]
    learning = [_with_gradients(way, of) for way in ways]
    target = [_without_gradients(way, of) for way in ways]
    return [(learning[0], learning[1]), (target[0], target[1])]


def _few_rows(amount: int) -> list[Pair]:
    pairs: list[Pair] = []
    for width in (64, 256):
        if rows := amount // width**2:
            sizes = ((4, width), (width, width), (width, 2))
            network = layers.Network(*(layer for size in sizes for layer in (layers.Linear(*size), layers.Tanh())))
            obs = np.ones((rows, 4), np.float32)
            pairs.append((_by_torch(network, obs), functools.partial(FewRows(network), obs)))
    return pairs


def _by_torch(network: layers.Network, obs: Any) -> Way:
    return torch.inference_mode()(lambda: network.forward(torch.from_numpy(obs)).numpy())


KERNELS = {
    "products": Kernel("oneDNN", tuple(PRODUCTS), _products),
    "compiled_products": Kernel("oneDNN", tuple(PRODUCTS), _bare_products),
    "tanh": Kernel("numpy", (1 << 17, 1 << 15, 1 << 13), _tanh),
    "acting_tanh": Kernel("numpy", (1 << 15, 1 << 13, 1 << 11), _acting_tanh),
    "narrow_gradients": Kernel("(x^T g)^T", (1 << 17, 1 << 15), _narrow_gradients),
    "single_outputs": Kernel("a product each", (1 << 16, 1 << 14, 1 << 12), _single_outputs),
    # with more, numpy's library OpenBLAS 0.3.31 starts threads
    "few_rows": Kernel("numpy", (1 << 14, 1 << 16, 1 << 18), _few_rows),
}
"""The kernels by their names in config/model/kernels.py."""


# measuring --------------------------------------------------------------------------------------------------


def measured() -> Choice:
    """Measures now, with one thread of torch. Its generator of random numbers, which is the run's, stays as it is."""
    machine.keep_freed_memory()  # as in a run
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            times = {name: _times(kernel) for name, kernel in KERNELS.items() if switch.on(kernels.PARTS[name])}
    finally:
        torch.set_num_threads(threads)
    return Choice(_fastest(times), times)


def _times(kernel: Kernel) -> Times:
    """Returns the times of a kernel, up to the first amount at which it does not gain."""
    times: Times = {}
    for amount in kernel.amounts:
        pairs = [_seconds(pair) for pair in kernel.pairs(amount)]
        times[amount] = sum(own for own, _ in pairs), sum(other for _, other in pairs)
        if not _gains(*times[amount]):
            break
    return times


def _seconds(pair: Pair) -> tuple[float, float]:
    """Returns the least seconds of a call of each."""
    calls = []
    for way in pair:
        way()  # what is prepared once
        began = time.perf_counter()
        way()
        calls.append(max(1, min(100, int(TURN / max(time.perf_counter() - began, 1e-9)))))
    least = [math.inf, math.inf]
    for _ in range(TURNS):
        for number, way in enumerate(pair):
            began = time.perf_counter()
            for _ in range(calls[number]):
                way()
            least[number] = min(least[number], (time.perf_counter() - began) / calls[number])
    return least[0], least[1]


def _gains(own: float, other: float) -> bool:
    return own >= MARGIN * other


def _fastest(times: dict[str, Times]) -> Kernels:
    """Returns for each kernel the last amount of those from the first on at which it gains."""
    gaining = {name: [amount for amount, pair in each.items() if _gains(*pair)] for name, each in times.items()}
    return Kernels(**{name: amounts[-1] for name, amounts in gaining.items() if amounts})


# keeping ----------------------------------------------------------------------------------------------------


@functools.cache
def chosen() -> Choice:
    """Returns the kernels for this machine: as they were measured once, now if they were not yet. Where they cannot be
    kept, they are those of kernels.FIXED, so that equal runs stay equal."""
    if switch.PLAIN:
        return Choice(Kernels(), {})
    if not kernels.are_fixed():
        with contextlib.suppress(OSError):  # a user without a folder, a disk that is full
            return _kept(private_cache("kernels"))
    return Choice(kernels.FIXED, {})


def _kept(folder: Path) -> Choice:
    """Returns what a file of the folder says, which is written if there is none. Of several processes one measures."""
    circumstances = facts()
    text = json.dumps(circumstances, sort_keys=True)
    path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:40]}.json"
    if (choice := _read(path, circumstances)) is None:
        with alone(path):
            if (choice := _read(path, circumstances)) is None:
                choice = measured()._replace(folder=folder)
                _write(path, choice, circumstances)
    return choice


def facts() -> dict[str, Any]:
    """Returns what the times depend on."""
    build: Any = getattr(np.__config__, "CONFIG", {})
    blas = build.get("Build Dependencies", {}).get("blas", {})
    room = Path(__file__).parent
    return {
        "processor": machine.processor(),
        "vectors": torch.backends.cpu.get_cpu_capability(),
        "torch": [torch.version.__version__, torch.version.git_version],
        "numpy": [np.__version__, blas.get("name"), blas.get("version")],
        "off": switch.OFF,
        "code": [digest(room / name) for name in CODE],
    }


def _read(path: Path, circumstances: dict[str, Any]) -> Choice | None:
    """Returns what a file says; None if there is none, it is damaged, or others could have written it."""
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or not is_private(status, 0o077) or status.st_size > LONGEST_FILE:
            return None
        content = json.loads(path.read_text(encoding="utf-8"))
        body = content["choice"]
        if content["sha256"] != _checksum(body) or body["facts"] != circumstances:
            return None
        times = {
            name: {int(amount): (float(own), float(other)) for amount, (own, other) in of_kernel.items()}
            for name, of_kernel in body["times"].items()
        }
        return Choice(Kernels.model_validate(body["kernels"]), times, path.parent)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _write(path: Path, choice: Choice, circumstances: dict[str, Any]) -> None:
    """Writes a file, which gets its name when it is whole."""
    body = {"kernels": choice.kernels.model_dump(), "times": choice.times, "facts": circumstances}
    body = json.loads(json.dumps(body))  # as it will be read
    work = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with open(os.open(work, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump({"sha256": _checksum(body), "choice": body}, file, indent=1)
        os.replace(work, path)
    finally:
        with contextlib.suppress(OSError):
            work.unlink(missing_ok=True)


def _checksum(body: Any) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


# telling ----------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """A kernel that was measured."""

    name: str
    library: str
    amount: int | None
    """Amount of work at which its range ends; None if torch's own computes always."""
    is_most: bool
    """True if it computes up to that amount, and not from it on."""
    own: float
    """Seconds of torch's own kernel at that amount, or at the first that was tried."""
    other: float
    """Seconds of the other one."""


def rows(choice: Choice) -> Iterator[Row]:
    """Yields the kernels that were measured."""
    for name, times in choice.times.items():
        amount, kernel = getattr(choice.kernels, name), KERNELS[name]
        own, other = times[amount or kernel.amounts[0]]
        yield Row(name, kernel.library, amount, kernel.amounts[0] < kernel.amounts[-1], own, other)
