"""Kernels that are chosen by a measurement: what decides, how the answer is kept, and whose answers are read."""

import json
import multiprocessing
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from algos.common.fast import kernels, measuring, switch
from algos.common.fast.measuring import Choice, Kernel
from config import machine
from config.model.kernels import Kernels

FOUND = Kernels(tanh=1 << 13, few_rows=1 << 16)


class Clock:
    """Time that passes by work alone."""

    def __init__(self) -> None:
        self.now = 0.0
        self.disturbed = 0

    def __call__(self) -> float:
        return self.now

    def work(self, seconds: float) -> Any:
        """Returns work that takes so long; several times as long whenever another program runs."""

        def way() -> None:
            self.disturbed += 1
            self.now += seconds * (10 if self.disturbed % 3 else 1)

        return way


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(measuring.time, "perf_counter", made)
    return made


@pytest.mark.parametrize(
    ("ratios", "expected", "tried"),
    [
        ([2.0, 1.5, 1.2], 20, [80, 40, 20]),
        ([2.0, 1.05, 1.2], 80, [80, 40]),  # gains nothing at 40: smaller ones are not tried
        ([1.09, 2.0, 2.0], None, [80]),  # too little to be certain of
        ([1.11, 0.5, 2.0], 80, [80, 40]),
    ],
)
def test_a_kernel_computes_as_far_as_it_is_clearly_faster(
    ratios: list[float], expected: int | None, tried: list[int], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside programs that disturb two of three calls."""
    amounts = (80, 40, 20)
    of = dict(zip(amounts, ratios, strict=True))
    kernel = Kernel("x", amounts, lambda amount: [(clock.work(1e-3 * of[amount]), clock.work(1e-3))])
    times = measuring._times(kernel)
    assert list(times) == tried
    assert times[80] == pytest.approx((1e-3 * ratios[0], 1e-3))
    assert measuring._fastest({"tanh": times}) == Kernels(tanh=expected)


def test_quick_kernels_are_called_several_times_in_a_turn(clock: Clock) -> None:
    calls = {"own": 0, "other": 0}

    def way(name: str, seconds: float) -> Any:
        def call() -> None:
            calls[name] += 1
            clock.now += seconds

        return call

    assert measuring._seconds((way("own", 1e-5), way("other", 1.0))) == pytest.approx((1e-5, 1.0))
    assert calls == {"own": 2 + 5 * measuring.TURNS, "other": 2 + measuring.TURNS}


def test_each_kernel_and_torchs_own_give_the_same_numbers() -> None:
    for kernel in measuring.KERNELS.values():
        for amount in kernel.amounts:
            for own, other in kernel.pairs(amount):
                for one, two in zip(_arrays(own()), _arrays(other()), strict=True):
                    np.testing.assert_allclose(two, one, rtol=1e-3, atol=1e-3)


def _arrays(value: Any) -> list[np.ndarray]:
    parts = value if isinstance(value, tuple) else (value,)
    return [part.detach().numpy() if isinstance(part, torch.Tensor) else part for part in parts]


def test_the_table_has_each_kernel_that_can_be_set() -> None:
    assert list(measuring.KERNELS) == list(Kernels.model_fields) == list(kernels.PARTS)
    assert set(kernels.PARTS.values()) <= set(switch.PARTS)


def test_measuring_leaves_the_random_numbers_and_the_threads_of_a_run_alone() -> None:
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    choice = measuring.measured()
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads + 1
    assert set(choice.times) == set(Kernels.model_fields)


def test_parts_that_are_off_are_not_measured_and_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "OFF", {"products": "torch has no x", "few rows": "y"})
    kernels.use(FOUND.model_copy(update={"products": 5}))
    assert kernels.now == Kernels(tanh=1 << 13)
    assert kernels.state() == "tanh 8192"
    monkeypatch.setattr(measuring, "KERNELS", {name: Kernel("x", (), _products) for name in measuring.KERNELS})
    assert set(measuring.measured().times) == {"tanh", "acting_tanh", "narrow_gradients", "single_outputs"}


def _products(amount: int) -> list[Any]:
    return []


# the file ---------------------------------------------------------------------------------------------------


@pytest.fixture
def measurements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """An entry for each measurement, which always comes to the same answer."""
    made: list[int] = []

    def measured() -> Choice:
        made.append(os.getpid())
        return Choice(FOUND, {"tanh": {1 << 13: (2e-3, 1e-3)}})

    monkeypatch.setattr(measuring, "measured", measured)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(kernels.VARIABLE)
    measuring.chosen.cache_clear()
    yield made
    measuring.chosen.cache_clear()


def again() -> Choice:
    """Returns what another process would get."""
    measuring.chosen.cache_clear()
    return measuring.chosen()


def test_it_is_measured_once_and_read_then(measurements: list[int], tmp_path: Path) -> None:
    first = measuring.chosen()
    assert first.kernels == FOUND
    assert again() == first
    assert len(measurements) == 1
    folder = tmp_path / "cache" / "joystick" / "kernels"
    assert first.folder == folder
    [file] = folder.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("change", ["processor", "vectors", "torch", "numpy", "off", "code"])
def test_what_it_depends_on_is_measured_anew(
    change: str, measurements: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    measuring.chosen()
    match change:
        case "processor":
            monkeypatch.setattr(machine, "processor", lambda: "another one")
        case "vectors":
            monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX9")
        case "torch":
            monkeypatch.setattr(torch.version, "__version__", "9.9")
        case "numpy":
            monkeypatch.setattr(np, "__version__", "9.9")
        case "off":
            monkeypatch.setattr(switch, "OFF", {"layers": "torch has no x"})
        case "code":
            monkeypatch.setattr(measuring, "digest", lambda path: "0")
    again()
    assert len(measurements) == 2


def harm(file: Path, how: str) -> None:
    content = json.loads(file.read_text())
    match how:
        case "another answer":
            content["choice"]["kernels"]["tanh"] = 1
            file.write_text(json.dumps(content))
        case "an unknown kernel":
            content["choice"]["kernels"]["x"] = 1
            content["sha256"] = measuring._checksum(content["choice"])
            file.write_text(json.dumps(content))
        case "of other circumstances":
            content["choice"]["facts"]["torch"] = "1.0"
            content["sha256"] = measuring._checksum(content["choice"])
            file.write_text(json.dumps(content))
        case "cut":
            file.write_text(file.read_text()[:100])
        case "no mapping":
            file.write_text("[]")
        case "deep":
            file.write_text("[" * 60000)
        case "large":
            file.write_text(" " * measuring.LONGEST_FILE + file.read_text())
        case "others may write":
            file.chmod(0o666)
        case "a link":
            file.rename(file.with_name("elsewhere"))
            file.symlink_to("elsewhere")


@pytest.mark.parametrize(
    "how",
    ["another answer", "an unknown kernel", "of other circumstances", "cut", "no mapping", "deep", "large",
     "others may write", "a link"],
)  # fmt: skip
def test_a_damaged_or_foreign_file_is_measured_anew_and_replaced(how: str, measurements: list[int]) -> None:
    folder = measuring.chosen().folder
    assert folder is not None
    [file] = folder.glob("*.json")
    harm(file, how)
    assert again().kernels == FOUND
    assert again().kernels == FOUND
    assert len(measurements) == 2


def test_without_a_folder_of_ones_own_the_kernels_are_the_same_for_every_run(
    measurements: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be kept could be another answer in the next run, and equal runs would differ."""
    folder = measuring.chosen().folder
    assert folder is not None
    folder.chmod(0o755)
    assert again() == Choice(kernels.FIXED, {})
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "cache"))
    assert again() == Choice(kernels.FIXED, {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))

    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(measuring.os, "replace", full)
    assert again() == Choice(kernels.FIXED, {})
    assert not list((tmp_path / "other" / "joystick" / "kernels").iterdir())


def test_nothing_is_measured_where_the_environment_says_so(
    measurements: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(kernels.VARIABLE, "1")
    assert again() == Choice(kernels.FIXED, {})
    monkeypatch.setenv(kernels.VARIABLE, "0")
    monkeypatch.setattr(switch, "PLAIN", True)
    assert again() == Choice(Kernels(), {})
    assert not measurements
    monkeypatch.setattr(switch, "PLAIN", False)
    assert again().kernels == FOUND


def _in_a_process(answers: Any) -> None:
    measuring.chosen.cache_clear()
    answers.put((os.getpid(), measuring.chosen().kernels.model_dump()))


@pytest.mark.skipif(sys.platform == "win32", reason="needs a fork")
def test_of_several_processes_one_measures(measurements: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    context = multiprocessing.get_context("fork")
    answers, made = context.Queue(), context.Queue()
    measured = measuring.measured

    def noted() -> Choice:
        made.put(os.getpid())
        measuring.time.sleep(0.2)
        return measured()

    monkeypatch.setattr(measuring, "measured", noted)
    processes = [context.Process(target=_in_a_process, args=(answers,)) for _ in range(4)]
    for process in processes:
        process.start()
    found = [answers.get(timeout=30) for _ in processes]
    for process in processes:
        process.join(30)
    assert len({pid for pid, _ in found}) == 4
    assert all(kernels == FOUND.model_dump() for _, kernels in found)
    made.get(timeout=5)
    assert made.empty()


def test_nothing_is_imported_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a gradient that is handed to autograd torch imports sympy, half a second at the first run of a machine."""
    monkeypatch.setitem(sys.modules, "torch.fx.experimental.symbolic_shapes", None)
    x = torch.ones(1, requires_grad=True)
    with pytest.raises(ImportError):
        torch.autograd.grad(2 * x, [x], torch.ones(1))
    measuring.measured()
