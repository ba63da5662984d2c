"""The simulated user: a goal, a stack of acts that it wants to say (its agenda), and rules for what it hears."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from envs.dialog.acts import ANY, BYE, UNKNOWN, Act, Booking, Value
from envs.dialog.goal import Goal, Part
from envs.dialog.ontology import AFTER, BEFORE, minutes

Reason = Literal["complete", "nooffer", "nobook", "max_turn", "patience"]


class User:
    """A user with an agenda. It says what it wants, corrects what is wrong, asks, books, and closes."""

    def __init__(
        self, goal: Goal, rng: np.random.Generator, max_turn: int = 40, patience: int = 0, max_initiative: int = 4
    ) -> None:
        self.goal, self.max_turn, self.patience, self.max_initiative = goal, max_turn, patience, max_initiative
        self.turn, self.ended = 0, False
        """Turns that were spoken, two for each exchange; True once it has said its last act."""
        self.reason: Reason | None = None
        """Reason for closing; None while it talks."""
        self.constraints = {name: part.unsatisfiable or part.constraints for name, part in goal.parts.items()}
        """Domain -> constraints that count now: unsatisfiable ones until the system offers nothing."""
        self.values: dict[str, dict[str, Value]] = {name: {} for name in goal.parts}
        """Domain -> what the system has said of the requested slots."""
        self.booked: set[str] = set()
        self.stack = [BYE]
        """Acts to say; the last one is the next one."""
        for name in reversed(goal.parts):
            constraints = list(self.constraints[name].items())
            self.stack += (Act("inform", name, *constraints[i]) for i in rng.permutation(len(constraints)))
            self.stack.append(Act("inform", name))
        self._pushed: list[Act] = []
        self._stated: set[Act] = set()
        self._progress, self._idle = False, 0

    def open(self) -> list[Act]:
        """Returns the first acts of the dialogue."""
        self.turn += 2
        return self._speak()

    def respond(self, acts: Sequence[Act]) -> list[Act]:
        """Returns the answer to what the system says."""
        self.turn += 2
        self._pushed, self._progress = [], False
        if self.turn > self.max_turn:
            self._close("max_turn")
        elif not self._hears_refusals(acts):
            wrong = self._hear_values(acts)
            self._hear_bookings(acts, wrong)
            self._answer(acts)
            self._go_on()
        return self._speak()

    def done(self, name: str) -> bool:
        """Returns True if all questions of a domain are answered, and its booking is made."""
        part = self.goal.parts[name]
        booked = part.booking is None or name in self.booked
        return booked and all(slot in self.values[name] for slot in part.requests)

    def finished(self) -> int:
        """Returns the number of domains in which nothing is left to do."""
        return sum(map(self.done, self.goal.parts))

    # ------------------------------------------------------------------------------------ rules, in their order

    def _hears_refusals(self, acts: Sequence[Act]) -> bool:
        """Gives way where nothing matches what could not be met anyway; otherwise closes, and returns True."""
        for act in acts:
            if act.intent not in ("nooffer", "nobook") or act.domain not in self.goal.parts:
                continue
            name, part = act.domain, self.goal.parts[act.domain]
            if act.intent == "nooffer" and self.constraints[name] is not part.constraints:
                tried, self.constraints[name] = self.constraints[name], part.constraints
                for slot in {**tried, **part.constraints}:
                    right = part.constraints.get(slot, ANY)
                    if tried.get(slot) != right:
                        self._push("inform", name, slot, right)
            elif not self.done(name):
                self._close("nooffer" if act.intent == "nooffer" else "nobook")
                return True
        return False

    def _hear_values(self, acts: Sequence[Act]) -> set[str]:
        """Keeps answers, and corrects what contradicts the goal. Returns the domains with a contradiction."""
        wrong = set()
        for intent, name, slot, value in acts:
            if intent not in ("inform", "recommend") or slot is None or value is None or name not in self.goal.parts:
                continue
            part = self.goal.parts[name]
            if slot in part.requests and not self._waits(name):
                self._progress |= slot not in self.values[name]
                self.values[name][slot] = value
                self._drop("request", name, slot)
            elif (right := self._contradicted(name, part, slot, value)) is not None:
                self._push("inform", name, slot, right)
                wrong.add(name)
        return wrong

    def _hear_bookings(self, acts: Sequence[Act], wrong: set[str]) -> None:
        """Accepts bookings with the right values; otherwise repeats those that differ."""
        for intent, name, _, booking in acts:
            part = self.goal.parts.get(name)
            if intent != "book" or not part or not part.booking or name in wrong or not isinstance(booking, Booking):
                continue
            differ = {slot: value for slot, value in part.booking.items() if booking.values.get(slot) != value}
            if differ:
                for slot, value in differ.items():
                    self._push("inform", name, slot, value)
                continue
            self._progress |= name not in self.booked
            self.booked.add(name)
            for slot in part.booking:
                self._drop("inform", name, slot)

    def _answer(self, acts: Sequence[Act]) -> None:
        """Answers questions: with the goal's value, or that any will do."""
        for intent, name, slot, _ in acts:
            if intent == "request" and slot is not None:
                part = self.goal.parts.get(name, Part())
                booked = (part.booking or {}).get(slot, ANY)
                self._push("inform", name, slot, self.constraints.get(name, {}).get(slot, booked))

    def _go_on(self) -> None:
        """Asks the questions of the first domain that is not done, then states its booking; closes after the last."""
        name = next((name for name in self.goal.parts if not self.done(name)), None)
        if name is None:
            self._close("complete")
            return
        if not any(act.domain == name for act in self.stack):
            part, answers = self.goal.parts[name], self.values[name]
            for slot in (slot for slot in part.requests if slot not in answers):
                self._push("request", name, slot)
            if all(slot in answers for slot in part.requests) and part.booking:
                for slot, value in part.booking.items():
                    self._push("inform", name, slot, value)
        self._idle = 0 if self._progress or any(act not in self._stated for act in self._pushed) else self._idle + 1
        if self.patience and self._idle >= self.patience:
            self._close("patience")

    def _speak(self) -> list[Act]:
        """Says acts from the top of the stack, as long as they have the intent and the domain of the first one."""
        passive = all(act.value is ANY for act in self._pushed)  # also if nothing was pushed
        limit = self.max_initiative if passive else len(self._pushed)
        acts = [self.stack.pop()]
        while self.stack and len(acts) < limit and self.stack[-1][:2] == acts[0][:2]:
            acts.append(self.stack.pop())
        self._stated.update(acts)
        self.ended = not self.stack
        return acts

    # -------------------------------------------------------------------------------------------- the agenda

    def _push(self, intent: str, name: str, slot: str, value: Value = None) -> None:
        self._drop(intent, name, slot)
        act = Act(intent, name, slot, value)
        self.stack.append(act)
        self._pushed.append(act)

    def _drop(self, intent: str, name: str, slot: str) -> None:
        key = (intent, name, slot)
        self.stack = [act for act in self.stack if act[:3] != key]
        self._pushed = [act for act in self._pushed if act[:3] != key]

    def _close(self, reason: Reason) -> None:
        self.stack, self.reason = [BYE], reason

    def _waits(self, name: str) -> bool:
        """Returns True if a constraint of the domain is still to be said."""
        constraints = self.constraints[name]
        return any(act.domain == name and act.intent == "inform" and act.slot in constraints for act in self.stack)

    def _contradicted(self, name: str, part: Part, slot: str, value: Value) -> str | None:
        """Returns the right value of a slot; None if what was said does not contradict it."""
        if value is UNKNOWN:
            return None
        if slot in (constraints := self.constraints[name]):
            return None if meets(slot, value, constraints[slot]) else constraints[slot]
        booked = (part.booking or {}).get(slot)
        return None if booked is None or meets(slot, value, booked) else booked


def meets(slot: str, value: Value, constraint: str) -> bool:
    """Returns True if a value is what is wanted; a time may be later than leaveAt, and earlier than arriveBy."""
    if not isinstance(value, str):
        return False
    time, limit = (minutes(value), minutes(constraint)) if slot in (AFTER, BEFORE) else (None, None)
    if time is not None and limit is not None:
        return time >= limit if slot == AFTER else time <= limit
    return value.lower() == constraint.lower()
