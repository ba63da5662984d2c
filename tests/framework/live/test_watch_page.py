"""The server of the command watch: what it serves, to whom, and how it reads runs that are being written."""

import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import webbrowser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from framework.archive import curve_tail, task_list
from framework.archive.curve_tail import MOST_POINTS, CurveTail, ThinnedCurve
from framework.archive.run import RecordedRun
from framework.commands import watch
from framework.disk.task_dir import held_lock
from framework.live.answers import NOT_DRAWN
from framework.live.files import KINDS
from framework.live.overview import Overview
from framework.live.server import REPORT
from framework.loop.iteration import EPISODE_COLUMNS
from framework.pages import html_page
from main import main
from tests.tools.browser import awaited
from tests.tools.process import Forked
from tests.tools.watch import PIXEL, TRAIN, episode, episodes_of, get, iterations, now, run, served

ROOT = Path(__file__).parents[3]


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    folder = tmp_path / "tasks"
    folder.mkdir()
    return folder


# ------------------------------------------------------------------------------------------------ who may ask


def test_a_run_is_named_as_for_other_commands(
    tasks: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tasks / "one")
    (tasks.parent / "runs").mkdir()
    monkeypatch.chdir(tasks.parent)
    usual = Path("tasks")
    places = {"one": usual / "one", "tasks/one": usual / "one", "runs": Path("runs"), "none": Path("none"), None: usual}
    assert {name: watch._root(name, usual) for name in places} == places
    assert main(["watch", "onne"]) == 2
    assert "one run or group, or leave it out; did you mean one?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "path", ["/", "/?token=", "/?token=wrong", "/now", "/now?token={}", "/else", "/now/", "/?x={}"]
)
def test_nothing_is_answered_without_the_token_in_its_place(tasks: Path, path: str) -> None:
    run(tasks / "one")
    with served(tasks) as server:
        for given in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": "Bearer t\xf6ken"},
            {"Cookie": "token={}"},
        ):
            headers = {name: value.format(server.answers.token) for name, value in given.items()}
            answer = get(server, path.format(server.answers.token), headers)
            assert answer.status == 401
            assert b"one" not in answer.body.replace(b"printed", b"")


def test_the_token_is_long_and_another_one_at_each_start(tasks: Path) -> None:
    with served(tasks) as one, served(tasks) as other:
        assert one.answers.token != other.answers.token
        assert len(one.answers.token) >= 40
        assert one.address == f"http://127.0.0.1:{one.server_address[1]}/?token={one.answers.token}"
        assert get(one, f"/?token={one.answers.token}").status == 200
        assert get(other, f"/?token={one.answers.token}").status == 401


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:80", 200), ("localhost:4000", 200), ("localhost", 200), ("", 403), ("evil.example", 403),
        ("evil.example:80", 403), ("127.0.0.1.evil.example", 403), ("x@127.0.0.1", 403), ("127.0.0.1:80\x85", 403),
    ],
)  # fmt: skip
def test_a_site_whose_name_leads_here_is_refused_even_with_the_token(tasks: Path, host: str, status: int) -> None:
    with served(tasks) as server:
        assert get(server, f"/?token={server.answers.token}", {"Host": host}).status == status


def test_the_page_is_served_to_this_machine_alone(tasks: Path) -> None:
    with served(tasks) as server:
        assert server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "HEAD", "OPTIONS", "<script>"])
def test_nothing_but_get_and_post_is_answered(tasks: Path, method: str) -> None:
    with served(tasks) as server:
        answer = get(server, f"/?token={server.answers.token}", method=method)
        assert answer.status == 501
        assert b"script" not in answer.body


def test_no_other_site_may_read_an_answer_and_no_address_is_passed_on(tasks: Path) -> None:
    run(tasks / "one")
    with served(tasks) as server:
        [one] = now(server)["runs"]
        [report] = [
            file for file in now(server, one["id"])["shown"][one["id"]]["files"] if file["name"] == "report.html"
        ]
        for path in (f"/?token={server.answers.token}", report["url"], "/now"):
            headers = dict(get(server, path, {"Origin": "https://evil.example"}).getheaders())
            assert not [name for name in headers if name.lower().startswith("access-control")]
            assert headers["Referrer-Policy"] == "no-referrer"
            assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Cache-Control"] == "no-store"


def test_the_page_is_one_file_that_runs_its_own_script_and_asks_its_own_server_alone(tasks: Path) -> None:
    with served(tasks) as server:
        answer = get(server, f"/?token={server.answers.token}")
    policy = dict(part.split(" ", 1) for part in answer.getheader("Content-Security-Policy").split("; "))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == policy["frame-ancestors"] == "'none'"
    assert policy["connect-src"] == policy["media-src"] == "'self'"
    assert re.fullmatch(r"'sha256-[\w+/=]+'", policy["script-src"])
    assert re.fullmatch(r"'sha256-[\w+/=]+'", policy["style-src"])
    page = answer.body.decode()
    assert server.answers.token not in page
    assert not re.findall(r"""(?:src|href)=["'](?!data:|#)|@import|url\(""", page.partition("<script>")[0])
    assert "innerHTML" not in page


# -------------------------------------------------------------------------------------------------- files


def files(server, identity):
    return {file["name"]: file for file in now(server, identity)["shown"][identity]["files"]}


def test_only_known_kinds_of_files_are_served_each_with_its_type(tasks: Path) -> None:
    folder = run(tasks / "one")
    for name in (
        "models/state.safetensors",
        "results/trajs.pkl",
        "results/other.html",
        "results/x.svg",
        ".lock",
        "x.js",
    ):
        (folder / name).write_text("secret")
    for name in ("results/learning_curve.png", "videos/a.mp4"):
        (folder / name).write_bytes(b"content")
    with served(tasks) as server:
        found = files(server, now(server)["runs"][0]["id"])
        assert set(found) == {
            "report.html", "config.yaml", "results/train.csv", "results/eval.csv", "logs/log.txt", "videos/video.gif",
            "results/learning_curve.png", "videos/a.mp4",
        }  # fmt: skip
        for name, file in found.items():
            answer = get(server, file["url"])
            assert (answer.status, answer.getheader("Content-Type")) == (200, KINDS[Path(name).suffix])
            assert answer.body == (folder / name).read_bytes()
            policy = answer.getheader("Content-Security-Policy")
            assert policy.startswith(
                "sandbox allow-scripts allow-downloads; " if name == "report.html" else "sandbox; "
            )
            assert "allow-same-origin" not in policy
            assert "default-src 'none'" in policy


def test_a_report_may_show_what_its_own_policy_allows() -> None:
    """Videos among it. Scripts it allows by their digest, which the server does not know."""
    own = re.search(r'Content-Security-Policy" content="([^"]*)"', html_page.page("Title", "", script="run()"))
    assert own
    *rules, script = own[1].split("; ")
    assert set(rules) <= set(REPORT.split("; "))
    assert script.startswith("script-src ")
    assert "script-src 'unsafe-inline'" in REPORT.split("; ")


def test_an_address_is_no_path(tasks: Path) -> None:
    """Neither with a key nor without one."""
    run(tasks / "one")
    (tasks.parent / "secret.txt").write_text("secret")
    with served(tasks) as server:
        file = files(server, now(server)["runs"][0]["id"])["logs/log.txt"]
        start = file["url"].rpartition("/")[0]
        ways = [
            "/../secret.txt", "/..%2fsecret.txt", "/%2e%2e/secret.txt", f"/{tasks.parent}/secret.txt", "//etc/passwd",
            "/file/../../secret.txt", "/file//etc/passwd", f"{start}/../../../secret.txt", f"{start}%2f..%2fsecret.txt",
            f"{start[:-1]}/log.txt", "/file", "/file/", "/file/one/logs/log.txt", "/tasks/one/logs/log.txt", "http://[",
        ]  # fmt: skip
        for way in ways:
            answer = get(server, way, {"Host": "127.0.0.1"})
            assert answer.status in (401, 403), way
            assert b"secret" not in answer.body
        for link in (f"{start}/seed_1/report.html", "/file/report.html"):
            assert b"from the list of runs" in get(server, link).body, "a link in a report"
        assert b"it began" in get(server, f"{start}/%2e%2e").body, "behind the key is a name for the browser"


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize(
    "place", ["logs/log.txt", "logs", "results", "videos", "report.html", "", "run.json", "config.yaml"]
)
def test_nothing_is_read_through_a_link(tasks: Path, place: str) -> None:
    outside = run(tasks.parent / "outside", "secret", "secret", outcome="secret", finished=None)
    with episodes_of(outside) as train:
        train.append(episode(21, **{"return": 4711.5}))
    for name in ("logs/log.txt", "report.html"):
        (outside / name).write_text("secret\n")
    one = run(tasks / "one")
    if place in ("logs", "results", "videos", ""):
        os.rename(one / place, tasks.parent / "aside")
    else:
        (one / place).unlink()
    (one / place if place else one).symlink_to(outside / place, target_is_directory=(outside / place).is_dir())
    with served(tasks) as server:
        found = now(server)
        for each in found["runs"]:
            found = now(server, each["id"])
            assert all("secret" not in get(server, file["url"]).body.decode(errors="replace")
                       for file in found["shown"][each["id"]]["files"])  # fmt: skip
        assert "secret" not in json.dumps(found)
        assert "4711.5" not in json.dumps(found)
        assert bool(found["runs"]) == bool(place)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize("place", ["logs/log.txt", "results/train.csv", "results/eval.csv", "results", "logs"])
def test_a_link_to_itself_costs_no_answer(tasks: Path, place: str) -> None:
    folder = run(tasks / "one")
    os.rename(folder / place, tasks.parent / "aside")
    (folder / place).symlink_to(folder / place)
    with served(tasks) as server:
        [one] = now(server)["runs"]
        assert now(server, one["id"])["shown"][one["id"]]["log"] == [] or not place.startswith("logs")


def test_a_file_that_has_become_a_link_is_refused(tasks: Path) -> None:
    folder = run(tasks / "one")
    (tasks.parent / "secret").mkdir()
    (tasks.parent / "secret" / "log.txt").write_text("secret")
    with served(tasks) as server:
        file = files(server, now(server)["runs"][0]["id"])["logs/log.txt"]
        os.rename(folder / "logs", folder / "former")
        assert get(server, file["url"]).status == 403, "it is gone"
        (folder / "logs").symlink_to(tasks.parent / "secret")
        assert get(server, file["url"]).status == 403


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_in_place_of_a_file_keeps_nobody_waiting(tasks: Path) -> None:
    folder = run(tasks / "one")
    for name in ("results/train.csv", "logs/log.txt", "run.json"):
        (folder / name).unlink()
        os.mkfifo(folder / name)
    with served(tasks) as server:
        [one] = now(server)["runs"]
        assert now(server, one["id"])["shown"][one["id"]]["log"] == []


@pytest.mark.parametrize(
    ("wanted", "status", "place"),
    [
        ("bytes=0-3", 206, slice(0, 4)), ("bytes=10-", 206, slice(10, None)), ("bytes=5-99999", 206, slice(5, None)),
        ("bytes=99999-", 200, slice(None)), ("bytes=7-3", 200, slice(None)), ("bytes=0-1,4-5", 200, slice(None)),
    ],
)  # fmt: skip
def test_a_browser_gets_the_part_of_a_video_that_it_asks_for(
    tasks: Path, wanted: str, status: int, place: slice
) -> None:
    run(tasks / "one")
    with served(tasks) as server:
        file = files(server, now(server)["runs"][0]["id"])["videos/video.gif"]
        answer = get(server, file["url"], {"Range": wanted})
        assert (answer.status, answer.body) == (status, PIXEL[place])
        if status == 206:
            first = place.start
            assert answer.getheader("Content-Range") == f"bytes {first}-{first + len(answer.body) - 1}/{len(PIXEL)}"


# -------------------------------------------------------------------------------------- files that grow


def grown(path: Path, *numbers: int) -> None:
    with episodes_of(path.parent.parent) as log:
        for number in numbers:
            log.append(episode(number))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "results").mkdir()
    return tmp_path / "results" / "train.csv"


def test_a_column_is_read_once_and_then_only_what_is_new(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    column = CurveTail(table, "return")
    assert not column.read(), "there is no file yet"
    assert column.line.points() == []
    grown(table, 1, 2)
    assert not column.read()
    assert column.line.points() == [(10.0, 2.0, 1.0), (20.0, 4.0, 2.0)]
    taken: list[str] = []
    take = column._take
    monkeypatch.setattr(column, "_take", lambda lines: taken.extend(lines) or take(lines))
    grown(table, 3)
    column.read()
    column.read()
    assert column.line.points()[-1] == (30.0, 6.0, 3.0)
    assert len(taken) == 1


def test_a_torn_last_row_waits_for_its_end(table: Path) -> None:
    grown(table, 1)
    line = table.read_bytes().splitlines(keepends=True)[1].replace(b"1,10,2,1.0", b"2,20,4,2.0")
    column = CurveTail(table, "return")
    for part in (line[:7], line[7:]):
        column.read()
        assert column.line.points() == [(10.0, 2.0, 1.0)]
        with open(table, "ab") as file:
            file.write(part)
    column.read()
    assert column.line.points() == [(10.0, 2.0, 1.0), (20.0, 4.0, 2.0)]


def test_a_resume_that_cuts_a_file_off_and_writes_other_rows_leaves_no_old_ones(table: Path) -> None:
    grown(table, 1, 2, 3)
    column = CurveTail(table, "return")
    column.read()
    first = b"".join(table.read_bytes().splitlines(keepends=True)[:2])
    table.write_bytes(first)
    grown(table, 5, 6, 7, 8)  # longer than before
    column.read()
    assert [value for *_, value in column.line.points()] == [1, 5, 6, 7, 8]


def test_rows_without_a_number_are_left_out(table: Path) -> None:
    with episodes_of(table.parent.parent) as log:
        for number, loss in enumerate((None, 0.5, math.nan, math.inf, 0.25), 1):
            log.append(episode(number, loss=loss))
    with open(table, "a") as file:
        file.write("1,2,3\nnot,a,row\n" + "x," * (len(TRAIN) - 1) + "x\n")
    column = CurveTail(table, "loss")
    column.read()
    assert column.line.points() == [(20.0, 4.0, 0.5), (50.0, 10.0, 0.25)]
    missing = CurveTail(table, "no such column")
    missing.read()
    assert (missing.line.points(), missing.columns) == ([], TRAIN)


def test_a_long_file_is_read_in_blocks(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grown(table, *range(1, 21))
    monkeypatch.setattr(curve_tail, "BLOCK", 100)
    column, blocks = CurveTail(table, "return"), 1
    while column.read():
        blocks += 1
    assert blocks > 3
    assert [value for *_, value in column.line.points()] == list(range(1, 21))


def test_a_file_without_an_end_of_line_comes_to_an_end(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curve_tail, "BLOCK", 100)
    table.write_bytes(b"x" * 1000)
    column, blocks = CurveTail(table, "return"), 0
    while column.read():
        blocks += 1
        assert blocks < 20


def test_points_are_means_of_neighbours_and_never_too_many() -> None:
    """Of the values 0, 1, 2, ... each two, then each four, are joined: 1.5 is the mean of 0 to 3."""
    line = ThinnedCurve()
    for number in range(3 * MOST_POINTS):
        line.add(10.0 * number, number, number)
        assert len(line.points()) <= MOST_POINTS
    assert line.each == 4
    assert line.points()[:2] == [(30.0, 3.0, 1.5), (70.0, 7.0, 5.5)]
    assert line.points()[-1] == (10.0 * (3 * MOST_POINTS - 1), 3 * MOST_POINTS - 1, 3 * MOST_POINTS - 2.5)


def test_values_of_the_same_step_are_one_point_with_their_number_and_ends() -> None:
    """Eight rows end together: whatever is joined, no step is in two points."""
    line = ThinnedCurve()
    for number in range(24):
        line.add(224.0 * (number // 8), number // 8, number)
    assert line.points() == [(0, 0, 3.5, 8, 0, 7), (224, 1, 11.5, 8, 8, 15), (448, 2, 19.5, 8, 16, 23)]
    for number in range(24, 8 * 3 * MOST_POINTS):
        line.add(224.0 * (number // 8), number // 8, number)
    assert line.each == 4
    assert {count for _, _, _, count, _, _ in line.points()} == {32}
    assert line.points()[0] == (224 * 3, 3, 15.5, 32, 0, 31)


def test_columns_that_say_which_episode_it_is_are_not_offered() -> None:
    assert set(NOT_DRAWN) == set(EPISODE_COLUMNS) - {"return", "length"}


# ------------------------------------------------------------------------------------------------- the runs


def test_the_table_has_each_run_with_its_state_score_and_speed(tasks: Path) -> None:
    run(tasks / "done")
    run(tasks / "broken", outcome="it failed", finished=None)
    run(tasks / "left", outcome="interrupted", finished=None)
    with served(tasks) as server:
        rows = {row["name"]: row for row in now(server)["runs"]}
    assert {name: row["state"] for name, row in rows.items()} == {
        "done": "finished",
        "broken": "failed",
        "left": "interrupted",
    }
    done = rows["done"]
    assert (done["algorithm"], done["environment"]) == ("DQN", "CartPole-v1")
    assert (done["step"], done["episode"], done["score"], done["speed"]) == (200, 20, 19.0, 50.0)
    assert rows["broken"]["outcome"] == "it failed"


def test_a_running_run_comes_first_with_its_progress_and_speed(tasks: Path) -> None:
    """250 steps in 5 s; 25 of 40 episodes are done in them, so that 3 s are left."""
    run(tasks / "done")
    folder = run(tasks / "live", finished=None, outcome=None, step=None, episodes=25)
    iterations(folder, (100, 2.0), (250, 5.0))
    with served(tasks) as server:
        assert now(server)["runs"][0]["state"] != "running"
        lock = held_lock(folder)
        assert lock is not None
        first = now(server)["runs"][0]
        (folder / "params.json").write_text(json.dumps({"general_cfg": {"max_total_step": 1000}}))  # as a resume does
        assert now(server)["runs"][0]["share"] == 0.25
        lock.close()
        assert [each["state"] for each in now(server)["runs"] if each["name"] == "live"] == ["failed"]
    assert (first["name"], first["state"], first["step"], first["mean"]) == ("live", "running", 250, 7.5)
    assert (first["speed"], first["share"], first["left"]) == (50.0, 0.625, 3.0)


def test_the_speed_is_that_of_the_newest_iterations(tasks: Path) -> None:
    folder = run(tasks / "live")
    iterations(folder, *((100 * n, 10.0 * n) for n in range(1, 20)), (2080, 200.0))
    with held_lock(folder) or pytest.fail("locked"), served(tasks) as server:
        assert now(server)["runs"][0]["speed"] == (2080 - 1100) / (200 - 110)


def test_an_ended_run_is_read_once(tasks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, reads = run(tasks / "one"), []
    monkeypatch.setattr(RecordedRun, "names", property(lambda run: reads.append(run.folder) or ("a", "b")))
    seen = Overview(tasks)
    for _ in range(3):
        [found] = seen.runs()
        assert seen.row(found)["step"] == 200
    assert len(reads) == 1
    (folder / "run.json").write_text(json.dumps({"step": 300}))
    assert seen.row(found)["step"] == 300


def test_seeds_and_trials_belong_to_a_group_with_its_own_files(tasks: Path) -> None:
    for number in (1, 2):
        run(tasks / "Seeds_x" / f"seed_{number}")
        run(tasks / "Tune_x" / "trials" / f"00{number}")
    (tasks / "Seeds_x" / "group.json").write_text("{}")
    (tasks / "Seeds_x" / "seeds.csv").write_text("seed\n")
    (tasks / "Seeds_x" / "seed_2.errors.txt").write_text("why it failed\n")
    (tasks / "Tune_x" / "tune.json").write_text("{}")
    (tasks / "Tune_x" / "report.html").write_text("")
    with served(tasks) as server:
        found = now(server)
        assert {row["name"]: row["group"] for row in found["runs"]} == {
            "Seeds_x/seed_1": "Seeds_x", "Seeds_x/seed_2": "Seeds_x",
            "Tune_x/trials/001": "Tune_x", "Tune_x/trials/002": "Tune_x",
        }  # fmt: skip
        details = {group["name"]: now(server, group=group["id"])["group"] for group in found["groups"]}
        names = {name: sorted(file["name"] for file in group["files"]) for name, group in details.items()}
        assert names == {"Seeds_x": ["seed_2.errors.txt", "seeds.csv"], "Tune_x": ["report.html"]}
        [second] = [row["id"] for row in found["runs"] if row["name"] == "Seeds_x/seed_2"]
        assert now(server, second)["shown"][second]["errors"] == ["why it failed"]
    with served(tasks / "Seeds_x") as server:
        assert {row["name"] for row in now(server)["runs"]} == {"Seeds_x/seed_1", "Seeds_x/seed_2"}
    with served(tasks / "Seeds_x" / "seed_2") as server:
        assert [row["name"] for row in now(server)["runs"]] == ["seed_2"]


def test_a_run_shows_its_curve_its_evaluations_and_the_end_of_its_log(tasks: Path) -> None:
    run(tasks / "one", episodes=3)
    with served(tasks) as server:
        [one] = now(server)["runs"]
        shown = now(server, one["id"])["shown"][one["id"]]
        assert shown["line"] == [[10, 2, 1], [20, 4, 2], [30, 6, 3]]
        assert shown["evaluations"] == [[200, 40, 19]]
        assert shown["columns"] == ["return", "length", "loss"]
        assert shown["log"] == ["2026-01-31 10:15:00,000 INFO it began"]
        assert now(server, one["id"], column="loss")["shown"][one["id"]]["line"] == []
        assert now(server, "other")["shown"] == {}


HOSTILE = (
    '{"step": NaN, "seconds": [1], "best": {"a": 1}, "outcome": [1, "\\u202e"], "started": 1e999}',
    "[]",
    "{",
    "[" * 9999,
    '{"step": 1' + "0" * 4000 + ', "seconds": 1e-320, "score": {"mean": "x"}, "episode": true}',
)


@pytest.mark.parametrize("facts", HOSTILE, ids=range(len(HOSTILE)))
def test_facts_from_a_stranger_cost_no_answer(tasks: Path, facts: str) -> None:
    folder = run(tasks / "one")
    for name in ("run.json", "results/result.json", "params.json"):
        (folder / name).write_text(facts + "\n")
    (folder / "config.yaml").write_text("{" * 1000)
    with held_lock(folder) or pytest.fail("locked"), served(tasks) as server:
        [one] = now(server)["runs"]
        assert now(server, one["id"])["shown"][one["id"]]["line"]
    with served(tasks) as server:
        assert len(now(server)["runs"]) == 1


def test_a_folder_without_runs_or_that_is_not_there_is_an_empty_table(tasks: Path) -> None:
    (tasks / "something").mkdir()
    for folder in (tasks, tasks / "later"):
        with served(folder) as server:
            assert now(server)["runs"] == []


def test_a_run_that_is_deleted_meanwhile_is_left_out(tasks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tasks / "one")
    seen = Overview(tasks)
    [found] = seen.runs()
    os.rename(found.folder, tasks.parent / "gone")
    assert seen.row(found)["changed"] == 0


# ---------------------------------------------------------------------------------------------- the command


def test_the_command_prints_the_address_and_ends_with_ctrl_c(tasks: Path) -> None:
    process = Forked("watch", str(tasks))
    try:
        awaited(lambda: "Ctrl-C ends it" in process.stdout, lambda: process.stderr)
        assert re.search(r"^  http://127\.0\.0\.1:\d+/\?token=[\w-]{43}$", process.stdout, re.MULTILINE), process.stdout
    finally:
        os.kill(process.pid, signal.SIGINT)
    assert process.wait() == 130
    assert "Traceback" not in process.stderr


@pytest.mark.parametrize("words", [["--open"], []])
def test_the_page_is_opened_in_the_browser_only_if_that_is_asked_for(
    tasks: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """By a file that no other user can read: the arguments of the browser are seen by all."""

    def opened(address: str) -> bool:
        path = Path(unquote(urlsplit(address).path))
        modes = [oct(each.stat().st_mode & 0o777) for each in (path, path.parent)]
        print("opened", json.dumps([address, *modes, path.read_text()]), flush=True)
        return False

    monkeypatch.setattr(webbrowser, "open", opened)
    process = Forked("watch", str(tasks), *words)
    last = "no browser was found" if words else "Ctrl-C ends it"
    awaited(lambda: last in process.stdout, lambda: process.stderr)
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait() == 143
    found = re.search("^opened (.*)", process.stdout, re.MULTILINE)
    assert bool(found) == bool(words)
    if found:
        address, mode, outer, page = json.loads(found[1])
        printed = re.search(r"^  (http://127.*/\?token=.*)$", process.stdout, re.MULTILINE)
        assert printed
        assert f'http-equiv="refresh" content="0;url={printed[1]}"' in page
        assert (urlsplit(address).scheme, mode, outer) == ("file", "0o600", "0o700")
        assert "token" not in address
        assert not Path(unquote(urlsplit(address).path)).parent.exists()


def test_a_folder_that_cannot_be_read_is_named(
    tasks: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The port was blamed for it."""

    def refuse(folder: Path) -> Any:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(Path, "iterdir", refuse)
    assert main(["watch", str(tasks)]) == 2
    assert capsys.readouterr().err == f"error: watch: {tasks} cannot be read: Permission denied\n"


def test_a_port_that_is_taken_and_a_folder_that_is_none_are_refused(
    tasks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["watch", str(tasks), "--port", str(port)]) == 2
    assert (
        capsys.readouterr().err
        == f"error: --port {port} is taken; choose another one, or leave --port out for a free one\n"
    )
    assert main(["watch", str(tasks / "none")]) == 2
    assert "is not a folder" in capsys.readouterr().err
    for wrong in ("0", "65536", "x"):
        with pytest.raises(SystemExit, match="2"):
            main(["watch", "--port", wrong])
        assert f"invalid port '{wrong}'" in capsys.readouterr().err


def test_the_server_needs_no_torch() -> None:
    """It runs beside the training, for hours."""
    imports = "import framework.commands.work.entry, framework.live.server, framework.runs.signals"
    code = f"import sys; {imports}; print({{'torch', 'matplotlib'}} & {{*sys.modules}})"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, capture_output=True).stdout == b"set()\n"


@pytest.mark.parametrize(
    "facts",
    [
        {"best": 10**400},
        {"score": {"mean": 10**400}},
        {"step": 1e308, "seconds": 1e-300},
        {"step": 10**308, "seconds": 0.5},
    ],
)
def test_numbers_that_no_float_holds_cost_no_answer(tasks: Path, facts: dict[str, object]) -> None:
    """One folder from a stranger must not hide all others."""
    run(tasks / "good")
    folder = run(tasks / "strange")
    known = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**known, **facts}))
    with served(tasks) as server:
        assert {each["name"] for each in now(server)["runs"]} == {"good", "strange"}
    assert "strange" in task_list.listing(root=tasks)
