"""COMA, HAPPO and MASAC: their formulas by hand, whom a gradient reaches, and teams that learn to act together."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, MultiDiscrete

from algos.base import Progress
from algos.coma.agent import counterfactual, critic_input
from algos.common.parts.team import own_parameters
from algos.sac.policy import MeansFirst
from config.model.layers import Dropout, Linear, mlp
from config.read.loader import ConfigError
from envs.base import Step, VectorEnv
from framework.loop.learner import AgentLearner
from framework.memory import Chunk
from tests.tools.config_fixtures import loaded
from tests.tools.core import agent_of, trained, updated
from tests.tools.distributed import frozen
from tests.tools.joint import joint_spec, numbers

BOX = Box(-2, 2, (4,), np.float32)
"""Two numbers of each of two agents."""
SMALL = {"actor_layers": [Linear(layer_size=[16])], "critic_layers": [Linear(layer_size=[16])]}


class Together(VectorEnv):
    """Two agents see a cue each, 0 or 1, for one step; both are to name theirs: 1 if both do, otherwise 0."""

    observation_space, action_space = Box(-1, 1, (4,), np.float32), MultiDiscrete([2, 2])

    def __init__(self, rows: int) -> None:
        self.rows, self._rng = rows, np.random.default_rng(0)
        self._cue = np.zeros((rows, 2), np.int64)

    def reset(self, mask: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        self._cue = np.where(mask[:, None], self._rng.integers(0, 2, self._cue.shape), self._cue)
        return self._seen()

    def step(self, action: np.ndarray) -> Step:
        reward = (action == self._cue).all(1).astype(np.float32)
        ended = np.ones(self.rows, bool)
        return Step(self._seen(), reward, ended, ~ended)

    def _seen(self) -> np.ndarray:
        return np.eye(2, dtype=np.float32)[self._cue].reshape(self.rows, 4)


def team(algo, state=0, **settings):
    space = BOX if algo == "MASAC" else None
    return agent_of(algo, joint_spec(space, width=2, state=state), **{**SMALL, "normalize_obs": False, **settings})


@pytest.mark.parametrize("algo", ["QMIX", "MADDPG", "COMA", "HAPPO"])
def test_the_global_state_is_normalized_as_observations_are(algo):
    """QMIX diverged where the state has coordinates of cells: its mixer's weights grow with them."""
    space = BOX if algo == "MADDPG" else None
    settings = {} if algo == "QMIX" else SMALL
    agent = agent_of(algo, joint_spec(space, width=2, state=3), **settings, normalize_obs=True)
    columns = window(agent, state=3)
    if algo in ("COMA", "HAPPO"):
        agent.prepare(columns, Progress())
    else:
        seen = {name: columns[name].flatten(0, 1).numpy() for name in ("obs", "global_state")}
        AgentLearner(agent, agent.cfg.memory(2)).learn(Chunk({"reward": np.zeros((0, 4))}, arrived=seen), Progress())
    whole = columns["global_state"].double()
    torch.testing.assert_close(agent.state_normalizer.moments.mean, whole.mean((0, 1)))
    torch.testing.assert_close(agent.normalizer.moments.mean, columns["obs"].double().mean((0, 1)))
    readers = agent.encode if algo == "COMA" else agent.networks
    assert agent.state_normalizer in list(readers.modules()), "the critic or mixer reads the state through it"
    again = agent_of(algo, joint_spec(space, width=2, state=3), **settings, normalize_obs=True)
    again.load_state(agent.state())
    torch.testing.assert_close(again.state_normalizer.moments.mean, agent.state_normalizer.moments.mean)
    assert agent_of(algo, joint_spec(space, width=2, state=3), **settings).state_normalizer is None


# ------------------------------------------------------------------------------------------------------ COMA


def test_the_critic_of_an_agent_sees_the_state_the_others_actions_and_its_index():
    seen = critic_input(torch.tensor([[5.0, 6.0]]), torch.tensor([[2, 0]]), 3)
    assert seen.tolist() == [
        [5, 6, 0, 0, 0, 1, 0, 0, 1, 0],  # the other agent's action 0
        [5, 6, 0, 0, 1, 0, 0, 0, 0, 1],  # the other agent's action 2
    ]


def test_the_counterfactual_advantage_by_hand():
    """Foerster et al. (2018), equation 4: 4 - (0.25 * 4 + 0.75 * 8) and 2 - (0.5 * 6 + 0.5 * 2)."""
    values, policy = torch.tensor([[[4.0, 8.0], [6.0, 2.0]]]), torch.tensor([[[0.25, 0.75], [0.5, 0.5]]])
    assert counterfactual(values, torch.tensor([[0, 1]]), policy).tolist() == [[-3.0, -2.0]]


def window(agent, state=0):
    """Two steps of two rows; row 1 ends with its first step."""
    rng = np.random.default_rng(0)
    ended = torch.tensor([[False, True], [False, False]])
    columns = {"obs": numbers(rng, 2, 2, 4), "next_obs": numbers(rng, 2, 2, 4)}
    columns["drawn"] = columns["action"] = torch.tensor([[[0, 1], [1, 1]], [[1, 0], [0, 0]]])
    columns |= {"log_prob": torch.zeros(2, 2, 2), "reward": torch.tensor([[1.0, 2.0], [4.0, 8.0]])}
    if state:
        columns |= {"global_state": numbers(rng, 2, 2, state), "next_global_state": numbers(rng, 2, 2, state)}
    return {**columns, "terminated": ended, "truncated": torch.zeros_like(ended)}


@pytest.mark.parametrize("state", [0, 3])
def test_the_targets_of_the_critic_are_lambda_returns_of_the_actions_that_were_taken(state):
    """gamma 0.5, lambda 0.5. The last step has r + 0.5 Q', the first one of row 0
    1 + 0.5 (0.5 Q'(s', u') + 0.5 G'), and that of row 1 ended: 2."""
    agent = team("COMA", state, gamma=0.5, td_lambda=0.5)
    columns = window(agent, state)
    agent._drawn_value = lambda window, cut: torch.full((int(cut.sum()), 2), 6.0)
    target = agent.prepare(columns, None)["target"]
    taken = agent._of_taken(columns["global_state" if state else "obs"], columns["drawn"])
    torch.testing.assert_close(target[1], torch.tensor([[7.0, 7.0], [11.0, 11.0]]))
    torch.testing.assert_close(target[0, 1], torch.tensor([2.0, 2.0]))
    torch.testing.assert_close(target[0, 0], 1 + 0.25 * taken[1, 0] + 0.25 * 7.0)


def test_the_critics_loss_is_a_mean_over_steps_and_a_sum_over_agents():
    """A critic that knows nothing: half of (1 + 9) / 2 of the first agent, and of (4 + 16) / 2 of the second."""
    agent = team("COMA")
    with torch.no_grad():
        for weight in agent.critic_parameters:
            weight.zero_()
    part = {"state": torch.zeros(2, 4), "index": torch.zeros(2, 2, dtype=torch.int64)}
    assert agent._fit({**part, "target": torch.tensor([[1.0, -2.0], [3.0, 4.0]])}).item() == 7.5


def test_dropout_of_the_target_critic_follows_the_learning_stream():
    found = []
    for seed in (1, 2):
        agent = team("COMA", critic_layers=[*mlp(16), Dropout(rate=0.5)])
        torch.manual_seed(seed)  # of the process, which a checkpoint does not have
        chunk = Chunk({name: column.numpy() for name, column in window(agent).items()})
        found.append(AgentLearner(agent, agent.cfg.memory(2)).learn(chunk, Progress()).metrics["critic_loss"])
    assert found[0] == found[1]


# ------------------------------------------------------------------------------------------------------ HAPPO


def test_the_second_agent_is_improved_with_the_ratio_of_the_first():
    """Kuba et al. (2022), equation 10. The first agent's policy moves by hand; the advantage 2 of the second one's step
    is then 2 pi_new(u) / pi_old(u)."""
    agent = team("HAPPO", k_epochs=1, sgd_batch_size=64)
    policies = {}
    order, seen = [], []

    def improve(part, number):
        order.append(number)
        seen.append(part["advantage"].clone())
        before = agent._log_probs(part)
        with torch.no_grad():
            for parameter in own_parameters(agent.policy.network, 2)[number]:
                parameter.add_(0.3)
        policies[number] = (agent._log_probs(part) - before).exp()
        return torch.zeros(4)

    agent._improve, agent.explained = improve, torch.zeros(())
    rng = np.random.default_rng(0)
    obs = numbers(rng, 1, 4)
    batch = {"obs": obs, "drawn": torch.tensor([[0, 1]]), "log_prob": torch.zeros(1, 2)}
    agent.update({**batch, "advantage": torch.tensor([2.0]), "target": torch.zeros(1)})
    first, second = order
    assert {first, second} == {0, 1}
    assert policies[first][0, second] == 1.0, "a step of one agent leaves the other one's policy alone"
    assert policies[first][0, first] != 1.0
    torch.testing.assert_close(seen[1], 2.0 * policies[first][:, first])


@pytest.mark.parametrize("space", [None, BOX], ids=["discrete", "box"])
def test_each_agent_has_parameters_of_its_own_and_together_they_are_all(space):
    agent = agent_of("HAPPO", joint_spec(space, width=2), **SMALL)
    own = own_parameters(agent.policy.network, 2)
    ids = [{id(p) for p in parameters} for parameters in own]
    assert not ids[0] & ids[1]
    assert ids[0] | ids[1] == {id(p) for p in agent.policy.network.parameters()}
    rng = np.random.default_rng(0)
    act = agent.sample_action(numbers(rng, 3, 4).numpy(), None, None, rng)
    assert act.columns["log_prob"].shape == (3, 2)


@pytest.mark.parametrize("space", [None, BOX], ids=["discrete", "box"])
def test_log_probabilities_of_acting_and_learning_are_the_same(space):
    agent = agent_of("HAPPO", joint_spec(space, width=2), log_std_init=-0.7, **SMALL)
    rng = np.random.default_rng(0)
    obs = numbers(rng, 5, 4)
    act = agent.sample_action(obs.numpy(), None, None, rng)
    outputs = agent.policy.outputs({"obs": obs})
    log_prob = agent.policy.log_probs(outputs, torch.from_numpy(act.columns["drawn"]))
    np.testing.assert_allclose(log_prob.detach(), act.columns["log_prob"], rtol=1e-4, atol=1e-5)
    if space is not None:  # log N(x; m, s) summed over the two numbers of each agent
        mean = outputs[:, :4].detach().double()
        drawn = torch.from_numpy(act.columns["drawn"]).double()
        density = torch.distributions.Normal(mean, np.exp(-0.7)).log_prob(drawn).view(5, 2, 2).sum(2)
        np.testing.assert_allclose(log_prob.detach(), density, rtol=1e-4)


# ------------------------------------------------------------------------------------------------------ MASAC


def test_the_means_of_all_agents_come_before_their_log_deviations():
    """Two agents with two numbers each: mean, mean, deviation, deviation."""
    outputs = torch.tensor([[[1.0, 2, 3, 4], [5, 6, 7, 8]]])
    assert MeansFirst()(outputs).tolist() == [[1, 2, 5, 6, 3, 4, 7, 8]]


@pytest.mark.parametrize("shared", [False, True])
def test_a_soft_actor_sees_its_own_observation_and_the_critics_see_all(shared):
    agent = team("MASAC", shared_actor=shared)
    obs = numbers(np.random.default_rng(0), 3, 4)
    other = obs.clone()
    other[:, 2:] += 1.0
    one, changed = (agent.predict_action(x.numpy(), None).action for x in (obs, other))
    assert (one[:, :2] == changed[:, :2]).all()
    assert (one[:, 2:] != changed[:, 2:]).all()
    action = torch.zeros(3, 4)
    assert (agent.critic(obs, action) != agent.critic(other, action)).all()


@pytest.mark.long
def test_soft_actors_learn_what_each_is_to_do():
    """The return of all is highest where each agent's action is its observation."""
    agent, rng = team("MASAC", actor_lr=3e-3, critic_lr=3e-3, alpha=0.01, batch_size=64), np.random.default_rng(0)
    for _ in range(400):
        obs, action = (torch.from_numpy(rng.uniform(-1, 1, (64, 4)).astype(np.float32)) for _ in range(2))
        reward = -(action - obs).square().sum(1)
        updated(agent, {"obs": obs, "next_obs": obs, "action": action, "reward": reward, "discount": torch.zeros(64)})
    seen = rng.uniform(-1, 1, (64, 4)).astype(np.float32)
    assert np.abs(agent.predict_action(seen, None).action - seen).mean() < 0.3


# ------------------------------------------------------------------------------------------------------ learning


def played(agent):
    cues = np.array([[a, b] for a in (0, 1) for b in (0, 1)])
    seen = np.eye(2, dtype=np.float32)[cues].reshape(4, 4)
    return (agent.predict_action(seen, None).action == cues).all()


@pytest.mark.long
@pytest.mark.parametrize("algo", ["COMA", "HAPPO"])
def test_a_team_learns_to_act_together(algo):
    settings = {"batch_size": 128, "sgd_batch_size": 64, "lr": 1e-2, "lr_schedule": "constant"}
    settings |= {"target_update": 10} if algo == "COMA" else {}
    agent = trained(team(algo, **settings), Together(8), {"COMA": 60, "HAPPO": 30}[algo])
    assert played(agent)


@pytest.mark.parametrize("algo", ["COMA", "HAPPO"])
def test_a_resumed_team_learns_the_same_to_the_bit(algo):
    """RES-1, with the optimizer of each agent."""
    settings = {"batch_size": 32, "sgd_batch_size": 16, "normalize_reward": True}
    one = trained(team(algo, **settings), Together(4), 3)
    other = team(algo, **settings)
    other.load_state(one.state())
    for agent in (one, other):
        trained(agent, Together(4), 2)
    assert frozen(one.state()) == frozen(other.state())


@pytest.mark.parametrize("algo", ["COMA", "HAPPO"])
def test_illegal_actions_of_a_team_are_never_taken_and_have_no_share_in_the_baseline(algo):
    agent, rng = team(algo), np.random.default_rng(0)
    mask = rng.random((50, 2, 2)) < 0.5
    mask[..., 1] |= ~mask[..., 0]
    obs = numbers(rng, 50, 4)
    for act in (agent.sample_action(obs.numpy(), None, None, rng, mask), agent.predict_action(obs.numpy(), None, mask)):
        assert np.take_along_axis(mask, act.action[..., None], 2).all()
    outputs = agent.policy.outputs({"obs": obs, "action_mask": torch.from_numpy(mask)})
    assert (outputs.softmax(2)[~torch.from_numpy(mask)] == 0).all()


@pytest.mark.parametrize("algo", ["COMA", "HAPPO"])
def test_learning_rates_of_every_optimizer_follow_the_schedule(algo):
    agent = team(algo, lr_schedule="linear", lr=1e-2)
    rates = {rate for _, rate in agent.rates(Progress(fraction=0.75))}
    assert rates == {0.0025}
    assert len(list(agent.optimizers())) == {"COMA": 2, "HAPPO": 3}[algo]


def test_settings_of_teams_that_do_not_fit_are_refused():
    with pytest.raises(ConfigError, match="this algorithm does not support gru layers"):
        loaded(None, "general_cfg.algo_name=COMA", "algo_cfg.actor_layers=[{layer_type: gru, layer_size: 8}]")
    with pytest.raises(ConfigError, match="sgd_batch_size: 999 is more than batch_size, 100"):
        loaded(None, "general_cfg.algo_name=HAPPO", "algo_cfg.batch_size=100", "algo_cfg.sgd_batch_size=999")
