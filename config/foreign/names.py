"""Names that users of other libraries type, and what they are called here: the tables of sb3.py, cleanrl.py,
tianshou.py and rllib_keys.py, with names of others.

Messages suggest them; --config and --stop translate them, with config/foreign/rllib.py for values that mean something
else.
"""

from collections.abc import Container, Iterator, Mapping
from typing import Any

from config.foreign import cleanrl, rllib_keys, sb3, tianshou
from config.foreign.table import Row
from config.program import PROGRAM
from config.read.finder import Finder

OTHERS: dict[str, Row] = {
    "stop_iters": Row("general_cfg.max_iteration"),
    "stop_reward": Row("general_cfg.stop_return"),
    "stop_timesteps": Row("general_cfg.max_total_step"),
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
"""Names in programs that accompany papers and courses, and in the examples of RLlib."""

TABLES: dict[str, Mapping[str, Row]] = {
    "Stable-Baselines3, sb3-contrib and rl-baselines3-zoo": sb3.WORDS,
    "CleanRL": cleanrl.WORDS,
    "Tianshou": tianshou.WORDS,
    "RLlib": rllib_keys.HINTS,
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
    **sb3.ALGOS,
    "es": sb3.ALGOS["ars"],
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
