"""Behaviour cloning: mixtures of normal distributions, and recurrent policies that learn from given data."""

import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from torch import nn

import joystick
from algos.base import EnvSpec, Progress, Streams
from algos.bc.agent import Agent
from algos.bc.config import Config
from algos.bc.mixture import Mixture
from algos.common.maths.gaussian import HALF_LOG_TAU
from config.model.memory_spec import DataSpec
from config.read.loader import ConfigError
from framework.assemble.resources import step_bytes
from framework.errors import JoystickError
from framework.loop.learner import AgentLearner
from framework.memory.offline_data import select_data
from framework.memory.offline_replay import OfflineReplay
from framework.policies.policy_plan import plan
from tests.framework.memory.test_offline import data_for, run_of, write
from tests.tools.core import stream

DENSE = {"layer_type": "linear", "layer_size": [16]}
GRU = {"layer_type": "gru", "layer_size": [16]}


# the mixture ----------------------------------------------------------------------------------------------


def of(weights: list[float], means: list[float], deviations: list[float]) -> np.ndarray:
    return np.concatenate([np.log(weights), means, np.log(deviations)])[None].astype(np.float32)


def test_the_density_of_a_mixture_is_the_weighted_sum_of_its_components() -> None:
    # 1/4 N(0, 1) + 3/4 N(2, 1/2) at 1: (exp(-1/2) / 4 + 3/4 * 2 exp(-2)) / sqrt(2 pi)
    density = (math.exp(-0.5) / 4 + 1.5 * math.exp(-2)) / math.sqrt(2 * math.pi)
    outputs = torch.tensor(of([0.25, 0.75], [0.0, 2.0], [1.0, 0.5]))
    mixture = Mixture(Box(-9, 9, (1,), np.float32), 2)
    assert mixture.log_prob(outputs, torch.tensor([[1.0]])).item() == pytest.approx(math.log(density))


def test_dimensions_of_a_component_belong_together() -> None:
    # components at (0, 0) and (3, 3): the action (0, 3) is of neither, at a distance of 3 from both
    outputs = torch.tensor(of([0.5, 0.5], [0.0, 0.0, 3.0, 3.0], [1.0, 1.0, 1.0, 1.0]))
    mixture = Mixture(Box(-9, 9, (2,), np.float32), 2)
    log_prob = mixture.log_prob(outputs, torch.tensor([[0.0, 3.0]])).item()
    assert log_prob == pytest.approx(-4.5 - 2 * HALF_LOG_TAU)


def test_samples_have_the_weights_and_the_best_action_is_the_mean_of_the_likeliest_component() -> None:
    mixture = Mixture(Box(-9, 9, (1,), np.float32), 2)
    outputs = of([0.25, 0.75], [-4.0, 4.0], [0.1, 0.5]).repeat(20_000, 0)
    action, log_prob = mixture.sample(outputs, np.random.default_rng(0))
    upper = action[:, 0] > 0
    assert upper.mean() == pytest.approx(0.75, abs=0.01)
    assert action[upper].std() == pytest.approx(0.5, rel=0.03)
    assert action[~upper].std() == pytest.approx(0.1, rel=0.03)
    again = mixture.log_prob(torch.tensor(outputs), torch.tensor(action))
    np.testing.assert_allclose(log_prob, again.numpy(), atol=1e-5)
    assert mixture.mode(outputs[:1]).tolist() == [[4.0]]


def test_the_bounds_of_entropy_and_divergence_are_exact_for_components_apart() -> None:
    mixture = Mixture(Box(-99, 99, (1,), np.float32), 2)
    one, two = (torch.tensor(of(weights, [-40.0, 40.0], [1.0, 2.0])) for weights in ([0.25, 0.75], [0.5, 0.5]))
    of_weights = -0.25 * math.log(0.25) - 0.75 * math.log(0.75)
    normal = 0.5 + HALF_LOG_TAU
    assert mixture.entropy(one).item() == pytest.approx(of_weights + 0.25 * normal + 0.75 * (normal + math.log(2)))
    assert mixture.kl(one, two).item() == pytest.approx(0.25 * math.log(0.5) + 0.75 * math.log(1.5))


def test_acting_in_scaled_bounds_and_the_first_deviation_are_those_of_a_single_one() -> None:
    mixture = Mixture(Box(np.float32([0, 0]), np.float32([2, 20])), 3)
    outputs = nn.Sequential(*mixture.tail(-0.5))(torch.zeros(4, mixture.outputs))
    assert outputs.shape == (4, 3 + 6 + 6)
    assert outputs[:, 9:].unique().tolist() == [-0.5]
    assert mixture.to_env(mixture.mode(outputs.detach().numpy())).tolist() == [[1.0, 10.0]] * 4
    assert mixture.from_env(torch.tensor([[2.0, 0.0]])).tolist() == [[1.0, -1.0]]


# learning -------------------------------------------------------------------------------------------------


def cloned(path: Path, spec: EnvSpec, chunks: int, **settings: Any) -> tuple[Agent, float]:
    """Returns an agent after so many chunks from the data, and its last loss."""
    cfg = Config(data=str(path), **settings)
    wanted = cfg.memory(1)
    found = select_data(DataSpec((str(path),)), spec, 1)
    memory = OfflineReplay(wanted, stream(1, "memory"), stream(1, "memory/data"), found, most=10)
    agent = Agent(cfg, spec, Streams(init=1, learn=stream(1, "learn")), torch.device("cpu"))
    learner, metrics = AgentLearner(agent, wanted), {}
    for _ in range(chunks):
        metrics = learner.learn(memory.take(0.0), Progress()).metrics
    return agent, metrics["loss"][-1]


def two_ways(total: int) -> np.ndarray:
    """Actions around -1 and, twice as often, around 1."""
    rng = np.random.default_rng(2)
    return (np.where(np.arange(total) % 3, 1.0, -1.0) + 0.1 * rng.standard_normal(total))[:, None].astype(np.float32)


def test_a_mixture_finds_both_of_two_right_actions_where_a_single_mean_is_between_them(tmp_path: Path) -> None:
    spec = EnvSpec("x", Box(-9, 9, (1,), np.float32), Box(-2, 2, (1,), np.float32), 1)
    path = write(tmp_path / "a.npz", [1.0] * 75, obs=1, actions=two_ways)
    best = {}
    for head in ("gaussian", "mixture"):
        agent, _ = cloned(path, spec, 60, head=head, actor_layers=[DENSE], lr=0.01, components=3)
        best[head] = agent.predict_action(np.zeros((1, 1), np.float32), None).action.item()
    assert best["gaussian"] == pytest.approx(1 / 3, abs=0.15)
    assert best["mixture"] == pytest.approx(1.0, abs=0.1)
    drawn = agent.sample_action(np.zeros((500, 1), np.float32), None, Progress(), stream(1, "x")).action
    assert (np.abs(np.abs(drawn) - 1) < 0.4).mean() > 0.98
    assert (drawn < 0).mean() == pytest.approx(1 / 3, abs=0.08)


LENGTH = 12
DELAY = 2


def recalled(path: Path) -> Path:
    """Writes episodes in which the expert's action is the observation of DELAY steps before, and 0 before that."""
    rng = np.random.default_rng(3)
    seen = rng.integers(2, size=(40, LENGTH))
    action = np.concatenate([np.zeros((40, DELAY), np.int64), seen[:, :-DELAY]], axis=1)
    obs = seen.reshape(-1, 1).astype(np.float32)
    terminals = np.arange(obs.size) % LENGTH == LENGTH - 1
    np.savez(
        path, observations=obs, next_observations=obs, actions=action.reshape(-1),
        rewards=np.ones(obs.size, np.float32), terminals=terminals,
    )  # fmt: skip
    return path


@pytest.mark.parametrize(("layers", "right"), [([DENSE, GRU], True), ([DENSE], False)], ids=["gru", "without memory"])
def test_only_a_recurrent_policy_imitates_what_needs_the_past(tmp_path: Path, layers: list[Any], right: bool) -> None:
    spec = EnvSpec("x", Box(0, 1, (1,), np.float32), Discrete(2), 1)
    settings = {"lookup_step": 6, "burn_in": 4} if right else {}
    agent, _ = cloned(recalled(tmp_path / "a.npz"), spec, 25, actor_layers=layers, lr=0.02, batch_size=32, **settings)
    seen = np.random.default_rng(9).integers(2, size=(LENGTH, 64)).astype(np.float32)
    state, actions = agent.initial_state(64), []
    for obs in seen:
        act = agent.predict_action(obs[:, None], state)
        state = act.state
        actions.append(act.action)
    share = (np.array(actions)[DELAY:] == seen[:-DELAY]).mean()
    assert share == 1.0 if right else share < 0.7


def test_the_state_begins_anew_with_an_episode_within_a_sequence(tmp_path: Path) -> None:
    # the expert's first actions are 0 whatever the episode before showed: what is carried over would be an error
    spec = EnvSpec("x", Box(0, 1, (1,), np.float32), Discrete(2), 1)
    _, loss = cloned(
        recalled(tmp_path / "a.npz"), spec, 25, actor_layers=[DENSE, GRU], lr=0.02, batch_size=32,
        lookup_step=16, burn_in=2,
    )  # fmt: skip
    assert loss < 0.06


def test_the_share_of_the_data_begins_with_zeros_where_collected_sequences_have_a_state(tmp_path: Path) -> None:
    data = data_for(tmp_path, "DQN")
    layers = {"value_layers": [DENSE, GRU], "lookup_step": 4, "burn_in": 2}
    with run_of(
        tmp_path,
        "DRQN",
        "run",
        data,
        updates=-1,
        steps=100,
        offline_updates=20,
        train_fre=1,
        learning_starts=0,
        **layers,
    ) as run:
        for _ in range(3):
            result = run.train()
        memory = run._experiment.trainer.backend.memory
        memory.fresh._credit = 2.0
        state = memory.take(0.5).columns["state"]
    assert result["step"] == 40
    assert state.shape[1:] == (8, 16)
    assert (state[:, 4:] == 0).all()
    assert (state[:, :4] != 0).any()


@pytest.mark.parametrize(
    ("env", "settings"),
    [
        ("Pendulum-v1", {"head": "mixture", "components": 2, "entropy_coef": 0.01}),
        ("CartPole-v1", {"actor_layers": [DENSE, GRU], "lookup_step": 4, "burn_in": 2}),
    ],
    ids=["mixture", "recurrent"],
)
def test_both_are_resumed_to_the_bit(tmp_path: Path, env: str, settings: dict[str, Any]) -> None:
    data, weights = data_for(tmp_path, "BC" if env == "CartPole-v1" else "CQL"), []
    with run_of(tmp_path, "BC", "whole", data, env=env, **settings) as run:
        run.train()
        shutil.copytree(tmp_path / "whole", tmp_path / "cut")
        run.train()
        weights.append(run.weights())
    with joystick.Run.resume(tmp_path / "cut") as run:
        assert run.count.update == 20
        run.train()
        weights.append(run.weights())
    assert all(np.array_equal(weights[0][name], value) for name, value in weights[1].items())


def test_given_data_take_no_room_for_recurrent_states(tmp_path: Path) -> None:
    sizes = []
    for layers in ([DENSE], [DENSE, GRU]):
        with run_of(tmp_path, "BC", f"run{len(sizes)}", data_for(tmp_path, "BC"), actor_layers=layers) as run:
            trainer = run._experiment.trainer
            sizes.append(step_bytes(run.config, plan(run.config, trainer.agent.spec).policies[0]))
    assert sizes[0] == sizes[1] == 2 * 16 + 8 + 10 + 2 * 2  # observations, action, reward and flags, masks


# what is refused ------------------------------------------------------------------------------------------


def test_data_that_are_shorter_than_a_sequence_are_refused(tmp_path: Path) -> None:
    data = write(tmp_path / "a.npz", [1.0, 1.0])
    layers = {"actor_layers": [GRU], "lookup_step": 6, "burn_in": 3}
    with pytest.raises(JoystickError, match=r"data: has 8 transitions, and a sequence 9 steps"):
        run_of(tmp_path, "BC", "run", data, **layers)
    assert not (tmp_path / "run").exists()


def test_a_mixture_of_one_is_refused() -> None:
    with pytest.raises(ConfigError, match="components"):
        run_of(Path("x"), "BC", "run", Path("x.npz"), head="mixture", components=1)
