"""A group that was interrupted goes on with one command, and ends as if nothing had been."""

import json
import os
import random
import re
import shlex
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from config.program import PROGRAM
from config.read.loader import ConfigError
from framework.archive import task_list
from framework.archive.members import of_group
from framework.catalog import ALGOS, ENVS
from framework.disk.atomic import write_whole
from framework.disk.task_dir import TaskDir, read_facts, take_lock
from framework.distributed import stage_tasks
from framework.jobs import job, members, processes
from framework.jobs.group import Group
from framework.jobs.stages import Stage
from tests.framework.jobs.test_seeds import PICKY, QUICK, run, wait_for, write_picky
from tests.tools.fake_ray import Call
from tests.tools.paths import in_the_suite
from tests.tools.process import Forked, forked, forking
from tests.tools.tuning import cluster, once

__all__ = ["forking"]
pytestmark = pytest.mark.usefixtures("forking")

WORDS = [*QUICK, "general_cfg.save_fig=false", "general_cfg.online_eval_episode=2"]
EXPERIMENTS = ["--algo", "QLearning,Sarsa", "--env", "shifted", "general_cfg.env_name=toy", *WORDS[3:]]
EXPERIMENTS = [word for word in EXPERIMENTS if "algo_name" not in word and "env_cfg.id" not in word]
RESULTS = ("train.csv", "eval.csv", "progress.csv")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(stage_tasks, "POLL_SECONDS", 0.01)


def runs_of(group: str) -> list[Path]:
    return sorted(path.parent for path in Path(group).glob("*/run.json"))


def outcome(group: str) -> dict[str, Any]:
    """Rows and weights of the runs of a group, and its table without durations."""
    files = {f"{task.name}/{name}": task / "results" / name for task in runs_of(group) for name in RESULTS}
    bits = {name: path.read_bytes() for name, path in files.items()}
    for task in runs_of(group):
        newest = max((task / "models").glob("[0-9]*"), key=lambda path: int(path.name))
        bits[f"{task.name}/weights"] = (newest / "state.safetensors").read_bytes()
    [table] = [path for name in ("seeds.csv", "runs.csv") if (path := Path(group, name)).exists()]
    rows = [line.split(",") for line in table.read_text().splitlines()]
    where = rows[0].index("seconds")
    facts = json.loads(Path(group, "group.json").read_text())
    means = {key: facts.get(key) for key in ("finished", "mean", "mean_interval", "experiments")}
    return {**bits, "table": [row[:where] + row[where + 1 :] for row in rows], "means": means}


TWO = [*WORDS, "--seeds", "1,2"]
GROUPS = [[*WORDS, "--seeds", "1..3"], [*EXPERIMENTS, "--seeds", "1,2"]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A group of two seeds that ran through, trained once: to be copied."""
    with once(tmp_path_factory.mktemp("whole")):
        assert run(*TWO, "--into", "two") == 0
        return Path("two").absolute()


def a_group(whole: Path, into: str = "here") -> Path:
    """A copy of the group, of which the second seed is to be trained again."""
    folder = Path(into)
    shutil.copytree(whole, folder)
    shutil.rmtree(folder / "seed_2")
    return folder


@pytest.mark.parametrize("words", in_the_suite(GROUPS, GROUPS[1]))
def test_a_group_whose_sessions_are_killed_ends_as_one_that_ran_through(words: list[str]) -> None:
    assert run(*words, "--into", "whole", "--jobs", "2") == 0
    process = Forked(*words, "--into", "parts", "--jobs", "2")
    moments = random.Random(3)
    wait_for(lambda: Path("parts/group.json").exists(), process)
    for _ in range(3):
        time.sleep(moments.uniform(0.0, 0.6))
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            process = Forked("resume", "parts", "--jobs", "2")
    assert process.wait() in (0, 2), process.stderr
    if process.returncode == 2:
        assert "all of its runs have finished; to train them further, give a higher limit: " in process.stderr
    assert outcome("parts") == outcome("whole")
    assert not list(Path("parts").glob("*.errors.txt"))


def test_a_killed_group_is_gone_on_with_and_a_process_that_it_left_is_waited_for() -> None:
    write_picky(PAUSE=0.005)
    words = [*PICKY, "general_cfg.max_total_step=300", "general_cfg.max_episode=-1", "general_cfg.model_save_fre=50"]
    process = Forked(*words, "--seeds", "1..2", "--into", "here", "--jobs", "1")
    wait_for(lambda: bool(list(Path("here/seed_1/models").glob("[0-9]*/manifest.json"))), process)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not Path("here/seed_2").exists()
    again = forked(*PICKY[:2], "--resume", "here")
    assert again.returncode == 0, again.stderr
    assert "seed 1: " in again.stdout
    assert [read_facts(TaskDir(Path("here", seed)).run)["step"] for seed in ("seed_1", "seed_2")] == [300, 300]
    assert "resumes" not in read_facts(TaskDir(Path("here/seed_1")).run), "its own process came to the end"


def test_after_ctrl_c_the_printed_command_trains_what_is_left_and_nothing_twice() -> None:
    write_picky(PAUSE=0.005)
    words = ["general_cfg.max_total_step=200", "general_cfg.model_save_fre=40", "general_cfg.max_episode=-1"]
    process = Forked(*PICKY, *words, "--seeds", "1..3", "--into", "here", "--jobs", "1", new_session=True)
    second = Path("here/seed_2/models")
    wait_for(lambda: bool(list(second.glob("[0-9]*/manifest.json"))), process)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait() == 130, process.stderr
    [command] = re.findall(r"^to go on +python main.py (.*)$", process.stdout, re.MULTILINE)
    assert command == f"--allow-import mine resume {Path('here').absolute()}"
    first = Path("here/seed_1/run.json").read_bytes()
    done = forked(*shlex.split(command))
    assert done.returncode == 0, done.stderr
    assert "to go on" not in done.stdout
    assert Path("here/seed_1/run.json").read_bytes() == first, "it was finished"
    assert len(read_facts(TaskDir(Path("here/seed_2")).run)["resumes"]) == 1
    table = Path("here/seeds.csv").read_text().splitlines()
    status = table[0].split(",").index("status")
    assert [row.split(",")[status] for row in table[1:]] == ["0", "0", "0"]
    assert "(last evaluations of 3 of 3 runs, 10 episodes each)" in done.stdout
    assert '"finished": 3' in Path("here/group.json").read_text()


def test_a_group_whose_first_run_has_not_begun_goes_on_to_a_higher_limit(
    whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = a_group(whole)
    shutil.rmtree(folder / "seed_1")
    assert run("resume", "here", "general_cfg.max_update=900") == 2
    assert "general_cfg.max_update: the runs of the group end by max_total_step; give a " in capsys.readouterr().err
    assert run("resume", "here", "general_cfg.max_total_step=250") == 0
    assert [read_facts(task / "run.json")["finished"] for task in runs_of("here")] == [True, True]


def test_a_group_with_a_higher_limit_is_one_that_had_it_from_the_beginning(
    whole: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = "general_cfg.max_total_step=300"
    assert run(*TWO, limit, "--into", "higher", "--jobs", "2") == 0
    shutil.copytree(whole, "parts")
    assert run("resume", "parts/seed_2", limit) == 0, "one of them has been trained further already"
    with monkeypatch.context() as cut:  # the session ends before a run has begun to go on
        cut.setattr(Group, "take_up", lambda group: (_ for _ in ()).throw(KeyboardInterrupt))
        assert run("resume", "parts", limit) == 130
    assert run("resume", "parts", "--jobs", "2") == 0
    assert outcome("parts") == outcome("higher")
    assert run("resume", "parts") == 2
    assert f"give a higher limit: {PROGRAM} resume parts general_cfg.max_total_step=N" in capsys.readouterr().err


def test_a_run_that_failed_is_tried_again() -> None:
    write_picky(RAISES=-1)
    assert run(*PICKY, "--seeds", "1..2", "general_cfg.max_total_step=60", "--into", "here") == 0
    shutil.rmtree("here/seed_2")
    Path("here/seed_2.errors.txt").write_text("error: a reason of before\n")
    assert run(*PICKY[:2], "resume", "here") == 0
    assert not Path("here/seed_2.errors.txt").exists()


# -------------------------------------------------------------------------------------------- what cannot go on


def test_a_group_goes_on_with_its_own_settings_and_by_one_program_at_a_time(
    whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = a_group(whole)
    for words, answer in {
        ("algo_cfg.data=x.pkl",): "the runs of the group learn from no given data; leave out algo_cfg.data=x.pkl",
        ("algo_cfg.lr=0.5",): "the same data by another path; leave out algo_cfg.lr=0.5",
        ("general_cfg.max_total_step=5",): "general_cfg.max_total_step=5: the runs of the group end at ",
        ("general_cfg.max_update=900",): "general_cfg.max_update: the runs of the group end by max_total_step; give a ",
        ("general_cfg.mp_backend=single",): "leave out general_cfg.mp_backend=single",
        (
            "--seeds",
            "1..3",
        ): "train further seeds as a new group, and take both as one: python main.py compare GROUP+NEW ",
        ("--pause-at-step", "9"): "--pause-at-step and --no-evaluation are for training one run",
        ("--config", '{"lr": 0.1}'): "a group keeps its own settings; leave out --yaml, ",
    }.items():
        assert run("resume", "here", *words) == 2
        assert answer in capsys.readouterr().err
    with processes.locked(folder):
        settings = (folder / "config.yaml").read_bytes()
        write_whole(folder / "config.yaml", settings)  # as a session with higher limits does
        assert run("resume", "here") == 2
    assert "here is being trained by another process; wait for it, or stop it first" in capsys.readouterr().err
    with open("here/seed_1.errors.txt", "ab") as errors:
        assert take_lock(errors)
    assert not Path("here/seed_2").exists()
    assert run("resume", "here") == 0
    assert run("resume", "here") == 2, "nothing is left to train"
    assert "all of its runs have finished; to train them further, give a higher limit: " in capsys.readouterr().err


def test_a_group_goes_on_without_a_run_whose_table_is_damaged(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = a_group(whole)
    (folder / "seed_1/results/eval.csv").write_text("a,b\n1,2\n")
    assert run("resume", "here", "general_cfg.max_total_step=250") == 1
    assert (
        "here/seed_1/results/eval.csv has other columns than this run (it has a, b, and it has no update, "
        in capsys.readouterr().out
    )
    assert read_facts(folder / "seed_2/run.json")["step"] == 250


@pytest.mark.parametrize(("kept", "lacking"), [(0, "general_cfg, algo_cfg, env_cfg"), (1, "algo_cfg, env_cfg")])
def test_a_group_whose_settings_are_gone_is_no_group_with_the_defaults(
    whole: Path, kept: int, lacking: str, tmp_path: Path
) -> None:
    file = a_group(whole, str(tmp_path / "here")) / "config.yaml"
    sections = re.split(r"^(?=algo_cfg)", file.read_text(), flags=re.MULTILINE)
    file.write_text("".join(sections[:kept]))
    with pytest.raises(ConfigError, match=f"config.yaml lacks {lacking}: how the runs"):
        members.with_settings(file.parent, of_group(file.parent), (), find_algo=ALGOS, find_env=ENVS)
    file.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match=r"not UTF-8 text.*; resume the runs one by one, such as .*seed_1$"):
        members.with_settings(file.parent, of_group(file.parent), (), find_algo=ALGOS, find_env=ENVS)


def test_a_group_of_an_earlier_version_is_listed_and_goes_on_where_its_files_say_how(
    whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = a_group(whole, "tasks/Seeds_a")
    facts = json.loads((folder / "group.json").read_text())
    assert [listed.name for listed in task_list.find_runs()] == ["Seeds_a/seed_1"]
    (folder / "group.json").write_text("{}")
    assert run("resume", "Seeds_a") == 2
    assert "tasks/Seeds_a/group.json is damaged, or of an earlier version: it " in capsys.readouterr().err
    (folder / "group.json").write_text(json.dumps({"seeds": facts["seeds"]}))
    assert run("resume", "Seeds_a") == 0
    assert (folder / "seed_2/run.json").exists()


@pytest.mark.parametrize("text", ['{"command_line": [', '{"seeds": [1, 2, "x"]}', "[]"])
@pytest.mark.parametrize("begun", [True, False])
def test_a_group_whose_runs_are_not_known_is_said_to_be_damaged(
    text: str, begun: bool, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = a_group(whole)
    (folder / "group.json").write_text(text)
    if not begun:
        shutil.rmtree(folder / "seed_1")
    assert run("resume", "here") == 2
    err = capsys.readouterr().err
    assert err.startswith("here/group.json is damaged, or of an earlier version: ")
    assert ("one by one, such as here/seed_1\n" if begun else "train them as a new group\n") in err


@pytest.mark.parametrize("names", [[], ["a", 3], "a", [True], [{"a": 1}], ["x"], [1, 1], [7]])
def test_names_that_the_files_beside_them_do_not_bear_out_are_no_runs(tmp_path: Path, names: object) -> None:
    (tmp_path / "a.yaml").touch()
    for key in ("runs", "seeds"):
        (tmp_path / "group.json").write_text(json.dumps({key: names}))
        assert members.unfinished(tmp_path) == []


@pytest.mark.parametrize(
    ("names", "files", "folders"),
    [
        (["A 1", "A 2", "b/c 1", "b/c 2"], ["A", "b-c"], ["A_1", "A_2", "b-c_1", "b-c_2"]),
        (["A 1", "b"], ["A-1", "b"], ["A-1", "b"]),
        (["A 1"], ["A-1"], ["A-1"]),
        (["A 1"], ["A"], ["A_1"]),
    ],
)
def test_the_runs_of_experiments_are_known_by_their_names_and_files(
    tmp_path: Path, names: list[str], files: list[str], folders: list[str]
) -> None:
    (tmp_path / "group.json").write_text(json.dumps({"runs": names}))
    for name in files:
        (tmp_path / f"{name}.yaml").touch()
    found = members.unfinished(tmp_path)
    assert [member.folder for member in found] == folders
    assert [member.name for member in found] == names
    assert {member.file for member in found} == {f"{name}.yaml" for name in files}


@pytest.mark.parametrize("name", ["config.yaml", "group.json", "seed_1", "seed_2", "seed_2.errors.txt", "seeds.csv"])
def test_a_group_with_a_link_is_refused_and_nothing_is_changed(
    name: str, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = a_group(whole)
    Path("mine").mkdir()
    place = folder / name
    target = Path("mine", name)
    if place.exists():
        place.rename(target)
    place.symlink_to(target.absolute())
    before = sorted(folder.rglob("*"))
    assert run("resume", "here") == 2
    assert f"{place} is a link; a group of runs holds" in capsys.readouterr().err
    assert sorted(folder.rglob("*")) == before


def test_the_cluster_that_a_folder_names_is_not_used_without_a_word(
    whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = a_group(whole)
    text = (folder / "config.yaml").read_text()
    text = text.replace("mp_backend: single", "mp_backend: ray").replace("ray_address: null", "ray_address: evil:1")
    (folder / "config.yaml").write_text(text)
    assert run("resume", "here") == 2
    assert "add general_cfg.ray_address=evil:1, or general_cfg.ray_address=null" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "kind"), [("tune.json", "a tuning, with a run for each trial"), ("group.json", "a group of runs")]
)
def test_a_folder_of_which_no_run_has_begun_names_the_command_that_goes_on(
    file: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("tasks/New a").mkdir(parents=True)
    Path("tasks/New a", file).write_text("{}")
    assert run("test", "New a") == 2
    said = capsys.readouterr().err
    assert f"is {kind}, and none has begun; to go on: python main.py resume 'tasks/New a'" in said


def test_a_tuning_without_settings_is_not_gone_on_with(capsys: pytest.CaptureFixture[str]) -> None:
    Path("tasks/Tune a").mkdir(parents=True)
    Path("tasks/Tune a/tune.json").write_text("{}")
    assert run("resume", "Tune a") == 2
    assert "tasks/Tune a/config.yaml: no such file" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------------ a cluster


def dies_once(call: Call) -> str | None:
    return "after" if (call.method, call.number) == ("run", 1) else None


def test_a_cluster_trains_whole_runs_with_the_bits_of_this_machine(
    whole: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ray = cluster(monkeypatch, dies_once)
    words = ("general_cfg.mp_backend=ray", "general_cfg.ray_address=10.0.0.1:6379")
    assert run(*TWO, "--into", "there", *words) == 0
    out = capsys.readouterr().out
    assert "2 runs, 2 at once: there" in out
    assert "run seed 2: killed after run; it goes on from where it was" in out
    assert outcome("there") == outcome(str(whole))
    assert len(ray.actors) == 3, "2 runs, 1 of them again"
    settings = Path("there/config.yaml").read_text()
    assert "mp_backend: single" in settings, "it goes on here, too"
    assert "10.0.0.1" not in settings, "a stranger's folder names no machine to connect to"
    shutil.rmtree("there/seed_2")
    assert run("resume", "there", *words) == 0
    assert len(ray.actors) == 4
    assert outcome("there") == outcome(str(whole))


def test_several_workers_of_a_run_are_spread_and_not_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes of such a run are started here, with the address among their words."""
    ray, commands = cluster(monkeypatch), []
    monkeypatch.setattr(processes, "of_command", lambda command, *more: commands.append(command) or _nothing)
    words = ["general_cfg.mp_backend=ray", "general_cfg.ray_address=10.0.0.1:6379", "general_cfg.n_workers=3"]
    words += ["general_cfg.env_name=toy", "env_cfg.id=match", "general_cfg.algo_name=PPO"]
    assert run(*words, "--seeds", "1,2", "--into", "here") == 0
    assert not ray.actors
    assert [command[-2:] for command in commands] == [
        [f"general_cfg.seed={seed}", "general_cfg.ray_address=10.0.0.1:6379"] for seed in (1, 2)
    ]
    assert "ray_address: null" in Path("here/config.yaml").read_text()


def _nothing(errors: Any, telling: int) -> Any:
    class StageEnd:
        def poll(self) -> int:
            return 0

    return StageEnd()


def test_the_data_of_a_group_may_lie_elsewhere_when_it_goes_on(tmp_path: Path) -> None:
    """A run took another path, a group did not: it was to be resumed run by run."""
    stage = Stage("seed_1", "seed 1", tmp_path / "config.yaml", tmp_path, words=("algo_cfg.data=b", "algo_cfg.lr=1"))
    (tmp_path / "models" / "20").mkdir(parents=True)
    assert "algo_cfg.data=b" in stage.command()
    assert "algo_cfg.lr=1" not in stage.command()


def test_a_dry_run_of_a_group_says_which_runs_go_on_and_changes_nothing(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(whole, "here")
    before = {path: path.read_bytes() for path in Path("here").rglob("*") if path.is_file()}
    assert run("resume", "here", "--dry-run") == 2
    assert "all of its runs have finished; to train them further" in capsys.readouterr().err
    assert run("resume", "here", "general_cfg.max_total_step=900", "--dry-run") == 0
    said = capsys.readouterr()
    assert "resume goes on with 2 of 2 runs: seed_1, seed_2; this is seed_1" in said.err
    assert re.search(r"general_cfg.max_total_step +900", said.out)
    assert before == {path: path.read_bytes() for path in Path("here").rglob("*") if path.is_file()}
