"""The agent of several policies: decodes joint observations and asks the agent of each policy."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import torch

from algos.base import Act, Actor, Agent, Array, EnvSpec, Progress, TrainableActor, Tree
from config.tell.language import tr
from framework.policies.league import PREFIX, League
from framework.policies.policy_plan import JointPlan
from framework.policies.slots import Seen

Acting = Callable[[Actor, Array, Array | None, Array | None], Act]
"""(actor of a policy, observations, states, masks) -> its actions."""


class MultiPolicyAgent(TrainableActor):
    """Acts for all agents of a multi-agent environment. All slots of a policy in all environments are one batch, which
    always has the same size: results do not depend on which of them act."""

    def __init__(
        self,
        plan: JointPlan,
        spec: EnvSpec,
        agents: Mapping[str, Agent],
        random: Mapping[str, Actor],
        device: torch.device,
    ) -> None:
        """agents: by policy, in the order of the plan. random: agents that act at random, by the policy
        whose opponents they are in evaluations."""
        self.spec, self.device = spec, device
        self.layout = plan.layout
        self.slots = plan.slots
        self.agents = dict(agents)
        self.actors: dict[str, Actor] = dict(agents)
        """The actors: the agents, or recorders that listen to them."""
        self.trained = tuple(policy.name for policy in plan.learning)
        self.fixed = tuple(name for name in agents if name not in self.trained)
        """The policies that do not learn."""
        self.METRICS = tuple(  # type: ignore[misc]  # the policies are known only now
            f"{name}/{metric}" for name in self.trained for metric in self.agents[name].METRICS
        )
        self.leagues = {
            policy.name: League(self.agents[policy.name], opponents.every, opponents.keep)
            for policy in plan.policies
            if (opponents := getattr(policy.algo, "opponents", None)) is not None
        }
        self.random = random
        self._states = self._places()

    def by_policy(self) -> Mapping[str, Agent]:
        return self.agents

    def metric_names(self) -> tuple[str, ...]:
        return tuple(f"{name}/{metric}" for name in self.trained for metric in self.agents[name].metric_names())

    # acting -----------------------------------------------------------------------------------------------

    def _places(self) -> dict[str, tuple[int, int]]:
        """Returns where the recurrent state of each recurrent policy begins in that of a row, and its size for a
        slot."""
        places, start = {}, 0
        for name, agent in self.agents.items():
            state = agent.initial_state(1)
            if state is not None:
                places[name] = (start, state.shape[1])
                start += state.shape[1] * self.slots[name].count
        return places

    def initial_state(self, rows: int) -> Array | None:
        parts = [
            state.reshape(rows, -1)
            for name, agent in self.agents.items()
            if (state := agent.initial_state(rows * self.slots[name].count)) is not None
        ]
        return np.concatenate(parts, axis=1) if parts else None

    def sample_action(
        self, obs: Array, state: Array | None, progress: Progress, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        def acting(agent: Actor, inputs: Array, past: Array | None, able: Array | None) -> Act:
            return agent.sample_action(inputs, past, progress, rng, able)

        return self._act(obs, state, acting, training=not progress.evaluating)

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        return self._act(obs, state, lambda agent, inputs, past, able: agent.predict_action(inputs, past, able), None)

    def evaluate_action(
        self, obs: Array, state: Array | None, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        def acting(agent: Actor, inputs: Array, past: Array | None, able: Array | None) -> Act:
            return agent.evaluate_action(inputs, past, rng, able)

        return self._act(obs, state, acting, training=False)

    def _act(self, obs: Array, state: Array | None, acting: Acting, training: bool | None) -> Act:
        """training: False in an evaluation; None if policies play all of their agents, without opponents."""
        records = self.layout.decode(obs)
        joint, columns = self.layout.new_action(len(obs)), {}
        after = None if state is None else state.copy()
        for name, agent in self.actors.items():
            slots, seen = self.slots[name], self.slots[name].observe(records)
            before = self._state_of(name, state, seen)
            mask = None if seen.mask is None else _flat(seen.mask)
            act = acting(agent, _flat(seen.obs), before, mask)
            if training is not None:
                for actor, theirs in self._opponents(name, records, training):
                    act = _with(act, acting(actor, _flat(seen.obs), before, mask), theirs.reshape(-1))
            shape = seen.acts.shape
            slots.write(joint, act.action.reshape(*shape, *act.action.shape[1:]), slots.controls(records))
            for column, value in act.columns.items():
                columns[f"{name}/{column}"] = value.reshape(*shape, *value.shape[1:])
            if before is not None and act.state is not None and after is not None:
                columns[f"{name}/state"] = before.reshape(*shape, -1)
                start, size = self._states[name]
                states = np.where(seen.acts.reshape(-1, 1), act.state, before)
                after[:, start : start + size * slots.count] = states.reshape(len(obs), -1)
        return Act(self.layout.encode(joint), columns, after)

    def _opponents(self, name: str, records: Array, training: bool) -> list[tuple[Actor, Array]]:
        """Returns who plays for a policy in these episodes, each with its slots [N, S]."""
        if training:
            return self.leagues[name].opponents(self.slots[name], records) if name in self.leagues else []
        if name not in self.random:
            return []
        return [(self.random[name], self.slots[name].opponents(records, training))]

    def _state_of(self, name: str, state: Array | None, seen: Seen) -> Array | None:
        """Returns the recurrent states [N * S, size] of a policy's slots after the rewards since the last observation.
        They begin anew with a trajectory."""
        if state is None or name not in self._states:
            return None
        (start, size), count = self._states[name], seen.acts.size
        rows = state[:, start : start + size * self.slots[name].count].reshape(count, size)
        rows = self.agents[name].rewarded(rows, _flat(seen.reward))
        fresh = self.agents[name].initial_state(count)
        assert fresh is not None
        return np.where(seen.first.reshape(-1, 1), fresh, rows)

    def exploration(self, progress: Progress) -> dict[str, float]:
        return {
            f"{name}/{key}": value
            for name in self.trained
            for key, value in self.agents[name].exploration(progress).items()
        }

    def warning(self, metrics: Mapping[str, float], update: int) -> str | None:
        for name in self.trained:
            part = {key.removeprefix(f"{name}/"): value for key, value in metrics.items() if key.startswith(f"{name}/")}
            if part and (text := self.agents[name].warning(part, update)):
                return tr("policy {name}: {warning}", name=name, warning=text)
        return None

    # checkpoints ------------------------------------------------------------------------------------------

    def weights(self) -> dict[str, Array]:
        parts: list[tuple[str, Agent | League]] = [*self.agents.items(), *self.leagues.items()]
        return {f"{name}/{key}": value for name, part in parts for key, value in part.weights().items()}

    def load_weights(self, weights: dict[str, Array]) -> None:
        for name, agent in self.agents.items():
            part = {key.removeprefix(f"{name}/"): value for key, value in weights.items() if key.startswith(f"{name}/")}
            agent.load_weights({key: value for key, value in part.items() if not key.startswith(PREFIX)})
            if name in self.leagues:
                self.leagues[name].load_weights(part)

    def state(self) -> Tree:
        return {
            "policies": {name: agent.state() for name, agent in self.agents.items()},
            "leagues": {name: league.state() for name, league in self.leagues.items()},
        }

    def load_state(self, state: Tree) -> None:
        for name, part in state["policies"].items():  # in this order, which counts for layers that they share
            self.agents[name].load_state(part)
        for name, league in self.leagues.items():
            league.load_state(state["leagues"][name])

    def begin_leagues(self, names: Iterable[str]) -> None:
        """Makes the present weights of these policies the first version in their leagues."""
        for name in names:
            if name in self.leagues:
                self.leagues[name].begin()

    def parameter_count(self) -> int:
        return sum(agent.parameter_count() for agent in self.agents.values())


class AgainstFixed(Actor):
    """Another actor in the place of the policies that learn; those that do not learn play as in any evaluation."""

    def __init__(self, agent: MultiPolicyAgent, actor: Actor) -> None:
        self._agent, self._actor = agent, actor

    def initial_state(self, rows: int) -> Array | None:
        return self._agent.initial_state(rows)

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        return self._merged(obs, self._agent.predict_action(obs, state, mask))

    def evaluate_action(
        self, obs: Array, state: Array | None, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        return self._merged(obs, self._agent.evaluate_action(obs, state, rng, mask))

    def _merged(self, obs: Array, act: Act) -> Act:
        layout = self._agent.layout
        records, fixed = layout.decode(obs), layout.decode_action(act.action)
        joint = layout.decode_action(self._actor.predict_action(obs, None).action).copy()
        for name in self._agent.fixed:
            slots = self._agent.slots[name]
            slots.write(joint, slots.actions(fixed), slots.controls(records))
        return Act(layout.encode(joint), {}, act.state)


def _with(act: Act, other: Act, theirs: Array) -> Act:
    """Returns the actions and states of another agent in the masked rows [N * S]."""

    def chosen(ours: Array, others: Array) -> Array:
        return np.where(theirs.reshape(-1, *(1,) * (ours.ndim - 1)), others, ours)

    state = act.state if act.state is None or other.state is None else chosen(act.state, other.state)
    return act._replace(action=chosen(act.action, other.action), state=state)


def _flat(value: Array) -> Array:
    """Returns [N, S, ...] as [N * S, ...] in an array of its own."""
    return np.ascontiguousarray(value).reshape(-1, *value.shape[2:])
