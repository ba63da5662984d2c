"""The ontology: domains, their slots, and the domains of each id. Values come from the database."""

from dataclasses import dataclass

AFTER, BEFORE = "leaveAt", "arriveBy"
"""Slots whose value limits a time: at or after, at or before."""
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
BOOKING_VALUES = {
    "people": tuple(str(n) for n in range(1, 9)),
    "day": DAYS,
    "stay": tuple(str(n) for n in range(1, 6)),
    "time": tuple(f"{hour:02d}:{minute:02d}" for hour in range(24) for minute in (0, 15, 30, 45)),
}
"""Values of the slots that only a booking has. Those of time are also the times of a taxi."""


@dataclass(frozen=True)
class Domain:
    """One subject of dialogues."""

    name: str
    informable: tuple[str, ...]
    """Slots that a user can constrain, in the order of the vocabulary."""
    requestable: tuple[str, ...]
    """Slots that a user can ask for."""
    bookable: tuple[str, ...] = ()
    """Slots of a booking; empty if nothing can be booked."""
    needed: tuple[tuple[str, ...], ...] = ()
    """Slots that must be known before a search makes sense; of each group, one."""
    listed: bool = True
    """True if a query can have several results, so that there are choice and nooffer."""
    counted: bool = True
    """True if the observation says how many entities match."""

    @property
    def named(self) -> bool:
        """True if an entity can be recommended by its name."""
        return "name" in self.informable

    @property
    def spoken(self) -> tuple[str, ...]:
        """Slots whose values the system can inform, sorted."""
        return tuple(sorted({*self.requestable, *(("name",) if self.named else ())}))

    @property
    def slots(self) -> frozenset[str]:
        """All slots."""
        return frozenset((*self.informable, *self.requestable, *self.bookable))


_PLACE = ("address", "phone", "postcode")

DOMAINS: dict[str, Domain] = {
    domain.name: domain
    for domain in (
        Domain(
            "restaurant",
            ("food", "pricerange", "area", "name"),
            (*_PLACE, "food", "pricerange", "area"),
            bookable=("people", "day", "time"),
        ),
        Domain(
            "hotel",
            ("area", "pricerange", "stars", "type", "internet", "parking", "name"),
            (*_PLACE, "pricerange", "stars", "type", "internet", "parking", "area"),
            bookable=("people", "day", "stay"),
        ),
        Domain("attraction", ("type", "area", "name"), (*_PLACE, "entrance fee", "type", "area")),
        Domain(
            "train",
            ("departure", "destination", "day", AFTER, BEFORE),
            ("duration", "price", "trainID", AFTER, BEFORE),
            bookable=("people",),
            needed=(("departure",), ("destination",), ("day",), (AFTER, BEFORE)),
        ),
        Domain(
            "taxi",
            ("departure", "destination", AFTER, BEFORE),
            ("car type", "phone"),
            needed=(("departure",), ("destination",), (AFTER, BEFORE)),
            listed=False,
            counted=False,
        ),
        Domain("hospital", ("department",), _PLACE, needed=(("department",),), counted=False),
        Domain("police", (), _PLACE, listed=False, counted=False),
    )
}
GENERAL = "general"
"""Domain of the acts that belong to none: bye, reqmore, greet."""
IDS = {"mini": ("restaurant",), "town": tuple(DOMAINS)[:5], "full": tuple(DOMAINS)}
"""Domains of each id."""


def clock(time: str) -> str:
    """Returns a time as the database has it, hh:mm; another text as it is."""
    past = minutes(time)
    return time if past is None else f"{past // 60:02d}:{past % 60:02d}"


def minutes(time: str) -> int | None:
    """Returns h:mm in minutes, with hours that may exceed 23; None if the text is not a time."""
    hours, colon, past = time.partition(":")
    if not (colon and hours.isdecimal() and past.isdecimal() and len(past) == 2):
        return None
    return 60 * int(hours) + int(past)
