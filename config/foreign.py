"""Names that users of Stable-Baselines3, CleanRL, RLlib and Tianshou type, and what they are called here."""

from collections.abc import Iterator

_LAYERS = "value_layers actor_layers"
_BATCH = "on-policy: batch_size is n_steps times n_envs"

NAMES: dict[str, tuple[str, str]] = {
    # length of the run, environments, processes
    "total_timesteps": ("general_cfg.max_total_step", ""),
    "total_steps": ("general_cfg.max_total_step", ""),
    "num_timesteps": ("general_cfg.max_total_step", ""),
    "timesteps_total": ("general_cfg.max_total_step", ""),
    "max_timesteps": ("general_cfg.max_total_step", ""),
    "num_episodes": ("general_cfg.max_episode", ""),
    "total_episodes": ("general_cfg.max_episode", ""),
    "max_episode_steps": ("env_cfg.max_episode_steps", ""),
    "num_envs": ("env_cfg.n_envs", ""),
    "training_num": ("env_cfg.n_envs", ""),
    "num_envs_per_env_runner": ("env_cfg.n_envs", ""),
    "num_workers": ("general_cfg.n_workers", "with mp_backend: ray"),
    "num_env_runners": ("general_cfg.n_workers", "with mp_backend: ray"),
    "num_learners": ("general_cfg.n_learners", "with mp_backend: ray"),
    "env_id": ("env_cfg.id", ""),
    "eval_freq": ("general_cfg.model_save_fre", "with online_eval: true"),
    "n_eval_episodes": ("general_cfg.online_eval_episode", ""),
    "evaluation_duration": ("general_cfg.online_eval_episode", ""),
    "env_wrapper": ("env_cfg.wrappers", ""),
    "frame_stack": ("env_cfg.wrappers", "such as [{wrapper_name: FrameStack, stack_size: 4}]"),
    # optimization
    "learning_rate": ("lr actor_lr", ""),
    "anneal_lr": ("lr_schedule", "lr_schedule: linear"),
    "grad_clip": ("max_grad_norm", ""),
    "discount": ("gamma", ""),
    "discount_factor": ("gamma", ""),
    "net_arch": (_LAYERS, ""),
    "hidden_sizes": (_LAYERS, ""),
    "fcnet_hiddens": (_LAYERS, ""),
    "policy_kwargs": (_LAYERS, ""),
    "norm_obs": ("normalize_obs", ""),
    "norm_reward": ("normalize_reward", ""),
    "observation_filter": ("normalize_obs", ""),
    # on-policy
    "clip_range": ("eps_clip", ""),
    "clip_coef": ("eps_clip", ""),
    "clip_param": ("eps_clip", ""),
    "clip_range_vf": ("value_clip", ""),
    "vf_clip_param": ("value_clip", ""),
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
    "start_e": ("epsilon_start", ""),
    "end_e": ("epsilon_end", ""),
    "start_timesteps": ("start_steps learning_starts", ""),
    "num_steps_sampled_before_learning_starts": ("learning_starts", ""),
    "replay_size": ("buffer_size", ""),
    "replay_buffer_capacity": ("buffer_size", ""),
    "prioritized_replay": ("buffer_type", "buffer_type: PER"),
    "prioritized_replay_alpha": ("per_alpha", ""),
    "prioritized_replay_beta": ("per_beta", ""),
    "policy_delay": ("policy_freq", ""),
    "policy_frequency": ("policy_freq", ""),
    "target_policy_noise": ("policy_noise", ""),
    "target_noise_clip": ("noise_clip", ""),
    "exploration_noise": ("expl_noise exploration_type", ""),
    "action_noise": ("exploration_type", "gaussian or ou"),
    "autotune": ("alpha", "alpha: auto"),
    "top_quantiles_to_drop_per_net": ("drop_quantiles", ""),
    "num_atoms": ("n_atoms", ""),
}
"""Foreign name -> our settings, of which the first that exists is meant (in algo_cfg unless another section is
named), and a remark."""


def ours(name: str) -> Iterator[tuple[str, str, str]]:
    """Yields (section, setting, remark) for a foreign name, best first."""
    paths, remark = NAMES.get(name.lower().replace("-", "_"), ("", ""))
    for path in paths.split():
        section, dot, key = path.rpartition(".")
        yield section if dot else "algo_cfg", key, remark
