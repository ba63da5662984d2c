"""A person in the place of the simulated user, who types acts or the sentences of the templates."""

from collections.abc import Callable, Sequence

from config.tell.language import tr
from envs.dialog import templates
from envs.dialog.acts import BYE, USER_INTENTS, Act, parse, split_slot, text_of
from envs.dialog.goal import Goal
from envs.dialog.ontology import BOOKING_VALUES, DOMAINS
from envs.dialog.tracker import Tracker

Read = Callable[[str], str]
"""Asks for a line, after a prompt; raises EOFError at the end of the input."""
Write = Callable[[str], None]

HELP = tr(
    """\
You are the user. Type acts, with ; between them, or sentences:
  restaurant              what it is about
  food indian             the food is indian (also: inform restaurant food indian)
  area *                  any area will do
  phone?                  what is the phone? (also: request restaurant phone)
  The food is indian. What is the phone?
  bye                     ends the dialogue
  help                    shows this again"""
)


class Person:
    """Reads what the user says, and shows what the system says, knows and finds."""

    def __init__(
        self, goal: Goal, tracker: Tracker, read: Read, write: Write, max_turn: int, reached: Callable[[], bool]
    ) -> None:
        """reached: returns True once the system has done what the goal asks for; who leaves before has given up."""
        self.goal, self.tracker, self.max_turn, self._reached = goal, tracker, max_turn, reached
        self.read, self.write = read, write
        self.turn, self.ended = 0, False
        self.reason: str | None = None
        self._domain: str | None = None
        """Domain of the latest act, which the next ones are about."""

    def open(self) -> list[Act]:
        self.write(tr("A task to try, or talk about something else: {goal}\n{help}", goal=self.goal, help=HELP))
        acts = self._listened()
        self.ended = False  # the system answers once, even to somebody who leaves at once
        return acts

    def respond(self, acts: Sequence[Act]) -> list[Act]:
        self.write(tr("  ({belief})", belief=self._belief()))
        self.write(tr("system: {words}", words=templates.system_says(acts)))
        if self.reason is not None:
            return self._closed(self.reason)
        if self.turn + 2 > self.max_turn:
            self.write(tr("The dialogue has reached its limit of {count} turns.", count=self.max_turn))
            return self._closed("max_turn")
        return self._listened()

    def finished(self) -> int:
        return 0

    def candidates(self, line: str) -> list[str]:
        """Returns what can follow the words of an unfinished line; of a value of several words, those that are
        missing."""
        *before, last = line.split(";")
        *words, begun = last.split(" ")
        remaining = [word for word in words if word]
        intent = remaining.pop(0).lower() if remaining and remaining[0].lower() in USER_INTENTS else ""
        named = remaining.pop(0).lower() if remaining and remaining[0].lower() in DOMAINS else ""
        mentioned = [word for part in before for word in part.lower().split()[:2] if word in DOMAINS]
        name = named or (mentioned[-1] if mentioned else self._domain)
        possible = [] if named else [*self.tracker.belief, *(() if intent else (*USER_INTENTS, "help"))]
        if name in self.tracker.belief:
            slot, value = split_slot(DOMAINS[name], remaining)
            if slot is None:
                possible += self._slots(name, intent)
            elif intent != "request":
                possible, remaining = self._values(name, slot), value.split()
        typed = " ".join([*remaining, begun]).lower()
        return sorted(words[len(typed) - len(begun) :] for words in possible if words.lower().startswith(typed))

    # ------------------------------------------------------------------------------------------------- parts

    def _listened(self) -> list[Act]:
        """Reads lines until one has acts."""
        self.turn += 2
        while True:
            try:
                line = self.read(tr("you:    "))
            except EOFError:
                return self._left()
            if line.strip().lower() in ("help", "?"):
                self.write(HELP)
                continue
            try:
                acts = [self._read(part) for part in parts(line)]
            except ValueError as error:
                self.write(f"  {error}")
                continue
            if BYE in acts:
                return self._left(acts)
            if acts:
                return acts

    def _left(self, acts: Sequence[Act] = (BYE,)) -> list[Act]:
        return self._closed("complete" if self._reached() else "patience", acts)

    def _closed(self, reason: str, acts: Sequence[Act] = (BYE,)) -> list[Act]:
        self.ended, self.reason = True, reason
        return list(acts)

    def _read(self, text: str) -> Act:
        """Returns the act of a text; a slot without a domain is of the domain before it."""
        act = templates.understood(text, self._domain) or parse(
            self._whole(text.strip().rstrip(".")), domains=self.tracker.belief
        )
        if act.domain in DOMAINS:
            if act.domain not in self.tracker.belief:
                raise ValueError(
                    tr(
                        "this system does not know {domain}; it knows {domains}",
                        domain=act.domain,
                        domains=", ".join(self.tracker.belief),
                    )
                )
            self._domain = act.domain
        return act

    def _whole(self, text: str) -> str:
        """Returns an act with the intent and the domain that its text leaves out."""
        words = text.rstrip("?").split()
        first = words[0].lower() if words else ""
        if first in USER_INTENTS:
            return text
        if first in DOMAINS:
            domain, words_left = first, words[1:]
        elif self._domain is None:
            raise ValueError(
                tr(
                    "{text!r} names no domain; begin with one of: {domains}",
                    text=text,
                    domains=", ".join(self.tracker.belief),
                )
            )
        else:
            domain, words_left = self._domain, words
        intent = "request" if text.endswith("?") else "inform"
        return " ".join((intent, domain, *words_left))

    def _belief(self) -> str:
        """Returns what the system has understood of the active domain, and how much of the database matches."""
        name, tracker = self.tracker.active, self.tracker
        if name is None:
            return tr("it knows of nothing yet")
        constraints = {**tracker.belief[name], **tracker.booking[name]}
        values = ", ".join(f"{slot} {text_of(value)}" for slot, value in constraints.items()) or tr("nothing")
        count = tracker.matches(name).bit_count()
        booked = tr("; booked: {booking}", booking=tracker.booked[name]) if name in tracker.booked else ""
        return tr(
            "it knows of the {domain}: {values}; {count} in the database match{booked}",
            domain=name,
            values=values,
            count=count,
            booked=booked,
        )

    def _slots(self, name: str, intent: str) -> Sequence[str]:
        """Returns the slots that can follow a domain."""
        domain = DOMAINS[name]
        return domain.requestable if intent == "request" else (*domain.informable, *domain.bookable)

    def _values(self, name: str, slot: str) -> list[str]:
        """Returns the values that can follow a slot."""
        return ["*", *(self.tracker.tables[name].columns.get(slot, ()) or BOOKING_VALUES.get(slot, ()))]


def parts(line: str) -> list[str]:
    """Returns the acts and sentences of a line. A sentence ends with a full stop or a question mark and a blank."""
    for end in (". ", "? "):
        line = line.replace(end, f"{end[0]};")
    return [part.strip() for part in line.split(";") if part.strip()]
