"""Tabular Q-learning: one number per state and action, moved a little towards what the next step says."""

from typing import ClassVar

import numpy as np
import torch

from algos import base
from algos.base import Act, Array, Batch, EnvSpec, Progress, Result, Streams, Tree
from algos.common.exploration import EPSILON, epsilon_greedy
from algos.common.tables import actions_of, states_of
from algos.qlearning.config import Config


def q_update(
    table: Array,
    state: Array,
    action: Array,
    reward: Array,
    next_state: Array,
    terminated: Array,
    gamma: float,
    lr: float,
) -> Array:
    """Q(s,a) += lr (r + gamma max_a' Q(s',a') - Q(s,a)), in place; a terminal s' is worth 0. Returns the errors [B]
    before the update. Rows that visit the same pair together move it by the mean of their errors."""
    error = reward + gamma * table[next_state].max(axis=1) * ~terminated - table[state, action]
    if len(error) == 1:
        table[state, action] += lr * error
        return error
    pair, where = np.unique(state * table.shape[1] + action, return_inverse=True)
    table.reshape(-1)[pair] += lr * np.bincount(where, weights=error) / np.bincount(where)
    return error


class Agent(base.Agent):
    """A table [states, actions] of float64, in numpy: nothing here is worth a tensor."""

    METRICS: ClassVar = ("loss", "q_mean")

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.index, states = states_of(spec.observation_space)
        self.epsilon = EPSILON[cfg.epsilon_schedule]
        self.table = np.full((states, actions_of(spec.action_space)), cfg.initial_value)

    def exploration(self, progress: Progress) -> dict[str, float]:
        cfg = self.cfg
        return {"epsilon": self.epsilon(cfg.epsilon_start, cfg.epsilon_end, cfg.epsilon_decay, progress.step)}

    def sample_action(
        self, obs: Array, state: Array | None, progress: Progress, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        return Act(epsilon_greedy(self.table[self.index(obs)], self.exploration(progress)["epsilon"], rng))

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        return Act(self.table[self.index(obs)].argmax(axis=1))

    def update(self, batch: Batch) -> Result:
        steps = {name: value.numpy() for name, value in batch.items()}
        error = q_update(
            self.table,
            self.index(steps["obs"]),
            steps["action"],
            steps["reward"],
            self.index(steps["next_obs"]),
            steps["terminated"],
            self.cfg.gamma,
            self.cfg.lr,
        )
        return Result({"loss": torch.tensor((error**2).mean()), "q_mean": torch.tensor(self.table.mean())})

    def weights(self) -> dict[str, Array]:
        return {"table": self.table.copy()}

    def load_weights(self, weights: dict[str, Array]) -> None:
        self.table = np.array(weights["table"], dtype=np.float64).reshape(self.table.shape)

    def state(self) -> Tree:
        return self.weights()

    def load_state(self, state: Tree) -> None:
        self.load_weights(state)
