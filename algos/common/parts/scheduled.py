"""Numbers among the settings of an agent, of which some are schedules (config/model/schedules.py)."""

from typing import Any

import torch
from torch import Tensor

from config.model.schedules import Schedule


class Numbers:
    """The numbers among the settings as they are now, by name: `now.entropy_coef`. One that is a schedule is a tensor,
    which is changed in place, since a compiled step reads it anew; without a device it is a number."""

    def __init__(self, cfg: Any, device: torch.device | None = None) -> None:
        """device: of the tensors; None for numbers."""
        self._schedules: dict[str, Schedule] = {}
        for name in getattr(type(cfg), "model_fields", ()):
            value = getattr(cfg, name)
            if isinstance(value, Schedule):
                self._schedules[name] = value
                first = value.at(0.0)
                setattr(self, name, first if device is None else torch.tensor(first, device=device))
            elif isinstance(value, int | float):
                setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:  # for the type checker: the names are those of settings
        raise AttributeError(name)

    def follow(self, fraction: float) -> None:
        """Sets all to their values after this fraction of the planned run."""
        for name, schedule in self._schedules.items():
            value = getattr(self, name)
            if isinstance(value, Tensor):
                value.fill_(schedule.at(fraction))
            else:
                setattr(self, name, schedule.at(fraction))

    def at(self, fraction: float) -> dict[str, float]:
        """Returns the values of the schedules after this fraction of the planned run."""
        return {name: schedule.at(fraction) for name, schedule in self._schedules.items()}
