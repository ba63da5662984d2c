"""Entries of rl-baselines3-zoo are rewritten as files of ours, which load and mean the same."""

import contextlib
import itertools
from pathlib import Path

import pytest
import yaml

import main
from algos.common.nets.chain import NATURE
from config.foreign import convert, sb3, zoo
from config.foreign.cases import NoCounterpartError
from config.foreign.sb3_values import CONVOLUTIONS, Entry, keywords
from config.model.layers import Conv2d
from config.read.loader import ConfigError, load
from config.tell.error_text import shown
from framework.catalog import ALGOS, ENVS


def converted(folder: Path, text: str, name: str = "ppo", env: str | None = None, algo: str | None = None) -> str:
    path = folder / f"{name}.yml"
    path.write_text(text, encoding="utf-8")
    new = convert.converted(str(path), ALGOS, ENVS, algo=algo, env=env)
    assert new is not None
    return new


def entry(words: str, env: str = "CartPole-v1") -> str:
    return f"{env}:\n  policy: MlpPolicy\n" + "".join(f"  {line}\n" for line in words.splitlines())


def settings(text: str) -> dict[str, object]:
    """Returns section.key -> value of a converted file."""
    return {f"{name}.{key}": value for name, part in yaml.safe_load(text).items() for key, value in part.items()}


def comments(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))


PPO = """\
n_envs: 4
n_timesteps: !!float 3e5
n_steps: 64
batch_size: 32
n_epochs: 7
learning_rate: lin_0.002
clip_range: lin_0.15
ent_coef: 0.01
vf_coef: 0.6
gae_lambda: 0.9
gamma: 0.97
normalize: "dict(norm_obs=True, norm_reward=False)"
policy_kwargs: "dict(log_std_init=-1, ortho_init=True, activation_fn=nn.ELU, net_arch=dict(pi=[32, 16], vf=[48]))"
"""


def test_an_entry_of_ppo_means_the_same_here(tmp_path):
    text = converted(tmp_path, entry(PPO, "Pendulum-v1"), env="Pendulum-v1")
    assert settings(text) == {
        "general_cfg.algo_name": "PPO", "general_cfg.max_total_step": 300_000, "env_cfg.id": "Pendulum-v1",
        "env_cfg.n_envs": 4, "algo_cfg.batch_size": 256, "algo_cfg.sgd_batch_size": 32, "algo_cfg.k_epochs": 7,
        "algo_cfg.lr": 0.002, "algo_cfg.lr_schedule": "linear", "algo_cfg.eps_clip": {"linear": [0.15, 0.0]},
        "algo_cfg.entropy_coef": 0.01, "algo_cfg.value_coef": 1.2, "algo_cfg.gae_lambda": 0.9,
        "algo_cfg.gamma": 0.97, "algo_cfg.normalize_obs": True, "algo_cfg.log_std_init": -1,
        "algo_cfg.actor_layers": [{"layer_type": "linear", "layer_size": [32, 16], "activation": "elu"}],
        "algo_cfg.critic_layers": [{"layer_type": "linear", "layer_size": [48], "activation": "elu"}],
    }  # fmt: skip
    assert "batch_size: 256  # was n_steps 64 x n_envs 4\n" in text
    assert "eps_clip: {linear: [0.15, 0.0]}  # was clip_range: lin_0.15\n" in text


def test_a_converted_file_loads(tmp_path, capsys):
    (tmp_path / "ppo.yml").write_text(entry(PPO, "Pendulum-v1"))
    assert main.main(["convert", str(tmp_path / "ppo.yml"), "--env", "Pendulum-v1"]) == 0
    (tmp_path / "new.yaml").write_text(capsys.readouterr().out)
    assert main.main(["--yaml", str(tmp_path / "new.yaml"), "--dry-run"]) == 0


@pytest.mark.parametrize("name", ["ppo", "a2c", "trpo", "ppo_lstm", "dqn", "qrdqn"])
def test_an_entry_that_says_nothing_has_their_defaults_and_loads(tmp_path, name):
    text = converted(tmp_path, entry("n_timesteps: 1000"), name, "CartPole-v1")
    (tmp_path / "new.yaml").write_text(text)
    config = load(str(tmp_path / "new.yaml"), find_algo=ALGOS, find_env=ENVS)
    assert config.algo.gamma == 0.99
    assert not [note for note in config.notes if note.startswith("not used")]


@pytest.mark.parametrize("name", ["sac", "td3", "ddpg", "tqc", "crossq"])
def test_the_same_for_continuous_actions(tmp_path, name):
    text = converted(tmp_path, entry("n_timesteps: 1000", "Pendulum-v1"), name, "Pendulum-v1")
    (tmp_path / "new.yaml").write_text(text)
    config = load(str(tmp_path / "new.yaml"), find_algo=ALGOS, find_env=ENVS)
    assert (config.algo.learning_starts, config.algo.start_steps) == (100, 100)
    assert config.algo.actor_lr == config.algo.critic_lr == (3e-4 if name in ("sac", "tqc") else 1e-3)
    assert config.algo.exploration_type == "none"


@pytest.mark.parametrize(
    ("name", "words", "expected"),
    [
        ("dqn", "n_timesteps: 2e4\nexploration_fraction: 0.25", {"epsilon_decay": 5000, "epsilon_schedule": "linear"}),
        ("dqn", "n_timesteps: 10\ntrain_freq: 8\ngradient_steps: -1", {"train_fre": 8, "updates_per_train": 8}),
        ("dqn", "n_timesteps: 10\ntrain_freq: 4\ntarget_update_interval: 400", {"target_update": 100}),
        ("dqn", "n_timesteps: 10\ntrain_freq: 64\ngradient_steps: 32\ntarget_update_interval: 10",
         {"target_update": 32}),
        ("qrdqn", "n_timesteps: 10\npolicy_kwargs: dict(net_arch=[32], n_quantiles=20)",
         {"n_quantiles": 20, "value_layers": [{"layer_type": "linear", "layer_size": [32], "activation": "relu"}]}),
        ("sac", "n_timesteps: 10\nent_coef: auto_0.1", {"alpha": "auto", "alpha_init": 0.1}),
        ("sac", "n_timesteps: 10\nent_coef: 0.2\nlearning_rate: 0.01",
         {"alpha": 0.2, "actor_lr": 0.01, "critic_lr": 0.01, "alpha_lr": None}),
        ("sac", "n_timesteps: 10\npolicy_kwargs: dict(n_critics=4)", {"n_critics": 4, "target_critics": 4}),
        ("tqc", "n_timesteps: 10\npolicy_kwargs: dict(n_critics=4)", {"n_critics": 4, "target_critics": None}),
        ("sac", "n_timesteps: 10\ntrain_freq: [1, episode]\ngradient_steps: -1",
         {"train_fre": 1, "updates_per_train": 1}),
        ("td3", "n_timesteps: 10\nnoise_type: normal\nnoise_std: 0.3",
         {"exploration_type": "gaussian", "expl_noise": 0.3}),
        ("td3", "n_timesteps: 10\nnoise_type: ornstein-uhlenbeck\nnoise_std: 0.5",
         {"exploration_type": "ou", "expl_noise": 0.05, "ou_theta": 0.0015}),
        ("trpo", "n_timesteps: 10\nlearning_rate: 0.01\nn_critic_updates: 3\ntarget_kl: 0.02\ncg_max_steps: 7",
         {"critic_lr": 0.01, "k_epochs": 3, "max_kl": 0.02, "cg_steps": 7}),
        ("tqc", "n_timesteps: 10\ntop_quantiles_to_drop_per_net: 5\nreplay_buffer_class: HerReplayBuffer\n"
         "replay_buffer_kwargs: dict(goal_selection_strategy='future', n_sampled_goal=3)",
         {"drop_quantiles": 5, "her_ratio": 0.75}),
        ("a2c", "n_timesteps: 10\nuse_rms_prop: false\nn_steps: 8\nn_envs: 3", {"optimizer": "adam", "batch_size": 24}),
        ("ppo", "n_timesteps: 10\nn_steps: 8\nn_envs: 2\nbatch_size: 64", {"batch_size": 16, "sgd_batch_size": 16}),
        ("ppo_lstm", "n_timesteps: 10\npolicy_kwargs: dict(lstm_hidden_size=8, enable_critic_lstm=False, net_arch=[4])",
         {"actor_layers": [{"layer_type": "lstm", "layer_size": [8]},
                           {"layer_type": "linear", "layer_size": [4], "activation": "tanh"}],
          "critic_layers": [{"layer_type": "linear", "layer_size": [4], "activation": "tanh"}]}),
        ("ppo", "n_timesteps: 10\npolicy_kwargs: dict(optimizer_kwargs=dict(weight_decay=0.1))",
         {"weight_decay": 0.1, "adam_epsilon": 1e-8}),
        ("a2c", "n_timesteps: 10\nuse_rms_prop: false\npolicy_kwargs: dict(optimizer_kwargs=dict(eps=1e-4))",
         {"optimizer": "adam", "adam_epsilon": 1e-4}),
        ("dqn", "n_timesteps: 10\npolicy_kwargs: dict(optimizer_class=th.optim.SGD,optimizer_kwargs=dict(momentum=.9))",
         {"optimizer": "sgd", "momentum": 0.9, "adam_epsilon": None}),
        ("qrdqn", "n_timesteps: 10\npolicy_kwargs: dict(optimizer_class=th.optim.AdamW)",
         {"optimizer": "adamw", "adam_epsilon": None}),
        ("qrdqn", "n_timesteps: 10\npolicy_kwargs: dict(optimizer_kwargs=dict(eps=1e-4))", {"adam_epsilon": 0.01 / 32}),
        ("crossq", "n_timesteps: 10\npolicy_kwargs: dict(optimizer_kwargs=dict(eps=1e-7))",
         {"adam_epsilon": 1e-7, "adam_betas": [0.9, 0.999]}),
        ("crossq", "n_timesteps: 10\npolicy_delay: 2\npolicy_kwargs: dict(net_arch=dict(pi=[8], qf=[16]))",
         {"policy_freq": 2,
          "critic_layers": [{"layer_type": "batchrenorm"},
                            {"layer_type": "linear", "layer_size": [16], "activation": "relu"},
                            {"layer_type": "batchrenorm"}]}),
    ],
)  # fmt: skip
def test_values_that_mean_something_else_are_translated(tmp_path, name, words, expected):
    env = "Pendulum-v1" if name in ("sac", "td3", "tqc", "crossq") else "CartPole-v1"
    new = settings(converted(tmp_path, entry(words, env), name, env))
    assert {key: new.get(f"algo_cfg.{key}") for key in expected} == expected


def test_a_limit_of_the_divergence_comes_with_the_mean_that_they_take(tmp_path):
    """sb3-contrib averages the divergence over the dimensions of a Box: 0.02 there are 0.06 of three."""
    new = converted(tmp_path, entry("n_timesteps: 10\ntarget_kl: 0.02", "Pendulum-v1"), "trpo", "Pendulum-v1")
    assert "max_kl: 0.02  # was target_kl (with a Box, multiply it by the number of dimensions of an action" in new


@pytest.mark.parametrize(
    ("words", "obs", "reward"),
    [
        ("", False, False),
        ("normalize: false", False, False),
        ("normalize: true", True, True),
        ("normalize: dict(norm_obs=False)", False, True),
        ("normalize: {norm_reward: false}", True, False),
        ("vec_env_wrapper: [{stable_baselines3.common.vec_env.VecNormalize: {norm_reward: false}}]", True, False),
        ("vec_env_wrapper: stable_baselines3.common.vec_env.VecMonitor", False, False),
    ],
)
@pytest.mark.parametrize("name", ["ppo", "a2c", "trpo"])
def test_observations_are_normalized_where_the_entry_says_so_alone(tmp_path, name, words, obs, reward):
    (tmp_path / "new.yaml").write_text(converted(tmp_path, entry(f"n_timesteps: 1000\n{words}"), name, "CartPole-v1"))
    config = load(str(tmp_path / "new.yaml"), find_algo=ALGOS, find_env=ENVS)
    assert (config.algo.normalize_obs, config.algo.normalize_reward) == (obs, reward)


def test_limits_of_normalized_values_that_are_not_those_of_here_are_said(tmp_path):
    text = converted(tmp_path, entry("normalize: dict(norm_reward=False, clip_obs=5.0, clip_reward=10)"))
    assert "(without clip_obs, which is not offered)" in text


def test_her_is_a_setting_of_the_algorithm_that_the_entry_names(tmp_path):
    words = "n_timesteps: 10\nmodel_class: sac\nn_sampled_goal: 4\nmax_episode_length: 100"
    new = settings(converted(tmp_path, entry(words, "parking-v0"), "her", "parking-v0"))
    assert (new["general_cfg.algo_name"], new["algo_cfg.her_ratio"], new["env_cfg.max_episode_steps"]) == (
        "SAC", 0.8, 100,
    )  # fmt: skip


def test_frames_of_a_game_are_those_of_its_own_vector_environment(tmp_path):
    words = (
        "policy: CnnPolicy\n  env_wrapper:\n    - stable_baselines3.common.atari_wrappers.AtariWrapper\n"
        "  frame_stack: 4\n  n_timesteps: 1e7\n"
    )
    text = f"default:\n  policy: MlpPolicy\natari:\n  {words}"
    new = settings(converted(tmp_path, text, "dqn", "BreakoutNoFrameskip-v4"))
    assert (new["env_cfg.id"], new["env_cfg.vectorization"]) == ("ALE/Breakout-v5", "native")
    assert new["env_cfg.episodic_life"] is True
    assert new["algo_cfg.reward_clip"] == "sign"
    assert new["algo_cfg.value_layers"] == [{"layer_type": "linear", "layer_size": [512], "activation": "relu"}]
    assert "env_cfg.wrappers" not in new


def test_wrappers_are_ours_and_frames_are_stacked_outside_of_them(tmp_path):
    words = (
        "frame_stack: 2\nn_timesteps: 10\nenv_wrapper:\n"
        "  - rl_zoo3.wrappers.FrameSkip: {skip: 3}\n"
        "  - rl_zoo3.wrappers.YAMLCompatResizeObservation: {shape: [64, 64]}\n"
        "  - gymnasium.wrappers.transform_observation.GrayscaleObservation: {keep_dim: true}\n"
        "  - my.wrappers.Odd: {}\n"
    )
    text = converted(tmp_path, entry(words, "CarRacing-v3"), env="CarRacing-v3")
    assert settings(text)["env_cfg.wrappers"] == [
        {"wrapper_name": "SkipFrame", "skip": 3},
        {"wrapper_name": "Resize", "shape": [64, 64]},
        "GrayScale",
        {"wrapper_name": "FrameStack", "stack_size": 2},
    ]
    assert "(without Odd, which is not offered)" in text


def test_settings_of_wrappers_are_translated_or_said(tmp_path):
    atari = "stable_baselines3.common.atari_wrappers.AtariWrapper: {frame_skip: 2, clip_reward: false}"
    text = converted(
        tmp_path, entry(f"env_wrapper:\n  - {atari}\n  - x.FrameStack: {{num_stack: 3}}", "Pong-v4"), env="Pong-v4"
    )
    assert settings(text)["env_cfg.stack_num"] == 3
    assert "algo_cfg.reward_clip" not in settings(text)
    assert "without frame_skip of AtariWrapper, which is not offered" in text
    wrappers = "env_wrapper:\n  - x.FrameSkip: {skip: 2, other: 3}\n  - x.FrameStack: {num_stack: 3}"
    text = converted(tmp_path, entry(wrappers), env="CartPole-v1")
    assert settings(text)["env_cfg.wrappers"] == [
        {"wrapper_name": "SkipFrame", "skip": 2}, {"wrapper_name": "FrameStack", "stack_size": 3}
    ]  # fmt: skip
    assert "without other of FrameSkip" in text


def test_an_environment_without_velocities_is_the_usual_one_with_a_wrapper(tmp_path):
    new = settings(converted(tmp_path, entry("n_timesteps: 10", "CartPoleNoVel-v1"), "ppo_lstm", "CartPoleNoVel-v1"))
    assert new["env_cfg.id"] == "CartPole-v1"
    assert new["env_cfg.wrappers"] == [{"wrapper_name": "SelectObservation", "indices": [0, 2]}]


def test_what_has_no_counterpart_is_said_once(tmp_path):
    words = (
        "n_timesteps: 10\nuse_sde: true\nsde_sample_freq: 4\nodd_word: 3\ncg_damping: 0.1\n"
        "policy_kwargs: dict(log_std_init=-2, ortho_init=False)"
    )
    text = converted(tmp_path, entry(words), env="CartPole-v1")
    lost = comments(text)
    assert settings(text)["algo_cfg.use_sde"] is True
    assert settings(text)["algo_cfg.sde_sample_freq"] == 4
    for word in ("odd_word: 3", "log_std_init: -2", "ortho_init: false"):
        assert lost.count(f"#   {word} (") == 1, word
    assert "cg_damping: 0.1 (PPO has no such setting)" in lost
    assert "log_std_init" not in settings(text)


@pytest.mark.parametrize(
    ("name", "env", "words", "said"),
    [
        ("a2c", "CartPole-v1", "rms_prop_eps: !!float 1e-5", "rms_prop_eps: 1e-05 (optimizer: rmsprop has 1e-5)"),
        ("a2c", "CartPole-v1", "rms_prop_eps: 0.001", "rms_prop_eps: 0.001 (optimizer: rmsprop has 1e-5)"),
        ("a2c", "CartPole-v1", "policy_kwargs: dict(optimizer_kwargs=dict(eps=1e-5, alpha=0.9))",
         'optimizer_kwargs: {"eps": 1e-05, "alpha": 0.9} (parts of the optimizer are settings'),
        ("ppo", "CartPole-v1", "callback: [a.b.C]", 'callback: ["a.b.C"] (a callback here is a class of your own'),
        ("ppo_lstm", "Pendulum-v1", "use_sde: true\nsde_sample_freq: 4", "use_sde: true (it does not support lstm"),
        ("dqn", "CartPole-v1", "replay_buffer_kwargs: dict(handle_timeout_termination=False)",
         "handle_timeout_termination: false (an end by a time limit"),
        ("ppo", "CartPole-v1", "env_wrapper: minigrid.wrappers.FlatObsWrapper",
         "name it in env_cfg.wrappers as minigrid.wrappers:FlatObsWrapper, with --allow-import minigrid"),
    ],
)  # fmt: skip
def test_what_a_file_here_could_not_have_is_said_and_the_rest_loads(tmp_path, name, env, words, said):
    text = converted(tmp_path, entry(f"n_timesteps: 1000\n{words}", env), name, env)
    assert said in comments(text)
    assert (RIGHT if said.startswith("rms_prop_eps: 1e-05") else WRONG) in comments(text)
    (tmp_path / "new.yaml").write_text(text)
    load(str(tmp_path / "new.yaml"), find_algo=ALGOS, find_env=ENVS)


RIGHT, WRONG = "Left out, since nothing is needed here", "Not converted, since there is no counterpart here"


def test_first_steps_that_are_random_there_are_told(tmp_path):
    text = converted(tmp_path, entry("n_timesteps: 1000\nlearning_starts: 50"), "qrdqn", "CartPole-v1")
    assert "learning_starts: 50  # until then actions follow epsilon; there they are random" in text
    text = converted(tmp_path, entry("n_timesteps: 1000\nlearning_starts: 50", "Pendulum-v1"), "sac", "Pendulum-v1")
    assert "learning_starts: 50\n  start_steps: 50\n" in text


@pytest.mark.parametrize(
    ("name", "more", "shared"),
    [
        ("ppo", "", True),
        ("a2c", "", True),
        ("ppo_lstm", "", True),
        ("trpo", "", False),
        ("ppo", "policy_kwargs: dict(share_features_extractor=False)\n", False),
    ],
)
def test_actor_and_critic_see_images_by_one_network_where_they_do_there(tmp_path, name, more, shared):
    text = f"Pong-v4:\n  policy: CnnPolicy\n  n_timesteps: 1e6\n  {more}"
    new = settings(converted(tmp_path, text, name, "Pong-v4"))
    for key in ("actor_layers", "critic_layers"):
        names = [layer["shared"] for layer in new[f"algo_cfg.{key}"] if "shared" in layer]
        assert names == (["image_1", "image_2", "image_3", "image_4"] if shared else [])
    assert new["algo_cfg.actor_layers"][3 if shared else 0]["layer_size"] == [512]


@pytest.mark.parametrize(
    ("name", "env", "hidden"),
    [("sac", "CarRacing-v3", [256, 256]), ("td3", "CarRacing-v3", [256, 256]), ("tqc", "CarRacing-v3", [256, 256]),
     ("ddpg", "CarRacing-v3", [256, 256]), ("dqn", "Pong-v4", None), ("qrdqn", "Pong-v4", None)],
)  # fmt: skip
def test_behind_the_layer_of_images_come_those_that_come_there(tmp_path, name, env, hidden):
    new = settings(converted(tmp_path, f"{env}:\n  policy: CnnPolicy\n  n_timesteps: 1e6\n", name, env))
    for key in {"algo_cfg.actor_layers", "algo_cfg.critic_layers", "algo_cfg.value_layers"} & set(new):
        assert [layer["layer_size"] for layer in new[key]] == [[512], hidden][: 1 + bool(hidden)]


def test_the_convolutions_that_are_written_are_the_default_ones():
    assert [Conv2d(**layer) for layer in CONVOLUTIONS] == NATURE


def test_rmsprop_there_is_not_the_one_here(tmp_path):
    text = converted(tmp_path, entry("n_timesteps: 1000"), "a2c", "CartPole-v1")
    decay = "its decay is 0.95 and the gradient's mean is subtracted; 0.99 and no mean there"
    assert f"optimizer: rmsprop  # default of Stable-Baselines3: {decay}" in text


def test_hyperparameters_in_python_are_refused_as_a_program(tmp_path, capsys):
    (tmp_path / "ppo.py").write_text('hyperparams = {"CartPole-v1": dict(n_envs=2)}\n')
    for words in (["convert", "{file}"], ["--yaml", "{file}"]):
        assert main.main([word.format(file=tmp_path / "ppo.py") for word in words]) == 2
        assert "ppo.py: is a Python program; write its settings as YAML" in capsys.readouterr().err


def test_an_entry_takes_over_another_one(tmp_path):
    text = (
        "A-v0: &base\n  policy: MlpPolicy\n  gamma: 0.9\n  n_timesteps: 5\n"
        "CartPole-v1:\n  <<: *base\n  n_timesteps: 7\n"
    )
    new = converted(tmp_path, text, env="CartPole-v1")
    assert (settings(new)["algo_cfg.gamma"], settings(new)["general_cfg.max_total_step"]) == (0.9, 7)
    assert "<<" not in new


@pytest.mark.parametrize(("steps", "updates"), [("-1", 1), ("8", None)])
def test_updates_of_an_episode_are_not_those_of_each_step(tmp_path, steps, updates):
    text = entry(f"train_freq: [1, episode]\ngradient_steps: {steps}", "Pendulum-v1")
    new = converted(tmp_path, text, env="Pendulum-v1", algo="TD3")
    assert settings(new).get("algo_cfg.updates_per_train", 1) == 1
    assert ("gradient_steps: 8 (updates after an episode" in comments(new)) is (updates is None)


def test_an_older_version_of_an_environment_has_the_entry(tmp_path):
    text = entry("n_timesteps: 9", "LunarLander-v2") + "default:\n  policy: MlpPolicy\n"
    assert settings(converted(tmp_path, text, env="LunarLander-v3"))["general_cfg.max_total_step"] == 9


@pytest.mark.parametrize(
    ("env", "said"),
    [
        (None, "has hyperparameters for 2 environments (CartPole-v1, Acrobot-v1); name one: python main.py convert "
         "{file} --env CartPole-v1 > NEW.yaml"),
        ("CartPol-v1", "has no hyperparameters for CartPol-v1; did you mean CartPole-v1?"),
        ("Zzz-v9", "has no hyperparameters for Zzz-v9; it has CartPole-v1, Acrobot-v1"),
    ],
)  # fmt: skip
def test_an_environment_that_is_not_named_or_listed_is_answered_with_those_that_are(tmp_path, env, said):
    text = entry("n_timesteps: 1") + entry("n_timesteps: 2", "Acrobot-v1")
    with pytest.raises(ConfigError) as caught:
        converted(tmp_path, text, env=env)
    file = tmp_path / "ppo.yml"
    assert str(caught.value) == f"{file}: {said.format(file=file)}"


def test_a_known_environment_that_is_not_listed_has_the_entry_of_all(tmp_path):
    text = entry("n_timesteps: 1") + entry("n_timesteps: 2", "Acrobot-v1") + "default:\n  n_timesteps: 3\n"
    new = converted(tmp_path, text, env="Pendulum-v1")
    assert settings(new)["general_cfg.max_total_step"] == 3
    assert "entry default" in new


def test_the_algorithm_is_the_one_of_the_file_s_name_or_the_flag(tmp_path):
    text = entry("n_timesteps: 1")
    with pytest.raises(ConfigError, match="'mine' is not the name of an algorithm here; name one with --algo"):
        converted(tmp_path, text, "mine", "CartPole-v1")
    with pytest.raises(ConfigError, match="'ars' is not the name of an algorithm here; random search"):
        converted(tmp_path, text, "ars", "CartPole-v1")
    with pytest.raises(ConfigError, match="--algo: 'PPPO' is not the name of an algorithm here; did you mean PPO"):
        converted(tmp_path, text, "mine", "CartPole-v1", "PPPO")
    new = settings(converted(tmp_path, text, "mine", "CartPole-v1", "a2c"))
    assert new["general_cfg.algo_name"] == "A2C"


def test_a_file_of_theirs_given_as_ours_says_how_to_rewrite_it(tmp_path, capsys):
    (tmp_path / "ppo.yml").write_text(entry("n_timesteps: 1", "Acrobot-v1"))
    assert main.main(["--yaml", str(tmp_path / "ppo.yml")]) == 2
    said = capsys.readouterr().err
    assert f"rl-baselines3-zoo: python main.py convert {tmp_path / 'ppo.yml'} --env Acrobot-v1 > NEW.yaml" in said


def test_flags_of_convert_are_refused_for_another_file(tmp_path, capsys):
    (tmp_path / "old.yaml").write_text("general_cfg: {algo_name: DQN}\n")
    assert main.main(["convert", str(tmp_path / "old.yaml"), "--env", "CartPole-v1"]) == 2
    assert "--env is for a file with hyperparameters of rl-baselines3-zoo; leave it out" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    ["dict(net_arch=[f(1)])", "__import__('os').system('touch x')", "dict(a=open('x', 'w'))", "1 + ", "[1]",
     "dict(**x)", "dict(a=(lambda: 1)())", "{}.get", "(" * 500, "{[1]: 2}", "{{}: 2}"],
)  # fmt: skip
def test_code_in_keyword_arguments_is_never_run(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with contextlib.suppress(NoCounterpartError):
        assert keywords(text) is not None
    assert not list(tmp_path.iterdir())


def test_keyword_arguments_are_literals_and_names_of_classes():
    assert keywords("dict(a=[1, -2.5], b=dict(c=nn.ReLU), d=True, e='x', f=None)") == {
        "a": [1, -2.5], "b": {"c": "ReLU"}, "d": True, "e": "x", "f": None,
    }  # fmt: skip
    assert keywords("{'norm_obs': True}") == {"norm_obs": True}


ODD = [None, True, -1, 0, "x", "lin_", "auto_x", [], ["x"], {"a": 1}, [{"a": None}], 10**40]


@pytest.mark.parametrize("name", ["ppo_lstm", "qrdqn", "td3"])
def test_odd_values_are_converted_or_said_and_never_a_traceback(tmp_path, name):
    package, kind = ALGOS.get(name), ENVS.get("gym")
    translated = [word for word, row in sb3.WORDS.items() if not row.is_renaming]
    for word, value in itertools.product(translated, ODD):
        work = zoo._Conversion(package, kind, {"n_timesteps": 10, word: value, "env": "Pendulum-v1"}, "x")
        work.run()
        assert yaml.safe_load(work.text()), (word, shown(value))


def test_words_are_translated_alone_too():
    """Without an entry a word has the defaults of Stable-Baselines3 beside it."""
    scope = Entry({"algo_cfg": ALGOS.get("DQN").Config})
    with pytest.raises(NoCounterpartError, match="epsilon_decay"):
        sb3.WORDS["exploration_fraction"].meaning(0.1, scope)
    assert sb3.WORDS["train_freq"].meaning(4, scope).settings == {"algo_cfg.train_fre": 4}
