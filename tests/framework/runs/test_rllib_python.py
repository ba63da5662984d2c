"""Programs in RLlib's style: own classes and names, environments with the old interface, policies by agent."""

import json
import random
from importlib.util import find_spec
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import joystick
from config.own import objects as own
from config.read.loader import ConfigError, load
from framework.catalog import ALGOS, ENVS
from main import main

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
    with joystick.Run("PPO", name.lower() if registered else kind, general_cfg=QUICK, algo_cfg=SMALL) as run:
        assert run.config.preset is None
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
        if env == "Ant-v5" and not find_spec("mujoco"):
            continue
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
    assert cars.startswith(
        "settings of the preset for policies_cfg.cars are not used, since they are for PPO: batch_size"
    )
    assert "for DQN: value_layers, gamma" in lights
    assert config.expected_return is None


def test_a_policy_of_the_same_algorithm_keeps_them():
    config = traffic(cars={"algo_name": "ppo", "lr": 0.5})
    assert (config.policies["cars"].batch_size, config.policies["cars"].lr) == (1024, 0.5)
    assert config.policies["lights"].train_fre == 8


# ------------------------------------------------------------------------------------------------ the old interface


class OldAlone:
    """One agent: reset gives an observation, step four values."""

    observation_space, action_space = Box(-1, 1, (2,)), Discrete(2)

    def reset(self):
        self.time = 0
        return np.zeros(2, np.float32)

    def step(self, action):
        self.time += 1
        return np.full(2, self.time / 10, np.float32), float(action), self.time == 5, {}


class OldTraffic:
    """Two cars and a light. car_2 leaves in step 3, the episode ends in step 6."""

    CAR, LIGHT = (Box(0, 1, (3,)), Discrete(2)), (Box(0, 1, (1,)), Discrete(3))

    def reset(self):
        self.time = 0
        return self._seen(["car_1", "car_2", "traffic_light_1"])

    def step(self, actions):
        self.time += 1
        self.actions = actions
        agents = ["car_1", "car_2", "traffic_light_1"] if self.time <= 3 else ["car_1", "traffic_light_1"]
        dones = {"car_2": True} if self.time == 3 else {}
        rewards = {name: float(actions[name]) for name in agents}
        return self._seen(agents), rewards, {**dones, "__all__": self.time == 6}, {name: {} for name in agents}

    def _seen(self, agents):
        sizes = {name: 1 if "light" in name else 3 for name in agents}
        return {name: np.full(size, self.time / 6, np.float32) for name, size in sizes.items()}


class ListedTraffic(OldTraffic):
    """The same, with spaces by methods."""

    possible_agents = ("car_1", "car_2", "traffic_light_1")

    def observation_space(self, agent):
        return (self.LIGHT if "light" in agent else self.CAR)[0]

    def action_space(self, agent):
        return (self.LIGHT if "light" in agent else self.CAR)[1]


class DictTraffic(OldTraffic):
    """The same, with spaces by mappings."""

    observation_spaces = {
        "car_1": OldTraffic.CAR[0],
        "car_2": OldTraffic.CAR[0],
        "traffic_light_1": OldTraffic.LIGHT[0],
    }
    action_spaces = {"car_1": OldTraffic.CAR[1], "car_2": OldTraffic.CAR[1], "traffic_light_1": OldTraffic.LIGHT[1]}


class SeededTraffic(ListedTraffic):
    """The same, with the reset of today and the step of four values."""

    def reset(self, *, seed=None, options=None):
        return super().reset(), {}


class BareReset(ListedTraffic):
    def reset(self, *, seed=None, options=None):
        return super().reset()


class Inherits(gymnasium.Env, OldAlone):
    reset, step = OldAlone.reset, OldAlone.step


TRAFFIC_SPACES = {"car_*": OldTraffic.CAR, "traffic_light_*": OldTraffic.LIGHT}
WRAPPED = {
    "spaces by pattern": lambda: joystick.OldGym(OldTraffic(), spaces=TRAFFIC_SPACES),
    "spaces by method": lambda: joystick.OldGym(ListedTraffic()),
    "spaces by mapping": lambda: joystick.OldGym(DictTraffic()),
    "new reset": lambda: joystick.OldGym(SeededTraffic()),
}
POLICIES = {"cars": {"agents": "car_*"}, "lights": {"agents": "traffic_light_*", "algo_name": "DQN"}}
SMALL = {"batch_size": 40, "sgd_batch_size": 20}
FEW = {"batch_size": 8, "learning_starts": 8}
PLAIN = {"normalize_obs": False}
"""What a window of older weights needs."""


@pytest.mark.parametrize(
    ("maker", "start"),
    [
        (ListedTraffic, "reset has no argument seed and no argument options; joystick.OldGym(env) around it accepts"),
        (BareReset, "reset returned observations without infos; joystick.OldGym(env) around it accepts"),
        (
            DictTraffic,
            "observation_space(agent), action_space(agent); joystick.OldGym(env) accepts the old form",
        ),
        (OldTraffic, "joystick.OldGym(env) accepts the old step of 4 values"),
        (OldAlone, "joystick.OldGym(env) accepts the old step of 4 values"),
        (Inherits, "joystick.OldGym(env) accepts it as it is"),
    ],
)
def test_the_old_interface_without_a_wrapper_names_the_wrapper_at_the_first_look(maker, start):
    with pytest.raises((joystick.EnvError, joystick.ConfigError, joystick.JoystickError)) as caught:
        joystick.Run("PPO", lambda: maker(), general_cfg=QUICK, into="never")
    assert start in str(caught.value)
    assert str(caught.value).count("OldGym") == 1


def test_an_old_step_behind_a_new_reset_names_the_wrapper_too():
    with (
        pytest.raises(joystick.EnvError, match=r"step returned 4 values, with dones; joystick.OldGym\(env\)"),
        joystick.Run("PPO", SeededTraffic, env_cfg={"n_envs": 1}, general_cfg=QUICK, policies_cfg=POLICIES) as run,
    ):
        run.train(40)


@pytest.mark.parametrize("maker", WRAPPED.values(), ids=WRAPPED)
def test_old_agents_train_and_are_evaluated(maker):
    settings = {"general_cfg": {**QUICK, "online_eval_episode": 2}, "algo_cfg": SMALL, "env_cfg": {"n_envs": 2}}
    with joystick.Run("PPO", lambda: maker(), **settings, policies_cfg=POLICIES) as run:
        result = run.train(80)
        score = run.evaluate(2)
    assert result["step"] >= 80
    assert set(result["policies"]) == {"cars", "lights"}
    assert score["episodes"] == 2


def test_old_flags_become_terminations_and_truncations_by_hand():
    env = joystick.OldGym(ListedTraffic())
    obs, infos = env.reset(seed=1)
    assert [*obs] == [*env.possible_agents] == ["car_1", "car_2", "traffic_light_1"]
    assert infos == {}
    for _ in range(2):
        assert env.step(dict.fromkeys(obs, 1))[2:4] == ({"__all__": False}, {"__all__": False})
    _, rewards, terminated, truncated, _ = env.step(dict.fromkeys(obs, 1))
    assert rewards == {"car_1": 1, "car_2": 1, "traffic_light_1": 1}
    assert (terminated, truncated) == ({"car_2": True, "__all__": False}, {"car_2": False, "__all__": False})


def test_a_time_limit_in_all_infos_cuts_the_episode():
    from envs.python.old_agents import ends

    cut = {"TimeLimit.truncated": True}
    assert ends({"a": True, "__all__": True}, {"a": cut, "b": cut}) == (
        {"a": False, "__all__": False},
        {"a": True, "__all__": True},
    )
    assert ends({"__all__": True}, {"a": cut, "b": {}}) == ({"__all__": True}, {"__all__": False})
    assert ends({"__all__": True}, {}) == ({"__all__": True}, {"__all__": False})


@pytest.mark.parametrize(
    ("env", "spaces", "message"),
    [
        (OldTraffic(), None, r"OldTraffic has no observation_space; set self.observation_space in its __init__, or"),
        (OldTraffic(), {"car_*": OldTraffic.CAR}, r"OldTraffic has no spaces of agent 'traffic_light_1'; write"),
        (OldAlone(), {"a*": OldTraffic.CAR}, r"reset of OldAlone gives a ndarray; expected observations by agent"),
        (type("E", (OldTraffic,), {"observation_space": Box(0, 1, (3,)), "action_space": Discrete(2)})(), None,
         r"reset of E gives a mapping \(car_1, car_2, traffic_light_1\) and its space is one for all; if these are"),
        (type("F", (ListedTraffic,), {"step": lambda self, actions: (1, 2, 3)})(), None, "step of F gives 3 values"),
        (type("G", (ListedTraffic,), {"step": lambda self, actions: (1, 2, 3, 4)})(), None,
         "step of G: observations: got a int; expected a mapping by agent"),
    ],
)  # fmt: skip
def test_what_the_wrapper_cannot_use_is_a_sentence(env, spaces, message):
    def play():
        wrapped = joystick.OldGym(env, spaces=spaces)
        wrapped.reset(seed=0)
        [wrapped.observation_space(agent) for agent in wrapped.possible_agents]
        wrapped.step({})

    with pytest.raises(joystick.EnvError, match=message):
        play()


@pytest.mark.parametrize("run_ahead", [0, 1])
def test_old_agents_train_under_ray_as_in_one_process(monkeypatch, run_ahead):
    from tests.tools.distributed import fake_rays

    fake_rays(monkeypatch)
    ray = {"mp_backend": "ray", "n_workers": 1, "run_ahead": run_ahead}
    weights = {}
    for name, general in (("one", {}), ("ray", ray)):
        options = {"general_cfg": {**QUICK, **general}, "env_cfg": {"n_envs": 2}, "policies_cfg": POLICIES}
        with joystick.Run("PPO", WRAPPED["spaces by pattern"], **options, algo_cfg=SMALL | PLAIN, into=name) as run:
            run.train(120)
            weights[name] = run.weights()
    if run_ahead == 0:
        np.testing.assert_equal(weights["one"], weights["ray"])


# ------------------------------------------------------------------------------------------------ names of results


def test_the_steps_of_an_iteration_are_counted_apart_from_updates_on_given_data(tmp_path):
    """40 updates on given data come first: an iteration is of 40 updates or steps."""
    with joystick.Run("DQN", Plain, general_cfg={**QUICK, "collect_traj": True}, algo_cfg=FEW, into="data") as run:
        run.train(40)
    data = {"data": str(run.task), "offline_updates": 40}
    settings = {**QUICK, "result_names": "rllib"}
    with joystick.Run("DQN", Plain, general_cfg=settings, algo_cfg={**FEW, **data}, into="run") as run:
        results = [run.train(40), run.train(40)]
    assert [result["timesteps_this_iter"] for result in results] == [0, 40]


def test_a_result_has_the_names_of_rllib_on_request_and_ours_too():
    for names in ("joystick", "rllib"):
        settings = {**QUICK, "result_names": names}
        with joystick.Run("PPO", Plain, general_cfg=settings, algo_cfg=SMALL, into=names) as run:
            results = [run.train(40), run.train(40)]
        lines = [json.loads(line) for line in (run.task / "results/result.json").read_text().splitlines()]
        assert [line["iteration"] for line in lines] == [1, 2]
        assert ("episode_reward_mean" in lines[0]) is (names == "rllib")
    first, last = results
    assert (last["training_iteration"], last["timesteps_total"], last["episodes_total"]) == (2, 80, 8)
    assert (first["timesteps_this_iter"], last["timesteps_this_iter"], last["episodes_this_iter"]) == (40, 40, 8)
    assert last["episode_reward_mean"] == last["return_mean"]
    assert (last["episode_reward_min"], last["episode_reward_max"]) == (last["return_min"], last["return_max"])
    assert last["episode_len_mean"] == 10
    assert last["time_total_s"] == lines[1]["time_total_s"] >= last["time_this_iter_s"] > 0
    assert last["info"]["learner"]["default_policy"]["policy_loss"] == last["metrics"]["policy_loss"]
    assert last["custom_metrics"] == last["policy_reward_mean"] == {}
    assert Path("joystick/results/progress.csv").read_bytes() == Path("rllib/results/progress.csv").read_bytes()


def test_several_policies_have_rewards_and_learners_by_name():
    settings = {**QUICK, "result_names": "rllib"}
    with joystick.Run("PPO", WRAPPED["spaces by method"], general_cfg=settings, policies_cfg=POLICIES) as run:
        result = run.train(60)
    assert set(result["policy_reward_mean"]) == set(result["policy_reward_max"]) == {"cars", "lights"}
    assert set(result["info"]["learner"]) == {"cars", "lights"}


def test_a_callback_reads_rllibs_names_and_another_name_is_refused():
    read = []
    settings = {**QUICK, "result_names": "RLlib"}
    callbacks = {"on_train_result": lambda info: read.append(info["result"]["episode_reward_mean"])}
    with joystick.Run("PPO", Plain, general_cfg=settings, algo_cfg=SMALL, callbacks=callbacks) as run:
        result = run.train(40)
    assert read == [result["return_mean"]]
    with pytest.raises(ConfigError, match=r"general_cfg\.result_names"):
        joystick.Run("PPO", Plain, general_cfg={"result_names": "tune"})


def test_a_result_without_the_names_of_rllib_says_how_to_get_them():
    heard = []

    def on_train_result(info):
        with pytest.raises(KeyError, match="'result_names': 'rllib'"):
            info["result"]["episodes_this_iter"]
        heard.append(info["result"]["step"])

    callbacks = {"on_train_result": on_train_result}
    with joystick.Run("PPO", Plain, general_cfg=QUICK, algo_cfg=SMALL, callbacks=callbacks) as run:
        result = run.train(40)
    assert heard == [result["step"]]
    for name in ("episode_reward_mean", "timesteps_this_iter", "policy_reward_mean", "info"):
        with pytest.raises(KeyError, match=r"the result has no .*general_cfg=.'result_names': 'rllib'. it has RLlib's"):
            result[name]
    with pytest.raises(KeyError, match=r"^'returns'$"):
        result["returns"]
    assert result.get("episode_reward_mean") is None


def test_the_callbacks_of_the_source_read_the_last_observation_by_its_name():
    """Functions of the guide: pole angles of an episode."""

    def on_episode_start(info):
        info["episode"].user_data["pole_angles"] = []

    def on_episode_step(info):
        info["episode"].user_data["pole_angles"].append(abs(info["episode"].last_observation_for()[1]))

    def on_episode_end(info):
        episode = info["episode"]
        assert episode.last_action_for() == episode.last_action()
        assert episode.last_reward_for() == episode.last_reward()
        assert episode.last_info_for() == {}
        episode.custom_metrics["pole_angle"] = float(np.mean(episode.user_data["pole_angles"]))

    functions = (on_episode_start, on_episode_step, on_episode_end)
    callbacks = {function.__name__: function for function in functions}
    options = {"callbacks": callbacks, "metrics": ("pole_angle",)}
    with joystick.Run("PPO", Plain, general_cfg=QUICK, algo_cfg=SMALL, **options) as run:
        assert 0 < run.train(160)["custom"]["pole_angle"] < 1


def test_functions_of_one_argument_reach_workers_and_environments():
    """RLlib's foreach_evaluator(lambda ev: ...) and foreach_env(lambda env: ...)."""
    with joystick.Run("PPO", Plain, general_cfg=QUICK, algo_cfg=SMALL, env_cfg={"n_envs": 2}) as run:
        run.train(40)
        assert run.foreach_worker(lambda ev: ev.weights().keys()) == [run.weights().keys()]
        assert run.foreach_env(lambda env: type(env).__name__, changes=False) == ["Plain", "Plain"]
        assert run.foreach_env(lambda *both: len(both), changes=False) == [2, 2]
        assert run.foreach_worker(lambda ev, index=7: index) == [0]


@pytest.mark.parametrize(("theirs", "ours"), [("PG", "REINFORCE"), ("SimpleQ", "DQN")])
def test_with_a_config_of_rllib_the_algorithm_has_its_name_too(theirs, ours):
    with joystick.Run(theirs, Plain, config={"gamma": 0.9}, general_cfg=QUICK) as run:
        assert run.config.general.algo_name == ours
    with pytest.raises(ConfigError, match="unknown name 'PG'; REINFORCE is the same algorithm"):
        joystick.Run("PG", Plain)


# ------------------------------------------------------------------------------------------------ multiagent

CAR, LIGHT = OldTraffic.CAR, OldTraffic.LIGHT


def mapping_of_the_source(agent_id):
    """The function of the source: a car draws one of two policies."""
    return "traffic_light" if agent_id.startswith("traffic_light_") else random.choice(["car1", "car2"])


def multiagent(**more):
    graphs = {
        "car1": (None, *CAR, {"gamma": 0.85}),
        "car2": (None, *CAR, {"gamma": 0.99}),
        "traffic_light": (None, *LIGHT, {}),
    }
    return {"policy_graphs": graphs, "policy_mapping_fn": mapping_of_the_source, **more}


def make_traffic(env_config):
    """A function as RLlib's register_env has it."""
    return joystick.OldGym(OldTraffic(), spaces=TRAFFIC_SPACES)


def test_the_traffic_example_of_the_source_trains_three_policies():
    joystick.register_env("my_multiagent_env", make_traffic)
    with joystick.Run("PPO", "my_multiagent_env", general_cfg=QUICK, config={"multiagent": multiagent()}) as run:
        gammas = {name: policy.gamma for name, policy in run.config.policies.items()}
        result = run.train(80)
    assert gammas == {"car1": 0.85, "car2": 0.99, "traffic_light": 0.99}
    assert set(result["policies"]) == {"car1", "car2", "traffic_light"}
    agents = {name: policy.agents for name, policy in run.config.policies.items()}
    assert set(agents.values()) == {f"{__name__}:mapping_of_the_source"}
    with joystick.Run.resume(run.task, allow_import=[__name__]) as again:
        again.train(20)


def test_the_hierarchy_of_the_source_learns_its_top_level_alone():
    joystick.register_env("traffic", make_traffic)
    levels = {"top_level": (None, *LIGHT, {}), "low_level": (None, *CAR, {"lr": 0.5})}
    config = {
        "multiagent": {
            "policy_graphs": levels,
            "policy_mapping_fn": lambda agent_id: "low_level" if agent_id.startswith("car_") else "top_level",
            "policies_to_train": ["top_level"],
        },
        "num_workers": 0,
    }
    with joystick.Run("PPO", "traffic", general_cfg=QUICK, config=config) as run:
        assert {name: policy.train for name, policy in run.config.policies.items()} == {
            "top_level": True,
            "low_level": False,
        }
        before = run.weights()
        run.train(80)
        after = run.weights()
    assert all(np.array_equal(after[name], before[name]) for name in before if name.startswith("low_level"))
    assert not all(np.array_equal(after[name], before[name]) for name in before)


def test_classes_and_settings_of_a_policy_have_rllibs_names_too():
    spec = {
        "cars": ("DQNTorchPolicy", *CAR, {"buffer_size": 500, "n_step": 3, "train_batch_size": 16}),
        "lights": {"policy_class": "PPOTFPolicy", "config": {"lambda": 0.8, "sgd_minibatch_size": 8, "lr": 0.25}},
    }
    config = loaded_multiagent(policies=spec, policy_mapping_fn={"car_*": "cars", "light_*": ["lights"]})
    cars, lights = config.policies["cars"], config.policies["lights"]
    assert (config.policy_packages["cars"].NAME, config.policy_packages["lights"].NAME) == ("DQN", "PPO")
    assert (cars.buffer_size, cars.n_step, cars.batch_size) == (500, 3, 16)
    assert (lights.gae_lambda, lights.sgd_batch_size, lights.lr) == (0.8, 8, 0.25)
    assert (cars.agents, lights.agents) == (["car_*"], ["light_*"])


def loaded_multiagent(text=False, model=None, **value):
    config = {"multiagent": value, **({} if model is None else {"model": model})}
    return load(
        None, ["general_cfg.env_name=toy"], find_algo=ALGOS, find_env=ENVS, algo="PPO", env="traffic",
        config=json.dumps(config) if text else own.by_name(config), allow_import=[__name__],
    )  # fmt: skip


def test_the_flag_config_takes_it_with_a_function_by_name_or_patterns():
    names = {"cars": [None, None, None, {"gamma": 0.5}], "lights": None}
    for mapping in (f"{__name__}:by_kind", {"car_*": "cars", "light_*": "lights"}):
        config = loaded_multiagent(text=True, policies=names, policy_mapping_fn=mapping)
        assert config.policies["cars"].gamma == 0.5
    assert loaded_multiagent(text=True, policies=["default_policy"]).policies["default_policy"].agents == "*"
    words = ["--algo", "PPO", "--env", "traffic", "general_cfg.max_total_step=100", "general_cfg.save_fig=false"]
    text = json.dumps({"multiagent": {"policies": names, "policy_mapping_fn": f"{__name__}:by_kind"}})
    assert main([*words, "--config", text, "--allow-import", __name__, "--into", "run"]) == 0


def by_kind(agent_id, episode, worker, **kwargs):
    """A function with the arguments of later versions."""
    assert episode is None
    return "cars" if agent_id.startswith("car_") else "lights"


def test_asking_a_function_draws_none_of_the_programs_random_numbers():
    random.seed(3)
    expected = random.random()
    random.seed(3)
    joystick.register_env("t", make_traffic)
    joystick.Run("PPO", "t", general_cfg=QUICK, config={"multiagent": multiagent()}).close()
    assert random.random() == expected


BAD_MULTIAGENT = [
    (3, "multiagent: got 3; expected a mapping with policies and policy_mapping_fn"),
    ({"policys": {}}, "multiagent: policys has no counterpart here; did you mean policies?"),
    ({"policy_mapping_fn": by_kind}, 'has no policies; write policies: {"cars"'),
    ({"policies": {"a": None}, "policy_graphs": {"a": None}}, "policies and policy_graphs are the same; keep one"),
    ({"policies": {}}, "policies: got {}; expected policies by name"),
    ({"policies": 3}, "policies: got 3; expected policies by name"),
    (
        {"policies": {"a": (None, None)}},
        "policy a: got 2 parts; expected (policy_class, obs",
    ),
    ({"policies": {"a": 3}}, "policy a: got 3; expected None, or (policy_class"),
    ({"policies": {"a": {"class": 3}}}, "policy a: class is none of policy_class, observation_space"),
    ({"policies": {"a": (None, None, None, 3)}}, "policy a: config: got 3; expected settings by name"),
    (
        {"policies": {"a": ("MyPolicyGraph", None, None, {})}},
        "policy a: MyPolicyGraph is no algorithm here; write",
    ),
    (
        {"policies": {"a": None, "b": None}},
        "policy_mapping_fn: is missing; expected a function from",
    ),
    ({"policies": {"a": None, "b": None}, "policy_mapping_fn": 3}, "policy_mapping_fn: got 3; expected a function"),
    (
        {"policies": {"a": None, "b": None}, "policy_mapping_fn": {"*": "c"}},
        "policy_mapping_fn: *: there is no policy",
    ),
    (
        {"policies": {"a": None, "b": None}, "policy_mapping_fn": {"*": "a"}},
        "policy_mapping_fn: gives policy b no",
    ),
    ({"policies": ["a"], "policies_to_train": "a"}, "policies_to_train: got 'a' (text); expected a list of policies"),
    ({"policies": ["a"], "policies_to_train": ["b"]}, "policies_to_train: there is no policy 'b'"),
    ({"policies": ["a"], "observation_fn": by_kind}, "observation_fn has no counterpart here; write a wrapper around"),
    ({"policies": ["a"], "replay_mode": "lockstep"}, "replay_mode: lockstep has no counterpart here, only independent"),
    ({"policies": {"a-b": None}}, "policies_cfg.a-b: is not a valid policy name"),
    ({"policies": {"a": (None, None, None, {"gamm": 1})}}, "multiagent.a.gamm: did you mean gamma?"),
    ({"policies": {"a": (None, None, None, {"gamma": 2})}}, "multiagent.a.gamma: got 2; expected a number from 0 to 1"),
    (
        {"policies": {"a": (None, None, None, {"num_workers": 2})}},
        "num_workers: is a setting of the run",
    ),
    ({"policies": ["a"], "policy_mapping_fn": "no_such:thing"}, "imports no_such"),
]


@pytest.mark.parametrize(("value", "message"), BAD_MULTIAGENT)
def test_a_wrong_multiagent_is_a_sentence(value, message):
    with pytest.raises(ConfigError) as caught:
        loaded_multiagent(**value) if isinstance(value, dict) else load(
            None, find_algo=ALGOS, find_env=ENVS, algo="PPO", env="traffic", config={"multiagent": value}
        )
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda agent_id: "carz",
            "gives agent 'car_1' the policy 'carz', and there is none; did you",
        ),
        (lambda agent_id: None, "gives None for agent 'car_1'; expected the name of its policy, or True or False"),
        (lambda agent_id: agent_id.nothing, "failed for agent 'car_1': AttributeError: 'str' object has no attribute"),
        (lambda agent_id, episode, worker: str(episode.worker), "failed for agent 'car_1': AttributeError: 'NoneType'"),
        (lambda agent_id: "car1", "policies_cfg.car2.agents: no agent matches"),
    ],
)
def test_a_wrong_mapping_function_is_a_sentence(function, message):
    joystick.register_env("t", make_traffic)
    value = multiagent(policy_mapping_fn=function)
    with pytest.raises(ConfigError) as caught:
        joystick.Run("PPO", "t", general_cfg=QUICK, config={"multiagent": value})
    assert message in str(caught.value)


def test_the_callbacks_of_a_run_with_rllibs_config_get_its_names():
    lines = []

    def on_train_result(info):
        lines.append((info["trainer"].__name__, info["result"]["episodes_this_iter"]))

    config = {"callbacks": {"on_train_result": on_train_result}}
    with joystick.Run("PG", Plain, config=config, general_cfg=QUICK) as run:
        result = run.train(20)
    assert lines == [("REINFORCE", result["episodes_this_iter"])]
    assert joystick.Run.__name__ == "Run"
    assert "episode_reward_mean" in result


def layers_of(own_model):
    """Returns layer sizes and common names of the policies p and q, of which p has a model of its own."""
    spec = {"p": (None, None, None, own_model), "q": (None, None, None, {})}
    model = {"vf_share_layers": True, "fcnet_hiddens": [16, 8]}
    read = loaded_multiagent(policies=spec, policy_mapping_fn={"p*": "p", "q*": "q"}, model=model).policies
    return {name: [(layer.layer_size, layer.shared) for layer in read[name].actor_layers] for name in read}


def test_each_policy_of_multiagent_has_its_own_layers():
    common = [([16], "q_trunk_1"), ([8], "q_trunk_2")]
    assert layers_of({}) == {"p": [([16], "p_trunk_1"), ([8], "p_trunk_2")], "q": common}
    assert layers_of({"model": {"fcnet_hiddens": [4]}}) == {"p": [([4], "p_trunk_1")], "q": common}
