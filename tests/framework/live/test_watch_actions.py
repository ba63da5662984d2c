"""What the page of the command watch may ask to be done: who may ask, tags and notes, stopping, comparing."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from framework.archive import task_list
from framework.disk.notes import LONGEST_NOTE, MOST_BYTES, Notes
from framework.disk.task_dir import held_lock
from framework.live import lock_holders, overview, stop
from framework.live.server import MOST_ASKED, Server
from tests.tools.browser import awaited
from tests.tools.watch import ask, done, get, now, run, served

HOLDER = """
import signal, sys, time
from pathlib import Path
from framework.disk.task_dir import held_lock
signal.signal(signal.SIGINT, lambda *_: print('Ctrl-C', flush=True))
lock = held_lock(Path(sys.argv[1]))
print('held', flush=True)
while True:
    time.sleep(0.02)
"""
ROOT = Path(__file__).parents[3]
WAYS = {"proc": lock_holders.ByProc, "lsof": lock_holders.ByLsof}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Way in which the process of a run is found: that of Linux, and that of macOS."""
    if request.param == "proc" and not hasattr(signal, "pidfd_send_signal"):
        pytest.skip("needs Linux")
    if request.param == "lsof" and not shutil.which("lsof"):
        pytest.skip("needs the program lsof")
    monkeypatch.setattr(stop, "processes", WAYS[request.param])
    return str(request.param)


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    run(tmp_path / "tasks" / "one")
    return tmp_path / "tasks"


def id_of(server: Server, name: str = "one") -> str:
    return next(str(row["id"]) for row in now(server)["runs"] if row["name"] == name)


class Holder:
    """A process that holds a lock, and prints a line for each Ctrl-C."""

    def __init__(self, folder: Path) -> None:
        words = [sys.executable, "-c", HOLDER, str(folder)]
        self.process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.line() == "held"

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def __enter__(self) -> "Holder":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


# ------------------------------------------------------------------------------------------------ who may ask


@pytest.mark.parametrize("path", ["/stop", "/notes", "/compare"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Origin": None}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": "http://localhost"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, 403),
        ({"Content_Type": "text/plain"}, 400),
        ({"Content_Type": "application/x-www-form-urlencoded"}, 400),
    ],
)
def test_nothing_is_done_but_for_the_page_itself(
    tasks: Path, path: str, headers: dict[str, str | None], status: int
) -> None:
    lock = held_lock(tasks / "one")
    assert lock is not None
    with lock, served(tasks) as server:
        body = {"run": id_of(server), "runs": [id_of(server)], "tags": ["x"], "note": "x"}
        assert ask(server, path, body, **headers).status == status
        assert not (tasks / "one" / "notes.json").exists()


@pytest.mark.parametrize("path", ["/stop", "/notes", "/compare"])
def test_an_address_that_is_opened_does_nothing(tasks: Path, path: str) -> None:
    with served(tasks) as server:
        for way in (f"{path}?token={server.answers.token}&run={id_of(server)}", path):
            answer = get(server, way, {"Authorization": f"Bearer {server.answers.token}"})
            assert answer.status == 404
            assert get(server, way).status == 401


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b"\xff", b"{" * 5000, b" " * (MOST_ASKED + 1), b'"run"'])
def test_a_body_that_is_no_small_object_is_refused(tasks: Path, body: bytes) -> None:
    with served(tasks) as server:
        assert ask(server, "/notes", body).status == 400
        assert ask(server, "/else", {}).status == 404


# --------------------------------------------------------------------------------------------- tags and notes


def test_tags_and_a_note_are_kept_in_the_folder_of_the_run(tasks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with served(tasks) as server:
        key = id_of(server)
        assert done(server, "/notes", run=key, tags=["good", "稳定", "<b>"], note="a\nnote")["tags"][1] == "稳定"
        assert json.loads((tasks / "one" / "notes.json").read_text()) == {
            "tags": ["good", "稳定", "<b>"],
            "note": "a\nnote",
        }
        [row] = now(server)["runs"]
        assert row["tags"] == ["good", "稳定", "<b>"]
        assert now(server, key)["shown"][key]["note"] == "a\nnote"
        run(tasks / "other")
        assert [each.name for each in task_list.find_runs(root=tasks, tag="good")] == ["one"]
        assert "good, 稳定, <b>" in task_list.listing(root=tasks)
        assert done(server, "/notes", run=key, tags=[], note="") == {"tags": [], "note": ""}
        assert not (tasks / "one" / "notes.json").exists(), "nothing leaves nothing"
        assert "tags" not in task_list.listing(root=tasks)


@pytest.mark.parametrize(
    ("tags", "note"),
    [
        (["a,b"], ""), ([" a"], ""), ([""], ""), (["x" * 41], ""), (["x\n"], ""), ([1], ""), ("abc", ""), (None, ""),
        ([str(n) for n in range(21)], ""), ([], "x" * (LONGEST_NOTE + 1)), ([], 1), ([], None), (["\u202ex"], ""),
    ],
)  # fmt: skip
def test_tags_and_notes_have_limits(tasks: Path, tags: Any, note: Any) -> None:
    with served(tasks) as server:
        assert "at most 20 tags" in done(server, "/notes", run=id_of(server), tags=tags, note=note)["error"]
        assert not (tasks / "one" / "notes.json").exists()


@pytest.mark.parametrize(
    "content",
    ["{", "[]", '{"tags": "x"}', '{"tags": [1]}', '{"else": 1}', '{"tags": ["a,b"]}', '"' + "x" * MOST_BYTES + '"'],
)
def test_a_file_of_another_content_is_no_note(tasks: Path, content: str) -> None:
    (tasks / "one" / "notes.json").write_text(content)
    assert Notes.read(tasks / "one") == Notes()
    with served(tasks) as server:
        assert now(server)["runs"][0]["tags"] == []


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_no_note_is_read_or_written_through_a_link(tasks: Path) -> None:
    secret = tasks.parent / "secret.json"
    secret.write_text('{"tags": ["secret"], "note": ""}')
    (tasks / "one" / "notes.json").symlink_to(secret)
    (tasks / "one" / "notes.json.tmp").symlink_to(secret)
    with served(tasks) as server:
        key = id_of(server)
        assert now(server)["runs"][0]["tags"] == []
        done(server, "/notes", run=key, tags=["mine"], note="")
        assert "secret" in secret.read_text()
        moved = (tasks / "one").rename(tasks.parent / "moved")
        (tasks / "one").symlink_to(moved)
        assert "not there any more" in done(server, "/notes", run=key, tags=["x"], note="")["error"]


def test_a_group_has_tags_too_and_an_unknown_run_has_none(tasks: Path) -> None:
    run(tasks / "Seeds" / "seed_1")
    (tasks / "Seeds" / "group.json").write_text("{}")
    with served(tasks) as server:
        [group] = now(server)["groups"]
        done(server, "/notes", run=group["id"], tags=["all"], note="")
        assert now(server)["groups"][0]["tags"] == ["all"]
        assert Notes.read(tasks / "Seeds").tags == ["all"]
        for key in ("0" * 16, "../one", ""):
            assert "not there" in done(server, "/notes", run=key, tags=[], note="")["error"]


# ------------------------------------------------------------------------------------------------------- stop


def test_a_run_is_stopped_once_by_the_signal_of_ctrl_c(tasks: Path, way: str) -> None:
    with served(tasks) as server, Holder(tasks / "one") as holder:
        key = id_of(server)
        assert f"process {holder.process.pid} was asked to stop" in done(server, "/stop", run=key)["said"]
        assert holder.line() == "Ctrl-C"
        assert "was asked before" in done(server, "/stop", run=key)["error"], "a second signal would lose the save"
        holder.process.send_signal(signal.SIGINT)
        assert holder.line() == "Ctrl-C"  # of this test, so there was no second one before it


def test_a_run_of_a_group_stops_the_process_that_drives_the_group(tasks: Path, way: str) -> None:
    folder = tasks / "Seeds"
    run(folder / "seed_1")
    (folder / "group.json").write_text("{}")
    (folder / "config.yaml").write_text("general_cfg: {}\n")
    with served(tasks) as server, Holder(folder / "seed_1") as member:
        key = id_of(server, "Seeds/seed_1")
        with Holder(folder) as driver:
            assert now(server)["groups"][0]["running"]
            assert f"process {driver.process.pid} " in done(server, "/stop", run=key)["said"]
            assert driver.line() == "Ctrl-C"
        assert not now(server)["groups"][0]["running"]
        assert f"process {member.process.pid} " in done(server, "/stop", run=key)["said"], "its driver was killed"
        assert member.line() == "Ctrl-C"


def test_only_the_process_that_holds_the_lock_is_stopped(
    tasks: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not one that reads the file, not one with an id of the past, and not that of another user."""
    sent: list[int] = []
    owner, name = (signal, "pidfd_send_signal") if way == "proc" else (SimpleNamespace(**vars(os)), "kill")
    if way == "lsof":
        monkeypatch.setattr(lock_holders, "os", owner)  # the test itself ends processes with os.kill
    monkeypatch.setattr(owner, name, lambda process, number: sent.append(number))
    folder, system = tasks / "one", WAYS[way]()
    with served(tasks) as server:
        key = id_of(server)
        assert "does not run any more" in done(server, "/stop", run=key)["error"]
        with Holder(folder) as holder:
            reader = subprocess.Popen(["sleep", "60"], stdin=open(folder / ".lock"))  # noqa: SIM115
            try:
                assert stop._holder(system, folder / ".lock") == holder.process.pid
            finally:
                reader.kill()
                reader.wait()
            with monkeypatch.context() as patch:
                patch.setattr(lock_holders, "user", lambda: 12345)
                assert "no process of yours" in done(server, "/stop", run=key)["error"]
            with monkeypatch.context() as patch:  # it ends before it is looked for
                patch.setattr(WAYS[way], "holders", lambda *_: [])
                answers = iter((True, False))
                patch.setattr(stop, "is_locked", lambda folder: next(answers))
                assert "has just ended" in done(server, "/stop", run=key)["error"]
            with monkeypatch.context() as patch:  # it ends, and another process gets its id
                patch.setattr(stop, "_holder", lambda system, lock: os.getpid())
                assert "has just ended" in done(server, "/stop", run=key)["error"]
            with monkeypatch.context() as patch:  # the other process holds the lock, too
                times = itertools.count()
                patch.setattr(WAYS[way], "started", lambda *_: str(next(times)))
                assert "has just ended" in done(server, "/stop", run=key)["error"]
            with monkeypatch.context() as patch:  # it ends while it is asked

                def gone(*_: object) -> None:
                    raise ProcessLookupError

                patch.setattr(owner, name, gone)
                assert "has just ended" in done(server, "/stop", run=key)["error"]
            os.link(folder / ".lock", folder / "other")
            assert "no process of yours" in done(server, "/stop", run=key)["error"], "a file with two names"
    assert sent == []


def test_a_system_that_tells_of_no_process_says_so(tasks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Windows: it says what to do instead."""
    monkeypatch.setattr(lock_holders, "PROC", tasks / "absent")
    monkeypatch.setattr(lock_holders.shutil, "which", lambda name: None)
    with served(tasks) as server, Holder(tasks / "one"):
        assert "press Ctrl-C in its terminal" in done(server, "/stop", run=id_of(server))["error"]


@pytest.mark.run
def test_a_run_that_is_stopped_saves_and_can_be_resumed(tmp_path: Path) -> None:
    from tests.tools.process import Forked

    folder = tmp_path / "tasks" / "live"
    limits = ("general_cfg.max_episode=1000000", "general_cfg.max_total_step=-1", "general_cfg.save_fig=false")
    sleeping = ("general_cfg.env_name=toy", "env_cfg.id=sleep", "env_cfg.seconds=0.01")
    training = Forked("--algo", "DQN", *sleeping, "--into", str(folder), *limits)
    awaited(lambda: (folder / "results" / "train.csv").exists() or training.poll() is not None)
    with served(tmp_path / "tasks") as server:
        awaited(lambda: now(server)["runs"] and now(server)["runs"][0]["step"])
        assert "asked to stop" in done(server, "/stop", run=now(server)["runs"][0]["id"])["said"]
        assert training.wait() == 130
        [row] = now(server)["runs"]
        assert row["state"] == "interrupted"
        assert list((folder / "models").iterdir())


# ---------------------------------------------------------------------------------------------- many runs


def test_rows_are_sent_once_and_again_when_they_change(tasks: Path) -> None:
    run(tasks / "two")
    with served(tasks) as server:
        first = now(server)
        assert {row["name"] for row in first["runs"]} == {"one", "two"}
        quiet = now(server, since=first["version"])
        assert (quiet["runs"], quiet["gone"]) == ([], [])
        done(server, "/notes", run=id_of(server), tags=["x"], note="")
        changed = now(server, since=quiet["version"])
        assert [row["name"] for row in changed["runs"]] == ["one"]
        (tasks / "two").rename(tasks.parent / "gone")
        [gone] = now(server, since=changed["version"])["gone"]
        assert gone == next(row["id"] for row in first["runs"] if row["name"] == "two")
        assert {row["name"] for row in now(server)["runs"]} == {"one"}


def test_many_new_runs_are_read_by_and_by(tasks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are known already take nothing of their time."""
    for number in range(5):
        run(tasks / f"run_{number}")
    clock = iter(range(1000))
    monkeypatch.setattr(overview, "READ_SECONDS", 2)
    # the clock of this module alone: a thread that reads the time elsewhere would make it tick
    monkeypatch.setattr(overview, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    seen = overview.Overview(tasks)
    counts = [(len(rows), left) for rows, left in (seen.rows() for _ in range(4))]
    assert counts == [(2, 4), (4, 2), (6, 0), (6, 0)]


def test_settings_are_columns_those_that_differ_first(tasks: Path) -> None:
    run(tasks / "two")
    for name, lr in (("one", 0.1), ("two", 0.2)):
        settings = {"algo_cfg": {"lr": lr, "net": [1, 2]}, "env_cfg": {"id": "<b>", "flag": True}}
        (tasks / name / "params.json").write_text(json.dumps(settings))
    with served(tasks) as server:
        keys = {row["name"]: row["id"] for row in now(server)["runs"]}
        address = "/settings?named=1&column=algo_cfg.lr&column=env_cfg.flag&column=else"
        assert get(server, address).status == 401
        answer = json.loads(get(server, address, {"Authorization": f"Bearer {server.answers.token}"}).body)
        assert answer["names"][0] == ["algo_cfg.lr", True]
        assert ["env_cfg.id", False] in answer["names"]
        assert answer["cells"] == {keys["one"]: [0.1, "true", None], keys["two"]: [0.2, "true", None]}
        (tasks / "one" / "params.json").write_text("[" * 100_000)
        answer = json.loads(get(server, address, {"Authorization": f"Bearer {server.answers.token}"}).body)
        assert answer["cells"][keys["one"]] == [None, None, None]


def test_columns_of_the_system_can_be_drawn_if_they_have_numbers(tasks: Path) -> None:
    (tasks / "one" / "logs" / "system.csv").write_text(
        "step,update,seconds,cpu_percent,memory_mb,gpu_percent,gpu_memory_mb\n50,1,5.0,99.5,200.0,,\n100,2,10.0,98.0,210.0,,\n"
    )
    with served(tasks) as server:
        key = id_of(server)
        details = now(server, key, column="system/memory_mb")["shown"][key]
        assert details["columns"][-2:] == ["system/cpu_percent", "system/memory_mb"]
        assert details["line"] == [[50.0, 1.0, 200.0], [100.0, 2.0, 210.0]]


# ------------------------------------------------------------------------------------------------- comparing


def test_ticked_runs_are_compared_as_the_command_does(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    for name, algo in (("one", "DQN"), ("two", "PPO")):
        run(tasks / name, algo=algo)
    with served(tasks) as server:
        rows = now(server)["runs"]
        url = done(server, "/compare", runs=[row["id"] for row in rows])["url"]
        answer = get(server, url)
        assert answer.status == 200
        policy = answer.getheader("Content-Security-Policy")
        assert policy.startswith("sandbox allow-scripts allow-downloads; default-src 'none'")
        text = answer.body.decode()
        assert "DQN" in text
        assert "PPO" in text
        assert "Probability of improvement" in text
        assert "only one run" in done(server, "/compare", runs=[rows[0]["id"]])["error"]
        for wrong in ([], "x", [1], ["0" * 16], list(range(501))):
            assert done(server, "/compare", runs=wrong)["error"]
