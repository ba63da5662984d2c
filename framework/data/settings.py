"""What a buffer is made with, beside its size."""

from dataclasses import dataclass

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

    def __post_init__(self) -> None:
        if self.stack_num < 1:
            raise DataError(f"stack_num: got {self.stack_num}; expected a number of observations, at least 1")
