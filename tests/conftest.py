"""What all tests have in common."""

import gc
import os
import re
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported: several tests run side by side


STARTS = re.compile(r"^(?:from|import) .*\b(?:main|joystick|subprocess|Run|forking|forked|io_faults)\b", re.MULTILINE)
"""Imports of a module of tests that starts whole runs or processes."""
LONG = ("test_io_faults", "test_product", "test_watch_browser", "test_report_curves", "test_benchmarks", "test_ray_")
"""Further modules that start runs, a browser or a compiler."""
QUICK = "not run and not ray"
"""Expression of `make test`."""


def pytest_xdist_auto_num_workers(config):
    """One more than there are cores: who has a chain below mostly waits for processes. `make test` has none."""
    return (os.cpu_count() or 1) + (config.option.markexpr != QUICK)


@cache
def starts_runs(path: Path) -> bool:
    """Returns True for a module whose tests `make test` leaves to `make check`."""
    return path.name.startswith(LONG) or bool(STARTS.search(path.read_text(encoding="utf-8")))


def pytest_ignore_collect(collection_path, config):
    """Leaves out modules that `make test` would import for nothing."""
    if config.option.markexpr == QUICK and collection_path.name.startswith("test_") and collection_path.suffix == ".py":
        return starts_runs(collection_path) or None
    return None


def pytest_collection_modifyitems(items):
    """Marks the tests of modules that start whole runs or processes. Those that start Ray are two long chains: they
    begin first, and the others run beside them."""
    for item in items:
        if starts_runs(item.path):
            item.add_marker(pytest.mark.run)
        if item.path.name.startswith("test_ray_"):
            item.add_marker(pytest.mark.ray)
    items.sort(key=lambda item: not item.path.name.startswith("test_ray_"))


def pytest_collection_finish():
    """The modules and the tests live to the end: no collection of garbage visits them, also in forked processes."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def impatient() -> Iterator[None]:
    """Ends a test that hangs."""
    previous = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it hangs"))
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)
