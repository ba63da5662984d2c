"""Agents that are controlled as one: the two-step game, specs, and batches in the format of their memory."""

from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete, MultiDiscrete, Space

from algos.base import Batch, EnvSpec, Part, Progress

AGENTS = 2
STATES = 3
PAY = np.array([[0, 1], [1, 8]], np.float32)
"""Reward of the second branch of the two-step game, by the actions of both agents; the first one pays 7."""


def joint_spec(actions: Space | None = None, *, agents: int = AGENTS, width: int = STATES, state: int = 0) -> EnvSpec:
    parts = tuple(Part(f"agent_{i}", i * width, (i + 1) * width, (width,)) for i in range(agents))
    space = MultiDiscrete([2] * agents) if actions is None else actions
    seen = Box(-1, 1, (agents * width,), np.float32)
    return EnvSpec("joint", seen, space, 4, parts, agents=agents, global_state=state)


def slot_spec(width: int = 5, state: int = 9) -> EnvSpec:
    """Rows of single agents, with the global state as a column."""
    return EnvSpec("slots", Box(-1, 1, (width,), np.float32), Discrete(3), 4, global_state=state)


def two_step_batch(rng: np.random.Generator, size: int = 64, state: bool = True) -> Batch:
    """Transitions of the two-step game (Rashid et al., 2018, section 6): the first agent picks the branch."""
    second, branch = rng.integers(0, 2, (2, size))
    action = rng.integers(0, 2, (size, AGENTS))
    now = np.where(second, 1 + branch, 0)
    after = np.where(second, 0, 1 + action[:, 0])
    paid = np.where(branch, PAY[action[:, 0], action[:, 1]], 7.0)
    seen, next_seen = np.eye(STATES, dtype=np.float32)[now], np.eye(STATES, dtype=np.float32)[after]
    columns: dict[str, Any] = {
        "obs": np.tile(seen, AGENTS),
        "next_obs": np.tile(next_seen, AGENTS),
        "action": action,
        "reward": np.where(second, paid, 0.0).astype(np.float32),
        "discount": np.where(second, 0.0, 0.99).astype(np.float32),
    }
    if state:
        columns |= {"global_state": seen, "next_global_state": next_seen}
    return {name: torch.from_numpy(column) for name, column in columns.items()}


def two_step_score(agent: Any) -> float:
    """Return of the greedy policy."""

    def best(state: int) -> list[int]:
        seen = np.tile(np.eye(STATES, dtype=np.float32)[[state]], AGENTS)
        return agent.predict_action(seen, None).action[0].tolist()

    branch = best(0)[0]
    first, second = best(1 + branch)
    return float(PAY[first, second]) if branch else 7.0


def numbers(rng: np.random.Generator, *shape: int) -> torch.Tensor:
    return torch.from_numpy(rng.standard_normal(shape).astype(np.float32))


def window_of(agent: Any, rng: np.random.Generator, steps: int = 6, rows: int = 4, **columns: torch.Tensor) -> Batch:
    """An on-policy window of rows of single agents with the global state; the third row ends at step 2."""
    spec = agent.spec
    width, state = spec.observation_space.shape[0], spec.global_state
    obs, ended = numbers(rng, steps, rows, width), torch.zeros(steps, rows, dtype=torch.bool)
    ended[2, 2] = True
    window = {
        "obs": obs,
        "next_obs": torch.cat([obs[1:], numbers(rng, 1, rows, width)]),
        "global_state": numbers(rng, steps, rows, state),
        "next_global_state": numbers(rng, steps, rows, state),
        "reward": numbers(rng, steps, rows),
        "terminated": ended,
        "truncated": torch.zeros_like(ended),
    }
    carried = agent.initial_state(rows)
    acts = [agent.sample_action(step.numpy(), carried, Progress(), rng) for step in obs]
    window["action"] = torch.from_numpy(np.stack([act.action for act in acts]))
    for name in acts[0].columns:
        window[name] = torch.from_numpy(np.stack([act.columns[name] for act in acts]))
    return {**window, **columns}
