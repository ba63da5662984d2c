"""Any environment of gymnasium, by its id."""

from typing import TYPE_CHECKING

from envs.gym.config import Config

if TYPE_CHECKING:
    from config.schema import Problem

__all__ = ["Config", "check"]


def check(cfg: Config) -> "list[Problem]":
    """What is wrong with this section, seen with gymnasium at hand. Imports the module of a `module:Id`."""
    from envs.gym.validate import problems

    return list(problems(cfg))
