"""Hierarchical DQN: targets computed by hand, goals that are kept until they are reached, and the paper's problem."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium.spaces import Discrete

import joystick
from algos.base import EnvSpec, Progress
from algos.hierarchicaldqn.agent import Agent, controller_target, meta_target
from config.read.loader import ConfigError
from envs.toy.tasks import TASKS, Draws
from framework.assemble import fit as compatibility
from framework.loop.learner import AgentLearner
from framework.memory import Replay
from tests.framework.memory.test_offline import data_for
from tests.framework.policies.test_algorithms_as_policies import config_of
from tests.tools.core import agent_of, collector_of, memory_of, score, toy_of, trained, updated, written
from tests.tools.core import spec_of as facts_of
from tests.tools.distributed import Run, local

torch.set_num_threads(1)
DENSE = [{"layer_type": "linear", "layer_size": [16]}]
GRU = [*DENSE, {"layer_type": "gru", "layer_size": [8]}]
t = torch.tensor


def test_the_controller_earns_1_for_its_goal_and_that_ends_its_task() -> None:
    values, discount = t([[1.0, 3.0]] * 3), t([0.9, 0.9, 0.0])
    assert controller_target(t([True, False, False]), discount, values).tolist() == pytest.approx([1.0, 2.7, 0.0])


def test_the_meta_controller_earns_the_rewards_since_its_choice_and_the_value_of_the_next_one() -> None:
    target = meta_target(t([0.5, 2.0]), t([0.9, 0.0]), t([[1.0, 3.0]] * 2))
    assert target.tolist() == pytest.approx([0.5 + 2.7, 2.0])


def agent(env: str = "stochastic_mdp", rows: int = 1, **settings: object) -> Agent:
    return agent_of("HierarchicalDQN", facts_of(toy_of(env, rows)), **settings)  # type: ignore[return-value]


def test_goals_are_learned_where_they_end_and_from_the_state_where_they_were_chosen() -> None:
    one = agent()
    values, following = ([[float(10 * s + g) for g in range(6)] for s in range(6)] for _ in range(2))
    one.networks["meta"] = torch.nn.Embedding.from_pretrained(t(values))
    one.targets["meta"] = torch.nn.Embedding.from_pretrained(t(following))
    batch = {
        "chosen_at": t([2, 2, 2]), "goal": t([4, 4, 4]), "after": t([4, 3, 0]), "reached": t([True, False, False]),
        "earned": t([1.0, 1.0, 1.0]), "reward": t([0.5, 0.5, 0.5]), "discount": t([0.9, 0.9, 0.0]),
        "terminated": t([False, False, True]),
    }  # fmt: skip
    # Q(2, 4) is 24; the best value in state 4 is 45; an episode that terminated has no value after it
    assert one._meta_loss(batch)[1].tolist() == pytest.approx([1.5 + 0.9 * 45 - 24, 0.0, 24 - 1.5])


@pytest.mark.parametrize("layers", [DENSE, GRU], ids=["plain", "gru"])
def test_without_discounting_a_goal_ends_where_it_did_with_it(layers: list) -> None:
    """A discount of 0 does not tell whether the step was the last one."""
    for gamma in (0.0, 0.9):
        env, settings = toy_of("stochastic_mdp", 4), {"lookup_step": 4, "burn_in": 2} if layers is GRU else {}
        one = agent(rows=4, gamma=gamma, controller_layers=layers, meta_layers=DENSE, batch_size=64, **settings)
        collector, memory = collector_of(env, one), memory_of(one)
        memory.add(collector.collect(200, Progress())[0])
        chunk = memory.take(0.0)
        assert chunk is not None
        columns = {name: torch.from_numpy(value[0]) for name, value in chunk.columns.items()}
        ends = columns["terminated"]
        assert 0 < int(ends.sum()) < 0.9 * ends.numel()
        assert bool((columns["discount"] == gamma * ~ends).all())
        losses = []
        for flags in (ends, torch.zeros_like(ends)):
            copied = agent(rows=4, gamma=gamma, controller_layers=layers, meta_layers=DENSE, **settings)
            steps = {name: value[None] for name, value in {**columns, "terminated": flags}.items()}
            batch = {name: value[0] for name, value in copied.prepare(steps, Progress()).items()}
            losses.append(updated(copied, batch).metrics["meta_loss"].item())
        assert losses[0] > losses[1] > 0, "the steps that reach a goal, and besides them those that end an episode"


@pytest.mark.parametrize("layers", [DENSE, GRU], ids=["plain", "gru"])
def test_a_goal_is_kept_until_it_is_reached_or_the_episode_ends(layers: list) -> None:
    env = toy_of("shifted", 3, steps=10)
    one = agent_of("HierarchicalDQN", facts_of(env), controller_layers=layers, meta_layers=DENSE)
    columns = collector_of(env, one).collect(200, Progress())[0].columns
    ended = columns["terminated"] | columns["truncated"]
    reached = columns["next_obs"] == columns["goal"] + int(env.observation_space.start)
    assert (reached & ~ended).any()
    assert ended.any()
    _check(columns["obs"], columns["reward"], (ended | reached), columns)
    assert (columns["state"][1:, :, 0] == np.where(ended[:-1], 0, columns["goal"][:-1] + 1)).all()


def _check(obs: np.ndarray, reward: np.ndarray, over: np.ndarray, columns: dict[str, np.ndarray]) -> None:
    """Checks the columns of goals [T, ...] of steps in a row, given where a goal is over after a step."""
    goal, chosen_at, earned, over = columns["goal"], columns["chosen_at"], columns["earned"], over[:-1]
    assert (goal[1:] == goal[:-1])[~over].all()
    assert not (goal[1:] == goal[:-1])[over].all()
    assert (chosen_at[1:] == np.where(over, obs[1:], chosen_at[:-1])).all()
    np.testing.assert_allclose(earned[1:], np.where(over, 0, earned[:-1] + reward[:-1]))
    assert earned.max() > 1


def test_states_that_are_counted_from_another_number_are_goals_too() -> None:
    one = agent_of("HierarchicalDQN", EnvSpec("x", Discrete(3, start=5), Discrete(2), 3))
    obs = np.array([5, 6, 7])
    act = one.predict_action(obs, one.initial_state(3))
    assert set(act.columns["goal"].tolist()) <= {0, 1, 2}
    state = np.array([[1, 9, 0.5], [1, 9, 0.5], [3, 9, 0.5]], np.float32)
    again = one.predict_action(obs, state)
    assert again.columns["goal"][1] == 0
    assert again.columns["chosen_at"].tolist() == [5, 9, 7]
    assert again.columns["earned"].tolist() == [0, 0.5, 0]


def test_it_finds_that_the_far_end_is_worth_a_risk() -> None:
    settings = {"epsilon_decay": 3000, "lr": 5e-3, "train_fre": 16, "target_update": 1, "batch_size": 128}
    one = trained(agent(rows=16, **settings), toy_of("stochastic_mdp", 16), 450)
    # the best return is 0.208; giving up at once has 0.01, and random play 0.018
    assert score(one, toy_of("stochastic_mdp", 8), 400) > 0.2


def test_goals_that_only_a_recurrent_network_could_choose_are_refused() -> None:
    with pytest.raises(ConfigError, match="put lstm and gru layers in controller_layers"):
        joystick.Run("hDQN", "FrozenLake-v1", algo_cfg={"meta_layers": GRU})


def test_the_data_layer_tells_the_rewards_too() -> None:
    env = Draws(TASKS["shifted"](), 10)
    policy = joystick.policy("hDQN", env, seed=1, epsilon_start=1.0)
    collector = joystick.Collector(policy, env, joystick.ReplayBuffer(400), seed=1)
    collector.collect(n_step=200)
    steps = collector.buffer[np.arange(200)]
    over = steps.done | (steps.obs_next == steps.policy.goal + steps.obs.min())
    _check(steps.obs, steps.rew, over, steps.policy)


def test_policies_among_several_agents_are_told_their_own_rewards() -> None:
    config = config_of("HierarchicalDQN")
    compatibility.check(config)
    whole = Run(config, local(config)).until(100)
    (part,) = whole.backend.memory._parts.values()
    rings = part.replay._rings
    for ring in range(rings.count):
        columns = {name: rings.of_ring(name, ring)[: rings.added[ring], 0] for name in rings.flat}
        over = columns["end"] | (columns["next_obs"] == columns["goal"])
        _check(columns["obs"], columns["reward"], over, columns)


@pytest.mark.parametrize("layers", [DENSE, GRU], ids=["plain", "gru"])
def test_both_networks_learn_in_every_update(layers: list) -> None:
    env = toy_of("stochastic_mdp", 4)
    settings = {"lookup_step": 4, "burn_in": 2} if layers is GRU else {}
    one = agent(rows=4, controller_layers=layers, meta_layers=DENSE, batch_size=32, **settings)
    before = one.weights()
    trained(one, env, 60)
    assert [name for name, value in one.weights().items() if np.array_equal(before[name], value)] == []


def test_a_memory_that_was_saved_without_the_flag_goes_on() -> None:
    env, one = toy_of("stochastic_mdp", 4), agent(rows=4, batch_size=32)
    old = Replay(replace(one.cfg.memory(4), terminated=False), np.random.default_rng(0))
    collector = collector_of(env, one)
    old.add(collector.collect(50, Progress())[0])
    memory = memory_of(one)
    memory.load_state(old.state(), written(old))
    memory.add(collector.collect(50, Progress())[0])
    assert AgentLearner(one, one.cfg.memory(4)).learn(memory.take(0.0), Progress()).updates > 0


def test_observations_that_are_no_single_number_are_refused() -> None:
    with pytest.raises(ConfigError, match="HierarchicalDQN needs observations that are Discrete"):
        joystick.Run("HierarchicalDQN", "CartPole-v1")


def test_data_have_no_goals_and_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="data: must be null in this algorithm"):
        joystick.Run("hDQN", "FrozenLake-v1", algo_cfg={"data": str(data_for(tmp_path, "DQN"))})
