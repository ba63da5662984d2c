"""The three action spaces: a bit for each act, one act, or one act or a frequent set of acts."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, MultiBinary

from envs.dialog.rule_policy import RulePolicy


class ActBits(MultiBinary):
    """One bit for each act of the system."""

    never_empty = True
    """The most likely action has at least one bit."""
    likely = 2.0
    """Bits that an untrained policy sets on average."""


class Bits:
    """`actions: bits`."""

    def __init__(self, size: int) -> None:
        self.space = ActBits(size)

    def chosen(self, action: Any) -> Sequence[int]:
        """Returns the numbers of the acts."""
        acts: list[int] = np.flatnonzero(action).tolist()
        return acts

    def of(self, acts: Sequence[int], before: Collection[int] = ()) -> Any:
        """Returns the action of some acts; before: what the system has said last."""
        bits = np.zeros(self.space.shape, self.space.dtype)
        bits[list(acts)] = 1
        return bits


class Sets:
    """`actions: one`, and with sets of acts `actions: composite`."""

    def __init__(self, size: int, sets: Sequence[Sequence[int]] = ()) -> None:
        self.sets = [*((number,) for number in range(size)), *map(tuple, sets)]
        self.space = Discrete(len(self.sets))
        self._number = {acts: number for number, acts in enumerate(self.sets)}
        self._members = np.array([np.isin(np.arange(size), acts) for acts in sets], np.int32)
        """[K, A], 1 where an act is in a set."""

    def chosen(self, action: Any) -> Sequence[int]:
        return self.sets[int(action)]

    def of(self, acts: Sequence[int], before: Collection[int] = ()) -> Any:
        """Returns the set itself, or the largest part of what was not said before, the first one of several."""
        number = self._number.get(tuple(acts))
        if number is None:
            whole = set(acts) - set(before) or set(acts)
            number = self._number[max((part for part in self.sets if whole.issuperset(part)), key=len)]
        return np.int64(number)

    def mask(self, legal: np.ndarray) -> np.ndarray:
        """Returns the mask of the actions, given that of the acts: all acts of a set must be legal."""
        if not len(self._members):
            return legal
        return np.append(legal, self._members @ (1 - legal) == 0).astype(np.int8)


Actions = Bits | Sets
"""The meaning of the numbers in an action."""


class Expert:
    """The rule policy for rows of observations."""

    def __init__(self, policy: RulePolicy, actions: Actions) -> None:
        self.policy, self.actions = policy, actions

    def __call__(self, obs: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        """Returns actions [N, ...] for observations [N, D]. The mask is not needed: what it says can be said."""
        return np.stack([self.actions.of(self.policy.acts(row), self.policy.codec.last_said(row)) for row in obs])
