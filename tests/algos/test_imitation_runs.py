"""Runs that imitate an expert: what they learn, exact resume, several processes, and what is refused."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import algos
import joystick
from algos.base import Array, Progress
from config.read.loader import ConfigError, RunConfig
from framework.disk.csv_table import read_csv
from framework.errors import JoystickError
from tests.framework.memory.test_offline import SMALL, run_of, write
from tests.tools.distributed import Run as Cluster
from tests.tools.distributed import config_of, local, remote
from tests.tools.fake_ray import FakeRay
from tests.tools.paths import in_the_suite

IMITATING = [name for name in algos.available() if algos.get(name).Config.IMITATES]
"""Algorithms that collect, and learn from an expert."""
WINDOW = {"batch_size": 32, "sgd_batch_size": 16, "k_epochs": 2}
NUMBER = 0.5


def upright(obs: Array) -> Array:
    """An expert that keeps the pole up."""
    return (obs[:, 2] + 0.5 * obs[:, 3] > 0).astype(np.int64)


def torque(obs: Array) -> Array:
    """An expert for Pendulum, beyond the bounds."""
    return np.full((len(obs), 1), 5.0)


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


@pytest.mark.parametrize("algo", IMITATING)
def test_every_algorithm_imitates_and_is_resumed_to_the_bit(tmp_path: Path, algo: str) -> None:
    torch.set_num_threads(1)
    settings, states = settings_of(algo, tmp_path), []
    with collecting(tmp_path, algo, "whole", **settings) as run:
        first = run.weights()
        run.train()
        shutil.copytree(tmp_path / "whole", tmp_path / "cut")
        results = [run.train() for _ in range(2)]
        assert results[-1]["step"] == 192
        assert all(np.isfinite(value) for value in results[-1]["metrics"].values())
        assert any(not np.array_equal(first[name], value) for name, value in run.weights().items())
        states.append(run.agent.state())
    own = {"allow_import": [__name__]} if algo == "DAgger" else {}
    with joystick.Run.resume(tmp_path / "cut", **own) as run:
        assert run.count.step == 64
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


PLAYED = [
    (expert, result, algo) for expert, result in ((on_its_side, 8.0), (on_the_other_side, -8.0)) for algo in IMITATING
]
AGAINST_REWARD = [case for case in PLAYED if case[1] < 0]
"""The environment pays for the opposite."""


@pytest.mark.parametrize(
    ("expert", "result", "algo"), in_the_suite(PLAYED, *AGAINST_REWARD, (on_its_side, 8.0, "GAIL"))
)
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
    steps = 1536 if algo in ("GAIL", "AIRL") else 768
    general = {"env_name": "toy", "max_total_step": steps, "iteration_steps": steps, "online_eval": False}
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


@pytest.mark.parametrize("algo", IMITATING)
def test_one_worker_in_lockstep_is_one_process_to_the_bit(algo: str, tmp_path: Path) -> None:
    one = Cluster(config_for(algo, tmp_path), local(config_for(algo, tmp_path))).until(60)
    config = config_for(algo, tmp_path, workers=1)
    other = Cluster(config, remote(config)).until(60)
    assert one.learned
    assert one.state() == other.state()


@pytest.mark.parametrize("algo", IMITATING)
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


def asked(expert: str | None, env: str | None = "CartPole-v1", **more: Any) -> joystick.Run:
    return joystick.Run("DAgger", env, algo_cfg={"expert": expert}, allow_import=[__name__], **more)


@pytest.mark.parametrize(
    ("env", "expert", "words"),
    [
        ("CartPole-v1", None, "expert: is required: a task directory"),
        ("CartPole-v1", "no_such_run", "no_such_run.* does not exist"),
        ("CartPole-v1", f"{__name__}:uprigth", "has no 'uprigth'; did you mean upright"),
        ("CartPole-v1", f"{__name__}:NUMBER", "is a float, and no function"),
        ("CartPole-v1", f"{__name__}:torque", r"returned an array of shape \(2, 1\).*expected 2 actions of Discrete"),
        ("Acrobot-v1", f"{__name__}:nowhere", r"returned \[9\]; expected 2 actions of Discrete\(3\)"),
        ("CartPole-v1", f"{__name__}:failing", "failing failed: ZeroDivisionError"),
    ],
)
def test_an_expert_that_cannot_be_asked_is_said(tmp_path: Path, env: str, expert: str | None, words: str) -> None:
    with pytest.raises((ConfigError, JoystickError), match=words):
        asked(expert, env, into=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def same_number(obs: Array) -> Array:
    """The best policy of the toy shifted, whose observations and actions are 5, 6, ..."""
    return obs


def test_a_function_is_asked_in_the_numbers_of_the_environment(tmp_path: Path) -> None:
    def shifted(expert: str, folder: str) -> joystick.Run:
        general, env = {"env_name": "toy", "max_total_step": 4}, {"id": "shifted", "start": 5}
        return asked(f"{__name__}:{expert}", None, general_cfg=general, env_cfg=env, into=tmp_path / folder)

    with shifted("same_number", "run") as run:
        assert run.agent.expert(np.array([0, 2]), None).tolist() == [0, 2]
    with pytest.raises(JoystickError, match=r"returned \[9\]; expected 2 actions of Discrete\(3, start=5\)"):
        shifted("nowhere", "other")


def nowhere(obs: Array) -> Array:
    return np.full(len(obs), 9)


def failing(obs: Array) -> Array:
    return obs / (1 // 0)


def test_code_of_an_expert_is_imported_only_with_permission() -> None:
    with pytest.raises(ConfigError, match=r'expert: imports own_parts; to allow it, add allow_import=\["own_parts"\]'):
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


def test_an_evaluation_that_explores_asks_no_expert(tmp_path: Path) -> None:
    with collecting(tmp_path, "DAgger", "run", expert=f"{__name__}:upright", beta=1.0) as run:
        obs, asked = np.ones((2, 4), np.float32), []
        run.agent.expert = lambda *seen: asked.append(seen) or np.zeros(2, np.int64)
        for evaluating in (True, False):
            run.agent.sample_action(obs, None, Progress(evaluating=evaluating), np.random.default_rng(0))
            assert bool(asked) != evaluating


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


@pytest.mark.parametrize(
    ("algo", "env", "settings"),
    [
        ("IQL", "Pendulum-v1", {"imitate": True}),
        ("SAC", "Pendulum-v1", {"imitate": True, "offline_updates": -1}),
        ("SQIL", "CartPole-v1", {"offline_updates": -1}),
    ],
)
def test_who_imitates_needs_steps_that_are_not_the_experts(algo: str, env: str, settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"imitate: .*this run collects none; set offline_updates to 0 or more"):
        joystick.Run(algo, env, algo_cfg={"data": "x.npz", **settings})


def test_a_sample_of_a_program_lacks_the_data(tmp_path: Path) -> None:
    with collecting(tmp_path, "GAIL", "run", **settings_of("GAIL", tmp_path)) as run:
        sample = run.sample(32)
        with pytest.raises(JoystickError, match=r"one from algo_cfg\.data too: use train\(\)"):
            run.update(sample)
