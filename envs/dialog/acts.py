"""Dialogue acts, their text, and the vocabularies: the acts that system and user can say, in a fixed order."""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from config.tell.language import tr
from envs.dialog.ontology import DOMAINS, GENERAL, Domain


class Mark(Enum):
    """Values that are not text. They are never spelled as text, since `no` and `none` can be values of a database."""

    ANY = "*"
    """The user does not care."""
    UNKNOWN = "?"
    """The database has no value."""


ANY, UNKNOWN = Mark.ANY, Mark.UNKNOWN


class Booking(NamedTuple):
    """The value of an act that makes a booking."""

    reference: str
    """Index of the entity, with eight digits."""
    values: "dict[str, str | Mark]"
    """Booking slot -> value."""


Value = str | Mark | Booking | None


class Act(NamedTuple):
    """One dialogue act. Its text is `intent domain slot value`, as `inform restaurant food indian`."""

    intent: str
    domain: str
    slot: str | None = None
    value: Value = None

    @property
    def key(self) -> tuple[str, str, str | None]:
        """Intent, domain and slot."""
        return self[:3]

    def __str__(self) -> str:
        domain = "" if self.domain == GENERAL else self.domain
        return " ".join(filter(None, (self.intent, domain, self.slot, text_of(self.value))))


BYE = Act("bye", GENERAL)
USER_INTENTS = ("inform", "request", "bye")


def text_of(value: Value) -> str:
    """Returns a value as text; empty for None."""
    if isinstance(value, Booking):
        return f"{value.reference} ({', '.join(f'{slot} {text_of(part)}' for slot, part in value.values.items())})"
    return value.value if isinstance(value, Mark) else value or ""


def parse(text: str, intents: Iterable[str] = USER_INTENTS, domains: Iterable[str] = DOMAINS) -> Act:
    """Returns the act of a text such as `inform restaurant food indian`, `request hotel phone`, `inform hotel` (the
    opener), `inform train day *` (any) or `bye`. Raises ValueError with what is possible instead."""
    words = text.split()
    intent = words[0].lower() if words else ""
    if intent not in intents:
        raise ValueError(
            tr("{text!r} begins with no intent; there are: {intents}", text=text, intents=", ".join(intents))
        )
    if len(words) == 1:
        if intent in ("bye", "reqmore", "greet"):
            return Act(intent, GENERAL)
        raise ValueError(
            tr("a domain is missing: {intent} DOMAIN; there are: {domains}", intent=intent, domains=", ".join(domains))
        )
    domain = DOMAINS.get(words[1].lower())
    if domain is None:
        raise ValueError(
            tr("{word!r} is not a domain; there are: {domains}", word=words[1], domains=", ".join(domains))
        )
    slot, value = split_slot(domain, words[2:])
    if words[2:] and slot is None:
        raise ValueError(
            tr(
                "{word!r} is not a slot of {domain}; there are: {slots}",
                word=words[2],
                domain=domain.name,
                slots=", ".join(sorted(domain.slots)),
            )
        )
    if slot and intent == "inform" and not value:
        raise ValueError(
            tr(
                "a value is missing: {intent} {domain} {slot} VALUE, or * for any",
                intent=intent,
                domain=domain.name,
                slot=slot,
            )
        )
    if intent == "request" and (value or not slot):
        raise ValueError(tr("a request has a slot and no value: request {domain} SLOT", domain=domain.name))
    return Act(intent, domain.name, slot, ANY if value == ANY.value else value or None)


def split_slot(domain: Domain, words: Sequence[str]) -> tuple[str | None, str]:
    """Splits words into a slot, which may have two words, and the value. Returns None as the slot if there is none."""
    for count in (2, 1):
        start = " ".join(words[:count]).lower()
        slot = next((slot for slot in domain.slots if slot.lower() == start), None)
        if slot:
            return slot, " ".join(words[count:])
    return None, " ".join(words)


# ------------------------------------------------------------------------------------------- vocabularies


class Entry(NamedTuple):
    """One act of the system's vocabulary. Which value it has is found when it is said."""

    intent: str
    domain: str
    slot: str | None = None
    rank: int = 1
    """Rank of the matching entity whose value is said, from 1."""


UserEntry = tuple[str, str, str | None]
"""Intent, domain and slot of a user's act; None as the slot of an inform is the opener."""


def system_vocabulary(domains: Sequence[str], ranks: int = 1) -> list[Entry]:
    """Returns the acts of the system; ranks: number of matching entities that can be informed."""
    entries = [entry for name in domains for entry in _of_domain(DOMAINS[name], ranks)]
    return [*dict.fromkeys(entries), Entry("bye", GENERAL), Entry("reqmore", GENERAL), Entry("greet", GENERAL)]


def _of_domain(domain: Domain, ranks: int) -> Iterator[Entry]:
    name = domain.name
    yield from (Entry("request", name, slot) for slot in domain.informable)
    yield from (Entry("inform", name, slot) for slot in domain.spoken)
    if domain.listed:
        yield Entry("inform", name, "choice")
        yield Entry("nooffer", name)
    if domain.named:
        yield Entry("recommend", name, "name")
    if domain.bookable:
        yield Entry("book", name)
        yield Entry("nobook", name)
    yield from (Entry("request", name, slot) for slot in domain.bookable)
    for rank in range(2, ranks + 1 if domain.listed else 2):
        yield from (Entry("inform", name, slot, rank) for slot in domain.spoken)
        if domain.named:
            yield Entry("recommend", name, "name", rank)


def user_vocabulary(domains: Sequence[str]) -> list[UserEntry]:
    """Returns the acts of the user."""
    entries: list[UserEntry] = [BYE.key]
    for name in domains:
        domain = DOMAINS[name]
        entries += (("inform", name, slot) for slot in (*domain.informable, *domain.bookable))
        entries.append(("inform", name, None))
        entries += (("request", name, slot) for slot in domain.requestable)
    return entries
