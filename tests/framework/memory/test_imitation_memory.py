"""Memories of runs that imitate an expert: what they add to windows and minibatches, and their state."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from algos.base import Array
from config.model.memory_spec import EXPERT, DataSpec, ReplaySpec, RolloutSpec
from config.read.loader import load
from framework.assemble import resources
from framework.catalog import ALGOS, ENVS
from framework.collect.fragment import Fragment, Origin
from framework.errors import JoystickError
from framework.memory import rollout
from framework.memory.expert_windows import ExpertWindows
from framework.memory.offline_data import select_data
from framework.memory.offline_replay import OfflineReplay
from framework.policies.policy_plan import plan
from tests.framework.memory.test_offline import spec_of, write
from tests.tools.core import saved_and_read, stream


def fragment(steps: int = 6, rows: int = 2, **more: Array) -> Fragment:
    """Steps whose observations are below 0, as those of `write` are not."""
    obs = np.full((steps, rows, 4), -0.1, np.float32)
    columns = {
        "obs": obs, "next_obs": obs, "action": np.zeros((steps, rows), np.int64),
        "reward": np.full((steps, rows), 7.0, np.float32), "terminated": np.zeros((steps, rows), bool),
        "truncated": np.zeros((steps, rows), bool), **more,
    }  # fmt: skip
    return Fragment(columns, {"state": None, "first": np.ones(rows, bool)}, Origin())


def windows(path: Path, seed: int = 1) -> ExpertWindows:
    wanted = DataSpec((str(path),))
    return ExpertWindows(
        rollout(RolloutSpec(6, data=wanted)), stream(seed, "memory/data"), select_data(wanted, spec_of(), 1)
    )


def test_a_window_comes_with_as_many_transitions_of_the_data(tmp_path: Path) -> None:
    memory = windows(write(tmp_path / "a.npz", [1.0] * 3))
    memory.add(fragment(3))
    assert memory.take(0.0) is None
    memory.add(fragment(3))
    columns = memory.take(0.0).columns
    assert {name: columns[name].shape for name in EXPERT.values()} == {
        "expert_obs": (6, 2, 4), "expert_action": (6, 2), "expert_next_obs": (6, 2, 4), "expert_terminated": (6, 2),
    }  # fmt: skip
    place = np.round(columns["expert_obs"][..., 0] / 0.005).astype(int)
    assert set(place.flat) <= set(range(12))
    assert len(set(place.flat)) > 3
    assert np.allclose(columns["expert_next_obs"][..., 0], 0.005 * (place + 1))
    assert np.array_equal(columns["expert_terminated"], place % 4 == 3)
    actions = np.load(tmp_path / "a.npz")["actions"]
    assert np.array_equal(columns["expert_action"], actions[place])


def test_the_draws_go_on_after_a_resume_and_other_data_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.npz", [1.0] * 3)
    memory = windows(path)
    memory.add(fragment(6))
    memory.take(0.0)
    memory.add(fragment(4))
    state = saved_and_read(memory.state())
    again = windows(path, seed=2)
    again.load_state(state, ())
    for each in (memory, again):
        each.add(fragment(2))
    one, other = memory.take(0.0).columns, again.take(0.0).columns
    assert all(np.array_equal(one[name], other[name]) for name in one)
    changed = windows(write(tmp_path / "b.npz", [2.0] * 3))
    with pytest.raises(JoystickError, match="have changed since the checkpoint"):
        changed.load_state(state, ())


def test_minibatches_of_sqil_have_rewards_of_1_and_0(tmp_path: Path) -> None:
    wanted = DataSpec((str(write(tmp_path / "a.npz", [3.0] * 3)),), updates=0, imitate=True)
    spec = ReplaySpec(100, 8, 0, 1.0, n_step=2, gamma=0.5, data=wanted)
    memory = OfflineReplay(spec, stream(1, "memory"), stream(1, "memory/data"), select_data(wanted, spec_of(), 1))
    collected = fragment(6)
    memory.add(collected)
    columns = memory.take(0.0).columns
    expert = columns["obs"][..., 0] >= 0
    assert expert.sum(1).tolist() == [4] * len(expert)
    last = np.round(columns["obs"][..., 0] / 0.005) % 4 == 3
    # two steps: 1 + 0.5; one at the end of an episode
    assert np.array_equal(columns["reward"], np.where(expert, np.where(last, 1.0, 1.5), 0.0))
    assert (collected.columns["reward"] == 7.0).all()


def test_the_answers_of_an_expert_in_given_data_are_their_actions(tmp_path: Path) -> None:
    wanted = DataSpec((str(write(tmp_path / "a.npz", [3.0] * 3)),), updates=0)
    spec = ReplaySpec(100, 8, 0, 1.0, data=wanted)
    memory = OfflineReplay(spec, stream(1, "memory"), stream(1, "memory/data"), select_data(wanted, spec_of(), 1))
    memory.add(fragment(6, expert_action=np.ones((6, 2), np.int64)))
    columns = memory.take(0.0).columns
    expert = columns["obs"][..., 0] >= 0
    assert np.array_equal(columns["expert_action"], np.where(expert, columns["action"], 1))


def test_the_memory_that_a_run_needs_counts_the_columns_of_the_expert() -> None:
    def size(algo: str, **settings: Any) -> int:
        words = {f"algo_cfg.{key}={value}" for key, value in settings.items()}
        config = load(None, [f"general_cfg.algo_name={algo}", *words], find_algo=ALGOS, find_env=ENVS)
        return resources.step_bytes(config, plan(config, spec_of()).policies[0])

    # two observations of 16 bytes, an action of 8 and a flag; the label is an action
    assert size("GAIL", data="x.npz") == size("PPO") + 41
    assert size("DAgger", expert="x") == size("BC", data="x.npz") + 8
