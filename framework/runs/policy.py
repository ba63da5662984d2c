"""joystick.load: the trained policy of a run, to act with, without memory, learner and task directory."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from algos.base import Array
from config.read.paths import as_written
from config.tell.arguments import with_hints
from config.tell.language import tr
from config.tell.names import did_you_mean, nearest
from envs.base import VectorEnv
from framework.archive.run import RecordedRun
from framework.collect.fragment import check_finite
from framework.errors import JoystickError
from framework.log import LOGGER
from framework.policies.agent import MultiPolicyAgent
from framework.policies.slots import JointSlots
from framework.runs import other_words
from framework.runs.arguments import check_path
from framework.runs.model import opened, settings_of


class _Trained(ABC):
    """A trained agent, and the environment whose observations it gets. about: what it is, where that is known."""

    def __init__(self, agent: Any, env: VectorEnv, about: Mapping[str, str] = MappingProxyType({})) -> None:
        self.agent, self._env, self.about = agent, env, about
        self.reset()

    @abstractmethod
    def reset(self) -> None:
        """Starts an episode."""

    def weights(self) -> dict[str, Array]:
        """Returns copies of all arrays that acting depends on, such as the table of Q-learning, by name."""
        return {name: np.array(array) for name, array in self.agent.weights().items()}

    def __getattr__(self, name: str) -> Any:
        """Says what to call in place of a method of another library."""
        instead = other_words.OF_A_POLICY.get(name)
        if not instead and name[:1] != "_":
            instead = nearest(name, dir(type(self)))
        raise other_words.absent(self, name, instead)

    def _sentence(self) -> str:
        """Returns what it is, where that is known: PPO on CartPole-v1, update 640 of tasks/NAME."""
        name = tr(" on ").join(self.about[key] for key in ("algorithm", "environment") if key in self.about)
        return tr(", ").join(filter(None, (name, self.about.get("model", ""))))

    def __repr__(self) -> str:
        return f"<joystick.{type(self).__name__} {self._sentence()}>"

    def _repr_html_(self) -> str:
        from framework.pages import cell, html_page
        from framework.runs import notebook

        spaces = [(tr("observation"), self._env.observation_space), (tr("action"), self._env.action_space)]
        run = notebook.cards_and_curve(RecordedRun(Path(self.about["task"]))) if "task" in self.about else []
        return cell.block(type(self).__name__, self._sentence(), html_page.pairs(spaces), *run)


class TrainedPolicy(_Trained):
    """Chooses actions as a trained model does, one observation at a time."""

    def reset(self) -> None:
        """Starts an episode; only a policy with a memory notices it."""
        self._state = self.agent.initial_state(1)

    @with_hints(other_words.OF_ACT, other_words.ABOUT_ACT)
    def act(self, obs: Any, mask: Any = None, reward: float | None = None) -> Any:
        """Returns the best action for an observation, both as the environment itself has them. mask: of legal actions,
        as the environment gives it, such as [A] with 1 where one is legal; None: the mask in the observation, if it has
        one. reward: of the step before, for a policy that is asked for a return; None before the first one."""
        if reward is not None and self._state is not None:
            self._state = self.agent.rewarded(self._state, np.array([reward], np.float32))
        act = self.agent.predict_action(*self._encoded(obs, mask))
        self._state = act.state
        return self._decoded(act.action)

    def _encoded(self, obs: Any, mask: Array | None) -> tuple[Array, Array | None, Array | None]:
        """Returns observations, states and masks of one row."""
        legal = self._env.mask_of(obs) if mask is None else mask
        encoded = None if legal is None else self._env.legal(legal)[None]
        return self._observation(obs)[None], self._state, encoded

    def _observation(self, obs: Any) -> Array:
        """Returns an observation as the agent gets it. Raises JoystickError for one that does not fit its space."""
        space = self._env.observation_space
        try:
            encoded = self._env.encode(obs)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            if isinstance(obs, tuple) and isinstance(obs[-1], dict):  # not of a Tuple space, which fits
                raise JoystickError(
                    "act: got what reset or step returns; the observation is its first part: obs, info = env.reset()"
                ) from error
            if names := ", ".join(part.name for part in self._env.parts):
                fault = str(error)
                if isinstance(error, KeyError):
                    fault = tr("the observation has no part {part!r}", part=error.args[0])
                elif not isinstance(obs, Mapping | tuple):
                    fault = tr("got {kind}", kind=f"{type(obs).__name__} {obs!r:.40}")
                raise JoystickError(
                    "act: {fault}; the parts of an observation are {names}", fault=fault, names=names
                ) from error
            raise JoystickError(
                "act: the observation does not fit {space}: {error}", space=space, error=error
            ) from error
        if encoded.shape != space.shape and np.shape(obs) == space.shape:  # as an exported program gets it
            encoded = np.asarray(obs, space.dtype)
        if encoded.shape != space.shape:
            many = tr("; act takes one observation at a time") if encoded.shape[1:] == space.shape else ""
            raise JoystickError(
                "act: the observation has shape {shape}; expected {expected}{many}",
                shape=encoded.shape,
                expected=space.shape,
                many=many,
            )
        check_finite(encoded, "act")
        return encoded

    def _decoded(self, action: Array) -> Any:
        """Returns the action of one row as the environment takes it."""
        return self._env.decode(action)[0]


class AgentPolicy(TrainedPolicy):
    """One of several policies. Chooses the actions of one of its agents."""

    def __init__(
        self, agents: MultiPolicyAgent, env: VectorEnv, name: str, member: str | None, about: Mapping[str, str]
    ) -> None:
        if name not in agents.slots:
            near = did_you_mean(name, agents.slots) or tr("; the run has {policies}", policies=", ".join(agents.slots))
            raise JoystickError("there is no policy {name!r}{nearest}", name=name, nearest=near)
        self._slots, self._layout = agents.slots[name], agents.layout
        if isinstance(self._slots, JointSlots):
            raise JoystickError("policy {name} controls its agents as one: load the run without policy=", name=name)
        self.member = self._slots.agents[0] if member is None else member
        if self.member not in self._slots.agents:
            raise JoystickError(
                "agent={member!r}: policy {name} has {agents}",
                member=member,
                name=name,
                agents=", ".join(self._slots.agents),
            )
        self._place = self._slots.agents.index(self.member)
        super().__init__(agents.agents[name], env, about)

    def _encoded(self, obs: Any, mask: Array | None) -> tuple[Array, Array | None, Array | None]:
        records = _records(self._env, {self.member: obs}, {} if mask is None else {self.member: mask})
        number, place = self._layout.place(self.member)
        legal = records[f"t{number}"]["mask"][:, place] if self._slots.type.masked else None
        return self._slots.observe(records).obs[:, self._place], self._state, legal

    def _decoded(self, action: Array) -> Any:
        joint, number = self._layout.new_action(1), self._layout.place(self.member)
        joint[f"t{number[0]}"][:, number[1]] = action
        return self._env.decode(self._layout.encode(joint))[0][self.member]


class TrainedPolicies(_Trained):
    """Chooses the actions of all agents of a multi-agent environment as the trained policies do."""

    def reset(self, seed: int = 0) -> None:
        """Starts an episode. seed: draws the policy of each agent that several policies match."""
        self._state, self._seed = self.agent.initial_state(1), seed
        self._agents: dict[str, str] = {}
        """Slot -> name of the agent that had it last; the slots that acted longest ago come first."""

    @with_hints(other_words.OF_ACTING_TOGETHER, other_words.ABOUT_ACT)
    def act(
        self, obs: Mapping[str, Any], masks: Mapping[str, Array] | None = None, ended: Iterable[str] = ()
    ) -> dict[str, Any]:
        """Returns the best actions of the agents that act now, by name, for their observations, both as the environment
        itself has them. masks: by agent, True for legal actions. The other agents keep their recurrent state. ended:
        agents that the latest step ended, whose slots are free for others from the next call on, as in an episode."""
        for argument in (obs, masks or {}):
            if not isinstance(argument, Mapping):
                raise JoystickError(
                    "act: got {argument!r:.80}; expected a value for each agent, by its name", argument=argument
                )
        if without := [name for name in masks or {} if name not in obs]:
            raise JoystickError("act: agent {name!r} has a mask and no observation", name=without[0])
        slots = self._slots(obs)
        legal = {slots[name]: mask for name, mask in (masks or {}).items()}
        records = _records(self._env, {slots[name]: value for name, value in obs.items()}, legal)
        records["seed"] = self._seed
        for name, slot in slots.items():
            number, place = self.agent.layout.place(slot)
            records[f"t{number}"]["first"][:, place] = self._agents.pop(slot, None) != name
            self._agents[slot] = name
        act = self.agent.predict_action(self.agent.layout.encode(records), self._state)
        self._state = act.state
        actions = self._env.decode(act.action)[0]
        over = set(ended)
        self._agents = {slot: name for slot, name in self._agents.items() if name not in over}
        return {name: actions[slot] for name, slot in slots.items()}

    def _slots(self, names: Iterable[str]) -> dict[str, str]:
        """Returns the slot of each agent. Agents with changing names keep theirs as long as no other one needs it: a
        new agent gets an unused one, or that of the agent that acted longest ago, which has most likely ended."""
        held = {name: slot for slot, name in self._agents.items()}
        slots = {name: held[name] for name in names if name in held}
        for name in names:
            if name not in slots:
                free = [slot for slot in self._env.slots_of(name) if slot not in slots.values()]
                if not free:
                    raise JoystickError("agent {name!r}: more agents act than env_cfg.max_agents allows", name=name)
                unused = [slot for slot in free if slot not in self._agents]
                slots[name] = unused[0] if unused else next(slot for slot in self._agents if slot in free)
        return slots


def _records(env: VectorEnv, obs: Mapping[str, Any], masks: Mapping[str, Array]) -> Array:
    """Returns a record [1] of a joint observation in which these slots act."""
    records: Array = env.joint.decode(env.encode(obs)[None])
    for slot in obs:
        number, place = env.joint.place(slot)
        check_finite(records[f"t{number}"]["obs"][0, place], tr("act: agent {slot!r}", slot=slot))
    for slot, mask in masks.items():
        number, place = env.joint.place(slot)
        if not env.joint.types[number].masked:
            raise JoystickError("agent {slot!r} had no action masks in training", slot=slot)
        records[f"t{number}"]["mask"][:, place] = env.legal(mask, slot)
    return records


def load(
    task: str | os.PathLike[str],
    model: str | int = "best",
    *,
    policy: str | None = None,
    agent: str | None = None,
    allow_import: Iterable[str] = (),
) -> TrainedPolicy | TrainedPolicies:
    """Returns the policy of a run: of its name, its folder or a joystick.Run. model: best, latest, or the update of a
    checkpoint. A run with several agents gives TrainedPolicies; policy: gives one of them, for the agent of this name
    (the first one if it is None)."""
    check_path("load", task)
    config = settings_of(task, model, allow_import)
    with opened(config) as loaded:
        if loaded.note:
            LOGGER.warning(loaded.note)
        assert config.task is not None
        place = tr("update {update} of {path}", update=loaded.saved.facts.get("update"), path=as_written(config.task))
        about = {
            "algorithm": config.algorithms,
            "environment": loaded.agent.spec.id,
            "model": place,
            "task": str(config.task),
        }
        if not isinstance(loaded.agent, MultiPolicyAgent):
            if policy or agent:
                raise JoystickError("{task} has a single agent, and no policies to choose from", task=task)
            return TrainedPolicy(loaded.agent, loaded.env, about)
        if policy is not None:
            return AgentPolicy(loaded.agent, loaded.env, policy, agent, about)
        if agent is not None:
            raise JoystickError("agent= needs policy=: the policy that controls it")
        return TrainedPolicies(loaded.agent, loaded.env, about)
