"""Multi-agent environments as rows: masks, slots, ends, global state, and what is refused."""

import re
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, Text

import envs
from config.own import objects as own
from envs import python
from envs import toy as toys
from envs.base import EnvContext, EnvError
from envs.pettingzoo.adapters import Turns
from envs.python.validate import problems
from envs.several.multi_agent import MOST_BYTES, MultiAgentVector, several
from tests.tools.agents import ALL, NUMBER, Played, actions_of, agent, flags, number, played, started, stepped, toy

BOTH = {"a": number(1), "b": number(2)}
ON = {ALL: False}


def message_of(env: MultiAgentVector, steps: int = 1) -> str:
    """The error of the last of some steps, the first of which succeed."""
    started(env, 5)
    for _ in range(steps - 1):
        stepped(env)
    with pytest.raises(EnvError) as caught:
        stepped(env)
    return str(caught.value)


# -------------------------------------------------------------------------------------------- who acts, what is kept


def test_an_agent_acts_if_it_has_an_observation_and_otherwise_keeps_its_newest_one():
    env = played(
        ({"a": number(1)},),
        ({"b": number(5)}, {"a": 2.0}, ON),
        ({"a": number(3), "b": number(6)}, {"b": 7.0}, ON),
        ({}, {"a": 1, "b": np.float32(0.5)}, ON),
    )
    records = started(env)
    assert [flags(env, records, name) for name in "ab"] == ["IAF", ""]
    expected = [("I", 1, 2, "IAF", 5, 0), ("IA", 3, 0, "IA", 6, 7), ("I", 3, 1, "I", 6, 0.5)]
    for set_a, obs_a, reward_a, set_b, obs_b, reward_b in expected:
        records, step = stepped(env)
        one, other = agent(env, records, "a"), agent(env, records, "b")
        assert (flags(env, records, "a"), one["obs"], one["reward"]) == (set_a, [obs_a], reward_a)
        assert (flags(env, records, "b"), other["obs"], other["reward"]) == (set_b, [obs_b], reward_b)
        assert step.reward.tolist() == [reward_a + reward_b]


def test_the_environment_gets_the_actions_of_the_agents_that_act_and_no_others():
    env = played(({"b": number(1)},), (BOTH, {}, ON), ({}, {}, ON), ({}, {}, ON))
    started(env, 9)
    for actions in ({"a": 1, "b": 2}, {"a": 1, "b": 0}, {"a": 2, "b": 2}):
        stepped(env, actions)
    assert env.member(0).calls == [0, 9, {"b": 2}, {"a": 1, "b": 0}, {}]


def test_actions_arrive_in_the_space_of_the_environment():
    spaces = {"a": (NUMBER[0], Discrete(3, start=-1)), "b": (NUMBER[0], Box(-1, 1, (2,), np.float64))}
    env = played((BOTH,), (BOTH, {}, ON), spaces=spaces)
    started(env)
    stepped(env, {"a": 2, "b": [0.5, -0.25]})
    sent = env.member(0).calls[-1]
    assert spaces["a"][1].contains(sent["a"])
    assert (sent["a"], sent["b"].tolist(), sent["b"].dtype) == (1, [0.5, -0.25], np.float64)
    assert env.decode(actions_of(env, {"a": 2, "b": [0.5, -0.25]}))[0]["a"] == 1


@pytest.mark.parametrize(
    ("space", "obs", "encoded"),
    [
        (Discrete(3, start=4), 6, 2),
        (Box(0, 255, (2, 2), np.uint8), np.full((2, 2), 7, np.uint8), [[7, 7], [7, 7]]),
        (Box(-9, 9, (), np.float32), np.float32(3), [3]),
        (Box(0, 1, (2,), np.int8), np.array([0, 1], np.int8), [0, 1]),
        (MultiBinary(2), np.array([1, 0], np.int8), [1, 0]),
        (Dict({"x": NUMBER[0], "n": Discrete(2)}), {"x": number(5), "n": 1}, [0, 1, 5]),
    ],
)
def test_observations_are_encoded_as_for_a_single_agent(space, obs, encoded):
    env = played(({"a": obs},), ({"a": obs}, {}, ON), spaces={"a": (space, Discrete(2))})
    assert agent(env, started(env), "a")["obs"] == encoded
    assert agent(env, stepped(env)[0], "a")["obs"] == encoded
    assert agent(env, env.joint.decode(env.encode({"a": obs})[None]), "a")["obs"] == encoded
    assert bool(env.joint.types[0].parts) == isinstance(space, Dict)


# ------------------------------------------------------------------------------------------------------------- ends


@pytest.mark.parametrize(
    ("terminated", "truncated", "set_a", "set_b", "of_env"),
    [
        ({ALL: True}, {}, "IT", "IT", (True, False)),
        ({ALL: False}, {ALL: True}, "IC", "IC", (False, True)),
        ({ALL: True, "a": False}, {ALL: False, "b": True}, "IT", "IC", (True, False)),
        ({"a": True, ALL: False}, {ALL: True}, "IT", "IC", (False, True)),
        ({"a": True, "b": True}, {}, "IT", "IT", (True, False)),
        ({"a": True}, {"b": True}, "IT", "IC", (False, True)),
        ({"a": True}, {"b": False}, "IT", "IA", (False, False)),
        ({"a": True, "b": True, ALL: False}, {}, "IT", "IT", (False, False)),
        ({"a": np.True_, "b": True}, {"a": True, "b": np.False_}, "ITC", "IT", (True, False)),
        ({ALL: True}, {ALL: True}, "ITC", "ITC", (True, True)),
    ],
)
def test_ends_of_agents_and_of_the_episode(terminated, truncated, set_a, set_b, of_env):
    env = played((BOTH,), (BOTH, {"a": 1.0}, terminated, truncated), (BOTH, {}, {ALL: True}))
    started(env)
    records, step = stepped(env)
    assert (flags(env, records, "a"), flags(env, records, "b")) == (set_a, set_b)
    assert (bool(step.terminated[0]), bool(step.truncated[0])) == of_env
    assert agent(env, records, "a")["obs"] == [1]
    if any(of_env):
        with pytest.raises(RuntimeError, match="row 0 has ended: reset it"):
            stepped(env)


def test_the_flags_of_an_end_are_set_once_and_then_the_agent_is_gone():
    later = {"b": number(3)}
    env = played((BOTH,), (later, {}, {"a": True}), (later, {}, {"a": True}), (later, {}, {"a": True, "b": True}))
    started(env)
    seen = [stepped(env)[0] for _ in range(3)]
    assert [flags(env, records, "a") for records in seen] == ["IT", "", ""]
    assert [agent(env, records, "a")["obs"] for records in seen] == [[1], [0], [0]]
    assert [flags(env, records, "b") for records in seen] == ["IA", "IA", "IT"]


def test_an_environment_may_report_an_end_at_every_step_with_the_last_observation():
    env = played((BOTH,), *[(BOTH, {"a": 0, "b": 1.0}, {"a": True}, ON)] * 2, ({}, {}, {ALL: True}))
    started(env)
    stepped(env, {"a": 1, "b": 2})
    records, _ = stepped(env, {"a": 1, "b": 2})
    assert (flags(env, records, "a"), agent(env, records, "a")["obs"]) == ("", [0])
    assert env.member(0).calls[-1] == {"b": 2}


def test_all_agents_may_leave_and_another_one_enter_if_the_environment_says_that_it_goes_on():
    env = played(({"a": number(1)},), ({}, {}, {"a": True, ALL: False}), ({"b": number(4)}, {}, ON))
    started(env)
    assert not stepped(env)[1].terminated[0]
    assert flags(env, stepped(env)[0], "b") == "IAF"


def test_an_agent_that_enters_and_ends_in_one_step_never_acts():
    env = played(({"a": number(1)},), (BOTH, {"b": 3.0}, {"b": True}), ({"a": number(2)},))
    started(env)
    records, _ = stepped(env)
    assert (flags(env, records, "b"), agent(env, records, "b")["reward"]) == ("IFT", 3)
    assert flags(env, stepped(env)[0], "b") == ""


# ------------------------------------------------------------------------------------------------------------ masks


def masked(*masks: Any, inside: bool = True, seen: Any = None, **settings: Any) -> Any:
    """One agent with four actions, with these masks in a row."""
    shown = number(1) if seen is None else seen
    rest = Dict({"x": NUMBER[0], "y": NUMBER[0]}) if isinstance(shown, dict) else NUMBER[0]
    space = Dict({"action_mask": MultiBinary(4), "observation": rest}) if inside else rest
    results = []
    for mask in masks:
        said = None if mask is None else np.array(mask, np.int8)
        obs = {"action_mask": said, "observation": shown} if inside else shown
        infos = {} if inside or mask is None else {"a": {"action_mask": said}}
        results.append((obs, infos))
    first, *later = results
    steps = [({"a": obs}, {}, ON, ON, infos) for obs, infos in later]
    spaces = {"a": (space, Discrete(4))}
    return played(({"a": first[0]}, first[1]), *steps, spaces=spaces, **settings)


@pytest.mark.parametrize("inside", [True, False])
def test_an_illegal_action_is_replaced_by_the_first_legal_one(inside):
    """On resume, an idle row is stepped with the actions of another episode. Where no action is legal it is 0."""
    env = masked([0, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 1], inside=inside)
    records = started(env)
    assert agent(env, records, "a")["mask"] == [False, True, False, True]
    for action in (2, 0, 3):
        records, _ = stepped(env, {"a": action})
    assert [call["a"] for call in env.member(0).calls[2:]] == [1, 0, 3]
    again = masked([0, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1], inside=inside)
    started(again)
    stepped(again, {"a": 3})
    stepped(again, {"a": 2})
    assert [call["a"] for call in again.member(0).calls[2:]] == [3, 0]


def test_a_masked_agent_whose_info_has_no_mask_may_choose_any_action():
    env = masked([0, 1, 1, 1], None, inside=False)
    started(env)
    assert agent(env, stepped(env)[0], "a")["mask"] == [True] * 4


def test_the_mask_is_no_part_of_the_observation_and_parts_keep_their_names():
    env = masked([1, 1, 0, 0], seen={"x": number(3), "y": number(4)})
    assert agent(env, started(env), "a")["obs"] == [3, 4]
    assert [part[0] for part in env.joint.types[0].parts] == ["x", "y"]
    coded = env.encode({"a": {"action_mask": np.array([0, 0, 1, 1]), "observation": {"x": number(5), "y": number(6)}}})
    record = env.joint.decode(coded[None])
    assert (agent(env, record, "a")["obs"], agent(env, record, "a")["mask"]) == ([5, 6], [False, False, True, True])
    assert flags(env, record, "a") == "IA"


@pytest.mark.parametrize("inside", [True, False])
def test_masks_can_be_ignored(inside):
    env = masked([0, 1, 0, 1], [0, 0, 1, 1], inside=inside, obey_masks=False)
    records = started(env)
    assert "mask" not in records["t0"].dtype.names
    stepped(env, {"a": 2})
    assert env.member(0).calls[-1] == {"a": 2}


def test_an_agent_that_enters_late_has_masks_if_those_of_its_spaces_have():
    mask = {"action_mask": np.array([0, 1, 1], np.int8)}
    env = played(({"a": number(1)}, {"a": mask}), (BOTH, {}, ON, ON, {"b": mask}))
    started(env)
    records, _ = stepped(env)
    assert agent(env, records, "b")["mask"] == [False, True, True]
    assert agent(env, records, "a")["mask"] == [True] * 3


# ------------------------------------------------------------------------------------- agents whose names change


def changing(*results: Any, limit: int = 1, agents: tuple[str, ...] = ("boss", "low_0")) -> MultiAgentVector:
    return played(*results, agents=agents, max_agents={"low_*": limit})


def test_agents_with_changing_names_share_the_slots_of_their_pattern():
    def low(*numbers: int) -> dict[str, np.ndarray]:
        return {f"low_{n}": number(n) for n in numbers}

    env = changing(
        (low(1, 2),),
        (low(1, 2), {"low_1": 5.0}, {"low_1": True, ALL: False}),
        (low(2, 3), {"low_2": 6.0}, ON),
        (low(3), {}, {"low_2": True, ALL: False}),
        (low(3, 4), {"low_4": 7.0}, ON),
        limit=2,
    )
    assert env.joint.agents == ("boss", "low_#0", "low_#1")
    seen = [started(env)] + [stepped(env, {"low_#0": 1, "low_#1": 2})[0] for _ in range(4)]
    table = [[agent(env, records, f"low_#{n}")["obs"][0] for n in (0, 1)] for records in seen]
    assert table == [[1, 2], [1, 2], [3, 2], [3, 2], [3, 4]]
    set_flags = [[flags(env, records, f"low_#{n}") for n in (0, 1)] for records in seen]
    assert set_flags == [["IAF", "IAF"], ["IT", "IA"], ["IAF", "IA"], ["IA", "IT"], ["IA", "IAF"]]
    assert [agent(env, records, "low_#1")["reward"] for records in seen] == [0, 0, 6, 0, 7]
    assert env.member(0).calls[2:] == [{"low_1": 1, "low_2": 2}, {"low_2": 2}, {"low_3": 1, "low_2": 2}, {"low_3": 1}]
    assert [agent(env, started(env), f"low_#{n}")["obs"] for n in (0, 1)] == [[1], [2]]


def test_a_new_agent_takes_the_first_free_slot():
    ends = [({}, {}, {name: True, ALL: False}) for name in ("low_2", "low_1")]
    first = {"low_1": number(1), "low_2": number(2)}
    env = changing((first,), *ends, ({}, {}, ON), ({"low_3": number(3)}, {}, ON), limit=2)
    started(env)
    records = [stepped(env)[0] for _ in range(4)][-1]
    assert [agent(env, records, f"low_#{n}")["obs"] for n in (0, 1)] == [[3], [0]]


def test_an_agent_without_a_free_slot_is_named_with_its_pattern_and_the_limit():
    env = changing(({"low_1": number(1)},), ({"low_2": number(2)}, {}, {"low_1": True}))
    message = message_of(env)
    assert "played failed in step 1 of row 0: agent 'low_2' has no free slot: env_cfg.max_agents allows 1 of" in message
    assert "'low_*'; a slot is free again one step after its agent has ended" in message


def test_the_spaces_of_changing_agents_are_those_of_an_example():
    asked = []

    class Named(Played):
        def observation_space(self, agent: str) -> Any:
            asked.append(agent)
            return NUMBER[0]

        def action_space(self, agent: str) -> Any:
            return NUMBER[1]

    env = MultiAgentVector(
        lambda index: Named({"boss": NUMBER}, ({"boss": number(0)},)), "named", 1, max_agents={"low_*": 2}
    )
    assert env.joint.agents == ("boss", "low_#0", "low_#1")
    assert "low_0" in asked
    other = {"low_0": NUMBER, "low_1": (NUMBER[0], Discrete(4))}
    with pytest.raises(EnvError, match=r"max_agents: low_\* matches low_0 and low_1, whose spaces differ"):
        played(({},), spaces=other, max_agents={"low_*": 1})


def test_the_class_of_an_environment_can_have_its_limits():
    assert toy("levels").joint.agents == ("high_level", "low_level_#0")


# ----------------------------------------------------------------------------------------------------- what is wrong


MASK = {"action_mask": [1, 1]}
AFTER = ({"b": number(2)}, {}, {"a": True, ALL: False})


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([({"a": number(np.nan)},)], r"step 1 of row 0: the observation of agent 'a' is not finite \(seed of the epis"),
        ([({"b": np.array([np.inf])},)], "the observation of agent 'b' is not finite"),
        ([({"a": np.zeros(2)},)], r"the observation of agent 'a' is an array of shape \(2,\); expected shape \(1,\)"),
        ([({"a": np.zeros(())},)], r"the observation of agent 'a' is an array of shape \(\); expected shape \(1,\)"),
        ([({"a": [1.0]},)], r"the observation of agent 'a' is a list; expected shape \(1,\)"),
        ([({"c": number(1)},)], r"agent 'c' is not in possible_agents; agents whose names change need a limit, such"),
        ([({"aa": number(1)},)], r"agent 'aa' is not in possible_agents; did you mean a\?"),
        ([({7: number(1)},)], r"agent 7 is not in possible_agents"),
        ([({}, {"c": 0.0})], "agent 'c' is not in possible_agents"),
        ([({}, {}, {"c": True})], "agent 'c' is not in possible_agents"),
        ([({}, {}, {}, {"c": True})], "agent 'c' is not in possible_agents"),
        ([({}, {"a": None})], "the reward of agent 'a' is None; expected a number"),
        ([({}, {"a": "2"})], "the reward of agent 'a' is '2'; expected a number"),
        ([({}, {"b": float("nan")})], "the reward of agent 'b' is nan"),
        ([({}, {"b": 1e300})], "the reward of agent 'b' is inf"),
        ([AFTER, (BOTH,)], "step 2 of row 0: agent 'a' has an observation after its end in step 1"),
        ([AFTER, AFTER, (BOTH, {}, {ALL: True})], "step 3 .* agent 'a' has an observation after its end in step 1"),
        ([AFTER, ({}, {"a": 2.0})], "agent 'a' has the reward 2.0, and is not in the episode: it ended in step 1"),
        ([ValueError("broken")], r"step 1 of row 0: ValueError: broken at agents.py:\d+"),
        ([({}, {}, {}, {}, {}, {})], "infos, five dicts by agent; found dict, dict, dict, dict, dict, dict"),
        ([({}, 1.0)], "five dicts by agent; found dict, float, dict"),
        ([(BOTH, {}, True)], "five dicts by agent; found dict, dict, bool"),
        ([(BOTH, {}, {}, {}, None)], "five dicts by agent; found dict, dict, dict, dict, NoneType"),
        ([(BOTH, {}, {}, {"c": True})], r"actions {'a': \d, 'b': \d}"),
        ([({}, {}, ON, ON, {"a": {"action_mask": np.ones(3)}})], "agent 'a' has an action_mask in its info, and had"),
    ],
)  # fmt: skip
def test_a_result_that_breaks_the_interface_is_named_with_agent_and_place(results, expected):
    message = message_of(played((BOTH,), *results), len(results))
    assert re.search(expected, message), message
    assert message.startswith(f"played failed in step {len(results)} of row 0")
    assert "(seed of the episode 5" in message


@pytest.mark.parametrize(
    ("space", "start", "obs", "words"),
    [
        (Discrete(5), 0, 5, r"agent 'a': the observation 5 is none of Discrete\(5\)"),
        (Discrete(5), 0, 1.7, "agent 'a': the observation 1.7 is none of"),
        (
            Box(0, 9, (1,), np.uint8),
            np.uint8([1]),
            np.array([0.5]),
            r"agent 'a': the observation \[0.5\] is none of Box",
        ),
    ],
)
def test_a_number_that_is_no_observation_of_an_agent_is_named(space, start, obs, words):
    spaces = {"a": (space, Discrete(2))}
    message = message_of(played(({"a": start},), ({"a": obs},), spaces=spaces))
    assert re.search(words, message), message


def test_the_reward_of_an_agent_that_has_not_entered_is_refused():
    message = message_of(played(({"a": number(1)},), ({}, {"b": 1.0})))
    assert "agent 'b' has the reward 1.0, and is not in the episode (seed" in message


def test_a_wrong_row_is_named():
    class Later(Played):
        def step(self, actions: Any) -> Any:
            return {"a": number(np.nan if self.bad else 1)}, {}, ON, ON, {}

    env = MultiAgentVector(lambda index: Later({"a": NUMBER}, ({"a": number(1)},)), "late", 3)
    for row in range(3):
        env.member(row).bad = row == 2
    started(env, 4, 5, 6)
    with pytest.raises(
        EnvError, match=r"late failed in step 1 of row 2: .* agent 'a' is not finite \(seed of the episode 6"
    ):
        stepped(env)  # fmt: skip


@pytest.mark.parametrize(
    ("first", "settings", "expected"),
    [
        (({"a": number(1)}, None), {}, "reset must return observations and infos, two dicts by agent; found"),
        (({"a": np.zeros(2, np.float32)},), {}, r"observation of agent 'a': expected an array of float32 with shape"),
        (({"a": [1.0]},), {}, r"observation of agent 'a': expected an array .* got list \[1.0\]"),
        (({"a": number(101)},), {}, "observation of agent 'a': expected values from -100.0 to 100.0, got 101"),
        (({"a": np.array([np.nan], np.float32)},), {}, "expected finite values"),
        (({"a": "x"},), {"spaces": {"a": (Text(3), Discrete(2))}}, "agent 'a': the observation is a Text space"),
        (({},), {"spaces": {"a": (NUMBER[0], Dict({"x": Text(2)}))}}, "agent 'a': actions of the part 'x' of Dict"),
        (({},), {"spaces": {"a": (NUMBER[0], None)}}, r"action_space\('a'\) is None; expected a space of gymnasium"),
        (({},), {"spaces": {}, "agents": ()}, r"possible_agents is \[\]; expected a list of names"),
        (({},), {"agents": (1, 2)}, r"possible_agents is \[1, 2\]; expected a list of names"),
        (({}, {"a": MASK}), {"spaces": {"a": (NUMBER[0], Box(0, 1, (2,)))}}, "agent 'a': action_mask is for actions"),
        (({}, {"c": MASK}), {}, "agent 'c' is not in possible_agents"),
        (({"c": number(1)},), {}, "agent 'c' is not in possible_agents"),
    ],
)  # fmt: skip
def test_an_environment_that_does_not_fit_is_refused_before_training(first, settings, expected):
    with pytest.raises(EnvError, match=expected) as caught:
        played(first, **settings)
    assert str(caught.value).startswith("played: ")


def test_masks_of_a_wrong_shape_are_refused():
    with pytest.raises(EnvError, match=r"reset of row 0: agent 'a': the action_mask has shape \(2,\), and there are 3"):
        started(played((BOTH, {"a": {"action_mask": [1, 1]}})))


def test_an_environment_that_cannot_be_made_or_closed_is_named():
    with pytest.raises(
        EnvError, match=r"broken could not be made: ZeroDivisionError: integer division or modulo by zero at test_"
    ):
        MultiAgentVector(lambda index: 1 // 0, "broken", 1)
    env = played((BOTH,), rows=2)
    env.member(0).close = lambda: 1 // 0
    closed = []
    env.member(1).close = lambda: closed.append(1)
    with pytest.raises(EnvError, match=r"played failed in reset of row 0: close failed: ZeroDivisionError"):
        env.close()
    assert closed == [1]
    played((BOTH,)).close()


def test_joint_observations_of_large_images_are_refused_with_their_size():
    image = Box(0, 255, (1024, 1024), np.uint8)
    spaces = {name: (image, Discrete(2)) for name in ("a", "b", "c", "d", "e")}
    with pytest.raises(EnvError, match=r"played has 5\.0 MiB \(5 x \(1024, 1024\)\), and at most 4 MiB can be stored"):
        played(({},), spaces=spaces)
    small = {name: spaces[name] for name in ("a", "b", "c")}
    assert 3 << 20 < played(({},), spaces=small).joint.obs.itemsize < MOST_BYTES


# ----------------------------------------------------------------------------------------------------- global state


class Stated(Played):
    """Has a state: 3 numbers, which count the steps; nothing can be read after the end."""

    shape: Any = (3,)
    fault: Any = None

    def step(self, actions: Any) -> Any:
        result = super().step(actions)
        self.ended = ALL in result[2] and result[2][ALL]
        return result

    def reset(self, **keywords: Any) -> Any:
        self.ended = False
        return super().reset(**keywords)

    def state(self) -> Any:
        if self.ended:
            raise RuntimeError("read after the end")
        if self.fault is not None and len(self.calls) > 2:
            return self.fault
        return np.full(self.shape, len(self.calls), np.float64)


def stated(*results: Any, wants: bool = True, **attributes: Any) -> MultiAgentVector:
    kind = type("Some", (Stated,), attributes)
    return MultiAgentVector(lambda index: kind(dict.fromkeys("ab", NUMBER), *results), "s", 1, global_state=wants)


def test_the_global_state_is_the_environments_and_is_not_read_after_a_termination():
    env = stated((BOTH,), (BOTH, {}, ON), (BOTH, {}, {ALL: True}))
    assert env.joint.state_size == 3
    seen = [started(env), stepped(env)[0], stepped(env)[0]]
    assert [records["global_state"][0].tolist() for records in seen] == [[2] * 3, [3] * 3, [3] * 3]
    assert "global_state" not in stated((BOTH,), wants=False).joint.new().dtype.names


@pytest.mark.parametrize(
    ("state_of_the_end", "last"), [(np.full(3, 4.0), 4), (np.zeros(2), 3), (np.full(3, np.nan), 3), (None, 3)]
)
def test_the_state_after_a_truncation_is_read_since_its_value_counts(state_of_the_end, last):
    """Where the environment has none any more, it is the one before."""

    def state(self: Any) -> Any:
        return np.full(3, len(self.calls)) if len(self.calls) < 4 else state_of_the_end + 0

    env = stated((BOTH,), (BOTH, {}, ON), (BOTH, {}, ON, {ALL: True}), state=state)
    seen = [started(env), stepped(env)[0], stepped(env)[0]]
    assert [records["global_state"][0, 0] for records in seen] == [2, 3, last]


@pytest.mark.parametrize(
    "attributes",
    [
        {"shape": (101, 100)},
        {"state": {"rock": 1}},
        {"state": lambda self: np.array(["text"])},
        {"state": lambda self: Played.nothing(self)},
    ],
)
def test_otherwise_the_global_state_is_all_observations_in_the_order_of_the_agents(attributes, monkeypatch):
    monkeypatch.setattr(Played, "nothing", lambda self: (_ for _ in ()).throw(NotImplementedError), raising=False)
    env = stated(({"b": number(4)},), (BOTH, {}, {"b": True}), ({"a": number(7)}, {}, ON), **attributes)
    seen = [started(env), stepped(env)[0], stepped(env)[0]]
    assert [records["global_state"][0].tolist() for records in seen] == [[0, 4], [1, 2], [7, 0]]


def test_observations_of_all_types_make_a_state_of_floats():
    spaces = {"a": (Discrete(5), Discrete(2)), "b": (Box(0, 255, (2, 2), np.uint8), Discrete(2)), "c": NUMBER}
    obs = {"a": np.int64(3), "b": np.array([[1, 2], [3, 4]], np.uint8), "c": number(-1.5)}
    env = played((obs,), spaces=spaces, global_state=True)
    assert started(env)["global_state"].tolist() == [[3, 1, 2, 3, 4, -1.5]]


@pytest.mark.parametrize("fault", [np.zeros(4), np.array([1, np.nan, 2])])
def test_a_state_of_another_size_or_not_finite_is_refused(fault):
    env = stated((BOTH,), (BOTH, {}, ON), fault=fault)
    started(env)
    with pytest.raises(
        EnvError, match=r"s failed in step 1 of row 0: state\(\) has \d numbers, not all finite or not 3"
    ):
        stepped(env)


# ------------------------------------------------------------------------------------ rows are independent of others


def bytes_of(env: Any, seed: int, actions: np.ndarray, row: int = 0) -> list[bytes]:
    """The joint observations of one row until its end; the other rows get the reversed actions."""
    seeds = np.arange(100, 100 + env.rows)
    seeds[row] = seed
    mask = np.arange(env.rows) == row
    obs = env.reset(mask, seeds)
    found = [obs[row].tobytes()]
    for time in range(len(actions)):
        joint = np.repeat(actions[::-1][time][None], env.rows, axis=0)
        joint[row] = actions[time]
        step = env.step(joint)
        found.append(step.obs[row].tobytes())
        ended = step.terminated | step.truncated
        if ended[row]:
            break
        if ended.any():
            env.reset(ended, seeds)
    return found


@pytest.mark.parametrize("name", ["two_step_game", "scripted", "traffic", "poles", "levels"])
def test_an_episode_is_a_function_of_its_seed_and_its_actions(name):
    env = toy(name, 3)
    env.action_space.seed(11)
    actions = np.stack([env.action_space.sample() for _ in range(40)])
    started(env)
    first = bytes_of(env, 41, actions)
    assert len(first) > 2
    for _ in range(2):
        started(env)
        for _ in range(2):  # the rows step idly with actions of others
            if not (step := env.step(actions[[3, 4, 5]])).terminated[0]:
                continue
            env.reset(step.terminated | step.truncated, np.array([7, 8, 9]))
        env.reset(np.array([False, True, True]), np.array([1, 2, 3]))
        assert bytes_of(env, 41, actions) == first
        started(env)
        assert bytes_of(env, 41, actions, row=2) == first
    if name in ("traffic", "poles", "levels"):
        started(env)
        assert bytes_of(env, 42, actions) != first


def test_a_reset_of_one_row_leaves_the_others_as_they_are():
    env = toy("traffic", 2)
    started(env, 1, 2)
    _, step = stepped(env)
    before = step.obs.copy()
    after = env.reset(np.array([True, False]), np.array([9, 9]))
    assert after[1].tobytes() == before[1].tobytes()
    assert after[0].tobytes() != before[0].tobytes()


# -------------------------------------------------------------------------------------------- the rest of VectorEnv


def test_functions_reach_the_environments_and_their_context():
    cfg = toys.Config(id="poles", poles=3)
    env = envs.make(toys, cfg, 2, EnvContext(worker_index=4))
    assert env.visit(lambda inner, context: (type(inner).__name__, context.worker_index, context["poles"])) == [
        ("Poles", 4, 3), ("Poles", 4, 3),
    ]  # fmt: skip
    assert env.each(lambda inner, row: row, np.array([False, True])) == [1]
    for row in range(2):
        env.member(row).set_phase = lambda phase, row=row: setattr(env.member(row), "limit", phase)
    env.set_phase(np.array([True, False]), [7, 8])
    assert [env.member(row).limit for row in range(2)] == [7, 500]
    with pytest.raises(EnvError, match=r"Scripted has no method set_phase\(value\)"):
        toy("scripted").set_phase(np.array([True]), [1.0])


def test_infos_pictures_and_their_speed_are_those_of_the_environment():
    def maker(index: int) -> Any:
        env: Any = Played({"a": NUMBER}, ({"a": number(1)}, {"a": {"count": 3}}), ({}, {}, ON, ON, {"a": {"count": 4}}))
        env.metadata = {"render_fps": 7}
        env.render = lambda: np.full((2, 3, 3), index, np.uint8)
        return env

    env = MultiAgentVector(maker, "drawn", 2, render_mode="rgb_array")
    started(env)
    assert (env.render_fps, env.info(0), env.render(1).tolist()) == (
        7.0,
        {"a": {"count": 3}},
        np.full((2, 3, 3), 1).tolist(),
    )
    stepped(env)
    assert env.info(1) == {"a": {"count": 4}}
    assert MultiAgentVector(maker, "drawn", 1).render() is None
    assert played((BOTH,), render_mode="rgb_array").render() is None
    env.member(0).render = lambda: 1 // 0
    with pytest.raises(EnvError, match="drawn failed in step 1 of row 0: render failed: ZeroDivisionError"):
        env.render()


def test_the_parts_of_the_contract():
    env = toy("levels", 2)
    assert (env.action_mask, env.goal, env.valid, env.replayable, env.observation_start) == (None, None, None, True, 0)
    assert env.observation_space == env.joint.observation_space
    assert env.observation_space.contains(env.reset(np.ones(2, bool), np.array([1, 2]))[0])
    decoded = env.decode(actions_of(env, {"high_level": 2}, {"low_level_#0": 1}))
    assert [dict(one) for one in decoded] == [
        {"high_level": 2, "low_level_#0": 0},
        {"high_level": 0, "low_level_#0": 1},
    ]


# ------------------------------------------------------------------------------------------- env_name python, toys


class Alternating:
    """An AECEnv without PettingZoo: x and y act in turn, twice each, and each gets the number of the step."""

    metadata: Any = {}

    def __init__(self) -> None:
        self.possible_agents = ["x", "y"]

    def observation_space(self, agent: str) -> Any:
        return NUMBER[0]

    def action_space(self, agent: str) -> Any:
        return NUMBER[1]

    def reset(self, seed: Any = None, options: Any = None) -> None:
        self.agents, self.agent_selection, self.time = ["x", "y"], "x", 0
        self.infos = {agent: {"time": 0} for agent in self.agents}
        self.owed = dict.fromkeys(self.agents, 0.0)

    @property
    def unwrapped(self) -> Any:
        return self

    def observe(self, agent: str) -> Any:
        return number(self.time + 10 * (agent == "y"))

    def last(self, observe: bool = True) -> Any:
        agent = self.agent_selection
        return self.observe(agent), self.owed[agent], self.time == 4, False, self.infos[agent]

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        self.agent_selection = "xy"[agent == "x"]
        if self.time == 4:
            assert action is None
            self.agents.remove(agent)
            return
        self.owed[agent] = 0.0
        self.time += 1
        self.owed = {name: owed + self.time for name, owed in self.owed.items()}


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(own, "_REGISTERED", {})
    return own.register


def mine(rows: int = 1, **settings: Any) -> Any:
    return python.env.make(python.Config(id="mine", **settings), rows, EnvContext())


def test_turns_pay_when_the_turn_comes_and_at_the_end(registered):
    """By hand: step k gives k to both. x acts in steps 1 and 3, y in 2 and 4: x gets 1 + 2 before step 3, and 3 + 4 at
    its end; y gets 1 before step 2, 2 + 3 before step 4, and 4 at its end."""
    registered("mine", Alternating)
    env = mine()
    seen = [started(env)] + [stepped(env)[0] for _ in range(4)]
    assert [(flags(env, one, "x"), flags(env, one, "y")) for one in seen] == [
        ("IAF", "IF"), ("I", "IA"), ("IA", "I"), ("I", "IA"), ("IT", "IT"),
    ]  # fmt: skip
    rewards = [[agent(env, one, name)["reward"] for name in "xy"] for one in seen]
    assert rewards == [[0, 0], [0, 1], [3, 0], [0, 5], [7, 4]]
    assert [agent(env, one, "y")["obs"] for one in seen] == [[10], [11], [12], [13], [14]]
    assert isinstance(env._members[0].env, Turns)
    assert isinstance(env.member(0), Alternating)


def test_environments_of_several_agents_of_the_users_own_are_recognised(registered):
    assert several(Alternating)
    assert several(toys.env.SEVERAL["poles"])
    assert not several(toys.env.TIMED["counter"])
    assert not several(dict)
    registered("mine", toys.env.SEVERAL["poles"])
    assert list(problems(python.Config(id="mine", poles=3, vectorization="sync"))) == []
    assert [problem.key for problem in problems(python.Config(id="mine", pole=3))] == ["pole"]
    assert mine(2, poles=3).joint.agents == ("pole_0", "pole_1", "pole_2")
    [problem] = problems(python.Config(id="mine", vectorization="async"))
    assert problem.key == "vectorization"
    with pytest.raises(
        EnvError, match="mine: vectorization: async is for one agent; environments of several agents are"
    ):
        mine(2, vectorization="async")


def test_the_settings_of_several_agents(registered):
    made: list[Any] = []

    def function(env_config: EnvContext) -> Any:
        made.append(env_config)
        return Played(dict.fromkeys(("boss", "low_1"), NUMBER), ({"boss": number(1)},))

    registered("mine", function)
    env = mine(2, max_agents={"low_*": 3}, size=5)
    assert env.joint.agents == ("boss", "low_#0", "low_#1", "low_#2")
    assert [(dict(one), one.vector_index) for one in made] == [({"size": 5}, 0), ({"size": 5}, 1)]
    registered("mine", toys.env.TIMED["counter"])
    with pytest.raises(EnvError, match=r"env_cfg\.max_agents is for several agents, and mine gives a Counter"):
        mine(max_agents={"a": 1})
    [problem] = toys.check(toys.Config(id="poles", vectorization="async"))
    assert (problem.key, "several agents" in problem.message) == ("vectorization", True)


def returns(name: str, choose: Any, rows: int = 4, **settings: Any) -> np.ndarray:
    """The return of one episode of each row."""
    env = toy(name, rows, **settings)
    records, total = started(env), np.zeros(rows)
    while True:
        action = env.joint.new_action(rows)
        choose(env, records, action)
        step = env.step(env.joint.encode(action))
        total += step.reward
        if (step.terminated | step.truncated).all():
            return total
        records = env.joint.decode(step.obs)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((0, 0), (1, 0), 7), ((0, 1), (1, 1), 7), ((1, 0), (0, 0), 0),
        ((1, 1), (0, 1), 1), ((1, 1), (1, 0), 1), ((1, 0), (1, 1), 8),
    ],
)  # fmt: skip
def test_the_two_step_game_pays_by_the_branch_of_the_first_agent(first, second, expected):
    def choose(env: Any, records: Any, action: Any) -> None:
        start = records["t0"]["obs"][0, 0, 0] == 1
        action["t0"] = first if start else second
        np.testing.assert_array_equal(records["t0"]["obs"][:, 0], records["t0"]["obs"][:, 1])

    assert returns("two_step_game", choose).tolist() == [expected] * 4
    env = toys.env.make(toys.Config(id="two_step_game"), 1, EnvContext(global_state=True))
    seen = [started(env), stepped(env, {"agent_0": 1})[0], stepped(env)[0]]
    # the state is not read after the end
    assert [one["global_state"][0].tolist() for one in seen] == [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0]]
    assert agent(env, seen[2], "agent_1")["obs"] == [0, 0, 0, 1]


def test_the_best_return_of_levels_is_15():
    def best(env: Any, records: Any, action: Any) -> None:
        action["t0"] = records["t0"]["obs"].argmax(axis=-1)

    def low_only(env: Any, records: Any, action: Any) -> None:
        best(env, records, action)
        action["t0"][:, 0] = (action["t0"][:, 0] + 1) % 3

    assert returns("levels", best).tolist() == [15] * 4
    assert returns("levels", low_only).tolist() == [12] * 4


def test_the_best_return_of_traffic_is_a_one_for_each_step_of_each_agent():
    steps = []

    def best(env: Any, records: Any, action: Any) -> None:
        for kind in ("t0", "t1"):
            action[kind] = records[kind]["obs"][..., 0] > 0
        steps.append(records["t0"]["active"] & ~records["t0"]["terminated"])
        lights = records["t1"]["acts"]
        assert lights.all() if (len(steps) - 1) % 3 == 0 else not lights.any()

    total = returns("traffic", best, rows=3)
    cars = np.sum(steps, axis=(0, 2))
    assert (total == cars + 5 * 30).all()
    assert len(steps) == 30
    assert (cars < 600).all()
    assert returns("traffic", lambda env, records, action: None, rows=3).sum() < total.sum()


def test_poles_move_like_gymnasiums_cartpole():
    import gymnasium

    env = toy("poles", poles=3)
    records = started(env, 5)
    carts = [gymnasium.make("CartPole-v1").unwrapped for _ in range(3)]
    for cart, state in zip(carts, env.member(0)._carts.values(), strict=True):
        cart.reset(seed=0)
        cart.state = np.array(state)
    rng, ended, steps = np.random.default_rng(2), [False] * 3, 0
    while not all(ended):
        actions = rng.integers(2, size=3)
        records, step = stepped(env, {f"pole_{n}": action for n, action in enumerate(actions)})
        steps += 1
        for n, cart in enumerate(carts):
            if ended[n]:
                assert flags(env, records, f"pole_{n}") == ""
                continue
            obs, reward, ended[n], _, _ = cart.step(int(actions[n]))
            np.testing.assert_allclose(records["t0"]["obs"][0, n], obs, rtol=1e-6)
            assert agent(env, records, f"pole_{n}")["reward"] == reward
            assert flags(env, records, f"pole_{n}") == ("IT" if ended[n] else "IA")
    assert step.terminated[0]
    assert steps > 8


def test_poles_are_truncated_at_their_limit():
    env = toy("poles", poles=2, limit=3)
    started(env)
    outs = [stepped(env, {"pole_0": k % 2, "pole_1": k % 2}) for k in range(3)]
    assert [bool(step.truncated[0]) for _, step in outs] == [False, False, True]
    assert flags(env, outs[-1][0], "pole_1") == "IC"
    assert not outs[-1][1].terminated[0]


def test_settings_of_toys_that_make_no_sense_are_refused():
    for name, settings in (("poles", {"poles": 0}), ("traffic", {"leave": 2}), ("traffic", {"cars": 0})):
        with pytest.raises(EnvError, match=f"toy {name} could not be made: ValueError"):
            toy(name, **settings)
    assert [problem.key for problem in toys.check(toys.Config(id="poles", pols=1))] == ["pols"]
