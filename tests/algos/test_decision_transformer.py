"""Decision Transformer: the columns of returns, the mask, acting against learning, and a known answer."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete, Space

import joystick
from algos.base import Act, EnvSpec, Progress, Streams
from algos.decisiontransformer.agent import Agent, squared_error
from algos.decisiontransformer.config import Config
from algos.decisiontransformer.transformer import visible
from config.model.memory_spec import DataSpec
from config.read.loader import ConfigError
from framework.loop.learner import AgentLearner
from framework.memory.offline_data import Earnings, select_data
from framework.memory.offline_replay import OfflineReplay
from tests.algos.test_learners import Together
from tests.framework.memory.test_offline import data_for, run_of, spec_of, write
from tests.tools.core import TapeAgent, collector_of, stream, toy_of

torch.set_num_threads(1)


# the columns of the data ----------------------------------------------------------------------------------


def test_earnings_are_the_rewards_before_a_step_and_begin_anew_with_an_episode() -> None:
    reward, ended = np.array([1.0, 2, 3, 4, 5, 6]), np.array([0, 0, 1, 0, 1, 1], bool)
    columns = Earnings().of(reward, ended)
    assert columns["earned"].tolist() == [0, 1, 3, 0, 4, 0]
    assert columns["timestep"].tolist() == [0, 1, 2, 0, 1, 0]


@pytest.mark.parametrize("cuts", [[1], [2, 3], [3], [1, 2, 3, 4, 5]])
def test_an_episode_goes_on_in_the_next_piece(cuts: list[int]) -> None:
    reward, ended = np.array([1.0, 2, 3, 4, 5, 6]), np.array([0, 0, 1, 0, 1, 1], bool)
    whole, earnings = Earnings().of(reward, ended), Earnings()
    parts = [earnings.of(*each) for each in zip(np.split(reward, cuts), np.split(ended, cuts), strict=True)]
    for name, column in whole.items():
        assert np.array_equal(np.concatenate([part[name] for part in parts]), column)


@pytest.mark.parametrize("top", [1.0, 0.5])
def test_each_step_knows_the_return_of_its_own_episode(tmp_path: Path, top: float) -> None:
    path = write(tmp_path / "a.npz", [1.0, 3.0, 2.0, 4.0])
    found = select_data(DataSpec((str(path),), top=top, returns=True), spec_of(), 1)
    (piece,) = found.pieces()
    returns = [1.0, 3.0, 2.0, 4.0] if top == 1.0 else [3.0, 4.0]
    assert piece["episode_return"].tolist() == [value for value in returns for _ in range(4)]
    assert piece["timestep"].tolist() == [0, 1, 2, 3] * len(returns)
    assert "earned" not in next(select_data(DataSpec((str(path),)), spec_of(), 1).pieces())


# the parts ------------------------------------------------------------------------------------------------


def test_a_token_sees_itself_and_earlier_ones_of_its_episode() -> None:
    episode = torch.tensor([[0], [0], [1]])
    mask = visible(episode)[0, 0].int()
    assert mask[:6, :6].tolist() == torch.ones(6, 6).tril().int().tolist()
    assert mask[6:, :6].sum() == 0
    assert mask[6:, 6:].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_the_squared_error_is_a_mean_over_samples_and_dimensions() -> None:
    error = squared_error(torch.tensor([[1.0, 0.0], [2.0, 2.0]]), torch.tensor([[0.0, 2.0], [2.0, 2.0]]))
    assert error.item() == pytest.approx(5 / 4)


ACTIONS = {"discrete": Discrete(3, start=2), "box": Box(np.float32([0, -1]), np.float32([4, 1]))}
OBSERVATIONS = {"box": Box(-9, 9, (2, 2), np.float32), "discrete": Discrete(4, start=1)}


def agent_of(obs: Space, action: Space, **settings: Any) -> Agent:
    sizes = {"embed_size": 16, "n_blocks": 2, "n_heads": 2, "context_length": 3, "lr": 1e-2, "data": "x"}
    streams = Streams(init=1, learn=stream(1, "learn"))
    return Agent(Config(**{**sizes, **settings}), EnvSpec("x", obs, action, 1), streams, torch.device("cpu"))


@pytest.mark.parametrize("action", ACTIONS.values(), ids=ACTIONS.keys())
@pytest.mark.parametrize("obs", OBSERVATIONS.values(), ids=OBSERVATIONS.keys())
def test_acting_is_what_the_network_says_of_the_latest_steps(obs: Space, action: Space) -> None:
    agent = agent_of(obs, action, target_return=7.0, return_scale=2.0)
    obs.seed(1)
    seen, rewards, length = (
        [np.stack([obs.sample() for _ in range(2)]) for _ in range(5)],
        [1.0, 2.0, 0.5, -3.0, 0.0],
        3,
    )
    state, actions, outputs = agent.initial_state(2), [], []
    network = agent.network.forward
    agent.network.forward = lambda steps: (outputs.append(network(steps)), outputs[-1])[1]  # type: ignore[method-assign]
    for each, reward in zip(seen, rewards, strict=True):
        act = agent.predict_action(each, state)
        assert all(action.contains(one) for one in act.action.astype(action.dtype))
        actions.append(act.action)
        state = agent.rewarded(act.state, np.full(2, reward))
    agent.network.forward = network  # type: ignore[method-assign]
    earned = np.cumsum([0.0, *rewards[:-1]])
    for last in range(5):
        steps = range(max(0, last - length + 1), last + 1)
        wanted = torch.tensor([[7 - earned[t]] * 2 for t in steps])
        columns = (torch.from_numpy(np.stack([of[t] for t in steps])) for of in (seen, actions))
        timestep = torch.tensor([[t, t] for t in steps])
        with torch.no_grad():
            expected = network(agent._steps(wanted, *columns, timestep, torch.ones_like(timestep)))[-1]
        torch.testing.assert_close(outputs[last][-1], expected, atol=1e-5, rtol=1e-4)


def test_a_step_is_learned_from_with_the_return_that_was_still_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two steps of an episode that earned 3 in all, 1 of it with the first, and one of an episode that earned 5."""
    agent, seen = agent_of(OBSERVATIONS["box"], Discrete(2), return_scale=2.0), []
    forward = type(agent.network).forward
    monkeypatch.setattr(agent.network, "forward", lambda steps: seen.append(steps) or forward(agent.network, steps))
    earned, total = torch.tensor([[0.0], [1.0], [0.0]]), torch.tensor([[3.0], [3.0], [5.0]])
    steps = {"obs": torch.zeros(3, 1, 2, 2), "action": torch.zeros(3, 1, dtype=torch.int64), "earned": earned}
    flags = {"timestep": torch.tensor([[0], [1], [0]]), "first": torch.tensor([[False], [False], [True]])}
    agent.update({**steps, **flags, "episode_return": total})
    assert seen[0].wanted.tolist() == [[1.5], [1.0], [2.5]]
    assert seen[0].episode.tolist() == [[0], [0], [1]]


def test_what_followed_a_step_does_not_change_its_output() -> None:
    agent = agent_of(OBSERVATIONS["box"], ACTIONS["box"])
    torch.manual_seed(0)
    wanted, obs, action, timestep = (
        torch.randn(4, 1),
        torch.randn(4, 1, 2, 2),
        torch.rand(4, 1, 2),
        torch.arange(4)[:, None],
    )
    found = []
    for changed in (False, True):
        if changed:
            wanted[2:], obs[2:], action[1:] = 3.0, 4.0, 0.7  # the action of a step follows from its observation
        with torch.no_grad():
            found.append(agent.network(agent._steps(wanted, obs, action, timestep, torch.zeros(4, 1))))
    torch.testing.assert_close(found[0][:2], found[1][:2])
    assert not torch.allclose(found[0][2:], found[1][2:])


# a problem of two steps -----------------------------------------------------------------------------------


def two_steps(path: Path, actions: np.ndarray) -> Path:
    """Writes episodes of two steps of random play, whose rewards are the actions [E, 2]. Observations tell nothing."""
    count, reward = actions.size, actions.reshape(-1)
    obs = np.zeros((count, 1), np.float32)
    actions = reward if reward.dtype.kind == "i" else reward[:, None]
    np.savez(
        path, observations=obs, next_observations=obs, actions=actions, rewards=reward.astype(np.float32),
        terminals=np.arange(count) % 2 == 1,
    )  # fmt: skip
    return path


def parts_of(path: Path, action: Space, **settings: Any) -> tuple[Agent, OfflineReplay, AgentLearner]:
    agent = agent_of(
        Box(-1, 1, (1,), np.float32), action, context_length=2, data=str(path), batch_size=64, dropout=0.0, **settings
    )  # fmt: skip
    wanted = agent.cfg.memory(1)
    found = select_data(wanted.data, agent.spec, 1)
    memory = OfflineReplay(wanted, stream(1, "memory"), stream(1, "memory/data"), found, most=10)
    return agent, memory, AgentLearner(agent, wanted)


def learned(path: Path, action: Space, chunks: int) -> Agent:
    agent, memory, learner = parts_of(path, action)
    for _ in range(chunks):
        learner.learn(memory.take(0.0), Progress())
    return agent


def played(agent: Agent, target: float | None) -> list[float]:
    agent.cfg = agent.cfg.model_copy(update={"target_return": target})
    state, chosen = agent.initial_state(1), []
    for _ in range(2):
        act = agent.predict_action(np.zeros((1, 1), np.float32), state)
        chosen.append(act.action.item())
        state = agent.rewarded(act.state, np.array(chosen[-1:]))
    return chosen


def test_asked_for_a_return_it_chooses_the_actions_that_earned_it(tmp_path: Path) -> None:
    random = np.random.default_rng(1).integers(2, size=(100, 2))
    agent = learned(two_steps(tmp_path / "a.npz", random), Discrete(2), 12)
    assert played(agent, 2.0) == [1, 1]
    assert played(agent, 0.0) == [0, 0]
    assert sum(played(agent, 1.0)) == 1
    assert played(agent, None) == [1, 1]  # the highest one of the data


def test_the_same_with_continuous_actions(tmp_path: Path) -> None:
    random = np.random.default_rng(1).uniform(0, 4, (200, 2)).astype(np.float32)
    agent = learned(two_steps(tmp_path / "a.npz", random), Box(0, 4, (1,), np.float32), 30)
    for target in (2.0, 6.0):
        # the mean of all first actions that led to the return, and then what is missing
        first, second = played(agent, target)
        assert first == pytest.approx(target / 2, abs=0.8)
        assert second == pytest.approx(target - first, abs=0.4)


def test_exploration_draws_from_what_was_done(tmp_path: Path) -> None:
    random = np.random.default_rng(1).integers(2, size=(100, 2))
    agent = learned(two_steps(tmp_path / "a.npz", random), Discrete(2), 30)
    agent.cfg = agent.cfg.model_copy(update={"target_return": 1.0})
    obs = np.zeros((400, 1), np.float32)
    drawn = agent.sample_action(obs, agent.initial_state(400), Progress(), stream(1, "x")).action
    assert drawn.mean() == pytest.approx(0.5, abs=0.15)


def test_learners_that_share_the_sequences_do_as_one_alone(tmp_path: Path) -> None:
    path = two_steps(tmp_path / "a.npz", np.random.default_rng(1).integers(2, size=(100, 2)))
    # Adam would divide rounding errors by themselves: the gradient of a key's bias is 0
    parts = [parts_of(path, Discrete(2), optimizer="sgd", weight_decay=0.0) for _ in range(3)]
    together = Together(2)
    for rank in range(2):
        parts[rank][2].divide(together.share(rank))
    before = parts[0][0].weights()
    together.run([lambda part=part: part[2].learn(part[1].take(0.0), Progress()) for part in parts[:2]])
    parts[2][2].learn(parts[2][1].take(0.0), Progress())
    one, two, alone = (agent.weights() for agent, _, _ in parts)
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert alone["highest"] == one["highest"] == 2.0
    assert (
        max(np.abs(before[name] - value).max() for name, value in one.items() if np.isfinite(before[name]).all()) > 0.01
    )
    for name, value in alone.items():
        np.testing.assert_allclose(one[name], value, atol=1e-4)


# runs -----------------------------------------------------------------------------------------------------


class Earner(TapeAgent):
    """Its state is the sum of the rewards."""

    def initial_state(self, rows: int) -> np.ndarray:
        return np.zeros((rows, 1), np.float32)

    def sample_action(self, obs: Any, state: Any, progress: Any, rng: Any, mask: Any = None) -> Act:
        return super().sample_action(obs, None, progress, rng, mask)._replace(state=state)

    def rewarded(self, state: np.ndarray, reward: np.ndarray) -> np.ndarray:
        return state + reward[:, None].astype(np.float32)


def test_the_collector_tells_the_policy_the_rewards_of_the_episode_so_far() -> None:
    collector = collector_of(toy_of("choice", 2, steps=3), Earner())
    fragment, _ = collector.collect(7, Progress())
    columns = fragment.columns
    ended, total = columns["terminated"] | columns["truncated"], np.zeros(2)
    assert ended.any()
    for t in range(7):
        assert columns["state"][t, :, 0].tolist() == total.tolist()
        total = np.where(ended[t], 0, total + columns["reward"][t])
    assert columns["state"].any()


SMALL = {"embed_size": 8, "n_blocks": 1, "context_length": 4}


def test_a_loaded_policy_is_told_the_rewards_and_plays_as_in_the_evaluation(tmp_path: Path) -> None:
    data = data_for(tmp_path, "DecisionTransformer")
    with run_of(tmp_path, "DecisionTransformer", "run", data, target_return=30.0, return_scale=1.0, **SMALL) as run:
        run.train()
    policy = joystick.load(tmp_path / "run")
    obs, totals = np.zeros(4, np.float32), []
    for rewards in ([None, 1.0, 1.0], [None, 0.0, 0.0]):
        policy.reset()
        for reward in rewards:
            policy.act(obs, reward=reward)
        totals.append(policy._state[0, 0])
    assert totals == [2.0, 0.0]


def test_the_highest_return_of_the_data_is_among_the_weights(tmp_path: Path) -> None:
    data = write(tmp_path / "data.npz", [1.0, 5.0, -8.0] * 5)
    with run_of(tmp_path, "DecisionTransformer", "run", data, **SMALL) as run:
        run.train()
        assert (run.weights()["highest"], run.weights()["largest"]) == (5.0, 8.0)


def test_the_highest_return_of_the_data_is_known_whatever_was_drawn(tmp_path: Path) -> None:
    """Of the episodes that are learned from, also for the losses on those that are not."""
    data = write(tmp_path / "data.npz", [1.0] * 18 + [5.0, -8.0])
    with run_of(tmp_path, "DecisionTransformer", "run", data, 1, **{**SMALL, "batch_size": 1}) as run:
        run.train()
        assert (run.weights()["highest"], run.weights()["largest"]) == (5.0, 8.0)
    spec = DataSpec((str(data),), held_out=0.5, returns=True)
    parts = select_data(spec, spec_of(), 1)
    assert parts.held_out is not None
    learned_from, kept = (next(part.pieces()) for part in (parts, parts.held_out))
    assert sorted({*learned_from["episode_return"], *kept["episode_return"]}) == [-8.0, 1.0, 5.0]
    assert set(kept["highest_return"]) == {max(learned_from["episode_return"])}
    assert set(kept["largest_return"]) == {max(abs(learned_from["episode_return"]))}


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(ConfigError, match="n_heads: 3 does not divide embed_size, 16"):
        run_of(Path("x"), "DecisionTransformer", "run", Path("x.npz"), embed_size=16, n_heads=3)


def test_nothing_is_collected_and_so_steps_are_no_limit(tmp_path: Path) -> None:
    data = data_for(tmp_path, "DecisionTransformer")
    with pytest.raises(ConfigError, match="max_total_step: counts what is collected"):
        run_of(tmp_path, "DecisionTransformer", "run", data, steps=100, **SMALL)
