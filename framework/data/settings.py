"""Settings of a buffer, beside its size."""

from dataclasses import dataclass, fields
from typing import Any

from config.model.fields import is_whole
from config.tell.arguments import ArgumentError
from config.tell.language import tr
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
        """Returns the settings of a buffer. ArgumentError for one that there is not."""
        names = [field.name for field in fields(cls)]
        if unknown := [name for name in settings if name not in names]:
            raise ArgumentError(
                tr(
                    "{kind}: unknown {keys}; its settings are {names}",
                    kind=type(owner).__name__,
                    keys=", ".join(unknown),
                    names=", ".join(names),
                )
            )
        return cls(**settings)

    def __post_init__(self) -> None:
        whole("stack_num", self.stack_num)
        whole("seed", self.seed, least=0)


def whole(name: str, number: Any, least: int = 1, most: int | None = None) -> int:
    """Returns a whole number within these limits. DataError for anything else."""
    if not is_whole(number, least, most):
        limits = (
            tr("at least {least}", least=least)
            if most is None
            else tr("at least {least} and at most {most}", least=least, most=most)
        )
        raise DataError(
            "{name}: got {value!r}; expected a whole number, {limits}", name=name, value=number, limits=limits
        )
    return int(number)
