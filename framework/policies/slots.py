"""Slots: the places of a policy's agents in joint observations, as rows of the policy's batch. Does not need torch."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space

from envs.base import Array, Part
from envs.several.joint import JointLayout

_PLAYS_PAST, _OWN_AGENT, _VERSION = 1 << 19, (1 << 19) + 1, (1 << 19) + 2
"""Numbers that no agent has, for what the seed of an episode draws besides the policies of its agents."""


class Seen(NamedTuple):
    """View of joint observations [...] from the slots of a policy; S is the number of slots."""

    obs: Array
    """[..., S, *shape]."""
    mask: Array | None
    """[..., S, A] bool; True everywhere if the environment gives none, as for agents whose turn it is not."""
    reward: Array
    """[..., S] float32, since the previous joint observation."""
    acts: Array
    """[..., S] bool: this policy controls the slot in this episode, and an action is required."""
    first: Array
    """[..., S] bool: a trajectory begins."""
    terminated: Array
    truncated: Array

    def ends(self, terminated: Array, truncated: Array) -> tuple[Array, Array]:
        """Returns where a trajectory terminates and where it is truncated [..., S], given the same of the episode
        [...]: its end ends all trajectories as it does itself, unless they end by themselves."""
        ends = self.terminated | self.truncated | (terminated | truncated)[..., None]
        terminates = ends & (self.terminated | (terminated[..., None] & ~self.truncated))
        return terminates, ends & ~terminates


class Slots:
    """Slots of the agents of one policy, which have the same type. Several policies may match the same agents: then
    the seed of the episode decides which of them controls each agent."""

    def __init__(
        self,
        layout: JointLayout,
        agents: Sequence[str],
        rivals: Sequence[Sequence[str]],
        policy: str,
        agent_id: bool,
        past_share: float = 0.0,
        meets_random: bool = False,
    ) -> None:
        """rivals: for each of these agents, the names of the policies that match it. past_share: share of the training
        episodes in which earlier versions are opponents. meets_random: True if one that acts at random is the opponent
        in evaluations."""
        self.agents, self.policy, self._layout, self._rivals = tuple(agents), policy, layout, rivals
        places = [layout.place(agent) for agent in agents]
        self._field = f"t{places[0][0]}"
        self.type = layout.types[places[0][0]]
        self._places = _indices([place for _, place in places])
        order = {name: index for index, name in enumerate(layout.agents)}
        self.numbers = [order[agent] for agent in agents]
        """Number of each agent's slot in the joint observation."""
        self._numbers = np.array(self.numbers, np.uint64)
        self._matches = np.array([len(names) for names in rivals], np.uint64)
        self._turn = np.array([list(names).index(policy) for names in rivals], np.uint64)
        self._alone = bool((self._matches == 1).all())
        self.state_size = layout.state_size
        self._one_hot = np.eye(len(agents), dtype=np.float32) if agent_id else None
        self.past_share, self.meets_random = past_share, meets_random
        self.count = len(agents)
        """Number of rows of the policy's batch for each environment, S."""
        self.members = 1
        """Number of agents that a row stands for."""

    def each(self) -> "Slots":
        """Returns these slots with what each agent sees, does and gets by itself, whichever version of the policy
        plays in training: for records of episodes."""
        return Slots(
            self._layout, self.agents, self._rivals, self.policy, agent_id=False, meets_random=self.meets_random
        )

    # spaces -----------------------------------------------------------------------------------------------

    @property
    def observation_space(self) -> Space:
        space = self.type.observation_space
        if self._one_hot is None:
            return space
        low, high = vector_bounds(space)
        ones = np.ones(self.count, np.float32)
        return Box(np.concatenate([low, 0 * ones]), np.concatenate([high, ones]), dtype=np.float32)

    @property
    def action_space(self) -> Space:
        return self.type.action_space

    @property
    def parts(self) -> tuple[Part, ...]:
        if self._one_hot is None or not self.type.parts:
            return self.type.parts
        start = self.type.parts[-1].stop
        return (*self.type.parts, Part("agent_id", start, start + self.count, (self.count,)))

    @property
    def global_size(self) -> int:
        """Numbers of the columns `global_state`: the environment's state, and the slot's own observation."""
        return self.state_size + int(np.prod(vector_bounds(self.observation_space)[0].shape))

    # reading and writing ----------------------------------------------------------------------------------

    def controls(self, records: Array) -> Array | bool:
        """Returns [..., S], True where this policy controls the agent in this episode: a function of the episode's seed
        and the agent, which acting and learning both evaluate."""
        if self._alone:
            return True
        return mixed(records["seed"][..., None], self._numbers) % self._matches == self._turn

    @property
    def can_meet_random(self) -> bool:
        """True if one agent of the policy can play against random ones: several are in every episode."""
        return self.count > 1 and not any("#" in agent for agent in self.agents)

    def has_opponents(self, training: bool) -> bool:
        """Returns True if opponents play agents of the policy in some episodes: of the training, or of evaluations."""
        return self.past_share > 0 if training else self.meets_random

    def opponents(self, records: Array, training: bool) -> Array:
        """Returns [..., S], True where an opponent plays: in a share `past_share` of the training episodes an earlier
        version, in all evaluations one that acts at random if `meets_random`. It plays all of the policy's agents but
        one, which the seed of the episode draws."""
        seed, share = records["seed"][..., None], self.past_share if training else float(self.meets_random)
        drawn = mixed(seed, _PLAYS_PAST) < np.uint64(share * 2.0**64 * (1 - 2**-53))
        mine = np.broadcast_to(self.controls(records), (*records.shape, self.count))
        order = np.cumsum(mine, axis=-1, dtype=np.uint64)  # of each agent among those of this policy, from 1
        own = mixed(seed, _OWN_AGENT) % np.maximum(order[..., -1:], np.uint64(1)) + np.uint64(1)
        return np.asarray(drawn & mine & (own != order))

    def version(self, records: Array) -> Array:
        """Returns a number [...] for each episode, which draws the version that plays."""
        return mixed(records["seed"], _VERSION)

    def observe(self, records: Array) -> Seen:
        """Returns what the slots see in records of joint observations [...]."""
        fields = records[self._field][..., self._places]
        acts = fields["acts"] & self.controls(records)
        mask = _opened(fields["mask"]) if self.type.masked else None
        obs = fields["obs"]
        if self._one_hot is not None:
            obs = as_vector(self.type.observation_space, obs)
            obs = np.concatenate([obs, np.broadcast_to(self._one_hot, (*obs.shape[:-1], self.count))], axis=-1)
        return Seen(obs, mask, fields["reward"], acts, fields["first"], fields["terminated"], fields["truncated"])

    def present(self, records: Array) -> Array:
        """Returns [..., S], True for the agents that this policy controls and that are in the episode."""
        fields = records[self._field][..., self._places]
        return np.asarray(fields["active"] & ~fields["terminated"] & ~fields["truncated"] & self.controls(records))

    def returns(self, records: Array, training: bool) -> tuple[Array, Array]:
        """Returns the sum of the rewards of the policy's agents [...], and the number of trajectories that begin,
        without those of opponents."""
        fields = records[self._field][..., self._places]
        control = self.controls(records)
        if self.has_opponents(training):
            control = control & ~self.opponents(records, training)
        return (fields["reward"] * control).sum(-1, dtype=np.float64), (fields["first"] & control).sum(-1)

    def global_state(self, records: Array, seen: Seen) -> Array:
        """Returns the columns `global_state` [..., S, G]."""
        obs = as_vector(self.observation_space, seen.obs)
        state = np.broadcast_to(records["global_state"][..., None, :], (*obs.shape[:-1], self.state_size))
        return np.concatenate([state, obs], axis=-1)

    def actions(self, records: Array) -> Array:
        """Returns the actions [..., S, *shape] of the slots in records of joint actions [...]."""
        field = records[self._field]
        return field[(slice(None),) * records.ndim + (self._places,)]

    def write(self, records: Array, action: Array, control: Array | bool) -> None:
        """Writes actions [N, S, *shape] into joint actions [N], where the policy controls the agent."""
        field = records[self._field]
        if control is True:
            field[:, self._places] = action
        else:
            shape = (*np.shape(control), *(1,) * (action.ndim - 2))
            field[:, self._places] = np.where(np.reshape(control, shape), action, field[:, self._places])


class JointSlots(Slots):
    """One slot for all agents of a policy: their observations are concatenated, and their rewards summed."""

    def __init__(self, layout: JointLayout, agents: Sequence[str], policy: str) -> None:
        super().__init__(layout, agents, [[policy]] * len(agents), policy, agent_id=False)
        self.members, self.count = len(agents), 1

    @property
    def observation_space(self) -> Space:
        low, high = vector_bounds(self.type.observation_space)
        return Box(np.tile(low, self.members), np.tile(high, self.members), dtype=np.float32)

    @property
    def action_space(self) -> Space:
        space = self.type.action_space
        if isinstance(space, Discrete):
            return MultiDiscrete([int(space.n)] * self.members)
        assert isinstance(space, Box)
        return Box(
            np.tile(space.low.ravel(), self.members), np.tile(space.high.ravel(), self.members), dtype=np.float32
        )

    @property
    def parts(self) -> tuple[Part, ...]:
        width = len(vector_bounds(self.type.observation_space)[0])
        return tuple(Part(name, i * width, (i + 1) * width, (width,)) for i, name in enumerate(self.agents))

    @property
    def global_size(self) -> int:
        return self.state_size

    def observe(self, records: Array) -> Seen:
        fields = records[self._field][..., self._places]
        obs = as_vector(self.type.observation_space, fields["obs"])
        acts, active = fields["acts"], fields["active"]
        ends = fields["terminated"] | fields["truncated"]
        over: Array = np.asarray(active.any(-1) & ~(active & ~ends).any(-1))
        mask = _opened(fields["mask"]) if self.type.masked else None
        # not for an agent that joins the others
        begins = fields["first"].any(-1) & ~(active & ~fields["first"]).any(-1)
        truncated: Array = over & (fields["truncated"] & active).any(-1)
        return Seen(
            obs.reshape(*obs.shape[:-2], 1, -1),
            None if mask is None else mask[..., None, :, :],
            fields["reward"].sum(-1, keepdims=True),
            np.asarray(acts.any(-1, keepdims=True)),
            np.asarray(begins)[..., None],
            (over & ~truncated)[..., None],
            truncated[..., None],
        )

    def global_state(self, records: Array, seen: Seen) -> Array:
        return records["global_state"][..., None, :]

    def actions(self, records: Array) -> Array:
        parts = super().actions(records)
        return parts.reshape(*records.shape, 1, -1)

    def write(self, records: Array, action: Array, control: Array | bool) -> None:
        space = self.type.action_space
        super().write(records, action.reshape(len(records), self.members, *(space.shape or ())), True)


def _opened(mask: Array) -> Array:
    """Returns action masks [..., A] that are True everywhere where the environment gives none, which is all False."""
    return np.asarray(mask | ~mask.any(-1, keepdims=True))


def _indices(places: list[int]) -> Any:
    """Returns places as a slice if they follow one another: then reading copies nothing."""
    first = places[0]
    return slice(first, first + len(places)) if places == list(range(first, first + len(places))) else np.array(places)


def mixed(seed: Array, number: Array | int) -> Array:
    """Returns 64 well mixed bits for each pair of an episode's seed and a number (splitmix64, Steele et al., 2014)."""
    with np.errstate(over="ignore"):
        x = (seed.astype(np.uint64) << np.uint64(20)) + np.asarray(number, np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def is_vector(space: Space) -> bool:
    """Returns True for observations that can be joined with other numbers: all but images."""
    return isinstance(space, Discrete | MultiDiscrete | MultiBinary) or (
        isinstance(space, Box) and len(space.shape) == 1 and space.dtype != np.uint8
    )


def as_vector(space: Space, obs: Array) -> Array:
    """Returns observations [..., *shape] as vectors [..., d] of float32; integers are one-hot."""
    if isinstance(space, Discrete):
        return (np.arange(int(space.n)) == obs[..., None]).astype(np.float32)
    if isinstance(space, MultiDiscrete):
        flat = obs.reshape(*obs.shape[: obs.ndim - len(space.shape)], -1)
        digits = [np.arange(n) == flat[..., i, None] for i, n in enumerate(space.nvec.ravel().tolist())]
        return np.concatenate(digits, axis=-1).astype(np.float32)
    width = int(np.prod(space.shape or ()))
    return obs.reshape(*obs.shape[: obs.ndim - len(space.shape or ())], width).astype(np.float32, copy=False)


def vector_bounds(space: Space) -> tuple[Array, Array]:
    """Returns the lowest and highest values [d] of `as_vector`."""
    if isinstance(space, Box):
        return space.low.ravel().astype(np.float32), space.high.ravel().astype(np.float32)
    sizes = {Discrete: lambda s: int(s.n), MultiDiscrete: lambda s: int(s.nvec.sum())}
    width = sizes[type(space)](space) if type(space) in sizes else int(np.prod(space.shape or ()))
    return np.zeros(width, np.float32), np.ones(width, np.float32)
