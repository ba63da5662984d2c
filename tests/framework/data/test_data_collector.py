"""The data layer's collector, its phases, and its trainers."""

import math
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode

import joystick
from envs.base import EnvError
from envs.toy.config import Config as ToyConfig
from framework.errors import JoystickError
from joystick import Batch, Collector, ReplayBuffer, VectorReplayBuffer
from tests.tools.data import Counts, Recording


def episodes(buffer: Any) -> list[int]:
    """Returns the lengths of the episodes in a buffer, in order of time."""
    found, length = [], 0
    stored = buffer.sample(0)[0]
    for ended in stored.terminated | stored.truncated:
        length += 1
        if ended:
            found.append(length)
            length = 0
    return found


def of_lengths(*lengths: int) -> list[Counts]:
    return [Counts(length) for length in lengths]


# environments ---------------------------------------------------------------------------------------------


def test_an_environment_stands_in_a_list_once() -> None:
    env = Counts(3)
    for several in ([env, env], [lambda: env] * 2, [Counts(2), env, gymnasium.wrappers.TimeLimit(env, 2)]):
        with pytest.raises(EnvError, match=r"of the list are the same object, and would be stepped twice; give a func"):
            Collector(Recording(), several)


def test_environments_of_a_list_have_the_same_spaces() -> None:
    other = Counts(3)
    other.action_space = gymnasium.spaces.Discrete(3)
    with pytest.raises(EnvError, match=r"the action_space of row 1 is Discrete\(3\), and the run is made for"):
        Collector(Recording(), [Counts(3), other])
    with pytest.raises(EnvError, match="the observation_space of row 1 is Box"):
        Collector(Recording(), ["CartPole-v1", "Acrobot-v1"])


def test_reset_begins_again_with_an_empty_buffer() -> None:
    collector = Collector(Recording(), Counts(3), ReplayBuffer(10))
    first = collector.collect(n_step=4), collector.buffer[:]
    collector.reset()
    assert not len(collector.buffer)
    assert (collector.collect(n_step=4)["lens"].tolist(), collector.buffer[:]) == (first[0]["lens"].tolist(), first[1])


def test_discrete_actions_count_from_0_wherever_the_space_starts() -> None:
    env = Counts(3)
    env.action_space = gymnasium.spaces.Discrete(3, start=5)
    with pytest.raises(JoystickError, match=r"gave the actions \[5\]; expected whole numbers from 0 to 2"):
        Collector(Same(5), env).collect(n_step=1)
    assert Collector(Same(2), env).collect(n_step=3)["n/ep"] == 1


class Same(Recording):
    """Always has the same action."""

    def __init__(self, action: int) -> None:
        super().__init__()
        self.action = action

    def forward(self, batch: Batch, state: Any = None) -> Batch:
        return Batch(act=np.full(len(batch), self.action))


# counts ---------------------------------------------------------------------------------------------------


def test_a_plain_buffer_gets_episodes_when_they_end() -> None:
    collector = Collector(Recording(), of_lengths(2, 3, 4), ReplayBuffer(100))
    result = collector.collect(n_step=9)
    assert (result["n/ep"], result["n/st"]) == (4, 11)
    assert result["lens"].tolist() == [2, 3, 2, 4]
    assert episodes(collector.buffer) == [2, 3, 2, 4]
    assert (result["rew"], result["len"]) == (11 / 4, 11 / 4)
    assert collector.collect(n_step=1)["lens"].tolist() == [2, 3]  # row 1 has gone on with the episode that was running


def test_a_number_of_episodes_for_each_environment_steps_no_other_one() -> None:
    envs = of_lengths(2, 3, 4)
    collector = Collector(Recording(), envs, ReplayBuffer(100))
    before = envs[1].calls
    result = collector.collect(n_episode=[1, 0, 3])
    assert result["lens"].tolist() == [2, 4, 4, 4]
    assert episodes(collector.buffer) == [2, 4, 4, 4]
    assert envs[1].calls == before
    stored = collector.buffer.sample(0)[0]
    assert stored.obs[:6, 0].tolist() == [0, 1, 0, 1, 2, 3]
    assert stored.obs_next[:6, 0].tolist() == [1, 2, 1, 2, 3, 4]


@pytest.mark.parametrize(("wanted", "steps"), [({"n_step": 9}, 9), ({"n_step": 10}, 12), ({"n_episode": 2}, 5)])
def test_a_vector_buffer_gets_each_step(wanted: dict[str, int], steps: int) -> None:
    collector = Collector(Recording(), of_lengths(2, 3, 4), VectorReplayBuffer(300, 3))
    assert collector.collect(**wanted)["n/st"] == steps
    assert len(collector.buffer) == steps


def test_exactly_so_many_episodes_count_and_short_ones_are_not_preferred() -> None:
    collector = Collector(Recording(), of_lengths(1, 1, 6))
    assert sorted(collector.collect(n_episode=4)["lens"].tolist()) == [1, 1, 1, 6]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({}, "n_step or n_episode"),
        ({"n_step": 1, "n_episode": 1}, "not both"),
        ({"n_step": 0}, "n_step=0"),
        ({"n_episode": True}, "n_episode=True"),
        ({"n_episode": [1, 2]}, "each of 3 environments"),
        ({"n_episode": [0, 0, 0]}, "each of 3 environments"),
    ],
)
def test_counts_that_make_no_sense_are_refused(wanted: dict[str, Any], words: str) -> None:
    with pytest.raises(JoystickError, match=words):
        Collector(Recording(), of_lengths(2, 3, 4)).collect(**wanted)


def test_a_buffer_with_fewer_parts_than_environments_is_refused() -> None:
    with pytest.raises(JoystickError, match="2 parts for 3 environments"):
        Collector(Recording(), of_lengths(2, 3, 4), VectorReplayBuffer(100, 2))


# what is stored -------------------------------------------------------------------------------------------


def test_transitions_are_those_of_the_environment() -> None:
    collector = Collector(Recording(), Counts(3), ReplayBuffer(100), store_info=True)
    collector.collect(n_step=5)
    stored = collector.buffer.sample(0)[0]
    assert stored.obs[:, 0].tolist() == [0, 1, 2, 0, 1]
    assert stored.obs_next[:, 0].tolist() == [1, 2, 3, 1, 2]
    assert stored.terminated.tolist() == [False, False, True, False, False]
    assert stored.act.tolist() == [1] * 5
    assert [info["steps"] for info in stored.info] == [1, 2, 3, 1, 2]


class _Remembering(Recording):
    """Counts the steps of each episode in its state."""

    def forward(self, batch: Batch, state: Any = None) -> Batch:
        count = np.zeros(len(batch.obs), np.int64) if state is None else state["count"]
        return Batch(act=count % 2, policy=Batch(count=count), state=Batch(count=count + 1))


def test_the_state_of_a_recurrent_policy_begins_at_zero_in_each_episode() -> None:
    collector = Collector(_Remembering(), of_lengths(2, 3), VectorReplayBuffer(100, 2))
    collector.collect(n_step=12)
    stored = collector.buffer.sample(0)[0]
    assert stored.policy.count.tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize("count", [{"n_step": 10}, {"n_episode": 2}, {"n_episode": [1, 3]}], ids=str)
@pytest.mark.parametrize("reset", [None, AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_the_state_begins_at_zero_after_rows_have_rested_and_after_dummy_steps(
    count: dict[str, Any], reset: AutoresetMode | None
) -> None:
    """The observation is the number of steps of the episode, too."""
    makers = [lambda: Counts(2), lambda: Counts(5)]
    env = makers if reset is None else gymnasium.vector.SyncVectorEnv(makers, autoreset_mode=reset)
    collector = Collector(_Remembering(), env, VectorReplayBuffer(200, 2))
    for _ in range(3):
        collector.collect(**count)
    stored = collector.buffer.sample(0)[0]
    assert stored.policy.count.tolist() == stored.obs.reshape(-1).tolist()


def test_an_episode_that_never_ends_does_not_wait_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("framework.data.collector._LONGEST", 30)
    collector = Collector(Recording(), of_lengths(10**9, 10**9), ReplayBuffer(20))
    with pytest.raises(JoystickError, match=r"more than 30 steps has not ended.*VectorReplayBuffer\(20, 2\)"):
        collector.collect(n_step=5)


def test_columns_may_be_the_arrays_of_the_state() -> None:
    class Hidden(Recording):
        def forward(self, batch: Batch, state: Any = None) -> Batch:
            hidden = np.ones((len(batch.obs), 1)) if state is None else state + 1
            return Batch(act=np.zeros(len(batch.obs), np.int64), state=hidden, policy=Batch(hidden=hidden))

    collector = Collector(Hidden(), of_lengths(3, 3), VectorReplayBuffer(100, 2))
    collector.collect(n_step=6)
    assert collector.buffer.sample(0)[0].policy.hidden.reshape(-1).tolist() == [1, 2, 3, 1, 2, 3]


def test_a_policy_may_give_tensors() -> None:
    class OfTensors(Recording):
        def forward(self, batch: Batch, state: Any = None) -> Batch:
            assert not torch.is_grad_enabled()
            return Batch(
                act=torch.zeros(len(batch.obs), dtype=torch.int64), policy=Batch(value=torch.ones(len(batch.obs)))
            )

    collector = Collector(OfTensors(), Counts(3), ReplayBuffer(10))
    collector.collect(n_step=3)
    assert collector.buffer.sample(0)[0].policy.value.tolist() == [1, 1, 1]


def test_random_actions_come_from_the_seed_of_the_collector() -> None:
    def actions(seed: int) -> list[int]:
        collector = Collector(Recording(), Counts(50), ReplayBuffer(100), seed=seed)
        collector.collect(n_step=40, random=True)
        return list(collector.buffer.sample(0)[0].act)

    assert actions(1) == actions(1) != actions(2)
    assert set(actions(1)) == {0, 1}


def test_reset_env_begins_with_the_same_episodes_again() -> None:
    collector = Collector(Recording(), "CartPole-v1", ReplayBuffer(1000), seed=3)
    first = collector.collect(n_episode=2)
    collector.reset_env()
    again = collector.collect(n_episode=2)
    assert first["lens"].tolist() == again["lens"].tolist()
    stored = collector.buffer.sample(0)[0].obs
    assert np.array_equal(stored[: first["n/st"]], stored[first["n/st"] :])


def test_an_episode_that_reset_env_breaks_off_is_not_joined_with_the_next() -> None:
    collector = Collector(Recording(), of_lengths(5, 5), VectorReplayBuffer(100, 2))
    collector.collect(n_step=4)
    collector.reset_env()
    collector.collect(n_step=4)
    buffer = collector.buffer
    assert buffer.next(np.array([1]))[0] == 1
    assert buffer.get(np.array([1]), "terminated").tolist() == [False]


def test_a_vector_environment_steps_all_rows_and_counts_the_wanted_ones() -> None:
    vector = gymnasium.make_vec("CartPole-v1", num_envs=4, vectorization_mode="sync")
    collector = Collector(Recording(), vector, VectorReplayBuffer(4000, 4))
    result = collector.collect(n_episode=2)
    assert result["n/ep"] == 2
    assert len(collector.buffer) == result["n/st"] == result["lens"].sum()
    result = collector.collect(n_episode=4)
    assert result["n/st"] == result["lens"].sum()


def test_masks_reach_the_policy_and_the_buffer() -> None:
    import envs

    class Legal(Recording):
        def forward(self, batch: Batch, state: Any = None) -> Batch:
            return Batch(act=batch.action_mask.argmax(1))

    env = envs.make(envs.get("toy"), ToyConfig(id="masked"), 2)
    collector = Collector(Legal(), env, VectorReplayBuffer(100, 2))
    collector.collect(n_step=10)
    stored = collector.buffer.sample(0)[0]
    assert stored.action_mask[np.arange(10), stored.act].all()
    assert stored.next_action_mask.shape == stored.action_mask.shape


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (Batch(a=np.zeros(1)), "gave no act"),
        (np.zeros(1), "gave no act"),
        (Batch(act=np.zeros(7)), r"act of the shape \(7,\) for 1 rows"),
        (Batch(act=1), r"act of the shape \(\) for 1 rows"),
    ],
)
def test_what_forward_must_give_is_said(given: Any, words: str) -> None:
    class Wrong(Recording):
        def forward(self, batch: Batch, state: Any = None) -> Any:
            return given

    with pytest.raises(JoystickError, match=words):
        Collector(Wrong(), Counts(3)).collect(n_step=1)


# phases ---------------------------------------------------------------------------------------------------


def test_the_phases_are_collecting_updating_and_testing() -> None:
    policy = Recording()
    train = Collector(policy, Counts(3), ReplayBuffer(100))
    train.collect(n_step=1)
    policy.update(1, train.buffer)
    Collector(policy, Counts(3)).collect(n_step=1)
    assert policy.seen == [("forward", True, False), ("learn", True, True), ("forward", False, False)]
    assert (policy.training, policy.updating) == (True, False)


def test_an_exception_in_learn_ends_the_phase() -> None:
    class Failing(Recording):
        def learn(self, batch: Batch) -> dict[str, float]:
            raise ZeroDivisionError

    policy, buffer = Failing(), ReplayBuffer(10)
    Collector(policy, Counts(3), buffer).collect(n_step=3)
    with pytest.raises(ZeroDivisionError):
        policy.update(2, buffer)
    assert (policy.training, policy.updating) == (True, False)


def test_update_calls_process_learn_and_post_process_in_this_order() -> None:
    calls = []

    class Ordered(Recording):
        def process_fn(self, batch: Batch, buffer: Any, indices: np.ndarray) -> Batch:
            calls.append(("process", indices.tolist()))
            batch.returns = batch.rew * 2
            return batch

        def learn(self, batch: Batch) -> dict[str, float]:
            calls.append(("learn", batch.returns.tolist()))
            return {"loss": 1.0}

        def post_process_fn(self, batch: Batch, buffer: Any, indices: np.ndarray) -> None:
            calls.append(("post", indices.tolist()))

    policy, buffer = Ordered(), ReplayBuffer(10)
    Collector(policy, Counts(3), buffer).collect(n_step=3)
    assert policy.update(0, buffer) == {"loss": 1.0}
    assert calls == [("process", [0, 1, 2]), ("learn", [2.0, 2.0, 2.0]), ("post", [0, 1, 2])]


def test_an_empty_buffer_is_refused() -> None:
    with pytest.raises(JoystickError, match="empty"):
        Recording().update(4, ReplayBuffer(10))


# trainers -------------------------------------------------------------------------------------------------


def test_offpolicy_trainer_keeps_the_ratio_of_updates_to_steps() -> None:
    policy, collects, tests = Recording(), [], []
    train, test = Collector(policy, Counts(7), ReplayBuffer(100)), Collector(policy, Counts(7))
    result = joystick.offpolicy_trainer(
        policy, train, test, max_epoch=1, step_per_epoch=100, step_per_collect=10, episode_per_test=2, batch_size=8,
        update_per_step=0.1, train_fn=lambda epoch, step: collects.append((epoch, step)),
        test_fn=lambda epoch, step: tests.append((epoch, step)),
    )  # fmt: skip
    assert collects == [(1, step) for step in range(0, 100, 10)]
    assert policy.sizes == [8] * 10
    assert tests == [(1, 100)]
    assert (result["train_step"], result["train_episode"], result["updates"], result["best_reward"]) == (100, 14, 10, 7)


def test_onpolicy_trainer_learns_from_everything_and_empties_the_buffer() -> None:
    policy = Recording()
    train, test = Collector(policy, Counts(30), ReplayBuffer(1000)), Collector(policy, Counts(30))
    lefts = []
    joystick.onpolicy_trainer(
        policy, train, test, max_epoch=1, step_per_epoch=300, repeat_per_collect=2, episode_per_test=1, batch_size=64,
        episode_per_collect=5, train_fn=lambda epoch, step: lefts.append(len(train.buffer)),
    )  # fmt: skip
    assert len(policy.sizes) == 2 * 2 * math.ceil(150 / 64)
    assert sum(policy.sizes) == 2 * 2 * 150
    assert lefts == [0, 0]
    assert len(train.buffer) == 0


def test_stop_fn_and_save_fn_follow_the_tests() -> None:
    policy, saved = Recording(), []
    train, test = Collector(policy, Counts(5), ReplayBuffer(100)), Collector(policy, Counts(5))
    result = joystick.offpolicy_trainer(
        policy, train, test, max_epoch=9, step_per_epoch=10, step_per_collect=5, episode_per_test=1, batch_size=2,
        stop_fn=lambda mean: mean >= 5, save_fn=saved.append,
    )  # fmt: skip
    assert result["stopped"]
    assert (result["train_step"], len(result["tests"])) == (10, 1)
    assert saved == [policy]


def test_a_collection_that_is_good_enough_leads_to_a_test_at_once() -> None:
    policy = Recording()
    train, test = Collector(policy, Counts(5), ReplayBuffer(100)), Collector(policy, Counts(5))
    result = joystick.offpolicy_trainer(
        policy, train, test, max_epoch=9, step_per_epoch=100, step_per_collect=5, episode_per_test=1, batch_size=2,
        stop_fn=lambda mean: mean >= 5, test_in_train=True,
    )  # fmt: skip
    assert (result["stopped"], result["train_step"]) == (True, 5)


def test_a_trainer_needs_a_buffer() -> None:
    policy = Recording()
    with pytest.raises(JoystickError, match="no buffer"):
        joystick.offpolicy_trainer(
            policy, Collector(policy, Counts(5)), Collector(policy, Counts(5)), max_epoch=1, step_per_epoch=10,
            step_per_collect=5, episode_per_test=1, batch_size=2,
        )  # fmt: skip


def test_a_wrong_argument_is_one_clear_answer() -> None:
    for arguments, answer in (
        ((Recording, Counts(2)), "expected an object of a class that inherits from Policy"),
        ((Recording(), Counts(2), 100), "buffer: got 100; expected a buffer"),
    ):
        with pytest.raises(JoystickError, match=answer):
            Collector(*arguments)
    policy = Recording()
    train, test = Collector(policy, Counts(2), ReplayBuffer(10)), Collector(policy, Counts(2))
    given: dict[str, Any] = {"max_epoch": 1, "step_per_epoch": 4, "episode_per_test": 1, "step_per_collect": 2}
    off, on = {**given, "batch_size": 2}, {**given, "batch_size": None, "repeat_per_collect": 1}
    for name, value in (("max_epoch", 0), ("step_per_epoch", 0.5), ("batch_size", 0), ("update_per_step", -1)):
        with pytest.raises(JoystickError, match=f"{name}: got {value}; expected a"):
            joystick.offpolicy_trainer(policy, train, test, **{**off, name: value})
    for name in ("repeat_per_collect", "batch_size"):
        with pytest.raises(JoystickError, match=f"{name}: got 0; expected a"):
            joystick.onpolicy_trainer(policy, train, test, **{**on, name: 0})
    assert policy.seen == [], "nothing was collected"


def test_the_state_of_a_recurrent_policy_has_a_row_for_each_environment() -> None:
    class Stacked(Recording):
        def forward(self, batch: Batch, state: Any = None) -> Batch:
            hidden = torch.zeros(1, len(batch.obs), 4)  # as torch.nn.LSTM returns it
            return Batch(act=np.ones(len(batch.obs), np.int64), state={"hidden": hidden, "cell": hidden})

    with pytest.raises(JoystickError, match=r"state of the shape \(1, 3, 4\) for 3 rows; expected \[3, ...\]"):
        Collector(Stacked(), of_lengths(2, 3, 4)).collect(n_step=1)
