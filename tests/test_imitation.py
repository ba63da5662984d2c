"""Imitating an expert while collecting: discriminators, rewards of 1 for the data, and an expert that is asked."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fake_ray import FakeRay
from helpers_core import agent_of, saved_and_read, stream
from helpers_distributed import Run as Cluster
from helpers_distributed import config_of, local, remote
from test_learners import Together
from test_offline import SMALL, run_of, spec_of, write

import algos
import joystick
from algos.base import Array, EnvSpec, Progress
from algos.common.imitation import (
    Discriminator,
    absorbing_reward,
    discriminator_loss,
    gradient_penalty,
    imitation_reward,
    shaped,
)
from config.loader import ConfigError, RunConfig, load
from config.schema import EXPERT, DataSpec, ReplaySpec, RolloutSpec
from framework import resources
from framework.catalog import ALGOS, ENVS
from framework.errors import JoystickError
from framework.fragment import Fragment, Origin
from framework.learner import Learner, digest
from framework.memory import Chunk, rollout
from framework.memory.demonstrated import Demonstrated
from framework.memory.given import given
from framework.memory.stored import Stored
from framework.output.csv_log import read_csv
from framework.plan import plan

LN2, LN3 = math.log(2), math.log(3)
t = torch.tensor
LAYERS_OF_POLICY = {f"{part}_layers": [SMALL] for part in ("actor", "critic")}
LAYERS = {**LAYERS_OF_POLICY, "discriminator_layers": [SMALL]}
WINDOW = {"batch_size": 32, "sgd_batch_size": 16, "k_epochs": 2}


def to_the_left(obs: Array) -> Array:
    """An expert that pushes the cart against the side to which the pole leans."""
    return (obs[:, 2] < 0).astype(np.int64)


def upright(obs: Array) -> Array:
    """An expert that keeps the pole up."""
    return (obs[:, 2] + 0.5 * obs[:, 3] > 0).astype(np.int64)


def torque(obs: Array) -> Array:
    """An expert for Pendulum, beyond the bounds."""
    return np.full((len(obs), 1), 5.0)


def fragment(steps: int = 6, rows: int = 2, **more: Array) -> Fragment:
    """Steps whose observations are below 0, as those of `write` are not."""
    obs = np.full((steps, rows, 4), -0.1, np.float32)
    columns = {
        "obs": obs, "next_obs": obs, "action": np.zeros((steps, rows), np.int64),
        "reward": np.full((steps, rows), 7.0, np.float32), "terminated": np.zeros((steps, rows), bool),
        "truncated": np.zeros((steps, rows), bool), **more,
    }  # fmt: skip
    return Fragment(columns, {"state": None, "first": np.ones(rows, bool)}, Origin())


# equations ------------------------------------------------------------------------------------------------


def test_the_discriminator_has_the_loss_of_its_equation() -> None:
    # D is 1/2 and 3/4 for the expert, 1/2 and 1/4 for the policy: -mean(log 1/2, log 3/4) on both sides
    expert, own = t([0.0, LN3]), t([0.0, -LN3])
    each = (LN2 + math.log(4 / 3)) / 2
    assert discriminator_loss(expert, own).item() == pytest.approx(2 * each)


def test_the_gradient_penalty_is_that_of_slopes_other_than_1_between_both() -> None:
    def network(x: torch.Tensor) -> torch.Tensor:
        return (x.square() * t([1.0, 0.0])).sum(1)  # its slope is 2 x_0

    # a quarter and three quarters of the way: x_0 is 1 and 3, slopes 2 and 6
    penalty = gradient_penalty(network, t([[4.0, 9.0], [4.0, 9.0]]), t([[0.0, 0.0], [0.0, 0.0]]))
    assert penalty.item() == pytest.approx((1 + 25) / 2)


@pytest.mark.parametrize(("algo", "networks"), [("GAIL", 1), ("AIRL", 2)])
def test_a_discriminator_of_slope_1_has_no_penalty(algo: str, networks: int) -> None:
    spec = replace(spec_of(), rows=4)
    agent = agent_of(algo, spec, data="x.npz", discriminator_layers=[], state_only=False, **LAYERS_OF_POLICY)
    window = {name: torch.from_numpy(value).flatten(0, 1) for name, value in imitators_window(spec, agent).items()}
    assert len(agent.discriminator.networks) == networks
    for network in agent.discriminator.networks.values():
        weight = network.body[-1].weight.data
        weight.zero_()
        weight[0, 1] = 1.0
    assert agent.discriminator.penalty(window).item() == pytest.approx(0.0, abs=1e-6)
    network.body[-1].weight.data[0, 1] = 3.0
    assert agent.discriminator.penalty(window).item() == pytest.approx(4.0, abs=1e-5)


@pytest.mark.parametrize(
    ("form", "reward"), [("positive", math.log(4)), ("negative", math.log(0.75)), ("log_odds", LN3)]
)
def test_the_reward_of_a_step_that_is_the_experts_with_probability_three_quarters(form: str, reward: float) -> None:
    assert imitation_reward(t([LN3]), form).item() == pytest.approx(reward)


def test_the_end_of_a_task_lasts_for_ever() -> None:
    own, expert = t([True, True, True, False]), t([True, False, False, False])
    # D = (1 + 1) / (1 + 1 + 3 + 1) = 1/3, so that its odds are 1/2; gamma / (1 - gamma) = 3
    assert absorbing_reward(expert, own, "log_odds", 0.75).item() == pytest.approx(-3 * LN2)
    assert absorbing_reward(expert, own, "positive", 0.75).item() == pytest.approx(3 * math.log(3 / 2))
    assert absorbing_reward(expert, expert, "log_odds", 0.75).item() == 0.0


def test_it_is_worth_something_only_after_terminal_steps() -> None:
    spec = replace(spec_of(), rows=4)
    rewards = []
    for absorbing in (False, True):
        agent = agent_of("GAIL", spec, data="x.npz", absorbing=absorbing, **LAYERS, **WINDOW)
        window = {name: torch.from_numpy(value) for name, value in imitators_window(spec, agent).items()}
        window["expert_terminated"] = torch.zeros_like(window["terminated"])
        rewards.append(agent.discriminator.prepare(window, 0.0)["reward"])
    ends, count = window["terminated"], window["terminated"].sum()
    worth = 99 * math.log(1 + 1 / (count + 1))
    assert torch.equal(rewards[0][~ends], rewards[1][~ends])
    assert torch.allclose(rewards[1][ends] - rewards[0][ends], torch.full((int(count),), worth))


def test_a_state_that_lasts_for_ever_needs_discounting() -> None:
    with pytest.raises(ConfigError, match="absorbing: a state that lasts for ever needs a gamma below 1"):
        joystick.Run("GAIL", "Acrobot-v1", algo_cfg={"data": "x.npz", "absorbing": True, "gamma": 1.0})


def test_shaping_counts_what_follows_unless_the_step_is_terminal() -> None:
    f = shaped(t([1.0, 1.0]), t([2.0, 2.0]), t([3.0, 3.0]), t([False, True]), 0.5)
    assert f.tolist() == [0.5, -1.0]


@pytest.mark.parametrize("state_only", [True, False])
def test_the_odds_of_airl_are_exp_f_over_pi(state_only: bool) -> None:
    spec = spec_of()
    agent = agent_of("AIRL", spec, data="x.npz", gamma=0.5, state_only=state_only, **LAYERS)
    disc = agent.discriminator
    for network, bias in ((disc.g, 1.0), (disc.h, 2.0)):
        for parameter in network.parameters():
            parameter.data.zero_()
        network.body[-1].bias.data.fill_(bias)
    for parameter in agent.networks["actor"].parameters():
        parameter.data.zero_()
    agent.networks["actor"][-1].bias.data.copy_(t([0.0, LN3]))  # pi is 1/4 and 3/4
    obs = torch.zeros(2, 4)
    odds = disc.log_odds(obs, t([0, 1]), obs, t([False, True]))
    # f = 1 + 0.5 * 2 - 2 = 0, and 1 - 2 = -1 after a terminal step
    assert odds.tolist() == pytest.approx([-math.log(0.25), -1 - math.log(0.75)], abs=1e-6)
    d = odds.sigmoid()
    assert d.tolist() == pytest.approx([1 / (1 + 0.25), math.exp(-1) / (math.exp(-1) + 0.75)], abs=1e-6)
    assert disc.g.body[0].weight.shape[1] == (4 if state_only else 6)


def test_settings_of_ppo_are_those_of_its_imitators() -> None:
    ppo = algos.get("PPO").Config.model_fields
    for name in ("GAIL", "AIRL"):
        ours = algos.get(name).Config.model_fields
        assert {key: ours[key].default for key in ppo} == {key: field.default for key, field in ppo.items()}


# the windows ----------------------------------------------------------------------------------------------


def windows(path: Path, seed: int = 1) -> Demonstrated:
    wanted = DataSpec((str(path),))
    return Demonstrated(rollout(RolloutSpec(6, data=wanted)), stream(seed, "memory/data"), given(wanted, spec_of(), 1))


def test_a_window_comes_with_as_many_transitions_of_the_data(tmp_path: Path) -> None:
    memory = windows(write(tmp_path / "a.npz", [1.0] * 3))
    memory.add(fragment(3))
    assert memory.take(0.0) is None
    memory.add(fragment(3))
    columns = memory.take(0.0).columns
    assert {name: columns[name].shape for name in EXPERT.values()} == {
        "expert_obs": (6, 2, 4), "expert_action": (6, 2), "expert_next_obs": (6, 2, 4), "expert_terminated": (6, 2),
    }  # fmt: skip
    place = np.round(columns["expert_obs"][..., 0] / 0.005).astype(int)
    assert set(place.flat) <= set(range(12))
    assert len(set(place.flat)) > 3
    assert np.allclose(columns["expert_next_obs"][..., 0], 0.005 * (place + 1))
    assert np.array_equal(columns["expert_terminated"], place % 4 == 3)
    actions = np.load(tmp_path / "a.npz")["actions"]
    assert np.array_equal(columns["expert_action"], actions[place])


def test_the_draws_go_on_after_a_resume_and_other_data_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.npz", [1.0] * 3)
    memory = windows(path)
    memory.add(fragment(6))
    memory.take(0.0)
    memory.add(fragment(4))
    state = saved_and_read(memory.state())
    again = windows(path, seed=2)
    again.load_state(state, ())
    for each in (memory, again):
        each.add(fragment(2))
    one, other = memory.take(0.0).columns, again.take(0.0).columns
    assert all(np.array_equal(one[name], other[name]) for name in one)
    changed = windows(write(tmp_path / "b.npz", [2.0] * 3))
    with pytest.raises(JoystickError, match="have changed since the checkpoint"):
        changed.load_state(state, ())


def test_minibatches_of_sqil_have_rewards_of_1_and_0(tmp_path: Path) -> None:
    wanted = DataSpec((str(write(tmp_path / "a.npz", [3.0] * 3)),), updates=0, imitate=True)
    spec = ReplaySpec(100, 8, 0, 1.0, n_step=2, gamma=0.5, data=wanted)
    memory = Stored(spec, stream(1, "memory"), stream(1, "memory/data"), given(wanted, spec_of(), 1))
    collected = fragment(6)
    memory.add(collected)
    columns = memory.take(0.0).columns
    expert = columns["obs"][..., 0] >= 0
    assert expert.sum(1).tolist() == [4] * len(expert)
    last = np.round(columns["obs"][..., 0] / 0.005) % 4 == 3
    # two steps: 1 + 0.5; one at the end of an episode
    assert np.array_equal(columns["reward"], np.where(expert, np.where(last, 1.0, 1.5), 0.0))
    assert (collected.columns["reward"] == 7.0).all()


def test_the_answers_of_an_expert_in_given_data_are_their_actions(tmp_path: Path) -> None:
    wanted = DataSpec((str(write(tmp_path / "a.npz", [3.0] * 3)),), updates=0)
    spec = ReplaySpec(100, 8, 0, 1.0, data=wanted)
    memory = Stored(spec, stream(1, "memory"), stream(1, "memory/data"), given(wanted, spec_of(), 1))
    memory.add(fragment(6, expert_action=np.ones((6, 2), np.int64)))
    columns = memory.take(0.0).columns
    expert = columns["obs"][..., 0] >= 0
    assert np.array_equal(columns["expert_action"], np.where(expert, columns["action"], 1))


# agents ---------------------------------------------------------------------------------------------------


def imitators_window(spec: EnvSpec, agent: Any, steps: int = 8) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    rows, obs = agent.spec.rows, spec.observation_space
    drawn = {name: rng.normal(size=(steps, rows, *obs.shape)).astype(np.float32) for name in ("obs", "next_obs")}
    act = agent.sample_action(drawn["obs"][0], None, Progress(), rng)
    columns = {name: np.repeat(value[None], steps, 0) for name, value in (("action", act.action), *act.columns.items())}
    flags = {name: rng.random((steps, rows)) < 0.2 for name in ("terminated", "truncated")}
    window = {**drawn, **columns, **flags, "reward": np.full((steps, rows), np.float32(1e9))}
    return {**window, **{beside: window[name] * 1 for name, beside in EXPERT.items()}, "expert_obs": drawn["obs"] + 1}


@pytest.mark.parametrize("algo", ["GAIL", "AIRL"])
@pytest.mark.parametrize("env", ["CartPole-v1", "Pendulum-v1"])
def test_the_rewards_are_the_discriminators_alone(algo: str, env: str) -> None:
    spec = replace(spec_of(env), rows=4)
    agent = agent_of(algo, spec, data="x.npz", normalize_obs=True, **LAYERS, **WINDOW)
    window = {name: torch.from_numpy(value) for name, value in imitators_window(spec, agent).items()}
    prepared = agent.prepare(window, Progress())
    odds = agent.discriminator.log_odds(*(window[name].flatten(0, 1) for name in Discriminator.READS))
    reward = agent.discriminator.prepare(window, 0.0)["reward"]
    form = agent.cfg.imitation_reward
    assert torch.equal(reward.flatten(), imitation_reward(odds.detach(), form))
    assert prepared["target"].abs().max() < 1000
    before = prints(agent)
    result = agent.update({name: value.flatten(0, 1) for name, value in prepared.items()})
    assert {*result.metrics, "grad_norm", "lr"} == {*agent.metric_names()}
    assert all(one != other for one, other in zip(before, prints(agent), strict=True))


def prints(agent: Any) -> tuple[str, str]:
    """Fingerprints of the policy and of the discriminator."""
    return digest(agent.weights()), digest(agent.discriminator.state()["networks"])


@pytest.mark.parametrize("algo", ["GAIL", "AIRL"])
def test_two_learners_are_one(algo: str) -> None:
    spec = replace(spec_of(), rows=4)

    def learned(agent: Any, learner: Learner) -> tuple[str, str]:
        learner.learn(Chunk(imitators_window(spec, agent), fraction=0.0), Progress())
        return prints(agent)

    def learner() -> tuple[Any, Learner]:
        agent = agent_of(algo, spec, data="x.npz", gradient_penalty=0, **LAYERS, **WINDOW)
        return agent, Learner(agent, agent.cfg.memory(4))

    agents, together = [learner() for _ in range(2)], Together(2)
    for rank, (_, each) in enumerate(agents):
        each.divide(together.share(rank))
    found = together.run([lambda a=a, b=b: learned(a, b) for a, b in agents])
    assert found[0] == found[1]
    alone = learner()
    learned(*alone)
    for name, array in alone[0].discriminator.state()["networks"].items():
        assert np.allclose(array, agents[0][0].discriminator.state()["networks"][name], atol=1e-5)


def dagger(expert: Callable[[Array], Array], **settings: Any) -> Any:
    agent = agent_of("DAgger", replace(spec_of(), rows=200), expert="x", actor_layers=[SMALL], **settings)
    agent.expert = lambda obs, mask: expert(obs)
    return agent


def test_the_share_of_the_experts_actions_decays() -> None:
    agent, rng = dagger(to_the_left, beta=0.5, beta_decay=100), np.random.default_rng(1)
    obs = np.full((200, 4), -0.1, np.float32)  # the expert says 1
    for parameter in agent.networks["actor"].parameters():
        parameter.data.zero_()
    agent.networks["actor"][-1].bias.data.copy_(t([50.0, 0.0]))  # the policy says 0
    for step, share in ((0, 0.5), (100, 0.5 / math.e), (10_000, 0.0)):
        act = agent.sample_action(obs, None, Progress(step=step), rng)
        assert agent.exploration(Progress(step=step)) == {"beta": pytest.approx(share)}
        assert act.action.mean() == pytest.approx(share, abs=0.1)
        assert list(act.columns) == ["expert_action"]
        assert (act.columns["expert_action"] == 1).all()


def test_dagger_learns_what_the_expert_says_and_not_what_was_played() -> None:
    agent = dagger(to_the_left, lr=0.05)
    obs = np.random.default_rng(1).normal(size=(200, 4)).astype(np.float32)
    batch = {"obs": torch.from_numpy(obs), "expert_action": torch.from_numpy(to_the_left(obs))}
    for _ in range(60):
        agent.update({**batch, "action": torch.zeros(200, dtype=torch.int64)})
    assert (agent.predict_action(obs, None).action == to_the_left(obs)).mean() > 0.95


# runs -----------------------------------------------------------------------------------------------------


def settings_of(algo: str, tmp_path: Path) -> dict[str, Any]:
    if algo == "DAgger":
        return {"data": None, "expert": f"{__name__}:upright", "beta_decay": 20, "train_fre": 4, "updates_per_train": 2}
    fresh = WINDOW if algo in ("GAIL", "AIRL") else {"train_fre": 4, "updates_per_train": 2, "learning_starts": 0}
    return {**fresh, "data": str(write(tmp_path / "data.npz", [1.0] * 20))}


def collecting(tmp_path: Path, algo: str, name: str, steps: int = 192, **algo_cfg: Any) -> joystick.Run:
    own = {"allow_import": [__name__]} if "expert" in algo_cfg else {}
    fields = algos.get(algo).Config.model_fields
    layers = {key: [SMALL] for key in fields if key.endswith("_layers")}
    general = {
        "max_total_step": steps, "iteration_steps": 64, "online_eval": False, "model_save_fre": 64,
        "model_save_unit": "step", "save_fig": False,
    }  # fmt: skip
    return joystick.Run(
        algo, "CartPole-v1", seed=1, into=tmp_path / name, general_cfg=general, env_cfg={"n_envs": 2},
        algo_cfg={"batch_size": 16, **layers, **algo_cfg}, **own,
    )  # fmt: skip


@pytest.mark.parametrize("algo", algos.imitating())
def test_every_algorithm_imitates_and_is_resumed_to_the_bit(tmp_path: Path, algo: str) -> None:
    torch.set_num_threads(1)
    settings, states = settings_of(algo, tmp_path), []
    with collecting(tmp_path, algo, "whole", **settings) as run:
        first = run.weights()
        results = [run.train() for _ in range(3)]
        assert results[-1]["step"] == 192
        assert all(np.isfinite(value) for value in results[-1]["metrics"].values())
        assert any(not np.array_equal(first[name], value) for name, value in run.weights().items())
        states.append(run.agent.state())
    with collecting(tmp_path, algo, "cut", **settings) as run:
        run.train()
    own = {"allow_import": [__name__]} if algo == "DAgger" else {}
    with joystick.Run.resume(tmp_path / "cut", **own) as run:
        run.train()
        run.train()
        states.append(run.agent.state())
    flat = [dict(leaves(state)) for state in states]
    assert flat[0].keys() == flat[1].keys()
    assert [name for name in flat[0] if not np.array_equal(flat[0][name], flat[1][name])] == []
    whole, cut = ((tmp_path / name / "results" / "train.csv").read_bytes() for name in ("whole", "cut"))
    assert whole == cut
    rows = read_csv(tmp_path / "whole" / "results" / "train.csv")
    assert all(row["return"] == row["length"] for row in rows)  # those of the environment


def leaves(tree: Any, path: str = "") -> Any:
    """Yields every leaf of a state with its path."""
    for name, value in tree.items():
        yield from leaves(value, f"{path}.{name}") if isinstance(value, dict) else [(f"{path}.{name}", value)]


def on_its_side(obs: Array) -> Array:
    """The best policy of the toy match."""
    return (obs[:, 0] > 0).astype(np.int64)


def on_the_other_side(obs: Array) -> Array:
    """Its worst policy."""
    return (obs[:, 0] < 0).astype(np.int64)


ON_POLICY = {
    "batch_size": 128, "sgd_batch_size": 64, "k_epochs": 5, "lr": 5e-3, "discriminator_lr": 2e-2,
    "discriminator_layers": [{"layer_type": "linear", "layer_size": [32], "activation": "tanh"}],
}  # fmt: skip
LEARNS: dict[str, dict[str, Any]] = {
    "GAIL": ON_POLICY,
    "AIRL": {**ON_POLICY, "state_only": False},
    "SQIL": {"lr": 5e-3, "gamma": 0.5, "train_fre": 4},
    "DAgger": {"lr": 5e-3, "train_fre": 2},
}


@pytest.mark.parametrize("algo", algos.imitating())
@pytest.mark.parametrize(("expert", "result"), [(on_its_side, 8.0), (on_the_other_side, -8.0)])
def test_a_toy_is_played_as_the_expert_plays_it_whatever_the_environment_rewards(
    tmp_path: Path, algo: str, expert: Callable[[Array], Array], result: float
) -> None:
    torch.set_num_threads(1)
    obs = np.random.default_rng(1).choice([-1.0, 1.0], (400, 1)).astype(np.float32)
    np.savez(
        tmp_path / "expert.npz", observations=obs, actions=expert(obs), rewards=np.zeros(400, np.float32),
        terminals=np.arange(400) % 8 == 7,
    )  # fmt: skip
    settings = {key: [SMALL] for key in algos.get(algo).Config.model_fields if key.endswith("_layers")} | LEARNS[algo]
    asked_or_given = {"expert": expert} if algo == "DAgger" else {"data": str(tmp_path / "expert.npz")}
    general = {"env_name": "toy", "max_total_step": 1536, "iteration_steps": 1536, "online_eval": False}
    with joystick.Run(
        algo, seed=1, into=tmp_path / "run", general_cfg=general, algo_cfg=settings | asked_or_given,
        env_cfg={"id": "match", "steps": 8, "n_envs": 4},
    ) as run:  # fmt: skip
        run.train()
        assert run.evaluate(4)["mean"] == result


def config_for(algo: str, tmp_path: Path, **of_ray: int) -> RunConfig:
    words = [f"algo_cfg.data={write(tmp_path / 'data.npz', [1.0] * 20, obs=1)}"]
    if algo == "DAgger":
        words = [f"algo_cfg.expert={__name__}:on_its_side", "algo_cfg.beta_decay=20"]
    elif algo != "SQIL":
        words.append(f"algo_cfg.discriminator_layers={[SMALL]}")
    return config_of(algo, *words, allow_import=[__name__], **of_ray)


@pytest.mark.parametrize("algo", algos.imitating())
def test_one_worker_in_lockstep_is_one_process_to_the_bit(algo: str, tmp_path: Path) -> None:
    one = Cluster(config_for(algo, tmp_path), local(config_for(algo, tmp_path))).until(60)
    config = config_for(algo, tmp_path, workers=1)
    other = Cluster(config, remote(config)).until(60)
    assert one.learned
    assert one.state() == other.state()


@pytest.mark.parametrize("algo", algos.imitating())
def test_workers_that_run_ahead_imitate_too(algo: str, tmp_path: Path) -> None:
    config = config_for(algo, tmp_path, workers=2, ahead=2, rows=8)
    run = Cluster(config, remote(config, FakeRay(1))).until(90).rest()
    assert run.learned
    saved = run.saved()
    again = Cluster(config, remote(config, FakeRay(1))).load(saved)
    assert again.state()["memory"] == run.state()["memory"]


@pytest.mark.parametrize("algo", ["GAIL", "AIRL", "SQIL"])
def test_a_run_needs_data_of_its_environment(tmp_path: Path, algo: str) -> None:
    with pytest.raises(ConfigError, match="data: is required"):
        joystick.Run(algo, "CartPole-v1", into=tmp_path / "run", algo_cfg={"data": None})
    data = write(tmp_path / "data.npz", [1.0] * 2)
    with pytest.raises(JoystickError, match=r"algo_cfg\.data: .*obs"):
        joystick.Run(algo, "Acrobot-v1", into=tmp_path / "run", algo_cfg={"data": str(data)})
    assert not (tmp_path / "run").exists()


def asked(expert: str | None, env: str = "CartPole-v1", **more: Any) -> joystick.Run:
    return joystick.Run("DAgger", env, algo_cfg={"expert": expert}, allow_import=[__name__], **more)


@pytest.mark.parametrize(
    ("env", "expert", "words"),
    [
        ("CartPole-v1", None, "expert: is required: a task directory"),
        ("CartPole-v1", "no_such_run", "no_such_run.* does not exist"),
        ("CartPole-v1", f"{__name__}:uprigth", "has no 'uprigth'; did you mean upright"),
        ("CartPole-v1", f"{__name__}:LN2", "is a float, and no function"),
        ("CartPole-v1", f"{__name__}:torque", r"returned an array of shape \(2, 1\).*expected 2 actions of Discrete"),
        ("Acrobot-v1", f"{__name__}:nowhere", r"returned \[9\]; expected 2 actions of Discrete\(3\)"),
        ("CartPole-v1", f"{__name__}:failing", "failing failed: ZeroDivisionError"),
    ],
)
def test_an_expert_that_cannot_be_asked_is_said(tmp_path: Path, env: str, expert: str | None, words: str) -> None:
    with pytest.raises((ConfigError, JoystickError), match=words):
        asked(expert, env, into=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def nowhere(obs: Array) -> Array:
    return np.full(len(obs), 9)


def failing(obs: Array) -> Array:
    return obs / (1 // 0)


def test_code_of_an_expert_is_imported_only_with_permission() -> None:
    with pytest.raises(ConfigError, match=r"expert: imports own_parts; to allow it, add --allow-import own_parts"):
        joystick.Run("DAgger", "CartPole-v1", algo_cfg={"expert": "own_parts:something"})


def test_actions_beyond_the_bounds_are_clipped_to_them(tmp_path: Path) -> None:
    with asked(f"{__name__}:torque", "Pendulum-v1", into=tmp_path / "run", general_cfg={"max_total_step": 4}) as run:
        answer = run.agent.expert(np.zeros((3, 3), np.float32), None)
    assert answer.tolist() == [[2.0]] * 3
    assert answer.dtype == np.float32


def test_the_policy_of_a_run_is_an_expert(tmp_path: Path) -> None:
    data = write(tmp_path / "data.npz", [1.0] * 20)
    with run_of(tmp_path, "BC", "expert", data) as run:
        run.train()
    expert = joystick.load(tmp_path / "expert")
    with collecting(tmp_path, "DAgger", "run", expert=str(tmp_path / "expert")) as run:
        obs = np.random.default_rng(1).normal(size=(20, 4)).astype(np.float32)
        assert run.agent.expert(obs, None).tolist() == [expert.act(each) for each in obs]
    with pytest.raises(
        JoystickError, match=r"algo_cfg\.expert: .*trained on CartPole-v1, and this config says Acrobot"
    ):
        asked(str(tmp_path / "expert"), "Acrobot-v1", into=tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_an_expert_is_for_a_single_agent_and_for_runs() -> None:
    several = {"general_cfg": {"env_name": "toy"}, "env_cfg": {"id": "poles"}, "algo_cfg": {"expert": "x"}}
    with pytest.raises(ConfigError, match="expert: is for a single agent"):
        joystick.Run("DAgger", **several)
    with pytest.raises(ConfigError, match="expert: DAgger asks it only in a run"):
        joystick.policy("DAgger", "CartPole-v1", expert="x")
    for algo in ("GAIL", "SQIL"):
        with pytest.raises(ConfigError, match="data: is for a single agent"):
            joystick.Run(algo, **{**several, "algo_cfg": {"data": "x.npz"}})


def test_rewards_cannot_be_replaced_twice_nor_without_data() -> None:
    with pytest.raises(ConfigError, match="data: is required"):
        joystick.Run("SAC", "Pendulum-v1", algo_cfg={"imitate": True})
    with pytest.raises(ConfigError, match="her_ratio: computes rewards anew, and imitate replaces them"):
        joystick.Run("SAC", "Pendulum-v1", algo_cfg={"imitate": True, "data": "x.npz", "her_ratio": 0.5})


def test_a_sample_of_a_program_lacks_the_data(tmp_path: Path) -> None:
    with collecting(tmp_path, "GAIL", "run", **settings_of("GAIL", tmp_path)) as run:
        sample = run.sample(32)
        with pytest.raises(JoystickError, match=r"one from algo_cfg\.data too: use train\(\)"):
            run.update(sample)


def test_the_memory_that_a_run_needs_counts_the_columns_of_the_expert() -> None:
    def size(algo: str, **settings: Any) -> int:
        words = {f"algo_cfg.{key}={value}" for key, value in settings.items()}
        config = load(None, [f"general_cfg.algo_name={algo}", *words], find_algo=ALGOS, find_env=ENVS)
        return resources.step_bytes(config, plan(config, spec_of()).policies[0])

    # two observations of 16 bytes, an action of 8 and a flag; the label is an action
    assert size("GAIL", data="x.npz") == size("PPO") + 41
    assert size("DAgger", expert="x") == size("BC", data="x.npz") + 8
