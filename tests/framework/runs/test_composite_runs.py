"""Runs with actions of a Tuple or Dict: resume, masks, policies, files, exports, and what is refused."""

import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

import algos
import joystick
from config.read.loader import ConfigError
from envs.base import EnvError
from envs.toy.modes import Modes
from framework.dataset.trajectories import read
from framework.errors import JoystickError
from main import main
from tests.tools.distributed import Run as Cluster
from tests.tools.distributed import config_of, frozen, local, remote
from tests.tools.paths import in_the_suite

ONLINE = ["PPO", "A2C", "IMPALA", "TRPO", "REINFORCE", "RecurrentPPO", "SAC"]
SMALL = [{"layer_type": "linear", "layer_size": [8], "activation": "tanh"}]
LSTM = [{"layer_type": "lstm", "layer_size": 8}]
WINDOWS = {"batch_size": 32, "sgd_batch_size": 16, "k_epochs": 2, "batch_episode": 4, "learning_starts": 20,
           "start_steps": 10, "lookup_step": 2, "train_fre": 1}  # fmt: skip
TOY = {"id": "modes", "steps": 4, "mask": True, "n_envs": 2}
ACTIONS = Dict(
    {
        "mode": Discrete(3, start=5),
        "more": Tuple([Box(-1, 2, (2,)), MultiBinary(2), Box(0, 1, ()), MultiDiscrete([2, 3], start=[1, 0])]),
    }
)


class Everything(gymnasium.Env):
    """Actions of every kind, one of its own values of which is illegal in each part; its steps check what they get."""

    observation_space = Box(-1, 1, (2,))
    action_space: Space = ACTIONS

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.time = 0
        return self._seen()

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action), action
        bits, digits = action["more"][1], action["more"][3]
        assert (action["mode"] != 6, bits[0], digits[1] != 2) == (True, 1, True), action
        self.time += 1
        obs, info = self._seen()
        return obs, float(action["more"][0][0]), self.time == 4, False, info

    def _seen(self) -> Any:
        mask = {
            "mode": np.int8([1, 0, 1]),
            "more": (None, np.int8([1, 2]), None, (np.int8([1, 1]), np.int8([1, 1, 0]))),
        }
        return self.np_random.uniform(-1, 1, 2).astype(np.float32), {"action_mask": mask}


class Crowd:
    """Two agents with the same actions of several parts."""

    possible_agents = ("a", "b")

    def observation_space(self, agent: str) -> Space:
        return Box(-1, 1, (2,))

    def action_space(self, agent: str) -> Space:
        return ACTIONS

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.time, self.rng = 0, np.random.default_rng(seed)
        return self._seen()

    def step(self, actions: dict[str, Any]) -> Any:
        assert all(ACTIONS.contains(action) and action["mode"] != 6 for action in actions.values()), actions
        self.time += 1
        obs, infos = self._seen()
        reward = {name: float(action["more"][2]) for name, action in actions.items()}
        return obs, reward, {"__all__": self.time == 4}, {}, infos

    def _seen(self) -> Any:
        obs = {name: self.rng.uniform(-1, 1, 2).astype(np.float32) for name in self.possible_agents}
        return obs, {name: {"action_mask": {"mode": np.int8([1, 0, 1])}} for name in self.possible_agents}


def settings_of(algo: str, **more: Any) -> dict[str, Any]:
    fields = algos.get(algo).Config.model_fields
    layers = {key: LSTM if algo == "RecurrentPPO" else SMALL for key in fields if key.endswith("_layers")}
    unread = set() if algo == "RecurrentPPO" else {"lookup_step"}
    return {**layers, **{key: value for key, value in WINDOWS.items() if key in fields and key not in unread}, **more}


def run_of(
    algo: str, folder: Path, env: Any = "toy", steps: int = 96, vectorization: str = "sync", **more: Any
) -> joystick.Run:
    torch.set_num_threads(1)
    general = {"max_total_step": steps, "iteration_steps": 48, "online_eval": False, "save_fig": False,
               "model_save_fre": 48, "model_save_unit": "step", **more.pop("general", {})}  # fmt: skip
    if env == "toy":
        general, place = {**general, "env_name": "toy"}, {"env_cfg": TOY}
        return joystick.Run(algo, seed=1, into=folder, general_cfg=general, algo_cfg=settings_of(algo, **more), **place)
    place = {"env_cfg": {"n_envs": 2, "vectorization": vectorization}}
    return joystick.Run(
        algo, env, seed=1, into=folder, general_cfg=general, algo_cfg=settings_of(algo, **more), **place
    )


@pytest.mark.parametrize("algo", in_the_suite(ONLINE, "PPO", "RecurrentPPO", "SAC"))
def test_masks_are_obeyed_and_a_run_is_resumed_to_the_bit(tmp_path: Path, algo: str) -> None:
    """The toy raises at an illegal mode."""
    states = []
    with run_of(algo, tmp_path / "whole") as run:
        results = [run.train(), run.train()]
        assert all(np.isfinite(value) for value in results[-1]["metrics"].values())
        states.append(run.agent.state())
    with run_of(algo, tmp_path / "cut") as run:
        run.train()
    with joystick.Run.resume(tmp_path / "cut") as run:
        run.train()
        states.append(run.agent.state())
    assert frozen(states[0]) == frozen(states[1])
    whole, cut = ((tmp_path / name / "results" / "train.csv").read_bytes() for name in ("whole", "cut"))
    assert whole == cut


EVERYTHING = [*((algo, "sync") for algo in ONLINE), ("PPO", "async")]


@pytest.mark.parametrize(
    ("algo", "vectorization"), in_the_suite(EVERYTHING, ("RecurrentPPO", "sync"), ("SAC", "sync"), ("PPO", "async"))
)
def test_every_kind_of_part_goes_in_and_comes_out_as_gymnasium_has_it(
    tmp_path: Path, algo: str, vectorization: str
) -> None:
    with run_of(algo, tmp_path / "run", Everything, steps=64, vectorization=vectorization) as run:
        run.train()
    policy = joystick.load(tmp_path / "run", "latest")
    obs, info = (env := Everything()).reset(seed=0)
    for _ in range(4):
        action = policy.act(obs, info["action_mask"])  # type: ignore[arg-type]
        obs, _, _, _, info = env.step(action)  # which checks the action, and that it is legal


def test_trajectories_and_traces_have_flat_actions_in_the_environments_own_values_and_bc_learns(tmp_path: Path) -> None:
    general = {"collect_traj": True, "traces": "results/traces"}
    with run_of("PPO", tmp_path / "run", Everything, steps=64, general=general) as run:
        run.train()
    episodes = read(tmp_path / "run" / "results" / "trajs.pkl")
    actions = np.asarray(episodes["action"][0])
    assert actions.shape == (4, 8)
    assert set(actions[:, 0]) <= {5.0, 7.0}
    assert set(actions[:, 6]) <= {1.0, 2.0}
    assert np.asarray(episodes["action_mask"][0]).shape == (4, 12)
    with run_of("BC", tmp_path / "bc", Everything, data=str(tmp_path / "run/results/trajs.pkl"), **FROM_DATA) as run:
        run.train()
        learned = run.agent.networks  # type: ignore[union-attr]
        assert all(torch.isfinite(weight).all() for weight in learned.parameters())
    [file, *_] = sorted((tmp_path / "run" / "results" / "traces").iterdir())
    line = json.loads(file.read_text(encoding="utf-8").splitlines()[0])
    assert {action[0] for action in line["actions"]} <= {5.0, 7.0}


DATA = ("BC", "GAIL", "AIRL")
FROM_DATA = {"general": {"max_total_step": -1, "max_update": 20, "iteration_steps": 20, "model_save_unit": "update"}}


def expert(path: Path) -> Path:
    """Steps of the best policy of the toy, as flat arrays."""
    env, columns = Modes(4), {name: [] for name in ("obs", "action", "reward", "terminated", "next_obs")}
    for seed in range(8):
        obs, over = env.reset(seed=seed)[0], False
        while not over:
            x = obs["x"]
            flat = [obs["mode"], *x, *-x, *x**2]
            after, reward, over, _, _ = env.step({"mode": obs["mode"], "number": (x, -x, x**2)})
            assert reward == pytest.approx(1)
            for name, value in zip(columns, (_flat(obs), flat, reward, over, _flat(after)), strict=True):
                columns[name].append(value)
            obs = after
    np.savez(path, **{name: np.asarray(values, np.float32) for name, values in columns.items()})
    return path


def _flat(obs: Any) -> list[float]:
    return [*(np.arange(3) == obs["mode"]).astype(float), *obs["x"]]


@pytest.mark.parametrize("algo", DATA)
def test_imitation_learns_from_flat_actions(tmp_path: Path, algo: str) -> None:
    data = str(expert(tmp_path / "expert.npz"))
    with run_of(algo, tmp_path / "run", data=data, **(FROM_DATA if algo == "BC" else {})) as run:
        result = run.train()
    assert all(np.isfinite(value) for value in result["metrics"].values())


def test_data_with_half_a_choice_are_refused(tmp_path: Path) -> None:
    path = expert(tmp_path / "expert.npz")
    columns = dict(np.load(path))
    columns["action"][3, 0] = 0.5
    np.savez(path, **columns)
    with pytest.raises(JoystickError, match=r"has a part that is not a whole number.*Dict"):
        run_of("BC", tmp_path / "run", data=str(path), **FROM_DATA).train()


@pytest.mark.parametrize("algo", in_the_suite(["PPO", "RecurrentPPO", "SAC"], "RecurrentPPO", "SAC"))
def test_an_exported_file_chooses_as_the_agent_does(tmp_path: Path, algo: str, capsys: Any) -> None:
    """The command compares the file with the agent, and refuses to write one that differs."""
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    with run_of(algo, tmp_path / "run", steps=48) as run:
        run.train()
    out = tmp_path / "policy.onnx"
    assert main(["export", str(tmp_path / "run"), "--to", "onnx", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "100.00% of the actions are the agent's" in said
    assert '{"mode": int(action[0, 0]), "number": (action[0, 1:2].astype(np.float32), ' in said


def test_the_description_of_an_export_names_the_parts(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    with run_of("PPO", tmp_path / "run", steps=48) as run:
        run.train()
    out = tmp_path / "policy.safetensors"
    assert main(["export", str(tmp_path / "run"), "--to", "safetensors", "--out", str(out)]) == 0
    action = json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))["action"]
    assert (action["space"], action["shape"]) == ("Dict", [4])
    assert [part["path"] for part in action["parts"]] == [["mode"], ["number", 0], ["number", 1], ["number", 2]]
    assert action["parts"][0] | {"n": 3, "first": 0, "stop": 1, "space": "Discrete"} == action["parts"][0]


@pytest.mark.parametrize("algo", ["PPO", "MAPPO"])
def test_several_agents_have_actions_of_several_parts(tmp_path: Path, algo: str) -> None:
    with run_of(algo, tmp_path / "run", Crowd, steps=64) as run:
        run.train()
    policies = joystick.load(tmp_path / "run", "latest")
    obs, infos = (env := Crowd()).reset(seed=0)
    masks = {name: info["action_mask"] for name, info in infos.items()}
    env.step(policies.act(obs, masks))  # type: ignore[arg-type]
    one = joystick.load(tmp_path / "run", "latest", policy="default")
    assert ACTIONS.contains(one.act(obs["a"], masks["a"]))  # type: ignore[arg-type]


def test_one_worker_of_ray_is_one_process_to_the_bit() -> None:
    config = config_of("PPO", toy="modes", workers=1)
    alone = config_of("PPO", toy="modes")
    one, other = Cluster(alone, local(alone)).until(60), Cluster(config, remote(config)).until(60)
    assert one.learned
    assert one.state() == other.state()


# ---------------------------------------------------------------------------------------------------- refusals


class Unbounded(Everything):
    action_space = Tuple([Discrete(2), Box(-np.inf, np.inf, (1,))])

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        return np.zeros(2, np.float32), 0.0, True, False, {}


class Words(gymnasium.Env):
    observation_space = gymnasium.spaces.Text(3)
    action_space = Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return "abc", {}

    def step(self, action: Any) -> Any:
        return "abc", 0.0, True, False, {}


def test_what_does_not_suit_is_refused_with_what_does(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="SAC needs bounded actions"):
        run_of("SAC", tmp_path / "a", Unbounded)
    with pytest.raises(
        ConfigError, match=r"DQN needs actions that are Discrete;.*Dict.*Algorithms that can: .*PPO.*SAC"
    ):
        run_of("DQN", tmp_path / "b", Everything)
    with pytest.raises((EnvError, JoystickError), match="TransformObservation"):
        run_of("PPO", tmp_path / "c", Words)
