"""Positions in the observation, and acts as numbers."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from envs.dialog.acts import Act, Entry, UserEntry, system_vocabulary, user_vocabulary
from envs.dialog.ontology import DOMAINS
from envs.dialog.tracker import Tracker

LEVELS = (0, 1, 2, 3, 4)
"""Number of matches up to which each of the first bits is set; the sixth one is for more."""
LEVELS_OF_TRAINS = (0, 2, 5, 10, 40)

Name = tuple[Any, ...]
"""Meaning of a number of the observation, such as ("belief", "hotel", "area")."""


class Codec:
    """The vocabularies, and what each number of the observation tells."""

    def __init__(
        self, domains: Sequence[str], user: Sequence[UserEntry], system: Sequence[Entry], state: Iterable[Name]
    ) -> None:
        self.domains, self.user, self.system = tuple(domains), tuple(user), tuple(system)
        names = [*(("user", *entry) for entry in user), *(("system", number) for number in range(len(system))), *state]
        self.place: dict[Name, int] = {name: number for number, name in enumerate(names)}
        """Meaning of a number -> its position."""
        self.size = len(names)
        self.number: dict[Entry, int] = {entry: number for number, entry in reversed([*enumerate(system)])}
        """Act of the system -> its first number."""
        self._heard = {entry: number for number, entry in enumerate(user)}
        self._state = {
            name: _Places(
                {slot: self.place["belief", name, slot] for slot in DOMAINS[name].informable},
                {slot: self.place.get(("booking", name, slot)) for slot in DOMAINS[name].bookable},
                self.place.get(("booked", name)),
                self.place.get(("matches", name, 0)),
                LEVELS_OF_TRAINS if name == "train" else LEVELS,
            )
            for name in self.domains
        }

    def encode(
        self, heard: Sequence[Act], uttered: Iterable[int], tracker: Tracker, time: float, ended: bool
    ) -> np.ndarray:
        """Returns the observation [D]: what the user said, what the system said before, and what is known."""
        ones = [self._heard[act[:3]] for act in heard if act[:3] in self._heard]
        ones += [len(self.user) + number for number in uttered]
        for name, places in self._state.items():
            ones += places.ones(name, tracker)
        obs = np.zeros(self.size, np.float32)
        if (active := self.place.get(("active", tracker.active))) is not None:
            ones.append(active)
        if ended and ("ended",) in self.place:
            ones.append(self.place["ended",])
        obs[ones] = 1.0
        if ("turn",) in self.place:
            obs[self.place["turn",]] = time
        return obs

    def last_said(self, obs: np.ndarray) -> list[int]:
        """Returns the numbers of the acts that the system has said last, from an observation [D]."""
        acts: list[int] = np.flatnonzero(obs[len(self.user) : len(self.user) + len(self.system)]).tolist()
        return acts


class _Places:
    """Positions of what is known of one domain; None for what the observation does not tell."""

    def __init__(
        self,
        belief: dict[str, int],
        booking: dict[str, int | None],
        booked: int | None,
        matches: int | None,
        levels: Sequence[int],
    ) -> None:
        self.belief, self.booked, self.matches, self.levels = belief, booked, matches, levels
        self.booking = {slot: place for slot, place in booking.items() if place is not None}

    def ones(self, name: str, tracker: Tracker) -> Iterator[int]:
        """Yields the positions that are 1."""
        yield from (self.belief[slot] for slot in tracker.belief[name])
        if self.booking:
            yield from (self.booking[slot] for slot in tracker.booking[name])
        if self.booked is not None and name in tracker.booked:
            yield self.booked
        if self.matches is not None:
            count = tracker.matches(name).bit_count()
            yield self.matches + sum(count > level for level in self.levels)


def full(domains: Sequence[str], ranks: int = 1) -> Codec:
    """Returns the codec of `features: full`."""
    return Codec(domains, user_vocabulary(domains), system_vocabulary(domains, ranks), _state(domains))


def _state(domains: Sequence[str]) -> Iterator[Name]:
    for name in domains:
        domain = DOMAINS[name]
        yield from (("belief", name, slot) for slot in domain.informable)
        yield from (("booking", name, slot) for slot in domain.bookable)
        if domain.bookable:
            yield "booked", name
        yield "active", name
        if domain.counted:
            yield from (("matches", name, level) for level in range(len(LEVELS) + 1))
    yield ("turn",)
