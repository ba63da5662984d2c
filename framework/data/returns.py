"""Returns over the transitions of a buffer: the same sums as in training."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algos.common.maths.returns import gae
from framework.data.buffer import ReplayBuffer
from framework.data.settings import whole
from framework.errors import DataError
from framework.memory.n_step import walk
from framework.memory.ring import Rings


def nstep_returns(
    buffer: ReplayBuffer, indices: Any, target: Callable[[ReplayBuffer, np.ndarray], Any], n: int, gamma: float
) -> Any:
    """Returns the sum of the next n discounted rewards from each index [K], and the value after them.

    target(buffer, last) gives the value of the state after each of the steps `last` [K], as an array or a tensor [K]
    or [K, ...]; it does not count where a step terminated. There are fewer than n rewards where an episode ends or the
    newest transition is reached. The result is an array or a tensor, as the target's.
    """
    rings, place = _steps_at(buffer, indices)
    reward, factor, last = walk(rings, place, whole("n", n), gamma, "rew", "done")
    value = target(buffer, last)
    value = value if isinstance(value, Tensor) else np.asarray(value)
    factor = factor * ~rings.flat["terminated"][last]
    if value.shape[:1] != last.shape:
        raise DataError(
            "target: returned the shape {shape}; expected {count} values", shape=tuple(value.shape), count=len(last)
        )
    shape = (len(last), *[1] * (value.ndim - 1))
    reward, factor = reward.reshape(shape), factor.reshape(shape)
    if isinstance(value, Tensor):
        value = _fractional(value)
        return torch.as_tensor(reward).to(value) + torch.as_tensor(factor).to(value) * value
    return reward + factor * value


def _steps_at(buffer: ReplayBuffer, indices: Any) -> tuple[Rings, np.ndarray]:
    """Returns the storage of a buffer, and the places in it. Raises DataError for a buffer without transitions."""
    rings, place = buffer.rings_at(indices)
    if not rings.flat:
        raise DataError("the buffer is empty: its steps have no returns")
    return rings, place


def _fractional(value: Tensor) -> Tensor:
    """Returns whole numbers as others, in whose type rewards are not cut off."""
    return value if value.is_floating_point() else value.float()


def gae_returns(
    buffer: ReplayBuffer, indices: Any, value: Any, next_value: Any, gamma: float, lam: float
) -> tuple[Any, Any]:
    """Returns the advantages and the returns [K] of generalized advantage estimation, as arrays or tensors like value.

    indices: in order of time, as buffer.sample(0) returns them. An advantage reaches as far as each index is the step
    after the one before it. value, next_value: values [K] of the observations before and after each step; the latter
    counts after a truncated step and after the newest one, but not after a terminated one.
    """
    rings, place = _steps_at(buffer, indices)
    now, after = (_fractional(torch.as_tensor(tensor)).reshape(-1, 1) for tensor in (value, next_value))
    if not len(now) == len(after) == len(place):
        raise DataError(
            "{indices} indices, and {now} and {after} values of states",
            indices=len(place),
            now=len(now),
            after=len(after),
        )
    goes_on = np.zeros(len(place), bool)
    goes_on[:-1] = (buffer.next(place[:-1]) == place[1:]) & (place[:-1] != place[1:])

    def column(array: np.ndarray, dtype: torch.dtype) -> Tensor:
        return torch.as_tensor(array, dtype=dtype, device=now.device)[:, None]

    reward, terminated = (
        column(rings.flat["rew"][place], now.dtype),
        column(rings.flat["terminated"][place], torch.bool),
    )
    advantage, returns = gae(reward, now, after, terminated, column(~goes_on, torch.bool), gamma, lam)
    if isinstance(value, Tensor):
        return advantage[:, 0], returns[:, 0]
    return advantage[:, 0].numpy(), returns[:, 0].numpy()
