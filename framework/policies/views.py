"""Reads joint observations and actions by agent, in the environment's own values: for callbacks."""

from collections.abc import Iterator, Sequence
from typing import Any

from config.model.composite import Composite
from envs.base import Array
from envs.several.joint import AgentType, JointLayout


def observations(layout: JointLayout, obs: Array, names: Sequence[str]) -> dict[str, Array]:
    """Returns the observations of the agents that are in the episode, up to that of their end. obs: a joint
    observation; names: of the agents in its slots."""
    starts = {number: kind.observation_start for number, kind in enumerate(layout.types)}
    return {name: fields["obs"] + starts[number] for name, number, _, fields in _active(layout, obs, names)}


def rewards(layout: JointLayout, obs: Array, names: Sequence[str]) -> dict[str, float]:
    """Returns the rewards of the agents that are in the episode, since the previous joint observation."""
    return {name: float(fields["reward"]) for name, _, _, fields in _active(layout, obs, names)}


def actions(layout: JointLayout, obs: Array, action: Array, names: Sequence[str]) -> dict[str, Any]:
    """Returns the actions of the agents that acted. obs: the joint observation before them."""
    records = layout.decode_action(action)
    return {
        name: _own(records[f"t{number}"][place], layout.types[number])
        for name, number, place, fields in _active(layout, obs, names)
        if fields["acts"]
    }


def _own(action: Array, kind: AgentType) -> Any:
    """Returns an action in the environment's own values."""
    if isinstance(kind.action_space, Composite):
        return kind.action_space.decode(action[None])[0]
    return action + kind.action_start


def _active(layout: JointLayout, obs: Array, names: Sequence[str]) -> Iterator[tuple[str, int, int, Any]]:
    """Yields name, number of the type, place and record of each agent that is in the episode."""
    record, slots = layout.decode(obs), iter(names)
    for number, kind in enumerate(layout.types):
        for place in range(len(kind.agents)):
            name, fields = next(slots), record[f"t{number}"][place]
            if fields["active"]:
                yield name, number, place, fields
