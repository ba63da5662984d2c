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


def pytest_collection_modifyitems(items):
    """Tests that start Ray are two long chains: they begin first, and the others run beside them."""
    items.sort(key=lambda item: not item.path.name.startswith("test_ray_"))


def pytest_collection_finish():
    """The modules and the tests live to the end: no collection of garbage visits them, also in forked processes."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _defaults(request: pytest.FixtureRequest) -> None:
    """Gives algorithms the defaults of short runs, except in tests that are about settings or the documentation."""
    from tests.tools import short_runs

    of_settings = ROOT / "config", ROOT / "docs", ROOT / "project", ROOT / "benchmarks"
    about_settings = any(request.path.is_relative_to(folder) for folder in of_settings)
    short_runs.end() if about_settings else short_runs.begin()


@pytest.fixture
def impatient() -> Iterator[None]:
    """Ends a test that hangs."""
    previous = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it hangs"))
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)
