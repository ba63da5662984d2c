"""Joint observations: their layout as bytes, and the exact observations, rewards and ends of scripted agents."""

import pickle

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete

from envs.several.joint import AgentType, JointActionSpace, JointLayout
from envs.several.multi_agent import MultiAgentVector
from tests.tools.agents import NUMBER, Played, agent, flags, number, started, stepped, toy

CAR = AgentType(("car_0", "car_1"), Box(-1, 1, (3,)), Box(-1, 1, (2,)))
LIGHT = AgentType(("light",), Discrete(5), Discrete(4), masked=True)
LAYOUT = JointLayout((CAR, LIGHT), state_size=2)


def test_a_record_has_the_fields_of_each_type_and_of_the_environment():
    record = LAYOUT.new(4)
    common = ("reward", "acts", "active", "first", "terminated", "truncated")
    assert record.dtype.names == ("t0", "t1", "global_state", "seed")
    assert record["t0"].dtype.names == ("obs", *common)
    assert record["t1"].dtype.names == ("obs", "mask", *common)
    assert record["t0"]["obs"].shape == (4, 2, 3)
    assert record["t1"]["obs"].shape == (4, 1)
    assert record["t1"]["mask"].shape == (4, 1, 4)
    assert record["global_state"].shape == (4, 2)
    assert (record["seed"].dtype, record["t0"]["reward"].dtype) == (np.uint32, np.float32)
    assert "global_state" not in JointLayout((CAR,)).new().dtype.names
    assert LAYOUT.agents == ("car_0", "car_1", "light")
    assert [LAYOUT.place(name) for name in LAYOUT.agents] == [(0, 0), (0, 1), (1, 0)]


def test_bytes_and_records_are_the_same_memory_and_equal_records_have_equal_bytes():
    records = LAYOUT.new(3)
    coded = LAYOUT.encode(records)
    assert (coded.shape, coded.dtype) == ((3, LAYOUT.obs.itemsize), np.uint8)
    assert LAYOUT.observation_space.shape == coded.shape[1:]
    records["t1"]["mask"][1, 0, 2] = True
    records["seed"][2] = 7
    assert LAYOUT.decode(coded)["t1"]["mask"][1, 0].tolist() == [False, False, True, False]
    assert LAYOUT.decode(coded)["seed"].tolist() == [0, 0, 7]
    other = LAYOUT.new(3)
    other["seed"][2], other["t1"]["mask"][1, 0, 2] = 7, True
    assert LAYOUT.encode(other).tobytes() == coded.tobytes()
    assert LAYOUT.decode(np.repeat(coded, 2, axis=0)[::2])["seed"].tolist() == [0, 0, 7]


def test_a_layout_is_the_same_after_pickling():
    again = pickle.loads(pickle.dumps(LAYOUT))
    assert again == LAYOUT
    assert (again.obs, again.action) == (LAYOUT.obs, LAYOUT.action)
    assert JointLayout((CAR,)) != LAYOUT


def test_a_sampled_joint_action_obeys_the_masks_of_a_joint_observation():
    space = JointActionSpace(LAYOUT)
    space.seed(3)
    assert list(space.spaces) == ["car_0", "car_1", "light"]
    record = LAYOUT.new()
    free = {int(LAYOUT.decode_action(space.sample())["t1"][0]) for _ in range(60)}
    assert free == {0, 1, 2, 3}
    record["t1"]["mask"][0] = [False, False, True, False]
    seen = LAYOUT.encode(record)
    drawn = [LAYOUT.decode_action(space.sample(mask=seen)) for _ in range(30)]
    assert {int(action["t1"][0]) for action in drawn} == {2}
    assert all(space["car_0"].contains(action["t0"][0]) for action in drawn)
    assert len({action["t0"].tobytes() for action in drawn}) == 30


SCRIPTED = [
    # p: observation, reward, flags      q                    r
    (("p", 0, 0, "IAF"), ("q", 10, 0, "IAF"), ("r", 0, 0, "")),
    (("p", 1, 1, "IA"), ("q", 11, 10, "IA"), ("r", 0, 0, "")),
    (("p", 2, 2, "IA"), ("q", 12, 10, "IT"), ("r", 0, 0, "")),
    (("p", 3, 3, "IA"), ("q", 0, 0, ""), ("r", 23, 0, "IAF")),
    (("p", 4, 4, "IA"), ("q", 0, 0, ""), ("r", 24, -4, "IA")),
    (("p", 5, 5, "IA"), ("q", 0, 0, ""), ("r", 25, -5, "IA")),
    (("p", 6, 6, "IT"), ("q", 0, 0, ""), ("r", 26, -6, "IC")),
]
"""Observation, reward and flags of each agent: I (in the episode), Acts, First, Terminated, C for truncated."""


def test_scripted_agents_give_exactly_this_table_in_every_episode():
    env = toy("scripted", 2)
    assert env.joint.agents == ("p", "q", "r")
    records, steps = [], []
    for episode in range(2):
        records.append(started(env, 2**32 + episode, 7))
        for _ in range(6):
            after, step = stepped(env)
            records.append(after)
            steps.append((step.reward.tolist(), step.terminated.tolist(), step.truncated.tolist()))
    for time, (line, seen) in enumerate(zip(SCRIPTED * 2, records, strict=True)):
        for name, obs, reward, set_flags in line:
            for row in (0, 1):
                fields = agent(env, seen, name, row)
                assert (fields["obs"], fields["reward"]) == ([obs], reward), (time, name)
                assert flags(env, seen, name, row) == set_flags, (time, name)
        assert seen["seed"].tolist() == [time // 7, 7]
    sums = [float(sum(reward for _, _, reward, _ in line)) for line in SCRIPTED[1:]]
    ends = [False] * 5 + [True]
    assert steps == [([total] * 2, [end] * 2, [False] * 2) for total, end in zip(sums, ends, strict=True)] * 2
    assert sum(sums) == 26


def test_each_joint_observation_is_a_new_array():
    env = toy("scripted")
    first = env.reset(np.ones(1, bool), np.array([1]))
    before = first.copy()
    second = env.step(env.action_space.sample()[None]).obs
    kept = second.copy()
    env.step(env.action_space.sample()[None])
    np.testing.assert_array_equal(first, before)
    np.testing.assert_array_equal(second, kept)
    first[:] = 255  # what a caller does to it changes nothing here
    assert env.joint.decode(env.step(env.action_space.sample()[None]).obs)["t0"]["obs"][0].tolist() == [[3], [0], [23]]


@pytest.mark.parametrize("inside", [True, False])
def test_agents_of_equal_spaces_are_one_type_and_masks_make_another(inside):
    plain, masked = NUMBER, (Dict({"observation": NUMBER[0], "action_mask": Box(0, 1, (3,), np.int8)}), NUMBER[1])
    seen = {"observation": number(4), "action_mask": np.array([0, 1, 1], np.int8)}
    info = {"b": {"action_mask": seen["action_mask"]}}
    spaces = {"a": plain, "b": masked if inside else plain, "c": (Box(0, 1, (2,)), Discrete(3)), "d": plain}
    if not inside:
        spaces["b"] = NUMBER[0], Discrete(4, start=-1)
        info["b"]["action_mask"] = np.array([0, 1, 1, 0])
    obs = {"a": number(1), "b": seen if inside else number(4), "c": np.zeros(2, np.float32), "d": number(2)}
    env = MultiAgentVector(lambda index: Played(spaces, (obs, {} if inside else info)), "types", 1)
    assert [kind.agents for kind in env.joint.types] == [("a", "d"), ("b",), ("c",)]
    assert [kind.masked for kind in env.joint.types] == [False, True, False]
    assert env.joint.types[1].observation_space == NUMBER[0]
    assert env.joint.types[1].action_space == Discrete(3 if inside else 4)
    record = started(env)
    assert agent(env, record, "b")["mask"] == [False, True, True, *([] if inside else [False])]
    assert agent(env, record, "b")["obs"] == [4]
    ignoring = MultiAgentVector(
        lambda index: Played(spaces, (obs, {} if inside else info)), "types", 1, obey_masks=False
    )
    assert not any(kind.masked for kind in ignoring.joint.types)
    assert agent(ignoring, started(ignoring), "b")["obs"] == [4]
