"""RLlib's flags and files: each name means a setting here, or a sentence says what to write in its place."""

import json
import math
import re
from pathlib import Path

import pytest

from config.foreign.experiments import load_all
from config.program import PROGRAM
from config.read.loader import ConfigError, RunConfig, load
from framework.archive import members
from framework.catalog import ALGOS, ENVS
from main import main
from tests.tools.process import forking

__all__ = ["forking"]

FIND = {"find_algo": ALGOS, "find_env": ENVS}


def loaded(*words: str, **flags: object) -> RunConfig:
    return load(None, words, **FIND, **flags)


def of(algo: str, **settings: object) -> RunConfig:
    return loaded(algo=algo, config=json.dumps(settings))


def problems(*words: str, **flags: object) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        loaded(*words, **flags)
    return caught.value.problems


def file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "tuned.yaml"
    path.write_text(text)
    return path


# ---------------------------------------------------------------------------------------------------- --config


@pytest.mark.parametrize(
    ("algo", "key", "value", "ours"),
    [
        ("PPO", "num_workers", 2, {"general.mp_backend": "ray", "general.n_workers": 2}),
        ("PPO", "num_rollout_workers", 0, {"general.mp_backend": "single"}),
        ("PPO", "num_envs_per_worker", 4, {"env.n_envs": 4}),
        ("PPO", "num_gpus", 0.2, {"general.device": "auto", "general.num_gpus_per_learner": 0.2}),
        ("PPO", "num_gpus", 0, {"general.device": "cpu"}),
        ("PPO", "num_gpus_per_worker", 0.5, {"general.num_gpus_per_worker": 0.5}),
        ("PPO", "num_cpus_per_worker", 2, {"general.num_cpus_per_worker": 2}),
        ("PPO", "lr", 0.01, {"algo.lr": 0.01}),
        ("SAC", "lr", 0.01, {"algo.actor_lr": 0.01, "algo.critic_lr": 0.01}),
        ("PPO", "gamma", 0.9, {"algo.gamma": 0.9}),
        ("PPO", "train_batch_size", 512, {"algo.batch_size": 512}),
        ("DQN", "train_batch_size", 32, {"algo.batch_size": 32}),
        ("PPO", "sgd_minibatch_size", 32, {"algo.sgd_batch_size": 32}),
        ("PPO", "num_sgd_iter", 3, {"algo.k_epochs": 3}),
        ("DQN", "rollout_fragment_length", 4, {"algo.train_fre": 4, "algo.updates_per_train": 1}),
        ("PPO", "rollout_fragment_length", 200, {}),
        ("PPO", "lambda", 0.9, {"algo.gae_lambda": 0.9}),
        ("PPO", "clip_param", 0.3, {"algo.eps_clip": 0.3}),
        ("PPO", "vf_loss_coeff", 0.7, {"algo.value_coef": 1.4}),
        ("APPO", "vf_loss_coeff", 0.7, {"algo.value_coef": 0.7}),
        ("IMPALA", "vf_loss_coeff", 0.7, {"algo.value_coef": 0.7}),
        ("PPO", "vf_clip_param", 7.0, {"algo.value_clip": 7.0}),
        ("PPO", "vf_clip_param", math.inf, {"algo.value_clip": None}),
        ("IMPALA", "opt_type", "rmsprop", {"algo.optimizer": "rmsprop"}),
        ("IMPALA", "decay", 0.99, {}),
        ("IMPALA", "epsilon", 0.1, {}),
        ("PPO", "entropy_coeff", 0.02, {"algo.entropy_coef": 0.02}),
        ("PPO", "grad_clip", 0.7, {"algo.max_grad_norm": 0.7}),
        ("PPO", "grad_clip", None, {"algo.max_grad_norm": None}),
        ("QLearning", "grad_clip", None, {}),
        ("PPO", "horizon", None, {"general.max_step": -1}),
        ("PPO", "kl_coeff", 0.3, {"algo.kl_lambda": 0.3, "algo.ppo_type": "clip"}),
        ("PPO", "kl_coeff", 0.0, {"algo.kl_lambda": 0.5}),
        ("PPO", "kl_target", 0.02, {"algo.kl_target": 0.02}),
        ("DQN", "buffer_size", 5000, {"algo.buffer_size": 5000}),
        ("DQN", "learning_starts", 300, {"algo.learning_starts": 300}),
        ("DQN", "n_step", 3, {"algo.n_step": 3}),
        ("DQN", "td_error_loss_fn", "mse", {"algo.loss": "mse"}),
        ("DQN", "v_min", -10, {}),
        ("DQN", "v_max", 10, {}),
        ("DQN", "dueling", True, {"algo.dueling": True}),
        ("DQN", "double_q", True, {"algo.double": True}),
        ("C51", "num_atoms", 21, {"algo.n_atoms": 21}),
        ("C51", "v_min", -9, {"algo.v_min": -9}),
        ("C51", "v_max", 9, {"algo.v_max": 9}),
        ("DQN", "noisy", True, {"algo.noisy": True}),
        ("DQN", "prioritized_replay", True, {"algo.buffer_type": "PER"}),
        ("DQN", "clip_rewards", True, {"algo.reward_clip": "sign"}),
        ("SAC", "twin_q", False, {"algo.n_critics": 1, "algo.target_critics": 1}),
        ("SAC", "initial_alpha", 0.3, {"algo.alpha_init": 0.3}),
        ("PPO", "observation_filter", "MeanStdFilter", {"algo.normalize_obs": True}),
        ("PPO", "use_gae", False, {"algo.gae_lambda": 1.0}),
        ("PPO", "evaluation_interval", 0, {"general.online_eval": False}),
        ("PPO", "evaluation_num_episodes", 7, {"general.online_eval_episode": 7}),
        ("PPO", "seed", 5, {"general.seed": 5}),
        ("PPO", "horizon", 77, {"general.max_step": 77}),
        ("PPO", "explore", True, {}),
        ("PPO", "framework", "torch", {}),
        ("PPO", "log_level", "WARN", {}),
    ],
)
def test_a_name_of_rllib_sets_what_it_means_here(algo: str, key: str, value: object, ours: dict[str, object]) -> None:
    config = of(algo, **{key: value})
    for path, expected in ours.items():
        section, _, name = path.partition(".")
        assert getattr(getattr(config, section), name) == expected
    if value is not None and {f"{part}.{key}" for part in ("general", "algo", "env")} & set(ours) != set(ours):
        assert [note for note in config.notes if note.startswith(f"--config: {key} ")], config.notes


def test_an_evaluation_explores_if_its_settings_say_so() -> None:
    config = of("PPO", evaluation_config={"explore": True})
    assert config.general.explore
    assert "--config: evaluation_config.explore true -> explore true" in config.notes
    assert not of("PPO", evaluation_config={"explore": False}).general.explore


def test_each_use_is_a_note() -> None:
    notes = of("PPO", num_workers=2, num_gpus=0.2, framework="torch", kl_coeff=0.3, seed=4).notes
    assert "--config: num_workers 2 -> mp_backend ray, n_workers 2" in notes
    assert "--config: num_gpus 0.2 -> device auto, num_gpus_per_learner 0.2 (the CPU where there is no GPU)" in notes
    assert "--config: framework torch needs nothing here: networks are torch's" in notes
    assert "not used: algo_cfg.kl_lambda (ppo_type is clip)" in notes
    assert not [note for note in notes if "seed" in note], "a name and value that are the same here need no note"


def test_the_target_update_is_counted_in_updates_here_and_in_steps_there() -> None:
    """500 steps, with 3 updates for each 4 steps: 375 updates."""
    settings = {"target_network_update_freq": 500, "rollout_fragment_length": 4}
    assert loaded("algo_cfg.updates_per_train=3", algo="DQN", config=json.dumps(settings)).algo.target_update == 375
    assert of("DQN", target_network_update_freq=0).algo.target_update == 1


def test_one_update_follows_the_fragments_of_all_rows_unless_a_word_says_how_many() -> None:
    """A fragment of 4 steps in 8 rows is 32 transitions. The preset has more updates, which belong to its train_fre."""
    rows = {"rollout_fragment_length": 4, "num_envs_per_worker": 8}
    run = loaded(algo="DQN", env="CartPole-v1", config=json.dumps(rows))
    assert (run.algo.train_fre, run.algo.updates_per_train) == (32, 1)
    assert "--config: rollout_fragment_length 4 -> train_fre 32, updates_per_train 1 (4 x n_envs 8)" in run.notes
    # 256 transitions are learned from for each 32 that are collected: 8 updates of 32
    words = {"target_network_update_freq": 64, "training_intensity": 8, "train_batch_size": 32, **rows}
    run = loaded(algo="DQN", env="CartPole-v1", config=json.dumps(words))
    assert (run.algo.train_fre, run.algo.updates_per_train, run.algo.target_update) == (32, 8, 16)
    by_hand = loaded("algo_cfg.updates_per_train=3", algo="DQN", env="CartPole-v1", config=json.dumps(rows))
    assert (by_hand.algo.train_fre, by_hand.algo.updates_per_train) == (32, 3)
    run = of("DQN", rollout_fragment_length=4, algo_cfg={"updates_per_train": 2})
    assert (run.algo.train_fre, run.algo.updates_per_train) == (4, 2)
    assert [text for text in problems(algo="DQN", config='{"rollout_fragment_length": "x"}') if "whole number" in text]


def test_one_update_follows_the_fragments_of_all_workers_except_in_apex(tmp_path: Path) -> None:
    """The learner of Ape-X does not wait for its workers."""
    run = of("DQN", rollout_fragment_length=4, num_envs_per_worker=8, num_workers=2)
    assert (run.algo.train_fre, run.algo.updates_per_train) == (64, 1)
    assert any("updates_per_train 1 (4 x n_envs 8 x n_workers 2)" in note for note in run.notes)
    apex = "a: {run: APEX, env: CartPole-v1, config: {rollout_fragment_length: 4, num_workers: 2}}"
    [run] = load_all(file(tmp_path, apex), **FIND).values()
    assert (run.general.n_workers, run.algo.train_fre) == (2, 4)


def test_points_of_epsilon_are_a_line_in_steps_or_a_schedule() -> None:
    algo = of("DQN", epsilon=[[0, 1.0], [10_000, 0.05]]).algo
    assert (algo.epsilon_start, algo.epsilon_end, algo.epsilon_decay) == (1.0, 0.05, 10_000)
    assert (algo.epsilon_schedule, algo.epsilon) == ("linear", None)
    run = loaded(
        "general_cfg.max_total_step=20000", algo="DQN", config='{"epsilon": [[0, 1], [5000, 0.5], [10000, 0.1]]}'
    )
    assert run.algo.epsilon == {"piecewise": [[0.0, 1.0], [0.25, 0.5], [0.5, 0.1]]}
    assert of("DQN", epsilon=0.1).algo.epsilon == 0.1


WHOLE = {
    "_AlgorithmConfig__prior_exploration_config": None, "_disable_preprocessor_api": False, "__stdout_file__": None,
    "_learner_class": None, "_rl_module_spec": None, "_enable_new_api_stack": False, "worker_restore_timeout_s": 1800,
    "max_num_worker_restarts": 1000, "local_gpu_idx": 0, "num_gpus": 0, "input_config": {}, "input": "sampler",
    "vf_share_layers": -1, "min_sample_timesteps_per_iteration": 0, "evaluation_interval": 2, "train_batch_size": 4000,
    "max_requests_in_flight_per_sampler_worker": 2, "num_rollout_workers": 2, "num_envs_per_worker": 1, "lr": 5e-5,
    "callbacks": "<class 'ray.rllib.algorithms.callbacks.DefaultCallbacks'>", "sgd_minibatch_size": 128,
    "policies": {"default_policy": [None, None, None, None]}, "model": {"lstm_use_prev_action_reward": -1},
}  # fmt: skip
"""Parts of a params.json that RLlib writes with all of its defaults, and one word of the user's."""


def test_the_defaults_that_rllib_writes_into_its_files_need_nothing() -> None:
    run = of("PPO", **WHOLE)
    general = run.general
    assert (general.iteration_steps, general.callbacks, general.device) == (4000, None, "cpu")
    assert run.run_ahead == 0, "as RLlib's own PPO, it waits for its workers"
    assert of("APPO", max_requests_in_flight_per_env_runner=3, num_env_runners=2).run_ahead == 3
    [problem] = problems(algo="PPO", config='{"_model_config": {"fcnet_hiddens": [8]}}')
    assert "networks are lists of layers" in problem


def test_what_is_for_each_learner_is_for_all_of_them_here() -> None:
    sizes = {"train_batch_size_per_learner": 1000, "minibatch_size": 100}
    run = of("PPO", num_learners=2, num_env_runners=2, **sizes)
    assert (run.general.n_learners, run.algo.batch_size, run.algo.sgd_batch_size) == (2, 2000, 200)
    assert any("batch_size 2000 (1000 x n_learners 2)" in note for note in run.notes)
    run = of("PPO", num_learners=2, num_env_runners=2, train_batch_size=1000)
    assert run.algo.batch_size == 1000
    run = of("PPO", num_learners=0, **sizes)
    assert (run.algo.batch_size, run.algo.sgd_batch_size) == (1000, 100)


def test_an_iteration_of_ppo_is_a_train_batch_unless_its_steps_are_written() -> None:
    def general(stop: str = '{"training_iteration": 4}', algo: str = "PPO", *words: str, **settings: object) -> tuple:
        run = loaded("general_cfg.preset=none", *words, algo=algo, config=json.dumps(settings), stop=stop)
        return run.general.max_iteration, run.general.iteration_steps

    assert general(train_batch_size=200, sgd_minibatch_size=64) == (4, 200)
    assert general(train_batch_size=200, num_envs_per_worker=32, sgd_minibatch_size=64) == (4, 192), "6 steps a row"
    assert general(train_batch_size=200, sgd_minibatch_size=64, timesteps_per_iteration=500) == (4, 500)
    assert general(train_batch_size=200, general_cfg={"iteration_steps": 300}, sgd_minibatch_size=64) == (4, 300)
    assert general() == (4, 1000)
    assert general(algo="A2C", train_batch_size=200) == (4, 1000), "there a clock ends it"
    run = loaded(algo="DQN", stop='{"training_iteration": 4}')
    expected = "max_iteration 4 (an iteration has 1,000 environment steps, or more: general_cfg.iteration_steps)"
    assert f"--stop: training_iteration 4 -> {expected}" in run.notes


def test_a_schedule_is_over_the_steps_of_all_iterations_if_they_end_the_run() -> None:
    """4 iterations of 2,048 steps are 8,192 of the 16,384 in which the rate falls to 0: half of the way."""
    settings = {"lr_schedule": [[0, 0.001], [16384, 0]], "train_batch_size": 2048}
    for stop in ({"training_iteration": 4}, {"training_iteration": 4, "timesteps_total": 10**6}):
        run = loaded("general_cfg.preset=none", algo="PPO", config=json.dumps(settings), stop=json.dumps(stop))
        assert run.algo.lr == {"linear": [0.001, 0.0005]}
        assert [note for note in run.notes if "(over the 8,192 steps of the run)" in note]


@pytest.mark.parametrize(
    ("words", "stop", "lr", "steps"),
    [
        ([], {}, [0.001, 0.0], 16384),  # as long as the points
        (["general_cfg.max_total_step=8192"], {}, [0.001, 0.0005], 8192),
        (["general_cfg.max_total_step=8192"], {"timesteps_total": 4096}, [0.001, 0.0005], 8192),  # a word wins
        ([], {"timesteps_total": 8192, "time_total_s": 60}, [0.001, 0.0005], 8192),  # the clock moves no point
        (["general_cfg.max_iteration=4"], {}, [0.001, 0.0005], None),
        (["general_cfg.max_iteration=4"], {"timesteps_total": 4096}, [0.001, 0.00075], 4096),
        ([], {"episode_reward_mean": 400}, [0.001, 0.0], 16384),
    ],
)
def test_points_of_a_schedule_keep_their_places_whatever_ends_the_run(
    words: list[str], stop: dict[str, float], lr: list[float], steps: int | None
) -> None:
    """The learning rate falls by 0.001 in 16,384 steps, also in a shorter run. The preset has a limit of its own."""
    settings = {"lr_schedule": [[0, 0.001], [16384, 0]], "train_batch_size": 2048}
    run = loaded(*words, algo="PPO", env="CartPole-v1", config=json.dumps(settings), stop=json.dumps(stop))
    assert run.algo.lr == {"linear": pytest.approx(lr)}
    assert run.general.max_total_step == (steps or -1)


@pytest.mark.parametrize(
    ("words", "stop", "answer"),
    [
        (["general_cfg.max_update=100"], {}, "and max_update may end the run; write algo_cfg.lr, such as {linear:"),
        ([], {"episodes_total": 9, "timesteps_total": 500}, "and max_episode may end the run; write algo_cfg.lr, such"),
        ([], {"time_total_s": 60}, "and the clock alone ends the run; add a limit in steps, such as timesteps_total"),
        (["general_cfg.max_time=60"], {}, "and the clock alone ends the run; add a limit in steps"),
    ],
)
def test_a_limit_that_would_move_the_points_of_a_schedule_is_refused(
    words: list[str], stop: dict[str, float], answer: str
) -> None:
    settings = json.dumps({"lr_schedule": [[0, 0.001], [16384, 0]]})
    [problem] = problems(*words, algo="PPO", config=settings, stop=json.dumps(stop))
    assert problem.startswith(f"--config: lr_schedule: its points are steps, {answer}")


def test_a_schedule_of_a_run_from_data_counts_the_steps_of_its_updates() -> None:
    """An update of 32 transitions counts for 32 steps."""
    settings = {"lr": [[0, 0.001], [6400, 0]], "train_batch_size": 32, "algo_cfg": {"data": "x.jsonl"}}
    for words, stop, lr, updates in (
        ((), None, [0.001, 0.0], 200),
        (("general_cfg.max_update=100",), None, [0.001, 0.0005], 100),
        ((), '{"timesteps_total": 3200}', [0.001, 0.0005], 100),
    ):
        run = loaded(*words, "general_cfg.preset=none", algo="BC", config=json.dumps(settings), stop=stop)
        assert (run.algo.lr, run.general.max_update) == ({"linear": lr}, updates)


def test_whatever_is_counted_in_iterations_counts_those_of_rllib() -> None:
    """A train batch of PPO, also without a number of them that ends the run."""
    batch = {"train_batch_size": 200, "sgd_minibatch_size": 50}
    for words in ({"config": {**batch, "evaluation_interval": 2}}, {"config": batch, "checkpoint_freq": 2}):
        run = loaded("general_cfg.preset=none", algo="PPO", **{**words, "config": json.dumps(words["config"])})
        cfg = run.general
        assert (cfg.model_save_unit, cfg.model_save_fre, cfg.iteration_steps) == ("iteration", 2, 200)
        assert cfg.online_eval == ("checkpoint_freq" not in words)
        assert "an iteration is a train batch)" in "".join(run.notes)
    cfg = loaded("general_cfg.iteration_steps=70", algo="PPO", config=json.dumps(batch), checkpoint_freq=2).general
    assert (cfg.model_save_fre, cfg.iteration_steps) == (2, 70)


def test_checkpoints_come_with_the_evaluations_or_are_refused() -> None:
    settings = json.dumps({"evaluation_interval": 2})
    assert loaded(algo="PPO", config=settings, checkpoint_freq=4).general.model_save_fre == 2
    [problem] = problems(algo="PPO", config=settings, checkpoint_freq=3)
    assert problem.startswith("--checkpoint-freq: checkpoint_freq: checkpoints come with the evaluations here, and")


@pytest.mark.parametrize(
    ("algo", "more", "steps"),
    [
        ("A2C", {"train_batch_size": 2048}, 8192),  # an iteration of at least 1,000 steps is a window
        ("A2C", {"train_batch_size": 2048, "num_workers": 2}, 8192),  # a window, of which each worker has its share
        ("PPO", {"train_batch_size": 2048, "num_workers": 3}, 8184),  # an iteration is the train batch of 3 x 682
        ("IMPALA", {"train_batch_size": 2048, "num_workers": 2}, 8192),
        ("A2C", {"train_batch_size": 300, "num_envs_per_worker": 3}, 4800),  # four windows of 100 steps of each row
        ("PPO", {"train_batch_size": 2048, "timesteps_per_iteration": 3000}, 16384),
        ("DQN", {"rollout_fragment_length": 3}, 4008),
    ],
)
def test_a_schedule_counts_iterations_as_they_are_collected(algo: str, more: dict[str, int], steps: int) -> None:
    """They have whole windows, or fragments."""
    settings = {"lr_schedule": [[0, 0.002], [2 * steps, 0]], **more}
    run = loaded("general_cfg.preset=none", algo=algo, config=json.dumps(settings), stop='{"training_iteration": 4}')
    rates = [rate for key in ("lr", "actor_lr") if (rate := getattr(run.algo, key, None))]
    assert rates == [{"linear": [0.002, 0.001]}]
    assert run.planned_steps == steps


@pytest.mark.parametrize(("algo", "lists"), [("DQN", ["value_layers"]), ("PPO", ["actor_layers", "critic_layers"])])
def test_fully_connected_models_become_layer_lists(algo: str, lists: list[str]) -> None:
    config = of(algo, model={"fcnet_hiddens": [64, 32], "fcnet_activation": "swish", "use_lstm": False})
    for name in lists:
        [layer] = getattr(config.algo, name)
        assert (layer.layer_type, layer.layer_size, layer.activation) == ("linear", [64, 32], "silu")
    [layer] = getattr(of(algo, model={}).algo, lists[0])
    assert (layer.layer_size, layer.activation) == ([256, 256], "tanh"), "the defaults of RLlib"


def test_epsilon_greedy_and_arguments_of_the_environment_are_translated() -> None:
    exploration = {"type": "EpsilonGreedy", "initial_epsilon": 1.0, "final_epsilon": 0.02, "epsilon_timesteps": 5000}
    config = of("DQN", exploration_config=exploration, env="Pendulum-v1", env_config={"g": 9.0}, lr=0.5)
    assert config.algo.model_dump(include={"epsilon_start", "epsilon_end", "epsilon_decay", "epsilon_schedule"}) == {
        "epsilon_start": 1.0, "epsilon_end": 0.02, "epsilon_decay": 5000, "epsilon_schedule": "linear",
    }  # fmt: skip
    assert (config.env.id, config.env.model_extra) == ("Pendulum-v1", {"g": 9.0})


def test_our_sections_can_stand_beside_rllibs_names_and_a_word_wins_over_both() -> None:
    text = json.dumps({"general_cfg": {"seed": 3}, "gamma": 0.8, "algo_cfg": {"lr": 0.25}})
    config = loaded("algo_cfg.lr=0.125", algo="PPO", config=text)
    assert (config.general.seed, config.algo.gamma, config.algo.lr) == (3, 0.8, 0.125)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("{", "--config:1:2: ends too early: a bracket or a quote is not closed"),
        ('{"a": 1', "--config:1:8: "),
        ("[1]", "--config: got [1]; expected {name: value}"),
        ("null", "--config: got null; expected {name: value}"),
        ("my.yaml", "--config: got 'my.yaml' (text); expected {name: value}; a file is given as --yaml FILE"),
        ('{"lr": "fast"}', "--config: lr: got 'fast' (text); expected a number above 0"),
        ('{"num_workers": "two"}', "--config: num_workers: got 'two' (text); expected a whole number at least 1"),
        ('{"algo_cfg": {"lr": 0}}', "--config: algo_cfg.lr: got 0; expected a number above 0"),
        ('{"algo_cfg": 3}', "--config: algo_cfg: got 3; expected lines of the form name: value"),
        ('{"gama": 0.9}', "--config: gama: did you mean gamma?"),
        ('{"xyzzy": 0.9}', "--config: xyzzy: has no counterpart here"),
        ('{"numworkers": 2}', "--config: numworkers: did you mean num_workers?"),
        ('{"polyak": 0.9}', "--config: polyak: is tau here (tau is 1 - polyak); write algo_cfg.tau"),
        (
            '{"sgd_minibatch_size": 9}',
            "--config: sgd_minibatch_size: it is called sgd_batch_size here, a setting of AIRL, APPO, COMA, GAIL",
        ),
        ('{"explore": false}', "--config: explore: training explores; python main.py evaluate NAME plays without"),
        (
            '{"model": {"conv_filters": [3]}}',
            "--config: model.conv_filters: expected a list of [filters, kernel, stride]",
        ),
        ('{"n_step": [2, 5]}', "--config: n_step: n_step is one number; there each transition draws one of a range"),
        ('{"model": 3}', "--config: model: expected a mapping such as {fcnet_hiddens: [64, 64]"),
        ('{"env_config": 3}', "--config: env_config: expected a mapping (name: value)"),
        ('{"lr": 1, "algo_cfg": {"lr": 2}}', "--config: lr: sets algo_cfg.lr, which algo_cfg.lr sets too; keep one"),
        (
            '{"num_workers": 1, "num_env_runners": 2}',
            "--config: num_env_runners: sets general_cfg.n_workers, which num_workers sets too; keep one",
        ),
        ('{"lr": 1, "lr": 2}', "--config: lr: written twice, first at --config; keep one"),
        (
            '{"exploration_config": {"type": "SlateEpsilonGreedy"}}',
            "--config: exploration_config.type: write exploration_type and",
        ),
    ],
)
def test_what_cannot_be_understood_is_one_sentence(text: str, answer: str) -> None:
    [problem] = problems(algo="DQN", config=text)
    assert problem.startswith(answer) or answer in problem


def test_all_faults_are_reported_at_once() -> None:
    assert len(problems("algo_cfg.gamma=3", algo="DQN", config='{"lr": 0, "foo": 1}', stop="{")) == 4


# ------------------------------------------------------------------------------------------------------ --stop


def test_stop_rules_are_limits() -> None:
    config = loaded(algo="DQN", stop='{"timesteps_total": 500, "time_total_s": 60.5, "episodes_total": 9}')
    assert (config.general.max_total_step, config.general.max_time, config.general.max_episode) == (500, 60.5, 9)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"lr": 1}', "--stop: lr: is not a stop rule; known: training_iteration, episode_reward_mean"),
        ('{"timestep_total": 1}', "--stop: timestep_total: is not a stop rule; did you mean timesteps_total?"),
        ('{"timesteps_total": 0}', "--stop: general_cfg.max_total_step: a limit of 0 trains nothing"),
        ('{"timesteps_total": "x"}', "--stop: timesteps_total: got 'x' (text)"),
        ('{"general_cfg": {}}', "--stop: general_cfg: is not a stop rule"),
        ("{", "--stop:1:2: "),
    ],
)
def test_another_stop_rule_is_refused(text: str, answer: str) -> None:
    [problem] = problems(algo="DQN", stop=text)
    assert problem.startswith(answer)


# ------------------------------------------------------------------------------------------------- experiments

TWO = """\
first:
  run: DQN
  env: CartPole-v1
  stop: {timesteps_total: 200}
  config: {lr: 0.01}
group/second:
  run: PPO
  env: CartPole-v1
  checkpoint_at_end: true
  num_samples: 1
  stop:
    timesteps_total: 300
  config:
    train_batch_size: 64
    sgd_minibatch_size: 32
"""


def test_a_file_with_several_experiments_has_a_configuration_for_each(tmp_path: Path) -> None:
    configs = load_all(file(tmp_path, TWO), ["general_cfg.seed=7"], **FIND)
    assert list(configs) == ["first", "group/second"]
    first, second = configs.values()
    assert (first.algo_package.NAME, first.algo.lr, first.general.max_total_step) == ("DQN", 0.01, 200)
    assert (second.algo_package.NAME, second.algo.batch_size, second.algo.sgd_batch_size) == ("PPO", 64, 32)
    assert {config.general.seed for config in configs.values()} == {7}
    assert f"{tmp_path / 'tuned.yaml'}:14: train_batch_size 64 -> batch_size 64" in second.notes


def test_a_file_with_our_sections_is_one_run(tmp_path: Path) -> None:
    assert list(load_all(file(tmp_path, "general_cfg: {algo_name: PPO}"), **FIND)) == [""]
    assert list(load_all(None, **FIND)) == [""]


def test_a_file_with_one_experiment_is_an_ordinary_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = file(tmp_path, "one: {run: PPO, env: CartPole-v1, config: {lr: 0.125}, checkpoint_freq: 2}")
    assert main(["-f", str(path), "--print-config"]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"^  lr: 0.125 ", out, re.MULTILINE)
    assert f"{path}:1: checkpoint_freq 2 -> model_save_unit iteration, model_save_fre 2" in err
    assert main(["-f", str(path), "--jobs", "2", "--print-config"]) == 2


def test_the_environment_of_a_command_takes_the_place_of_that_of_an_experiment(tmp_path: Path) -> None:
    path = file(tmp_path, "one: {run: PPO, env: CartPole-v1, stop: {timesteps_total: 50}}")
    [config] = load_all(path, env="Acrobot-v1", **FIND).values()
    assert config.env.id == "Acrobot-v1"


def test_all_faults_of_all_experiments_are_reported_at_once(tmp_path: Path) -> None:
    text = """\
a:
  run: DQN
  stop: {timestep_total: 400}
  config:
    lrr: 0.001
b:
  run: PPOO
  num_samples: 4
  foo: 2
  config: 3
c: 3
"""
    with pytest.raises(ConfigError) as caught:
        load_all(file(tmp_path, text), ["algo_cfg.gamma=x"], **FIND)
    found = [problem.partition("tuned.yaml:")[2] or problem for problem in caught.value.problems]
    for start in (
        "3: a.stop.timestep_total: is not a stop rule; did you mean timesteps_total?",
        "5: a.config.lrr: did you mean lr?",
        "7: general_cfg.algo_name: unknown name 'PPOO'; did you mean PPO?",
        "9: b.foo: is not a part of an experiment",
        "10: b.config: got 3",
        "11: c: got 3; expected run, env, stop, config",
        "command line: algo_cfg.gamma: got 'x' (text)",
    ):
        assert len([problem for problem in found if problem.startswith(start)]) == 1, (start, found)


def test_names_of_folders_are_safe_and_differ() -> None:
    assert members.file_names(["A-B", "a/b", "a b", "../..", "x" * 99]) == ["A-B", "a-b_2", "a-b_3", "run", "x" * 60]


@pytest.mark.parametrize("words", [["--test", "x"], ["--resume", "x"]])
def test_several_experiments_are_no_test_and_no_resume(
    tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file(tmp_path, TWO)
    monkeypatch.chdir(tmp_path)
    assert main(["-f", str(path), *words]) == 2
    assert re.search("has 2 experiments; leave out bench, --test|'x' does not exist", capsys.readouterr().err)
    assert [other.name for other in tmp_path.iterdir()] == ["tuned.yaml"]


def test_an_experiment_that_cannot_run_is_refused_before_the_first_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = TWO + "third: {run: DQN, env: Pendulum-v1}\nfourth: {run: TD3, env: CartPole-v1}\n"
    assert main(["-f", str(file(tmp_path, text))]) == 2
    err = capsys.readouterr().err
    assert re.search(r"third: .*:16: general_cfg.algo_name: DQN needs actions that are Discrete", err)
    assert re.search(r"fourth: .*:17: general_cfg.algo_name: TD3 needs actions that are Box", err)
    assert not Path("tasks").exists()


@pytest.mark.usefixtures("forking")
def test_algorithms_with_commas_and_seeds_are_a_run_for_each_and_a_mean_for_each_algorithm(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["general_cfg.env_name=toy", "general_cfg.max_total_step=100", "--env", "shifted", "--jobs", "1"]
    assert main(["--algo", "QLearning,Sarsa", "--seeds", "1,2", *words]) == 0
    out = capsys.readouterr().out
    [group] = Path("tasks").iterdir()
    runs = ["QLearning_1", "QLearning_2", "Sarsa_1", "Sarsa_2"]
    assert {path.name for path in group.iterdir() if path.is_dir()} == set(runs)
    assert [row.split(",")[0] for row in (group / "runs.csv").read_text().splitlines()[1:]] == [
        run.replace("_", " ") for run in runs
    ]
    facts = json.loads((group / "group.json").read_text())["experiments"]
    assert {name: each["finished"] for name, each in facts.items()} == {"QLearning": 2, "Sarsa": 2}
    assert re.search(r"experiment +finished +mean +lowest to highest", out), "two seeds have no interval"
    assert (group / "learning_curves.png").exists()
    seeds = [json.loads((group / run / "run.json").read_text())["seed"] for run in runs]
    assert seeds == [1, 2, 1, 2]


def test_algorithms_and_environments_with_commas_are_an_experiment_for_each_pair() -> None:
    def loaded(algo: str, env: str) -> dict[str, tuple[str, str]]:
        configs = load_all(None, ["algo_cfg.gamma=0.5"], algo=algo, env=env, **FIND)
        return {name: (config.algo_package.NAME, config.env_id) for name, config in configs.items()}

    assert loaded("PPO, dqn", "CartPole-v1,Acrobot-v1") == {
        "PPO CartPole-v1": ("PPO", "CartPole-v1"),
        "PPO Acrobot-v1": ("PPO", "Acrobot-v1"),
        "dqn CartPole-v1": ("DQN", "CartPole-v1"),
        "dqn Acrobot-v1": ("DQN", "Acrobot-v1"),
    }
    assert loaded("PPO", "CartPole-v1,Acrobot-v1") == {
        "CartPole-v1": ("PPO", "CartPole-v1"),
        "Acrobot-v1": ("PPO", "Acrobot-v1"),
    }


@pytest.mark.usefixtures("forking")
def test_a_group_names_the_command_that_compares_it_where_an_environment_has_two_algorithms(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["--env", "CliffWalking-v1,FrozenLake-v1", "--jobs", "1", "general_cfg.save_fig=false"]
    words += ["general_cfg.max_total_step=40", "general_cfg.max_episode=-1", "general_cfg.online_eval_episode=1"]
    assert main(["--algo", "QLearning", *words]) == 0
    assert "compare  " not in capsys.readouterr().out
    assert main(["--algo", "QLearning,Sarsa", *words]) == 0
    out = capsys.readouterr().out
    [folder] = Path("tasks").glob("Runs_QLearning_CliffWalking-v1_FrozenLake-v1_Sarsa_4_*")
    assert f"compare  python main.py compare {folder.name}\n" in out
    assert "Compare them" in (folder / "report.html").read_text()
    assert main(["compare", str(folder)]) == 0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--algo", "QLearning,qlearning"], "QLearning is named twice"),
        (["--algo", "QLearning,"], "--algo QLearning,: names with commas between them, such as PPO,DQN"),
        (["--algo", "DQN", "--env", "A-v1,,B-v1"], "names with commas between them, such as CartPole-v1,Acrobot-v1"),
        (["--algo", "DQN", "--env", "A-v1,a-v1"], "--env A-v1,a-v1: A-v1 is named twice"),
        (["--env", "A-v1,B-v1", "--yaml", "x.yaml"], "--env A-v1 --yaml x.yaml --seeds 1..3"),
        (["--algo", "auto", "--env", "A-v1,B-v1"], "chooses for one environment, and --env names several: A-v1,B-v1"),
        (["bench", "--algo", "DQN", "--env", "CartPole-v1,Acrobot-v1"], "--env CartPole-v1,Acrobot-v1 has 2 exp"),
        (["--algo", "DQN,PPO", "--yaml", "x.yaml"], "leave out --yaml, or train with one at a time"),
        (["bench", "--algo", "DQN,PPO"], "leave out bench, --test and --resume, or name one"),
    ],
)
def test_algorithms_with_commas_that_make_no_comparison(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.usefixtures("forking")
def test_the_runs_of_a_file_have_a_folder_a_table_and_no_common_mean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two short runs on a toy, and one of them again alone: the same numbers."""
    text = """\
a/1: {run: QLearning, env: shifted, stop: {timesteps_total: 200}, config: {lr: 0.5}}
b: {run: Sarsa, env: shifted, stop: {timesteps_total: 150}, config: {gamma: 0.5}}
"""
    words = ["general_cfg.env_name=toy", "general_cfg.seed=1", "general_cfg.save_fig=false"]
    assert main(["-f", str(file(tmp_path, text)), "--jobs", "1", *words]) == 0
    out = capsys.readouterr().out
    [group] = Path("tasks").iterdir()
    assert group.name.startswith("Runs_tuned_2_")
    files = {"a-1", "b", "a-1.yaml", "b.yaml", "group.json", "runs.csv", "report.html"}
    assert {path.name for path in group.iterdir()} == files | {".lock"}
    table = (group / "runs.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in table] == ["run", "a/1", "b"]
    assert "interquartile" not in out
    assert main(["-f", str(group / "b.yaml"), "--into", "alone"]) == 0
    assert Path("alone/results/train.csv").read_bytes() == (group / "b/results/train.csv").read_bytes()
    assert main(["resume", group.name]) == 2
    assert (
        f"all of its runs have finished; to train them further, give a higher limit: {PROGRAM} resume {group.name} "
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("algo", "settings", "expected"),
    [
        ("SAC", {"optimization": {"actor_learning_rate": 1e-4, "critic_learning_rate": 2e-4}},
         {"actor_lr": 1e-4, "critic_lr": 2e-4}),
        ("SAC", {"learning_rate": 1e-4}, {"actor_lr": 1e-4, "critic_lr": 1e-4, "alpha_lr": 1e-4}),
        ("DQN", {"replay_buffer_config": {"type": "MultiAgentPrioritizedReplayBuffer", "capacity": 5000}},
         {"buffer_type": "PER", "buffer_size": 5000}),
        ("DQN", {"num_atoms": 1, "noisy": False, "use_huber": True}, {"loss": "huber", "noisy": False}),
        ("DQN", {"sample_batch_size": 8}, {"train_fre": 8}),
        ("PPO", {"framework": "tf", "use_pytorch": False, "eager_tracing": False, "enable_connectors": True,
                 "batch_mode": "complete_episodes", "metrics_smoothing_episodes": 5, "smoothing_num_episodes": 5}, {}),
    ],
)  # fmt: skip
def test_names_of_older_and_newer_versions_are_understood(algo: str, settings: dict, expected: dict) -> None:
    env = "Pendulum-v1" if algo == "SAC" else "CartPole-v1"
    run = loaded(algo=algo, env=env, config=json.dumps(settings))
    assert {key: getattr(run.algo, key) for key in expected} == expected


def test_shared_layers_of_actor_and_critic_are_a_trunk() -> None:
    model = {"model": {"vf_share_layers": True, "fcnet_hiddens": [32, 16]}}
    run = loaded(algo="PPO", env="CartPole-v1", config=json.dumps(model))
    for layers in (run.algo.actor_layers, run.algo.critic_layers):
        assert [(layer.layer_size, layer.shared) for layer in layers] == [([32], "trunk_1"), ([16], "trunk_2")]


def test_recorded_data_and_videos_are_translated() -> None:
    settings = {"output": "/tmp/out", "output_compress_columns": [], "output_max_file_size": 2**21, "monitor": True}
    general = (run := of("PPO", env="CartPole-v1", **settings)).general
    assert (general.traces, general.traces_compress, general.traces_file_mb) == ("results/traces", [], 2)
    assert (run.env.render_mode, general.video_fre) == ("rgb_array", 100)
    assert of("BC", input="tasks/x").algo.data == "tasks/x"
    assert of("BC", input="dataset", input_config={"format": "json", "paths": ["a.json"]}).algo.data == ["a.json"]
    assert of("PPO", input="sampler").notes
    with pytest.raises(ConfigError, match="input: it is called data here, a setting of"):
        of("PPO", input="tasks/x")
