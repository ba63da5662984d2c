"""What a buffer is made with, beside its size."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from framework.errors import DataError


@dataclass(frozen=True)
class Settings:
    """See ReplayBuffer."""

    stack_num: int = 1
    """Number of observations that are returned for each step."""
    ignore_obs_next: bool = False
    sample_avail: bool = False
    save_only_last_obs: bool = False
    seed: int = 0

    @classmethod
    def of(cls, owner: object, settings: dict[str, Any]) -> "Settings":
        """Returns the settings of a buffer. TypeError for one that there is not."""
        names = [field.name for field in fields(cls)]
        if unknown := [name for name in settings if name not in names]:
            raise TypeError(
                f"{type(owner).__name__}: unknown {', '.join(unknown)}; its settings are {', '.join(names)}"
            )
        return cls(**settings)

    def __post_init__(self) -> None:
        at_least_1("stack_num", self.stack_num)


def at_least_1(name: str, number: Any) -> int:
    """Returns a number of things; DataError if it is none, or less than 1."""
    if not isinstance(number, int | np.integer) or number < 1:
        raise DataError(f"{name}: got {number!r}; expected a whole number, at least 1")
    return int(number)
