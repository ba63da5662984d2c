"""Words of the command line: train, test, resume, film, evaluate, runs; what they mean, and what they refuse."""

import contextlib
import errno
import fcntl
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from config.read import tasks
from framework import commands
from framework.archive import task_list
from framework.disk.task_dir import TaskDir, held_lock, is_locked
from framework.jobs import processes
from framework.jobs.supervisor import was_killed_early
from framework.live.overview import Overview
from main import main

NAME = "Train_CartPole-v1_DQN_20260131-101500"


def asked(*argv: str) -> dict[str, object]:
    """What is asked for, without what is left out."""
    values = vars(commands.parse(argv))
    return {key: value for key, value in values.items() if value not in (None, "", False, [])}


# ----------------------------------------------------------------------------------------------------- parsing


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        (["train"], []),
        (["train", "--algo", "PPO", "algo_cfg.lr=1"], ["--algo", "PPO", "algo_cfg.lr=1"]),
        (["--allow-import", "x", "train"], ["--allow-import", "x"]),
        (["--algo", "PPO", "-f", "a.yaml"], ["--algo", "PPO", "--yaml", "a.yaml"]),
        (["test", NAME, "env_cfg.n_envs=2"], ["--test", NAME, "env_cfg.n_envs=2"]),
        (["--allow-import", "x", "test", NAME], ["--allow-import", "x", "--test", NAME]),
        (["test", "--allow-import", "x", NAME], ["--allow-import", "x", "--test", NAME]),
        (["test", "a=b"], ["--test", "a=b"]),
        (["test", "runs"], ["--test", "runs"]),
        (["resume", NAME, "general_cfg.seed=2"], ["--resume", NAME, "general_cfg.seed=2"]),
        (["resume", "a/b c"], ["--resume", "a/b c"]),
        (["film", NAME], ["--test", NAME, "--video"]),
        (["film", "--episodes", "3", NAME], ["--test", NAME, "--video", "--episodes", "3"]),
    ],
)
def test_a_word_means_what_its_flags_mean(words: list[str], flags: list[str]) -> None:
    with_word = asked(*words)
    with_word.pop("word", None)
    assert with_word == asked(*flags)


def test_evaluate_takes_episodes_or_steps_a_model_and_a_file() -> None:
    request = asked("evaluate", NAME, "--steps", "1000", "--model", "latest", "--out", "x.jsonl", "env_cfg.n_envs=2")
    assert request == {
        "word": "evaluate", "test": NAME, "steps": 1000, "model": "latest", "out": "x.jsonl",
        "overrides": ["env_cfg.n_envs=2"],
    }  # fmt: skip
    assert commands.parse(["evaluate", NAME, "--model", "500"]).model == 500


@pytest.mark.parametrize(
    "argv",
    [
        ["test", "my", "old", "run"],
        ["film", "--video", "my", "old", "run"],
        ["resume", "my", "old", "run", "general_cfg.max_episode=3"],
        ["tune", "--resume", "my", "old", "run"],
        ["runs", "my", "old", "run"],
        ["watch", "my", "old", "run"],
        ["compare", "other", "my", "old", "run"],
        ["compare", "my", "old", "run", "a" * 300],
        ["sync", "my", "old", "run"],
        ["data", "my", "old", "run", "--json"],
        ["--yaml", "my", "old", "run"],
    ],
)
def test_a_name_with_blanks_and_without_quotes_is_told_with_them_by_each_command(
    argv: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("my old run", "other"):
        Path("tasks", name).mkdir(parents=True)
    with pytest.raises(SystemExit) as end:
        main(argv)
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("there is no 'my'; did you mean 'my old run'?\n")


@pytest.mark.parametrize(
    ("argv", "answer"),
    [
        (["test"], "test needs the name of a run: python main.py test NAME; python main.py runs lists them"),
        (["test", " "], "test needs the name of a run"),
        (["resume", "algo_cfg.lr=1"], "resume needs the name of a run"),
        (["film", "--episodes", "2"], "film needs the name of a run"),
        (["test", "a", "--test", "b"], "test a names the run; leave out --test and --resume"),
        (["test", "a", "b"], "'b' is neither a command nor section.key=value"),
        (["train", "my.yaml"], "'my.yaml': a file is given as --yaml my.yaml"),
        (["--seeds", "1..2", "test", "x"], "'test' comes first: python main.py test ..."),
        (["cluster"], "cluster needs a batch system: slurm, kuberay or kubernetes"),
        (["trian"], "did you mean train?"),
        (["run", "x.yaml"], "'run' is not a command here; use python main.py train"),
        (["stop", "x"], "Ctrl+C in the terminal of a run stops it and saves it; python main.py resume x goes on"),
        (["init"], "use python main.py --print-config > my.yaml for a file of all settings"),
        (["play", "x"], "'play' is not a command here; python main.py film x makes a video"),
        (["resume", "a", "--algo", "PPO"], "leave out --algo and --env"),
        (["test", "a", "general_cfg.load_path=b"], "--test and general_cfg.load_path both set the run"),
        (["resume", "a", "general_cfg.load_path=b"], "--resume and general_cfg.load_path both set the run"),
        (["resume", "a", "general_cfg.load_checkpoint=false"], "both set whether a run is loaded"),
        (["test", "a", "general_cfg.mode=train"], "--test and general_cfg.mode both set the mode"),
        (["resume", "a", "general_cfg.mode=test"], "--resume and general_cfg.mode both set the mode"),
        (["test", "a", "--episodes", "2", "general_cfg.max_episode=3"], "both set the number of episodes"),
        (["--episodes", "9"], "training ends at general_cfg.max_episode=9"),
        (["--model", "best"], "--model is for test, film and evaluate"),
        (["test", "a", "--steps", "9"], "--steps is for: python main.py evaluate NAME"),
        (["evaluate", "a", "--steps", "9", "--episodes", "2"], "leave one of them out"),
        (["evaluate", "a", "--video"], "evaluate writes no task directory"),
        (["evaluate", "a", "--into", "b"], "evaluate writes no task directory"),
        (["evaluate", "a", "--episodes", "0"], "invalid number '0': use a whole number, 1 or more"),
        (["evaluate", "a", "--steps", "-1"], "--steps"),
        (
            ["evaluate", "a", "--model", "newest"],
            "invalid model 'newest': use best, latest, or the number of an update",
        ),
        (["--checkpoint-freq", "-1"], "--checkpoint-freq"),
        (
            ["--checkpoint-freq", "3", "general_cfg.model_save_fre=1"],
            "--checkpoint-freq and general_cfg.model_save_fre",
        ),
        (["--config", ""], "--config: nothing was given"),
        (["runs", "a", "b"], "unexpected argument 'b'"),
        (["runs", "--jsn"], "unknown flag --jsn; did you mean --json?"),
    ],
)
def test_a_word_that_does_not_fit_is_answered(
    argv: list[str], answer: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(argv)
    assert (end.value.code, list(tmp_path.iterdir())) == (2, [])
    assert answer in capsys.readouterr().err


@pytest.mark.parametrize("word", ["test", "resume", "film", "evaluate"])
def test_a_name_that_does_not_exist_is_answered_in_the_words_of_the_command(
    word: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([word, "nothing"]) == 2
    assert capsys.readouterr().err.startswith(f"{word}: general_cfg.load_path: 'nothing' does not exist")


def test_a_list_of_runs_that_is_typed_in_their_folder_names_the_folder_above(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "tasks" / "mine"
    place.mkdir(parents=True)
    for here in (place, place.parent):
        monkeypatch.chdir(here)
        assert main(["runs"]) == 0
        answer = f"no runs in {here / 'tasks'}; you are in {here}: type it in {tmp_path}\n"
        assert capsys.readouterr().out == answer
    monkeypatch.chdir(tmp_path)
    assert main(["runs"]) == 0
    assert capsys.readouterr().out == f"no runs in {tmp_path / 'tasks'}\n"


# ---------------------------------------------------------------------------------------- names of other programs

COMMON = {
    "lr": "algo_cfg.lr", "learning_rate": "algo_cfg.lr", "total_timesteps": "general_cfg.max_total_step",
    "n_timesteps": "general_cfg.max_total_step", "num_envs": "env_cfg.n_envs", "n_envs": "env_cfg.n_envs",
    "training_num": "env_cfg.n_envs", "gym_id": "env_cfg.id", "env_id": "env_cfg.id", "seed": "general_cfg.seed",
    "cuda": "general_cfg.device", "device": "general_cfg.device", "num_steps": "algo_cfg.batch_size",
    "n_steps": "algo_cfg.batch_size", "batch_size": "algo_cfg.batch_size", "minibatch_size": "algo_cfg.sgd_batch_size",
    "gamma": "algo_cfg.gamma", "gae_lambda": "algo_cfg.gae_lambda", "clip_range": "algo_cfg.eps_clip",
    "clip_coef": "algo_cfg.eps_clip", "ent_coef": "algo_cfg.entropy_coef", "vf_coef": "algo_cfg.vf_coef",
    "n_epochs": "algo_cfg.k_epochs", "update_epochs": "algo_cfg.k_epochs", "repeat_per_collect": "algo_cfg.k_epochs",
    "max_grad_norm": "algo_cfg.max_grad_norm", "net_arch": "algo_cfg.actor_layers", "norm_adv": "normalize_advantage",
    "hidden_sizes": "algo_cfg.actor_layers", "anneal_lr": "algo_cfg.lr_schedule", "rew_norm": "normalize_reward",
    "capture_video": "env_cfg.render_mode", "eval_freq": "general_cfg.model_save_fre", "num_workers": "n_workers",
    "n_eval_episodes": "general_cfg.online_eval_episode", "test_num": "general_cfg.online_eval_episode",
    "save_freq": "general_cfg.model_save_fre", "epoch": "general_cfg.max_iteration", "stop_iters": "max_iteration",
    "step_per_epoch": "general_cfg.iteration_steps", "stop_reward": "general_cfg.stop_return", "log_interval": "fre",
    "track": "cfg.loggers", "wandb": "cfg.loggers",
    "tensorboard_log": "tb_logs/", "verbose": "progress is always shown",
    "progress_bar": "progress is always shown", "policy": "actor_layers", "env_kwargs": "settings under env_cfg",
    "exp_name": "--into FOLDER", "buffer_size": "buffer_size", "learning_starts": "learning_starts",
    "train_freq": "train_fre", "gradient_steps": "updates_per_train", "target_update_interval": "target_update",
    "exploration_fraction": "epsilon_decay", "polyak": "tau", "num_gpus": "general_cfg.num_gpus_per_learner",
}  # fmt: skip
"""Name that users of Stable-Baselines3, CleanRL, RLlib and Tianshou type -> part of the answer with PPO."""


@pytest.mark.parametrize("name", COMMON)
def test_a_name_of_another_library_is_answered_as_a_flag(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--algo", "PPO", f"--{name.replace('_', '-')}", "5"])
    assert COMMON[name] in capsys.readouterr().err


def test_names_of_other_libraries_are_answered_as_settings(capsys: pytest.CaptureFixture[str]) -> None:
    """All at once, each with one line, as a word without a section and as a setting of the algorithm."""
    assert main(["--algo", "PPO", *(f"{name}=5" for name in COMMON)]) == 2
    lines = {
        line.split(": ")[1]: line for line in capsys.readouterr().err.splitlines() if ": not inside a section " in line
    }
    assert set(lines) == set(COMMON)
    for name, part in COMMON.items():
        assert part.rpartition(".")[2] in lines[name]

    assert main(["--algo", "PPO", *(f"algo_cfg.{name}=5" for name in COMMON)]) == 2
    said = capsys.readouterr().err.splitlines()
    unknown = {line.split("algo_cfg.")[1].split(": ")[0]: line for line in said if ": unknown setting" in line}
    assert len(unknown) > 45
    for name, line in unknown.items():
        assert COMMON[name].rpartition(".")[2] in line or "it belongs under" in line


def test_a_flag_of_another_library_is_answered_for_the_algorithm_of_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for algo, answer in {"DQN": "algo_cfg.n_step=VALUE (on", "PPO": "algo_cfg.batch_size=VALUE (on-policy: "}.items():
        with pytest.raises(SystemExit):
            main(["--n-steps", "128", "--run", algo])
        assert answer in capsys.readouterr().err


# -------------------------------------------------------------------------------------------------------- runs


def make_run(root: Path, name: str, facts: object = None, algo: str = "DQN", age: float = 0) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(f"general_cfg:\n  algo_name: {algo}  # help\nenv_cfg:\n  id: Acrobot-v1\n")
    if facts is not None:
        (folder / "run.json").write_text(json.dumps(facts))
    for path in (folder / "run.json", folder):
        if path.exists():
            os.utime(path, (time.time() - age, time.time() - age))
    return folder


def test_runs_are_listed_newest_first_with_state_score_and_size(tmp_path: Path) -> None:
    make_run(tmp_path, "one", {"outcome": "x", "finished": True, "best": 200.0}, age=100)
    make_run(tmp_path, "tested", {"score": {"mean": 12.5}}, age=7300)
    make_run(tmp_path, "stopped", {"outcome": "interrupted", "finished": False, "best": None}, "PPO", age=90_000)
    make_run(tmp_path, "killed", {"seed": 1}, age=5)
    make_run(tmp_path, "group/seed_1", {"outcome": "x", "finished": True, "best": 3.0}, age=50)
    (tmp_path / "group/group.json").write_text("{}")
    (tmp_path / "other").mkdir()
    text = task_list.listing(root=tmp_path)
    rows = [line.split(maxsplit=5) for line in text.splitlines() if not line.startswith("  ")]
    assert rows[0] == ["name", "algorithm", "environment", "state", "score", "age    size"]
    assert [row[:5] for row in rows[1:]] == [
        ["killed", "DQN", "Acrobot-v1", "failed", "-"],
        ["group/seed_1", "DQN", "Acrobot-v1", "finished", "3"],
        ["one", "DQN", "Acrobot-v1", "finished", "200"],
        ["tested", "DQN", "Acrobot-v1", "finished", "12.5"],
        ["stopped", "PPO", "Acrobot-v1", "interrupted", "-"],
    ]
    assert [row[5].split()[:2] for row in rows[1:]] == [["5", "s"], ["50", "s"], ["2", "min"], ["2", "h"], ["1", "d"]]
    assert task_list.listing("SEED", tmp_path).count("\n") == 2
    assert task_list.listing("zzz", tmp_path) == f"no runs with 'zzz' in their name in {tmp_path}\n"
    assert f"watch {tmp_path} shows the runs in that folder" in task_list.listing(str(tmp_path), tmp_path)
    size = sum(path.stat().st_size for path in (tmp_path / "one").iterdir())
    assert rows[3][5].endswith(f"{size} B")
    [one] = json.loads(task_list.as_json("one", tmp_path))
    assert one == {"name": "one", "algorithm": "DQN", "environment": "Acrobot-v1", "state": "finished", "score": 200.0,
                   "age": one["age"], "size": size, "tags": [], "note": "", "reason": ""}  # fmt: skip
    assert 99 < one["age"] < 110
    assert json.loads(task_list.as_json(root=tmp_path / "none")) == []


def test_a_run_that_failed_is_listed_with_its_reason_on_a_line_of_its_own(tmp_path: Path) -> None:
    make_run(tmp_path, "one", {"outcome": f"failed: no \033[2J {'x' * 9000}", "finished": False}, age=9)
    make_run(tmp_path, "two", {"outcome": "max_episode 3 reached", "finished": True}, age=20)
    make_run(tmp_path, "killed", {"seed": 1}, age=30)
    (make_run(tmp_path, "lost", {}) / "run.json").unlink()
    make_run(tmp_path, "unsaved", {"outcome": "max_episode 3 reached", "finished": False}, age=40)
    _, *rest = task_list.listing(root=tmp_path).splitlines()
    states = [line.split()[3] for line in rest if line[0] != " "]
    assert states == ["failed", "failed", "finished", "failed", "failed"]
    lost, why, killed, unsaved = (line for line in rest if line[0] == " ")
    assert why.startswith("  no \\x1b[2J xx")
    assert len(why) < 1000
    assert killed == "  no end is recorded, as after kill -9, a second Ctrl-C or a power failure"
    assert lost == "  run.json is missing"
    assert unsaved.startswith("  its last model could not be saved, or its best one could not be chosen")


def test_a_folder_that_may_not_be_entered_hides_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(tmp_path, "mine", {"outcome": "x", "finished": True}, age=9)
    theirs = str(make_run(tmp_path, "theirs", {}))
    stat = os.stat

    def refusing(path: Any, *arguments: Any, **more: Any) -> os.stat_result:
        if not isinstance(path, int) and os.fspath(path).startswith(theirs + os.sep):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return stat(path, *arguments, **more)

    monkeypatch.setattr(os, "stat", refusing)
    _, mine, closed = task_list.listing(root=tmp_path).splitlines()
    assert mine.startswith("mine ")
    assert closed == "not allowed to read: theirs"
    assert "theirs" not in task_list.listing("mine", tmp_path)
    assert [run.folder.name for run in Overview(tmp_path).runs()] == ["mine"]
    (tmp_path / "mine" / "models").mkdir()
    with pytest.raises(tasks.TaskError, match="did you mean mine"):
        tasks.find("mini", tmp_path)


def test_runs_from_before_the_clock_was_set_back_are_in_order(tmp_path: Path) -> None:
    for number in (2, 5, 1, 4, 3):
        make_run(tmp_path, f"run_{number}", {"outcome": "x", "finished": True}, age=-600 * number)
    listed = task_list.find_runs(root=tmp_path)
    assert [(run.name, run.age) for run in listed] == [(f"run_{number}", 0.0) for number in (5, 4, 3, 2, 1)]


def test_a_report_that_is_written_anew_makes_no_run_younger(tmp_path: Path) -> None:
    """As the test of a run does, whose report lists it."""
    folder = make_run(tmp_path, "one", {"outcome": "x", "finished": True}, age=7300)
    (folder / "report.html").write_text("")
    [listed] = task_list.find_runs(root=tmp_path)
    assert listed.age > 7200


def test_a_run_is_running_as_long_as_its_directory_is_locked(tmp_path: Path) -> None:
    folder = make_run(tmp_path, "one", {"outcome": "x", "finished": True})
    assert not is_locked(folder)
    task = TaskDir(folder)
    task.open()
    assert is_locked(folder)
    assert [run.state for run in task_list.find_runs(root=tmp_path)] == ["running"]
    task.close()
    assert [run.state for run in task_list.find_runs(root=tmp_path)] == ["finished"]


def test_looking_at_a_lock_does_not_keep_a_run_from_starting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shared lock of a look that takes long is given back during the pause before the second attempt."""
    folder = make_run(tmp_path, "one")
    with open(folder / ".lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        monkeypatch.setattr(time, "sleep", lambda seconds: fcntl.flock(file, fcntl.LOCK_UN))
        task = TaskDir(folder)
        task.open()
        task.close()


def test_a_file_system_without_locks_trains_runs_and_groups_and_cleans_nothing_up(tmp_path: Path, monkeypatch) -> None:
    """Lustre has none unless it is mounted with `flock`; each run there was said to be written by another one."""

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    run = tmp_path / "run"
    (run / "models").mkdir(parents=True)
    task = TaskDir(run)
    task.open()
    assert not task.has_locks
    with processes.locked(run):
        assert not is_locked(run)
    assert held_lock(run) is None, "who deletes what nobody uses needs a lock"
    task.close()
    assert not was_killed_early(run), "another process may write there"
    monkeypatch.undo()
    assert was_killed_early(run)
    with contextlib.closing(TaskDir(run)) as task:
        task.open()
        assert task.has_locks


def test_directories_of_strangers_are_listed_without_harm(tmp_path: Path) -> None:
    """Links, pipes, a huge number, bad text and control characters: nothing is followed, waited for or printed raw."""
    secret = tmp_path / "secret"
    secret.write_text("general_cfg: {algo_name: SECRET}\n")
    root = tmp_path / "tasks"
    for name, config in {"link": None, "pipe": None, "broken": "general_cfg: [", "list": "- 1\n"}.items():
        folder = make_run(root, name)
        (folder / "config.yaml").unlink()
        if config is not None:
            (folder / "config.yaml").write_text(config)
        (folder / "run.json").write_text("[" * 10_000)
    (root / "link/config.yaml").symlink_to(secret)
    (root / "link/loop").symlink_to(root)
    os.mkfifo(root / "pipe/config.yaml")
    os.mkfifo(root / "pipe/.lock")
    (root / "out").symlink_to(tmp_path)
    odd = make_run(root, "odd", {"best": 1e400, "outcome": ["x"]})
    (odd / "config.yaml").write_text('general_cfg:\n  algo_name: "a\\e[31mb"\n')
    odd.rename(root / "o\033[2Jdd")
    runs = {run.name: run for run in task_list.find_runs(root=root)}
    assert set(runs) == {"link", "pipe", "broken", "list", "o\\x1b[2Jdd"}
    assert {runs[name].algorithm for name in ("link", "pipe", "broken", "list")} == {"?"}
    assert runs["o\\x1b[2Jdd"][1:5] == ("a\\x1b[31mb", "?", "failed", None)
    assert runs["link"].size < 50_000
    assert runs["link"].reason == "config.yaml is not read: is a link, which is not followed inside a task directory"
    assert runs["pipe"].reason == "config.yaml is not read: is not a regular file"
    assert runs["list"].reason == "run.json is not read: it is no JSON that can be read"


@pytest.mark.parametrize("size", [5 * 2**20, 2**35])
def test_a_file_that_is_too_large_is_told_in_a_line_and_the_other_runs_are_listed(tmp_path: Path, size: int) -> None:
    """In a folder of a stranger; none of its bytes are read."""
    make_run(tmp_path, "good", {"outcome": "x", "finished": True, "best": 2.0}, age=50)
    for name in ("config.yaml", "run.json", "group.json", "tune.json"):
        os.truncate(str(make_run(tmp_path, name[:4], {"outcome": "x"}) / "config.yaml"), 0)
        with open(tmp_path / name[:4] / name, "wb") as file:
            file.truncate(max(size, 17 * 2**20) if name == "run.json" else size)
    lines = task_list.listing(root=tmp_path).splitlines()
    assert [line.split()[0] for line in lines if not line.startswith("  ")] == ["name", "run.", "conf", "good"]
    assert "  config.yaml is not read: is larger than 1 MiB" in lines
    assert "  run.json is not read: is larger than 16 MiB" in lines
    assert [run.state for run in task_list.find_runs("good", tmp_path)] == ["finished"]


def test_hundreds_of_runs_are_listed_in_a_second(tmp_path: Path) -> None:
    text = "general_cfg:\n  algo_name: DQN\n" + "  x: 1  # help\n" * 150 + "env_cfg:\n  id: Acrobot-v1\n"
    for number in range(300):
        folder = make_run(tmp_path, f"run_{number}", {"outcome": "x", "finished": True})
        (folder / "config.yaml").write_text(text)
    began = time.process_time()
    assert len(task_list.find_runs(root=tmp_path)) == 300
    assert time.process_time() - began < 1.5


@pytest.mark.parametrize("columns", [80, 200])
def test_a_narrow_terminal_gets_names_on_lines_of_their_own(
    columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run(tmp_path, f"{NAME}_with_a_long_name", {"outcome": "x", "finished": True, "best": 200.0})
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    lines = task_list.listing(root=tmp_path).splitlines()
    assert max(map(len, lines)) <= columns
    assert len(lines) == (4 if columns == 80 else 2)
    monkeypatch.setattr("sys.stdout.isatty", lambda: False, raising=False)
    assert len(task_list.listing(root=tmp_path).splitlines()) == 2, "a pipe gets one line per run"


def test_the_command_lists_the_same_as_list_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(tmp_path / "tasks", "one", {"outcome": "x", "finished": True}, age=1000)
    monkeypatch.chdir(tmp_path)
    assert main(["runs"]) == main(["list", "tasks"]) == main(["list", "runs", "ONE"]) == 0
    first, *others = capsys.readouterr().out.split("name ")[1:]
    assert others == [first, first]
    assert main(["runs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["name"] == "one"


# ------------------------------------------------------------------------------------------------- one real run


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(folder.rglob("*"))}


def test_a_run_is_trained_evaluated_and_resumed_by_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three iterations of 50 steps; evaluate repeats the score of the last evaluation, and changes nothing."""
    monkeypatch.chdir(tmp_path)
    words = ["env_cfg.id=FrozenLake-v1", "general_cfg.seed=1", "general_cfg.iteration_steps=50"]
    more = [
        "general_cfg.online_eval=true",
        "general_cfg.online_eval_episode=10",
        "general_cfg.save_fig=false",
        "--into",
        "tasks/one",
    ]
    stop = ["--stop", '{"training_iteration": 3}', "--checkpoint-freq", "1"]
    assert main(["train", "--run", "QLearning", *words, *more, *stop]) == 0
    assert len(Path("tasks/one/results/progress.csv").read_text().splitlines()) == 4
    before = snapshot(Path("tasks"))
    capsys.readouterr()

    assert main(["evaluate", "one", "--model", "latest", "--out", "o.jsonl"]) == 0
    [line] = capsys.readouterr().out.splitlines()
    last = Path("tasks/one/results/eval.csv").read_text().splitlines()[-1].split(",")
    assert f"{float(last[3]):.4g} ± " in line
    rows = [json.loads(row) for row in Path("o.jsonl").read_text().splitlines()]
    assert list(rows[0]) == ["episode", "seed", "return", "length", "terminated"]
    assert [row["episode"] for row in rows] == list(range(1, 11))
    assert sum(row["return"] for row in rows) / 10 == float(last[3])

    assert (
        main(["evaluate", "one", "--model", "latest", "--steps", str(rows[0]["length"] + 1), "--out", "s.jsonl"]) == 0
    )
    assert [json.loads(row) for row in Path("s.jsonl").read_text().splitlines()] == rows[:2]
    assert main(["evaluate", "one", "--model", "latest", "--episodes", "4", "--out", "t.jsonl"]) == 0
    assert [json.loads(row) for row in Path("t.jsonl").read_text().splitlines()] == rows[:4]
    assert main(["evaluate", "one", "--model", "77"]) == 2
    for out, said in (
        (".", "is a folder"),
        ("nowhere/x", "does not exist"),
        ("t.jsonl", "t.jsonl exists; --out names another file"),
        ("tasks/one/results/eval.csv", "is inside"),
        ("rollouts.pkl", "rollouts.pkl would have lines of JSON; name it rollouts.jsonl"),
    ):
        capsys.readouterr()
        assert main(["evaluate", "one", "--model", "latest", "--out", out]) == 2
        assert said in capsys.readouterr().err
    assert main(["evaluate", "one", "--out", "no/x.jsonl"]) == 2
    assert snapshot(Path("tasks")) == before, "nothing was written"

    assert main(["test", "one", "--episodes", "2", "--into", "tested"]) == 0
    assert len(Path("tested/results/test.csv").read_text().splitlines()) == 3
    assert main(["resume", "one", "--stop", '{"training_iteration": 4}']) == 0
    assert len(Path("tasks/one/results/progress.csv").read_text().splitlines()) == 5
