"""Replay buffers: what is stored where, what is read back, and how they answer bad use."""

import copy
import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

import joystick
from joystick import (
    Batch,
    CachedReplayBuffer,
    ListReplayBuffer,
    PrioritizedReplayBuffer,
    PrioritizedVectorReplayBuffer,
    ReplayBuffer,
    VectorReplayBuffer,
)
from tests.tools.data import Recording


def stacked(count: int, **settings) -> ReplayBuffer:
    """Ids 0, 1, .. with the end of an episode at every fifth, in a ring of nine."""
    buffer = ReplayBuffer(9, stack_num=4, ignore_obs_next=True, **settings)
    for i in range(count):
        buffer.add(obs={"id": i}, act=i, rew=i, terminated=i % 5 == 0, truncated=False, info={"id": i})
    return buffer


def ramp(count: int, size: int = 20, buffer: ReplayBuffer | None = None, ends: int = 0, **more) -> ReplayBuffer:
    """Observations 0, 1, .. and the one after each; an episode ends with every `ends`-th step."""
    buffer = ReplayBuffer(size) if buffer is None else buffer
    for i in range(count):
        buffer.add(
            obs=float(i), act=i, rew=1.0, terminated=bool(ends and i % ends == ends - 1), obs_next=i + 1.0, **more
        )
    return buffer


def rows(text: str) -> list[list[int]]:
    return [[int(number) for number in row.split(",")] for row in text.split()]


def lists(added) -> list[list]:
    return [np.asarray(part).tolist() for part in added]


# ------------------------------------------------------------------------------------------------------ adding


def test_add_returns_the_index_and_the_return_length_and_start_of_an_episode_that_ended():
    buffer = ReplayBuffer(9)
    added = [tuple(buffer.add(obs=i, act=0, rew=i, terminated=i % 5 == 0)) for i in range(16)]
    assert added[0] == (0, 0, 1, 0)
    assert added[5] == (5, 15, 5, 1)
    assert added[10] == (1, 40, 5, 6)
    assert added[15] == (6, 65, 5, 2)
    assert all(one[1:3] == (0, 0) for i, one in enumerate(added) if i % 5)
    assert added[3] == (3, 0, 0, 1)


@pytest.mark.parametrize("form", [dict, Batch])
def test_a_transition_is_a_batch_a_dict_or_keywords(form):
    buffer = ReplayBuffer(4)
    buffer.add(form(obs=[1.0, 2.0], act=0, rew=1, terminated=False))
    buffer.add(form(obs=[3.0, 4.0], act=1), rew=torch.tensor(2), terminated=np.True_)
    assert buffer.obs[:2].tolist() == [[1, 2], [3, 4]]
    assert buffer.rew.tolist() == [1, 2, 0, 0]
    assert buffer.done.tolist() == [False, True, False, False]


def test_done_is_either_flag_and_is_taken_as_terminated_in_add():
    buffer = ReplayBuffer(4)
    for flags in ({"done": True}, {"terminated": False, "truncated": True}, {"terminated": 1}, {"done": False}):
        buffer.add(obs=0, act=0, rew=0, **flags)
    assert buffer.terminated.tolist() == [True, False, True, False]
    assert buffer.truncated.tolist() == [False, True, False, False]
    assert buffer.done.tolist() == [True, True, True, False]


def test_a_reward_is_a_float_even_if_the_first_one_was_an_int():
    buffer = ReplayBuffer(4)
    for reward in (1, 0.5):
        buffer.add(obs=0, act=0, rew=reward, terminated=False)
    assert buffer[:].rew.tolist() == [1.0, 0.5]


def test_rewards_may_be_vectors():
    buffer = ReplayBuffer(4)
    buffer.add(obs=0, act=0, rew=[1, 2], terminated=False)
    assert buffer.add(obs=0, act=0, rew=[3, 4], terminated=True).ep_return.tolist() == [4, 6]
    assert buffer[:].rew.tolist() == [[1, 2], [3, 4]]


def test_what_the_caller_does_to_its_arrays_later_changes_nothing():
    buffer, obs = ReplayBuffer(4, ignore_obs_next=True), np.zeros(2)
    buffer.add(obs=obs, act=0, rew=0, terminated=False, truncated=True, obs_next=obs)
    obs[:] = 7
    assert buffer[0].obs.tolist() == buffer[0].obs_next.tolist() == [0, 0]
    read = buffer[[0]]
    read.obs[:] = 9
    assert buffer[0].obs.tolist() == [0, 0]


def test_numbers_of_a_column_may_become_larger_kinds_of_numbers():
    buffer = ReplayBuffer(4)
    for act, obs in ((1, np.uint8(3)), (0.5, np.float32(0.25)), (True, 300)):
        buffer.add(obs=obs, act=act, rew=0, terminated=False)
    assert buffer[:].act.tolist() == [1.0, 0.5, 1.0]
    assert buffer[:].obs.tolist() == [3.0, 0.25, 300.0]


def test_whole_numbers_that_are_too_large_for_a_column_make_it_a_wider_one():
    buffer = VectorReplayBuffer(6, 2)
    for obs, act in ((np.uint8([3, 4]), np.int8([1, 2])), ([300, -1], [1, 200]), ([2**40, 7], np.int64([2, 3]))):
        buffer.add(obs=np.asarray(obs), act=act, rew=[0, 0], terminated=[False, False])
    assert buffer[:].obs.tolist() == [3, 300, 2**40, 4, -1, 7]
    assert buffer[:].act.tolist() == [1, 1, 2, 2, 200, 3]
    single = ReplayBuffer(4)
    for act in (np.uint8(3), 300, -5):
        single.add(obs=np.float32(0), act=act, rew=0, terminated=False)
    assert single[:].act.tolist() == [3, 300, -5]


# --------------------------------------------------------------------------------------------- info and policy


def test_keys_of_info_may_come_and_go_and_read_as_0_or_none_where_they_are_missing():
    buffer = ReplayBuffer(3)
    infos = [None, {"n": 1, "deep": {"x": 2.5}}, {"text": "goal"}, {}, {"n": 4, "deep": None}]
    for info in infos:
        buffer.add(obs=0, act=0, rew=0, terminated=False, info=info)
    found = buffer.chronological().info
    assert found.n.tolist() == [0, 0, 4]
    assert found.deep.x.tolist() == [0, 0, 0]
    assert found.text.tolist() == ["goal", None, None]


def test_a_column_of_info_becomes_one_of_objects_when_a_value_is_no_number_of_its_shape():
    buffer = ReplayBuffer(5)
    for value in ([1, 2], [1, 2, 3], "text", {3: 4}, {"a": 1}):
        buffer.add(obs=0, act=0, rew=0, terminated=False, info={"path": value})
    found = buffer[:].info.path
    assert found.dtype == object
    assert [np.asarray(one).tolist() for one in found[:2]] == [[1, 2], [1, 2, 3]]
    assert found[2:].tolist() == ["text", {3: 4}, {"a": 1}]


def test_a_key_with_a_dot_is_not_a_nested_key():
    buffer = ReplayBuffer(2)
    buffer.add(obs=0, act=0, rew=0, terminated=False, info={"TimeLimit.truncated": True, "TimeLimit": {"truncated": 5}})
    assert buffer[0].info["TimeLimit.truncated"] == 1
    assert buffer[0].info.TimeLimit.truncated == 5


def test_policy_and_keys_of_ones_own_are_stored_too():
    buffer = ReplayBuffer(2)
    buffer.add(obs=0, act=0, rew=0, terminated=False, policy={"logp": -1.5}, mine=[1, 2])
    assert buffer[0].policy.logp == -1.5
    assert buffer[0].mine.tolist() == [1, 2]
    assert buffer[0].info.is_empty()


def test_a_mapping_cannot_become_a_number():
    buffer = ReplayBuffer(2)
    buffer.add(obs=0, act=0, rew=0, terminated=False, info={"a": {"b": 1}})
    with pytest.raises(joystick.JoystickError, match=r"info\.a was a mapping so far, and is 3 now"):
        buffer.add(obs=0, act=0, rew=0, terminated=False, info={"a": 3})


# ----------------------------------------------------------------------------------------------------- bad use


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"obs": None}, "obs missing"),
        ({"obs": [1.0, 2.0, 3.0]}, r"obs: got shape \(3,\); the first transition had numbers of shape \(2,\)"),
        ({"obs": "text"}, "obs: got 'text'"),
        ({"act": None}, "act missing; every transition needs what the first one had"),
        ({"terminated": None}, "needs terminated"),
        ({"obs_next": None}, "obs_next missing"),
        ({"obs": {"x": 1}}, "obs: got"),
    ],
)
def test_every_transition_needs_what_the_first_one_had(change, message):
    buffer = ReplayBuffer(4)
    good = {"obs": [1.0, 2.0], "act": 0, "rew": 1.0, "terminated": False, "obs_next": [3.0, 4.0]}
    buffer.add(good)
    with pytest.raises(joystick.JoystickError, match=message):
        buffer.add({**good, **change})
    assert len(buffer) == 1
    assert tuple(buffer.add({**good, "terminated": True})) == (1, 2.0, 2, 0)


@pytest.mark.parametrize("missing", ["obs", "act", "rew", "terminated"])
def test_the_first_transition_needs_obs_act_rew_and_terminated(missing):
    good = {"obs": 1, "act": 0, "rew": 1.0, "terminated": False}
    buffer = ReplayBuffer(4)
    with pytest.raises(joystick.JoystickError, match=f"needs {missing}"):
        buffer.add({key: value for key, value in good.items() if key != missing})
    assert buffer.add(good).index == 0


def test_a_first_transition_that_is_refused_leaves_nothing():
    buffer = VectorReplayBuffer(4, 2)
    with pytest.raises(joystick.JoystickError, match="expected 2 rows"):
        buffer.add(obs=[[1, 2], [3, 4]], act=[1, 2, 3], rew=[0, 0], terminated=[0, 0])
    assert buffer[:].info.is_empty()
    buffer.add(obs=[1, 2], act=[1, 2], rew=[0, 0], terminated=[0, 0])
    assert buffer[:].obs.tolist() == [1, 2]


def test_a_buffer_needs_room_and_a_stack_of_at_least_one():
    for make in (
        lambda: ReplayBuffer(0),
        lambda: ReplayBuffer(3, stack_num=0),
        lambda: VectorReplayBuffer(10, 0),
        lambda: PrioritizedReplayBuffer(4, alpha=0.0, beta=0.4),
        lambda: CachedReplayBuffer(ReplayBuffer(3), 0, 5),
        lambda: CachedReplayBuffer(VectorReplayBuffer(4, 2), 2, 5),
        lambda: ReplayBuffer(2.5),
        lambda: VectorReplayBuffer("10", 2),
    ):
        with pytest.raises(joystick.JoystickError):
            make()


def test_an_empty_buffer_cannot_be_sampled_but_has_no_rows_to_return():
    buffer = ReplayBuffer(4)
    with pytest.raises(joystick.JoystickError, match="the buffer is empty"):
        buffer.sample(2)
    with pytest.raises(joystick.JoystickError, match="sample: got -1; expected a whole number"):
        buffer.sample(-1)
    batch, indices = buffer.sample(0)
    assert len(indices) == 0
    assert batch.info.is_empty()
    assert len(buffer) == 0
    assert buffer.unfinished_index().tolist() == []


@pytest.mark.parametrize("index", [3, -5, [0, 4], 2.5])
def test_an_index_where_nothing_is_stored_is_an_index_error(index):
    buffer = ramp(3, size=4)
    with pytest.raises(IndexError):
        buffer[index]
    with pytest.raises(IndexError):
        buffer.prev(index)


def test_an_attribute_that_no_transition_has_is_an_attribute_error():
    with pytest.raises(AttributeError, match="ReplayBuffer has no attribute 'nothing'"):
        _ = ramp(3).nothing


# ------------------------------------------------------------------------------------------------------ reading


def test_stacks_of_observations_stay_within_their_episode():
    buffer = stacked(16)
    assert buffer[:].info.id.tolist() == [9, 10, 11, 12, 13, 14, 15, 7, 8]
    first = "7,7,8,9 7,8,9,10 11,11,11,11 11,11,11,12 11,11,12,13 11,12,13,14 12,13,14,15 7,7,7,7 7,7,7,8"
    after = "7,8,9,10 7,8,9,10 11,11,11,12 11,11,12,13 11,12,13,14 12,13,14,15 12,13,14,15 7,7,7,8 7,7,8,9"
    assert buffer[:].obs.id.tolist() == rows(first)
    assert buffer[:].obs_next.id.tolist() == rows(after)
    assert buffer.prev(np.arange(9)).tolist() == [8, 0, 2, 2, 3, 4, 5, 7, 7]
    assert buffer.next(np.arange(9)).tolist() == [1, 1, 3, 4, 5, 6, 6, 8, 0]
    assert buffer[3].obs.id.tolist() == [11, 11, 11, 12]
    assert buffer.get(3, "obs", stack_num=2).id.tolist() == [11, 12]
    assert buffer.get([3, 0], "act", stack_num=1).tolist() == [12, 9]


def test_the_place_where_the_ring_is_written_separates_the_oldest_step_from_the_newest():
    buffer = stacked(14)
    assert buffer[:].info.id.tolist() == [9, 10, 11, 12, 13, 5, 6, 7, 8]
    assert buffer[4].obs.id.tolist() == buffer[4].obs_next.id.tolist() == [11, 11, 12, 13]
    assert buffer[5].obs.id.tolist() == [5, 5, 5, 5]
    assert buffer.prev(np.arange(9)).tolist() == [8, 0, 2, 2, 3, 5, 6, 6, 7]
    assert buffer.next(np.arange(9)).tolist() == [1, 1, 3, 4, 4, 5, 7, 8, 0]
    assert buffer.unfinished_index().tolist() == [4]
    assert buffer.last_index.tolist() == [4]
    assert buffer.sample_indices(0).tolist() == [5, 6, 7, 8, 0, 1, 2, 3, 4]
    assert buffer.chronological().act.tolist() == list(range(5, 14))


def test_a_buffer_that_is_not_full_begins_at_its_first_place():
    buffer = ramp(3, size=9)
    assert buffer.prev([0, 1, 2]).tolist() == [0, 0, 1]
    assert buffer.next([0, 1, 2]).tolist() == [1, 2, 2]


def test_stored_successors_are_stacked_too():
    buffer = ramp(4, buffer=ReplayBuffer(9, stack_num=2), ends=2)
    assert buffer[:].obs.tolist() == [[0, 0], [0, 1], [2, 2], [2, 3]]
    assert buffer[:].obs_next.tolist() == [[1, 1], [1, 2], [3, 3], [3, 4]]


@pytest.mark.parametrize("stack", [1, 3])
def test_the_observation_after_a_truncated_step_is_kept_where_successors_are_not_stored(stack):
    buffer = ReplayBuffer(4, stack_num=stack, ignore_obs_next=True)
    for i in range(6):  # the ring of four goes around: step 1 is overwritten, and with it the observation after it
        buffer.add(obs={"o": i}, act=0, rew=0, terminated=i == 5, truncated=i in (1, 3), obs_next={"o": i + 100})
    found = buffer.chronological().obs_next.o.tolist()
    assert found == ([3, 103, 5, 5] if stack == 1 else [[2, 2, 3], [2, 3, 103], [4, 4, 5], [4, 4, 5]])
    square = buffer[buffer.sample_indices(0).reshape(2, 2)].obs_next.o
    assert square.reshape(4, *square.shape[2:]).tolist() == found


def test_only_the_newest_of_stacked_observations_can_be_stored():
    buffer = ReplayBuffer(9, stack_num=3, save_only_last_obs=True)
    for i in range(3):
        obs = np.array([max(0, i - 2), max(0, i - 1), i])
        buffer.add(obs=obs, act=0, rew=0, terminated=False, obs_next=np.array([*obs[1:], i + 1]))
    assert buffer.obs[:3].tolist() == [0, 1, 2]
    assert buffer[2].obs.tolist() == [0, 1, 2]
    assert buffer[2].obs_next.tolist() == [1, 2, 3]
    vector = VectorReplayBuffer(4, 2, save_only_last_obs=True)
    vector.add(obs=[[1, 2], [3, 4]], act=[0, 0], rew=[0, 0], terminated=[0, 0])
    assert vector[:].obs.tolist() == [2, 4]


def test_slices_masks_and_negative_indices_choose_in_the_order_of_storage():
    buffer = ramp(12, size=10)
    assert buffer[:].obs.tolist() == [10, 11, *range(2, 10)]
    assert buffer[1:3].obs.tolist() == [11, 2]
    assert buffer[-1].obs == 9
    assert len(buffer[buffer.rew > 2].obs) == 0
    assert buffer[buffer.obs > 8].obs.tolist() == [10, 11, 9]
    assert [row.obs for row in buffer][:3] == [10, 11, 2]
    assert buffer.get(0, "nothing", default=5) == 5


# ----------------------------------------------------------------------------------------------------- sampling


def test_every_transition_is_drawn_with_the_same_chance_and_a_seed_repeats_the_draws():
    buffer, same, other = (ramp(30, buffer=ReplayBuffer(20, seed=seed)) for seed in (1, 1, 2))
    batch, indices = buffer.sample(20_000)
    counts = np.bincount(indices, minlength=20)
    assert counts.min() > 850
    assert counts.max() < 1150
    assert batch.obs.tolist() == buffer.obs[indices].tolist()
    assert same.sample_indices(20_000).tolist() == indices.tolist() != other.sample_indices(20_000).tolist()


def test_sample_0_and_none_are_everything_in_order_of_time():
    buffer = ramp(25)
    for size in (0, None):
        batch, indices = buffer.sample(size)
        assert batch.obs.tolist() == list(range(5, 25))
        assert indices.tolist() == [*range(5, 20), *range(5)]


def test_sample_avail_draws_only_where_the_whole_stack_is_in_the_episode():
    buffer = stacked(16, sample_avail=True)
    assert sorted(buffer.sample_indices(0).tolist()) == [1, 5, 6]
    assert set(buffer.sample_indices(200).tolist()) == {1, 5, 6}
    with pytest.raises(joystick.JoystickError, match="no episode in the buffer has 4 observations"):
        stacked(3, sample_avail=True).sample(1)


# ------------------------------------------------------------------------------------------------ all of it


def test_update_adds_another_buffer_in_order_of_time():
    buffer, other = ramp(3), ramp(15, size=10)
    assert buffer.update(other).tolist() == list(range(3, 13))
    assert buffer.obs.tolist() == [0, 1, 2, *range(5, 15), *[0] * 7]
    assert len(buffer) == 13
    small = ReplayBuffer(4)
    assert small.update(other).tolist() == [0, 1, 2, 3]
    assert small[:].obs.tolist() == [11, 12, 13, 14]
    assert small[:].obs_next.tolist() == [12, 13, 14, 15]
    assert small.update(ReplayBuffer(3)).tolist() == []


def test_update_joins_no_episodes():
    """Neither the one that runs here, nor the one that runs in the other buffer, goes on with steps of another one."""
    buffer, other = ramp(2), ramp(2)
    buffer.update(other)
    assert buffer.add(obs=9.0, act=0, rew=5.0, terminated=True, obs_next=0.0)[1:] == (5.0, 1, 4)
    assert buffer.prev(np.arange(5)).tolist() == [0, 0, 2, 2, 4]
    assert not buffer.terminated[:4].any()
    assert not buffer.truncated.any()


def test_update_keeps_the_observation_after_a_truncated_step():
    other = ReplayBuffer(4, ignore_obs_next=True)
    other.add(obs=1, act=0, rew=0, terminated=False, truncated=True, obs_next=100)
    for ignore in (True, False):
        buffer = ReplayBuffer(4, ignore_obs_next=ignore)
        buffer.update(other)
        assert buffer[0].obs_next == 100


def test_reset_forgets_transitions_and_can_go_on_with_the_running_episode():
    buffer = ramp(5)
    buffer.reset()
    assert len(buffer) == 0
    assert tuple(buffer.add(obs=0.0, act=0, rew=2.0, terminated=True, obs_next=0)) == (0, 2.0, 1, 0)
    buffer = ramp(5)
    buffer.reset(keep_statistics=True)
    assert buffer.add(obs=0.0, act=0, rew=2.0, terminated=True, obs_next=0)[:3] == (0, 7.0, 6)
    buffer = ramp(7, ends=3)
    buffer.reset(keep_statistics=True)
    assert tuple(buffer.add(obs=0.0, act=0, rew=2.0, terminated=True, obs_next=0)) == (0, 3.0, 2, 0)


def test_a_list_buffer_grows_and_forgets_nothing():
    buffer = ramp(3000, buffer=ListReplayBuffer(stack_num=2), ends=7)
    assert len(buffer) == 3000
    assert buffer[:].act.tolist() == list(range(3000))
    assert buffer[1024].obs.tolist() == [1023, 1024]
    other = ListReplayBuffer()
    other.update(buffer)
    other.update(buffer)
    assert len(other) == 6000


def every_kind(tmp: int = 12) -> list[ReplayBuffer]:
    plain = ramp(tmp, size=10, ends=5, info={"text": "t", "n": 1})
    ignoring = ReplayBuffer(6, stack_num=2, ignore_obs_next=True)
    for i in range(8):
        ignoring.add(
            obs={"a": {"b": i}}, act=i, rew=i, terminated=False, truncated=i % 3 == 2, obs_next={"a": {"b": i + 50}}
        )
    vector, caches = VectorReplayBuffer(10, 2), CachedReplayBuffer(ReplayBuffer(10), 2, 4)
    prioritized = PrioritizedReplayBuffer(10, alpha=0.6, beta=0.4, stratified=True)
    several = PrioritizedVectorReplayBuffer(10, 2, alpha=0.6, beta=0.4)
    for i in range(7):
        values = {"obs": [[i], [i]], "act": [i, i], "rew": [1, 2], "terminated": [i % 3 == 2, False]}
        for buffer in (vector, caches, several):
            buffer.add(values)
    ramp(12, buffer=prioritized).update_weight([1, 2], [3.0, 0.1])
    prioritized.update_weight([1], [0.5])
    several.update_weight([1, 6], [3.0, 0.1])
    return [plain, ignoring, vector, caches, prioritized, several, ramp(7, buffer=ListReplayBuffer())]


@pytest.mark.parametrize("number", range(7))
def test_files_pickles_and_copies_hold_everything_and_go_on_alike(number, tmp_path: Path):
    buffer = every_kind()[number]
    buffer.sample(3)
    buffer.save(tmp_path / "file.npz")
    others = [
        type(buffer).load(tmp_path / "file.npz", allow_pickle=number == 0),
        ReplayBuffer.load(tmp_path / "file.npz", allow_pickle=number == 0),
        pickle.loads(pickle.dumps(buffer)),
        copy.deepcopy(buffer),
    ]
    ways = [going_on(one) for one in (*others, buffer)]
    assert all(way == ways[-1] for way in ways)
    assert all(type(one) is type(buffer) for one in others)
    with pytest.raises(joystick.JoystickError, match=r"act.* missing"):
        others[0].add(rew=[0], terminated=[0], buffer_ids=[0])


def going_on(buffer: ReplayBuffer) -> tuple:
    """What a buffer answers to some calls."""
    everything, drawn = buffer[:], buffer.sample(5)
    count = buffer.buffer_num
    newest = buffer.unfinished_index()[:1]
    row = {**buffer[newest], "terminated": [True], "obs": buffer.get(newest, "obs", stack_num=1)}
    row["obs_next"] = row["obs"]
    added = buffer.add({key: value for key, value in row.items() if key != "weight"}, buffer_ids=[count - 1])
    return everything, drawn[0], drawn[1].tolist(), lists(added), buffer[:], repr(buffer[:])


def test_a_file_with_objects_is_loaded_only_if_pickles_are_allowed(tmp_path: Path):
    every_kind()[0].save(tmp_path / "file.npz")
    with pytest.raises(joystick.JoystickError, match=r"columns of objects.*allow_pickle=True"):
        ReplayBuffer.load(tmp_path / "file.npz")


def test_a_file_of_another_class_or_a_broken_one_is_told(tmp_path: Path):
    path = tmp_path / "file.npz"
    every_kind()[2].save(path)
    with pytest.raises(joystick.JoystickError, match=r"holds a VectorReplayBuffer: call VectorReplayBuffer\.load"):
        PrioritizedReplayBuffer.load(path)
    whole = path.read_bytes()
    for broken in (b"", b"text", whole[: len(whole) // 2]):
        path.write_bytes(broken)
        with pytest.raises(joystick.JoystickError, match="not a whole file of a buffer"):
            ReplayBuffer.load(path)
    for member, content in (
        ("facts", array_file(np.array("[" * 100_000))),
        ("column_0", b"\x93NUMPY\x02\x00" + b"\0\0\0\x40" + b" " * 2**20),
        ("column_0", array_file(np.zeros(3)).replace(b"(3,)", b"(9" + b"9" * 9 + b",)")),
    ):
        path.write_bytes(whole)
        with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr(f"{member}.npy", content)
        with pytest.raises(joystick.JoystickError, match="not a whole file of a buffer: ") as caught:
            ReplayBuffer.load(path)
        assert str(caught.value).startswith(str(path))
    with pytest.raises(joystick.JoystickError, match="cannot be written: No such file or directory"):
        every_kind()[2].save(tmp_path / "nothing" / "file.npz")
    with pytest.raises(joystick.JoystickError, match="does not exist"):
        ReplayBuffer.load(tmp_path / "nothing.npz")


def array_file(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_a_copy_of_a_buffer_has_arrays_of_its_own():
    buffer = ramp(3)
    other = copy.deepcopy(buffer)
    other.add(obs=7.0, act=0, rew=0, terminated=False, obs_next=8.0)
    assert len(buffer) == 3
    assert other[3].obs == 7.0
    assert other.obs[3] == 7.0
    assert buffer.obs[3] == 0.0


def test_its_text_shows_what_it_holds():
    """Long arrays are shortened as numpy does."""
    assert repr(ReplayBuffer(4)) == "ReplayBuffer()"
    buffer = ReplayBuffer(3)
    buffer.add(obs={"id": 7}, act=1, rew=0.5, terminated=True)
    assert repr(buffer) == (
        "ReplayBuffer(\n"
        "    obs: Batch(\n"
        "             id: array([7, 0, 0]),\n"
        "         ),\n"
        "    act: array([1, 0, 0]),\n"
        "    rew: array([0.5, 0. , 0. ]),\n"
        "    terminated: array([ True, False, False]),\n"
        "    truncated: array([False, False, False]),\n"
        "    done: array([ True, False, False]),\n"
        "    info: Batch(),\n"
        "    policy: Batch(),\n"
        ")"
    )
    large = ReplayBuffer(100_000)
    large.add(obs=np.zeros((4, 84)), act=1, rew=0.5, terminated=True)
    assert "...," in repr(large)
    assert len(repr(large)) < 5000


# ------------------------------------------------------------------------------------------ several environments


def two_parts(**settings) -> tuple[VectorReplayBuffer, list]:
    buffer = VectorReplayBuffer(10, 2, **settings)
    added = []
    for i in range(4):
        values = {"obs": [i, 10 + i], "act": [0, 0], "rew": [1, 2]}
        added.append(lists(buffer.add(values, terminated=[i == 2, False], truncated=[False, i == 3])))
    return buffer, added


def test_a_vector_buffer_has_a_part_for_each_environment():
    buffer, added = two_parts()
    assert [one[0] for one in added] == [[0, 5], [1, 6], [2, 7], [3, 8]]
    assert [[part[0] for part in one[1:]] for one in added] == [[0, 0, 0], [0, 0, 0], [3, 3, 0], [0, 0, 3]]
    assert [[part[1] for part in one[1:]] for one in added] == [[0, 0, 5], [0, 0, 5], [0, 0, 5], [8, 4, 5]]
    assert buffer.prev([0, 1, 3, 5, 6]).tolist() == [0, 0, 3, 5, 5]
    assert buffer.next([2, 3, 8]).tolist() == [2, 3, 8]
    assert buffer.unfinished_index().tolist() == [3]
    assert buffer.last_index.tolist() == [3, 8]
    assert len(buffer) == 8
    assert (buffer.maxsize, buffer.buffer_num) == (10, 2)
    assert buffer[:].obs.tolist() == buffer.chronological().obs.tolist() == [0, 1, 2, 3, 10, 11, 12, 13]
    assert VectorReplayBuffer(9, 2).maxsize == 10


def test_some_of_the_environments_can_be_added_in_any_order():
    buffer, _ = two_parts()
    added = buffer.add(obs=[20], act=[0], rew=[5], terminated=[True], buffer_ids=[1])
    assert lists(added) == [[9], [5], [1], [9]]
    added = buffer.add(obs=[31, 30], act=[0, 0], rew=[7, 8], terminated=[False, True], buffer_ids=np.array([1, 0]))
    assert lists(added) == [[5, 4], [0, 9], [0, 2], [5, 3]]
    assert buffer.obs.tolist() == [0, 1, 2, 3, 30, 31, 11, 12, 13, 20]


@pytest.mark.parametrize("ids", [[0, 0], [2], [-1, 0]])
def test_buffer_ids_are_different_numbers_of_parts(ids):
    buffer, _ = two_parts()
    with pytest.raises(joystick.JoystickError, match="expected different numbers from 0 to 1"):
        buffer.add(
            obs=[0] * len(ids), act=[0] * len(ids), rew=[0] * len(ids), terminated=[0] * len(ids), buffer_ids=ids
        )


def test_each_environment_needs_a_row():
    buffer, _ = two_parts()
    with pytest.raises(
        joystick.JoystickError, match=r"obs: got array\(\[1, 2, 3\]\); expected 2 rows, one for each buffer"
    ):
        buffer.add(obs=[1, 2, 3], act=[0, 0], rew=[0, 0], terminated=[0, 0])
    with pytest.raises(joystick.JoystickError, match="obs: got 1; expected 2 rows"):
        VectorReplayBuffer(4, 2).add(obs=1, act=[0, 0], rew=[0, 0], terminated=[0, 0])


def test_no_row_adds_nothing_and_flags_have_one_for_each_row():
    buffer, _ = two_parts()
    assert lists(buffer.add(obs=[], act=[], rew=[], terminated=[], buffer_ids=[])) == [[], [], [], []]
    assert len(buffer) == 8
    with pytest.raises(joystick.JoystickError, match=r"got the shape \(3,\); expected 2 flags"):
        buffer.add(obs=[1, 2], act=[0, 0], rew=[0, 0], terminated=[0, 0, 0])


def test_rows_of_info_may_be_a_list_of_dicts():
    buffer = VectorReplayBuffer(6, 2)
    for infos in ([{"n": 1}, {}], np.array([{"text": "a"}, {"n": 2}]), None):
        buffer.add(obs=[0, 0], act=[0, 0], rew=[0, 0], terminated=[False, False], info=infos)
    assert buffer[:].info.n.tolist() == [1, 0, 0, 0, 2, 0]
    assert buffer[:].info.text.tolist() == [None, "a", None, None, None, None]


def test_a_plain_buffer_takes_rows_of_one_environment():
    buffer = ReplayBuffer(4)
    added = buffer.add(obs=[[1, 2]], act=[0], rew=[1], terminated=[True], buffer_ids=[0])
    assert lists(added) == [[0], [1], [1], [0]]
    assert buffer[0].obs.tolist() == [1, 2]


def test_parts_that_go_around_are_sampled_evenly_and_stay_apart():
    buffer = VectorReplayBuffer(6, 2, stack_num=2)
    for i in range(5):
        buffer.add(obs=[i], act=[0], rew=[0], terminated=[False], buffer_ids=[0])
    buffer.add(obs=[10], act=[0], rew=[0], terminated=[False], buffer_ids=[1])
    assert buffer.sample_indices(0).tolist() == [2, 0, 1, 3]
    assert buffer.chronological().obs.tolist() == [[2, 2], [2, 3], [3, 4], [10, 10]]
    counts = np.bincount(buffer.sample_indices(8000), minlength=6)
    assert counts[4:].tolist() == [0, 0]
    assert counts[:4].min() > 1850
    with pytest.raises(joystick.JoystickError, match="call it on a ReplayBuffer"):
        buffer.update(ReplayBuffer(3))


def test_a_vector_buffer_keeps_the_observations_after_truncated_steps():
    buffer = VectorReplayBuffer(4, 2, ignore_obs_next=True)
    for i in range(3):
        buffer.add(
            obs=[i, i], act=[0, 0], rew=[0, 0], terminated=[0, 0], truncated=[i == 0, i == 2], obs_next=[i + 50, i + 60]
        )
    assert buffer[:].obs.tolist() == [2, 1, 2, 1]
    assert buffer[:].obs_next.tolist() == [2, 2, 62, 2]


# ---------------------------------------------------------------------------------------------- whole episodes


def test_an_episode_moves_from_its_cache_to_the_main_part_when_it_ends():
    buffer = CachedReplayBuffer(ReplayBuffer(10), 4, 5)
    assert buffer.buffer_num == 4

    def add(ids: list[int], values: list[int], ends: list[bool]) -> list:
        return lists(buffer.add(obs=values, act=values, rew=values, terminated=ends, buffer_ids=ids))

    assert add([1], [1], [False]) == [[15], [0], [0], [15]]
    assert add([3], [2], [True]) == [[0], [2], [1], [0]]
    assert buffer.sample_indices(0).tolist() == [0, 15]
    assert buffer.unfinished_index().tolist() == [15]
    assert add([1, 2], [3, 4], [True, False]) == [[2, 20], [4, 0], [2, 0], [1, 20]]
    assert buffer.sample_indices(0).tolist() == [0, 1, 2, 20]
    assert buffer[:].obs.tolist() == [2, 1, 3, 4]
    assert buffer.prev([0, 1, 2, 20]).tolist() == [0, 1, 1, 20]
    assert buffer.next([0, 1, 2, 20]).tolist() == [0, 2, 2, 20]
    assert set(buffer.sample_indices(100).tolist()) == {0, 1, 2, 20}


def test_a_cache_keeps_the_end_of_an_episode_that_is_too_long():
    buffer = CachedReplayBuffer(ramp(2, size=4, ends=2), 1, 3)
    for i in range(5):
        added = buffer.add(obs=[10.0 + i], act=[i], rew=[1], terminated=[i == 4], obs_next=[11.0 + i])
    assert lists(added) == [[0], [5], [5], [2]]
    assert buffer[:].obs.tolist() == [14, 1, 12, 13]
    assert buffer.chronological().obs.tolist() == [1, 12, 13, 14]


def test_the_observation_after_a_truncated_episode_moves_with_it():
    buffer = CachedReplayBuffer(ReplayBuffer(4, ignore_obs_next=True), 2, 3)
    buffer.add(obs=[1, 2], act=[0, 0], rew=[0, 0], terminated=[0, 0], truncated=[0, 1], obs_next=[50, 60])
    assert buffer[0].obs_next == 60
    assert buffer[4].obs_next == 1
    for i in range(4):  # four episodes of one step go around the main part
        buffer.add(obs=[i], act=[0], rew=[0], terminated=[1], buffer_ids=[1])
    assert buffer[:4].obs_next.tolist() == [3, 0, 1, 2]


def test_of_an_episode_that_is_longer_than_the_main_part_its_end_is_kept():
    buffer = CachedReplayBuffer(ReplayBuffer(2), 1, 5)
    for i in range(3):
        added = buffer.add(obs=[i], act=[0], rew=[1], terminated=[i == 2])
    assert lists(added) == [[1], [3], [3], [0]]
    assert buffer[:].obs.tolist() == [1, 2]


# ---------------------------------------------------------------------------------------------------- priorities


def five() -> PrioritizedReplayBuffer:
    buffer = ramp(5, buffer=PrioritizedReplayBuffer(8, alpha=0.6, beta=0.4))
    buffer.update_weight([0, 1, 2], np.array([2.0, 0.5, -3.0]))
    return buffer


def test_priorities_weigh_what_is_drawn_and_a_new_transition_has_the_highest_so_far():
    buffer = five()
    leaves = [1.515717, 0.659754, 1.933182, 1.0, 1.0]
    assert sum(leaves) == pytest.approx(6.108653, abs=1e-6)
    np.testing.assert_allclose(buffer[:].weight, [0.716978, 1, 0.650495, 0.846745, 0.846745], atol=1e-5)
    indices = buffer.sample(60_000)[1]
    np.testing.assert_allclose(np.bincount(indices) / 60_000, np.array(leaves) / 6.108653, atol=0.01)
    ramp(1, buffer=buffer)
    np.testing.assert_allclose(np.bincount(buffer.sample(60_000)[1])[5] / 60_000, 1.933182 / 8.041835, atol=0.01)
    batch, indices = buffer.sample(4)
    assert batch.weight.max() == 1
    assert batch.obs.tolist() == buffer.obs[indices].tolist()


def test_beta_sets_how_much_the_weights_correct():
    buffer = five()
    buffer.set_beta(1.0)
    np.testing.assert_allclose(buffer[:].weight, 0.659754 / np.array([1.515717, 0.659754, 1.933182, 1, 1]), atol=1e-5)
    buffer.set_beta(0.0)
    assert buffer[:].weight.tolist() == [1] * 5


def test_stratified_draws_take_one_from_each_part_of_the_total():
    buffer = ramp(8, buffer=PrioritizedReplayBuffer(8, alpha=1.0, beta=0.4, stratified=True))
    assert buffer.sample(8)[1].tolist() == list(range(8))
    assert sorted(ramp(8, buffer=PrioritizedReplayBuffer(8, alpha=1.0, beta=0.4)).sample(8)[1]) != list(range(8))


def test_priorities_may_be_tensors_and_belong_to_stored_transitions():
    buffer = five()
    index = np.array([3])
    buffer.update_weight(index, torch.tensor([[4.0]], requires_grad=True))
    index[0] = 0  # the caller's array may change before the sums are computed
    assert buffer[[1, 3]].weight[1] == pytest.approx((4**0.6 / 0.5**0.6) ** -0.4)
    share = 4**0.6 / (2**0.6 + 0.5**0.6 + 3**0.6 + 4**0.6 + 1)
    assert np.mean(buffer.sample_indices(20_000) == 3) == pytest.approx(share, abs=0.02)
    with pytest.raises(joystick.JoystickError, match="2 indices, and 1 priorities"):
        buffer.update_weight([0, 1], [1.0])
    with pytest.raises(IndexError, match="nothing is stored"):
        buffer.update_weight([6], [1.0])
    for number in (np.nan, np.inf):
        with pytest.raises(joystick.JoystickError, match="priorities are finite numbers"):
            buffer.update_weight([0, 1], [1.0, number])
    buffer.update_weight([], [])


def test_a_reset_forgets_priorities_but_not_the_highest():
    buffer = five()
    buffer.reset()
    ramp(2, buffer=buffer)
    assert set(buffer.sample_indices(100).tolist()) == {0, 1}
    assert buffer[:].weight.tolist() == [1, 1]


def test_a_prioritised_vector_buffer_is_both():
    buffer = PrioritizedVectorReplayBuffer(8, 2, alpha=1.0, beta=1.0)
    for i in range(3):
        buffer.add(obs=[i, 10 + i], act=[0, 0], rew=[0, 0], terminated=[0, 0])
    buffer.update_weight([0, 4], [1e-9, 7.0])
    counts = np.bincount(buffer.sample_indices(11_000), minlength=8)
    assert counts[0] < 5
    assert counts[4] == pytest.approx(7000, rel=0.05)
    assert counts[[3, 7]].tolist() == [0, 0]


def test_priorities_of_a_buffer_without_them_are_ignored():
    buffer = ramp(3)
    buffer.update_weight([0], [5.0])
    buffer.set_beta(1.0)
    assert "weight" not in buffer[:]


def test_an_empty_buffer_has_no_step_before_or_after():
    assert ReplayBuffer(4).next([]).tolist() == ReplayBuffer(4).prev([]).tolist() == []


def test_alpha_and_beta_are_numbers():
    buffer = PrioritizedReplayBuffer(4, 0.6, 0.4)
    for beta in ("x", -1, float("nan")):
        with pytest.raises(joystick.JoystickError, match=f"beta: got {beta!r}; expected a number, at least 0"):
            buffer.set_beta(beta)
    buffer.set_beta(np.float32(0.5))
    with pytest.raises(joystick.JoystickError, match="alpha: got 'high'; expected a number above 0"):
        PrioritizedReplayBuffer(4, "high", 0.4)


def test_none_is_a_value_of_info() -> None:
    buffer = ReplayBuffer(3)
    step = {"obs": 0, "act": 0, "rew": 1.0, "terminated": False, "truncated": False, "obs_next": 1}
    buffer.add(**step, info={"extra": None, "n": 1})
    assert buffer[0].info.extra is None
    buffer.add(**step, info={"extra": 5, "n": 2})
    assert list(buffer[:].info.extra) == [None, 5]


@pytest.mark.parametrize("set_later", [False, True])
def test_the_number_of_stacked_observations_can_be_set_later(set_later: bool) -> None:
    buffer = ReplayBuffer(10, stack_num=1 if set_later else 4)
    if set_later:
        buffer.stack_num = 4
    for step in range(6):
        buffer.add(obs=step, act=0, rew=1.0, terminated=False, truncated=False, obs_next=step + 1)
    assert buffer[:].obs.tolist()[-1] == [2, 3, 4, 5]
    assert buffer[:].obs_next.tolist()[-1] == [3, 4, 5, 6]
    with pytest.raises(joystick.JoystickError, match="stack_num: got 0"):
        buffer.stack_num = 0


def test_the_main_buffer_of_caches_has_the_episodes_that_ended(tmp_path: Path) -> None:
    main = ReplayBuffer(5)
    buffer = CachedReplayBuffer(main, 2, 4)
    assert buffer.main is main

    def play(first: int, ends: int) -> None:
        """Two environments make steps; the episode of the first one ends after so many."""
        for step in range(first, first + ends):
            obs = np.array([step, 100 + step])
            ended = np.array([step == first + ends - 1, False])
            no = np.zeros(2, bool)
            buffer.add(obs=obs, act=no, rew=obs, terminated=ended, truncated=no, obs_next=obs + 1)

    play(0, 3)
    assert main[:].obs.tolist() == [0, 1, 2]
    play(3, 2)
    assert main[:].obs.tolist() == [0, 1, 2, 3, 4]
    play(5, 1)
    assert sorted(main[:].obs.tolist()) == [1, 2, 3, 4, 5], "the oldest step went"
    assert main.chronological().rew.tolist() == [1, 2, 3, 4, 5]
    batch, indices = main.sample(8)
    assert set(batch.obs.tolist()) <= {1, 2, 3, 4, 5}
    assert set(indices.tolist()) <= set(range(5))
    buffer.save(tmp_path / "buffer.npz")
    assert CachedReplayBuffer.load(tmp_path / "buffer.npz").main.chronological().obs.tolist() == [1, 2, 3, 4, 5]
    assert np.shares_memory(main.rings.flat["obs"], buffer.rings.flat["obs"]), "nothing is stored twice"


def test_the_main_buffer_follows_before_an_episode_ends_and_when_a_column_becomes_wider() -> None:
    main = ReplayBuffer(6)
    buffer, no = CachedReplayBuffer(main, 1, 3), [False]
    buffer.add(obs=np.uint8([1]), act=[0], rew=[1.0], terminated=no, truncated=no)
    assert not len(main[:].obs)
    assert not len(main.sample(0)[1])
    buffer.add(obs=np.uint8([2]), act=[0], rew=[1.0], terminated=[True], truncated=no)
    buffer.add(obs=[300], act=[0], rew=[1.0], terminated=no, truncated=no, info={"x": [1]})
    assert main[:].info.x.tolist() == [0, 0]
    buffer.add(obs=[4], act=[0], rew=[1.0], terminated=[True], truncated=no, info={"x": [2]})
    assert main[:].obs.tolist() == [1, 2, 300, 4]


def test_the_main_buffer_keeps_what_it_had() -> None:
    main = ReplayBuffer(6)
    main.add(obs=7, act=0, rew=1.0, terminated=True, truncated=False, obs_next=8)
    buffer = CachedReplayBuffer(main, 1, 3)
    assert main[:].obs.tolist() == buffer[:].obs.tolist() == [7]


@pytest.mark.parametrize("batch_size", [None, 2, -1])
def test_priorities_that_learn_puts_into_minibatches_reach_the_buffer(batch_size: int | None) -> None:
    class OfRewards(Recording):
        def learn(self, batch: Batch) -> dict[str, float]:
            assert batch_size is None or (batch.weight <= 1.0).all(), "those of the sample, also in the second pass"
            batch.weight = torch.as_tensor(batch.rew + 1.0).requires_grad_()
            return {}

    buffer = PrioritizedReplayBuffer(4, alpha=1.0, beta=1.0)
    for step in range(4):
        buffer.add(Batch(obs=step, act=0, rew=float(step), terminated=False, truncated=False, obs_next=step + 1))
    OfRewards().update(0, buffer, batch_size=batch_size, repeat=2)
    assert buffer.weight.tolist() == pytest.approx([1.0, 2.0, 3.0, 4.0], abs=1e-3)
    assert buffer[2].weight == 1.0, "the largest of those that are asked for is 1"
