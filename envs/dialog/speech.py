"""Lexicalization: values for the acts that the policy has chosen."""

from collections.abc import Iterable, Sequence

import numpy as np

from envs.dialog.acts import UNKNOWN, Act, Booking, Entry, Value
from envs.dialog.database import ranked
from envs.dialog.ontology import DOMAINS
from envs.dialog.tracker import Tracker

ACTIVE = "booking"
"""Domain of acts that are about whichever domain is active."""
REFERENCE = "ref"
"""Slot of a booking's reference."""


def act_of(entry: Entry, tracker: Tracker) -> Act | None:
    """Returns an act with its value; None if it cannot be said now."""
    intent, name, slot, rank = entry
    if name == ACTIVE:
        if tracker.active is None:
            return None
        name = tracker.active
    if intent == "book":
        booking = _booking(name, tracker)
        return None if booking is None else Act(intent, name, None, booking)
    if slot is None or intent not in ("inform", "recommend"):
        return Act(intent, name, slot)
    value = _value(name, slot, rank, tracker)
    return None if value is None else Act(intent, name, slot, value)


def utter(chosen: Iterable[int], vocabulary: Sequence[Entry], tracker: Tracker, limit: int) -> dict[int, Act]:
    """Returns what is said of the chosen acts: number in the vocabulary -> act. Only the first `limit` count."""
    acts = ((number, act_of(vocabulary[number], tracker)) for number in sorted(chosen)[:limit])
    return {number: act for number, act in acts if act is not None}


def legal(vocabulary: Sequence[Entry], tracker: Tracker) -> np.ndarray:
    """Returns the mask [A] of the acts that would be said; nooffer only where nothing matches."""
    return np.array([_sensible(entry, tracker) for entry in vocabulary], np.int8)


def _sensible(entry: Entry, tracker: Tracker) -> bool:
    if entry.intent == "nooffer" and tracker.matches(entry.domain):
        return False
    return act_of(entry, tracker) is not None


def _value(name: str, slot: str, rank: int, tracker: Tracker) -> Value:
    """Returns the value of the entity of this rank; None if there is none."""
    if slot == REFERENCE:
        return tracker.booked.get(name)
    domain = DOMAINS[name]
    if slot in domain.bookable:
        return tracker.booking[name].get(slot)
    mask = tracker.matches(name)
    if slot == "choice":
        return str(mask.bit_count())
    if name == "taxi" and slot in domain.informable:
        return tracker.belief[name].get(slot)
    entity = ranked(mask, rank)
    if entity is None or slot not in domain.slots:
        return None
    value = tracker.tables[name].entities[entity].get(slot)
    return UNKNOWN if value is None else value


def _booking(name: str, tracker: Tracker) -> Booking | None:
    """Returns the booking of the first match; None while nothing matches or a value is unknown."""
    slots, values = DOMAINS[name].bookable, tracker.booking[name]
    if not slots or any(slot not in values for slot in slots):
        return None
    entity = ranked(tracker.matches(name), 1)
    return None if entity is None else Booking(f"{entity:08d}", dict(values))
