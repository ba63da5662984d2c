"""The module joystick.tianshou: what programs import from Tianshou, with the buffer of its first versions, 0.2 and 0.3.

That buffer takes the values of one transition by place or by name, with `done` alone, keeps numbers of Python as
floats, and its add() returns nothing.
"""

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from framework.data import buffer
from framework.data.algorithm import policy
from framework.data.batch import Batch
from framework.data.collector import Collector
from framework.data.conversion import to_numpy, to_torch
from framework.data.list_buffer import ListReplayBuffer
from framework.data.policy import Policy as BasePolicy
from framework.data.prioritized import PrioritizedReplayBuffer, PrioritizedVectorReplayBuffer
from framework.data.trainers import offpolicy_trainer, onpolicy_trainer
from framework.data.vector import CachedReplayBuffer, VectorReplayBuffer

__all__ = [
    "BasePolicy",
    "Batch",
    "CachedReplayBuffer",
    "Collector",
    "ListReplayBuffer",
    "PrioritizedReplayBuffer",
    "PrioritizedVectorReplayBuffer",
    "ReplayBuffer",
    "VectorReplayBuffer",
    "offpolicy_trainer",
    "onpolicy_trainer",
    "policy",
    "to_numpy",
    "to_torch",
]


class ReplayBuffer(buffer.ReplayBuffer):
    """A joystick.ReplayBuffer with the interface of Tianshou's first versions. `done` is a number, 0 or 1."""

    def add(  # type: ignore[override]
        self,
        obs: Any = None,
        act: Any = None,
        rew: Any = None,
        done: Any = None,
        obs_next: Any = None,
        info: Any = None,
        policy: Any = None,
        **more: Any,
    ) -> Any:
        """Adds a transition, and returns nothing. Numbers of Python are kept as floats. A Batch of whole transitions is
        added as joystick.ReplayBuffer.add() does, with buffer_ids as the second argument; so a Collector fills it."""
        if isinstance(obs, Batch) and rew is None:
            return super().add(obs, act, **more)
        values = {"obs": obs, "act": act, "rew": rew, "obs_next": obs_next, "info": info, "policy": policy, **more}
        values = {key: value for key, value in values.items() if value is not None}
        super().add(_as_floats(values), **{} if done is None else {"done": done})
        return None

    def update(self, other: buffer.ReplayBuffer) -> Any:
        """Adds all transitions of another buffer, in order of time. Returns the observations of all places."""
        super().update(other)
        return self.obs if len(self) else np.zeros(self.maxsize)

    def get(self, index: Any, key: str, default: Any = None, stack_num: int | None = None) -> Any:
        """Returns the values of a key, as joystick.ReplayBuffer.get()."""
        value = super().get(index, key, default, stack_num)
        return value.astype(float) if key == "done" and value is not default else value

    def _at(self, place: Any) -> Batch:
        batch = super()._at(place)
        if "done" in batch:
            batch["done"] = batch["done"].astype(float)
        return batch

    def _shown(self) -> dict[str, Any]:
        """Returns what these versions stored, sorted by name."""
        columns = super()._shown()
        return {key: columns[key] for key in sorted(columns) if key not in ("terminated", "truncated")}

    def __getattr__(self, key: str) -> Any:
        value = super().__getattr__(key)
        return value.astype(float) if key == "done" else value


def _as_floats(value: Any) -> Any:
    """Returns a value with floats in place of Python's numbers, also within mappings."""
    if isinstance(value, Mapping):
        return {key: _as_floats(inner) for key, inner in value.items()}
    return float(value) if isinstance(value, Real) and not isinstance(value, np.generic) else value
