"""Rewards of the agent's own for what is new: formulas, statistics, learning, and their part in checkpoints."""

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete

from algos.base import Agent, Batch, EnvSpec, Progress, Streams
from algos.common.parts.actor_critic import without_ends
from algos.common.parts.bonus import Curiosity, Distillation, Visits, codes, novelty, prediction_error
from algos.ppo.config import Config
from config.model.layers import Dropout, mlp
from config.read.loader import ConfigError
from envs.toy.finite import DeepSea
from framework.loop.learner import AgentLearner
from framework.policies.policy_plan import PolicyPlan
from tests.tools.compiler import can_compile, programs
from tests.tools.config_fixtures import loaded
from tests.tools.core import agent_of, collector_of, memory_of, saved_and_read, score, spec_of, toy_of, trained

__all__ = ["can_compile", "programs"]
ROWS = 2
PPO = {"actor_layers": mlp(8), "critic_layers": mlp(8), "batch_size": 16, "sgd_batch_size": 8, "k_epochs": 2}
DQN = {"value_layers": mlp(8), "batch_size": 8, "learning_starts": 8, "train_fre": 4, "updates_per_train": 2}
SMALL: dict[str, dict[str, Any]] = {"PPO": PPO, "DQN": DQN, "A2C": {**PPO}}
for name in ("sgd_batch_size", "k_epochs"):
    del SMALL["A2C"][name]
SMALL_BONUS = {"bonus_layers": mlp(8), "bonus_features": 4}


def agent_for(algo: str, bonus: str, toy: str = "match", **settings: Any) -> Agent:
    return agent_of(algo, spec_of(toy_of(toy, ROWS)), bonus=bonus, **{**SMALL[algo], **SMALL_BONUS, **settings})


def part(kind: Any, space: Any, action: Any = None, rows: int = ROWS, **settings: Any) -> Any:
    spec = EnvSpec("toy", space, action or Discrete(2), rows)
    return kind(Config(**{**SMALL_BONUS, **settings}), spec, Streams(init=1), torch.device("cpu"))


# formulas ---------------------------------------------------------------------------------------------------


def test_the_error_of_a_prediction_is_half_the_squared_distance() -> None:
    """((1 - 0)^2 + (2 - 4)^2) / 2."""
    assert prediction_error(torch.tensor([[1.0, 2.0]]), torch.tensor([[0.0, 4.0]])).tolist() == [2.5]


def test_novelty_falls_with_the_root_of_the_visits() -> None:
    assert novelty(torch.tensor([1, 4, 25, 0])).tolist() == pytest.approx([1.0, 0.5, 0.2, 1.0])


def test_a_code_says_on_which_side_of_each_plane_a_point_is() -> None:
    """x > 0 is 1, -x + 0.5 > 0 is 2, y - 1 > 0 is 4: (1, 2) is beyond the first and the third."""
    planes = torch.tensor([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.5], [0.0, 1.0, -1.0]])
    assert codes(torch.tensor([[1.0, 2.0], [-1.0, 0.0], [0.2, 0.0]]), planes).tolist() == [5, 2, 3]


def test_returns_of_a_bonus_go_on_where_episodes_end() -> None:
    """Backwards with gamma 1/2: 1 + 4/2 = 3, 1 + 3/2 = 2.5, 1 + 2.5/2 = 2.25. The value of the last successor is 4, and
    those of the others are what comes next has: not the successors, of which two end episodes."""
    reward, value = torch.ones(3, 1), torch.tensor([[0.5], [0.0], [2.0]])
    next_value = torch.tensor([[9.0], [9.0], [4.0]])
    advantage, target = without_ends(reward, value, next_value, 0.5, 1.0, None, None)
    assert target.flatten().tolist() == [2.25, 2.5, 3.0]
    assert advantage.flatten().tolist() == [1.75, 2.5, 1.0]
    advantage, _ = without_ends(reward, value, next_value, 0.5, 0.0, None, None)
    assert advantage.flatten().tolist() == [0.5, 2.0, 1.0], "1 + 0 / 2 - 0.5, 1 + 2 / 2 - 0 and 1 + 4 / 2 - 2"


def test_a_dummy_step_between_two_episodes_is_none_for_the_returns_of_a_bonus() -> None:
    """d2 = 2 + 0.5 4 - 3 = 1; d0 = 1 + 0.5 3 - 1 = 1.5, with the value of the next episode's first state; A0 = d0 +
    0.25 d2. With a ratio of 0.5 at the first step, A0 = 0.5 (1.5 + 0.25 1)."""
    reward, value = torch.tensor([[1.0], [7.0], [2.0]]), torch.tensor([[1.0], [99.0], [3.0]])
    next_value, valid = torch.tensor([[50.0], [50.0], [4.0]]), torch.tensor([[True], [False], [True]])
    for first, expected in ((1.0, [1.75, 0.0, 1.0]), (0.5, [0.875, 0.0, 1.0])):
        ratio = torch.tensor([[first], [9.0], [2.0]])
        advantage, target = without_ends(reward, value, next_value, 0.5, 0.5, valid, ratio)
        assert advantage.squeeze(1).tolist() == expected
        assert torch.equal(target, advantage + value)


def test_steps_without_an_agent_are_none_for_the_returns_of_a_bonus() -> None:
    """As above, with two such steps between the episodes; and 2 + 0.5 4 - 3 = 1 of a step that none follows: 4 is the
    value of its successor."""
    reward, value = torch.tensor([[1.0], [7.0], [7.0], [2.0]]), torch.tensor([[1.0], [99.0], [98.0], [3.0]])
    next_value, valid = torch.tensor([[50.0], [50.0], [50.0], [4.0]]), torch.tensor([[True], [False], [False], [True]])
    advantage, _ = without_ends(reward, value, next_value, 0.5, 0.5, valid, None)
    assert advantage.squeeze(1).tolist() == [1.75, 0.0, 0.0, 1.0]
    advantage, _ = without_ends(reward[[3, 1, 2]], value[[3, 1, 2]], next_value[[3, 1, 2]], 0.5, 0.5, valid[:3], None)
    assert advantage.squeeze(1).tolist() == [1.0, 0.0, 0.0]


def window(next_obs: Any, obs: Any = None) -> Batch:
    states = torch.as_tensor(next_obs)
    shape = states.shape[:2]
    ends = {name: torch.zeros(shape, dtype=torch.bool) for name in ("terminated", "truncated")}
    action, reward = torch.zeros(shape, dtype=torch.int64), torch.ones(shape)
    return {"obs": states if obs is None else obs, "next_obs": states, "action": action, "reward": reward, **ends}


def test_visits_of_a_window_count_before_they_are_rewarded() -> None:
    """State 3 is visited twice in the first window, and once more in the second."""
    bonus = part(Visits, Discrete(5))
    assert bonus.of_window(window([[3, 1], [3, 0]])).tolist() == [
        pytest.approx([0.5**0.5, 1]),
        pytest.approx([0.5**0.5, 1]),
    ]
    assert bonus.means == {"bonus": pytest.approx((2 * 0.5**0.5 + 2) / 4), "env_reward": 1.0}
    assert bonus.of_window(window([[3, 2]])).tolist() == [pytest.approx([3**-0.5, 1.0])]


def test_near_observations_have_the_same_code_and_far_ones_others() -> None:
    low, high = np.array([-1.2, -0.07], np.float32), np.array([0.6, 0.07], np.float32)
    bonus = part(Visits, Box(low, high), bonus_bits=32)
    numbers = bonus.numbers(torch.tensor([[-0.5, 0.0], [-0.5001, 0.00001], [0.4, 0.0], [-0.5, 0.05]]))
    assert numbers[0] == numbers[1]
    assert len(set(numbers.tolist())) == 3


def test_the_bonus_is_divided_by_the_deviation_of_its_returns() -> None:
    bonus = part(Distillation, Box(-1, 1, (2,), np.float32), rows=1, bonus_gamma=0.5)
    obs = torch.tensor([[[0.5, -0.5]], [[0.1, 0.9]], [[-0.7, 0.3]]])
    scaled = bonus.of_window(window(obs)).flatten()
    a, b, c = raw = bonus.raw({"next_obs": obs[:, 0]})
    returns = torch.stack([a, b + 0.5 * a, c + 0.5 * b + 0.25 * a])
    torch.testing.assert_close(scaled, raw / returns.std(correction=0), rtol=1e-4, atol=0)


def test_the_loss_of_curiosity_weighs_features_and_actions() -> None:
    """0.8 times -log pi(a) of the inverse model, and 0.2 times the error of the forward model, by the weights of the
    samples."""
    bonus = part(Curiosity, Box(-1, 1, (2,), np.float32), bonus_forward=0.2)
    obs, there, action = torch.randn(3, 2), torch.randn(3, 2), torch.tensor([0, 1, 1])
    features, of_action = bonus._errors(obs, action, there)
    here = torch.cat([bonus.encoder(obs), bonus.encoder(there)], 1)
    assert of_action.tolist() == pytest.approx((-bonus.inverse(here).log_softmax(1))[range(3), action].tolist())
    loss, _ = bonus._loss(obs, action, there, torch.tensor([0.5, 0.5, 0.0]))
    assert loss.item() == pytest.approx((0.8 * of_action + 0.2 * features)[:2].mean().item(), rel=1e-5)
    assert bonus.raw({"obs": obs, "action": action, "next_obs": there}).tolist() == pytest.approx(features.tolist())


def test_the_random_network_stays_and_its_predictor_gets_nearer() -> None:
    bonus = part(Distillation, Box(-1, 1, (2,), np.float32), bonus_lr=0.01, bonus_share=0.5)
    obs, before = torch.rand(16, 2), [p.clone() for p in bonus.target.parameters()]
    first = bonus.raw({"next_obs": obs}).mean()
    losses = [bonus.learn({"bonus_next_obs": obs}, lambda grads: None)["bonus_loss"] for _ in range(100)]
    assert bonus.raw({"next_obs": obs}).mean() < 0.1 * first
    assert losses[-1] < losses[0]
    assert all(torch.equal(p, q) for p, q in zip(bonus.target.parameters(), before, strict=True))
    assert bonus.raw({"next_obs": torch.tensor([[4.0, -4.0]])}) > bonus.raw({"next_obs": obs}).mean(), "it is new"


# agents -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bonus", ["rnd", "icm", "count"])
@pytest.mark.parametrize("algo", ["PPO", "A2C", "DQN"])
def test_learning_goes_on_exactly_from_a_checkpoint(algo: str, bonus: str) -> None:
    env = toy_of("match", ROWS)
    one, other = agent_for(algo, bonus), agent_for(algo, bonus)
    collector, kept = collector_of(env, one), memory_of(one)
    learner = AgentLearner(one, one.cfg.memory(ROWS))
    chunks = []
    while len(chunks) < 6:
        kept.add(collector.collect(learner.spec.fragment, Progress())[0])
        if (chunk := kept.take(0.0)) is not None:
            chunks.append(chunk)
    for chunk in chunks[:3]:
        learner.learn(chunk, Progress())
    other.load_state(saved_and_read(one.state()))
    results = [
        [AgentLearner(agent, learner.spec).learn(chunk, Progress()) for chunk in chunks[3:]] for agent in (one, other)
    ]
    assert results[0][-1].metrics == results[1][-1].metrics
    assert {"bonus", "env_reward"} <= set(results[0][-1].metrics)
    assert set(results[0][-1].metrics) == set(one.metric_names())
    for name, array in one.weights().items():
        np.testing.assert_array_equal(array, other.weights()[name])


@pytest.mark.parametrize("algo", ["PPO", "DQN"])
def test_dropout_of_what_predicts_follows_the_learning_stream(algo: str) -> None:
    states, layers = [], [*mlp(8), Dropout(rate=0.5)]
    for seed in (1, 2):
        agent = agent_for(algo, "rnd", bonus_layers=layers)
        torch.manual_seed(seed)  # of the process, which a checkpoint does not have
        trained(agent, toy_of("match", ROWS), 16)
        states.append(agent.state()["bonus"]["networks"])
    for name, array in states[0].items():
        np.testing.assert_array_equal(array, states[1][name])


def test_an_actor_critic_has_a_value_for_each_reward_and_the_weighted_sum_of_advantages() -> None:
    env = toy_of("match", ROWS)
    columns, raw = {}, None
    for coef in (0.0, 2.0, 4.0):
        agent = agent_for("PPO", "rnd", bonus_coef=coef)
        if raw is None:
            [fragment] = collector_of(env, agent).collect(8, Progress())[:1]
            raw = {name: torch.from_numpy(np.array(value)) for name, value in fragment.columns.items()}
        columns[coef] = agent.prepare(raw, Progress())
    assert columns[2.0]["target"].shape == columns[2.0]["value"].shape == (8, ROWS, 2)
    own = (columns[2.0]["advantage"] - columns[0.0]["advantage"]) / 2.0
    assert own.abs().max() > 0
    torch.testing.assert_close(columns[4.0]["advantage"], columns[0.0]["advantage"] + 4.0 * own)


def test_the_rewards_of_samples_get_the_weighted_bonus() -> None:
    agent = agent_for("DQN", "count", "walk", bonus_coef=0.6)
    agent.observe(torch.tensor([2, 2, 2, 2, 1]))
    chunk = window([[2, 1]], obs=torch.tensor([[0, 0]]))
    assert agent.prepare(chunk, Progress())["reward"].tolist() == [pytest.approx([1.3, 1.6])], (
        "1 + 0.6 / 2, and 0.6 / 1"
    )


def test_a_state_in_which_episodes_end_is_new_only_once() -> None:
    """No step begins at an end of the walk: uncounted, each end of an episode would be rewarded as the first visit."""
    env = toy_of("walk", ROWS)
    agent = agent_of("DQN", spec_of(env), bonus="count", **SMALL["DQN"])
    trained(agent, env, 40)
    assert agent.bonus.counts[0] + agent.bonus.counts[6] > 1


@pytest.mark.usefixtures("programs")
def test_the_step_of_what_predicts_is_compiled() -> None:
    weights = []
    for compiled in (False, True):
        env, agent = toy_of("match", ROWS), agent_for("PPO", "rnd", lr_schedule="constant")
        assert len(agent.gradient_steps()) == 2
        for step in agent.gradient_steps() if compiled else ():
            step.compile(PolicyPlan("", agent.cfg, __import__("algos").get("PPO"), agent.spec).minibatch)
        trained(agent, env, 6)
        assert all(step.package for step in agent.gradient_steps()) == compiled
        weights.append(np.concatenate([p.detach().numpy().ravel() for p in agent.bonus.predictor.parameters()]))
    np.testing.assert_allclose(weights[1], weights[0], rtol=1e-4, atol=1e-6)


@pytest.mark.long
def test_a_sparse_reward_is_reached_with_counts_and_not_without() -> None:
    """One of 1024 random episodes finds it; these are 320."""
    returns = {}
    for bonus in ("count", "none"):
        env = toy_of("deep_sea", 8, size=10)
        settings = {"actor_layers": mlp(32), "critic_layers": mlp(32), "batch_size": 320, "sgd_batch_size": 80}
        agent = agent_of("PPO", spec_of(env), bonus=bonus, lr=3e-3, k_epochs=4, lr_schedule="constant", **settings)
        returns[bonus] = score(trained(agent, env, 10), toy_of("deep_sea", 1, size=10), 1)
    assert returns["count"] == pytest.approx(0.99)
    assert returns["none"] <= 0.0


@pytest.mark.parametrize(
    ("algo", "words", "answer"),
    [
        ("DQN", ["bonus=rnd", "n_step=3"], "n_step: a bonus is that of one step; set it to 1"),
        (
            "PPO",
            ["bonus=rnd", "bonus_layers=[{layer_type: lstm, layer_size: [8]}]"],
            "bonus_layers: what predicts has no recurrent state; leave lstm and gru layers out",
        ),
        (
            "PPO",
            ["bonus=rnd", "bonus_layers=[{layer_type: linear, layer_size: [8], shared: x}]"],
            "bonus_layers: layers of rnd cannot be shared: those of one of its two networks never learn",
        ),
        (
            "DRQN",
            ["bonus=count"],
            "bonus: does not support lstm and gru layers in this algorithm",
        ),
        ("PPO", ["bonus=rdn"], "bonus: got 'rdn' (text); expected none, rnd, icm or count; did you mean rnd?"),
    ],
)
def test_what_does_not_fit_a_bonus_is_said(algo: str, words: list[str], answer: str) -> None:
    with pytest.raises(ConfigError) as refused:
        loaded(None, f"general_cfg.algo_name={algo}", *(f"algo_cfg.{word}" for word in words))
    assert any(problem.endswith(answer) for problem in refused.value.problems), refused.value.problems


def test_the_deep_sea_pays_for_its_right_end_alone() -> None:
    """Ten steps to the right cost 0.001 each, and the last one gives 1. With one to the left, nothing is won."""
    env = DeepSea(size=10)
    for wrong in (None, 0, 9):
        state, _ = env.reset()
        rewards, ended = [], False
        while not ended:
            right = env._right[divmod(state, 10)]
            state, reward, ended, _, _ = env.step(1 - right if len(rewards) == wrong else right)
            rewards.append(reward)
        assert len(rewards) == 10
        assert sum(rewards) == pytest.approx(0.99 if wrong is None else -0.009)
