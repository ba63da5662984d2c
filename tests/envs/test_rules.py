"""Environments that tell their rules, and the refusals of algorithms that need what an environment does not have."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import algos
from algos.base import Model
from config.read.loader import ConfigError, load
from envs.base import EnvError
from envs.common import facts as known
from envs.gym import Config as Gym
from envs.gym import env as gym_env
from framework.assemble import build
from framework.assemble import fit as compatibility
from framework.catalog import ALGOS, ENVS
from tests.tools.core import toy_of
from tests.tools.envs import assembled, everyone


def loaded(*overrides):
    return load(None, list(overrides), find_algo=ALGOS, find_env=ENVS)


def gym_of(env_id, **settings):
    return gym_env.make(Gym(id=env_id, **settings), 1)


class Tiny(gymnasium.Env):
    """State 0 goes to 0 or 1, 1 ends: P[s][a] of this class is its whole model."""

    observation_space = action_space = Discrete(2)
    P = {
        0: {0: [(0.25, 0, 1.0, False), (0.75, 1, -2.0, True)], 1: [(1.0, 1, 5.0, True)]},
        1: {0: [(1.0, 1, 0.0, True)], 1: [(1.0, 1, 0.0, True)]},
    }

    def reset(self, *, seed=None, options=None):
        return 0, {}

    def step(self, action):
        return 1, 5.0, True, False, {}


def tiny(**changes):
    return assembled(type("Changed", (Tiny,), changes), "tiny", 1, "sync")


# ---------------------------------------------------------------------------------------------------------- rules


def test_the_rules_are_four_arrays_padded_to_the_most_outcomes():
    model = Model(*tiny().model)
    assert model.probability.tolist() == [[[0.25, 0.75], [1, 0]], [[1, 0], [1, 0]]]
    assert model.next_state.tolist() == [[[0, 1], [1, 0]], [[1, 0], [1, 0]]]
    assert model.reward.tolist() == [[[1, -2], [5, 0]], [[0, 0], [0, 0]]]
    assert model.terminated.tolist() == [[[False, True], [True, False]], [[True, False], [True, False]]]
    assert (model.next_state.dtype, model.terminated.dtype) == (np.int64, bool)


@pytest.mark.parametrize(
    ("env_id", "shape"), [("FrozenLake-v1", (16, 4, 3)), ("CliffWalking-v1", (48, 4, 1)), ("Taxi-v4", (500, 6, 1))]
)
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_the_environments_of_toy_text_tell_their_rules(env_id, shape, kind):
    env = gym_of(env_id, vectorization=kind)
    model = Model(*env.model)
    assert all(column.shape == shape for column in model)
    np.testing.assert_allclose(model.probability.sum(axis=2), 1.0)
    env.close()


@pytest.mark.parametrize("make", [lambda: gym_of("FrozenLake-v1"), lambda: gym_of("Taxi-v4"), lambda: toy_of("walk")])
def test_every_step_is_one_of_the_outcomes_that_the_rules_name(make):
    env = make()
    model, rng = Model(*env.model), np.random.default_rng(0)
    obs = env.reset(everyone(env), np.array([1]))
    for t in range(300):
        state, action = int(obs[0]), int(rng.integers(env.action_space.n))
        out = env.step(np.array([action]))
        possible = model.probability[state, action] > 0
        named = [
            (int(to), float(reward), bool(end))
            for to, reward, end in zip(*(column[state, action][possible] for column in model[1:]), strict=True)
        ]
        assert (int(out.obs[0]), float(out.reward[0]), bool(out.terminated[0])) in named
        ended = out.terminated | out.truncated
        obs = env.reset(ended, np.array([t])) if ended.any() else out.obs.copy()


def test_under_a_wrapper_that_changes_something_there_are_no_rules():
    def wrapped(wrapper):
        return gym_of("FrozenLake-v1", wrappers=[wrapper]).model

    assert wrapped({"wrapper_name": "TimeLimit", "max_episode_steps": 9}) is not None
    assert wrapped("RecordEpisodeStatistics") is not None
    assert wrapped("SignReward") is None
    assert wrapped({"wrapper_name": "ClipReward", "min_reward": 0}) is None
    assert wrapped({"wrapper_name": "StickyAction", "repeat_action_probability": 0.5}) is None


def test_who_tells_no_rules_has_none():
    assert gym_of("CartPole-v1").model is None
    assert tiny(P=None).model is None
    assert tiny(observation_space=Discrete(2, start=0), action_space=Discrete(2, start=1)).model is None


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({0: Tiny.P[0]}, "rules P that cannot be read: KeyError: 1"),
        ({**Tiny.P, 1: {0: [(1.0, 1)], 1: []}}, "rules P that cannot be read: ValueError"),
        ({**Tiny.P, 1: {0: [(0.5, 1, 0.0, True)], 1: [(1.0, 1, 0.0, True)]}}, "probabilities do not sum to 1"),
        ({**Tiny.P, 1: {0: [(1.0, 2, 0.0, True)], 1: [(1.0, 1, 0.0, True)]}}, "lead to unknown states"),
    ],
)
def test_rules_that_are_not_whole_are_refused_when_they_are_asked_for(rules, message):
    env = tiny(P=rules)
    with pytest.raises(EnvError, match=message):
        _ = env.model


def test_the_rules_are_only_built_for_who_plans(monkeypatch):
    """The model of Taxi takes as long as a thousand steps."""
    config = loaded("general_cfg.algo_name=QLearning", "env_cfg.id=Taxi-v4")
    built, rules_of = [], known._rules_of
    monkeypatch.setattr(known, "_rules_of", lambda *of: built.append(of) or rules_of(*of))
    env = build.make_env(config, 1)
    assert build.env_spec(config, env).model is None
    assert built == []
    monkeypatch.setattr(type(config.algo), "NEEDS_MODEL", True)
    assert build.env_spec(config, env).model.probability.shape == (500, 6, 1)


# ------------------------------------------------------------------------------------------------------- refusals


def refused(*overrides):
    with pytest.raises(ConfigError) as caught:
        compatibility.check(loaded(*overrides))
    return str(caught.value)


def test_in_the_place_of_an_algorithm_for_given_data_others_for_them_are_named():
    message = refused("general_cfg.algo_name=IQL", "env_cfg.id=CartPole-v1", "algo_cfg.data=x.npz")
    able = message.partition("Algorithms that can: ")[2]
    assert able == "BC, DecisionTransformer, DiscreteBCQ, DiscreteCQL"


def test_who_plans_is_refused_where_there_are_no_rules(monkeypatch):
    words = ("general_cfg.algo_name=QLearning", "general_cfg.env_name=toy")
    monkeypatch.setattr(algos.get("QLearning").Config, "NEEDS_MODEL", True)
    message = refused(*words, "env_cfg.id=shifted")
    assert "QLearning needs a transition model, and shifted has none" in message
    assert "FrozenLake-v1, CliffWalking-v1, Taxi-v4 and the toy env_cfg.id=walk" in message
    assert "DQN" in message.partition("Algorithms that can: ")[2]
    assert "QLearning" not in message.partition("Algorithms that can: ")[2]
    compatibility.check(loaded(*words, "env_cfg.id=walk"))


class Unbounded(gymnasium.Env):
    """Any real number is an action."""

    observation_space = Box(-1, 1, (2,))
    action_space = Box(-np.inf, np.inf, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.zeros(2, np.float32), 0.0, False, False, {}


def test_who_needs_bounds_is_refused_where_there_are_none_and_nobody_else_who_does_is_named():
    gymnasium.register("Unbounded-v0", Unbounded)
    try:
        message = refused("general_cfg.algo_name=SAC", "env_cfg.id=Unbounded-v0")
        compatibility.check(loaded("general_cfg.algo_name=PPO", "env_cfg.id=Unbounded-v0"))
    finally:
        del gymnasium.registry["Unbounded-v0"]
    assert "SAC needs bounded actions; those of Unbounded-v0 are unbounded (Box, 1 number)." in message
    assert (
        message.partition("Algorithms that can: ")[2] == "A2C, APPO, HAPPO, IMPALA, PPO, RecurrentPPO, REINFORCE, TRPO"
    )


def test_what_does_not_fit_twice_is_told_with_one_list_and_spaces_in_few_words():
    message = refused("general_cfg.algo_name=QLearning", "env_cfg.id=Pendulum-v1")
    assert "needs actions that are Discrete; Pendulum-v1 has Box, 1 number. QLearning needs observations" in message
    assert "Pendulum-v1 has Box, 3 numbers. Algorithms that can: " in message
    assert message.count("Algorithms that can") == 1
    message = refused("general_cfg.algo_name=SAC")
    assert "needs actions that are Box, Tuple or Dict; CartPole-v1 has Discrete(2). Algorithms" in message


def test_a_setting_that_needs_goals_is_what_is_blamed():
    message = refused("general_cfg.algo_name=SAC", "env_cfg.id=Pendulum-v1", "algo_cfg.her_ratio=0.5")
    assert message.startswith("command line: algo_cfg.her_ratio: needs an environment with goals")
    assert message.endswith("set it to 0")


def test_who_relabels_is_refused_where_there_are_no_goals(monkeypatch):
    words = ("general_cfg.algo_name=DQN", "general_cfg.env_name=toy")
    kind = algos.get("DQN").Config
    memory = kind.memory
    monkeypatch.setattr(kind, "memory", lambda self, rows: replace(memory(self, rows), relabel=0.8))
    message = refused(*words, "env_cfg.id=match")
    assert "DQN needs an environment with goals, and match has none" in message
    assert "env_cfg.id=bitflip has them; the interface is in docs/environments.md" in message
    assert "DQN" not in message.partition("Algorithms that can: ")[2]
    compatibility.check(loaded(*words, "env_cfg.id=bitflip"))
