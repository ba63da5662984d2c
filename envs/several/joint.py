"""Joint observations: a multi-agent environment is one row, whose observation holds what all of its agents see.

A joint observation is a numpy record, stored as bytes: collector, replay of running episodes, checkpoints and Ray
handle it like any other array. Only agents and memories of several policies decode it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Space

from config.model.composite import choices_of, sample
from envs.base import Array, Part


@dataclass(frozen=True)
class AgentType:
    """Agents with equal spaces, and all or none with action masks."""

    agents: tuple[str, ...]
    """Names of the slots: those of the agents, or NAME#0, NAME#1 ... for agents whose names change."""
    observation_space: Space
    """Space of an encoded observation, as for a single agent."""
    action_space: Space
    """Space of an encoded action, which starts at 0."""
    masked: bool = False
    """True if the environment gives action masks."""
    parts: tuple[Part, ...] = ()
    """Parts of a flattened Dict or Tuple observation."""
    observation_start: Any = field(default=0, compare=False)
    """First value of the environment's own Discrete or MultiDiscrete observations; the encoded ones start at 0."""
    action_start: Any = field(default=0, compare=False)
    """First value of the environment's own Discrete or MultiDiscrete actions."""


@dataclass(frozen=True)
class JointLayout:
    """Fields of joint observations and joint actions. A record has a field t0, t1, ... for each agent type, with an
    element for each of its agents:

    obs, mask (if masked), reward (since the previous joint observation), acts (this observation requires an action),
    active (the agent is in the episode, up to the observation of its end), first (its trajectory begins), terminated,
    truncated (it ends with this observation),

    and for the environment `global_state` [G] (if G > 0) and `seed` (from the episode's seed)."""

    types: tuple[AgentType, ...]
    state_size: int = 0
    """Numbers of the global state, G; 0 if no policy uses it."""
    obs: np.dtype = field(init=False, compare=False)
    action: np.dtype = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "obs", np.dtype(self._obs_fields(), align=True))
        object.__setattr__(self, "action", np.dtype(list(self._action_fields()), align=True))

    def _obs_fields(self) -> list[tuple[Any, ...]]:
        fields: list[tuple[Any, ...]] = []
        for number, kind in enumerate(self.types):
            space = kind.observation_space
            columns: list[tuple[Any, ...]] = [("obs", space.dtype, space.shape or ())]
            if kind.masked:
                columns.append(("mask", bool, (choices_of(kind.action_space).entries,)))
            flags = ("acts", "active", "first", "terminated", "truncated")
            columns += [("reward", np.float32), *((flag, bool) for flag in flags)]
            fields.append((f"t{number}", np.dtype(columns, align=True), (len(kind.agents),)))
        if self.state_size:
            fields.append(("global_state", np.float32, (self.state_size,)))
        return [*fields, ("seed", np.uint32)]

    def _action_fields(self) -> Iterator[tuple[Any, ...]]:
        for number, kind in enumerate(self.types):
            space = kind.action_space
            yield f"t{number}", space.dtype, (len(kind.agents), *(space.shape or ()))

    @property
    def agents(self) -> tuple[str, ...]:
        """Names of all slots, type after type."""
        return tuple(name for kind in self.types for name in kind.agents)

    @property
    def observation_space(self) -> Box:
        """Space of a joint observation: bytes."""
        return Box(0, 255, (self.obs.itemsize,), np.uint8)

    def place(self, agent: str) -> tuple[int, int]:
        """Returns the number of the type of an agent, and its place in this type."""
        return next((t, kind.agents.index(agent)) for t, kind in enumerate(self.types) if agent in kind.agents)

    def new(self, *shape: int) -> Array:
        """Returns records of joint observations that are all zero. Padding is zero too: equal records have equal
        bytes."""
        return np.zeros((*shape, self.obs.itemsize), np.uint8).view(self.obs)[..., 0]

    def new_action(self, *shape: int) -> Array:
        """Returns records of joint actions that are all zero."""
        return np.zeros((*shape, self.action.itemsize), np.uint8).view(self.action)[..., 0]

    def encode(self, records: Array) -> Array:
        """Returns records [...] of observations or actions as bytes [..., B]; the same memory."""
        return records[..., None].view(np.uint8)

    def decode(self, obs: Array) -> Array:
        """Returns joint observations [..., B] as records [...]; the same memory."""
        return np.ascontiguousarray(obs).view(self.obs)[..., 0]

    def decode_action(self, action: Array) -> Array:
        """Returns joint actions [..., B] as records [...]; the same memory."""
        return np.ascontiguousarray(action).view(self.action)[..., 0]

    def __reduce__(self) -> tuple[Any, ...]:
        return JointLayout, (self.types, self.state_size)


class JointActionSpace(Dict):
    """Space of joint actions. Its members, by agent, are the spaces of the encoded actions; a sample is bytes."""

    def __init__(self, layout: JointLayout) -> None:
        super().__init__({name: kind.action_space for kind in layout.types for name in kind.agents})
        self.layout = layout

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """Returns a joint action, as bytes. mask: joint observation [B] whose masks it obeys; None for none."""
        action = self.layout.new_action()
        seen = None if mask is None else self.layout.decode(mask)
        for number, kind in enumerate(self.layout.types):
            for place, name in enumerate(kind.agents):
                legal = seen[f"t{number}"]["mask"][place] if kind.masked and seen is not None else None
                legal = legal.astype(np.int8) if legal is not None and legal.any() else None
                action[f"t{number}"][place] = sample(self.spaces[name], legal)
        return self.layout.encode(action)
