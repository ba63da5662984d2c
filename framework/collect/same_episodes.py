"""Tells whether episodes of one seed are the same in each evaluation."""

from collections.abc import Callable
from typing import Any

from envs.base import Array, Step, VectorEnv
from framework.collect.fragment import Recorder


class SameEpisodes(Recorder):
    """Compares how episodes of one seed begin: with the same observation, and after the same action with the same step.
    An environment that draws from a generator of its own, or of all programs, differs."""

    def __init__(self, phase: Callable[[], float | None], tell: Callable[[], None]) -> None:
        """phase: returns the phase of the curriculum, each of which has its own episodes. tell: is called once, at the
        first difference."""
        self._phase, self._tell = phase, tell
        self._differed = False
        self._starts: dict[Any, int] = {}
        """Seed and phase -> hash of the first observation."""
        self._steps: dict[Any, tuple[int, int]] = {}
        """Seed and phase -> hashes of the first action of the latest evaluation, and of what it led to."""
        self._begun: dict[int, Any] = {}
        """Row whose first step comes next -> seed and phase."""

    def begin(self, row: int, seed: int, obs: Array, env: VectorEnv) -> None:
        key = seed, self._phase()
        self._begun[row] = key
        start = hash(obs[row].tobytes())
        self._note(self._starts.setdefault(key, start) == start)

    def step(self, obs: Array, action: Array, step: Step, env: VectorEnv) -> None:
        for row, key in self._begun.items():
            now = hash(action[row].tobytes()), hash(step.obs[row].tobytes() + step.reward[row].tobytes())
            before = self._steps.get(key, now)
            self._steps[key] = now
            self._note(before[0] != now[0] or before[1] == now[1])
        self._begun.clear()

    def _note(self, same: bool) -> None:
        if not same and not self._differed:
            self._differed = True
            self._tell()
