"""Multi-agent environments with the dict interface, as rows of joint observations.

The interface: `possible_agents`, `observation_space(agent)`, `action_space(agent)`; optional `state()`, `render()` and
`close()`; `reset(seed, options)` returns observations and infos, `step(actions)` observations, rewards, terminated,
truncated and infos, each a dict by agent. `__all__` in terminated or truncated ends the episode; without this key it
ends when no agent is left.

Flags of a joint observation (see envs.several.joint):

first       The agent's trajectory begins with this observation, whose reward is 0 in the first one of an episode.
acts        The observation requires an action: the agent is in the dict of observations, and neither the agent nor the
            episode ends. An active agent that does not act keeps its newest observation.
active      The agent is in the episode, up to and including the observation of its end.
terminated, truncated
            The agent's trajectory ends with this observation and reward; set in no other one. The end of the episode
            ends all agents that are still active, as the episode ended; an agent's own flag wins. One joint
            observation later the fields of the agent are zero, and its slot is free.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import gymnasium
import numpy as np

from config.model.composite import amended
from config.own import objects as own
from config.tell.language import tr
from envs.base import Array, EnvContext, EnvError, Step, VectorEnv
from envs.common.error_text import described, short
from envs.common.facts import frame_rate, metrics_of
from envs.common.probe import value_faults
from envs.common.rows import make_env
from envs.common.spaces import finite
from envs.several.agent_row import FLAGS, OLD, AgentRow
from envs.several.joint import JointActionSpace, JointLayout
from envs.several.roster import Roster

MOST_STATE = 10_000
"""Numbers of a state() that is used as the global state."""
MOST_BYTES = 4 << 20
"""Bytes of a joint observation."""


class MultiAgentVector(VectorEnv):
    """N multi-agent environments that are stepped in turn. Observations and actions are joint, as bytes."""

    def __init__(
        self,
        maker: Callable[[int], Any],
        name: str,
        rows: int,
        *,
        obey_masks: bool = True,
        max_agents: Mapping[str, int] | None = None,
        global_state: bool = False,
        render_mode: str | None = None,
    ) -> None:
        """maker: makes the environment of a row. max_agents: number of slots for agents that match a pattern."""
        envs = [make_env(maker, name, index) for index in range(rows)]
        self.rows, self._name, self._draws = rows, name, render_mode == "rgb_array"
        limits = max_agents or getattr(envs[0], "max_agents", None) or {}
        try:
            roster, state = examine(envs[0], limits, obey_masks, global_state)
        except Exception as error:
            raise EnvError(f"{name}: {error if isinstance(error, EnvError) else described(error)}") from error
        size = (state or sum(_size(kind) for kind in roster.types)) if global_state else 0
        self.joint: JointLayout = JointLayout(roster.types, size)
        self._check_size()
        self.observation_space, self.action_space = self.joint.observation_space, JointActionSpace(self.joint)
        self.render_fps, self.metrics = frame_rate(envs[0]), metrics_of(envs[0])
        self._kinds, self._own_state = roster.kinds, state > 0
        self._now = self.joint.new(rows)
        self._bytes = self.joint.encode(self._now)
        slots = len(roster.seats)
        self._reward = np.zeros((rows, slots), np.float32)
        self._flags = np.zeros((rows, len(FLAGS), slots), bool)
        self._members = [
            AgentRow(env, name, i, roster, roster.slots(self.joint, self._now[i]), self._reward[i], self._flags[i])
            for i, env in enumerate(envs)
        ]
        self._fields = self._prepare_fields()

    @classmethod
    def of(
        cls, cfg: Any, rows: int, maker: Callable[[int], Any], context: EnvContext | None = None
    ) -> "MultiAgentVector":
        """Makes rows by the settings of a section env_cfg. context: says whether the global state is wanted."""
        return cls(
            maker,
            cfg.id,
            rows,
            obey_masks=cfg.action_mask,
            max_agents=getattr(cfg, "max_agents", None),
            global_state=context is not None and context.global_state,
            render_mode=cfg.render_mode,
        )

    def _check_size(self) -> None:
        size = self.joint.obs.itemsize
        if size > MOST_BYTES:
            sizes = ", ".join(f"{len(kind.agents)} x {kind.observation_space.shape}" for kind in self.joint.types)
            raise EnvError(
                "a joint observation of {name} has {size:.1f} MiB ({sizes}), and at most "
                "{limit:.0f} MiB can be stored for each step; use smaller images or fewer agents",
                name=self._name,
                size=size / 2**20,
                sizes=sizes,
                limit=MOST_BYTES / 2**20,
            )

    def _prepare_fields(self) -> list[tuple[Array, Array]]:
        """Returns (field of the joint observations [N, agents], its values [N, agents] as the rows write them)."""
        pairs, start = [], 0
        for number, kind in enumerate(self.joint.types):
            fields, stop = self._now[f"t{number}"], start + len(kind.agents)
            pairs.append((fields["reward"], self._reward[:, start:stop]))
            for flag, name in enumerate(FLAGS):
                pairs.append((fields[name], self._flags[:, flag, start:stop]))
            start = stop
        return pairs

    def reset(self, mask: Array, seeds: Array) -> Array:
        for i in np.flatnonzero(mask).tolist():
            self._bytes[i] = 0
            self._reward[i] = 0
            self._flags[i] = False
            self._now["seed"][i] = int(seeds[i]) & 0xFFFFFFFF
            self._members[i].reset(int(seeds[i]))
        return self._seen(np.asarray(mask, bool))

    def step(self, action: Array) -> Step:
        members = self._members
        for i, member in enumerate(members):
            if member.over:
                raise RuntimeError(tr("row {row} has ended: reset it before the next step", row=i))
        decoded = self._decoded(action)
        self._reward[...] = 0
        self._flags[:, :-1] = False
        for i, member in enumerate(members):
            member.step([*decoded[0][i]] if len(decoded) == 1 else [*chain(*(actions[i] for actions in decoded))])
        obs = self._seen(np.ones(self.rows, bool))
        terminated = np.array([member.terminated for member in members])
        truncated = np.array([member.truncated for member in members])
        return Step(obs, self._reward.sum(axis=1), terminated, truncated)

    def _seen(self, rows: Array) -> Array:
        """Returns the joint observations. rows [N]: those with a new observation."""
        for field, values in self._fields:
            field[...] = values
        self._check_finite()
        if self.joint.state_size:
            self._write_state(rows)
        return self._bytes.copy()

    def _check_finite(self) -> None:
        if not finite(self._reward):
            row, slot = np.argwhere(~np.isfinite(self._reward))[0]
            name, value = self.joint.agents[slot], self._reward[row, slot]
            raise self._members[row].failed(tr("the reward of agent {name!r} is {value}", name=name, value=value))
        for number, kind in enumerate(self._kinds):
            if kind.floating and not finite(obs := self._now[f"t{number}"]["obs"]):
                wrong = ~np.isfinite(obs).reshape(self.rows, len(self.joint.types[number].agents), -1).all(axis=2)
                row = int(wrong.any(axis=1).argmax())
                name = self.joint.types[number].agents[int(wrong[row].argmax())]
                raise self._members[row].failed(tr("the observation of agent {name!r} is not finite", name=name))

    def _write_state(self, rows: Array) -> None:
        """Writes the global state: the environment's own, or all observations. Its own is not read after a termination,
        whose value is 0, and after a truncation only where there still is one."""
        state = self._now["global_state"]
        if not self._own_state:
            parts = [self._now[f"t{number}"]["obs"].reshape(self.rows, -1) for number in range(len(self._kinds))]
            np.concatenate(parts, axis=1, out=state, casting="unsafe")
            return
        for i in np.flatnonzero(rows).tolist():
            member = self._members[i]
            if member.terminated:
                continue
            try:
                state[i] = self._state_of(member)
            except EnvError:
                if not member.truncated:
                    raise

    def _state_of(self, member: AgentRow) -> Array:
        """Returns the environment's own global state."""
        try:
            values = np.ravel(member.env.state())
        except Exception as error:
            raise member.failed(tr("{call} failed: {error}", call="state()", error=described(error))) from error
        size = self.joint.state_size
        if values.shape != (size,) or not finite(values):
            raise member.failed(
                tr("state() has {count} numbers, not all finite or not {shape}", count=values.size, shape=size)
            )
        return values

    def _decoded(self, action: Array) -> list[Array]:
        """Returns the actions [N, agents, ...] of each type as the environment takes them, with illegal ones replaced
        by the first legal one: on resume, an idle row gets actions of another episode."""
        records = self.joint.decode_action(action)
        decoded = []
        for number, kind in enumerate(self._kinds):
            actions = records[f"t{number}"]
            if kind.masked:
                actions = amended(actions, self._now[f"t{number}"]["mask"], self.joint.types[number].action_space)
            decoded.append(kind.actions.decode(actions))
        return decoded

    def encode(self, obs: Any) -> Array:
        """Returns the observations of some agents, by name, as one joint observation in which they act. Raises EnvError
        for one that does not fit its space."""
        record = self.joint.new(1)
        for name, value in obs.items():
            number, place = self.joint.place(name)
            fields, kind = record[f"t{number}"][0], self._kinds[number]
            room = fields["obs"][place]
            try:
                encoded = kind.encode(value)
                if kind.masked:
                    fields["mask"][place] = kind.legal(value["action_mask"]) if kind.inside else True
            except (ValueError, TypeError, LookupError) as error:
                space = self.joint.types[number].observation_space
                raise EnvError(
                    "agent {name!r}: the observation does not fit {space}: {error}", name=name, space=space, error=error
                ) from error
            if np.shape(encoded) != room.shape:
                raise EnvError(
                    "agent {name!r}: the observation has shape {shape}; expected {expected}",
                    name=name,
                    shape=np.shape(encoded),
                    expected=room.shape,
                )
            fields["obs"][place] = encoded
            fields["acts"][place] = fields["active"][place] = True
        return self.joint.encode(record)[0]

    def legal(self, mask: Any, agent: str = "") -> Array:
        return self._kinds[self.joint.place(agent)[0]].legal_now(mask)

    def decode(self, action: Array) -> Array:
        """Returns for each row a dict with the actions of all slots."""
        records = self.joint.decode_action(action)
        decoded = [kind.actions.decode(records[f"t{number}"]) for number, kind in enumerate(self._kinds)]
        joint = np.empty(len(records), object)
        for i in range(len(records)):
            joint[i] = dict(zip(self.joint.agents, chain.from_iterable(actions[i] for actions in decoded), strict=True))
        return joint

    def member(self, row: int) -> Any:
        env = self._members[row].env
        return getattr(env, "unwrapped", env)

    def each(self, function: Callable[[Any, int], Any], mask: Array) -> list[Any]:
        return [function(self.member(row), row) for row in np.flatnonzero(mask).tolist()]

    def agents(self, row: int) -> Sequence[str]:
        return self._members[row].agents()

    def slots_of(self, agent: str) -> Sequence[str]:
        return self._members[0].slots_of(agent)

    def info(self, row: int) -> dict[str, Any]:
        return self._members[row].info

    def render(self, row: int = 0) -> Array | None:
        env = self._members[row].env
        if not self._draws or not callable(getattr(env, "render", None)):
            return None
        try:
            frame = env.render()
        except Exception as error:
            raise self._members[row].failed(
                tr("{call} failed: {error}", call="render", error=described(error))
            ) from error
        return None if frame is None else np.asarray(frame)

    def close(self) -> None:
        failures = []
        for member in self._members:
            try:
                getattr(member.env, "close", bool)()
            except Exception as error:
                failures.append(member.failed(tr("{call} failed: {error}", call="close", error=described(error))))
        if failures:
            raise failures[0]


def several(thing: Any) -> bool:
    """Returns True for a class or an object with the interface above, or with the turns of PettingZoo's AECEnv."""
    kind = thing if isinstance(thing, type) else type(thing)
    spaces = getattr(thing, "observation_space", None), getattr(thing, "action_space", None)
    methods = (*spaces, getattr(thing, "reset", None), getattr(thing, "step", None))
    named = hasattr(thing, "possible_agents") or not issubclass(kind, gymnasium.Env)
    return named and all(map(callable, methods))


def examine(env: Any, limits: Mapping[str, int], obey: bool, global_state: bool) -> tuple[Roster, int]:
    """Returns the agents of an environment, and the size of its own global state (0: none), after one reset."""
    pair = _first_reset(env)
    if not (isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(part, dict) for part in pair)):
        raise EnvError(
            "reset must return observations and infos, two dicts by agent; found {result}", result=short(repr(pair))
        )
    agents = getattr(env, "possible_agents", None)
    if not agents or isinstance(agents, str) or not all(isinstance(agent, str) for agent in agents):
        raise EnvError("possible_agents is {value}; expected a list of names", value=short(repr(agents)))
    roster = Roster(env, limits, pair[1], obey)
    for agent, obs in pair[0].items():
        if faults := list(
            value_faults(roster.spaces_of(agent)[0], obs, tr("observation of agent {agent!r}", agent=agent))
        ):
            raise EnvError("the first reset does not agree with the spaces:\n  {fault}", fault=faults[0])
    return roster, _state_size(env) if global_state else 0


def _first_reset(env: Any) -> Any:
    """Returns what the first reset gives. Raises EnvError for the old interface."""
    parameters = own.parameters_of(env.reset)
    taken = {parameter.name for parameter in parameters or ()}
    open_ended = parameters is None or any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    if not open_ended and (missing := [name for name in ("seed", "options") if name not in taken]):
        raise EnvError("reset has no argument {missing}; {old}", missing=tr(" and no argument ").join(missing), old=OLD)
    result = env.reset(seed=0, options=None)
    if isinstance(result, dict):
        raise EnvError("reset returned observations without infos; {old}", old=OLD)
    return result


def _state_size(env: Any) -> int:
    """Returns the numbers of state(); 0 if there is none that can be used as the global state."""
    if not callable(getattr(env, "state", None)):
        return 0
    try:
        state = np.asarray(env.state())
    except NotImplementedError:
        return 0
    return state.size if state.dtype.kind in "fiub" and 0 < state.size <= MOST_STATE else 0


def _size(kind: Any) -> int:
    return len(kind.agents) * int(np.prod(kind.observation_space.shape or ()))
