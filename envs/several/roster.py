"""Agents of a multi-agent environment: their types, the layout of joint observations, and a slot for each agent."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from gymnasium.spaces import Box, Space

from config.tell.language import tr
from envs.base import Array, EnvError
from envs.common import masks
from envs.common.registry import nearest
from envs.common.spaces import Actions, Observations
from envs.several.joint import AgentType, JointLayout

ALL = "__all__"
"""Key of terminated and truncated that ends the episode."""


class Kind:
    """Encoding of the observations, masks and actions of one type of agent."""

    def __init__(self, observation_space: Space, action_space: Space, masked: bool) -> None:
        self.source = observation_space, action_space
        self.masked = masked
        self.inside = masks.in_observation(observation_space)
        """True if the mask is a part of the observation."""
        space = masks.rest_of(observation_space) if self.inside else observation_space
        self._codec, self.actions = Observations(space), Actions(action_space)
        self.space, self.parts, self.floating = self._codec.space, self._codec.parts, self._codec.floating
        self.start = self._codec.start
        self.plain = isinstance(space, Box) and self.floating and space.shape != () and not self.inside and not masked
        """True if observations are arrays of floats that need no encoding, without masks."""
        self.shape = (space.shape or (1,)) if isinstance(space, Box) else self.space.shape or ()
        """Shape of an encoded observation before it is stored."""

    def encode(self, obs: Any) -> Any:
        """Returns an observation as one array."""
        return self._codec.encode(masks.without(obs) if self.inside else obs)

    def legal(self, mask: Any) -> Array:
        """Returns a mask [A] as bools; EnvError for a wrong shape."""
        return masks.legal(mask, self.source[1])

    def legal_now(self, mask: Any) -> Array:
        """Returns the mask [A] of an observation to act on; EnvError also where no action is legal."""
        return masks.legal_now(mask, self.source[1])


class Slot:
    """The place of one agent in the joint observation of one row; views of its fields there."""

    __slots__ = ("kind", "mask", "name", "number", "obs", "pool")

    def __init__(self, name: str, number: int, kind: Kind, obs: Array, mask: Array | None, pool: str | None) -> None:
        self.name, self.number, self.kind, self.obs, self.mask = name, number, kind, obs, mask
        self.pool = pool
        """Pattern of the agents that take turns in this slot; None if it belongs to one agent."""

    def clear(self) -> None:
        """Removes the agent."""
        self.obs[...] = 0
        if self.mask is not None:
            self.mask[...] = False


class Seat(NamedTuple):
    """One slot of every row: its name, the agent that tells its spaces, and the pattern of the agents that share it."""

    name: str
    agent: str
    pool: str | None


class Roster:
    """Types and slots of all agents that an environment may have."""

    def __init__(self, env: Any, max_agents: Mapping[str, int], first_info: Mapping[str, Any], obey: bool) -> None:
        """first_info: infos of a first reset, which show the agents with action masks."""
        self.limits, self.obey = dict(max_agents), obey
        seats = list(self._seats(env))
        self._spaces = {seat.agent: _spaces(env, seat.agent) for seat in seats}
        self._examples = {seat.pool: seat.agent for seat in seats}
        by_info = list(self._masked_by_info(first_info)) if obey else []
        self.kinds: list[Kind] = []
        groups: list[list[Seat]] = []
        for seat in seats:
            spaces = self._spaces[seat.agent]
            number = next((n for n, kind in enumerate(self.kinds) if kind.source == spaces), None)
            if number is None:
                number = len(self.kinds)
                masked = obey and (masks.in_observation(spaces[0]) or spaces in by_info)
                self.kinds.append(_kind(seat.agent, spaces, masked))
                groups.append([])
            groups[number].append(seat)
        self.seats = [seat for group in groups for seat in group]
        self.types = tuple(
            AgentType(
                tuple(seat.name for seat in group),
                kind.space,
                kind.actions.space,
                kind.masked,
                kind.parts,
                kind.start,
                kind.actions.start,
            )
            for kind, group in zip(self.kinds, groups, strict=True)
        )

    def _seats(self, env: Any) -> Iterator[Seat]:
        """Yields the slots: one for each agent, and as many as the limit says for agents with changing names."""
        for agent in env.possible_agents:
            if self.pool_of(agent) is None:
                yield Seat(agent, agent, None)
        for pattern, limit in self.limits.items():
            agents = [agent for agent in env.possible_agents if fnmatchcase(agent, pattern)]
            example = agents[0] if agents else pattern.replace("*", "0").replace("?", "0")
            for agent in agents[1:]:
                if _spaces(env, agent) != _spaces(env, example):
                    raise EnvError(
                        "max_agents: {pattern} matches {example} and {agent}, whose spaces differ",
                        pattern=pattern,
                        example=example,
                        agent=agent,
                    )
            stem = pattern.replace("*", "").replace("?", "")
            yield from (Seat(f"{stem}#{number}", example, pattern) for number in range(limit))

    def _masked_by_info(self, infos: Mapping[str, Any]) -> Iterator[tuple[Space, Space]]:
        """Yields the spaces of the agents whose info has a mask."""
        for agent, info in infos.items():
            if isinstance(info, dict) and masks.KEY in info:
                yield self.spaces_of(agent)

    def spaces_of(self, agent: Any) -> tuple[Space, Space]:
        """Returns observation space and action space of an agent; EnvError if it cannot have a slot."""
        pool = self.pool_of(agent) if isinstance(agent, str) else None
        example = self._examples[pool] if pool is not None else agent
        if example not in self._spaces:
            raise EnvError(self.unknown(agent))
        return self._spaces[example]

    def pool_of(self, agent: str) -> str | None:
        """Returns the pattern of max_agents that matches an agent; None if it has a slot of its own."""
        return next((pattern for pattern in self.limits if fnmatchcase(agent, pattern)), None)

    def slots(self, layout: JointLayout, record: Array) -> list[Slot]:
        """Returns the slots of one row, with views of its record."""
        slots: list[Slot] = []
        for number, kind in enumerate(self.kinds):
            fields = record[f"t{number}"]
            for place in range(len(self.types[number].agents)):
                seat = self.seats[len(slots)]
                mask = fields["mask"][place] if kind.masked else None
                slots.append(Slot(seat.name, len(slots), kind, fields["obs"][place, ...], mask, seat.pool))
        return slots

    def unknown(self, agent: Any) -> str:
        """Returns what to do about an agent without a slot."""
        hint = nearest(str(agent), self._spaces)
        did_you_mean = tr("did you mean {hint}? ", hint=hint) if hint else ""
        return tr(
            "agent {agent!r} is not in possible_agents; {hint}agents whose names change need "
            "a limit, such as env_cfg.max_agents: {{'agent_*': 4}}",
            agent=agent,
            hint=did_you_mean,
        )


def _spaces(env: Any, agent: str) -> tuple[Space, Space]:
    """Returns observation space and action space of an agent."""
    spaces = []
    for method in ("observation_space", "action_space"):
        try:
            space = getattr(env, method)(agent)
        except Exception as error:
            raise EnvError(
                "{call} failed: {error}", call=f"{method}({agent!r})", error=f"{type(error).__name__}: {error}"
            ) from error
        if not isinstance(space, Space):
            raise EnvError(
                "{method}({agent!r}) is {space!r}; expected a space of gymnasium.spaces",
                method=method,
                agent=agent,
                space=space,
            )
        spaces.append(space)
    return spaces[0], spaces[1]


def _kind(agent: str, spaces: tuple[Space, Space], masked: bool) -> Kind:
    try:
        if masked:
            masks.count(spaces[1])
        return Kind(*spaces, masked)
    except EnvError as error:
        raise EnvError("agent {name!r}: {error}", name=agent, error=error) from None
