"""use_sde: noise that is a function of the state."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box

from algos.base import Agent, Progress, UnfitError
from algos.common.maths.gaussian import StateDependentStd, StateGaussian, StateNoise
from config.model.layers import mlp
from config.read.loader import ConfigError
from framework.disk.checkpoints import CheckpointStore
from framework.loop.learner import AgentLearner
from framework.policies.policy_plan import PolicyPlan
from main import main
from tests.tools.compiler import can_compile, programs
from tests.tools.config_fixtures import loaded
from tests.tools.core import agent_of, collector_of, memory_of, spec_of, toy_of, trained

__all__ = ["can_compile", "programs"]
LAYERS = {"actor_layers": mlp(6), "critic_layers": mlp(6)}
SMALL: dict[str, dict[str, Any]] = {
    "PPO": {**LAYERS, "batch_size": 16, "sgd_batch_size": 8, "k_epochs": 1},
    "A2C": {**LAYERS, "batch_size": 16},
    "SAC": {**LAYERS, "batch_size": 8, "learning_starts": 8, "start_steps": 4},
}


def agent_for(algo: str, toy: str = "target", **settings: Any) -> Agent:
    return agent_of(algo, spec_of(toy_of(toy, 2)), use_sde=True, **{**SMALL[algo], **settings})


def head(*log_std: float, features: int = 2) -> StateDependentStd:
    made = StateDependentStd(features, 1, 0.0, learns_features=False)
    with torch.no_grad():
        made.log_std.copy_(torch.tensor(log_std).unsqueeze(1))
    return made


def test_the_variance_of_an_action_is_that_of_its_features() -> None:
    """1^2 1^2 + 2^2 0.5^2 = 2."""
    outputs = head(0.0, math.log(0.5))(torch.tensor([[1.0, 2.0]]))
    assert outputs[0, 1].item() == pytest.approx(0.5 * math.log(2.0), abs=1e-5)
    assert outputs[0, 2:].tolist() == [1.0, 2.0]


def test_features_of_mean_square_one_begin_with_the_deviation_of_the_setting() -> None:
    made = StateDependentStd(16, 3, -1.0, learns_features=False)
    assert made(torch.ones(1, 16))[0, 3:6].tolist() == pytest.approx([-1.0] * 3, abs=1e-5)


@pytest.mark.parametrize("learns", [False, True])
def test_features_learn_from_the_deviations_only_where_they_are_to(learns: bool) -> None:
    made = StateDependentStd(2, 1, 0.0, learns)
    x = torch.ones(1, 2, requires_grad=True)
    made(x)[:, 1].sum().backward()
    assert (x.grad is not None and bool(x.grad.any())) == learns
    assert made.log_std.grad is not None


def test_equal_states_have_equal_noise_until_the_matrix_is_drawn_anew() -> None:
    noise, rng = StateNoise(head(0.0, 0.0), 3), np.random.default_rng(0)
    features, state = np.array([[1.0, 2.0], [1.0, 2.0]], np.float32), noise.initial(2)
    drawn = []
    for _ in range(5):
        values, state = noise.draw(features, state, rng)
        drawn.append(values[:, 0].tolist())
    assert drawn[0] == drawn[1] == drawn[2] != drawn[3] == drawn[4]
    assert drawn[0][0] != drawn[0][1], "each row has its own"
    assert state[:, 1].tolist() == [2.0, 2.0]
    matrix = np.random.Generator(np.random.Philox(int(state[0, 0]))).standard_normal((2, 1), np.float32)
    assert drawn[4][0] == pytest.approx(float(matrix[0, 0] + 2 * matrix[1, 0])), "z E with sigma 1"


def test_an_episode_begins_with_a_matrix_of_its_own_and_a_state_tells_the_noise() -> None:
    noise, rng = StateNoise(head(0.0, 0.0), None), np.random.default_rng(0)
    features = np.ones((2, 2), np.float32)
    first, state = noise.draw(features, noise.initial(2), rng)
    state[1] = noise.initial(1)[0]  # the episode of the second row has ended
    second, state = noise.draw(features, state, rng)
    assert second[0] == first[0]
    assert second[1] != first[1]
    assert StateNoise(noise.head, None).draw(features, state, np.random.default_rng(5))[0].tolist() == second.tolist()


def test_the_density_of_a_drawn_action_is_that_of_learning() -> None:
    space = Box(-1.0, 1.0, (2,), np.float32)
    distribution, made = StateGaussian(space), StateDependentStd(3, 2, -0.5, learns_features=False)
    outputs = made(torch.tensor([[0.3, -0.8, 1.2]])).detach()
    action, log_prob = distribution.given(outputs.numpy(), np.array([[0.4, -0.2]], np.float32))
    theirs = torch.distributions.Normal(outputs[:, :2], outputs[:, 2:4].exp())
    assert log_prob[0] == pytest.approx(theirs.log_prob(torch.from_numpy(action)).sum().item(), rel=1e-5)
    assert distribution.log_prob(outputs, torch.from_numpy(action)).tolist() == pytest.approx(
        log_prob.tolist(), rel=1e-5
    )
    assert distribution.entropy(outputs).item() == pytest.approx(theirs.entropy().sum().item(), rel=1e-5)
    assert distribution.kl(outputs, outputs).item() == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("algo", ["PPO", "A2C"])
def test_the_ratio_is_one_before_the_first_update(algo: str) -> None:
    env, agent = toy_of("target", 2), agent_for(algo, normalize_obs=False)
    collector, kept = collector_of(env, agent), memory_of(agent)
    while (chunk := kept.take(0.0)) is None:
        kept.add(collector.collect(8, Progress())[0])
    columns = {name: torch.from_numpy(np.array(value)) for name, value in chunk.columns.items()}
    torch.testing.assert_close(agent.policy.before(columns)[1], columns["log_prob"], rtol=1e-4, atol=1e-5)
    before = agent.weights()
    AgentLearner(agent, agent.cfg.memory(2)).learn(chunk, Progress())
    moved = [name for name, array in agent.weights().items() if not np.array_equal(array, before[name])]
    assert any(name.endswith("log_std") for name in moved)


def test_evaluations_are_without_noise() -> None:
    agent = agent_for("SAC", start_steps=0)
    obs = np.zeros((2, *agent.spec.observation_space.shape), agent.spec.observation_space.dtype)
    state = agent.initial_state(2)
    act = agent.sample_action(obs, state, Progress(), np.random.default_rng(0))
    assert act.state is not None
    assert act.state[:, 1].tolist() == [1.0, 1.0]
    still = agent.predict_action(obs, act.state)
    assert still.action[0].tolist() == still.action[1].tolist()
    assert act.action[0].tolist() != act.action[1].tolist()


@pytest.mark.parametrize("algo", ["PPO", "SAC"])
def test_a_run_goes_on_exactly_in_the_middle_of_a_matrix(
    algo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    layers = [f"algo_cfg.{name}=[{{layer_type: linear, layer_size: [6]}}]" for name in LAYERS]
    rest = {name: value for name, value in SMALL[algo].items() if name not in LAYERS}
    words = [
        *("general_cfg.env_name=toy", "env_cfg.id=target", "env_cfg.steps=7", f"general_cfg.algo_name={algo}"),
        *("general_cfg.seed=3", "general_cfg.max_total_step=120", "general_cfg.model_save_fre=1000"),
        *("algo_cfg.use_sde=true", "algo_cfg.sde_sample_freq=5", "general_cfg.save_fig=false", *layers),
        *(f"algo_cfg.{name}={value}" for name, value in rest.items()),
    ]
    assert main([*words, "--into", "whole"]) == 0
    assert main([*words, "--into", "parts", "--pause-at-step", "67"]) == 0
    assert main(["resume", "./parts"]) == 0
    ends = []
    for name in ("whole", "parts"):
        newest = CheckpointStore(Path(name) / "models").numbers()[-1]
        ends.append((Path(name) / "models" / str(newest) / "state.safetensors").read_bytes())
        ends.append((Path(name) / "results/train.csv").read_bytes())
    assert ends[:2] == ends[2:]


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize("algo", ["PPO", "SAC"])
def test_steps_are_compiled(algo: str) -> None:
    import algos

    weights = []
    for compiled in (False, True):
        env, agent = toy_of("target", 2), agent_for(algo)
        for step in agent.gradient_steps() if compiled else ():
            step.compile(PolicyPlan("", agent.cfg, algos.get(algo), agent.spec).minibatch)
        trained(agent, env, 8)
        assert all(step.package for step in agent.gradient_steps()) == compiled
        weights.append(np.concatenate([array.ravel() for array in agent.weights().values()]))
    np.testing.assert_allclose(weights[1], weights[0], rtol=1e-4, atol=1e-5)


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(UnfitError, match="use_sde is for actions in a Box, and Discrete"):
        agent_for("PPO", "match")
    lstm = "actor_layers=[{layer_type: lstm, layer_size: [8]}]"
    for algo, word, answer in (
        ("PPO", lstm, "use_sde: does not support lstm and gru layers"),
        ("SAC", "exploration_type=gaussian", "exploration_type: adds noise to that of use_sde; set it to none"),
    ):
        with pytest.raises(ConfigError, match=answer):
            loaded(None, f"general_cfg.algo_name={algo}", "algo_cfg.use_sde=true", f"algo_cfg.{word}")
