"""Words of Tianshou: arguments of its trainers, policies and examples. docs/tianshou.md has its classes."""

from config.foreign.sb3 import LISTS
from config.foreign.table import Row

WORDS: dict[str, Row] = {
    "task": Row("env_cfg.id"),
    "epoch": Row("general_cfg.max_iteration"),
    "max_epoch": Row("general_cfg.max_iteration"),
    "step_per_epoch": Row("general_cfg.iteration_steps"),
    "training_num": Row("env_cfg.n_envs"),
    "test_num": Row("general_cfg.online_eval_episode"),
    "episode_per_test": Row("general_cfg.online_eval_episode"),
    "logdir": Row(needless="files for TensorBoard are in tb_logs/ of the task directory"),
    "discount_factor": Row("gamma"),
    "hidden_sizes": Row("value_layers actor_layers", LISTS),
    "rew_norm": Row("normalize_reward"),
    "repeat_per_collect": Row("k_epochs"),
    "step_per_collect": Row("train_fre batch_size"),
    "update_per_step": Row("updates_per_train"),
    "target_update_freq": Row("target_update", "in gradient updates"),
    "eps_test": Row("eval_epsilon"),
    "eps_train": Row("epsilon_start"),
    "eps_train_final": Row("epsilon_end"),
    "prioritized_replay": Row("buffer_type", "buffer_type: PER"),
    "is_double": Row("double"),
    "estimation_step": Row("n_step"),
    "exploration_noise": Row("expl_noise exploration_type"),
}
"""Words whose value or name differs here."""
