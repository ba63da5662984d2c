"""A sample of tests/stress/io_faults.py: whatever call goes wrong, a command comes to the same end."""

import multiprocessing
import os

import pytest

import algos
from tests.tools.disk import Calls, Disk, read_record, written
from tests.tools.io_faults import KINDS, SCENARIOS, Experiment
from tests.tools.paths import in_the_suite

SHARES = {
    "train QLearning plain": 2, "train DQN all": 1, "resume QLearning eval": 1, "resume DQN board": 1,
    "seeds plain": 1, "tune all": 1, "convert npz": 2, "convert minari": 1, "export safetensors": 1,
    "pull": 2,
}  # fmt: skip
"""Scenario -> number of faults of each kind that are tried; hundreds are possible."""
CASES = [(name, kind) for name in SHARES for kind in KINDS]
SOME = {
    "train DQN all": ("power",), "resume QLearning eval": ("error",), "resume DQN board": ("torn",),
    "seeds plain": ("error",), "tune all": ("kill",), "convert minari": ("torn",), "export safetensors": ("error",),
    "pull": ("power",),
}  # fmt: skip
"""Scenario -> kinds that the suite tries. Training and converting to NumPy's format are tried with all of them."""


@pytest.fixture(scope="module")
def experiment(request, tmp_path_factory):
    name = request.param
    if "minari" in name:
        pytest.importorskip("minari", reason="needs minari")
    return name, Experiment(name, tmp_path_factory.mktemp(name.replace(" ", "_")))


@pytest.mark.parametrize(
    ("experiment", "kind"),
    in_the_suite(CASES, *(case for case in CASES if case[1] in SOME.get(case[0], KINDS))),
    indirect=["experiment"],
    scope="module",  # without it pytest would make the fixture anew for each kind
)
def test_a_fault_at_any_call_costs_nothing(experiment, kind):
    """CKP-1, CKP-2: an error, a kill, a torn write, a power cut."""
    name, trials = experiment
    states = trials.states(kind)
    every = len(states) // SHARES[name] or 1
    assert states
    assert [trials.trial(state) for state in states[every // 2 :: every]] == [""] * len(states[every // 2 :: every])


def test_every_algorithm_that_trains_has_a_scenario():
    assert {name.split()[1] for name in SCENARIOS if name.startswith("train ")} == {*algos.available()} - {"Random"}


# ------------------------------------------------------------------------------------------------ the model of the disk


def left(tmp_path, work, way):
    """What a power cut after some work leaves in a folder, as text by name."""
    folder, record = tmp_path / "disk", tmp_path / "record"
    folder.mkdir()
    (folder / "old").write_text("old")
    disk = Disk(folder)
    calls = Calls(folder, record)
    trials = multiprocessing.get_context("fork").Process(target=lambda: (calls.install(), work(folder)))
    trials.start()
    trials.join()
    assert trials.exitcode == 0
    for call in read_record(record):
        disk.apply(call)
    return {name: "" if data is None else data.decode() for name, data in disk.tree(way).items()}


def careless(folder):
    (folder / "new").write_text("content")
    (folder / "old").rename(folder / "moved")


def careful(folder):
    with open(folder / "new", "w") as file:
        file.write("content")
        file.flush()
        os.fsync(file.fileno())
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    with open(folder / "new", "a") as file:
        file.write(" and more")


@pytest.mark.parametrize(
    ("work", "way", "expected"),
    [
        (careless, "synced", {"old": "old"}),
        (careless, "names", {"new": "", "moved": "old"}),
        (careless, "data", {"old": "old"}),
        (careless, "torn", {"new": "con", "moved": "old"}),
        (careless, "last", {"moved": "old"}),
        (careless, "kill", {"new": "content", "moved": "old"}),
        (careful, "synced", {"new": "content", "old": "old"}),
        (careful, "data", {"new": "content and more", "old": "old"}),
        (careful, "torn", {"new": "content and", "old": "old"}),
    ],
)
def test_the_model_of_the_disk_keeps_what_was_fsynced(work, way, expected, tmp_path):
    assert left(tmp_path, work, way) == expected


def test_what_is_left_is_written_as_a_folder(tmp_path):
    written({"a": None, "a/b": b"text"}, tmp_path / "new")
    assert (tmp_path / "new" / "a" / "b").read_bytes() == b"text"
