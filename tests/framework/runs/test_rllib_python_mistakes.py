"""What a program in RLlib's style gets wrong here: each mistake is a sentence that says what to write."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import joystick
from config.own import objects as own
from tests.framework.runs.test_rllib_python import QUICK, SMALL, OldAlone, OldTraffic, Plain

Make = Callable[..., Any]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(own, "_REGISTERED", {})


def run(*args: Any, **options: Any) -> None:
    joystick.Run(*args, **{"general_cfg": QUICK, **options}).close()


def on_cartpole(config: Any, algo: str = "PPO") -> None:
    run(algo, "CartPole-v1", config=config)


def with_run(function: Make) -> None:
    with joystick.Run("PPO", Plain, general_cfg=QUICK, algo_cfg=SMALL) as it:
        function(it)


class NoSpaces(Plain):
    observation_space = action_space = None


class NeedsMissing(Plain):
    def __init__(self, env_config: Any) -> None:
        self.size = env_config["size"]


class WrongIndex(Plain):
    def __init__(self, env_config: Any) -> None:
        self.index = env_config.worker_indx


class GivesLists(Plain):
    def _seen(self) -> Any:
        return [0.0, 0.0]


class GivesMore(Plain):
    def _seen(self) -> Any:
        return np.zeros(3, np.float32)


class GivesNaN(Plain):
    def step(self, action: Any) -> Any:
        obs, _, *rest = super().step(action)
        return obs, float("nan"), *rest


class GivesNone(Plain):
    def step(self, action: Any) -> Any:
        obs, _, *rest = super().step(action)
        return obs, None, *rest


MISTAKES: list[tuple[Make, str]] = [
    # names of algorithms
    (lambda: run("PPOTrainer", "CartPole-v1"), "general_cfg.algo_name: unknown name 'PPOTrainer'; write PPO"),
    (lambda: run("DQNAgent", "CartPole-v1"), "general_cfg.algo_name: unknown name 'DQNAgent'; write DQN"),
    (lambda: run("SACConfig", "CartPole-v1"), "general_cfg.algo_name: unknown name 'SACConfig'; write SAC"),
    (lambda: run("APEX", "CartPole-v1"), "unknown name 'APEX'; Ape-X is PER_DQN with n_step 3, dueling"),
    (lambda: run("CartPole-v1", "PPO"), "Python: PPO is an algorithm, which comes first: 'PPO', 'CartPole-v1'"),
    # the environment
    (lambda: run("PPO", Plain()), "Python: env: got <tests.framework.runs.test_rllib_python.Plain object"),
    (
        lambda: on_cartpole({"env": 3}),
        "Python: config: env: sets env_cfg.id, which env sets too; keep one",
    ),
    (
        lambda: run("PPO", config={"env": "NoSuch-v0"}),
        "env_cfg.id: there is no environment 'NoSuch-v0'; an environment of",
    ),
    (lambda: run("PPO", "my_env"), "env_cfg.id: there is no environment 'my_env'"),
    (
        lambda: run("PPO", "my_env", env_name="python"),
        "'my_env' is not registered in this process; call joystick.register",
    ),
    (lambda: run("PPO", dict), "builtins:dict is not an environment (dict): inherit from gymnasium.Env"),
    (lambda: run("PPO", lambda config: None), "is not an environment (NoneType): inherit from gymnasium.Env"),
    (lambda: run("PPO", lambda a, b: Plain()), "env_cfg.a: is required, and not set: add env_cfg.a=VALUE"),
    (
        lambda: run("PPO", NoSpaces),
        "observation_space: expected a space of gymnasium.spaces, got nothing. Set self.obs",
    ),
    (lambda: run("PPO", NeedsMissing), "NeedsMissing could not be made: KeyError: 'size'"),
    (lambda: run("PPO", WrongIndex), "'EnvContext' object has no attribute 'worker_indx'"),
    (
        lambda: run("PPO", GivesLists),
        "expected an array of float32 with shape (2,), got list [0.0, 0.0]. Return np.asarray",
    ),
    (lambda: run("PPO", GivesMore), "got shape (3,). Make the observation and observation_space agree"),
    (lambda: run("PPO", GivesNaN), "reward: expected a finite number, got nan"),
    (lambda: run("PPO", GivesNone), "reward: expected a number, got NoneType None. Return float(reward)"),
    (lambda: run("PPO", OldAlone), "joystick.OldGym(env) accepts the old step of 4 values"),
    (lambda: run("PPO", OldTraffic), "joystick.OldGym(env) accepts the old step of 4 values"),
    (
        lambda: joystick.OldGym(OldAlone),
        "OldGym: got <class 'tests.framework.runs.test_rllib_python.OldAlone'>; expected an environment with",
    ),
    (lambda: joystick.OldGym(None), "OldGym: got None; expected an environment with reset and step, such as MyEnv()"),
    (lambda: joystick.OldGym(OldTraffic(), spaces=[1]), "OldGym: spaces: got [1]; expected {"),
    (lambda: joystick.OldGym(OldTraffic(), spaces={"car_*": 3}), "OldGym: spaces: got 3; expected {"),
    (lambda: joystick.register_env("a:b", Plain), "'a:b' cannot be registered as a name; use text without a colon"),
    (lambda: joystick.register_env("a", Plain()), "cannot be registered; use a class or a function"),
    (lambda: joystick.register_env(3, Plain), "3 cannot be registered as a name"),
    # the mapping config
    (
        lambda: run("PPO", "CartPole-v1", {"lr": 0.1}),
        "Run takes algo and env by position, and settings by name: config={'lr'",
    ),
    (lambda: on_cartpole("{}"), "Python: config: got '{}'; expected a mapping of settings by RLlib's names"),
    (lambda: on_cartpole({1: 2}), "Python: config: got {1: 2}; expected a mapping"),
    (lambda: on_cartpole({"num_worker": 2}), "config: num_worker: did you mean num_workers?"),
    (lambda: on_cartpole({"num_workers": -1}), "config: num_workers: got -1; expected a whole number"),
    (lambda: on_cartpole({"num_workers": "two"}), "config: num_workers: got 'two' (text); expected a whole number"),
    (
        lambda: on_cartpole({"num_envs_per_worker": 0}),
        "config: num_envs_per_worker: got 0; expected a whole number at least",
    ),
    (
        lambda: on_cartpole({"train_batch_size": 0}),
        "config: train_batch_size: got 0; expected a whole number at least 1",
    ),
    (lambda: on_cartpole({"lr": "fast"}), "config: lr: got 'fast' (text); expected a number above 0"),
    (lambda: on_cartpole({"lr": {"grid_search": [0.1, 0.2]}}), "; values to try are for:"),
    (lambda: on_cartpole({"lr": joystick.grid(0.1)}), "; values to try are for:"),
    (lambda: on_cartpole({"gamma": 2}), "config: gamma: got 2; expected a number from 0 to 1"),
    (lambda: on_cartpole({"env_config": [1]}), "config: env_config: expected a mapping (name: value)"),
    (lambda: run("PPO", Plain, config={"env_config": {"size": 1}}), "size: unknown; known are: none"),
    (
        lambda: on_cartpole({"callbacks": {"on_episode_begin": print}}),
        "there is no event 'on_episode_begin'; did you mean",
    ),
    (
        lambda: on_cartpole({"callbacks": {"on_episode_end": 3}}),
        "on_episode_end is 3; a function of one dict is needed",
    ),
    (lambda: on_cartpole({"callbacks": int}), "is not a class that inherits from joystick.Callbacks"),
    (lambda: on_cartpole({"callbacks": 3}), "callbacks: got 3; expected a class, or functions by event"),
    (lambda: on_cartpole({"model": "mlp"}), "config: model: expected a mapping such as {fcnet_hiddens: [64, 64]"),
    (lambda: on_cartpole({"model": {"fcnet_hidden": [3]}}), "did you mean fcnet_hiddens?"),
    (
        lambda: on_cartpole({"log_level": "LOUD"}),
        "config: log_level: got 'loud' (text); expected debug, info, warning or",
    ),
    (
        lambda: on_cartpole({"multiagent": {"policies": ["a"]}}),
        "CartPole-v1 has a single agent, whose settings are those",
    ),
    (lambda: run("PPO", "CartPole-v1", policies_cfg={"a": {"agents": "*"}}), "leave policies_cfg out"),
    (
        lambda: run("PPO", "CartPole-v1", general_cfg={**QUICK, "traces": "/tmp/debug"}),
        "a folder in the task directory",
    ),
    # arguments and methods
    (lambda: joystick.Run("PPO", general_cfg=5), "Python: general_cfg: got 5; expected a mapping of settings by name"),
    (lambda: joystick.Run(yaml=5), "Python: yaml: got 5; expected a path"),
    (lambda: joystick.Run("PPO", into=5), "Python: into: got 5; expected a path"),
    (lambda: joystick.load(None), "Python: load: got None; expected a path"),
    (lambda: run("PPO", "CartPole-v1", stop={"a": 1}), "Run has no argument 'stop'; write general_cfg={'stop_return'"),
    (lambda: run("PPO", "CartPole-v1", logger_creator=print), "'logger_creator'; write general_cfg={'loggers'"),
    (lambda: run("PPO", "CartPole-v1", num_workers=2), "'num_workers'; a setting is written general_cfg={'n_workers'"),
    (
        lambda: run("PPO", "CartPole-v1", multiagent={}),
        "'multiagent'; write policies_cfg={...}, or config={'multiagent'",
    ),
    (lambda: run("PPO", "CartPole-v1", seed="a"), "general_cfg.seed: got 'a' (text); expected a whole number"),
    (lambda: with_run(lambda it: it.train(-1)), "train(-1): expected a whole number, at least 1"),
    (lambda: with_run(lambda it: it.train("10")), "train('10'): expected a whole number, at least 1"),
    (
        lambda: with_run(lambda it: it.train(total_timesteps=5)),
        "Run.train has no argument 'total_timesteps'; write steps",
    ),
    (
        lambda: with_run(lambda it: it.train(5, callback=print)),
        "Run.train has no argument 'callback'; write joystick.Run(..., callbacks=MyCallbacks)",
    ),
    (
        lambda: with_run(lambda it: it.evaluate(n_eval_episodes=2)),
        "Run.evaluate has no argument 'n_eval_episodes'; write episodes",
    ),
    (
        lambda: with_run(lambda it: it.evaluate(2, deterministic=True)),
        "Run.evaluate has no argument 'deterministic'; leave it out: the actions are the best ones",
    ),
    (lambda: with_run(lambda it: it.film(episode=2)), "Run.film has no argument 'episode'; did you mean episodes?"),
    (lambda: with_run(lambda it: it.get_policy()), "a Run has no 'get_policy'; use run.agent"),
    (
        lambda: with_run(lambda it: it.optimizer),
        "a Run has no 'optimizer'; use run.foreach_worker(f) and run.foreach_env",
    ),
    (lambda: with_run(lambda it: it.local_evaluator), "a Run has no 'local_evaluator'; use run.agent"),
    (lambda: with_run(lambda it: it.workers), "a Run has no 'workers'; use run.foreach_worker(f)"),
    (lambda: with_run(lambda it: it.foreach_evaluator), "a Run has no 'foreach_evaluator'; use run.foreach_worker(f)"),
    (
        lambda: with_run(lambda it: it.compute_action),
        "a Run has no 'compute_action'; use joystick.load(run.task).act(obs)",
    ),
    (lambda: with_run(lambda it: it.export_model), "a Run has no 'export_model'; use joystick.load(run.task)"),
    (lambda: with_run(lambda it: it.stop()), "a Run has no 'stop'; use run.close()"),
    (lambda: with_run(lambda it: it.restore("/none/checkpoint-1")), "/none/checkpoint-1 is not a checkpoint of"),
    (lambda: with_run(lambda it: it.set_weights([1])), "set_weights: got list; expected arrays by name"),
    (lambda: with_run(lambda it: it.set_weights({"a": 1})), "set_weights: a is int; expected an array of numbers"),
    (
        lambda: with_run(lambda it: it.foreach_env(3)),
        "foreach_env: got 3; expected a function of an environment and its place",
    ),
    (
        lambda: with_run(lambda it: it.foreach_worker(3)),
        "foreach_worker: got 3; expected a function of an agent and a num",
    ),
    (lambda: joystick.load("nothing_here"), "'nothing_here' does not exist"),
    # names of the module
    (lambda: joystick.PPOTrainer, "no attribute 'PPOTrainer'; an algorithm is named in joystick.Run(\"PPO\", env)"),
    (lambda: joystick.Trainer, "no attribute 'Trainer'; write joystick.Run(\"PPO\", env)"),
    (lambda: joystick.ModelCatalog, "no attribute 'ModelCatalog'; a model of your own is a layer {layer_type: custom"),
    (lambda: joystick.MultiAgentEnv, "no attribute 'MultiAgentEnv'; a class with possible_agents"),
    (lambda: joystick.Preprocessor, "no attribute 'Preprocessor'; write a wrapper"),
    (lambda: joystick.grid_search, "no attribute 'grid_search'; write joystick.grid(...), with the values one by one"),
    (lambda: joystick.init, "no attribute 'init'; Ray starts by itself"),
    (lambda: joystick.rollout, "no attribute 'rollout'; write run.evaluate(episodes)"),
    (lambda: joystick.pretty_print, "no attribute 'pretty_print'; write joystick.pretty(result)"),
    # tuning and data
    (lambda: joystick.tune("PPO"), "Python: got 'PPO'; expected {'general_cfg': {'algo_name': 'PPO'}}"),
    (lambda: joystick.tune(None), "Python: got None; expected a file, a mapping of settings, or a function"),
    (lambda: joystick.tune({}, num_samples=2), "tune has no argument 'num_samples'; write samples"),
    (lambda: joystick.tune({}, hyperparam_mutations={}), "tune has no argument 'hyperparam_mutations'; write space"),
    (
        lambda: joystick.tune({}, quantile_fraction=0.2),
        "tune has no argument 'quantile_fraction'; pbt copies members of the first quarter, and compares at "
        "environment steps (docs/tuning.md); leave it out",
    ),
    (
        lambda: joystick.Run("PPO", address="auto"),
        "Run has no argument 'address'; a setting is written general_cfg={'ray_address': 'auto'}",
    ),
    (lambda: joystick.tune({}, config={}), "tune has no argument 'config'; write what, a mapping with general_cfg"),
    (
        lambda: joystick.tune.run("PPO", config={}),
        "joystick.tune is a function, and has no 'run'; write joystick.tune(what, space)",
    ),
    (lambda: joystick.tune.grid_search([1]), "has no 'grid_search'; write joystick.grid(...), with the values"),
    (lambda: joystick.tune.choice([1, 2]), "has no 'choice'; write joystick.choice(...), with the values one by one"),
    (lambda: joystick.grid([0.1, 0.2]), "grid takes its values one by one: grid(0.1, 0.2)"),
    (lambda: joystick.choice((1, 2)), "choice takes its values one by one: choice(1, 2)"),
    (
        lambda: joystick.offpolicy_trainer(None, None, None, logger=None),
        "offpolicy_trainer has no argument 'logger'; write it without: a joystick.Run has loggers",
    ),
    (lambda: joystick.onpolicy_trainer(verbose=1), "onpolicy_trainer has no argument 'verbose'; write show=True"),
    (lambda: joystick.onpolicy_trainer(step_per_epochs=1), "'step_per_epochs'; did you mean step_per_epoch?"),
    (lambda: joystick.tune({}, sample=2), "tune has no argument 'sample'; did you mean samples?"),
    (lambda: joystick.read_traces("none"), "none does not exist"),
    (lambda: run("BC", "CartPole-v1", algo_cfg={"data": "none"}), "algo_cfg.data: none does not exist"),
]


@pytest.mark.parametrize(("mistake", "sentence"), MISTAKES, ids=[str(number) for number in range(len(MISTAKES))])
def test_a_mistake_is_a_sentence_that_says_what_to_write(mistake, sentence):
    with pytest.raises(Exception, match=r"\w") as caught:
        mistake()
    assert sentence in str(caught.value)
    kinds = (joystick.ConfigError, joystick.EnvError, joystick.JoystickError, TypeError, ValueError, AttributeError)
    assert isinstance(caught.value, kinds)


def test_there_are_enough_of_them():
    assert len(MISTAKES) >= 50


@pytest.mark.parametrize(
    ("statement", "answer"),
    [
        ("from joystick import PPOTrainer", "an algorithm is named in joystick.Run"),
        ("from joystick import PopulationBasedTraining", "write joystick.tune(what, space, scheduler='pbt')"),
        ("from joystick.rllib import PPO", "joystick.rllib has no 'PPO'; an algorithm is named in joystick.Run"),
        ("from joystick.tune import run", "joystick.tune has no 'run'; write joystick.tune(what, space), or without"),
        ("from joystick.tune import choice", "joystick.tune has no 'choice'; write joystick.choice(...)"),
    ],
)
def test_an_import_of_a_name_that_joystick_lacks_says_what_to_write(statement: str, answer: str) -> None:
    with pytest.raises(ImportError) as error:
        exec(statement, {})
    assert answer in str(error.value)


def test_a_name_that_joystick_lacks_is_no_attribute() -> None:
    assert not hasattr(joystick, "PPOTrainer")
