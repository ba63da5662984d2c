"""Names that users of Stable-Baselines3, CleanRL, RLlib and Tianshou type, and what they are called here.

Messages suggest them; --config and --stop translate them, with config/foreign/rllib.py for values that mean something
else.
"""

from collections.abc import Container, Iterator
from typing import Any

from config.program import PROGRAM

_LAYERS = "value_layers actor_layers"
_LISTS = "a list of layers, such as [{layer_type: linear, layer_size: [64, 64]}]"
_BATCH = "on-policy: batch_size is n_steps times n_envs"

NAMES: dict[str, tuple[str, str]] = {
    # length of the run, environments, processes
    "total_timesteps": ("general_cfg.max_total_step", ""),
    "total_steps": ("general_cfg.max_total_step", ""),
    "num_timesteps": ("general_cfg.max_total_step", ""),
    "timesteps_total": ("general_cfg.max_total_step", ""),
    "n_timesteps": ("general_cfg.max_total_step", ""),
    "timesteps": ("general_cfg.max_total_step", ""),
    "stop_timesteps": ("general_cfg.max_total_step", ""),
    "stop_iters": ("general_cfg.max_iteration", ""),
    "epoch": ("general_cfg.max_iteration", ""),
    "max_epoch": ("general_cfg.max_iteration", ""),
    "step_per_epoch": ("general_cfg.iteration_steps", ""),
    "stop_reward": ("general_cfg.stop_return", ""),
    "max_timesteps": ("general_cfg.max_total_step", ""),
    "num_episodes": ("general_cfg.max_episode", ""),
    "total_episodes": ("general_cfg.max_episode", ""),
    "episodes_total": ("general_cfg.max_episode", ""),
    "num_env_steps_sampled_lifetime": ("general_cfg.max_total_step", ""),
    "training_iteration": ("general_cfg.max_iteration", ""),
    "time_total_s": ("general_cfg.max_time", ""),
    "episode_reward_mean": ("general_cfg.stop_return", ""),
    "episode_return_mean": ("general_cfg.stop_return", ""),
    "timesteps_per_iteration": ("general_cfg.iteration_steps", ""),
    "min_sample_timesteps_per_iteration": ("general_cfg.iteration_steps", ""),
    "horizon": ("general_cfg.max_step", ""),
    "max_episode_steps": ("env_cfg.max_episode_steps", ""),
    "num_envs": ("env_cfg.n_envs", ""),
    "training_num": ("env_cfg.n_envs", ""),
    "num_envs_per_env_runner": ("env_cfg.n_envs", ""),
    "num_envs_per_worker": ("env_cfg.n_envs", ""),
    "num_workers": ("general_cfg.n_workers", "with mp_backend: ray"),
    "num_rollout_workers": ("general_cfg.n_workers", "with mp_backend: ray"),
    "num_env_runners": ("general_cfg.n_workers", "with mp_backend: ray"),
    "num_learners": ("general_cfg.n_learners", "with mp_backend: ray"),
    "num_gpus": ("general_cfg.num_gpus_per_learner", "with device: auto"),
    "env_id": ("env_cfg.id", ""),
    "gym_id": ("env_cfg.id", ""),
    "env_kwargs": ("", "arguments of the environment are settings under env_cfg"),
    "vec_env": ("env_cfg.vectorization", ""),
    "cuda": ("general_cfg.device", "cpu, cuda or auto"),
    "num_cpus": ("general_cfg.num_cpus_per_worker", ""),
    "redis_address": ("general_cfg.ray_address", ""),
    "framework": ("", "there is only torch"),
    "hyperparams": ("", "settings are words such as algo_cfg.lr=0.001, or lines of a file for --yaml"),
    "torch_deterministic": ("", "equal seeds give equal numbers on a CPU without a setting"),
    "eval_freq": ("general_cfg.model_save_fre", "with online_eval: true"),
    "n_eval_episodes": ("general_cfg.online_eval_episode", ""),
    "test_num": ("general_cfg.online_eval_episode", ""),
    "episode_per_test": ("general_cfg.online_eval_episode", ""),
    "save_freq": ("general_cfg.model_save_fre", ""),
    "save_interval": ("general_cfg.model_save_fre", ""),
    "exp_name": ("", "--into FOLDER names the task directory"),
    "experiment_name": ("", "--into FOLDER names the task directory"),
    "local_dir": ("", "--into FOLDER names the task directory"),
    "save_model": ("", "models are always saved, every general_cfg.model_save_fre updates"),
    "log_interval": ("general_cfg.interact_summary_fre", "in episodes"),
    "verbose": ("", "progress is always shown, and logs/log.txt has everything"),
    "progress_bar": ("", "progress is always shown"),
    "tensorboard_log": ("", "files for TensorBoard are in tb_logs/ of the task directory"),
    "logdir": ("", "files for TensorBoard are in tb_logs/ of the task directory"),
    "track": ("general_cfg.loggers", "[csv, tensorboard, wandb]; nothing is sent unless WANDB_MODE says so"),
    "wandb": ("general_cfg.loggers", "[csv, tensorboard, wandb]; nothing is sent unless WANDB_MODE says so"),
    "wandb_project_name": ("", "general_cfg.loggers with wandb; its environment variables name project and entity"),
    "wandb_entity": ("", "general_cfg.loggers with wandb; its environment variables name project and entity"),
    "capture_video": ("env_cfg.render_mode", "rgb_array; or --video"),
    "evaluation_duration": ("general_cfg.online_eval_episode", ""),
    "evaluation_num_episodes": ("general_cfg.online_eval_episode", ""),
    "evaluation_interval": ("general_cfg.model_save_fre", "with online_eval: true; counted in model_save_unit"),
    "checkpoint_freq": ("general_cfg.model_save_fre", "with model_save_unit: iteration"),
    "env_wrapper": ("env_cfg.wrappers", ""),
    "frame_stack": ("env_cfg.wrappers", "such as [{wrapper_name: FrameStack, stack_size: 4}]"),
    # optimization
    "learning_rate": ("lr actor_lr critic_lr alpha_lr", ""),
    "actor_learning_rate": ("actor_lr", ""),
    "policy_lr": ("actor_lr", ""),
    "critic_learning_rate": ("critic_lr", ""),
    "q_lr": ("critic_lr", ""),
    "value_lr": ("critic_lr", ""),
    "entropy_learning_rate": ("alpha_lr", ""),
    "initial_alpha": ("alpha_init", ""),
    "clip_rewards": ("reward_clip", "reward_clip: sign"),
    "anneal_lr": ("lr_schedule", "lr_schedule: linear"),
    "grad_clip": ("max_grad_norm", ""),
    "discount": ("gamma", ""),
    "discount_factor": ("gamma", ""),
    "net_arch": (_LAYERS, _LISTS),
    "hidden_sizes": (_LAYERS, _LISTS),
    "fcnet_hiddens": (_LAYERS, _LISTS),
    "policy_kwargs": (_LAYERS, _LISTS),
    "norm_obs": ("normalize_obs", ""),
    "norm_reward": ("normalize_reward", ""),
    "rew_norm": ("normalize_reward", ""),
    "normalize": ("normalize_obs", ""),
    "policy": ("", "networks are lists of layers: value_layers, or actor_layers and critic_layers"),
    "hiddens": ("", "the layers are written as value_layers"),
    "actor_hiddens": ("actor_layers", _LISTS),
    "critic_hiddens": ("critic_layers", _LISTS),
    "policy_model": ("actor_layers", _LISTS),
    "q_model": ("critic_layers value_layers", _LISTS),
    "optimization": ("", "rates are written as actor_lr, critic_lr and alpha_lr"),
    "microbatch_size": ("", "a minibatch is learned as a whole: sgd_batch_size is its size"),
    "entropy_coeff_schedule": ("", "entropy_coef is constant"),
    "observation_filter": ("normalize_obs", ""),
    # on-policy
    "clip_range": ("eps_clip", ""),
    "clip_coef": ("eps_clip", ""),
    "clip_param": ("eps_clip", ""),
    "clip_range_vf": ("value_clip", ""),
    "vf_clip_param": ("value_clip", "limits the change of the value, not the squared error"),
    "kl_coeff": ("kl_lambda", "with ppo_type: kl, which replaces the clipping"),
    "n_steps": ("n_step batch_size", _BATCH),
    "num_steps": ("n_step batch_size", _BATCH),
    "train_batch_size": ("batch_size", ""),
    "n_epochs": ("k_epochs", ""),
    "num_epochs": ("k_epochs", ""),
    "update_epochs": ("k_epochs", ""),
    "num_sgd_iter": ("k_epochs", ""),
    "repeat_per_collect": ("k_epochs", ""),
    "minibatch_size": ("sgd_batch_size", ""),
    "sgd_minibatch_size": ("sgd_batch_size", ""),
    "num_minibatches": ("sgd_batch_size", "batch_size divided by num_minibatches"),
    "ent_coef": ("entropy_coef alpha", ""),
    "entropy_coeff": ("entropy_coef alpha", ""),
    "vf_loss_coeff": ("value_coef", ""),
    "lambda": ("gae_lambda", ""),
    "lambda_": ("gae_lambda", ""),
    "norm_adv": ("normalize_advantage", ""),
    # off-policy
    "train_freq": ("train_fre", ""),
    "train_frequency": ("train_fre", ""),
    "step_per_collect": ("train_fre batch_size", ""),
    "rollout_fragment_length": ("train_fre batch_size", ""),
    "sample_batch_size": ("train_fre batch_size", ""),
    "n_critic_updates": ("k_epochs", "epochs of the value network"),
    "gradient_steps": ("updates_per_train", ""),
    "update_per_step": ("updates_per_train", ""),
    "target_update_interval": ("target_update", "in gradient updates"),
    "target_update_freq": ("target_update", "in gradient updates"),
    "target_network_frequency": ("target_update", "in gradient updates"),
    "target_network_update_freq": ("target_update", "in gradient updates"),
    "polyak": ("tau", "tau is 1 - polyak"),
    "exploration_fraction": ("epsilon_decay", "in environment steps, with epsilon_schedule: linear"),
    "exploration_initial_eps": ("epsilon_start", ""),
    "exploration_final_eps": ("epsilon_end", ""),
    "eps_test": ("eval_epsilon", ""),
    "eps_train": ("epsilon_start", ""),
    "eps_train_final": ("epsilon_end", ""),
    "noise_std": ("expl_noise", ""),
    "start_e": ("epsilon_start", ""),
    "end_e": ("epsilon_end", ""),
    "start_timesteps": ("start_steps learning_starts", ""),
    "num_steps_sampled_before_learning_starts": ("learning_starts", ""),
    "replay_size": ("buffer_size", ""),
    "replay_buffer_config": ("buffer_size", "with buffer_type: PER for priorities"),
    "replay_buffer_capacity": ("buffer_size", ""),
    "prioritized_replay": ("buffer_type", "buffer_type: PER"),
    "prioritized_replay_alpha": ("per_alpha", ""),
    "prioritized_replay_beta": ("per_beta", ""),
    "policy_delay": ("policy_freq", ""),
    "twin_q": ("n_critics", "2 for true"),
    "double_q": ("double", ""),
    "policy_frequency": ("policy_freq", ""),
    "target_policy_noise": ("policy_noise", ""),
    "target_noise_clip": ("noise_clip", ""),
    "exploration_noise": ("expl_noise exploration_type", ""),
    "action_noise": ("exploration_type", "gaussian or ou"),
    "noise_type": ("exploration_type", "gaussian or ou"),
    "exploration_enabled": ("exploration_type", "none is without exploration"),
    "use_sde": ("", "noise that depends on the state is not offered; exploration_type and expl_noise choose another"),
    "sde_sample_freq": ("", "noise that depends on the state is not offered"),
    "n_sampled_goal": ("her_ratio", "n / (n + 1)"),
    "goal_selection_strategy": ("", "goals are states that the episode reached later (future)"),
    "model_class": ("", "algo_name: DDPG_HER or SAC_HER names the algorithm and the relabeling"),
    "min_q_weight": ("cql_alpha", ""),
    "autotune": ("alpha", "alpha: auto"),
    "top_quantiles_to_drop_per_net": ("drop_quantiles", ""),
    "num_atoms": ("n_atoms", ""),
    "n_atom": ("n_atoms", ""),
    # neither
    "input": ("data", "a task directory or data files, with an algorithm that learns from them (docs/offline.md)"),
    "input_config": ("data", "a task directory or data files (docs/offline.md)"),
    "output": ("general_cfg.traces", "a folder in the task directory, such as results/traces"),
    "output_compress_columns": ("general_cfg.traces_compress", "with traces"),
    "monitor": ("general_cfg.video_fre", "number of training episodes between videos"),
    "callbacks": ("general_cfg.callbacks", "my_module:MyCallbacks"),
}
"""Foreign name -> our settings, of which the first that exists is meant (in algo_cfg unless another section is
named), and a remark. Without a setting, the remark says what to do."""

RATES = ("actor_lr", "critic_lr", "alpha_lr")
"""Learning rates of an actor-critic, where other libraries have one."""


def origin(value: dict[Any, Any]) -> str:
    """Returns the end of a sentence that names the library whose file this looks like; empty if none does."""
    entries = [entry for entry in value.values() if isinstance(entry, dict)]
    if any({"run", "env"} <= set(entry) for entry in entries):
        return f"; it looks like experiments of RLlib: {PROGRAM} -f FILE"
    if any({"n_timesteps", "policy"} & set(entry) for entry in entries):
        return (
            "; it looks like hyperparameters of rl-baselines3-zoo: docs/tutorials/from_sb3.md has their names here,"
            f" and {PROGRAM} --algo PPO --env CartPole-v1 needs no file"
        )
    return ""


_RAY = "PPO with general_cfg.mp_backend=ray has its workers, and IMPALA learns without waiting for them"
ALGORITHMS = {
    "appo": _RAY,
    "apex": "DQN with algo_cfg.buffer_type=PER and general_cfg.mp_backend=ray is its counterpart",
    "apex_dqn": "DQN with algo_cfg.buffer_type=PER and general_cfg.mp_backend=ray is its counterpart",
    "ddppo": "PPO with general_cfg.mp_backend=ray and general_cfg.n_learners is its counterpart",
}
"""Algorithms of other libraries, in lower case, and what to take in their place."""


def ours(name: str) -> Iterator[tuple[str, str, str]]:
    """Yields (section, setting, remark) for a foreign name, best first."""
    paths, remark = _entry(name)
    for path in paths.split():
        section, dot, key = path.rpartition(".")
        yield section if dot else "algo_cfg", key, remark


def together(name: str, key: str, fields: Container[str]) -> list[str]:
    """Returns the settings that a foreign name sets at once. key: the one that it means; fields: those that exist."""
    return [rate for rate in RATES if rate in fields] if name == "learning_rate" and key in RATES else [key]


def remark_on(name: str) -> str:
    """Returns what to do in place of a foreign name that no setting corresponds to; empty for any other name."""
    paths, remark = _entry(name)
    return "" if paths else remark


def _entry(name: str) -> tuple[str, str]:
    return NAMES.get(name.lower().replace("-", "_"), ("", ""))
