"""Actions in a bounded Box: the cube -1..1 in which networks think, and how it is explored. Acting is numpy."""

import math
from collections.abc import Callable

import numpy as np
import torch
from gymnasium.spaces import Box, Space
from torch import Tensor

from algos.base import Act, Array, Progress, UnfitError
from config.replay import ContinuousConfig


class Bounds:
    """The way between the actions of a Box [.., *shape] and the cube [.., A]: middle + half * unit, per dimension."""

    def __init__(self, space: Space, device: torch.device) -> None:
        if not isinstance(space, Box) or not np.issubdtype(space.dtype, np.floating):
            raise UnfitError(f"{space} is not a Box of real numbers: a squashed action has no place in it")
        if not space.is_bounded():
            raise UnfitError(
                f"the actions {space} have no bounds, between which a tanh could be stretched; the wrapper "
                "RescaleAction or ClipAction gives bounds, and PPO needs none"
            )
        self.low, self.high = space.low.reshape(1, -1), space.high.reshape(1, -1)
        self.shape, self.size = space.shape, math.prod(space.shape)
        self.middle, self.half = 0.5 * (self.high + self.low), 0.5 * (self.high - self.low)
        # a dimension without extent is 0 in the cube
        inverse = np.divide(1.0, self.half, out=np.zeros_like(self.half), where=self.half > 0)
        self._factor = torch.tensor(inverse, dtype=torch.float32, device=device)
        self._shift = torch.tensor(-self.middle * inverse, dtype=torch.float32, device=device)

    def to_env(self, unit: Array) -> Array:
        """[N, A] -> [N, *shape], within the bounds also after rounding."""
        action = np.minimum(np.maximum(self.middle + self.half * unit, self.low), self.high)
        return action.reshape(-1, *self.shape)

    def to_unit(self, action: Tensor) -> Tensor:
        """[B, *shape] of any type -> [B, A] float32."""
        return torch.addcmul(self._shift, action.flatten(1).float(), self._factor)


class Explorer:
    """Uniform actions for the first steps of a run, then those of a policy, with noise if it is asked for."""

    def __init__(self, cfg: ContinuousConfig, bounds: Bounds) -> None:
        self.cfg, self.bounds = cfg, bounds

    def initial_state(self, rows: int) -> Array | None:
        """Of the Ornstein-Uhlenbeck process, which depends on what it was a step ago: [N, A]; None for other noise."""
        return np.zeros((rows, self.bounds.size), np.float32) if self.cfg.exploration_type == "ou" else None

    def act(
        self, policy: Callable[[], Array], rows: int, state: Array | None, progress: Progress, rng: np.random.Generator
    ) -> Act:
        """policy gives actions [N, A] in the cube."""
        if progress.step < self.cfg.start_steps:
            return Act(self.bounds.to_env(2.0 * rng.random((rows, self.bounds.size), np.float32) - 1.0), state=state)
        unit = policy()
        if self.cfg.exploration_type == "none":
            return Act(self.bounds.to_env(unit))
        noise = self.cfg.expl_noise * rng.standard_normal(unit.shape, np.float32)
        if state is not None:
            noise = state = ornstein_uhlenbeck(state, noise, self.cfg.ou_theta)
        return Act(self.bounds.to_env(unit + noise), state=state)

    def best(self, unit: Array, state: Array | None) -> Act:
        """Without noise; the state stays."""
        return Act(self.bounds.to_env(unit), state=state)


def ornstein_uhlenbeck(state: Array, noise: Array, theta: float) -> Array:
    """One step of the process that is pulled back to 0: x - theta x + noise."""
    return state + (noise - np.float32(theta) * state)


def standard_normal(rows: int, size: int, rng: np.random.Generator, device: torch.device) -> Tensor:
    """[B, A] on the device of the agent, from its own stream."""
    return torch.from_numpy(rng.standard_normal((rows, size), np.float32)).to(device)
