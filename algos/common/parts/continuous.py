"""Actions in a bounded Box: scaling from the networks' cube -1..1, and exploration noise. Acting is numpy."""

import math
from collections.abc import Callable

import numpy as np
import torch
from gymnasium.spaces import Box, Space
from torch import Tensor, nn

from algos.base import Act, Array, Explore, UnfitError
from algos.common.fast.program import drawn
from algos.common.fast.tensors import on_device
from algos.common.maths.gaussian import SquashedStateGaussian, StateNoise, features_of, head_of
from algos.common.parts.passes import Carried
from algos.common.settings import ContinuousConfig
from config.model.course import value_at


class Bounds:
    """Affine map between actions of a Box [.., *shape] and the cube [.., A]: middle + half * unit, per dimension."""

    def __init__(self, space: Space, device: torch.device) -> None:
        if not isinstance(space, Box) or not np.issubdtype(space.dtype, np.floating):
            raise UnfitError("{space} is not a Box of real numbers, which squashed actions need", space=space)
        if not space.is_bounded():
            raise UnfitError(
                "the actions {space} have no bounds, to which squashed actions could be scaled", space=space
            )
        self.low, self.high = space.low.reshape(1, -1), space.high.reshape(1, -1)
        self.shape, self.size = space.shape, math.prod(space.shape)
        self.middle, self.half = 0.5 * (self.high + self.low), 0.5 * (self.high - self.low)
        # a dimension without extent is 0 in the cube
        inverse = np.divide(1.0, self.half, out=np.zeros_like(self.half), where=self.half > 0)
        self._factor = torch.tensor(inverse, dtype=torch.float32, device=device)
        self._shift = torch.tensor(-self.middle * inverse, dtype=torch.float32, device=device)

    def to_env(self, unit: Array) -> Array:
        """Maps [N, A] to [N, *shape], within the bounds also after rounding."""
        action = np.minimum(np.maximum(self.middle + self.half * unit, self.low), self.high)
        return action.reshape(len(unit), *self.shape)

    def bounded(self, unit: Tensor) -> Tensor:
        """Returns to_env() of tensors [B, A]."""
        parts = (self.middle, self.half, self.low, self.high)
        middle, half, low, high = (torch.as_tensor(part, device=unit.device) for part in parts)
        return (middle + half * unit).clamp(low, high).reshape(unit.shape[0], *self.shape)

    def to_unit(self, action: Tensor) -> Tensor:
        """Maps [B, *shape] of any type to [B, A] float32."""
        return torch.addcmul(self._shift, action.flatten(1).float(), self._factor)


class SquashedNoise(StateNoise):
    """Noise of a squashed policy that depends on the state."""

    def __init__(self, network: nn.Module, distribution: SquashedStateGaussian, steps: int | None) -> None:
        head = head_of(network)
        assert head is not None
        super().__init__(head, steps)
        self.distribution = distribution

    def sample(self, outputs: Array, state: Array | None, rng: np.random.Generator) -> tuple[Array, Array]:
        """Returns actions [N, A] in the cube, and the state after this step."""
        before = self.initial(len(outputs)) if state is None else state
        noise, after = self.draw(features_of(outputs, self.distribution.size), before, rng)
        return self.distribution.given(outputs, noise), after


Policy = Callable[..., Array]
"""Function from outputs of the acting network [N, ...] to actions [N, A] in the cube; with noise_repeat of standard
normal noise [N, A], too."""


class Explorer:
    """Uniformly random actions for the first steps of a run, then those of a policy, with optional noise."""

    def __init__(
        self, cfg: ContinuousConfig, bounds: Bounds, carried: Carried, noise: SquashedNoise | None = None
    ) -> None:
        """noise: of the policy, if that depends on the state."""
        self.cfg, self.bounds, self.carried, self.noise = cfg, bounds, carried, noise
        self.repeats = getattr(cfg, "noise_repeat", 1)
        """Largest number of steps with the same noise of the policy; it draws its own if this is 1."""

    def initial_state(self, rows: int) -> Array | None:
        """Returns the initial state [N, S]: recurrent states, followed by that of the noise, a
        process or a repeated draw; None if there is neither."""
        if self.noise is not None:
            return _joined(self.carried.initial(rows), self.noise.initial(rows))
        size = self.bounds.size + 1 if self.repeats > 1 else self.bounds.size
        process = self.repeats > 1 or self.cfg.exploration_type == "ou"
        return _joined(self.carried.initial(rows), np.zeros((rows, size), np.float32) if process else None)

    def act(self, policy: Policy, obs: Array, state: Array | None, explore: Explore | None = None) -> Act:
        """Returns random actions, or those of the policy with noise; for None those without noise, whose process is
        unchanged."""
        memory, process = self._parts(state)
        if explore is not None and explore.progress.step < self.cfg.start_steps:
            unit = 2.0 * explore.rng.random((len(obs), self.bounds.size), np.float32) - 1.0
            if memory is not None:  # the recurrent state is updated in random steps too
                memory = self.carried.act(obs, memory)[1]
            return Act(self.bounds.to_env(unit), state=_joined(memory, process))
        outputs, memory = self.carried.act(obs, memory)
        if explore is not None and self.noise is not None:
            unit, process = self.noise.sample(outputs, process, explore.rng)
        elif explore is not None and self.repeats > 1 and process is not None:
            process = repeated(process, self.repeats, explore.rng)
            unit = policy(outputs, process[:, :-1])
        else:
            unit = policy(outputs)
        if explore is None or self.cfg.exploration_type == "none":
            return Act(self.bounds.to_env(unit), state=_joined(memory, process))
        strength = value_at(self.cfg.expl_noise, explore.progress.fraction)
        noise = strength * explore.rng.standard_normal(unit.shape, np.float32)
        if process is not None and self.repeats == 1:
            noise = process = ornstein_uhlenbeck(process, noise, self.cfg.ou_theta)
        return Act(self.bounds.to_env(unit + noise), state=_joined(memory, process))

    def _parts(self, state: Array | None) -> tuple[Array | None, Array | None]:
        """Splits the state into that of the networks and that of the noise process; None if absent."""
        if state is None or not self.carried.size:
            return None, state
        memory, process = np.split(state, [self.carried.size], axis=1)
        return np.ascontiguousarray(memory), process if process.size else None


def _joined(memory: Array | None, process: Array | None) -> Array | None:
    """Concatenates the parts that are present to one vector [N, S]."""
    parts = [part for part in (memory, process) if part is not None]
    return np.concatenate(parts, 1) if len(parts) > 1 else parts[0] if parts else None


def ornstein_uhlenbeck(state: Array, noise: Array, theta: float) -> Array:
    """Makes one step of the mean-reverting process: x - theta x + noise."""
    return state + (noise - np.float32(theta) * state)


def repeated(state: Array, most: int, rng: np.random.Generator) -> Array:
    """Makes one step of noise that stays the same for n steps, where n <= most has a probability in proportion to
    n ** -2: normal noise [N, A], followed by the number of steps for which it stays the same [N, 1]."""
    rows, width = state.shape
    fresh = rng.standard_normal((rows, width), np.float32)
    lengths = np.arange(1, most + 1)
    chances = np.cumsum(1.0 / lengths**2)
    fresh[:, -1] = np.searchsorted(chances, rng.random(rows) * chances[-1], side="right") + 1
    state = np.where(state[:, -1:] > 0, state, fresh)
    state[:, -1] -= 1
    return state


def standard_normal(rows: int, size: int, rng: np.random.Generator, device: torch.device) -> Tensor:
    """Returns standard normal noise [B, A] on the device, from the agent's stream."""
    return drawn(rng, lambda: on_device(rng.standard_normal((rows, size), np.float32), device))
