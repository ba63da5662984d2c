"""Names that users of other libraries type, and what they are called here: those of all libraries but JoyRL.

Messages suggest them; --config and --stop translate them, with config/foreign/rllib.py for values that mean something
else.
"""

from collections.abc import Container, Iterator
from typing import Any

from config.foreign import rllib_keys, sb3, table
from config.foreign.table import Row, Table, tables, words
from config.program import PROGRAM
from config.read.finder import Finder

_TABLES: dict[str, dict[str, Table]] = {
    "Stable-Baselines3, sb3-contrib and rl-baselines3-zoo": sb3.TABLES,
    "CleanRL": tables("cleanrl"),
    "Tianshou": tables("tianshou"),
    "RLlib": {"": rllib_keys.HINTS},
    "Others": tables("others"),
}
TABLES = {library: words(named) for library, named in _TABLES.items()}
"""Library -> its words; a word of several libraries means what the first of them says."""
ALGORITHMS = {name: row.refused for named in _TABLES.values() for name, row in named.get(table.ALGORITHMS, {}).items()}
"""Algorithms of other libraries, in lower case, and what to take in their place."""
NAMES: dict[str, Row] = {
    name: row
    for library in reversed(TABLES.values())
    for name, row in library.items()
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


def _row(name: str) -> Row:
    return NAMES.get(_folded(name), Row())


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")
