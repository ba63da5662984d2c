"""Words of Stable-Baselines3, sb3-contrib and rl-baselines3-zoo: arguments of algorithms and policies, hyperparameters
in files, flags, and the defaults that a file leaves out."""

from functools import cache
from typing import Any

import yaml

from config.foreign import sb3_values, values
from config.foreign.table import FOLDER, tables, words
from config.program import PROGRAM
from config.tell.language import tr

TABLES = tables("sb3", vars(values) | vars(sb3_values))
WORDS = words(TABLES)
"""All words; where the meaning of one depends on another, the other one comes first."""


@cache
def defaults() -> dict[str, dict[str, Any]]:
    """Returns the defaults of Stable-Baselines3 and sb3-contrib, by their words, for our name of an algorithm."""
    values: dict[str, dict[str, Any]] = yaml.safe_load((FOLDER / "sb3_defaults.yaml").read_text(encoding="utf-8"))
    return values


def entries(value: dict[Any, Any]) -> list[str]:
    """Returns the names of the environments for which a file of rl-baselines3-zoo has hyperparameters; none for any
    other file."""
    parts = [part for part in value.values() if isinstance(part, dict)]
    theirs = any({"n_timesteps", "policy"} & set(part) for part in parts) and len(parts) == len(value)
    return [str(name) for name in value] if theirs else []


def origin(value: dict[Any, Any], file: str) -> str:
    """Returns the end of a sentence about a file of rl-baselines3-zoo; empty for any other."""
    if not (environments := entries(value)):
        return ""
    env = next((name for name in environments if name not in ("default", "atari")), "CartPole-v1")
    return tr(
        "; it looks like hyperparameters of rl-baselines3-zoo: {command} writes those of an environment for use here",
        command=f"{PROGRAM} convert {file} --env {env} > NEW.yaml",
    )
