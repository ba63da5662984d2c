"""First-visit Monte Carlo control: values are estimated from the returns of complete episodes."""

import numpy as np
import torch

from algos.base import Array, Batch, EnvSpec, Progress, Result, Streams, Tree
from algos.common.maths.returns import discounted_sums
from algos.common.parts.tables import TableAgent
from algos.montecarlo.config import Config


def first_visits(pair: Array, ended: Array, valid: Array) -> Array:
    """Returns a mask [T, N], true at the first visit of a pair of state and action (a number) in its row's episode."""
    episode = np.cumsum(ended, axis=0) - ended
    row = np.arange(pair.shape[1])
    visit = np.where(valid, (episode * len(row) + row) * (pair.max() + 1) + pair, -1)
    first = np.zeros(visit.size, bool)
    first[np.unique(visit, return_index=True)[1]] = True
    return first.reshape(visit.shape) & valid


class Agent(TableAgent):
    """A table of action values."""

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.returns = np.zeros(self.table.values.shape, np.int64)
        """Number of returns that each value was learned from."""

    def prepare(self, window: Batch, progress: Progress) -> Batch:
        """Returns states as numbers, the return from each step on, and a mask of first visits; all [T, N]."""
        shape, ended = window["reward"].shape, window["terminated"] | window["truncated"]
        state = torch.from_numpy(self.table.index(window["obs"].flatten(0, 1).numpy())).view(shape)
        pair = state * self.table.values.shape[1] + window["action"]
        first = first_visits(pair.numpy(), ended.numpy(), window["valid"].numpy())
        return {
            "state": state,
            "action": window["action"],
            "return": discounted_sums(window["reward"].double(), self.cfg.gamma * ~ended),
            "first": torch.from_numpy(first),
            "valid": window["valid"],
        }

    def update(self, batch: Batch) -> Result:
        steps = {name: value.numpy() for name, value in batch.items()}
        self.table.visited(steps["state"], steps["action"])
        state, action, returns = (steps[name][steps["first"]] for name in ("state", "action", "return"))
        lr = self._counted(state, action) if self.cfg.lr is None else self.now.lr
        return self.table.learn(state, action, returns - self.table.values[state, action], lr)

    def _counted(self, state: Array, action: Array) -> Array:
        """Increments the visit counts; returns the step size 1/n for each sample [B]."""
        before = self.returns[state, action]
        np.add.at(self.returns, (state, action), 1)
        after = self.returns[state, action]
        return (after - before) / after

    def state(self) -> Tree:
        return {**self.weights(), "returns": self.returns.copy()}

    def load_state(self, state: Tree) -> None:
        self.load_weights(state)
        self.returns = np.array(state["returns"], np.int64).reshape(self.returns.shape)
