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

    def encode(
        self, heard: Sequence[Act], uttered: Iterable[int], tracker: Tracker, time: float, ended: bool
    ) -> np.ndarray:
        """Returns the observation [D]: what the user said, what the system said before, and what is known."""
        names: list[Name] = [*(("user", *act[:3]) for act in heard), *(("system", number) for number in uttered)]
        names += [("active", tracker.active), *(("booked", name) for name in tracker.booked)]
        names += [("ended",)] if ended else []
        for name in self.domains:
            names += (("belief", name, slot) for slot in tracker.belief[name])
            names += (("booking", name, slot) for slot in tracker.booking[name])
            if ("matches", name, 0) in self.place:
                levels = LEVELS_OF_TRAINS if name == "train" else LEVELS
                count = tracker.matches(name).bit_count()
                names.append(("matches", name, sum(count > level for level in levels)))
        obs = np.zeros(self.size, np.float32)
        obs[[self.place[name] for name in names if name in self.place]] = 1.0
        if ("turn",) in self.place:
            obs[self.place["turn",]] = time
        return obs

    def last_said(self, obs: np.ndarray) -> list[int]:
        """Returns the numbers of the acts that the system has said last, from an observation [D]."""
        acts: list[int] = np.flatnonzero(obs[len(self.user) : len(self.user) + len(self.system)]).tolist()
        return acts


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
