"""What is done for speed changes no number."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from torch import nn

from algos.base import Agent, Batch, EnvSpec, Progress, Result, Streams
from algos.common.nets import networks
from algos.dqn import Config
from config.model.layers import mlp
from framework.loop.learner import AgentLearner
from framework.memory import Chunk

SPEC = EnvSpec("x", Box(-1, 1, (4,), np.float32), Discrete(2), rows=1)
SUBNORMAL = 1e-39


class Halving(Agent):
    """An agent whose only metric is the half of a subnormal number."""

    predict_action = None  # type: ignore[assignment]

    def update(self, batch: Batch) -> Result:
        if batch["reward"].sum() < 0:
            raise RuntimeError("no")
        return Result({"half": torch.tensor(SUBNORMAL) * 0.5})


def half_while_learning(reward: float) -> float:
    learner = AgentLearner(Halving(None, SPEC, Streams(0), torch.device("cpu")), Config().memory(rows=1))
    chunk = Chunk({"reward": np.full((1, 2), reward, np.float32)})
    return learner.learn(chunk, Progress()).metrics["half"][0]


def half_now() -> float:
    return float(torch.tensor(SUBNORMAL) * 0.5)


def test_subnormal_numbers_are_zero_while_learning_and_nowhere_else() -> None:
    assert half_while_learning(1.0) == 0.0
    assert half_now() > 0.0


def test_an_update_that_fails_leaves_subnormal_numbers_alone() -> None:
    with pytest.raises(RuntimeError):
        half_while_learning(-1.0)
    assert half_now() > 0.0


def test_a_network_gives_the_bits_of_its_modules_in_turn() -> None:
    network = networks.build(SPEC, mlp(16, 16), 2, Config(), seed=1)
    plain = nn.Sequential(*network)
    x = torch.randn(32, 4, generator=torch.Generator().manual_seed(0))
    assert torch.equal(network(x), plain(x))
    assert list(network.state_dict()) == list(plain.state_dict())
