"""Gaussian policies in a Box: unlike bounds are scaled to, like ones are left alone."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box

from algos.common.maths.gaussian import DiagGaussian
from config.model.layers import mlp
from envs.base import Step, VectorEnv
from tests.tools.core import agent_of, score, spec_of, trained

UNLIKE = Box(np.array([1, -1, 0], np.float32), np.array([4, 0, 50], np.float32))


def test_the_policys_cube_is_mapped_to_bounds_that_are_unlike():
    """-1, 0 and 1 are the lower bound, the middle and the upper bound of each dimension; what is outside is clipped."""
    distribution = DiagGaussian(UNLIKE)
    cube = np.array([[-1, -1, -1], [0, 0, 0], [1, 1, 1], [0.5, -0.5, 0.1], [9, -9, 9]], np.float32)
    bounds = [[1, -1, 0], [2.5, -0.5, 25], [4, 0, 50], [3.25, -0.75, 27.5], [4, -1, 50]]
    np.testing.assert_allclose(distribution.to_env(cube), bounds, rtol=1e-6)
    assert distribution.to_env(cube).dtype == np.float32
    outputs = torch.zeros(1, 6)
    assert distribution.log_prob(outputs, torch.zeros(1, 3)).item() == pytest.approx(-3 * 0.5 * np.log(2 * np.pi))


@pytest.mark.parametrize(
    ("space", "scaled"),
    [
        (Box(-2, 2, (3,)), False),
        (Box(-np.inf, np.inf, (2,)), False),
        (Box(np.array([-1, 0], np.float32), np.array([1, np.inf], np.float32)), False),
        (Box(np.array([-1, -2], np.float32), np.array([1, 2], np.float32)), True),
        (Box(0, 1, (2, 2)), True),
    ],
)
def test_only_finite_bounds_that_differ_are_scaled_to(space, scaled):
    """With the same bounds -h..h everywhere the policy keeps acting in the environment's own units."""
    distribution = DiagGaussian(space)
    action = np.full((1, *space.shape), 0.25, np.float32)
    assert distribution.scaled == scaled
    assert (distribution.to_env(action) == action).all() == (not scaled)


class Distant(VectorEnv):
    """Ten steps; the reward is minus the distance to a fixed point, in units of each dimension's range."""

    observation_space, action_space = Box(-1, 1, (1,)), UNLIKE
    POINT = np.array([2.0, -0.3, 35.0], np.float32)

    def __init__(self, rows):
        self.rows, self.time = rows, 0

    def reset(self, mask, seeds):
        self.time = 0
        return np.zeros((self.rows, 1), np.float32)

    def step(self, action):
        self.time += 1
        assert (action >= UNLIKE.low).all()
        assert (action <= UNLIKE.high).all()
        distance = np.abs(action - self.POINT).sum(1)
        over = np.full(self.rows, self.time == 10)
        return Step(np.zeros((self.rows, 1), np.float32), -distance.astype(np.float32), over, np.zeros(self.rows, bool))


@pytest.mark.long
def test_ppo_comes_near_a_point_within_unlike_bounds():
    """Random actions are about 16 away from it, a policy that is clipped to the nearest corner 33."""
    env = Distant(8)
    layers = {"actor_layers": mlp(8, activation="tanh"), "critic_layers": mlp(8, activation="tanh")}
    settings = {"batch_size": 256, "sgd_batch_size": 64, "k_epochs": 5, "lr": 0.01, "normalize_reward": True}
    agent = trained(agent_of("PPO", spec_of(env), gamma=0.5, **layers, **settings), env, 20)
    assert score(agent, Distant(8)) > -80.0, "less than half of the distance of random actions"
