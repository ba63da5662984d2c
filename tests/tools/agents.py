"""Multi-agent environments for tests, and joint actions by name."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from envs.base import Array
from envs.several.multi_agent import MultiAgentVector
from envs.toy import Config
from envs.toy.env import make

ALL = "__all__"
NUMBER = Box(-100, 100, (1,)), Discrete(3)
"""Spaces of an agent that sees one number and has three actions."""


def number(value: float) -> np.ndarray:
    return np.array([value], np.float32)


class Played:
    """Returns given results: the first one of each reset, then one of each step. A result of a step is (obs, reward,
    terminated, truncated, info), shorter if the rest is empty; exceptions in it are raised."""

    def __init__(self, spaces: dict[str, tuple[Space, Space]], *results: Any) -> None:
        self.possible_agents, self.spaces, self.results = list(spaces), spaces, results
        self.calls: list[Any] = []

    def observation_space(self, agent: str) -> Space:
        return self.spaces[agent][0]

    def action_space(self, agent: str) -> Space:
        return self.spaces[agent][1]

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.calls.append(seed)
        self._next = iter(self.results[1:])
        obs, *more = self.results[0]
        return obs, *(more or [{}])

    def step(self, actions: dict[str, Any]) -> Any:
        self.calls.append(actions)
        result = next(self._next)
        if isinstance(result, Exception):
            raise result
        return (*result, *({} for _ in range(5 - len(result))))


def played(*results: Any, agents: Iterable[str] = ("a", "b"), rows: int = 1, **settings: Any) -> MultiAgentVector:
    """Rows of agents that see one number and have three actions."""
    spaces = settings.pop("spaces", None) or dict.fromkeys(agents, NUMBER)
    return MultiAgentVector(lambda index: Played(spaces, *results), "played", rows, **settings)


def toy(name: str, rows: int = 1, **settings: Any) -> Any:
    return make(Config(id=name, **settings), rows)


def started(env: Any, *seeds: int) -> Array:
    """The first records, all rows reset."""
    return env.joint.decode(env.reset(np.ones(env.rows, bool), np.array(seeds or range(env.rows))))


def actions_of(env: Any, *rows: dict[str, Any]) -> Array:
    """Joint actions from one dict by slot for each row; other slots get 0."""
    record = env.joint.new_action(len(rows))
    for row, actions in enumerate(rows):
        for name, action in actions.items():
            number, place = env.joint.place(name)
            record[f"t{number}"][row, place] = action
    return env.joint.encode(record)


def stepped(env: Any, *rows: dict[str, Any]) -> tuple[Array, Any]:
    """Records and Step of one step; without rows every slot gets 0."""
    step = env.step(actions_of(env, *(rows or [{}] * env.rows)))
    return env.joint.decode(step.obs), step


def agent(env: Any, records: Array, name: str, row: int = 0) -> dict[str, Any]:
    """The fields of one agent, as plain values."""
    number, place = env.joint.place(name)
    fields = records[f"t{number}"][row, place]
    return {field: fields[field].tolist() for field in fields.dtype.names}


def flags(env: Any, records: Array, name: str, row: int = 0) -> str:
    """The flags of one agent that are set: a letter each of Active (I for in), Acts, First, Terminated, and truncated
    (C for cut off)."""
    fields = agent(env, records, name, row)
    names = {"active": "I", "acts": "A", "first": "F", "terminated": "T", "truncated": "C"}
    return "".join(letter for field, letter in names.items() if fields[field])
