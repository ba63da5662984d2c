"""Tells whether episodes of one seed are the same in each evaluation."""

from collections.abc import Callable
from typing import Any

from envs.base import Array, Step, VectorEnv
from framework.collect.fragment import Episode, Recorder

STEPS = 50
"""Number of steps of an episode that are compared."""


class SameEpisodes(Recorder):
    """Compares how episodes of one seed begin: with the same observation, and as long as their actions are the same
    with the same steps. An environment that draws from a generator of its own, or of all programs, differs."""

    def __init__(self, phase: Callable[[], float | None], tell: Callable[[], None]) -> None:
        """phase: returns the phase of the curriculum, each of which has its own episodes. tell: is called once, at the
        first difference."""
        self._phase, self._tell = phase, tell
        self._differed = False
        self._starts: dict[Any, int] = {}
        """Seed and phase -> hash of the first observation."""
        self._latest: dict[Any, list[tuple[int, int]]] = {}
        """Seed and phase -> of each first step of the latest evaluation, hashes of its action and of what it led to."""
        self._begun: dict[int, tuple[Any, list[tuple[int, int]]]] = {}
        """Row whose episode is compared -> seed and phase, and the steps to compare with."""

    def begin(self, row: int, seed: int, obs: Array, env: VectorEnv) -> None:
        key = seed, self._phase()
        self._begun[row] = key, self._latest.get(key, [])
        self._latest[key] = []
        start = hash(obs[row].tobytes())
        self._note(self._starts.setdefault(key, start) == start)

    def step(self, obs: Array, action: Array, step: Step, env: VectorEnv) -> None:
        for row, (key, before) in list(self._begun.items()):
            now = hash(action[row].tobytes()), hash(step.obs[row].tobytes() + step.reward[row].tobytes())
            steps = self._latest[key]
            steps.append(now)
            if len(steps) <= len(before):
                then = before[len(steps) - 1]
                self._note(then[0] != now[0] or then[1] == now[1])
                if then != now:  # what comes after other actions may differ
                    before.clear()
            if len(steps) == STEPS:
                del self._begun[row]

    def end(self, episode: Episode, env: VectorEnv) -> dict[str, float]:
        self._begun.pop(episode.row, None)
        return {}

    def _note(self, same: bool) -> None:
        if not same and not self._differed:
            self._differed = True
            self._tell()
