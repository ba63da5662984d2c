"""One multi-agent environment: its agents enter, act and end; what they see is written into the joint observation."""

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from config.tell.language import tr
from envs.base import Array, EnvError, StepError
from envs.common import masks
from envs.common.error_text import described, short
from envs.several.roster import ALL, Roster, Slot

FLAGS = ("acts", "first", "terminated", "truncated", "active")
"""Flags of an agent in a joint observation."""
_number = attrgetter("number")


class AgentRow:
    """One environment with the dict interface, and the agents that are in it."""

    def __init__(
        self, env: Any, name: str, number: int, roster: Roster, slots: list[Slot], reward: Array, flags: Array
    ) -> None:
        """reward [S] and flags [5, S], in the order of FLAGS, are written here. The caller clears them before each
        reset, and before each step all but `active`."""
        self.env, self.name, self.number = env, name, number
        self.info: dict[str, Any] = {}
        self.over = True
        """True if the episode has ended."""
        self.terminated = self.truncated = False
        self._roster = roster
        self._names = tuple(slot.name for slot in slots)
        self._slots_by_name = {slot.name: slot for slot in slots if slot.pool is None}
        self._shared = {pool: [slot for slot in slots if slot.pool == pool] for pool in roster.limits}
        self._free: dict[str, list[Slot]] = {}
        self._reward: Any = reward.data  # a memoryview: single numbers are written several times as fast
        self._acts, self._first, self._terminated, self._truncated, self._in = (flag.data for flag in flags)
        self._active: dict[str, Slot] = {}
        self._acting: dict[str, Slot] = {}
        self._leaving: dict[str, Slot] = {}
        self._ended: dict[str, int] = {}
        self._seed, self._steps = 0, 0
        self._acting_agents = getattr(env, "acting_agents", None)

    def reset(self, seed: int) -> None:
        """Starts an episode. The fields of all slots must be clear."""
        self._seed, self._steps = seed, 0
        self._active, self._leaving, self._ended = {}, {}, {}
        self._free = {pool: list(slots) for pool, slots in self._shared.items()}
        self.over = self.terminated = self.truncated = False
        try:
            obs, self.info = self.env.reset(seed=seed, options=None)
            self._observe(obs)
            self._read_masks()
            self._choose(obs)
        except Exception as error:
            raise self._failed("reset", error) from error

    def step(self, chosen: Sequence[Any]) -> None:
        """Makes one step with the decoded actions of all slots; only those of agents that act are used."""
        self._steps += 1
        actions = {name: chosen[slot.number] for name, slot in self._acting.items()}
        try:
            obs, reward, terminated, truncated, self.info = five(self.env.step(actions))
            if self._leaving:
                self._release()
            if self._ended and not self._ended.keys().isdisjoint(obs):
                obs = {name: value for name, value in obs.items() if not self._ends_again(name, terminated, truncated)}
            self._observe(obs)
            self._pay(reward)
            self._end(terminated, truncated)
            self._read_masks()
            self._choose(obs)
        except Exception as error:
            raise self._failed(
                tr("step {number}", number=self._steps), error, tr("; actions {actions}", actions=short(actions))
            ) from error

    def _observe(self, obs: Mapping[str, Any]) -> None:
        """Writes the observations; agents that are seen for the first time enter."""
        active = self._active
        for name, value in obs.items():
            slot = active.get(name) or self._enter(name)
            kind = slot.kind
            if not kind.plain:
                if slot.mask is not None:
                    slot.mask[...] = self._legal(name, slot, value[masks.KEY]) if kind.inside else True
                try:
                    value = kind.encode(value)
                except ValueError as error:
                    raise EnvError("agent {name!r}: {error}", name=name, error=error) from error
            if getattr(value, "shape", ()) != kind.shape:
                raise EnvError(
                    "the observation of agent {name!r} is {form}; expected shape {shape}",
                    name=name,
                    form=_form(value),
                    shape=kind.shape,
                )
            slot.obs[...] = value

    def _enter(self, name: str) -> Slot:
        """Gives a slot to an agent that has none."""
        if name in self._ended:
            raise EnvError(
                "agent {name!r} has an observation after its end in step {step}", name=name, step=self._ended[name]
            )
        slot = self._slots_by_name.get(name)
        if slot is None:
            pool = self._roster.pool_of(name) if isinstance(name, str) else None
            if pool is None:
                raise EnvError(self._roster.unknown(name))
            if not self._free[pool]:
                raise EnvError(
                    "agent {name!r} has no free slot: env_cfg.max_agents allows {limit} of "
                    "{pool!r}; a slot is free again one step after its agent has ended",
                    name=name,
                    limit=self._roster.limits[pool],
                    pool=pool,
                )
            slot = self._free[pool].pop(0)
        self._active[name] = slot
        self._first[slot.number] = self._in[slot.number] = True
        return slot

    def _pay(self, rewards: Mapping[str, Any]) -> None:
        """Writes the rewards; any active agent can have one."""
        active, out = self._active, self._reward
        for name, value in rewards.items():
            slot = active.get(name)
            if slot is None:
                self._check_known(name)
                if value:
                    raise EnvError(
                        "agent {name!r} has the reward {value}, and is not in the episode{when}",
                        name=name,
                        value=value,
                        when=self._when(name),
                    )
                continue
            try:
                out[slot.number] = value
            except (TypeError, ValueError):
                raise EnvError(
                    "the reward of agent {name!r} is {value}; expected a number", name=name, value=short(repr(value))
                ) from None

    def _end(self, terminated: Mapping[str, Any], truncated: Mapping[str, Any]) -> None:
        """Ends agents, and the episode with `__all__`, or without this key if no agent is left."""
        for flags, out in ((terminated, self._terminated), (truncated, self._truncated)):
            if any(flags.values()):
                self._mark(flags, out)
        for name in self._leaving:
            del self._active[name]
            self._ended[name] = self._steps
        if ALL in terminated or ALL in truncated:
            self.terminated, self.truncated = bool(terminated.get(ALL)), bool(truncated.get(ALL))
        elif not self._active:
            slots = self._leaving.values()
            self.truncated = any(self._truncated[s.number] and not self._terminated[s.number] for s in slots)
            self.terminated = not self.truncated
        self.over = self.terminated or self.truncated
        if self.over:
            for slot in self._active.values():
                self._terminated[slot.number], self._truncated[slot.number] = self.terminated, self.truncated

    def _mark(self, flags: Mapping[str, Any], out: Any) -> None:
        """Writes the flags of agents that end."""
        for name in [name for name, flag in flags.items() if flag]:
            if (slot := self._active.get(name)) is not None:
                out[slot.number] = True
                self._leaving[name] = slot
            elif name != ALL:
                self._check_known(name)

    def _release(self) -> None:
        """Clears the slots of the agents that ended with the previous step."""
        for slot in self._leaving.values():
            slot.clear()
            self._in[slot.number] = False
            if slot.pool is not None:
                insort(self._free[slot.pool], slot, key=_number)
        self._leaving = {}

    def _read_masks(self) -> None:
        """Writes the masks of the infos. An agent of a masked type without one may choose any action."""
        if not self._roster.obey or not any(self.info.values()):
            return
        for name, info in self.info.items():
            if info and masks.KEY in info and (slot := self._active.get(name)) is not None:
                if slot.mask is None:
                    raise EnvError(
                        "agent {name!r} has an {key} in its info, and had none at the first reset",
                        name=name,
                        key=masks.KEY,
                    )
                slot.mask[...] = self._legal(name, slot, info[masks.KEY])

    def _legal(self, name: str, slot: Slot, mask: Any) -> Array:
        try:
            return slot.kind.legal(mask)
        except EnvError as error:
            raise EnvError("agent {name!r}: {error}", name=name, error=error) from None

    def _choose(self, obs: Mapping[str, Any]) -> None:
        """Marks the agents that act next: those with an observation, unless the environment names them."""
        if self.over:
            self._acting = {}
            return
        active, acts = self._active, self._acts
        if self._acting_agents is None and len(obs) == len(active) and not self._leaving:
            self._acting = active
        else:
            names: Iterable[str] = obs if self._acting_agents is None else self._acting_agents()
            self._acting = {name: active[name] for name in names if name in active}
        for slot in self._acting.values():
            acts[slot.number] = True

    def _ends_again(self, name: str, terminated: Mapping[str, Any], truncated: Mapping[str, Any]) -> bool:
        """Returns True for an agent that ended before, and whose end the environment reports at every step."""
        return name in self._ended and bool(terminated.get(name) or truncated.get(name))

    def _check_known(self, name: Any) -> None:
        if name not in self._slots_by_name and not (isinstance(name, str) and self._roster.pool_of(name)):
            raise EnvError(self._roster.unknown(name))

    def _when(self, name: str) -> str:
        return tr(": it ended in step {step}", step=self._ended[name]) if name in self._ended else ""

    def agents(self) -> Sequence[str]:
        """Returns the name of the agent in each slot, up to the observation of its end; that of the slot if it is
        empty."""
        if not self._shared:
            return self._names
        taken = {slot.number: name for name, slot in {**self._active, **self._leaving}.items()}
        return [taken.get(number, name) for number, name in enumerate(self._names)]

    def slots_of(self, name: str) -> Sequence[str]:
        """Returns the names of the slots that an agent can have."""
        if name in self._slots_by_name:
            return [name]
        pool = self._roster.pool_of(name)
        if pool is None:
            raise EnvError(self._roster.unknown(name))
        return [slot.name for slot in self._shared[pool]]

    def _failed(self, where: str, error: Exception, more: str = "") -> EnvError:
        reason = str(error) if isinstance(error, EnvError) else described(error)
        step = self._steps if where != "reset" else None
        return StepError.of(self.name, where, reason, self._seed, self.number, step, more)

    def failed(self, reason: str) -> EnvError:
        """Returns an error found after the latest call."""
        return self._failed(tr("step {number}", number=self._steps) if self._steps else "reset", EnvError(reason))


def five(result: Any) -> Any:
    """Returns what a step gives. Raises EnvError for the old interface, and for what is no dict by agent."""
    if isinstance(result, tuple) and len(result) == 4:
        raise EnvError("step returned 4 values, with dones; {old}", old=OLD)
    if isinstance(result, tuple) and len(result) == 5 and all(isinstance(part, Mapping) for part in result):
        return result
    parts = ", ".join(type(part).__name__ for part in result) if isinstance(result, tuple) else type(result).__name__
    raise EnvError(
        "step must return observations, rewards, terminated, truncated and infos, five dicts by agent; found {parts}",
        parts=parts,
    )


OLD = tr("joystick.OldGym(env) around it accepts the old reset() -> observations and step() -> 4 mappings")


def _form(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return tr("a {kind}", kind=type(value).__name__) if shape is None else tr("an array of shape {shape}", shape=shape)
