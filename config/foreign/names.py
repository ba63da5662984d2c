"""Names that users of other libraries type, and what they are called here: the tables of sb3.py, cleanrl.py and
tianshou.py, with RLlib's names and those of others.

Messages suggest them; --config and --stop translate them, with config/foreign/rllib.py for values that mean something
else.
"""

from collections.abc import Container, Iterator
from typing import Any

from config.finder import Finder
from config.foreign import cleanrl, sb3, tianshou
from config.foreign.sb3 import LISTS
from config.foreign.table import Row
from config.program import PROGRAM

_RAY = "with mp_backend: ray"
_VALUES = "value_layers actor_layers"

RLLIB: dict[str, Row] = {
    "timesteps_total": Row("general_cfg.max_total_step"),
    "stop_timesteps": Row("general_cfg.max_total_step"),
    "stop_iters": Row("general_cfg.max_iteration"),
    "stop_reward": Row("general_cfg.stop_return"),
    "episodes_total": Row("general_cfg.max_episode"),
    "num_env_steps_sampled_lifetime": Row("general_cfg.max_total_step"),
    "training_iteration": Row("general_cfg.max_iteration"),
    "time_total_s": Row("general_cfg.max_time"),
    "episode_reward_mean": Row("general_cfg.stop_return"),
    "episode_return_mean": Row("general_cfg.stop_return"),
    "timesteps_per_iteration": Row("general_cfg.iteration_steps"),
    "min_sample_timesteps_per_iteration": Row("general_cfg.iteration_steps"),
    "horizon": Row("general_cfg.max_step"),
    "num_envs_per_env_runner": Row("env_cfg.n_envs"),
    "num_envs_per_worker": Row("env_cfg.n_envs"),
    "num_workers": Row("general_cfg.n_workers", _RAY),
    "num_rollout_workers": Row("general_cfg.n_workers", _RAY),
    "num_env_runners": Row("general_cfg.n_workers", _RAY),
    "num_learners": Row("general_cfg.n_learners", _RAY),
    "num_gpus": Row("general_cfg.num_gpus_per_learner", "with device: auto"),
    "num_cpus": Row("general_cfg.num_cpus_per_worker"),
    "redis_address": Row("general_cfg.ray_address"),
    "framework": Row(needless="there is only torch"),
    "local_dir": Row(refused="--into FOLDER names the task directory"),
    "evaluation_duration": Row("general_cfg.online_eval_episode"),
    "evaluation_num_episodes": Row("general_cfg.online_eval_episode"),
    "evaluation_interval": Row("general_cfg.model_save_fre", "with online_eval: true; counted in model_save_unit"),
    "checkpoint_freq": Row("general_cfg.model_save_fre", "with model_save_unit: iteration"),
    "actor_learning_rate": Row("actor_lr"),
    "critic_learning_rate": Row("critic_lr"),
    "entropy_learning_rate": Row("alpha_lr"),
    "initial_alpha": Row("alpha_init"),
    "clip_rewards": Row("reward_clip", "reward_clip: sign"),
    "grad_clip": Row("max_grad_norm"),
    "fcnet_hiddens": Row(_VALUES, LISTS),
    "hiddens": Row(refused="the layers are written as value_layers"),
    "actor_hiddens": Row("actor_layers", LISTS),
    "critic_hiddens": Row("critic_layers", LISTS),
    "policy_model": Row("actor_layers", LISTS),
    "q_model": Row("critic_layers value_layers", LISTS),
    "optimization": Row(refused="rates are written as actor_lr, critic_lr and alpha_lr"),
    "microbatch_size": Row(refused="a minibatch is learned as a whole: sgd_batch_size is its size"),
    "entropy_coeff_schedule": Row(refused="entropy_coef is constant"),
    "observation_filter": Row("normalize_obs"),
    "clip_param": Row("eps_clip"),
    "vf_clip_param": Row("value_clip", "limits the change of the value, not the squared error"),
    "kl_coeff": Row("kl_lambda", "with ppo_type: kl, which replaces the clipping"),
    "train_batch_size": Row("batch_size"),
    "num_epochs": Row("k_epochs"),
    "num_sgd_iter": Row("k_epochs"),
    "sgd_minibatch_size": Row("sgd_batch_size"),
    "entropy_coeff": Row("entropy_coef alpha"),
    "vf_loss_coeff": Row("value_coef"),
    "lambda": Row("gae_lambda"),
    "lambda_": Row("gae_lambda"),
    "rollout_fragment_length": Row("train_fre batch_size"),
    "sample_batch_size": Row("train_fre batch_size"),
    "target_network_update_freq": Row("target_update", "in gradient updates"),
    "num_steps_sampled_before_learning_starts": Row("learning_starts"),
    "replay_buffer_config": Row("buffer_size", "with buffer_type: PER for priorities"),
    "replay_buffer_capacity": Row("buffer_size"),
    "prioritized_replay": Row("buffer_type", "buffer_type: PER"),
    "twin_q": Row("n_critics", "2 for true"),
    "double_q": Row("double"),
    "exploration_enabled": Row("exploration_type", "none is without exploration"),
    "min_q_weight": Row("cql_alpha"),
    "num_atoms": Row("n_atoms"),
    "input": Row("data", "a task directory or data files, with an algorithm that learns from them (docs/offline.md)"),
    "input_config": Row("data", "a task directory or data files (docs/offline.md)"),
    "output": Row("general_cfg.traces", "a folder in the task directory, such as results/traces"),
    "output_compress_columns": Row("general_cfg.traces_compress", "with traces"),
    "monitor": Row("general_cfg.video_fre", "number of training episodes between videos"),
    "callbacks": Row("general_cfg.callbacks", "my_module:MyCallbacks"),
}
"""RLlib's names."""

OTHERS: dict[str, Row] = {
    "total_steps": Row("general_cfg.max_total_step"),
    "timesteps": Row("general_cfg.max_total_step"),
    "max_timesteps": Row("general_cfg.max_total_step"),
    "num_episodes": Row("general_cfg.max_episode"),
    "total_episodes": Row("general_cfg.max_episode"),
    "max_episode_steps": Row("env_cfg.max_episode_steps"),
    "save_interval": Row("general_cfg.model_save_fre"),
    "experiment_name": Row(refused="--into FOLDER names the task directory"),
    "wandb": Row("general_cfg.loggers", "[csv, tensorboard, wandb]; nothing is sent unless WANDB_MODE says so"),
    "value_lr": Row("critic_lr"),
    "discount": Row("gamma"),
    "polyak": Row("tau", "tau is 1 - polyak"),
    "start_timesteps": Row("start_steps learning_starts"),
    "replay_size": Row("buffer_size"),
    "n_atom": Row("n_atoms"),
}
"""Names in programs that accompany papers and courses."""

TABLES: dict[str, dict[str, Row]] = {
    "Stable-Baselines3, sb3-contrib and rl-baselines3-zoo": sb3.WORDS,
    "CleanRL": cleanrl.WORDS,
    "Tianshou": tianshou.WORDS,
    "RLlib": RLLIB,
    "Others": OTHERS,
}
"""Library -> its words; a word of several libraries means what the first of them says."""

NAMES: dict[str, Row] = {
    name: row
    for words in reversed(TABLES.values())
    for name, row in words.items()
    if ("algo_cfg", name) not in row.paths()
}
"""Foreign name -> what it is here. A name that is also a setting here is taken for that setting."""

_LAYER_LISTS = ("actor_layers", "critic_layers")
RATES = ("actor_lr", "critic_lr", "alpha_lr")
"""Learning rates of an actor-critic, where other libraries have one."""
TOGETHER = {
    "learning_rate": RATES,
    "normalize": ("normalize_obs", "normalize_reward"),
    **dict.fromkeys(("policy_kwargs", "net_arch", "activation_fn", "lstm_hidden_size", "hidden_dim"), _LAYER_LISTS),
}
"""Foreign name -> settings that it sets at once."""


def entries(value: dict[Any, Any]) -> list[str]:
    """Returns the names of the environments for which a file of rl-baselines3-zoo has hyperparameters; none for any
    other file."""
    parts = [part for part in value.values() if isinstance(part, dict)]
    theirs = any({"n_timesteps", "policy"} & set(part) for part in parts) and len(parts) == len(value)
    return [str(name) for name in value] if theirs else []


def origin(value: dict[Any, Any], file: str = "FILE") -> str:
    """Returns the end of a sentence that names the library whose file this looks like; empty if none does."""
    if any({"run", "env"} <= set(part) for part in value.values() if isinstance(part, dict)):
        return f"; it looks like experiments of RLlib: {PROGRAM} -f {file}"
    if environments := entries(value):
        env = next((name for name in environments if name not in ("default", "atari")), "CartPole-v1")
        return (
            f"; it looks like hyperparameters of rl-baselines3-zoo: {PROGRAM} convert {file} --env {env} > NEW.yaml"
            " writes those of an environment for use here"
        )
    return ""


_WORKERS = "PPO with general_cfg.mp_backend=ray has its workers, and IMPALA learns without waiting for them"
ALGORITHMS = {
    "appo": _WORKERS,
    "apex": "DQN with algo_cfg.buffer_type=PER and general_cfg.mp_backend=ray is its counterpart",
    "apex_dqn": "DQN with algo_cfg.buffer_type=PER and general_cfg.mp_backend=ray is its counterpart",
    "ddppo": "PPO with general_cfg.mp_backend=ray and general_cfg.n_learners is its counterpart",
    "pg": "REINFORCE is the same algorithm",
    "mle": "BC is the same algorithm",
    "es": "evolution strategies are not offered; PPO learns from the same rewards",
    **sb3.ALGOS,
    **cleanrl.ALGOS,
}
"""Algorithms of other libraries, in lower case, and what to take in their place."""


def ours(name: str) -> Iterator[tuple[str, str, str]]:
    """Yields (section, setting, remark) for a foreign name, best first."""
    row = _row(name)
    for section, key in row.paths():
        yield section, key, row.remark


def together(name: str, key: str, fields: Container[str]) -> list[str]:
    """Returns the settings that a foreign name sets at once. key: the one that it means; fields: those that exist."""
    group = TOGETHER.get(_folded(name), ())
    return [part for part in group if part in fields] if key in group else [key]


def all_at_once(name: str, path: str, find_algo: Finder, algo: str) -> str:
    """Returns the paths of all settings that a foreign name sets for an algorithm, with blanks between them. path: the
    one that it means."""
    section, _, key = path.partition(".")
    known = next((other for other in find_algo.available() if other.lower() == algo.lower()), "")
    fields = find_algo.get(known).Config.model_fields if known else {}
    return " ".join(f"{section}.{part}" for part in together(name, key, fields)) if key in fields else path


def remark_on(name: str) -> str:
    """Returns what to do in place of a foreign name that no setting corresponds to; empty for any other name."""
    row = _row(name)
    return "" if row.settings else row.refused or row.needless


def line(name: str, row: Row) -> str:
    """Returns the line of a page for a word."""
    settings = ", ".join(f"`{path}`" for path in row.settings.split())
    return f"| `{name}` | {settings} | {row.remark or row.refused or row.needless} |"


def _row(name: str) -> Row:
    return NAMES.get(_folded(name), Row())


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")
