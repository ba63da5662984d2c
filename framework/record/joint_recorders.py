"""Recorders of multi-agent environments: trajectories and traces of each agent, in the environment's own values."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from envs.base import Array, Step, VectorEnv
from framework.collect.fragment import Columns, Episode, Fragment, Origin, Record, Recorder
from framework.dataset.columns import MASKS
from framework.dataset.store import StepStore
from framework.dataset.trajectories import plain
from framework.policies.policy_plan import JointPlan
from framework.policies.slots import Slots
from framework.policies.splitter import Splitter, Transitions
from framework.record.recorders import Trajectories
from framework.record.traces import RENAMED, Steps

INFO = 6
"""Place of the info among the values of a step."""


class AgentTrajectories(Recorder):
    """Collects the transitions of every agent, as a memory does: from one action to the next one of the same agent, or
    to its end. When an episode ends, each of its trajectories goes where that of a single agent goes."""

    def __init__(self, plan: JointPlan, writer: StepStore | None, rows: int, training: bool) -> None:
        """training: False in evaluations, whose random agents are left out."""
        self._out = Trajectories(writer)
        self._running: list[list[tuple[tuple[str, str], tuple[Any, ...]]]] = [[] for _ in range(rows)]
        """(Names of agent and policy, transition) of each row."""
        self._splitters = {
            name: Splitter(name, slots.each(), plan.layout, False, training) for name, slots in plan.slots.items()
        }
        self._fresh = np.zeros(rows, bool)
        """Rows that have begun another episode since the last step."""

    def drop(self, row: int) -> None:
        self._running[row] = []
        self._fresh[row] = True

    def begin(self, row: int, seed: int, obs: Array, env: VectorEnv) -> None:
        self.drop(row)

    def step(self, obs: Array, action: Array, step: Step, env: VectorEnv) -> None:
        columns = {
            "obs": obs, "action": action, "next_obs": step.obs, "terminated": step.terminated,
            "truncated": step.truncated,
        }  # fmt: skip
        whole = {name: column[None] for name, column in columns.items()}
        whole["reward"] = step.reward[None]
        fragment = Fragment(whole, {"first": self._fresh.copy()}, Origin())
        self._fresh[:] = False
        for name, splitter in self._splitters.items():
            self._keep(name, splitter.slots, splitter.split(fragment), env)

    def _keep(self, policy: str, slots: Slots, transitions: Transitions, env: VectorEnv) -> None:
        """Adds transitions to their rows: name of the agent, of its policy, and the values of a step."""
        c = transitions.columns
        before, after = c["obs"] + slots.type.observation_start, c["next_obs"] + slots.type.observation_start
        action = c["action"] + slots.type.action_start
        for k, place in enumerate(transitions.slot.tolist()):
            row, number = divmod(place, slots.count)
            agent = env.agents(row)[slots.numbers[number]]
            info = plain(env.info(row).get(agent) or {})
            flags = bool(c["terminated"][k]), bool(c["truncated"][k])
            masks = (c[name][k] for name in MASKS if name in c)
            values = (before[k], action[k], c["reward"][k], after[k], *flags, info, *masks)
            self._running[row].append(((agent, policy), values))

    def end(self, episode: Episode, env: VectorEnv) -> dict[str, float]:
        trajectories: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
        for who, values in self._running[episode.row]:
            trajectories.setdefault(who, []).append(values)
        for (agent, policy), steps in trajectories.items():
            facts = {"agent": agent, "policy": policy, "episode": episode.number}
            facts |= {"seed": episode.seed, "worker": episode.worker, "row": episode.row}
            first = [*steps[0]]
            first[INFO] = {**first[INFO], **facts}
            self._out.add([tuple(first), *steps[1:]])
        self.drop(episode.row)
        return {}

    def collected(self, fragment: Fragment, env: VectorEnv) -> Iterable[Record]:
        return self._out.records()


class AgentSteps:
    """Makes the columns of a trace for each policy: the steps of the first agent of row 0, then of the second one, and
    so on. A step of an agent is a step of the environment that it is in."""

    def __init__(self, plan: JointPlan) -> None:
        self._layout = plan.layout
        self._slots = {name: slots.each() for name, slots in plan.slots.items()}

    def __call__(self, fragment: Fragment, steps: Steps) -> dict[str, dict[str, Any]]:
        """Returns the columns of each policy that has steps."""
        batches = {policy: self._batch(policy, slots, fragment.columns, steps) for policy, slots in self._slots.items()}
        return {policy: batch for policy, batch in batches.items() if len(batch["t"])}

    def _batch(self, policy: str, slots: Slots, columns: Columns, steps: Steps) -> dict[str, Any]:
        """Returns the columns of a policy: the steps of the agents that it controls and that are in the episode."""
        before = self._layout.decode(columns["obs"])
        table = self._table(slots, columns, before)
        prefix = f"{policy}/"
        values = {name.removeprefix(prefix): column for name, column in columns.items() if name.startswith(prefix)}
        table |= {RENAMED.get(name, name): column for name, column in values.items()}
        present = slots.present(before)
        mask = _by_agent(present)

        def chosen(column: Array) -> Array:
            """Takes the rows of the table from a column [T, N, S, ...], or [T, N, 1, ...] for all agents of a row."""
            return _by_agent(np.broadcast_to(column, (*present.shape, *column.shape[3:])))[mask]

        batch: dict[str, Any] = {
            "eps_id": chosen(steps.eps_id[..., None]),
            "agent_id": chosen(steps.agents[..., slots.numbers]),
            "policy": [policy] * int(mask.sum()),
            "t": chosen(steps.t[..., None]),
            **{name: chosen(column) for name, column in table.items()},
        }
        pairs = zip(batch["agent_id"].tolist(), chosen(steps.infos[..., None]), strict=True)
        return {**batch, "infos": [info.get(agent) or {} for agent, info in pairs]}

    def _table(self, slots: Slots, columns: Columns, before: Array) -> Columns:
        """Returns columns [T, N, S, ...] of the steps of agents."""
        after, actions = self._layout.decode(columns["next_obs"]), self._layout.decode_action(columns["action"])
        seen, then, kind = slots.observe(before), slots.observe(after), slots.type
        terminated, truncated = then.ends(columns["terminated"], columns["truncated"])
        return {
            "obs": seen.obs + kind.observation_start,
            "actions": slots.actions(actions) + kind.action_start,
            "acts": seen.acts,
            "rewards": then.reward,
            "new_obs": then.obs + kind.observation_start,
            "terminateds": terminated,
            "truncateds": truncated,
            "dones": terminated | truncated,
            **({} if seen.mask is None else {"action_mask": seen.mask}),
        }


def _by_agent(column: Array) -> Array:
    """Returns a column [T, N, S, ...] as [N * S * T, ...]: the steps of the first agent of row 0 first."""
    moved = np.moveaxis(column, 0, 2)
    return moved.reshape(-1, *moved.shape[3:])
