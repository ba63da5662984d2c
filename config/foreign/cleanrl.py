"""Words of CleanRL: the arguments of its files."""

from config.foreign.sb3 import LISTS
from config.foreign.table import Row

_WANDB = "general_cfg.loggers with wandb; its environment variables name project and entity"
_ROLLOUT = "on-policy: batch_size is num_steps times num_envs"
_HUB = "models stay on this machine; export NAME --to onnx writes one for other programs"
_TEACHER = "learning from another policy: BC, DAgger or DQN with algo_cfg.data (docs/offline.md)"
_RPO = "robust policy optimization (RPO) is not offered; PPO is its nearest"
_PPG = "phasic policy gradient is not offered; PPO is its nearest"
_RND = "random network distillation is not offered; general_cfg.callbacks or a wrapper of your own adds rewards"
_STEPS = "environment steps there, gradient updates here"

WORDS: dict[str, Row] = {
    # every file
    "exp_name": Row(refused="--into FOLDER names the task directory"),
    "torch_deterministic": Row(needless="equal seeds give equal numbers on a CPU without a setting"),
    "cuda": Row("general_cfg.device", "cpu, cuda or auto"),
    "track": Row("general_cfg.loggers", "[csv, tensorboard, wandb]; nothing is sent unless WANDB_MODE says so"),
    "wandb_project_name": Row(refused=_WANDB),
    "wandb_entity": Row(refused=_WANDB),
    "capture_video": Row("env_cfg.render_mode", "rgb_array; or --video"),
    "save_model": Row(needless="models are always saved, every general_cfg.model_save_fre updates"),
    "upload_model": Row(refused=_HUB),
    "hf_entity": Row(refused=_HUB),
    "env_id": Row("env_cfg.id"),
    "gym_id": Row("env_cfg.id"),
    "total_timesteps": Row("general_cfg.max_total_step"),
    "num_iterations": Row(needless="it follows from general_cfg.max_total_step and algo_cfg.batch_size"),
    "learning_rate": Row("lr actor_lr critic_lr alpha_lr"),
    "num_envs": Row("env_cfg.n_envs"),
    "no_cuda": Row("general_cfg.device", "cpu"),
    "no_track": Row(needless="nothing is sent anywhere unless general_cfg.loggers has wandb"),
    "no_capture_video": Row(needless="there is no video without env_cfg.render_mode or --video"),
    "no_save_model": Row(refused="models are always saved; general_cfg.keep_checkpoints is how many are kept"),
    "no_torch_deterministic": Row(needless="equal seeds give equal numbers on a CPU without a setting"),
    "no_anneal_lr": Row("lr_schedule", "lr_schedule: constant"),
    "no_norm_adv": Row("normalize_advantage", "false"),
    "no_clip_vloss": Row("value_clip", "null"),
    "no_autotune": Row("alpha", "a number"),
    "async_batch_size": Row(needless="all rows are stepped together"),
    # PPO
    "num_steps": Row("n_step batch_size", _ROLLOUT),
    "anneal_lr": Row("lr_schedule", "lr_schedule: linear"),
    "num_minibatches": Row("sgd_batch_size", "batch_size divided by num_minibatches"),
    "minibatch_size": Row("sgd_batch_size"),
    "update_epochs": Row("k_epochs"),
    "norm_adv": Row("normalize_advantage"),
    "clip_coef": Row("eps_clip"),
    "clip_vloss": Row("value_clip", "the range, which is clip_coef there; null for false"),
    "ent_coef": Row("entropy_coef alpha"),
    "vf_coef": Row("value_coef"),
    "rpo_alpha": Row(refused=_RPO),
    "n_iteration": Row(refused=_PPG),
    "e_policy": Row(refused=_PPG),
    "v_value": Row(refused=_PPG),
    "e_auxiliary": Row(refused=_PPG),
    "beta_clone": Row(refused=_PPG),
    "num_aux_rollouts": Row(refused=_PPG),
    "n_aux_grad_accum": Row(refused=_PPG),
    "num_aux_minibatches": Row(refused=_PPG),
    "aux_batch_rollouts": Row(refused=_PPG),
    "adv_norm_fullbatch": Row(needless="advantages are normalized over the whole window", values=(True,),
                              refused="advantages are normalized over the whole window"),
    "int_coef": Row(refused=_RND),
    "ext_coef": Row(refused=_RND),
    "int_gamma": Row(refused=_RND),
    "update_proportion": Row(refused=_RND),
    "num_iterations_obs_norm_init": Row(refused=_RND),
    # DQN, C51, PQN, Rainbow
    "target_network_frequency": Row("target_update", _STEPS),
    "target_frequency": Row("target_update", "in gradient updates"),
    "train_frequency": Row("train_fre"),
    "start_e": Row("epsilon_start"),
    "end_e": Row("epsilon_end"),
    "exploration_fraction": Row("epsilon_decay", "in environment steps, with epsilon_schedule: linear"),
    "prioritized_replay_alpha": Row("per_alpha"),
    "prioritized_replay_beta": Row("per_beta"),
    "prioritized_replay_eps": Row("per_epsilon"),
    "teacher_policy_hf_repo": Row(refused=_TEACHER),
    "teacher_model_exp_name": Row(refused=_TEACHER),
    "teacher_eval_episodes": Row(refused=_TEACHER),
    "teacher_steps": Row(refused=_TEACHER),
    "offline_steps": Row("offline_updates", "gradient updates on algo_cfg.data before it collects"),
    # DDPG, TD3, SAC
    "policy_lr": Row("actor_lr"),
    "q_lr": Row("critic_lr"),
    "policy_frequency": Row("policy_freq"),
    "exploration_noise": Row("expl_noise exploration_type"),
    "autotune": Row("alpha", "alpha: auto"),
    "target_entropy_scale": Row("target_entropy"),
    "hidden_dim": Row("value_layers actor_layers critic_layers", LISTS),
}  # fmt: skip
"""Words whose value or name differs here. The others are settings of the same name: gamma, gae_lambda, max_grad_norm,
target_kl, batch_size, buffer_size, tau, learning_starts, n_atoms, v_min, v_max, policy_noise, noise_clip, alpha, seed,
q_lambda, temperature."""

ALGOS = {
    **dict.fromkeys(
        (
            "ppo_continuous_action",
            "ppo_atari",
            "ppo_atari_envpool",
            "ppo_atari_lstm",
            "ppo_procgen",
            "ppo_atari_multigpu",
        ),
        "PPO (with lstm: RecurrentPPO) is for all spaces and images",
    ),
    **dict.fromkeys(("dqn_atari", "dqn_jax", "dqn_atari_jax"), "DQN is for vectors and images"),
    **dict.fromkeys(("c51_atari", "c51_jax", "c51_atari_jax"), "C51 is for vectors and images"),
    **dict.fromkeys(("ddpg_continuous_action", "ddpg_continuous_action_jax"), "DDPG is its counterpart"),
    **dict.fromkeys(("td3_continuous_action", "td3_continuous_action_jax"), "TD3 is its counterpart"),
    **dict.fromkeys(("sac_continuous_action",), "SAC is its counterpart"),
    **dict.fromkeys(("sac_atari",), "SAC_D is its counterpart"),
    **dict.fromkeys(("pqn_atari_envpool", "pqn_atari_envpool_lstm"), "PQN is for vectors and images"),
    **dict.fromkeys(("rainbow_atari",), "RainbowDQN is its counterpart"),
    **dict.fromkeys(("rpo", "rpo_continuous_action"), _RPO),
    **dict.fromkeys(("ppg", "ppg_procgen"), _PPG),
    **dict.fromkeys(("rnd", "ppo_rnd_envpool"), _RND),
    **dict.fromkeys(("qdagger", "qdagger_dqn_atari_impalacnn"), _TEACHER),
}
"""Files in lower case, and the algorithm here."""
