"""Where a run begins: anew, where it stopped, or on a branch; and what may be changed then."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from algos.base import EnvSpec
from config.read.loader import ConfigError, load
from framework.assemble import identity
from framework.catalog import ALGOS, ENVS
from framework.disk.checkpoints import CheckpointStore
from framework.disk.task_dir import TaskDir
from framework.errors import CheckpointError, TaskDirError
from framework.runs import resume
from tests.tools.core import replay

SPEC = EnvSpec("CartPole-v1", Box(-1, 1, (2,)), Discrete(2), 1)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def config(*overrides, resumed=None):
    defaults = () if resumed else ("general_cfg.preset=null",)
    return load(None, (*defaults, *overrides), find_algo=ALGOS, find_env=ENVS, resume=resumed)


@pytest.fixture
def task():
    """A run with seed 5 and three checkpoints, of which the second is the best."""
    first = config("general_cfg.seed=5")
    made = resume.start(first, SPEC)
    made.task.config.write_text(first.to_yaml())
    memory = replay()
    for number in (100, 200, 300):
        made.store.save(number, {"number": number}, memory, identity.identity(first, SPEC))
    made.store.mark_best(200)
    made.task.close()
    return made.task.path


def saved_in(task):
    return CheckpointStore(task / "models").newest(print)


def test_a_run_without_a_checkpoint_is_begun_anew_by_the_command_that_is_printed(task):
    shutil.rmtree(task / "models")
    (task / "models").mkdir()
    with pytest.raises(
        TaskDirError, match=rf"no checkpoint in .*; begin the run anew with .* --yaml .*{task.name}/conf"
    ):
        resume.start(config(resumed=str(task)), SPEC)


LIMITS = [("max_total_step", "300 steps"), ("max_episode", "30 episodes"), ("max_update", "3 updates")]


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_below_what_is_trained_is_refused(limit, task):
    """A higher one that the run has overshot, as a group may ask for, ends it as it is."""
    (name, amount), saved = limit, saved_in(task)
    saved.tree["count"] = {"step": 300, "episode": 30, "update": 3}
    with pytest.raises(ConfigError, match=f"general_cfg.{name}=2: the run has trained {amount} already; expected"):
        resume.changes(config(f"general_cfg.{name}=2", resumed=str(task)), saved)
    saved.facts["config"] = resume.plain(config(f"general_cfg.{name}=1", resumed=str(task)))
    raised = config(f"general_cfg.{name}=2", resumed=str(task))
    assert resume.changes(raised, saved) == (f"general_cfg.{name}: 1 -> 2",)


def test_a_run_without_a_past_gets_a_folder_of_its_own():
    start = resume.start(config(), SPEC)
    assert (start.saved, start.branch, start.changed) == (None, False, ())
    assert start.task.path.name.startswith("Train_CartPole-v1_DQN_")
    assert start.store.folder == start.task.models


def test_a_resume_goes_on_in_its_folder_from_the_newest(task):
    (task / "models/300").rename(task / "models/.300.old")  # as a crash in the middle of a replacement leaves it
    start = resume.start(config(resumed=str(task)), SPEC)
    assert start.task.path.name == task.name
    assert (start.saved.tree, start.branch) == ({"number": 300}, False)
    with pytest.raises(TaskDirError, match="being written by another run"):
        resume.start(config(resumed=str(task)), SPEC)
    start.task.close()


@pytest.mark.parametrize(("step", "number"), [("best", 200), ("100", 100)])
def test_a_step_that_is_written_begins_a_branch(task, step, number):
    words = ("general_cfg.load_checkpoint=true", f"general_cfg.load_path={task.name}")
    start = resume.start(config(*words, f"general_cfg.load_model_step={step}"), SPEC)
    assert (start.saved.tree, start.branch) == ({"number": number}, True)
    assert start.task.path != task
    assert CheckpointStore(task / "models").numbers() == [100, 200, 300]


def test_a_damaged_newest_checkpoint_is_said_and_passed_over(task, capsys):
    """RES-6"""
    (task / "models/300/manifest.json").write_text("")
    start = resume.start(config(resumed=str(task)), SPEC)
    assert start.saved.tree == {"number": 200}
    assert "going back to the one before" in capsys.readouterr().err


@pytest.mark.parametrize("step", ["latest", "300"])
def test_a_refused_checkpoint_leaves_no_lock_and_no_folder_behind(task, step):
    other = EnvSpec("CartPole-v1", Box(-1, 1, (3,)), Discrete(2), 1)
    words = ("general_cfg.load_checkpoint=true", f"general_cfg.load_path={task.name}")
    with pytest.raises(CheckpointError, match=r"observes Box\(-1.0, 1.0, \(2,\).*this config says Box.*\(3,\)"):
        resume.start(config(*words, f"general_cfg.load_model_step={step}"), other)
    assert [path.name for path in Path("tasks").iterdir()] == [task.name]
    TaskDir(task).open()


def test_what_makes_another_run_may_not_change_and_all_of_it_is_told(task):
    """RES-5"""
    changed = ("general_cfg.max_step=7", "algo_cfg.gamma=0.5", "algo_cfg.lr=0.5", "general_cfg.max_episode=9")
    with pytest.raises(ConfigError) as caught:
        resume.changes(config(*changed, resumed=str(task)), saved_in(task))
    said = [problem.split(": ", 1)[1] for problem in caught.value.problems]
    assert said == [
        "general_cfg.max_step: 200 -> 7: cannot change in a resumed run; start a new run for that",
        "algo_cfg.gamma: 0.99 -> 0.5: cannot change in a resumed run; start a new run for that",
    ]
    adjusted = config("algo_cfg.lr=0.5", "general_cfg.max_episode=9", resumed=str(task))
    assert resume.changes(adjusted, saved_in(task)) == (
        "general_cfg.max_episode: 100 -> 9",
        "algo_cfg.lr: 0.0005 -> 0.5",
    )


@pytest.mark.parametrize(("before", "now", "values"), [((), (7,), "not set -> 7"), ((7,), (), "7 -> not set")])
def test_an_argument_of_the_environment_may_not_be_added_or_left_out(before, now, values, task):
    limits = [[f"env_cfg.max_episode_steps={limit}" for limit in words] for words in (before, now)]
    saved = saved_in(task)
    saved.facts["config"] = resume.plain(config(*limits[0]))
    with pytest.raises(ConfigError) as caught:
        resume.changes(config(*limits[1]), saved)
    end = f"env_cfg.max_episode_steps: {values}: cannot change in a resumed run; start a new run for that"
    assert any(problem.endswith(end) for problem in caught.value.problems)


def test_seed_0_means_the_seed_of_the_run_that_goes_on_or_a_drawn_one(task):
    """DET-2"""
    assert identity.with_seed(config("general_cfg.seed=0", resumed=str(task))).general.seed == 5
    assert identity.with_seed(config("general_cfg.seed=3")).general.seed == 3
    drawn = {identity.with_seed(config()).general.seed for _ in range(3)}
    assert len(drawn) == 3
    assert min(drawn) > 0


def test_a_checkpoint_says_of_which_run_it_is():
    facts = identity.identity(config("general_cfg.seed=5"), SPEC)
    assert facts == {
        "algo": "DQN",
        "env": "CartPole-v1",
        "observation_space": str(Box(-1, 1, (2,))),
        "action_space": "Discrete(2)",
        "seed": 5,
    }
    assert np.isscalar(facts["seed"])
