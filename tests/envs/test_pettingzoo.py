"""Environments of PettingZoo and mpe2: their agents, rewards and ends, and that episodes repeat to the bit."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from config.own import objects as own
from envs import gym, pettingzoo, python
from envs.base import EnvContext, EnvError
from envs.pettingzoo import Config, check, registry
from envs.pettingzoo.env import make
from tests.tools.agents import agent, flags, started, stepped
from tests.tools.paths import in_the_suite

installed = pytest.mark.skipif(
    registry.missing() is not None, reason=f"{registry.missing()} is not installed: {registry.INSTALL}"
)
NAMES = registry.ids()
ROOT = Path(__file__).parents[2]


def made(name, rows=1, global_state=False, **settings):
    return make(Config(id=name, **settings), rows, EnvContext(global_state=global_state))


def play(env, seed, draws, steps):
    """The bytes of some steps of all rows with legal actions drawn from one seed; ended rows begin again."""
    seeds = np.full(env.rows, seed)
    env.action_space.seed(draws)
    obs = env.reset(np.ones(env.rows, bool), seeds)
    found = [obs.tobytes()]
    for _ in range(steps):
        step = env.step(np.stack([env.action_space.sample(mask=row) for row in obs]))
        found.append(step.obs.tobytes() + step.reward.tobytes())
        obs, ended = step.obs, step.terminated | step.truncated
        if ended.any():
            seeds = seeds + ended
            obs = env.reset(ended, seeds)
            found.append(obs.tobytes())
    return found


# ------------------------------------------------------------------------------------------------ all environments


APIS = {name: list(registry.lookup(name).entries) for name in NAMES}
ENTRIES = [(name, api) for name, apis in APIS.items() for api in apis]
IN_TURN = [(name, apis[number % len(apis)]) for number, (name, apis) in enumerate(APIS.items())]


@installed
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("name", "api"), in_the_suite(ENTRIES, *IN_TURN))
def test_every_environment_repeats_to_the_bit(name, api):
    """30 legal steps: in another environment, and in the same one after an episode of another seed."""
    env = made(name, global_state=name != "butterfly/cooperative_pong_v6", api=api)
    first = play(env, 5, 1, 30)
    play(env, 6, 2, 7)
    assert play(env, 5, 1, 30) == first
    other = made(name, global_state=name != "butterfly/cooperative_pong_v6", api=api)
    assert play(other, 5, 1, 30) == first
    assert play(other, 7, 1, 30) != first
    assert check(Config(id=name, api=api)) == []
    for each in (env, other):
        each.close()


@installed
def test_both_interfaces_have_the_same_agents():
    for name in ("mpe/simple_tag_v3", "sisl/pursuit_v5", "classic/rps_v2"):
        one, other = (made(name, api=api) for api in ("parallel", "aec"))
        assert one.joint == other.joint


# ----------------------------------------------------------------------------------------------- known environments


def tictactoe(*cells):
    """Records after each of these moves."""
    env = made("classic/tictactoe_v3")
    records = [started(env, 3)]
    for turn, cell in enumerate(cells):
        after, step = stepped(env, {f"player_{turn % 2 + 1}": cell})
        records.append(after)
    return env, records, step


@installed
def test_the_winner_of_tictactoe_and_the_loser_get_their_rewards_with_the_last_observation():
    """player_1 has the first column (0, 1, 2) with its third move."""
    env, records, step = tictactoe(0, 3, 1, 4, 2)
    turns = [(flags(env, one, "player_1"), flags(env, one, "player_2")) for one in records]
    assert turns == [("IAF", "IF"), ("I", "IA"), ("IA", "I"), ("I", "IA"), ("IA", "I"), ("IT", "IT")]
    rewards = [[agent(env, one, f"player_{n}")["reward"] for n in (1, 2)] for one in records]
    assert rewards == [[0, 0]] * 5 + [[1, -1]]
    assert (step.terminated.tolist(), step.reward.tolist()) == ([True], [0.0])
    assert np.array(agent(env, records[-1], "player_1")["obs"])[..., 0].ravel().tolist() == [1, 1, 1] + [0] * 6
    assert np.array(agent(env, records[-1], "player_2")["obs"])[..., 1].ravel().tolist() == [1, 1, 1] + [0] * 6


@installed
def test_masks_of_tictactoe_are_those_of_the_turn_and_illegal_moves_go_to_the_first_free_cell():
    env, records, _ = tictactoe(0, 0, 4)
    [kind] = env.joint.types
    assert (kind.agents, kind.masked, kind.action_space) == (("player_1", "player_2"), True, Discrete(9))
    assert agent(env, records[0], "player_1")["mask"] == [True] * 9
    assert agent(env, records[0], "player_2")["mask"] == [False] * 9
    assert agent(env, records[1], "player_2")["mask"] == [False] + [True] * 8
    # player_2 wanted cell 0, which is taken, and got cell 1
    assert agent(env, records[2], "player_1")["mask"] == [False, False] + [True] * 7
    ignoring = made("classic/tictactoe_v3", action_mask=False)
    assert not ignoring.joint.types[0].masked
    assert ignoring.joint.types[0].observation_space.shape == (3, 3, 2)


@installed
def test_connect_four_is_won_by_a_column():
    env = made("classic/connect_four_v3")
    records = started(env, 1)
    assert env.joint.types[0].observation_space.shape == (6, 7, 2)
    for turn in range(7):
        records, step = stepped(env, {f"player_{turn % 2}": turn % 2})
    assert [agent(env, records, f"player_{n}")["reward"] for n in (0, 1)] == [1, -1]
    assert step.terminated.tolist() == [True]


@installed
def test_simple_spread():
    env = made("mpe/simple_spread_v3", 2, global_state=True, max_cycles=3)
    [kind] = env.joint.types
    assert kind.agents == ("agent_0", "agent_1", "agent_2")
    assert (kind.observation_space.shape, kind.observation_space.dtype, kind.action_space) == (
        (18,),
        np.float32,
        Discrete(5),
    )
    records = started(env, 1, 2)
    assert env.joint.state_size == 54
    np.testing.assert_array_equal(records["global_state"], records["t0"]["obs"].reshape(2, 54))
    outs = [stepped(env) for _ in range(3)]
    assert [step.truncated.tolist() for _, step in outs] == [[False] * 2] * 2 + [[True] * 2]
    assert not any(step.terminated.any() for _, step in outs)
    assert [flags(env, outs[-1][0], name) for name in kind.agents] == ["IC"] * 3
    np.testing.assert_array_equal(outs[-1][0]["global_state"], outs[-1][0]["t0"]["obs"].reshape(2, 54))
    reward = outs[0][0]["t0"]["reward"]
    np.testing.assert_allclose(outs[0][1].reward, reward.sum(axis=1))
    assert (reward < 0).all()


@installed
def test_simple_tag_has_two_types_of_agent():
    env = made("mpe/simple_tag_v3", num_adversaries=2)
    assert [(kind.agents, kind.observation_space.shape) for kind in env.joint.types] == [
        (("adversary_0", "adversary_1"), (14,)),
        (("agent_0",), (12,)),
    ]


@installed
def test_continuous_actions_arrive():
    env = made("mpe/simple_v3", continuous_actions=True)
    assert env.joint.types[0].action_space == Box(0, 1, (5,), np.float32)
    started(env, 4)
    push = [stepped(env, {"agent_0": [0, 0, 1, 0, 0]})[0] for _ in range(3)][-1]
    started(env, 4)
    rest = [stepped(env, {"agent_0": [0, 0, 0, 0, 0]})[0] for _ in range(3)][-1]
    assert agent(env, push, "agent_0")["obs"][0] > agent(env, rest, "agent_0")["obs"][0]


@installed
def test_pursuit():
    env = made("sisl/pursuit_v5", n_pursuers=3, render_mode="rgb_array")
    [kind] = env.joint.types
    assert (len(kind.agents), kind.observation_space.shape, kind.action_space) == (3, (7, 7, 3), Discrete(5))
    started(env, 1)
    picture = env.render()
    assert (picture.dtype, picture.ndim, picture.shape[2]) == (np.uint8, 3, 3)
    env.close()


@installed
def test_rock_paper_scissors_pays_the_winner():
    env = made("classic/rps_v2", max_cycles=2)
    started(env, 1)
    for moves, rewards in (((0, 1), [-1, 1]), ((1, 0), [1, -1])):
        records, step = stepped(env, {"player_0": moves[0], "player_1": moves[1]})
        assert [agent(env, records, f"player_{n}")["reward"] for n in (0, 1)] == rewards
    assert step.truncated.tolist() == [True]


@installed
def test_a_state_is_not_read_after_a_termination():
    """multiwalker's state() raises there; every walker falls within some steps of full force."""
    env = made("sisl/multiwalker_v9", global_state=True)
    records = started(env, 1)
    for _ in range(200):
        before = records["global_state"].copy()
        records, step = stepped(env, {f"walker_{n}": [1, -1, 1, -1] for n in range(3)})
        if step.terminated.any():
            break
    assert step.terminated.all()
    np.testing.assert_array_equal(records["global_state"], before)


# ----------------------------------------------------------------------------------------------------- what is wrong


@installed
@pytest.mark.parametrize(
    ("settings", "key", "message"),
    [
        ({"id": "mpe/simple_spred_v3"}, "id", "no environment 'mpe/simple_spred_v3'; did you mean mpe/simple_spread"),
        ({"id": "mpe/simple_spread_v2"}, "id", "no mpe/simple_spread_v2; the current version is mpe/simple_spread_v3"),
        ({"id": "sisl/pursuit"}, "id", "the current version is sisl/pursuit_v5"),
        ({"id": "sisl/pursuit-v4"}, "id", "the current version is sisl/pursuit_v5"),
        ({"id": "sysl/pursuit_v5"}, "id", "did you mean sisl/pursuit_v5?"),
        ({"id": "tictactoe_v3"}, "id", "did you mean classic/tictactoe_v3?"),
        ({"id": "magent/xx"}, "id", "the names begin with atari, butterfly, classic, mpe, sisl, as in"),
        ({"id": "sisl/qqqqqqqq"}, "id", "there are sisl/multiwalker_v9, sisl/pursuit_v5"),
        ({"id": "mpe/simple_spread_v3", "max_cycle": 3}, "max_cycle", "did you mean max_cycles?"),
        ({"id": "sisl/pursuit_v5", "n_pursuer": 3}, "n_pursuer", "did you mean n_pursuers?"),
        ({"id": "mpe/simple_v3", "ap": "aec"}, "ap", "did you mean api?"),
        ({"id": "classic/tictactoe_v3", "api": "parallel"}, "api", "classic/tictactoe_v3 has no parallel interface;"),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_named_with_what_to_write(settings, key, message):
    [problem] = check(Config(**settings))
    assert problem.key == key
    assert message in problem.message
    if key == "id":
        with pytest.raises(EnvError, match=r"there is no|the current version"):
            make(Config(**settings), 1)


@installed
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tictactoe_v3", "did you mean classic/tictactoe_v3?"),
        ("sisl/pursuit_v3", "there is no sisl/pursuit_v3; the current version is sisl/pursuit_v5"),
        ("sisl/persuit_v5", "did you mean sisl/pursuit_v5?"),
    ],
)
def test_a_name_that_is_almost_one_of_pettingzoo_needs_no_kind_to_be_recognized(name, message):
    [problem] = gym.check(gym.Config(id=name))
    assert message in problem.message


@installed
def test_a_wrong_render_mode_is_named(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.delenv("SDL_VIDEODRIVER", raising=False)
    [problem] = check(Config(render_mode="human"))
    assert problem.key == "render_mode"
    monkeypatch.setattr(
        registry.Entry, "constructor", lambda self: type("Env", (), {"metadata": {"render_modes": ["ansi"]}})
    )
    [problem] = check(Config(render_mode="rgb_array"))
    assert problem.message == "mpe/simple_spread_v3 does not offer rgb_array; it offers: ansi"


@installed
def test_a_missing_package_of_one_environment_is_named_with_the_command(monkeypatch):
    found = importlib.util.find_spec
    gone = {"chess", "multi_agent_ale_py", "Box2D"}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name in gone else found(name, *more))
    for name, module in (("classic/chess_v6", "chess"), ("sisl/multiwalker_v9", "Box2D")):
        [problem] = check(Config(id=name))
        assert problem.message == f"{name} needs the package {module}, which is not installed: pip install {module}"
        assert name not in pettingzoo.ids()
    assert "sisl/pursuit_v5" in pettingzoo.ids()


@pytest.mark.parametrize(
    ("gone", "name"),
    [("pettingzoo", "classic/tictactoe_v3"), pytest.param("mpe2", "mpe/simple_v3", marks=installed)],
)
def test_without_the_packages_there_is_one_message(monkeypatch, gone, name):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda one, *more: None if one == gone else found(one, *more))
    [problem] = check(Config(id=name))
    expected = f"{name} needs the package {gone}, which is not installed: pip install -r requirements-extra.txt"
    assert (problem.key, problem.message) == ("id", expected)
    with pytest.raises(EnvError, match=expected):
        make(Config(id=name), 1)
    assert name not in pettingzoo.ids()
    assert not pettingzoo.knows(name)


@installed
def test_arguments_that_cannot_be_checked_are_refused_by_the_constructor():
    assert check(Config(id="butterfly/cooperative_pong_v6", speed=3)) == []
    with pytest.raises(EnvError, match=r"butterfly/cooperative_pong_v6 could not be made: TypeError: .*'speed'"):
        made("butterfly/cooperative_pong_v6", speed=3)


# -------------------------------------------------------------------------------------------------------------- help


@installed
def test_names_are_listed_known_and_explained():
    assert {"classic/tictactoe_v3", "mpe/simple_spread_v3", "sisl/pursuit_v5"} <= set(NAMES)
    assert not [name for name in NAMES if "-v" in name]
    assert pettingzoo.knows("sisl/pursuit-v5")
    assert not pettingzoo.knows("CartPole-v1")
    assert not gym.knows("sisl/pursuit_v5")
    text = pettingzoo.explain("mpe/simple_tag_v3")
    assert "interfaces    aec, parallel" in text
    assert "adversary_0, adversary_1, adversary_2\n  observation Box" in text
    assert pettingzoo.explain("CartPole-v1") is None


@installed
@pytest.mark.parametrize(
    ("settings", "limit"),
    [
        ({}, 25),
        ({"max_cycles": 40}, 40),
        ({"api": "aec"}, None),
        ({"id": "sisl/pursuit_v5"}, 500),
        ({"id": "classic/tictactoe_v3"}, None),
        ({"id": "butterfly/cooperative_pong_v6"}, None),
    ],
)
def test_the_limit_of_an_environment_itself_is_known_where_all_agents_act_at_once(settings, limit):
    assert pettingzoo.own_limit(Config(**settings)) == limit


@installed
def test_nothing_is_printed_on_import_and_only_the_two_packages_are_imported():
    code = (
        "import sys; from envs.pettingzoo import Config; from envs.pettingzoo.env import make; "
        "assert 'pettingzoo' not in sys.modules; make(Config(id='mpe/simple_v3'), 1); "
        "assert not {'supersuit', 'ray', 'shimmy', 'magent2'} & {name.split('.')[0] for name in sys.modules}"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


# ----------------------------------------------------------------------------------------- env_name python and others


@installed
@pytest.mark.parametrize("entry", ["env", "parallel_env", "raw_env"])
def test_objects_and_classes_of_pettingzoo_are_environments_of_the_users_own(entry, monkeypatch):
    monkeypatch.setattr(own, "_REGISTERED", {})
    module = importlib.import_module("mpe2.simple_tag_v3")
    own.register("mine", getattr(module, entry))
    cfg = python.Config(id="mine", max_cycles=4)
    assert list(python.check(cfg)) == []
    env = python.env.make(cfg, 2, EnvContext())
    reference = made("mpe/simple_tag_v3", 2, max_cycles=4, api="parallel" if entry == "parallel_env" else "aec")
    assert play(env, 3, 4, 12) == play(reference, 3, 4, 12)


@installed
def test_the_name_of_the_package_is_understood_too() -> None:
    """`from mpe2 import simple_spread_v3` is what its guide writes."""
    assert registry.lookup("mpe2/simple_spread_v3") == registry.lookup("mpe/simple_spread_v3") is not None
    assert "mpe/simple_spread_v3" in registry.unknown("mpe2/simple_spred_v3")
    assert registry.lookup("mpe2/no_such_v3") is None
