"""What all tests have in common."""

import gc
import os
import signal
from collections.abc import Iterator

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported: several tests run side by side


def pytest_xdist_auto_num_workers(config):
    """One more than there are cores: who has a chain below mostly waits for processes."""
    return (os.cpu_count() or 1) + 1


STARTS = frozenset({"main", "joystick", "subprocess", "Run", "forking", "forked", "io_faults"})
"""Names in a module of tests that starts whole runs or processes."""
LONG = ("test_io_faults", "test_product", "test_watch_browser", "test_report_curves", "test_benchmarks")
"""Further modules that start runs, a browser or a compiler."""


def pytest_collection_modifyitems(items):
    """Marks the tests of modules that start whole runs or processes. Those that start Ray are two long chains: they
    begin first, and the others run beside them."""
    for item in items:
        if STARTS & vars(item.module).keys() or item.path.name.startswith(LONG):
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
