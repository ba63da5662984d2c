"""The judge: says from what the system has said whether the user's goal was reached."""

import re
from collections.abc import Mapping, Sequence

from envs.dialog.acts import UNKNOWN, Act, Booking, Value
from envs.dialog.database import Entity, Table
from envs.dialog.goal import Goal
from envs.dialog.ontology import AFTER, BEFORE, DOMAINS, minutes

METRICS = ("success", "strict", "complete", "book", "precision", "recall", "f1", "exchanges")
FORMS = {"phone": r"\d{11}", "postcode": r"[a-z]+\d[a-z\d ]*", "trainID": r"[a-z]+\d{4}"}
"""Form of the values that are as good as any other: the evaluator does not know which entity was meant."""


class Evaluator:
    """Listens to the system, and compares with the goal. It hears neither errors of the channel nor the user."""

    METRICS = METRICS

    def __init__(self, goal: Goal, tables: Mapping[str, Table]) -> None:
        self.goal, self.tables = goal, tables
        self.informed: dict[str, dict[str, Value]] = {}
        """Domain -> slot -> value that the system has said last."""
        self.bookings: dict[str, Booking] = {}
        """Domain -> the last booking."""

    def note(self, acts: Sequence[Act]) -> None:
        """Takes note of what the system has said."""
        for intent, name, slot, value in acts:
            if intent == "book" and isinstance(value, Booking):
                self.bookings[name] = value
            elif intent in ("inform", "recommend") and slot is not None and value is not None:
                self.informed.setdefault(name, {})[slot] = value

    def report(self, reason: str | None, exchanges: int) -> dict[str, float | None]:
        """Returns the metrics of a dialogue; None where one is undefined."""
        precision, recall, f1 = self.inform_scores()
        numbers = {"book": self.book(), "precision": precision, "recall": recall, "f1": f1}
        flags = {"success": self.success(), "strict": self.strict(reason), "complete": reason == "complete"}
        return {**{name: float(flag) for name, flag in flags.items()}, **numbers, "exchanges": float(exchanges)}

    def reward(self, reason: str | None) -> float | None:
        """Returns the reward of an exchange; None: that of the settings. reason: for closing, None before."""
        return None

    # ---------------------------------------------------------------------------------------------- the parts

    def inform_scores(self, only: str | None = None) -> tuple[float | None, float | None, float | None]:
        """Returns precision, recall and F1 over requested slots, of all domains or of one."""
        names = self.goal.parts if only is None else [only]
        hits = missed = extra = 0
        for name in names:
            part, informed = self.goal.parts[name], self.informed.get(name, {})
            for slot in part.requests:
                value = informed.get(slot)
                if value is not UNKNOWN:
                    good = value is not None and self.well_formed(name, slot, value)
                    hits, missed = hits + good, missed + (not good)
        for name in self.informed if only is None else names:
            extra += sum(self._unasked(name, slot, value) for slot, value in self.informed.get(name, {}).items())
        return (
            hits / (hits + extra) if hits + extra else None,
            hits / (hits + missed) if hits + missed else None,
            2 * hits / (2 * hits + missed + extra) if hits + missed else None,
        )

    def _unasked(self, name: str, slot: str, value: Value) -> bool:
        part = self.goal.parts.get(name)
        slots = () if part is None else (*part.requests, *part.constraints)
        return slot in DOMAINS[name].requestable and value is not UNKNOWN and slot not in slots

    def well_formed(self, name: str, slot: str, value: Value) -> bool:
        """Returns True if a value can be one of this slot."""
        if not isinstance(value, str):
            return False
        if slot in FORMS:
            return re.fullmatch(FORMS[slot], value.lower()) is not None
        if slot in (AFTER, BEFORE):
            return minutes(value) is not None
        return self.tables[name].knows(slot, value)

    def book(self, only: str | None = None) -> float | None:
        """Returns the mean share of constraints that the booked entities meet; None without a booking in the goal."""
        names = self.goal.parts if only is None else [only]
        shares = [self._share(name) for name in names if name == "taxi" or self.goal.parts[name].booking]
        return sum(shares) / len(shares) if shares else None

    def _share(self, name: str) -> float:
        if name == "taxi":
            return float("car type" in self.informed.get(name, {}))
        if name not in self.bookings:
            return 0.0
        constraints, bit = self.goal.parts[name].constraints, 1 << int(self.bookings[name].reference)
        met = [bool(self.tables[name].match({slot: value}) & bit) for slot, value in constraints.items()]
        return sum(met) / len(met) if met else 1.0

    def success(self, only: str | None = None) -> bool:
        """Returns True if all questions are answered and all bookings meet the constraints, in all domains or in one.
        A book of 1 means that a query with the constraints has the booked entity. An answer that the database does
        not have is not held against the system."""
        names = self.goal.parts if only is None else [only]
        if not any(self.goal.parts[name].requests or self.goal.parts[name].booking for name in names):
            return False
        recall, book = self.inform_scores(only)[1], self.book(only)
        return recall in (1.0, None) and book in (1.0, None)

    def strict(self, reason: str | None) -> bool:
        """Returns True if the user was satisfied, with bookings of the right values, and answers that are of one entity
        in each domain, which meets the constraints; the booked one, if there is one."""
        return reason == "complete" and all(self._consistent(name) for name in self.goal.parts)

    def _consistent(self, name: str) -> bool:
        part, table = self.goal.parts[name], self.tables[name]
        entities = table.query(part.constraints)
        if part.booking:
            booking = self.bookings.get(name)
            if booking is None or booking.values != part.booking:
                return False
            booked = table.entities[int(booking.reference)]
            entities = [entity for entity in entities if entity is booked]
        informed = self.informed.get(name, {})
        answers = [(slot, informed.get(slot)) for slot in part.requests]
        return any(_describes(entity, answers) for entity in entities)


def _describes(entity: Entity, answers: Sequence[tuple[str, Value]]) -> bool:
    """Returns True if all answers are of this entity; UNKNOWN is the right answer where it has no value."""
    return all(value == (UNKNOWN if entity.get(slot) is None else entity[slot]) for slot, value in answers)
