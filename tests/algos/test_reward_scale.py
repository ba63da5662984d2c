"""normalize_reward, where targets are sums of rewards: by hand, and from a state."""

import math

import pytest
import torch

from algos.base import Progress
from tests.tools.core import agent_of, ramp, spec_of, toy_of

WHOLE_RETURNS = {"PQN": {"q_lambda": 1.0}, "REINFORCE": {"baseline": "none"}}
"""Settings with which the target is the return of the rest of the episode."""

scaling = pytest.mark.parametrize("algo", WHOLE_RETURNS)


def agent_for(algo, **settings):
    return agent_of(algo, spec_of(toy_of("match", 1)), gamma=0.5, **WHOLE_RETURNS[algo], **settings)


def targets(agent, rewards, ends):
    """Of one row, whose episodes end behind these steps."""
    columns = ramp(0, len(rewards), 1, {(end, 0): "terminated" for end in ends}).columns
    window = {name: torch.from_numpy(value) for name, value in columns.items()}
    window |= {"reward": torch.tensor(rewards)[:, None], "valid": torch.ones(len(rewards), 1, dtype=torch.bool)}
    return agent.prepare(window, Progress())["target"][:, 0].tolist()


@scaling
def test_targets_are_made_of_scaled_rewards(algo):
    """gamma 1/2; rewards 1, 2 | 4 bring 1 + 2/2 = 2, 2 | 4. Up to each step they are 1, 2 + 1/2 = 2.5 | 4: mean 2.5,
    variance (2.25 + 0 + 2.25) / 3 = 1.5. With a fourth return 3: mean 2.625, and
    (1.625^2 + 0.125^2 + 1.375^2 + 0.375^2) / 4 = 1.171875."""
    agent = agent_for(algo, normalize_reward=True)
    assert targets(agent, [1.0, 2.0, 4.0], {1, 2}) == pytest.approx([each / math.sqrt(1.5) for each in (2, 2, 4)])
    assert targets(agent, [3.0], {0}) == pytest.approx([3 / math.sqrt(1.171875)])
    assert targets(agent_for(algo), [1.0, 2.0, 4.0], {1, 2}) == [2, 2, 4]


@scaling
def test_the_scale_of_rewards_goes_on_from_a_state(algo):
    """RES-3"""
    one, other = agent_for(algo, normalize_reward=True), agent_for(algo, normalize_reward=True)
    targets(one, [1.0, 2.0, 4.0], {1, 2})
    other.load_state(one.state())
    assert targets(one, [3.0, 5.0], {1}) == targets(other, [3.0, 5.0], {1})


def test_pqn_scales_by_both_factors():
    """2 / sqrt(1.5), as above, times 10."""
    agent = agent_for("PQN", normalize_reward=True, reward_scale=10.0)
    assert targets(agent, [1.0, 2.0, 4.0], {1, 2})[0] == pytest.approx(20 / math.sqrt(1.5))
