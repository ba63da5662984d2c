"""The hand-written policy: a function of the observation alone."""

from collections.abc import Iterator

import numpy as np

from envs.dialog.acts import Entry, UserEntry
from envs.dialog.codec import Codec
from envs.dialog.ontology import DOMAINS, GENERAL, Domain
from envs.dialog.speech import ACTIVE, REFERENCE

NOTHING_ELSE = Entry("reqmore", GENERAL)


class RulePolicy:
    """Asks for what a search needs, answers, offers, and books."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self._heard: dict[int, UserEntry] = {codec.place["user", *entry]: entry for entry in codec.user}

    def acts(self, obs: np.ndarray) -> list[int]:
        """Returns the numbers of the acts for an observation [D]."""
        ones = {int(place) for place in np.flatnonzero(obs == 1.0)}
        heard = [self._heard[place] for place in sorted(ones) if place in self._heard]
        view = _View(self.codec, ones, heard, [self.codec.system[number] for number in self.codec.last_said(obs)])
        numbers = {number for entry in _chosen(view) if (number := self._number(entry)) is not None}
        return sorted(numbers) or [self.codec.number[NOTHING_ELSE]]

    def _number(self, entry: Entry) -> int | None:
        """Returns the number of an act, None if there is no such act. ConvLab-2 has another domain for bookings."""
        of_active = entry._replace(domain=ACTIVE, slot=REFERENCE if entry.intent == "book" else entry.slot)
        return self.codec.number.get(entry, self.codec.number.get(of_active))


class _View:
    """The active domain as an observation shows it."""

    def __init__(self, codec: Codec, ones: set[int], heard: list[UserEntry], uttered: list[Entry]) -> None:
        self._codec, self._ones, self.heard = codec, ones, heard
        self.tells_bookings = any(name[0] == "booking" for name in codec.place)
        active = (name for name in codec.domains if self._is("active", name))
        # without it: the domain of what was said last, by the user or else by the system
        spoken = (name for _, name, *_ in (*heard, *uttered) if name in codec.domains)
        self.active: str | None = next(active, None) or next(spoken, None)

    def _is(self, *name: object) -> bool:
        return self._codec.place.get(name) in self._ones

    def has_constraint(self, slot: str) -> bool:
        return self._is("belief", self.active, slot)

    def known_for_booking(self, slot: str) -> bool:
        return self._is("booking", self.active, slot) or ("inform", self.active, slot) in self.heard

    def nothing_matches(self) -> bool:
        return self._is("matches", self.active, 0)

    def booked(self) -> bool:
        return self._is("booked", self.active)


def _chosen(view: _View) -> Iterator[Entry]:
    if any(intent == "bye" for intent, _, _ in view.heard) or view.active is None:
        yield Entry("bye", GENERAL)
        return
    domain = DOMAINS[view.active]
    needed = [group[0] for group in domain.needed if not any(map(view.has_constraint, group))]
    if needed:
        yield from (Entry("request", domain.name, slot) for slot in needed)
    elif domain.name == "taxi":
        yield from (Entry("inform", domain.name, slot) for slot in domain.requestable)
    elif view.nothing_matches():
        yield Entry("nooffer", domain.name)
    else:
        yield from [*_answers(view, domain), *_booking(view, domain)] or _offer(domain)


def _answers(view: _View, domain: Domain) -> Iterator[Entry]:
    """Yields the answers to the questions of this turn."""
    for intent, _, slot in view.heard:
        if intent == "request" and slot in domain.requestable:
            yield Entry("inform", domain.name, slot)


def _booking(view: _View, domain: Domain) -> Iterator[Entry]:
    """Yields what a booking needs, once the user has begun to state it."""
    missing = [slot for slot in domain.bookable if not view.known_for_booking(slot)]
    if view.booked() or len(missing) == len(domain.bookable):
        return
    yield from (Entry("request", domain.name, slot) for slot in missing)
    if not missing or not view.tells_bookings:  # earlier values are not in the observation: they may all be known
        yield Entry("book", domain.name)


def _offer(domain: Domain) -> Iterator[Entry]:
    """Yields an entity and how many there are."""
    if not domain.counted:
        yield from (Entry("inform", domain.name, slot) for slot in domain.requestable)
        return
    yield Entry("inform", domain.name, "choice")
    yield Entry("recommend", domain.name, "name") if domain.named else Entry("inform", domain.name, "trainID")
