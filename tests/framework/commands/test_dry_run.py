"""What --dry-run says of a run."""

from pathlib import Path

import numpy as np
import pytest
from gymnasium.envs.classic_control.cartpole import CartPoleEnv

from config.read.loader import ConfigError, load
from framework.assemble import fit as compatibility
from framework.catalog import ALGOS, ENVS
from framework.commands.work import dry_run
from framework.errors import JoystickError


@pytest.mark.parametrize(
    ("algo", "settings", "memory"),
    [
        ("QLearning", [], "windows of 1 step x 1 row, learned from once, as a whole"),
        ("MonteCarlo", [], "windows of 1 complete episode, learned from once, as a whole"),
        ("A2C", ["batch_size=40"], "windows of 20 steps x 2 rows, learned from once, as a whole"),
        ("REINFORCE", ["batch_episode=8"], "windows of 8 complete episodes, learned from once, as a whole"),
        (
            "PPO",
            ["batch_size=4096", "sgd_batch_size=64", "k_epochs=3"],
            "windows of 2,048 steps x 2 rows, learned from 3 times, in batches of 64",
        ),
        (
            "RecurrentPPO",
            ["batch_size=128", "sgd_batch_size=64", "k_epochs=3", "lookup_step=16"],
            "windows of 64 steps x 2 rows, learned from 3 times, in batches of 4 sequences of 16 steps",
        ),
        (
            "DQN",
            ["buffer_size=5000", "batch_size=32", "train_fre=4", "updates_per_train=1"],
            "replay of 5,000 transitions, batches of 32, 0.25 updates a step",
        ),
    ],
)
def test_the_memory_is_described_in_words(
    algo: str, settings: list[str], memory: str, capsys: pytest.CaptureFixture[str]
) -> None:
    toy = "walk" if algo in ("QLearning", "MonteCarlo") else "match"
    rows = 1 if toy == "walk" else 2
    overrides = [f"general_cfg.algo_name={algo}", "general_cfg.env_name=toy", f"env_cfg.id={toy}"]
    overrides += [f"env_cfg.n_envs={rows}", *(f"algo_cfg.{setting}" for setting in settings)]
    assert dry_run.describe(load(None, overrides, find_algo=ALGOS, find_env=ENVS)) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("memory  ")]
    assert line.startswith(f"memory        {memory}, ")
    assert line.endswith(" for each step of them" if "episode" in memory else " when full")


@pytest.mark.parametrize(
    ("algo", "settings", "memory"),
    [
        ("DQN", ["algo_cfg.buffer_size=5000"], "replay of 5,000 transitions"),
        ("PPO", ["algo_cfg.batch_size=600", "algo_cfg.sgd_batch_size=60"], "windows of 100 steps x 6 rows, "),
        ("A2C", ["algo_cfg.batch_size=40", "general_cfg.run_ahead=1"], "windows of 20 steps x 2 rows for each of 3 "),
    ],
)
def test_the_workers_count(algo: str, settings: list[str], memory: str, capsys: pytest.CaptureFixture[str]) -> None:
    """3 workers of 2 rows: a window of 600 steps has 100 of each of the 6 rows, where they wait for one another;
    otherwise each worker fills a window of its own, of 40 / 2 steps."""
    many = ["general_cfg.mp_backend=ray", "general_cfg.n_workers=3", "general_cfg.n_learners=2", "env_cfg.n_envs=2"]
    overrides = [f"general_cfg.algo_name={algo}", "general_cfg.env_name=toy", "env_cfg.id=match", *many, *settings]
    assert dry_run.describe(load(None, overrides, find_algo=ALGOS, find_env=ENVS)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "environment   match, 2 rows" in lines
    assert (
        "processes     3 workers with so many rows each, 2 learners and a data server, on a Ray of their own" in lines
    )
    [line] = [line for line in lines if line.startswith("memory  ")]
    assert line.startswith(f"memory        {memory}")


def described(*overrides: str) -> int:
    return dry_run.describe(load(None, ("general_cfg.preset=null", *overrides), find_algo=ALGOS, find_env=ENVS))


def test_a_memory_that_the_run_refuses_is_refused() -> None:
    with pytest.raises(JoystickError, match="choose a smaller algo_cfg.buffer_size"):  # noqa: RUF043
        described("algo_cfg.buffer_size=100000000000")


def test_a_metric_of_a_curriculum_that_the_run_refuses_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CartPoleEnv, "set_phase", lambda self, value: None, raising=False)
    phases = "phases: [{below: 1, value: 0}, {value: 1}]"
    assert described(f"general_cfg.curriculum={{{phases}}}") == 0
    with pytest.raises(JoystickError, match="has no 'returnmean'; did you mean return_mean"):
        described(f"general_cfg.curriculum={{metric: returnmean, {phases}}}")


def test_changed_settings_come_first_and_spaces_have_no_arrays(capsys: pytest.CaptureFixture[str]) -> None:
    assert described("general_cfg.max_total_step=50000", "general_cfg.keep_checkpoints=5", "algo_cfg.lr=0.1") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "settings that differ from the defaults:"
    assert "  algo_cfg.lr                   0.1  (command line)" in lines
    assert "observation   Box, shape 4, float32, from -inf to inf" in lines
    [disk] = [line for line in lines if line.startswith("disk  ")]
    assert disk.endswith("in all, with 5 checkpoints")
    assert not any(line.startswith("general_cfg:") for line in lines)


def test_the_disk_space_counts_the_journal_as_a_run_does(capsys: pytest.CaptureFixture[str]) -> None:
    """A run with 101 checkpoints keeps the journal of the newest five."""
    words = ["general_cfg.max_total_step=10000000", "general_cfg.model_save_fre=100000", "algo_cfg.buffer_size=1000"]
    words += ["algo_cfg.train_fre=1", "algo_cfg.updates_per_train=1"]
    assert described(*words) == 0
    [disk] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("disk  ")]
    size = float(disk.split()[4])
    assert disk.endswith("MiB in all, with 101 checkpoints")
    assert 101 * 1.031 < size < 101 * 1.031 + 501_000 * 54 / 2**20 + 65


def test_more_environments_than_fit_are_answered_with_an_estimate_at_once() -> None:
    config = load(None, ["env_cfg.n_envs=100000000000"], find_algo=ALGOS, find_env=ENVS)
    with pytest.raises(ConfigError, match=r"env_cfg\.n_envs: 100,000,000,000 environments need at least 190,735 GiB"):
        compatibility.check(config)


@pytest.mark.parametrize(
    ("algo", "setting", "words"),
    [
        ("BC", "data=nowhere.npz", r"^algo_cfg\.data: nowhere\.npz does not exist"),
        ("GAIL", "data=nowhere.npz", r"^algo_cfg\.data: nowhere\.npz does not exist"),
        ("DAgger", "expert=nowhere", r"^algo_cfg\.expert: 'nowhere' does not exist"),
    ],
)
def test_data_and_experts_that_are_missing_are_refused(algo: str, setting: str, words: str) -> None:
    overrides = [f"general_cfg.algo_name={algo}", "env_cfg.id=CartPole-v1", f"algo_cfg.{setting}"]
    with pytest.raises(JoystickError, match=words):
        dry_run.describe(load(None, overrides, find_algo=ALGOS, find_env=ENVS))


def test_data_have_a_line_and_a_memory_that_nothing_enters_has_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ends = np.arange(40) % 10 == 9
    np.savez(tmp_path / "a.npz", obs=np.zeros((40, 4), np.float32), action=ends * 1, reward=ends * 1.0, terminated=ends)
    overrides = ["general_cfg.algo_name=BC", "env_cfg.id=CartPole-v1", f"algo_cfg.data={tmp_path / 'a.npz'}"]
    config = load(None, [*overrides, "algo_cfg.data_held_out=0.25"], find_algo=ALGOS, find_env=ENVS)
    assert dry_run.describe(config) == 0
    lines = capsys.readouterr().out.splitlines()
    [line] = [line for line in lines if line.startswith("data  ")]
    assert line.startswith("data          30 transitions, 10 more are held out, SHA-256 ")
    assert not [line for line in lines if line.startswith("memory  ")]
