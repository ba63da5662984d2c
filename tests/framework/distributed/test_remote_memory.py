"""The memory of a data server on another node: one frame at a time is on its way to the driver's files and back."""

import sys
from contextlib import closing
from types import SimpleNamespace

import pytest

from config.model.memory_spec import RolloutSpec
from framework.assemble import build
from framework.disk.journal import Journal, JournalPart, Position
from framework.distributed.data_server import DataServer
from framework.distributed.remote_memory import FarJournal, JournalKeeper, RemoteMemory
from framework.memory import Rollout
from tests.tools.core import FakeJournal, ramp, replay, saved_and_read, written
from tests.tools.distributed import config_of


class Handle:
    """An actor in this process: handle.method.remote(...) is its result."""

    def __init__(self, actor):
        self.actor, self.calls = actor, []

    def __getattr__(self, name):
        def remote(*arguments):
            self.calls.append(name)
            return getattr(self.actor, name)(*arguments)

        return SimpleNamespace(remote=remote)


@pytest.fixture(autouse=True)
def ray(monkeypatch):
    """ray.get and ray.remote of such actors."""
    ray = SimpleNamespace(get=lambda result: result, remote=lambda **options: lambda kind: Kind(kind))
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setattr("framework.distributed.ray_cluster.options", lambda *where: {"where": where})
    return ray


class Kind:
    def __init__(self, kind):
        self.remote = lambda *arguments: Handle(kind(*arguments))


def filled(steps=9, first=0, **settings):
    memory = replay(capacity=64, priority_alpha=0.6, **settings)
    memory.add(ramp(first, steps))
    return memory


def content(memory):
    (frame,) = written(memory)
    return {name: value.tobytes() for name, value in frame.arrays.items()}


@pytest.mark.parametrize("node", [None, "head"])
def test_a_memory_is_saved_and_restored_wherever_it_is(tmp_path, ray, node, monkeypatch):
    """RES-1: in several frames, and with what was added after the first save."""
    monkeypatch.setattr("framework.disk.journal.FRAME_BYTES", 150)
    journal, server = Journal(tmp_path), Server(filled())
    remote = RemoteMemory(ray, server, lambda result: result, node)
    remote.write(journal)
    server.memory.add(ramp(9, 4))
    span = remote.write(journal)
    assert journal.end == span.end != Position(0, 0)
    assert len(list(journal.read(span))) == 5
    state, other = saved_and_read(remote.state()), Server(replay(capacity=64, priority_alpha=0.6, seed=7))
    owed = RemoteMemory(ray, other, lambda result: result, node).load_state(state, JournalPart(journal, span))
    assert owed == server.memory.owed()
    assert other.memory.state() == server.memory.state()
    server.memory.add(ramp(13, 1))
    later = remote.write(journal)
    assert later.start == span.start < span.end < later.end, "only what is new is written"
    other.memory.add(ramp(13, 1))
    monkeypatch.setattr("framework.disk.journal.FRAME_BYTES", 10**6)
    assert content(other.memory) == content(server.memory)


class Server:
    """What the driver calls of a DataServer, without Ray."""

    def __init__(self, memory):
        self.memory = memory
        for name in ("state", "write", "load_state"):
            method = getattr(DataServer, name)
            setattr(self, name, SimpleNamespace(remote=lambda *given, method=method: method(self, *given)))


@pytest.mark.parametrize("node", [None, "head"])
def test_a_full_disk_is_an_error_of_the_disk_on_any_node(tmp_path, ray, node):
    """A failed save is a warning of the run, and no death of the data server. The next one writes what is missing."""
    journal, server = Journal(tmp_path / "journal"), Server(filled())
    remote = RemoteMemory(ray, server, lambda result: result, node)
    (tmp_path / "journal").write_text("a file where the folder should be")
    with pytest.raises(OSError, match="exists"):
        remote.write(journal)
    (tmp_path / "journal").unlink()
    (frame,) = journal.read(remote.write(journal))
    assert frame.arrays["after"].tolist() == [9]


def test_one_frame_at_a_time_is_on_its_way(tmp_path, monkeypatch):
    monkeypatch.setattr("framework.disk.journal.FRAME_BYTES", 150)
    keeper = Handle(JournalKeeper(Journal(tmp_path), ()))
    span = filled().write(FarJournal(keeper, Position(0, 0)))
    assert set(keeper.calls) == {"append"}
    assert len(keeper.calls) == 3
    reader = Handle(JournalKeeper(Journal(tmp_path), JournalPart(Journal(tmp_path), span)))
    frames = iter(FarJournal(reader, span.end))
    next(frames), next(frames)
    assert reader.calls == ["read", "read"]


def test_windows_write_nothing_wherever_they_are(tmp_path, ray):
    server = Server(Rollout(RolloutSpec(length=3)))
    assert RemoteMemory(ray, server, lambda result: result, None).write(Journal(tmp_path)) is None
    assert not list(tmp_path.iterdir())
    assert Rollout(RolloutSpec(length=3)).write(FakeJournal()) is None


def test_the_data_server_closes_the_environment_whose_goal_it_asked_for(monkeypatch):
    config, closed = config_of("DQN", workers=2), []
    with closing(build.make_env(config, 2)) as env:
        spec = build.env_spec(config, env)
    made = build.make_env

    def make_env(*arguments):
        env = made(*arguments)
        monkeypatch.setattr(env, "close", lambda: closed.append(True))
        return env

    monkeypatch.setattr(build, "make_env", make_env)
    server = DataServer(config, spec, 2, True)
    assert closed == [True]
    assert server.memory.owed() == 0
