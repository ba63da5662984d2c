"""The same words mean the same settings in Python, in a file and on the command line; general_cfg.preset decides."""

import json
import sys
from pathlib import Path

import pytest

import joystick
from config.read.loader import ConfigError, load
from framework.catalog import ALGOS, ENVS
from main import main

PRESET = str(Path(__file__).parents[2] / "presets" / "CartPole-v1" / "PPO.yaml")
WORDS = {"general_cfg": {"seed": 3, "compile": "off", "kernels": {}}, "algo_cfg": {"gamma": 0.9}}
VARIANT = """\
from algos.ppo.config import Config as Family

NAME, ALIASES = "OwnPPO", ()


class Config(Family):
    pass
"""
FILE = """\
general_cfg: {algo_name: PPO, seed: 3, compile: off, kernels: {}, %s}
algo_cfg: {gamma: 0.9}
env_cfg: {id: CartPole-v1}
"""
LINE = ("general_cfg.seed=3", "general_cfg.compile=off", "general_cfg.kernels={}", "algo_cfg.gamma=0.9")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def loaded(path=None, *words, **flags):
    return load(path, words, find_algo=ALGOS, find_env=ENVS, **flags)


def in_python(**options):
    with joystick.Run("PPO", "CartPole-v1", into="run", **WORDS, **options) as run:
        return run.config


def in_a_file(key=""):
    Path("run.yaml").write_text(FILE % key)
    return loaded("run.yaml")


def typed(*words):
    return loaded(None, *LINE, *words, algo="PPO", env="CartPole-v1")


@pytest.fixture(params=["ppo", "same_settings"])
def mine(request, tmp_path, monkeypatch):
    """A variant of PPO of the user's own, with a class of settings of its own or with PPO's."""
    (tmp_path / "own_variants" / request.param).mkdir(parents=True)
    text = VARIANT if request.param == "ppo" else VARIANT.partition("\n\n\n")[0].replace("Family", "Config")
    (tmp_path / "own_variants" / request.param / "__init__.py").write_text(text)
    for name in [name for name in sys.modules if name.partition(".")[0] == "own_variants"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    return f"own_variants.{request.param}"


def test_a_variant_of_ones_own_may_begin_with_the_preset_of_its_parent(mine):
    words = (f"general_cfg.algo_name={mine}", "env_cfg.id=CartPole-v1")
    without = loaded(None, *words, allow_import=["own_variants"])
    assert without.preset is None
    assert "PPO has a preset for it: general_cfg.preset=CartPole-v1/PPO begins with that" in without.notes
    config = loaded(None, *words, "general_cfg.preset=CartPole-v1/PPO", allow_import=["own_variants"])
    assert (config.preset, config.algo.gamma, config.env.n_envs) == (PRESET, 0.98, 32)
    assert config.expected_return is None, "the preset promises a return of PPO"
    with pytest.raises(ConfigError, match="is for DQN, and algo_name is own_variants"):
        loaded(None, *words, "general_cfg.preset=CartPole-v1/DQN", allow_import=["own_variants"])


@pytest.mark.parametrize(
    ("python", "key", "words", "preset"),
    [
        ({}, "preset: default", (), PRESET),
        ({"preset": "cartpole-v1/ppo"}, "preset: CartPole-v1/PPO.yaml", ("general_cfg.preset=CartPole-v1/PPO",),
         PRESET),
        ({"preset": None}, "", ("general_cfg.preset=none",), None),
        ({"preset": "none"}, "preset: null", ("general_cfg.preset=null",), None),
        ({"preset": "Acrobot-v1/PPO"}, "preset: Acrobot-v1/PPO", ("general_cfg.preset=Acrobot-v1/PPO",),
         PRESET.replace("CartPole", "Acrobot")),
    ],
)  # fmt: skip
def test_the_same_words_give_the_same_settings_everywhere(python, key, words, preset):
    configs = [in_python(**python), in_a_file(key), typed(*words)]
    assert len({config.to_yaml() for config in configs}) == 1
    assert [config.preset for config in configs] == [preset] * 3
    assert configs[0].algo.gamma == 0.9
    assert (configs[0].algo.lr == configs[0].algo_package.Config().lr) == (preset is None)
    assert (configs[0].expected_return == 500) == (preset == PRESET)


@pytest.mark.parametrize("algo", [name for name in ALGOS.available() if ALGOS.get(name).Config.LEARNS])
def test_what_is_left_out_is_the_same_however_a_run_is_asked_for(algo):
    """Without a preset for the environment: on the command line, by flags, in a file and in Python."""
    model, env = ALGOS.get(algo).Config, "FrozenLake8x8-v1"
    needed = {"data": "x"} if model.OFFLINE or model.IMITATES else {}
    needed |= {"expert": "environment"} if "expert" in model.model_fields else {}
    Path("run.yaml").write_text(json.dumps({"general_cfg": {"algo_name": algo}, "algo_cfg": needed}))
    words = [f"algo_cfg.{key}={value}" for key, value in needed.items()]
    configs = [
        loaded(None, f"general_cfg.algo_name={algo}", f"env_cfg.id={env}", *words),
        loaded(None, *words, algo=algo, env=env),
        loaded("run.yaml"),
        loaded(None, values={"algo_cfg": needed}, algo=algo, env=env),
    ]
    assert [config.preset for config in configs] == [None] * 4
    assert all(config.algo == model(**needed) for config in configs)


STEPS = {"max_step": -1, "max_episode": -1, "online_eval": True, "online_eval_episode": 20, "model_save_unit": "step"}
EPISODES = {"max_step": -1, "online_eval": True, "online_eval_episode": 20}
RUNS = {
    ("A2C", "APPO", "COMA", "HAPPO", "IMPALA", "MAPPO", "PPO", "REINFORCE", "TRPO"): (
        {**STEPS, "max_total_step": 500_000, "model_save_fre": 20480}, {"n_envs": 8}
    ),
    ("BTR", "C51", "DQN", "DRQN", "DoubleDQN", "DuelingDQN", "IQN", "MunchausenDQN", "NoisyDQN", "PER_DQN", "QRDQN",
     "R2D2", "RainbowDQN", "SAC_D", "SoftQ"): ({**STEPS, "max_total_step": 100_000, "model_save_fre": 5000}, {}),
    ("CrossQ", "DDPG", "DDPG_HER", "FlashSAC", "MADDPG", "MASAC", "QMIX", "SAC", "SAC_HER", "TD3", "TQC", "VDN"): (
        {**STEPS, "max_total_step": 200_000, "model_save_fre": 10_000}, {}
    ),
    ("DroQ", "REDQ"): ({**STEPS, "max_total_step": 50_000, "model_save_fre": 10_000}, {}),
    ("DynaQ", "DynaQPlus", "PrioritizedSweeping"): ({**EPISODES, "max_episode": 500, "model_save_fre": 5000}, {}),
    ("DoubleQLearning", "ExpectedSarsa", "QLearning", "Sarsa",
     "SarsaLambda"): ({**EPISODES, "max_episode": 2000, "model_save_fre": 10_000}, {}),
    ("MonteCarlo",): ({**EPISODES, "max_episode": 2000, "model_save_fre": 200}, {}),
    ("PQN",): ({**STEPS, "max_total_step": 500_000, "model_save_fre": 25_000}, {"n_envs": 32}),
    ("RecurrentPPO",): ({**STEPS, "max_total_step": 500_000, "model_save_fre": 25_000}, {"n_envs": 16}),
}  # fmt: skip
"""Algorithms -> general_cfg and env_cfg of their runs without a preset."""


@pytest.mark.parametrize("name", ALGOS.available())
def test_a_run_without_a_preset_has_the_length_and_rows_of_its_algorithm(name):
    algo = ALGOS.get(name).NAME
    general, env = next((run for names, run in RUNS.items() if algo in names), ({}, {}))
    run = {"general_cfg": general, "env_cfg": env} if general else {}
    assert run == ALGOS.get(name).Config.RUN


def test_a_run_without_a_preset_says_where_its_length_comes_from_and_gives_way_to_what_is_written():
    env = "FrozenLake8x8-v1"
    configs = [loaded(None, algo="PPO", env=env), loaded(None, values={}, algo="PPO", env=env)]
    Path("run.yaml").write_text("general_cfg: {algo_name: PPO, preset: default}\nenv_cfg: {id: FrozenLake8x8-v1}\n")
    configs.append(loaded("run.yaml"))
    for config in configs:
        assert (config.general.max_total_step, config.general.max_step, config.env.n_envs) == (500_000, -1, 8)
        assert config.where["general_cfg.max_total_step"] == config.where["env_cfg.n_envs"] == "default run of PPO"
        assert not {"general_cfg.max_total_step", "env_cfg.n_envs"} & config.explicit
        assert (
            f"no preset for PPO on {env}: the Python defaults are used, and for the run those of PPO: max_total_step "
            "500000, max_episode -1, max_step -1, online_eval true, online_eval_episode 20, model_save_fre 20480, "
            "model_save_unit step, n_envs 8" in config.notes
        )
    words = ("general_cfg.max_total_step=100", "env_cfg.n_envs=3")
    config = loaded(None, *words, algo="PPO", env=env, episodes=9)
    assert (config.general.max_total_step, config.general.max_episode, config.env.n_envs) == (100, 9, 3)


@pytest.mark.parametrize("key", ["", "preset: none"])
def test_a_file_and_a_run_without_any_preset_have_the_usual_length(key):
    Path("run.yaml").write_text(f"general_cfg: {{algo_name: PPO, {key}}}\nenv_cfg: {{id: FrozenLake8x8-v1}}\n")
    none = loaded(None, "general_cfg.preset=none", algo="PPO", env="FrozenLake8x8-v1")
    for config in (loaded("run.yaml"), none):
        assert (config.general.max_episode, config.general.max_step, config.env.n_envs) == (100, 200, 1)
        assert config.general.max_total_step == -1


@pytest.mark.parametrize(
    ("limits", "schedule"),
    [
        ({}, "linear"),
        ({"max_total_step": 9000}, "linear"),
        ({"max_time": 60}, "constant"),
        ({"max_episode": -1}, "constant"),
    ],
)
def test_a_rate_that_falls_by_default_is_constant_in_a_run_without_a_planned_end(limits, schedule):
    general = {"algo_name": "PPO", "preset": None, **limits}
    config = loaded(None, values={"general_cfg": general})
    assert config.algo.lr_schedule == schedule
    assert any("algo_cfg.lr_schedule is constant" in note for note in config.notes) == (schedule == "constant")
    several = loaded(None, values={"general_cfg": general, "policies_cfg.a": {"agents": "*"}})
    assert several.policies["a"].lr_schedule == schedule


def test_the_printed_settings_repeat_the_run_without_a_preset(tmp_path):
    first = typed()
    Path("config.yaml").write_text(first.to_yaml())
    again = loaded("config.yaml")
    assert "preset:" not in first.to_yaml()
    assert (again.to_yaml(), again.preset) == (first.to_yaml(), None)
    assert not [note for note in again.notes if "preset" in note]


@pytest.mark.parametrize(
    ("text", "noted"),
    [
        ("general_cfg: {algo_name: PPO}\nenv_cfg: {id: CartPole-v1}", True),
        ("general_cfg: {algo_name: PPO}\nalgo_cfg: {vf_clip: 1}\nenv_cfg: {id: CartPole-v1}", True),
        ("general_cfg: {algo_name: PPO}\nalgo_cfg: {lr: 1e-3}\nenv_cfg: {id: CartPole-v1}", False),
        ("general_cfg: {algo_name: PPO, preset: none}\nenv_cfg: {id: CartPole-v1}", False),
        ("general_cfg: {algo_name: ValueIteration}\nenv_cfg: {id: CartPole-v1}", False),
    ],
)
def test_a_file_of_bare_defaults_says_which_preset_there_is(text, noted):
    Path("run.yaml").write_text(text.replace("vf_clip", "value_coef"))
    notes = [note for note in loaded("run.yaml").notes if "there is a preset" in note]
    assert notes == [f"there is a preset, {PRESET}; general_cfg.preset: default takes it"] * noted


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["general_cfg.preset=CartPole-v1/PP"], "general_cfg.preset: there is no preset 'CartPole-v1/PP'; did you mean "
         "CartPole-v1/PPO?"),
        (["general_cfg.preset=../secret"], "general_cfg.preset: there is no preset '../secret'; write default, or a "
         "name such as CartPole-v1/PPO"),
        (["general_cfg.preset=CartPole-v1/PPO", "general_cfg.algo_name=DQN"], "is for PPO, and algo_name is DQN"),
        (["general_cfg.preset=3"], "general_cfg.preset: got 3; expected text or null"),
    ],
)  # fmt: skip
def test_a_name_that_leads_to_no_fitting_preset_is_refused(words, message):
    with pytest.raises(ConfigError) as caught:
        loaded(None, *words)
    assert str(caught.value).endswith(message)


def test_a_run_that_is_loaded_takes_no_preset(capsys):
    with joystick.Run("PPO", "CartPole-v1", into=Path("tasks/run"), general_cfg={"max_total_step": 100}) as run:
        run.train(10)
    assert main(["resume", "run", "general_cfg.preset=default"]) == 2
    assert "general_cfg.preset: a run that is loaded has its own settings; leave it out" in capsys.readouterr().err
    with joystick.Run.resume("run") as again:
        assert again.preset is None


def test_python_names_the_preset_once_and_in_its_repr(capsys):
    with joystick.Run("PPO", "CartPole-v1", into="run", general_cfg={"max_total_step": 9000}) as run:
        assert capsys.readouterr().err == ""
        run.train(10)
        assert capsys.readouterr().err == f"preset: {PRESET} (preset=None: none)\n"
        run.train(10)
        assert (run.preset, repr(run).endswith(f", preset {PRESET}>")) == (PRESET, True)
        assert capsys.readouterr().err == ""
    for options in ({"preset": "default"}, {"preset": None}, {"show": True}):
        with joystick.Run("PPO", "CartPole-v1", into=f"run_{len(options)}_{options}", **options) as run:
            run.train(10)
        assert "(preset=None: none)" not in capsys.readouterr().err
