"""What all tests have in common."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported: several tests run side by side


def pytest_xdist_auto_num_workers(config):
    """One more than there are cores: who has a chain below mostly waits for processes."""
    return (os.cpu_count() or 1) + 1


STARTS = frozenset({"main", "joystick", "subprocess", "Run", "forking", "forked", "io_faults"})
"""Names in a module of tests that starts whole runs or processes."""


def pytest_collection_modifyitems(items):
    """Marks the tests of modules that start whole runs or processes. Those that start Ray are two long chains: they
    begin first, and the others run beside them."""
    for item in items:
        if STARTS & vars(item.module).keys() or item.path.name.startswith("test_io_faults"):
            item.add_marker(pytest.mark.run)
        if item.path.name.startswith("test_ray_"):
            item.add_marker(pytest.mark.ray)
    items.sort(key=lambda item: not item.path.name.startswith("test_ray_"))


def pytest_collection_finish():
    """The modules and the tests live to the end: no collection of garbage visits them, also in forked processes."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _defaults(request: pytest.FixtureRequest) -> None:
    """Gives algorithms the defaults of short runs, except in tests that are about settings or the documentation."""
    from tests.tools import short_runs

    names = "config", "docs", "project", "benchmarks", "framework/commands/test_cli.py"
    about_settings = any(request.path.is_relative_to(ROOT / name) for name in names)
    short_runs.end() if about_settings else short_runs.begin()


@pytest.fixture
def impatient() -> Iterator[None]:
    """Ends a test that hangs."""
    previous = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it hangs"))
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)
