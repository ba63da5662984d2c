"""A minute of tests/stress/fuzz.py, and the inputs that have once shown a fault."""

import contextlib
import ctypes
import random
import signal
from pathlib import Path

import pytest

from config.machine import keep_freed_memory
from tests.stress import fuzz
from tests.tools.mutations import changed_bytes
from tests.tools.paths import EVERY
from tests.tools.readers import READERS, refusals

CORPUS = Path(__file__).parents[2] / "data" / "fuzz"
"""Inputs that have shown a fault, which is mended: a folder for each reader."""
INPUTS, STRUCTURES = (400, 400) if EVERY else (25, 200)
"""Inputs of each reader: changed bytes, and changed structures, which come closer to the end of what reads them."""
HERE = [name for name, reader in READERS.items() if reader.is_here]


@pytest.mark.parametrize("path", sorted(CORPUS.rglob("*.*")), ids=lambda path: path.name)
def test_inputs_that_once_failed_are_answered(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reader = READERS[path.parent.name]
    if not reader.is_here:
        pytest.skip(f"needs {', '.join(reader.needs)}")
    with contextlib.suppress(*refusals()):
        reader.read(path.read_bytes(), tmp_path)


@pytest.mark.parametrize("name", HERE)
def test_the_contents_that_are_changed_are_valid(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An input that is refused at its first byte would show nothing of the rest."""
    monkeypatch.chdir(tmp_path)
    reader = READERS[name]
    for tree in reader.trees()[:1]:
        with contextlib.suppress(*(refusals() if name in NOT_WHOLE else ())):
            reader.read(reader.dress(tree), tmp_path)


NOT_WHOLE = ("YAML and presets", "checksums of a repository", "databases of dialogues", "addresses of stores and hubs")
"""Readers that want more than one file, or other words."""


@pytest.mark.parametrize("name", HERE)
def test_changed_bytes_are_answered(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reader = READERS[name]
    seeds = [reader.dress(tree) for tree in reader.trees()]
    for number in range(INPUTS):
        data = changed_bytes(seeds, random.Random(f"{name} {number}"))
        with contextlib.suppress(*refusals()):
            reader.read(data, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in HERE if READERS[name].structured and name != "YAML and presets"])
def test_changed_structures_are_answered(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hypothesis = pytest.importorskip("hypothesis")
    from tests.tools.mutations import changes

    monkeypatch.chdir(tmp_path)
    reader = READERS[name]

    @hypothesis.seed(7)
    @hypothesis.settings(
        max_examples=STRUCTURES,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(changes(reader.trees()))
    def read(tree: object) -> None:
        try:
            data = reader.dress(tree)
        except Exception:  # the format cannot say it
            return
        with contextlib.suppress(*refusals()):
            reader.read(data, tmp_path)

    read()


class Bad:
    """A reader with each of the faults."""

    trees = staticmethod(lambda: [b""])
    dress = staticmethod(lambda tree: tree)

    def __init__(self, outside: Path) -> None:
        self.outside = outside

    def read(self, data: bytes, folder: Path) -> None:
        if data == b"traceback":
            raise KeyError("x")
        if data == b"hang":
            while True:
                pass
        if data == b"slow":
            sum(range(60_000_000))
        if data == b"signal":
            signal.raise_signal(signal.SIGTERM)
        if data == b"code":
            (self.outside / "canary").mkdir()
        if data == b"memory":
            _ = b"x" * (200 * 2**20)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["traceback", "slow", "signal", "code", "memory", "nothing"])
def test_each_kind_of_fault_is_counted(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness would be worth nothing if it did not notice."""
    monkeypatch.setitem(READERS, "bad", Bad(tmp_path))  # type: ignore[arg-type]
    monkeypatch.setattr(fuzz, "MOST_SECONDS", 0.3 if kind == "slow" else 60)  # a busy machine hangs by itself
    monkeypatch.setattr(fuzz, "by_chance", lambda trials, seed, count: trials.read(seed.encode()))
    report = fuzz.batch("bad", "bytes", kind, 1)
    expected = {"slow": "hang", "nothing": None}.get(kind, kind)
    assert report["counts"].get(expected, 0) == (expected is not None), report
    assert sum(report["counts"].values()) == (expected is not None)


def test_memory_that_the_process_has_freed_before_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run lets glibc keep freed memory (config/machine.py), and a process of pytest has had runs."""
    monkeypatch.setitem(READERS, "bad", Bad(tmp_path))  # type: ignore[arg-type]
    monkeypatch.setattr(fuzz, "by_chance", lambda trials, seed, count: trials.read(seed.encode()))
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallopt"):
        pytest.skip("needs glibc")
    keep_freed_memory()
    pieces = [bytes([number]) * (31 * 2**20) for number in range(8)]
    assert len(pieces) == 8
    del pieces
    try:
        assert fuzz.batch("bad", "bytes", "memory", 1)["counts"] == {"memory": 1}
    finally:
        library.malloc_trim(0)
