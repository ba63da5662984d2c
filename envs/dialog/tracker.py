"""The tracker: the user's values, bookings, open questions, and the active domain, as the system knows them."""

from collections.abc import Mapping, Sequence

from envs.dialog.acts import Act, Booking, Mark
from envs.dialog.database import Table
from envs.dialog.ontology import AFTER, BEFORE, BOOKING_VALUES, DOMAINS, clock

LONG, TYPOS = 10, 2
"""Least length in letters at which a misspelled value is recognized, and the number of edits it may be away."""


class Tracker:
    """The state of a dialogue, from the acts of both sides."""

    def __init__(self, tables: Mapping[str, Table], domains: Sequence[str], places: Sequence[str]) -> None:
        self.tables, self.places = tables, places
        self.belief: dict[str, dict[str, str | Mark]] = {name: {} for name in domains}
        """Domain -> constraints that the user has stated."""
        self.booking: dict[str, dict[str, str | Mark]] = {name: {} for name in domains}
        """Domain -> values for a booking that the user has stated."""
        self.booked: dict[str, str] = {}
        """Domain -> reference of the booked entity."""
        self.requests: dict[str, set[str]] = {name: set() for name in domains}
        """Domain -> questions that are not answered."""
        self.active: str | None = None
        """Domain that the user mentioned last."""
        self._matches: dict[str, int] = {}

    def matches(self, name: str) -> int:
        """Returns the mask of the entities that meet what the user has said."""
        if name not in self._matches:
            self._matches[name] = self.tables[name].match(self.belief[name])
        return self._matches[name]

    def hear(self, acts: Sequence[Act]) -> None:
        """Takes note of what the user has said."""
        for intent, name, slot, value in acts:
            if name not in self.belief:
                continue
            self.active = name
            if slot is None:
                continue
            if intent == "request":
                self.requests[name].add(slot)
            elif intent == "inform" and isinstance(value, str | Mark):
                self._inform(name, slot, value)

    def note(self, acts: Sequence[Act]) -> None:
        """Takes note of what the system itself has said."""
        for intent, name, slot, value in acts:
            if intent == "book" and isinstance(value, Booking):
                self.booked[name] = value.reference
            elif slot is not None and value is not None and name in self.requests:
                self.requests[name].discard(slot)

    def _inform(self, name: str, slot: str, value: str | Mark) -> None:
        domain = DOMAINS[name]
        if slot in domain.informable:
            state = self.belief[name]
        elif slot in domain.bookable:
            state = self.booking[name]
        else:
            return
        value = value if isinstance(value, Mark) else spelled(value, slot, self._values(name, slot))
        if state.get(slot) != value:
            state[slot] = value
            self._matches.pop(name, None)
            self.booked.pop(name, None)  # it was for other values, and has to be made again

    def _values(self, name: str, slot: str) -> Sequence[str]:
        """Returns the spellings of a slot's values."""
        if slot not in DOMAINS[name].informable:
            return BOOKING_VALUES[slot]
        return self.places if name == "taxi" else self.tables[name].columns[slot]


def spelled(value: str, slot: str, values: Sequence[str]) -> str:
    """Returns the spelling in the database: an equal one, the only one that contains the value or is contained in it,
    or the only one that is a typing error away; otherwise the value in lower case."""
    text = value.strip().lower()
    if slot in (AFTER, BEFORE, "time"):
        return clock(text)
    for name in values:
        if name == value or name.lower() == text:
            return name
    parts = () if text.isdecimal() else values  # 1 is no part of the number 10
    within = [name for name in parts if text and (text in name.lower() or name.lower() in text)]
    if len(within) == 1:
        return within[0]
    close = [name for name in values if len(text) >= LONG and _edits(text, name.lower()) <= TYPOS]
    return close[0] if len(close) == 1 else text


def _edits(a: str, b: str) -> int:
    """Returns the number of letters to insert, delete or replace (the Levenshtein distance)."""
    if abs(len(a) - len(b)) > TYPOS:
        return TYPOS + 1
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (left != right))
    return row[-1]
