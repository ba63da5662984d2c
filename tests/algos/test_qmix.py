"""QMIX and VDN: the mixer and the target by hand, one network for all agents, and the two-step game."""

import math

import numpy as np
import pytest
import torch
from gymnasium.spaces import Discrete

from algos.base import EnvSpec, Progress, UnfitError
from algos.common.parts.team import Split, merge
from algos.qmix.mixer import monotonic, outputs
from config.model.layers import Gru, Linear
from config.read.loader import ConfigError
from tests.tools.config_fixtures import loaded
from tests.tools.core import agent_of, stream, updated
from tests.tools.distributed import frozen
from tests.tools.joint import joint_spec, numbers, two_step_batch, two_step_score
from tests.tools.paths import in_the_suite

torch.set_num_threads(1)

BOTH = pytest.mark.parametrize("algo", ["QMIX", "VDN"])
SMALL = {"value_layers": [Linear(layer_size=[8])]}
RECURRENT = {"value_layers": [Linear(layer_size=[8]), Gru(layer_size=[5])], "burn_in": 2, "lookup_step": 3}
SIZE = 5
"""Of the recurrent state of an agent."""


# ------------------------------------------------------------------------------------------------------ formulas


def test_the_mixer_by_hand():
    """q = (1, -2); W1 = (2, -3), b1 = 0.5, w2 = -4, b2 = 1: 4 elu(1 * 2 - 2 * 3 + 0.5) + 1."""
    mixed = monotonic(torch.tensor([[1.0, -2.0]]), torch.tensor([[2.0, -3.0, 0.5, -4.0, 1.0]]))
    assert mixed.item() == pytest.approx(4 * (math.exp(-3.5) - 1) + 1)
    assert outputs(agents=2, hidden=1) == 5


def test_the_mixer_with_two_hidden_units_by_hand():
    """q = (1, 2), W1 = ((1, 2), (3, 4)): (7, 10); with b1 = (1, -1): (8, 9); w2 = (1, 10), b2 = -2: 8 + 90 - 2."""
    weights = torch.tensor([[1.0, -2.0, 3.0, 4.0, 1.0, -1.0, 1.0, -10.0, -2.0]])
    assert monotonic(torch.tensor([[1.0, 2.0]]), weights).item() == pytest.approx(96.0)


def test_the_mix_never_falls_when_the_value_of_an_agent_grows():
    rng = np.random.default_rng(0)
    values = numbers(rng, 50, 3).requires_grad_()
    monotonic(values, numbers(rng, 50, outputs(3, 4))).sum().backward()
    assert (values.grad >= 0).all()
    assert (values.grad > 0).any()


def of_index(agent, name, own, second):
    """Makes the values of an agent: own times its observation, and `second` for the agent of index 1."""
    layer = agent.networks["agent"] if name == "online" else agent.targets["agent"]
    [linear] = [module for module in layer if isinstance(module, torch.nn.Linear)]
    with torch.no_grad():
        linear.weight.copy_(torch.tensor([[own, 0.0, 0.0], [0.0, 0.0, second]]))  # observation, index 0, index 1
        linear.bias.zero_()


@pytest.mark.parametrize(
    ("settings", "mask", "expected"),
    [
        ({}, None, 1 + 0.5 * (20 + 7)),  # online: agent 0 prefers action 0 (2 > 0), agent 1 action 1 (1 > 0.5)
        ({"reward_scale": 3.0}, None, 3 + 0.5 * (20 + 7)),
        ({"joint_reward": "mean"}, None, 0.5 + 0.5 * (20 + 7)),
        ({"joint_reward": "mean", "reward_scale": 3.0}, None, 1.5 + 0.5 * (20 + 7)),
        ({}, [[1, 1], [1, 0]], 1 + 0.5 * (20 + 5)),
        ({}, [[0, 1], [1, 1]], 1 + 0.5 * (0 + 7)),
        ({"double": False}, [[1, 1], [1, 0]], 1 + 0.5 * (20 + 5)),
    ],
)
def test_the_target_by_hand(settings, mask, expected):
    agent = agent_of("VDN", joint_spec(width=1), value_layers=[], **settings)
    of_index(agent, "online", 1.0, 1.0)
    of_index(agent, "target", 10.0, 7.0)
    batch = {"next_obs": torch.tensor([[2.0, 0.5]]), "reward": torch.ones(1), "discount": torch.tensor([0.5])}
    if mask is not None:
        batch["next_action_mask"] = torch.tensor([mask], dtype=torch.bool)
    assert agent._target(batch).tolist() == pytest.approx([expected])


def test_the_online_network_selects_and_the_target_network_evaluates():
    agent = agent_of("VDN", joint_spec(width=1), value_layers=[])
    of_index(agent, "online", 1.0, 1.0)
    of_index(agent, "target", -1.0, -1.0)
    batch = {"next_obs": torch.tensor([[2.0, 0.5]]), "reward": torch.zeros(1), "discount": torch.ones(1)}
    assert agent._target(batch).item() == pytest.approx(-2 - 1)
    agent.cfg = agent.cfg.model_copy(update={"double": False})
    assert agent._target(batch).item() == pytest.approx(0 - 0.5)


def test_the_target_is_mixed_by_the_target_networks():
    """Agents' values 20 and 7; W1 = (1, 2), b1 = 0, w2 = 1, b2 = 3: 20 + 14 + 3."""
    agent = agent_of("QMIX", joint_spec(width=1, state=2), value_layers=[], hyper_layers=[], mixer_size=1)
    of_index(agent, "online", 1.0, 1.0)
    of_index(agent, "target", 10.0, 7.0)
    with torch.no_grad():
        [linear] = agent.targets["hyper"]
        linear.weight.zero_()
        linear.bias.copy_(torch.tensor([1.0, 2.0, 0.0, 1.0, 3.0]))
    batch = {"next_obs": torch.tensor([[2.0, 0.5]]), "reward": torch.ones(1), "discount": torch.tensor([0.5])}
    assert agent._target({**batch, "next_global_state": torch.ones(1, 2)}).item() == pytest.approx(1 + 0.5 * 37)


def test_errors_are_the_priorities_and_weights_scale_the_loss():
    agent, rng = agent_of("VDN", joint_spec(), lr=1e-9), np.random.default_rng(0)
    batch = two_step_batch(rng, 8, state=False)
    plain = updated(agent, batch)
    weighted = updated(agent, {**batch, "weight": torch.full((8,), 0.5)})
    assert plain.priorities is None
    assert weighted.priorities.square().mean().item() == pytest.approx(plain.metrics["loss"].item(), rel=1e-4)
    assert weighted.metrics["loss"].item() == pytest.approx(0.5 * plain.metrics["loss"].item(), rel=1e-4)


def test_for_one_agent_vdn_is_double_dqn():
    """The same network, update and target, to the bit."""
    settings = {"lr": 1e-3, "tau": 1.0, "target_update": 2, "max_grad_norm": 10.0, "reward_scale": 0.5, **SMALL}
    spec = EnvSpec("one", joint_spec(agents=1).observation_space, Discrete(2), 4)
    one, other = agent_of("VDN", spec, **settings), agent_of("DoubleDQN", spec, **settings)
    rng = np.random.default_rng(1)
    for _ in range(5):
        batch = two_step_batch(rng, 16, state=False)
        batch |= {"obs": batch["obs"][:, :3], "next_obs": batch["next_obs"][:, :3], "action": batch["action"][:, 0]}
        assert updated(one, batch).metrics["loss"] == updated(other, batch).metrics["loss"]
    assert [array.tobytes() for array in one.weights().values()] == [a.tobytes() for a in other.weights().values()]


# --------------------------------------------------------------------------------------- one network for all agents


def test_rows_become_agents_with_their_index_and_agents_rows():
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
    split = Split(2)(x)
    assert split.tolist() == [[1, 2, 1, 0], [3, 4, 0, 1], [5, 6, 1, 0], [7, 8, 0, 1]]
    assert merge(2)(split).tolist() == [split[:2].tolist(), split[2:].tolist()]


@BOTH
def test_an_agent_sees_its_own_observation_and_index_alone(algo):
    agent, rng = agent_of(algo, joint_spec(state=3), **SMALL), np.random.default_rng(0)
    obs = numbers(rng, 4, 6)
    other, swapped = obs.clone(), obs.roll(3, 1)
    other[:, 3:] += 1.0
    values, changed, turned = (agent.networks["agent"](x) for x in (obs, other, swapped))
    assert values.shape == (4, 2, 2)
    assert torch.equal(values[:, 0], changed[:, 0])
    assert not torch.equal(values[:, 1], changed[:, 1])
    assert not torch.allclose(values[:, 0], turned[:, 1]), "the index tells agents apart"


@pytest.mark.parametrize("normalize", [False, True])
def test_the_recurrent_network_is_that_of_single_agents_side_by_side(normalize):
    """Sequences with starts of episodes within them: each agent of each row, run by itself, gives the same."""
    agent = agent_of("VDN", joint_spec(), **RECURRENT, normalize_obs=normalize)
    rng = np.random.default_rng(0)
    if normalize:
        agent.observe(3 + 2 * numbers(rng, 100, 6))
    obs, state = numbers(rng, 4, 3, 6), numbers(rng, 3, 2 * SIZE)
    first = torch.zeros(4, 3, dtype=torch.bool)
    first[2, 1] = True
    network = agent.networks["agent"]
    together = network.unroll(obs, state, first)
    assert together.shape == (4, 3, 2, 2)
    for row in range(3):
        for i in range(2):
            only = torch.zeros_like(obs[:, row])  # the other agent of the row sees nothing
            only[:, 3 * i : 3 * i + 3] = obs[:, row, 3 * i : 3 * i + 3]
            carried = torch.zeros(1, 2 * SIZE)
            carried[:, SIZE * i : SIZE * (i + 1)] = state[row, SIZE * i : SIZE * (i + 1)]
            for step in range(4):
                carried = carried * ~first[step, row]
                out, carried = network.step(only[step : step + 1], carried)
                torch.testing.assert_close(out[0, i], together[step, row, i])


@pytest.mark.parametrize("settings", [SMALL, RECURRENT], ids=["plain", "recurrent"])
def test_observations_are_normalised_before_they_are_split(settings):
    """Each agent has statistics of its own; the index is not normalised."""
    rng = np.random.default_rng(0)
    plain, normalised = (agent_of("VDN", joint_spec(), **settings, normalize_obs=on) for on in (False, True))
    obs = numbers(rng, 50, 6) * torch.arange(1, 7) + 3
    normalised.observe(obs)
    state = plain.initial_state(50)
    expected = plain.predict_action(((obs - obs.mean(0)) / obs.std(0, correction=0)).numpy(), state)
    found = normalised.predict_action(obs.numpy(), state)
    np.testing.assert_array_equal(found.action, expected.action)
    if state is not None:
        np.testing.assert_allclose(found.state, expected.state, atol=1e-5)


def test_the_state_of_a_row_is_that_of_all_its_agents():
    agent = agent_of("QMIX", joint_spec(state=3), **RECURRENT)
    state = agent.initial_state(4)
    assert state.shape == (4, 2 * SIZE)
    obs = numbers(np.random.default_rng(0), 4, 6).numpy()
    after = agent.predict_action(obs, state).state
    obs[1, 3:] += 1.0
    changed = agent.predict_action(obs, state).state
    assert (after != changed).any(1).tolist() == [False, True, False, False]
    assert (after[1, :SIZE] == changed[1, :SIZE]).all()
    assert (after[1, SIZE:] != changed[1, SIZE:]).any()


# -------------------------------------------------------------------------------------------------------- acting


@BOTH
@pytest.mark.parametrize("kind", ["e-greedy", "softmax", "none"])
def test_illegal_actions_of_an_agent_are_never_taken(algo, kind):
    agent = agent_of(algo, joint_spec(state=3), exploration_type=kind, **SMALL)
    rng = np.random.default_rng(0)
    mask = rng.random((50, 2, 2)) < 0.5
    mask[..., 1] |= ~mask[..., 0]
    obs = numbers(rng, 50, 6).numpy()
    for act in (agent.sample_action(obs, None, Progress(), rng, mask), agent.predict_action(obs, None, mask)):
        assert act.action.shape == (50, 2)
        assert np.take_along_axis(mask, act.action[..., None], 2).all()


def test_each_agent_explores_by_itself():
    agent = agent_of("VDN", joint_spec(), epsilon_start=1.0, **SMALL)
    obs = np.zeros((2000, 6), np.float32)
    pairs = agent.sample_action(obs, None, Progress(), stream(1, "x")).action
    counts = np.unique(pairs, axis=0, return_counts=True)[1]
    assert len(counts) == 4
    assert counts.min() > 400


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (joint_spec(agents=3), None),
        (EnvSpec("x", joint_spec().observation_space, joint_spec().action_space, 4), "MultiDiscrete.* 1 agents"),
        (joint_spec(Discrete(2)), "Discrete.* 2 agents"),
        (joint_spec(joint_spec().observation_space), "Box.* 2 agents"),
    ],
)
def test_actions_that_are_not_one_for_each_agent_are_refused(spec, text):
    if text is None:
        assert agent_of("QMIX", spec).actions == 2
        return
    with pytest.raises(UnfitError, match=text):
        agent_of("QMIX", spec)


# ------------------------------------------------------------------------------------------------------- learning


GAMES = [(algo, best, state) for algo, best in (("QMIX", 8.0), ("VDN", 7.0)) for state in (True, False)]


@pytest.mark.long
@pytest.mark.parametrize(("algo", "best", "state"), in_the_suite(GAMES, *GAMES[:2], GAMES[3]))
def test_the_two_step_game(algo, best, state):
    """QMIX finds the optimum, also if its mixer sees the observations; a sum cannot represent it."""
    agent = agent_of(algo, joint_spec(state=3 if state else 0))
    rng = np.random.default_rng(1)
    for _ in range({"QMIX": 800, "VDN": 400}[algo]):
        updated(agent, two_step_batch(rng, state=state))
    assert two_step_score(agent) == best


def sequences(rng, masks=True):
    """A minibatch of 3 sequences of burn-in 2 and 3 steps."""
    batch = {
        "obs": numbers(rng, 5, 3, 6),
        "next_obs": numbers(rng, 5, 3, 6),
        "action": torch.from_numpy(rng.integers(0, 2, (5, 3, 2))),
        "reward": numbers(rng, 5, 3),
        "discount": torch.full((5, 3), 0.9),
        "first": torch.from_numpy(rng.random((5, 3)) < 0.2),
        "state": numbers(rng, 3, 2 * SIZE),
        "global_state": numbers(rng, 5, 3, 3),
        "next_global_state": numbers(rng, 5, 3, 3),
    }
    legal = torch.ones(5, 3, 2, 2, dtype=torch.bool)
    return {**batch, "action_mask": legal, "next_action_mask": legal} if masks else batch


@BOTH
@pytest.mark.parametrize("settings", [SMALL, RECURRENT], ids=["plain", "recurrent"])
@pytest.mark.parametrize("state", [3, 0])
def test_a_resumed_agent_learns_the_same_to_the_bit(algo, settings, state):
    def batches(seed):
        rng = np.random.default_rng(seed)
        return [two_step_batch(rng, 8) if settings is SMALL else sequences(rng) for _ in range(3)]

    one = agent_of(algo, joint_spec(state=state), seed=1, target_update=2, **settings)
    other = agent_of(algo, joint_spec(state=state), seed=2, target_update=2, **settings)
    before = one.weights()
    for batch in batches(0):
        updated(one, batch)
    assert [name for name, array in one.weights().items() if (array == before[name]).all()] == []
    other.load_state(one.state())
    for batch in batches(1):
        assert updated(one, batch).metrics == updated(other, batch).metrics
    assert frozen(one.state()) == frozen(other.state())


def test_a_mixer_has_no_memory_and_vdn_is_the_sum():
    recurrent = "algo_cfg.hyper_layers=[{layer_type: gru, layer_size: 8}]"
    with pytest.raises(ConfigError, match=r"hyper_layers: the mixer has no recurrent state"):
        loaded(None, "general_cfg.algo_name=QMIX", recurrent)
    with pytest.raises(ConfigError, match=r"mixer: must be sum in this algorithm"):
        loaded(None, "general_cfg.algo_name=VDN", "algo_cfg.mixer=monotonic")
    assert loaded(None, "general_cfg.algo_name=QMIX").algo.needs_global_state()
    assert not loaded(None, "general_cfg.algo_name=VDN").algo.needs_global_state()
