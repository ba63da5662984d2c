"""Programs in RLlib's style: own classes and names, environments with the old interface, policies by agent."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import joystick
from config import own
from config.loader import ConfigError, load
from framework.catalog import ALGOS, ENVS

QUICK = {"max_step": 20, "seed": 1, "save_fig": False, "online_eval": False, "compile": "off"}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(own, "_REGISTERED", {})


class Plain(gymnasium.Env):
    """Ten steps without a task."""

    observation_space, action_space = Box(-1, 1, (2,)), Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return self._seen(), {}

    def step(self, action):
        self.time += 1
        return self._seen(), float(action), self.time == 10, False, {}

    def _seen(self):
        return self.np_random.uniform(-1, 1, 2).astype(np.float32)


# ------------------------------------------------------------------------------------------------ own classes, presets


@pytest.mark.parametrize("name", ["Traffic", "Mini", "Town", "Levels", "Poles", "Reach", "Plain", "Pendulum-v1"])
@pytest.mark.parametrize("registered", [True, False])
def test_a_class_or_name_of_the_program_gets_no_preset_of_another_kind(name, registered):
    kind = type(name, (Plain,), {"__module__": "__main__"})
    if registered:
        joystick.register_env(name.lower(), kind)
    with joystick.Run("PPO", name.lower() if registered else kind, general_cfg=QUICK) as run:
        assert run.config.preset.endswith("presets/_default/PPO.yaml")
        assert run.config.general.env_name == "python"
        assert not run.config.policies
        assert run.train(64)["step"] >= 64


def test_a_class_under_env_cfg_is_the_programs_too():
    with joystick.Run("PPO", env_cfg={"id": Plain}, general_cfg=QUICK) as run:
        assert run.config.general.env_name == "python"


def test_a_preset_that_is_asked_for_does_not_replace_the_class():
    kind = type("Mini", (Plain,), {"__module__": "__main__"})
    with joystick.Run("PPO", kind, preset="mini/PPO", general_cfg={**QUICK, "env_name": "python"}) as run:
        assert run.config.env.id == "Mini"


def test_the_words_of_the_command_line_still_find_presets_of_every_kind():
    for env, kind, preset in (
        ("traffic", "toy", "traffic"),
        ("Ant-v5", "gym", "Ant-v5"),
        ("mini", "dialog", "mini"),
        ("CartPole-v1", "gym", "CartPole-v1"),
    ):
        for words in ((), (f"general_cfg.env_name={kind}",)):
            config = load(None, [*words], find_algo=ALGOS, find_env=ENVS, algo="PPO", env=env)
            assert f"/{preset}/" in config.preset
    with pytest.raises(ConfigError):
        load(None, ["general_cfg.env_name=gym"], find_algo=ALGOS, find_env=ENVS, algo="PPO", env="traffic")


# ------------------------------------------------------------------------------------------------ policies of a preset


def traffic(**policies):
    return load(None, find_algo=ALGOS, find_env=ENVS, algo="PPO", env="traffic", values={"policies_cfg": policies})


def test_a_policy_of_another_algorithm_drops_what_a_preset_gives_to_its_own():
    config = traffic(cars={"agents": "car_*", "algo_name": "DQN"}, lights={"algo_name": "PPO", "lr": 0.1})
    assert config.policy_packages["cars"].NAME == "DQN"
    assert config.policies["cars"].lr == ALGOS.get("DQN").Config().lr
    assert config.policies["lights"].lr == 0.1
    assert config.policies["lights"].agents == "light_*"
    [cars, lights] = [note for note in config.notes if "are not used" in note]
    assert cars.startswith("settings of the preset for policies_cfg.cars are not used, since they are for PPO: batch_size")
    assert "for DQN: value_layers, gamma" in lights
    assert config.expected_return is None


def test_a_policy_of_the_same_algorithm_keeps_them():
    config = traffic(cars={"algo_name": "ppo", "lr": 0.5})
    assert (config.policies["cars"].batch_size, config.policies["cars"].lr) == (1024, 0.5)
    assert config.policies["lights"].train_fre == 8
