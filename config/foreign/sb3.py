"""Words of Stable-Baselines3, sb3-contrib and rl-baselines3-zoo: arguments of algorithms and policies, hyperparameters
in files, flags, and the defaults that a file leaves out."""

from typing import Any

from config.foreign import sb3_values as values
from config.foreign.table import Row

LISTS = "a list of layers, such as [{layer_type: linear, layer_size: [64, 64]}]"
_LAYERS = "value_layers actor_layers critic_layers"
_OPTIMIZER = "parts of the optimizer are settings: optimizer, weight_decay, adam_epsilon"
_SDE = "noise that depends on the state is not offered"
_SEARCH = "random search (ARS) is not offered; REINFORCE and PPO learn with gradients"
_TUNING = "values to try, their number and their scheduler are in section tune_cfg of a file for tune (docs/tuning.md)"
_WANDB = "general_cfg.loggers with wandb; its environment variables name project and entity"

_RUN: dict[str, Row] = {
    "total_timesteps": Row("general_cfg.max_total_step", translate=values.total_steps),
    "n_timesteps": Row("general_cfg.max_total_step", translate=values.total_steps),
    "num_timesteps": Row("general_cfg.max_total_step"),
    "eval_freq": Row("general_cfg.model_save_fre", "with online_eval: true and model_save_unit: step"),
    "n_evaluations": Row("general_cfg.model_save_fre", "steps between evaluations, with online_eval: true"),
    "n_eval_episodes": Row("general_cfg.online_eval_episode"),
    "eval_episodes": Row("general_cfg.online_eval_episode"),
    "n_eval_envs": Row(needless="evaluation has rows of its own"),
    "eval_env_kwargs": Row(refused="the evaluation has the environment of the training"),
    "best_model_save_path": Row(needless="the best model is in models/best of the task directory"),
    "log_path": Row(needless="scores are in results/ of the task directory"),
    "deterministic": Row(needless="evaluation and test do not explore"),
    "deterministic_eval": Row(needless="evaluation and test do not explore"),
    "stochastic": Row(refused="evaluation and test do not explore"),
    "save_freq": Row("general_cfg.model_save_fre", "with model_save_unit: step"),
    "save_path": Row(needless="models are in models/ of the task directory"),
    "save_replay_buffer": Row(needless="checkpoints have it"),
    "truncate_last_trajectory": Row(needless="a resume goes on in the middle of an episode"),
    "reset_num_timesteps": Row(needless="resume NAME goes on counting"),
    "tb_log_name": Row(refused="--into FOLDER names the task directory"),
    "exp_name": Row(refused="--into FOLDER names the task directory"),
    "log_folder": Row(refused="--into FOLDER names the task directory"),
    "uuid": Row(needless="every task directory has a name of its own"),
    "log_interval": Row("general_cfg.interact_summary_fre", "in episodes"),
    "verbose": Row(needless="progress is always shown, and logs/log.txt has everything"),
    "progress": Row(needless="progress is always shown"),
    "progress_bar": Row(needless="progress is always shown"),
    "tensorboard_log": Row(needless="files for TensorBoard are in tb_logs/ of the task directory"),
    "wandb_project_name": Row(refused=_WANDB),
    "wandb_entity": Row(refused=_WANDB),
    "wandb_group": Row(refused=_WANDB),
    "wandb_tags": Row(refused=_WANDB),
    "tags": Row(refused=_WANDB),
    "stats_window_size": Row(needless="curves have a mean over episodes"),
    "seed": Row("general_cfg.seed"),
    "device": Row("general_cfg.device"),
    "num_threads": Row(needless="the number of threads follows from the networks and the cores"),
    "callback": Row("general_cfg.callbacks", "my_module:MyCallbacks"),
    "hyperparams": Row(refused="settings are words such as algo_cfg.lr=0.001, or lines of a file for --yaml"),
    "conf_file": Row(refused="--yaml FILE; convert FILE --env ID rewrites one of rl-baselines3-zoo"),
    "gym_packages": Row(refused="--allow-import PKG, with --env PKG:ID"),
    "n_startup_trials": Row(refused=_TUNING),
    "max_total_trials": Row(refused=_TUNING),
    "sampler": Row(refused=_TUNING),
    "pruner": Row(refused=_TUNING),
    "storage": Row(refused="a tuning is a folder; tune --resume FOLDER continues it"),
    "study_name": Row(refused="--into FOLDER names the folder of a tuning"),
    "no_optim_plots": Row(needless="the report of a tuning has its figures"),
    "optimization_log_path": Row(refused="--into FOLDER names the folder of a tuning"),
    "trial_id": Row(refused="each trial is a task directory; resume NAME goes on with one"),
    "reward_threshold": Row("general_cfg.reward_threshold"),
    "max_episodes": Row("general_cfg.max_episode"),
}
"""Arguments of learn and of callbacks, and flags of rl_zoo3."""

_ENVIRONMENT: dict[str, Row] = {
    "env": Row("env_cfg.id", "--env ID"),
    "env_id": Row("env_cfg.id"),
    "n_envs": Row("env_cfg.n_envs"),
    "vec_env": Row("env_cfg.vectorization", "sync is dummy, async is subproc"),
    "vec_env_cls": Row("env_cfg.vectorization", "sync is DummyVecEnv, async is SubprocVecEnv"),
    "vec_env_kwargs": Row(refused="env_cfg.vectorization is auto, sync, async or native"),
    "env_kwargs": Row(translate=values.arguments, refused="arguments of the environment are settings under env_cfg"),
    "env_wrapper": Row("env_cfg.wrappers", translate=values.wrapped),
    "wrapper_class": Row("env_cfg.wrappers"),
    "frame_stack": Row("env_cfg.wrappers", "such as [{wrapper_name: FrameStack, stack_size: 4}]", values.stacked),
    "n_stack": Row("env_cfg.wrappers", "such as [{wrapper_name: FrameStack, stack_size: 4}]"),
    "vec_env_wrapper": Row(
        translate=values.vec_wrapped, refused="env_cfg.wrappers has FrameStack, algo_cfg.normalize_obs normalizes"
    ),
    "max_episode_length": Row("env_cfg.max_episode_steps", translate=values.episode_length),
    "monitor_dir": Row(needless="every episode is a line of results/train.csv"),
    "monitor_kwargs": Row(needless="every episode is a line of results/train.csv"),
    "normalize": Row("normalize_obs normalize_reward", translate=values.normalized),
    "norm_obs": Row("normalize_obs"),
    "norm_reward": Row("normalize_reward"),
    "clip_obs": Row(needless="normalized observations are within -10..10", values=(10, 10.0), refused="it is 10 here"),
    "clip_reward": Row("reward_clip", "sign or clip; normalized rewards are within -10..10"),
}
"""Arguments of make_vec_env and VecNormalize."""

_ON_POLICY: dict[str, Row] = {
    "n_steps": Row("n_step batch_size", "on-policy: batch_size is n_steps times n_envs", values.rollout_steps),
    "batch_size": Row("sgd_batch_size batch_size", "on-policy: sgd_batch_size", values.minibatch),
    "n_epochs": Row("k_epochs"),
    "gae_lambda": Row("gae_lambda"),
    "clip_range": Row("eps_clip", translate=values.clip_range),
    "clip_range_vf": Row("value_clip", translate=values.clip_range_vf),
    "normalize_advantage": Row("normalize_advantage"),
    "ent_coef": Row("entropy_coef alpha", translate=values.entropy),
    "vf_coef": Row("value_coef"),
    "max_grad_norm": Row("max_grad_norm"),
    "target_kl": Row("target_kl max_kl"),
    "use_rms_prop": Row("optimizer", "rmsprop or adam", values.rms_prop),
    "rms_prop_eps": Row(refused="optimizer: rmsprop has torch's own, 1e-8"),
    "rollout_buffer_class": Row(refused="on-policy memories hold one window"),
    "rollout_buffer_kwargs": Row(refused="on-policy memories hold one window"),
    "cg_max_steps": Row("cg_steps"),
    "cg_damping": Row("cg_damping"),
    "line_search_max_iter": Row("line_search_steps"),
    "line_search_shrinking_factor": Row(refused="each length that the line search tries is half of the one before"),
    "n_critic_updates": Row("k_epochs", "epochs of the value network"),
    "sub_sampling_factor": Row(needless="all transitions count", values=(1,), refused="all transitions count"),
}
"""Arguments of PPO, A2C, TRPO and RecurrentPPO."""

_OFF_POLICY: dict[str, Row] = {
    "train_freq": Row("train_fre", translate=values.train_freq),
    "gradient_steps": Row("updates_per_train", translate=values.gradient_steps),
    "learning_starts": Row("learning_starts start_steps", translate=values.learning_starts),
    "buffer_size": Row("buffer_size"),
    "tau": Row("tau"),
    "target_update_interval": Row("target_update", "in gradient updates", values.target_update),
    "exploration_fraction": Row(
        "epsilon_decay", "in environment steps, with epsilon_schedule: linear", values.exploration_fraction
    ),
    "exploration_initial_eps": Row("epsilon_start"),
    "exploration_final_eps": Row("epsilon_end"),
    "optimize_memory_usage": Row(needless="a frame of a stack is kept once"),
    "replay_buffer_class": Row(
        translate=values.replay_class, refused="buffer_type is REPLAY or PER, and her_ratio relabels goals"
    ),
    "replay_buffer_kwargs": Row(refused="her_ratio is the share of relabeled goals: n / (n + 1) of n_sampled_goal"),
    "n_sampled_goal": Row("her_ratio", "n / (n + 1)", values.relabeled),
    "goal_selection_strategy": Row(
        needless="goals are states that the episode reached later (future)", values=("future",),
        refused="goals are states that the episode reached later (future)",
    ),
    "online_sampling": Row(needless="goals are relabeled when they are sampled"),
    "handle_timeout_termination": Row(needless="an end by a time limit is no end of the task"),
    "model_class": Row(refused="algo_name: DDPG_HER or SAC_HER names the algorithm and the relabeling"),
    "action_noise": Row("exploration_type", "gaussian or ou"),
    "noise_type": Row("exploration_type", "gaussian or ou", values.noise_type),
    "noise_std": Row("expl_noise", translate=values.noise_std),
    "policy_delay": Row("policy_freq"),
    "target_policy_noise": Row("policy_noise"),
    "target_noise_clip": Row("noise_clip"),
    "target_entropy": Row("target_entropy"),
    "top_quantiles_to_drop_per_net": Row("drop_quantiles"),
}  # fmt: skip
"""Arguments of DQN, QR-DQN, DDPG, TD3, SAC, TQC and CrossQ."""

_NETWORKS: dict[str, Row] = {
    "policy": Row(
        translate=values.policy, refused="networks are lists of layers: value_layers, or actor_layers and critic_layers"
    ),
    "policy_kwargs": Row(_LAYERS, LISTS),
    "net_arch": Row(_LAYERS, LISTS, values.layers),
    "activation_fn": Row(_LAYERS, "activation of each layer", lambda value, scope: values.SAID_ELSEWHERE),
    "lstm_hidden_size": Row(
        _LAYERS, "a layer {layer_type: lstm, layer_size: [256]}", lambda value, scope: values.SAID_ELSEWHERE
    ),
    "n_lstm_layers": Row(needless="one", values=(1,), refused="layer_size: [64, 64] of an lstm layer is two"),
    "enable_critic_lstm": Row("critic_layers", "with or without lstm", lambda value, scope: values.SAID_ELSEWHERE),
    "shared_lstm": Row(
        needless="actor and critic have a memory each", values=(False,),
        refused="layers of actor and critic with the same `shared` name are one",
    ),
    "ortho_init": Row(
        needless="actor-critics begin with orthogonal weights", values=(True,),
        refused="init: xavier or kaiming draws other first weights; torch's own are not offered",
    ),
    "log_std_init": Row("log_std_init", translate=values.log_std),
    "n_critics": Row("n_critics"),
    "n_quantiles": Row("n_quantiles"),
    "features_extractor_class": Row(refused="images get a convolutional network; conv2d layers write another"),
    "features_extractor_kwargs": Row(refused="the layers are written as lists, with conv2d among them"),
    "share_features_extractor": Row(
        needless="actor and critic have a network each", values=(False,),
        refused="layers of actor and critic with the same `shared` name are one",
    ),
    "normalize_images": Row(needless="bytes of images are divided by 255"),
    "squash_output": Row(needless="actions are within their bounds"),
    "full_std": Row(refused=_SDE),
    "use_expln": Row(refused=_SDE),
    "optimizer_class": Row("optimizer", "adam, adamw, rmsprop or sgd", values.optimizer),
    "optimizer_kwargs": Row(refused=_OPTIMIZER),
    "learning_rate": Row("lr actor_lr critic_lr alpha_lr", translate=values.learning_rate),
    "gamma": Row("gamma"),
    "use_sde": Row(
        needless="the noise is that of each step", values=(False,),
        refused=f"{_SDE}; the size of the usual one is log_std_init, or exploration_type and expl_noise",
    ),
    "sde_sample_freq": Row(needless="there is no such noise", values=(-1,), refused=_SDE),
    "use_sde_at_warmup": Row(needless="there is no such noise", values=(False,), refused=_SDE),
    "n_delta": Row(refused=_SEARCH),
    "n_top": Row(refused=_SEARCH),
    "delta_std": Row(refused=_SEARCH),
    "zero_policy": Row(refused=_SEARCH),
    "alive_bonus_offset": Row(refused=_SEARCH),
}  # fmt: skip
"""Arguments of policies, and of all algorithms."""

WORDS: dict[str, Row] = {**_RUN, **_ENVIRONMENT, **_ON_POLICY, **_OFF_POLICY, **_NETWORKS}
"""All of them; where the meaning of one depends on another, the other one comes first."""

ALGOS = {"her": "SAC_HER or DDPG_HER is its counterpart", "ars": _SEARCH, "ppo2": "PPO is its counterpart",
         "maskableppo": "PPO knows the masks of an environment", "ppo_mask": "PPO knows the masks of an environment",
         "acktr": "A2C or TRPO is its counterpart", "acer": "A2C or IMPALA is its counterpart",
         "trpo_mpi": "TRPO is its counterpart", "maskable_ppo": "PPO knows the masks of an environment"}  # fmt: skip
"""Algorithms in lower case that have another name here, or none, and what to take in their place."""

_SHARED = {"gamma": 0.99, "policy": "MlpPolicy", "normalize": False}
_ACTOR_CRITIC = {
    **_SHARED, "gae_lambda": 0.95, "ent_coef": 0.0, "vf_coef": 0.5, "max_grad_norm": 0.5, "net_arch": [64, 64],
    "activation_fn": "Tanh",
}  # fmt: skip
_REPLAY = {
    **_SHARED, "buffer_size": 1_000_000, "learning_starts": 100, "batch_size": 256, "tau": 0.005, "train_freq": 1,
    "gradient_steps": 1, "learning_rate": 1e-3,
}  # fmt: skip
_SOFT = {**_REPLAY, "learning_rate": 3e-4, "ent_coef": "auto", "net_arch": [256, 256]}
_VALUES = {
    **_REPLAY, "batch_size": 32, "tau": 1.0, "train_freq": 4, "target_update_interval": 10_000,
    "exploration_initial_eps": 1.0, "net_arch": [64, 64],
}  # fmt: skip
_PPO = {**_ACTOR_CRITIC, "learning_rate": 3e-4, "n_steps": 2048, "batch_size": 64, "n_epochs": 10, "clip_range": 0.2}
_LSTM = {"lstm_hidden_size": 256, "enable_critic_lstm": True}
DEFAULTS: dict[str, dict[str, Any]] = {
    "PPO": _PPO,
    "RecurrentPPO": {**_PPO, **_LSTM, "n_steps": 128, "batch_size": 128},
    "A2C": {**_ACTOR_CRITIC, "learning_rate": 7e-4, "n_steps": 5, "gae_lambda": 1.0, "use_rms_prop": True},
    "TRPO": {
        **{key: value for key, value in _ACTOR_CRITIC.items() if key not in ("ent_coef", "vf_coef", "max_grad_norm")},
        "learning_rate": 1e-3, "n_steps": 2048, "batch_size": 128, "cg_max_steps": 15, "cg_damping": 0.1,
        "line_search_max_iter": 10, "n_critic_updates": 10, "target_kl": 0.01,
    },
    "DQN": {
        **_VALUES, "learning_rate": 1e-4, "exploration_fraction": 0.1, "exploration_final_eps": 0.05,
        "max_grad_norm": 10,
    },
    "QRDQN": {
        **_VALUES, "learning_rate": 5e-5, "exploration_fraction": 0.005, "exploration_final_eps": 0.01,
        "n_quantiles": 200,
    },
    "DDPG": {**_REPLAY, "noise_type": None, "n_critics": 1, "net_arch": [400, 300]},
    "TD3": {**_REPLAY, "noise_type": None, "policy_delay": 2, "net_arch": [400, 300]},
    "SAC": _SOFT,
    "TQC": {**_SOFT, "top_quantiles_to_drop_per_net": 2, "n_quantiles": 25, "n_critics": 2},
    "CrossQ": {
        **{key: value for key, value in _SOFT.items() if key != "tau"}, "learning_rate": 1e-3, "policy_delay": 3,
        "net_arch": {"pi": [256, 256], "qf": [1024, 1024]},
    },
}  # fmt: skip
"""Our name of an algorithm -> the defaults of Stable-Baselines3 and sb3-contrib, by their words."""
