"""What all tests have in common."""

import gc
import math
import os
import random
import re
import shutil
import signal
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from config.tell import language

ROOT = Path(__file__).parent
os.environ["JOYSTICK_LANG"] = "en"
os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported: several tests run side by side
# runs of tests compile nothing, which takes many seconds, unless a test asks for it (tools/compiler.py)
os.environ["CXX"] = "no-compiler-in-tests"
os.environ["JOYSTICK_FIXED_KERNELS"] = "1"  # a measurement of kernels would decide the last bits of tests
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of a shell's job in the background: tests send Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
# modules are compiled once, not by each of some hundred processes
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

MEMORY = Path("/dev/shm")
"""Folder whose files are in memory."""
ROOM = 4 * 2**30
"""Bytes that are free there, if the folders of the tests are: they take at most a sixth of them."""
if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
    # a run waits for its disk (fsync) longer than it computes; what a power cut leaves is simulated, see tools/disk.py
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

STARTS = re.compile(
    r"^(?:from|import) .*\b(?:main|joystick|subprocess|Run|forking|forked\w*|io_faults|Browser)\b", re.MULTILINE
)
"""Imports of a module of tests that starts whole runs, processes or a browser."""
COMPILING = ("test_io_faults", "test_product", "test_benchmarks", "test_ray_")
"""Further modules that start runs or a compiler."""
FIRST = (
    "test_ray_faults", "test_compile", "test_ray_start", "test_run", "test_hangs", "test_export", "test_io_faults",
    "test_tutorials", "test_contract", "test_data_page", "test_distributed_faults", "test_distributed_runs",
    "test_group_resume", "test_dialog_composition", "test_docs", "test_distributed", "test_tuning", "test_ray_group",
    "test_values", "test_product", "test_working_directory", "test_package", "test_ray_lockstep", "test_watch_browser",
)  # fmt: skip
"""Modules that take longest, in the order in which they begin; a module is run by one process, which makes its fixtures
and imports once. The last to begin are short, so that no process waits for another at the end."""
QUICK = "not run and not ray and not long"
"""Expression of `make test`."""


def pytest_xdist_auto_num_workers(config):
    """One more than there are cores: who has a chain below mostly waits for processes. `make test` has none."""
    return (os.cpu_count() or 1) + (config.option.markexpr != QUICK)


@cache
def starts_runs(path: Path) -> bool:
    """Returns True for a module all of whose tests `make test` leaves to `make check`."""
    return path.name.startswith(COMPILING) or bool(STARTS.search(path.read_text(encoding="utf-8")))


def pytest_ignore_collect(collection_path, config):
    """Leaves out modules that `make test` would import for nothing."""
    if config.option.markexpr == QUICK and collection_path.name.startswith("test_") and collection_path.suffix == ".py":
        return starts_runs(collection_path) or None
    return None


@cache
def has_short_defaults(path: Path) -> bool:
    """Returns True for a module that starts runs, except those that are about settings or the documentation."""
    names = "config", "docs", "project", "benchmarks", "framework/commands/test_cli.py"
    return starts_runs(path) and not any(path.is_relative_to(ROOT / name) for name in names)


def pytest_collection_modifyitems(items):
    """Marks the tests of modules that start whole runs or processes. Brings the longest modules to the front; the
    others are sorted by their defaults, each change of which takes a tenth of a second."""
    for item in items:
        if starts_runs(item.path):
            item.add_marker(pytest.mark.run)
        if item.path.name.startswith("test_ray_"):
            item.add_marker(pytest.mark.ray)
    place = {name: number for number, name in enumerate(FIRST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place) + (not has_short_defaults(item.path))))


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collects no garbage while the modules are imported and the tests are made: they live to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish():
    """No collection of garbage visits the modules and the tests, also in forked processes."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _defaults(request: pytest.FixtureRequest) -> None:
    """Gives algorithms the defaults of short runs, or their own."""
    from tests.tools import short_runs

    short_runs.begin() if has_short_defaults(request.path) else short_runs.end()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """Lets torch compute in one thread, with the kernels that are the same everywhere: the last bits of numbers depend
    on both, and a run of an earlier test has chosen as many threads as it had work for, or recorded other kernels. What
    a test draws without a seed does not depend on the tests before it. Rows of environments stay in one process, where
    a busy machine would make all steps look slow."""
    random.seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
        sys.modules["torch"].default_generator.manual_seed(0)
    if kernels := sys.modules.get("algos.common.fast.kernels"):
        kernels.use(kernels.FIXED)
    if rows := sys.modules.get("envs.common.rows"):
        rows.ASYNC_PAYS = math.inf


@pytest.fixture
def impatient() -> Iterator[None]:
    """Ends a test that hangs."""
    previous = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it hangs"))
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)


@pytest.fixture
def chinese(monkeypatch):
    """Sentences are Chinese meanwhile."""
    monkeypatch.setenv(language.VARIABLE, "zh")
    language.language.cache_clear()
    yield
    language.language.cache_clear()
