"""Words of users of Stable-Baselines3, rl-baselines3-zoo, CleanRL and Tianshou are answered with what they are here."""

import copy
from pathlib import Path

import pytest

import joystick
from config.foreign import names as foreign_names
from config.foreign import sb3
from config.read.loader import ConfigError, load
from config.tell import hints
from framework.catalog import ALGOS, ENVS
from framework.record.callbacks import problem
from main import main

ZOO = """
batch_size buffer_size cg_damping cg_max_steps clip_range ent_coef env_wrapper exploration_final_eps
exploration_fraction frame_stack gae_lambda gamma goal_selection_strategy gradient_steps learning_rate learning_starts
max_episode_length max_grad_norm model_class n_critic_updates n_envs n_epochs n_sampled_goal n_steps n_timesteps
noise_std noise_type normalize normalize_advantage online_sampling optimize_memory_usage policy policy_delay
policy_kwargs replay_buffer_class replay_buffer_kwargs sde_sample_freq sub_sampling_factor target_kl
target_update_interval tau top_quantiles_to_drop_per_net train_freq use_rms_prop use_sde use_sde_at_warmup vf_coef
alive_bonus_offset delta_std n_delta n_top zero_policy vec_env_wrapper env_kwargs callback monitor_kwargs
net_arch activation_fn ortho_init log_std_init n_critics n_quantiles lstm_hidden_size enable_critic_lstm use_expln
optimizer_class optimizer_kwargs
"""
"""Words of the files of hyperparameters, and of keyword arguments in them."""

CLEANRL = """
exp_name seed torch_deterministic cuda track wandb_project_name wandb_entity capture_video save_model upload_model
hf_entity env_id total_timesteps learning_rate num_envs num_steps anneal_lr gamma gae_lambda num_minibatches
update_epochs norm_adv clip_coef clip_vloss ent_coef vf_coef max_grad_norm target_kl batch_size minibatch_size
num_iterations rpo_alpha buffer_size tau target_network_frequency start_e end_e exploration_fraction learning_starts
train_frequency n_atoms v_min v_max exploration_noise policy_frequency noise_clip policy_noise policy_lr q_lr alpha
autotune teacher_policy_hf_repo teacher_model_exp_name teacher_eval_episodes teacher_steps offline_steps temperature
q_lambda
"""
"""Arguments of ppo, ppo_continuous_action, ppo_atari, rpo, dqn, c51, ddpg, td3, sac, qdagger and pqn."""

TIANSHOU = """
task seed eps_test eps_train eps_train_final buffer_size lr gamma n_step target_update_freq epoch step_per_epoch
step_per_collect update_per_step batch_size training_num test_num logdir device frames_stack save_buffer_name scale_obs
icm_lr_scale icm_reward_scale icm_forward_loss_weight hidden_sizes repeat_per_collect rew_norm vf_coef ent_coef
gae_lambda bound_action_method lr_decay max_grad_norm eps_clip dual_clip value_clip norm_adv recompute_adv resume_id
logger wandb_project actor_lr critic_lr auto_alpha alpha_lr start_timesteps exploration_noise noisy_std beta_final
beta_anneal_step max_epochs epoch_num_steps num_training_envs num_test_envs collection_step_num_env_steps
test_step_num_episodes update_step_num_gradient_steps_per_sample update_step_num_repetitions max_batchsize
reward_normalization advantage_normalization recompute_advantage
"""
"""Arguments of its examples, trainers and policies."""


@pytest.mark.parametrize(
    ("words", "table"),
    [
        (ZOO, sb3.WORDS),
        (CLEANRL, {**foreign_names.TABLES["CleanRL"], **sb3.WORDS}),
        (TIANSHOU, {word: row for table in reversed(foreign_names.TABLES.values()) for word, row in table.items()}),
    ],
)
def test_each_of_their_words_is_a_setting_here_or_has_an_answer(words, table):
    for word in words.split():
        path, remark = hints.setting_of(word, ALGOS, ENVS) or ("", "")
        assert path or remark, word
        assert word in table or path.rpartition(".")[2] == word, word


def test_no_word_of_cleanrl_is_told_to_be_another_setting_than_the_one_of_its_name():
    """target_entropy_scale is a share of the largest entropy there and here; target_entropy is an entropy."""
    assert "target_entropy_scale" not in foreign_names.TABLES["CleanRL"]
    assert hints.setting_of("target_entropy_scale", ALGOS, ENVS)[0].endswith("target_entropy_scale")


def refused(algo: str, *words: str) -> list[str]:
    env = "Pendulum-v1" if algo in ("SAC", "TD3", "DDPG", "TQC", "CrossQ") else "CartPole-v1"
    with pytest.raises(ConfigError) as caught:
        load(None, words, algo=algo, env=env, find_algo=ALGOS, find_env=ENVS)
    return [problem.removeprefix("command line: ") for problem in caught.value.problems]


_RATES = "unknown setting; it is called actor_lr, critic_lr, alpha_lr here"
_LISTS = "(a list of layers, such as [{layer_type: linear, layer_size: [64, 64]}])"
_MINIBATCH = "batch_size of Stable-Baselines3, sb3-contrib and rl-baselines3-zoo is sgd_batch_size here"
_WINDOW = "(on-policy: batch_size is n_steps times n_envs)"


@pytest.mark.parametrize(
    ("algo", "word", "answer"),
    [
        ("SAC", "learning_rate", _RATES),
        ("TQC", "learning_rate", _RATES),
        ("CrossQ", "learning_rate", _RATES),
        ("TD3", "learning_rate", "unknown setting; it is called actor_lr, critic_lr here"),
        ("DDPG", "learning_rate", "unknown setting; it is called actor_lr, critic_lr here"),
        ("TRPO", "learning_rate", "unknown setting; it is called critic_lr here"),
        ("PPO", "learning_rate", "unknown setting; it is called lr here"),
        ("DQN", "learning_rate", "unknown setting; it is called lr here"),
        ("PPO", "n_steps", f"unknown setting; it is called batch_size here {_WINDOW}"),
        ("A2C", "n_steps", f"unknown setting; it is called batch_size here {_WINDOW}"),
        ("DQN", "n_steps", f"unknown setting; it is called n_step here {_WINDOW}"),
        ("PPO", "normalize", "unknown setting; it is called normalize_obs, normalize_reward here"),
        ("SAC", "normalize", "unknown setting; it is called normalize_obs, normalize_reward here"),
        ("PPO", "policy_kwargs", f"unknown setting; it is called actor_layers, critic_layers here {_LISTS}"),
        ("DQN", "policy_kwargs", f"unknown setting; it is called value_layers here {_LISTS}"),
        ("SAC", "net_arch", f"unknown setting; it is called actor_layers, critic_layers here {_LISTS}"),
        ("PPO", "ent_coef", "unknown setting; it is called entropy_coef here"),
        ("SAC", "ent_coef", "unknown setting; it is called alpha here"),
        ("TD3", "noise_type", "unknown setting; it is called exploration_type here (gaussian or ou)"),
        ("TD3", "noise_std", "unknown setting; it is called expl_noise here"),
        ("TQC", "n_sampled_goal", "unknown setting; it is called her_ratio here (n / (n + 1))"),
        ("TRPO", "n_critic_updates", "unknown setting; it is called k_epochs here (epochs of the value network)"),
        ("TRPO", "cg_max_steps", "unknown setting; it is called cg_steps here"),
        ("A2C", "use_rms_prop", "unknown setting; it is called optimizer here (rmsprop or adam)"),
        ("PPO", "adv_norm_fullbatch", "unknown setting; PPO normalizes the advantages of each minibatch, not of the "
         "whole window"),
        ("PPO", "clip_range_vf", "unknown setting; it is called value_clip here (the larger of the clipped loss and "
         "the plain one counts here, there the clipped one)"),
        ("PPO", "n_epochs", "unknown setting; it is called k_epochs here"),
        ("SAC", "train_freq", "unknown setting; it is called train_fre here (steps of all rows: theirs times n_envs; "
         "episodes are not counted)"),
        ("SAC", "gradient_steps", "unknown setting; it is called updates_per_train here (a number of updates; for -1 "
         "that of train_fre)"),
        ("DQN", "target_update_interval", "unknown setting; it is called target_update here (in gradient updates; of "
         "DQN environment steps there)"),
        ("DQN", "exploration_fraction", "unknown setting; it is called epsilon_decay here (in environment steps, with "
         "epsilon_schedule: linear)"),
        ("TQC", "top_quantiles_to_drop_per_net", "unknown setting; it is called drop_quantiles here"),
        ("PPO", "policy", "unknown setting; networks are lists of layers: value_layers, or actor_layers and "
         "critic_layers"),
        ("TQC", "replay_buffer_class", "unknown setting; buffer_type is REPLAY or PER, and her_ratio relabels goals"),
        ("PPO", "ortho_init", "unknown setting; init: xavier or kaiming draws other first weights; torch's own are not "
         "offered"),
        ("PPO", "total_timesteps", "unknown setting; it is called general_cfg.max_total_step here"),
        ("PPO", "num_envs", "unknown setting; it is called env_cfg.n_envs here"),
        ("SAC", "policy_lr", "unknown setting; it is called actor_lr here"),
        ("SAC", "q_lr", "unknown setting; it is called critic_lr here"),
        ("SAC", "autotune", "unknown setting; it is called alpha here (alpha: auto)"),
        ("PPO", "rpo_alpha", "unknown setting; robust policy optimization (RPO) is not offered; PPO is its nearest"),
    ],
)  # fmt: skip
def test_a_word_of_theirs_names_all_settings_that_it_sets(algo, word, answer):
    assert refused(algo, f"algo_cfg.{word}=1") == [f"algo_cfg.{word}: {answer}"]


@pytest.mark.parametrize(
    ("algo", "word", "answer"),
    [
        ("PPO", "algo_cfg.lr=lin_0.001", "lin_ of rl-baselines3-zoo is 0.001 with lr_schedule: linear"),
        ("SAC", "algo_cfg.actor_lr=lin_7e-4", "lin_ of rl-baselines3-zoo is 7e-4 with lr_schedule: linear"),
        ("PPO", "algo_cfg.eps_clip=lin_0.2", "lin_ of rl-baselines3-zoo is {linear: [0.2, 0.0]}"),
        ("PPO", "algo_cfg.value_clip=lin_0.2", "lin_ of rl-baselines3-zoo is 0.2 here, since value_clip is constant"),
        ("SAC", "algo_cfg.alpha=auto_0.1", "auto_ of Stable-Baselines3 is alpha: auto with alpha_init: 0.1"),
        ("PPO", "env_cfg.frame_stack=4", "unknown; it is called wrappers here (such as [{wrapper_name: FrameStack, "
         "stack_size: 4}])"),
        ("PPO", "env_cfg.norm_obs=true", "unknown; it is called algo_cfg.normalize_obs here"),
        ("PPO", "env_cfg.zzz=4", "unknown; known are: max_episode_steps, render_mode, sutton_barto_reward"),
        ("SAC", "learning_rate=1e-3", "did you mean algo_cfg.actor_lr=1e-3 algo_cfg.critic_lr=1e-3 "
         "algo_cfg.alpha_lr=1e-3?"),
        ("PPO", "batch_size=64", f"did you mean algo_cfg.batch_size=64? ({_MINIBATCH})"),
        ("DQN", "batch_size=64", "did you mean algo_cfg.batch_size=64?"),
        ("PPO", "n_timesteps=1e5", "did you mean general_cfg.max_total_step=1e5?"),
        ("PPO", "normalize=true", "did you mean algo_cfg.normalize_obs=true algo_cfg.normalize_reward=true?"),
        ("PPO", "general_cfg.n_envs=4", "it belongs under env_cfg"),
    ],
)  # fmt: skip
def test_values_and_places_of_theirs_are_answered(algo, word, answer):
    [problem] = refused(algo, word)
    assert problem.endswith(answer)


def typed(capsys: pytest.CaptureFixture[str], *argv: str) -> list[str]:
    """Returns the lines of what a refused command says; nothing was created."""
    before = set(Path().rglob("*"))
    try:
        status = main(list(argv))
    except SystemExit as end:
        status = end.code
    assert (status, set(Path().rglob("*"))) == (2, before)
    return capsys.readouterr().err.splitlines()


_TEST = "use python main.py test NAME"
_TUNED = "values to try, their number and their scheduler are in section tune_cfg of a file for tune (docs/tuning.md)"
_WANDB = "general_cfg.loggers with wandb; its environment variables name project and entity"
FLAGS = [
    # rl-baselines3-zoo
    ("PPO", "-n 50000", "a setting is written general_cfg.max_total_step=50000"),
    ("PPO", "--n-timesteps 50000", "a setting is written general_cfg.max_total_step=50000"),
    ("PPO", "-params learning_rate:0.01", "use section.key=VALUE, such as algo_cfg.lr=0.001"),
    ("PPO", "--hyperparams learning_rate:0.01", "use section.key=VALUE, or --yaml FILE"),
    ("PPO", "-tb logs", "files for TensorBoard are in tb_logs/ of the task directory"),
    ("PPO", "--tensorboard-log logs", "files for TensorBoard are in tb_logs/ of the task directory"),
    ("PPO", "-i model.zip", "use python main.py resume NAME"),
    ("PPO", "--trained-agent model.zip", "use python main.py resume NAME"),
    ("PPO", "--eval-freq 1000", "a setting is written general_cfg.model_save_fre=VALUE (with online_eval: true and "
     "model_save_unit: step)"),
    ("PPO", "--eval-episodes 5", "a setting is written general_cfg.online_eval_episode=5"),
    ("PPO", "--n-eval-envs 2", "evaluation has rows of its own"),
    ("PPO", "--save-freq 1000", "a setting is written general_cfg.model_save_fre=VALUE (with model_save_unit: step)"),
    ("PPO", "--save-replay-buffer", "checkpoints have it"),
    ("PPO", "--log-folder logs", "--into FOLDER names the task directory"),
    ("PPO", "--vec-env subproc", "a setting is written env_cfg.vectorization=VALUE (sync is dummy, async is subproc)"),
    ("PPO", "--device cuda", "a setting is written general_cfg.device=cuda"),
    ("PPO", "--seed 3", "a setting is written general_cfg.seed=3"),
    ("PPO", "--num-threads 2", "the number of threads follows from the networks and the cores"),
    ("PPO", "-optimize", "use python main.py tune --yaml FILE"),
    ("PPO", "--n-trials 5", "use --samples N of python main.py tune --yaml FILE"),
    ("PPO", "--sampler tpe", _TUNED),
    ("PPO", "--pruner median", _TUNED),
    ("PPO", "--study-name x", "--into FOLDER names the folder of a tuning"),
    ("PPO", "--storage x.db", "a setting is written general_cfg.storage=x.db"),
    ("PPO", "-conf ppo.yml", "--yaml FILE; convert FILE --env ID rewrites one of rl-baselines3-zoo"),
    ("PPO", "--gym-packages my_env", "--allow-import PKG, with --env PKG:ID"),
    ("PPO", "--env-kwargs a:1", "arguments of the environment are settings under env_cfg, such as "
     "env_cfg.frame_skip=4"),
    ("PPO", "--track", "use general_cfg.loggers=[csv,tensorboard,wandb]; nothing is sent unless WANDB_MODE says so"),
    ("PPO", "--wandb-entity me", _WANDB),
    ("PPO", "-P", "progress is always shown"),
    ("PPO", "--verbose 1", "progress is always shown, and logs/log.txt has everything"),
    ("PPO", "-uuid", "every task directory has a name of its own"),
    ("PPO", "--load-best", _TEST),
    ("PPO", "--load-last-checkpoint", "use --model latest, with test NAME"),
    ("PPO", "--deterministic", "evaluation and test do not explore, unless general_cfg.explore is true"),
    ("PPO", "--stochastic", "a setting is written general_cfg.explore=VALUE (true)"),
    ("PPO", "--exp-id 1", f"{_TEST}; python main.py runs lists the names"),
    # CleanRL
    ("PPO", "--env-id CartPole-v1", "a setting is written env_cfg.id=CartPole-v1"),
    ("PPO", "--total-timesteps 50000", "a setting is written general_cfg.max_total_step=50000"),
    ("PPO", "--learning-rate 2.5e-4", "a setting is written algo_cfg.lr=2.5e-4"),
    ("SAC", "--learning-rate 1e-3", "a setting is written algo_cfg.actor_lr=1e-3 algo_cfg.critic_lr=1e-3 "
     "algo_cfg.alpha_lr=1e-3"),
    ("TD3", "--learning-rate=1e-3", "a setting is written algo_cfg.actor_lr=1e-3 algo_cfg.critic_lr=1e-3"),
    ("PPO", "--num-envs 4", "a setting is written env_cfg.n_envs=4"),
    ("PPO", "--num-steps 128", "a setting is written algo_cfg.batch_size=VALUE (on-policy: batch_size is num_steps "
     "times num_envs)"),
    ("PPO", "--anneal-lr", "a setting is written algo_cfg.lr_schedule=VALUE (lr_schedule: linear)"),
    ("PPO", "--num-minibatches 4", "a setting is written algo_cfg.sgd_batch_size=VALUE (batch_size divided by "
     "num_minibatches)"),
    ("PPO", "--clip-coef 0.2", "a setting is written algo_cfg.eps_clip=0.2"),
    ("PPO", "--clip-vloss", "a setting is written algo_cfg.value_clip=VALUE (the range, which is clip_coef there; null "
     "for false)"),
    ("PPO", "--target-kl 0.02", "a setting is written algo_cfg.target_kl=VALUE (of CleanRL: two thirds of theirs: 1.5 "
     "times it ends a window here, after any update; there after an epoch)"),
    ("PPO", "--no-cuda", "a setting is written general_cfg.device=VALUE (cpu)"),
    ("PPO", "--capture-video", "a setting is written env_cfg.render_mode=VALUE (rgb_array; or --video)"),
    ("PPO", "--int-coef 1", "a setting is written algo_cfg.bonus_coef=VALUE (with bonus: rnd; int_coef divided by "
     "ext_coef)"),
    ("PPO", "--int-gamma 0.9", "a setting is written algo_cfg.bonus_gamma=VALUE (with bonus: rnd)"),
    ("PPO", "--update-proportion 0.25", "a setting is written algo_cfg.bonus_share=VALUE (with bonus: rnd)"),
    ("PPO", "--hf-entity me", "models stay on this machine; export NAME --to onnx writes one for other programs"),
    ("DQN", "--start-e 1", "a setting is written algo_cfg.epsilon_start=1"),
    ("DQN", "--target-network-frequency 500", "a setting is written algo_cfg.target_update=VALUE (environment steps "
     "there, gradient updates here)"),
    ("DQN", "--train-frequency 10", "a setting is written algo_cfg.train_fre=10"),
    ("C51", "--v-min -100", "a setting is written algo_cfg.v_min=-100"),
    ("SAC", "--policy-lr 3e-4", "a setting is written algo_cfg.actor_lr=3e-4"),
    ("SAC", "--q-lr 1e-3", "a setting is written algo_cfg.critic_lr=1e-3"),
    ("TD3", "--exploration-noise 0.1", "a setting is written algo_cfg.expl_noise=0.1"),
    # Tianshou
    ("DQN", "--update-per-step 0.1", "a setting is written algo_cfg.updates_per_train=VALUE (theirs times train_fre: "
     "updates for each collected step there, for train_fre steps here)"),
    ("DQN", "--num-training-envs 4", "a setting is written env_cfg.n_envs=4"),
    ("PPO", "--collection-step-num-env-steps 2048", "a setting is written algo_cfg.batch_size=2048"),
    ("PPO", "--dual-clip 3", "ratios are clipped by eps_clip alone"),
    ("DQN", "--logger wandb", "a setting is written general_cfg.loggers=VALUE ([csv, tensorboard, wandb]; nothing is "
     "sent unless WANDB_MODE says so)"),
]  # fmt: skip


@pytest.mark.parametrize(("algo", "flag", "answer"), FLAGS)
def test_a_flag_of_theirs_is_answered(capsys, tmp_path, monkeypatch, algo, flag, answer):
    monkeypatch.chdir(tmp_path)
    name = flag.partition(" ")[0]
    said = typed(capsys, "--algo", algo, *flag.split())
    assert said == [f"unknown flag {name}; {answer}", "See: python main.py --help"]


def test_a_negative_value_of_a_flag_is_no_flag(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = typed(capsys, "--algo", "C51", "--n-atoms", "51", "--v-min", "-100", "--v-max", "1e2")
    assert [line.partition(";")[0] for line in said] == [
        "unknown flag --n-atoms", "unknown flag --v-min", "unknown flag --v-max", "See: python main.py --help",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("argv", "answer"),
    [
        ("--algo her", "unknown name 'her'; SAC_HER or DDPG_HER is its counterpart"),
        ("--algo ars", "unknown name 'ars'; random search (ARS) is not offered; REINFORCE and PPO learn with "
         "gradients"),
        ("--algo MaskablePPO", "unknown name 'MaskablePPO'; PPO knows the masks of an environment"),
        ("--algo PPO2", "unknown name 'PPO2'; PPO is its counterpart"),
        ("--algo ppo_continuous_action", "PPO (with lstm: RecurrentPPO) is for all spaces and images"),
        ("--algo dqn_atari", "DQN is for vectors and images"),
        ("--algo rpo", "robust policy optimization (RPO) is not offered; PPO is its nearest"),
        ("--algo PPO --env PandaReach-v3", "PandaReach-v3 needs the package panda_gym, which is not installed: pip "
         "install panda-gym"),
        ("--algo PPO --env HopperBulletEnv-v0", "HopperBulletEnv-v0 needs the package "
         "pybullet_envs_gymnasium, which is not installed: pip install pybullet-envs-gymnasium"),
        ("convert nothere.yml --env CartPole-v1", "nothere.yml: no such file"),
        ("enjoy --algo ppo", "'enjoy' is not a command here; use python main.py film NAME"),
        ("enjoy --algo ppo --env CartPole-v1 -n 5000", "'enjoy' is not a command here; use python main.py film NAME"),
        ("test NAME --n-timesteps 1000", "unknown flag --n-timesteps; use --episodes N"),
        ("film NAME -n 1000", "unknown flag -n; use --episodes N"),
        ("push_to_hub --algo ppo", "'push_to_hub' is not a command here; use python main.py push NAME --to hf://"),
        ("all_plots -a ppo", "'all_plots' is not a command here; use python main.py watch"),
        ("--algo PPO --batch-size 64", f"a setting is written algo_cfg.batch_size=VALUE ({_MINIBATCH})"),
        ("--algo PPO --vf-coef 0.5", "algo_cfg.vf_coef=VALUE (of Stable-Baselines3, sb3-contrib and rl-baselines3-zoo: "
         "twice theirs: half of the squared error counts here)"),
        ("--algo DQN --batch-size 64", "a setting is written algo_cfg.batch_size=64"),
        ("optimize", "'optimize' is not a command here; use python main.py tune --yaml FILE"),
    ],
)  # fmt: skip
def test_a_name_of_theirs_is_answered(capsys, tmp_path, monkeypatch, argv, answer):
    monkeypatch.chdir(tmp_path)
    assert answer in typed(capsys, *argv.split())[0]


def test_every_word_has_an_answer_which_is_not_the_word_itself():
    for word in foreign_names.NAMES:
        settings = [(section, key) for section, key, _ in foreign_names.ours(word)]
        assert ("algo_cfg", word) not in settings
        assert settings or foreign_names.remark_on(word), word


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("PPO", 'an algorithm is named in joystick.Run("PPO", env)'),
        ("MaskablePPO", "PPO knows the masks of an environment"),
        ("ARS", "random search (ARS) is not offered"),
        ("make_vec_env", "write env_cfg={'n_envs': 8}"),
        ("VecNormalize", "write algo_cfg={'normalize_obs': True, 'normalize_reward': True}"),
        ("EvalCallback", "write general_cfg={'online_eval': True"),
        ("BaseCallback", "inherit from joystick.Callbacks"),
        ("evaluate_policy", "write run.evaluate(10)"),
        ("HerReplayBuffer", "hindsight is part of an algorithm"),
        ("MlpPolicy", "networks follow from the spaces"),
    ],
)
def test_a_name_of_their_modules_is_answered(name, answer):
    with pytest.raises(AttributeError) as caught:
        getattr(joystick, name)
    assert f"no attribute {name!r}; {answer}" in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "name", "answer"),
    [
        (joystick.Run, "set_env", "start_from"),
        (joystick.Run, "num_timesteps", "run.count.step"),
        (joystick.Run, "get_parameters", "run.weights()"),
        (joystick.TrainedPolicy, "predict", "act(obs), which returns the best action alone"),
        (joystick.TrainedPolicies, "state_dict", "policy.weights()"),
        (joystick.TrainedPolicy, "q_table", 'policy.weights(), which has "table"'),
    ],
)
def test_a_method_of_their_models_is_answered(kind, name, answer):
    with pytest.raises(AttributeError) as caught:
        getattr(kind.__new__(kind), name)
    assert f"a {kind.__name__} has no {name!r}; use " in str(caught.value)
    assert answer in str(caught.value)


def test_a_model_of_theirs_is_told_as_a_file(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("model.zip").write_bytes(b"PK")
    sentence = "'model.zip' is a file, and a run is a folder: unpack it; models of Stable-Baselines3 cannot be loaded"
    assert sentence in typed(capsys, "test", "model.zip")[0]
    with pytest.raises(ConfigError, match="models of Stable-Baselines3 cannot be loaded"):
        joystick.load("model.zip")


@pytest.mark.parametrize("event", ["_on_step", "_on_rollout_end", "_init_callback"])
def test_an_event_of_theirs_that_would_never_come_is_refused(event):
    kind = type("Theirs", (joystick.Callbacks,), {event: lambda self: True, "_own": lambda self: 3})
    assert f"Theirs has a method {event}, and there is no such event; there are on_episode_start" in problem(kind)
    assert not problem(type("Ours", (joystick.Callbacks,), {"_own": lambda self: 3, "_on_my_own": lambda self: 3}))


def test_a_policy_still_lacks_what_nobody_has():
    policy = joystick.TrainedPolicy.__new__(joystick.TrainedPolicy)
    assert not hasattr(policy, "zzz")
    assert copy.copy(policy) is not policy


@pytest.mark.parametrize(
    ("algo", "arguments", "answer"),
    [
        ("SAC", {"learning_rate": 1e-3}, "algo_cfg={'actor_lr': 0.001, 'critic_lr': 0.001, 'alpha_lr': 0.001}"),
        ("PPO", {"policy_kwargs": {}}, "algo_cfg={'actor_layers': VALUE, 'critic_layers': VALUE} (a list of layers"),
        ("PPO", {"batch_size": 64}, f"algo_cfg={{'batch_size': VALUE}} ({_MINIBATCH})"),
        ("DQN", {"batch_size": 64}, "algo_cfg={'batch_size': 64}"),
    ],
)
def test_an_argument_of_their_models_is_answered_with_all_settings(algo, arguments, answer):
    with pytest.raises(TypeError) as caught:
        joystick.Run(algo, "Pendulum-v1", **arguments)
    assert f"a setting is written {answer}" in str(caught.value)


@pytest.mark.parametrize("names", [("MlpPolicy", "CartPole-v1"), ("PPO", "MlpPolicy", "CartPole-v1")])
def test_a_policy_in_the_place_of_a_name_is_left_out(names):
    with pytest.raises(TypeError, match="Run has no place for 'MlpPolicy': leave it out; networks follow"):
        joystick.Run(*names)
