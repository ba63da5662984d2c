"""Returns of agents: numbers that the recorder of a multi-agent environment gives each episode."""

from collections.abc import Mapping

import numpy as np

from algos.base import Array
from envs.base import Step, VectorEnv
from framework.collect.fragment import RETURN, Episode, Recorder
from framework.policies.policy_plan import JointPlan, Plan


def return_names(plan: Plan) -> tuple[str, ...]:
    """Returns the names of the numbers: return_<policy>, the mean return of the trajectories of its agents, without
    those that opponents play."""
    return tuple(map(return_name, plan.slots))


def return_name(policy: str) -> str:
    return f"{RETURN}{policy}"


class AgentReturns(Recorder):
    """Sums the rewards of the agents of each policy."""

    def __init__(self, plan: JointPlan, rows: int, training: bool) -> None:
        self._policies = list(plan.slots.items())
        self._layout, self._training = plan.layout, training
        self._totals = {name: np.zeros(rows) for name, _ in self._policies}
        self._counts = {name: np.zeros(rows) for name, _ in self._policies}
        """Number of trajectories of the running episode."""

    def begin(self, row: int, seed: int, obs: Array, env: VectorEnv) -> None:
        self.drop(row)  # an evaluation ends while other rows play
        self._see(obs[row : row + 1], slice(row, row + 1))

    def step(self, obs: Array, action: Array, step: Step, env: VectorEnv) -> None:
        self._see(step.obs, slice(None))

    def _see(self, obs: Array, rows: slice) -> None:
        records = self._layout.decode(obs)
        for name, slots in self._policies:
            reward, first = slots.returns(records, self._training)
            self._totals[name][rows] += reward
            self._counts[name][rows] += first

    def end(self, episode: Episode, env: VectorEnv) -> Mapping[str, float]:
        row = episode.row
        returns = {
            return_name(name): float(self._totals[name][row] / self._counts[name][row])
            for name, _ in self._policies
            if self._counts[name][row]
        }
        self.drop(row)
        return returns

    def drop(self, row: int) -> None:
        for numbers in (*self._totals.values(), *self._counts.values()):
            numbers[row] = 0.0
