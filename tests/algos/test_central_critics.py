"""MAPPO and MADDPG: policies of single observations, and critics that see the global state or all agents."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box

from algos.base import Progress, UnfitError
from algos.common.nets import networks
from algos.common.parts import team
from config.model.layers import Gru, Linear
from config.read.loader import ConfigError, load
from framework.assemble import fit as compatibility
from framework.catalog import ALGOS, ENVS
from tests.tools.config_fixtures import loaded
from tests.tools.core import agent_of, updated
from tests.tools.distributed import frozen
from tests.tools.joint import joint_spec, numbers, slot_spec, window_of
from tests.tools.paths import in_the_suite

torch.set_num_threads(1)

ON_POLICY = pytest.mark.parametrize("algo", ["MAPPO", "A2C", "TRPO"])
GLOBAL = {"critic_input": "global"}
SMALL = {"actor_layers": [Linear(layer_size=[8])], "critic_layers": [Linear(layer_size=[8])]}


def on_policy(algo, seed=1, **settings):
    return agent_of(algo, slot_spec(), seed, **{**SMALL, **GLOBAL, **settings})


def minibatch(agent, window):
    """The whole window, as single steps."""
    return agent.standardize({name: column.flatten(0, 1) for name, column in window.items()})


# --------------------------------------------------------------------------------------------------- MAPPO and others


@ON_POLICY
def test_the_critic_reads_the_global_state_and_the_policy_its_observation(algo):
    agent, rng = on_policy(algo), np.random.default_rng(0)
    batch = {"obs": numbers(rng, 7, 5), "global_state": numbers(rng, 7, 9)}
    outputs, value = agent.policy.outputs(batch), agent.policy.value(batch)
    elsewhere = {**batch, "global_state": numbers(rng, 7, 9)}
    assert torch.equal(agent.policy.outputs(elsewhere), outputs)
    assert not torch.equal(agent.policy.value(elsewhere), value)
    assert torch.equal(agent.policy.value({**batch, "obs": numbers(rng, 7, 5)}), value)


@ON_POLICY
def test_the_value_of_a_successor_is_that_of_the_next_global_state(algo):
    """Within an episode it is the next row of the window, as for observations; elsewhere next_global_state."""
    agent = on_policy(algo)
    window = window_of(agent, np.random.default_rng(0))
    value, next_value = agent.policy.values(window)
    critic = agent.policy.critic
    with torch.no_grad():
        torch.testing.assert_close(value, critic(window["global_state"].flatten(0, 1)).view(6, 4))
        successor = torch.cat([window["global_state"][1:], window["next_global_state"][-1:]])
        successor[2, 2] = window["next_global_state"][2, 2]
        torch.testing.assert_close(next_value, critic(successor.flatten(0, 1)).view(6, 4))


@ON_POLICY
@pytest.mark.parametrize("normalize", [False, True])
def test_a_resumed_agent_learns_the_same_to_the_bit(algo, normalize):
    one, other = (on_policy(algo, seed, normalize_obs=normalize) for seed in (1, 2))
    before = one.weights()
    windows = [window_of(one, np.random.default_rng(i)) for i in range(2)]
    updated(one, minibatch(one, one.prepare(windows[0], Progress())))
    assert [name for name, array in one.weights().items() if (array == before[name]).all()] == []
    other.load_state(one.state())
    results = [updated(agent, minibatch(agent, agent.prepare(windows[1], Progress()))) for agent in (one, other)]
    assert results[0].metrics == results[1].metrics
    assert frozen(one.state()) == frozen(other.state())


def test_each_input_has_statistics_of_its_own():
    agent = on_policy("MAPPO", normalize_obs=True)
    window = window_of(agent, np.random.default_rng(0))
    agent.prepare(window, Progress())
    weights = agent.weights()
    for network, column in (("actor", "obs"), ("critic", "global_state")):
        [name] = [name for name in weights if name.startswith(network) and name.endswith("moments.mean")]
        torch.testing.assert_close(torch.tensor(weights[name]), window[column].double().mean((0, 1)))


def test_a_recurrent_policy_learns_beside_a_critic_without_a_state():
    agent = on_policy("MAPPO", actor_layers=[Gru(layer_size=[6])], lookup_step=3)
    state = torch.from_numpy(agent.initial_state(4))
    assert state.shape == (4, 6)
    extra = {"state": state.expand(6, 4, 6).clone(), "first": torch.zeros(6, 4, dtype=torch.bool)}
    window = agent.prepare(window_of(agent, np.random.default_rng(0), **extra), Progress())
    batch = {name: column[:3] for name, column in window.items()} | {"state": window["state"][0]}
    before = agent.weights()
    updated(agent, batch)
    assert [name for name, array in agent.weights().items() if (array == before[name]).all()] == []


@ON_POLICY
def test_without_a_global_state_it_is_refused(algo):
    with pytest.raises(UnfitError, match=r"algo_cfg.critic_input is global, and slots has no global state"):
        agent_of(algo, slot_spec(state=0), **GLOBAL)


@pytest.mark.parametrize("algo", ["PPO", "A2C", "IMPALA", "TRPO", "RecurrentPPO"])
def test_the_critic_sees_its_own_observation_by_default(algo):
    config = loaded(None, f"general_cfg.algo_name={algo}").algo
    assert config.critic_input == "own"
    assert not config.needs_global_state()
    agent_of(algo, slot_spec(state=0))


def test_what_does_not_suit_a_critic_of_the_global_state_is_refused():
    recurrent = "algo_cfg.critic_layers=[{layer_type: lstm, layer_size: 8}]"
    with pytest.raises(ConfigError, match=r"critic_layers: a critic of the global state has no recurrent state"):
        loaded(None, "general_cfg.algo_name=MAPPO", recurrent)
    with pytest.raises(ConfigError, match=r"critic_layers: a central critic has no recurrent state"):
        loaded(None, "general_cfg.algo_name=MADDPG", "env_cfg.id=Pendulum-v1", recurrent)
    loaded(None, "general_cfg.algo_name=PPO", recurrent)
    with pytest.raises(ConfigError, match=r"critic_input: must be global in this algorithm"):
        loaded(None, "general_cfg.algo_name=MAPPO", "algo_cfg.critic_input=own")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["general_cfg.algo_name=MAPPO"], r"algo_name: MAPPO needs the global state of several agents.* can: .*PPO"),
        (["general_cfg.algo_name=A2C", "algo_cfg.critic_input=global"], r"algo_cfg.critic_input: .*; set it to own"),
    ],
)
def test_a_single_agent_has_no_global_state(words, text):
    overrides = ["general_cfg.env_name=toy", "env_cfg.id=match", *words]
    config = load(None, overrides, find_algo=ALGOS, find_env=ENVS)
    with pytest.raises(ConfigError, match=text):
        compatibility.check(config)


# ------------------------------------------------------------------------------------------------------------ MADDPG

BOX = Box(-2, 2, (4,), np.float32)
"""Two numbers of each agent."""


def maddpg(state=0, seed=1, **settings):
    return agent_of("MADDPG", joint_spec(BOX, width=2, state=state), seed, **{**SMALL, **settings})


def transitions(rng, size=64, state=0):
    """The reward of all is highest where each agent's action is its observation."""
    obs, action = (torch.from_numpy(rng.uniform(-1, 1, (size, 4)).astype(np.float32)) for _ in range(2))
    reward = -(action - obs).square().sum(1)
    batch = {"obs": obs, "next_obs": obs, "action": action, "reward": reward, "discount": torch.zeros(size)}
    seen = {"global_state": numbers(rng, size, state), "next_global_state": numbers(rng, size, state)}
    return {**batch, **(seen if state else {})}


SHARED = pytest.mark.parametrize("shared", [False, True])
GRU = [Linear(layer_size=[6]), Gru(layer_size=[5])]


def of_agents(agent):
    """Returns the actor's weights by agent: name -> [S, ...]."""
    weights = {}
    for name, array in agent.actor.named_parameters():
        head, _, rest = name.partition(".parts.") if ".parts." in name else name.partition(".cells.")
        number, _, own = rest.partition(".")
        weights.setdefault(f"{head} {own}", {})[int(number)] = array
    return weights


@pytest.mark.parametrize("layers", [SMALL["actor_layers"], GRU], ids=["plain", "gru"])
def test_each_agent_has_an_actor_of_its_own(layers):
    agent, shared = maddpg(actor_layers=layers), maddpg(actor_layers=layers, shared_actor=True)
    weights = of_agents(agent)
    assert all(sorted(each) == [0, 1] for each in weights.values())
    assert sum(p.numel() for p in agent.actor.parameters()) == 2 * sum(
        p.numel() for p in networks.build(team._of_one(agent.spec, 0), layers, 2, agent.cfg, 1).parameters()
    )
    drawn = [each for name, each in weights.items() if "bias" not in name]
    assert not any(torch.equal(each[0], each[1]) for each in drawn)
    state = agent.initial_state(1)
    alike = np.array([[0.5, -0.5, 0.5, -0.5]], np.float32)
    one, other = agent.predict_action(alike, state).action[0].reshape(2, 2)
    assert (one != other).all()
    assert sum(p.numel() for p in shared.actor.parameters()) < sum(p.numel() for p in agent.actor.parameters())


def test_the_actors_by_hand():
    """Agent 0 plays tanh(obs), agent 1 tanh(-2 obs + 0.5), scaled to -2..2."""
    agent = maddpg(actor_layers=[])
    with torch.no_grad():
        for name, each in of_agents(agent).items():
            for number, array in each.items():
                array.copy_((1, -2)[number] * torch.eye(2) if "weight" in name else torch.full((2,), (0, 0.5)[number]))
    obs = np.array([[0.1, -0.2, 0.3, 0.4], [1.0, 0.0, -1.0, 0.0]], np.float32)
    expected = 2 * np.tanh(obs * [1, 1, -2, -2] + [0, 0, 0.5, 0.5])
    np.testing.assert_allclose(agent.predict_action(obs, None).action, expected, rtol=1e-5)


def test_the_gradient_of_an_agents_action_reaches_its_actor_alone():
    agent = maddpg()
    agent.actor(numbers(np.random.default_rng(0), 3, 4))[:, :2].sum().backward()
    moved = {
        number: [array.grad for each in of_agents(agent).values() for array in [each[number]]] for number in (0, 1)
    }
    assert all(grad is not None and grad.any() for grad in moved[0])
    assert all(grad is None or not grad.any() for grad in moved[1])


def test_a_recurrent_actor_of_each_agent_is_that_agents_network():
    agent, rng = maddpg(actor_layers=GRU), np.random.default_rng(0)
    obs, first = numbers(rng, 6, 3, 4), torch.zeros(6, 3, dtype=torch.bool)
    first[2, 1] = first[4, 0] = True
    state = numbers(rng, 3, 10)
    whole = agent.actor.unroll(obs, state, first).view(6, 3, 2, 2)
    for number in (0, 1):
        alone = networks.build(team._of_one(agent.spec, 0), GRU, 2, agent.cfg, 1)
        own = [each[number] for each in of_agents(agent).values()]
        with torch.no_grad():
            for mine, array in zip(alone.parameters(), own, strict=True):
                mine.copy_(array)
        out = alone.unroll(obs[..., 2 * number : 2 * number + 2], state[:, 5 * number : 5 * number + 5], first)
        torch.testing.assert_close(whole[:, :, number], out.tanh())


@SHARED
def test_an_action_comes_from_the_observation_of_its_agent_alone(shared):
    agent, obs = maddpg(shared_actor=shared), numbers(np.random.default_rng(0), 3, 4)
    other = obs.clone()
    other[:, 2:] += 1.0
    one, changed = (agent.predict_action(x.numpy(), None).action for x in (obs, other))
    assert one.shape == (3, 4)
    assert (one[:, :2] == changed[:, :2]).all()
    assert (one[:, 2:] != changed[:, 2:]).all()


@pytest.mark.parametrize("state", [0, 3])
def test_the_critic_sees_all_agents_or_the_global_state(state, monkeypatch):
    agent, rng = maddpg(state), np.random.default_rng(0)
    batch = transitions(rng, 5, state)
    seen = []
    for critic in (agent.critic, agent.target_critic):
        forward = critic.forward
        monkeypatch.setattr(critic, "forward", lambda obs, action, f=forward: (seen.append(obs), f(obs, action))[1])
    updated(agent, batch)
    name = "global_state" if state else "obs"
    assert [x.shape[1] for x in seen] == [state or 4] * 3
    assert torch.equal(seen[0], batch[f"next_{name}"])  # target, then loss, then policy
    assert torch.equal(seen[1], batch[name])
    assert torch.equal(seen[2], batch[name])


def test_the_gradient_of_an_action_reaches_the_network_of_all_agents():
    agent = maddpg(normalize_obs=True)
    before = agent.weights()
    agent.observe(transitions(np.random.default_rng(0))["obs"])
    updated(agent, transitions(np.random.default_rng(0)))
    assert [name for name, array in agent.weights().items() if (array == before[name]).all()] == []


@pytest.mark.long
@pytest.mark.parametrize("shared", in_the_suite([True, False], True))
def test_agents_learn_what_each_of_them_can_know(shared):
    layers = {"actor_layers": [Linear(layer_size=[32])], "critic_layers": [Linear(layer_size=[64])]}
    agent = maddpg(shared_actor=shared, **layers)
    rng = np.random.default_rng(0)
    for _ in range(1000):
        updated(agent, transitions(rng))
    obs = rng.uniform(-0.8, 0.8, (50, 4)).astype(np.float32)
    assert np.abs(agent.predict_action(obs, None).action - obs).mean() < 0.15


@SHARED
@pytest.mark.parametrize("state", [0, 3])
def test_a_resumed_maddpg_learns_the_same_to_the_bit(state, shared):
    one, other = maddpg(state, 1, shared_actor=shared), maddpg(state, 2, shared_actor=shared)
    batches = [transitions(np.random.default_rng(i), state=state) for i in range(4)]
    for batch in batches[:2]:
        updated(one, batch)
    other.load_state(one.state())
    for batch in batches[2:]:
        assert updated(one, batch).metrics == updated(other, batch).metrics
    assert frozen(one.state()) == frozen(other.state())
