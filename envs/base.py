"""The contract of a vector environment, on one page. Nothing above this line knows an autoreset mode.

N rows are stepped together. `step` never resets and returns the true successor, also where an episode ends;
`reset` starts new episodes in the masked rows, each from its own seed. The collector decides when.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Space

Array = np.ndarray
Rules = tuple[Array, Array, Array, Array]
"""Probability, next_state, reward, terminated, each [S, A, K]: K possible outcomes of each action in each state."""


class EnvError(RuntimeError):
    """An environment failed, or does not keep its contract: which one, where, and what to do."""


class Goal(NamedTuple):
    """Of an environment whose observation names its goal, so that it could have been another one."""

    achieved: slice
    """Where the goal that was reached stands in the flattened observation."""
    desired: slice
    judge: Callable[[Array, Array], tuple[Array, Array]]
    """(achieved [B, G], desired [B, G]) -> reward [B], terminated [B]."""


class Step(NamedTuple):
    """One step of N rows."""

    obs: Array
    """[N, ...] the true successor."""
    reward: Array
    """[N] float32."""
    terminated: Array
    """[N] bool."""
    truncated: Array
    """[N] bool."""


class VectorEnv(ABC):
    """N environments of one kind. Observations are one array [N, ...]; Dict and Tuple are flattened."""

    rows: int
    observation_space: Space
    """Of one row: Box, Discrete, MultiDiscrete or MultiBinary."""
    action_space: Space
    """Of one row."""
    parts: tuple[tuple[str, int, int, tuple[int, ...]], ...] = ()
    """Of a flattened Dict or Tuple: name, start, stop, shape of each part."""
    observation_start: Any = 0
    """Start of the environment's own Discrete or MultiDiscrete observations; the ones above begin at 0."""
    action_start: Any = 0
    """The same of its actions."""
    render_fps: float = 30.0
    replayable: bool = True
    """False where an episode is not a function of its seed and its actions: then a resume is not exact."""
    valid: Array | None = None
    """[N] bool, only where an environment inserts dummy steps after an end; None where every step counts."""

    action_mask: Array | None = None
    """[N, A] bool, true where an action is legal in the observation returned last; a new array after every call.
    None where all actions are legal."""
    goal: Goal | None = None

    @property
    def model(self) -> Rules | None:
        """Of a finite environment that tells its rules. It is built when it is asked for."""
        return None

    @abstractmethod
    def reset(self, mask: Array, seeds: Array) -> Array:
        """Start new episodes in the rows where mask [N] bool is true, row i from seeds[i]. Returns the current
        observations of all rows, in an array of its own."""

    @abstractmethod
    def step(self, action: Array) -> Step:
        """action is [N, ...]. The returned arrays may be reused by the next step: whoever keeps them copies."""

    def info(self, row: int) -> dict[str, Any]:
        """What the environment said besides about the last step of this row."""
        return {}

    def render(self, row: int = 0) -> Array | None:
        """The picture [height, width, 3] uint8 of a row, None where there is nothing to show."""
        return None

    def close(self) -> None:
        """Let go of windows and processes."""
