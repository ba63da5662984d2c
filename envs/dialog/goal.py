"""The goals of users: constraints, questions and bookings in one to three domains."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from config.tell.language import tr
from envs.dialog.config import Config
from envs.dialog.database import Database, DatabaseError, Table
from envs.dialog.ontology import AFTER, BEFORE, BOOKING_VALUES, DOMAINS, clock
from envs.dialog.templates import NAMES, with_article

TRIES_OF_A_GOAL = 1000
TRIES_OF_A_CONTRADICTION = 20

Values = dict[str, str]


@dataclass
class Part:
    """The goal in one domain."""

    constraints: Values = field(default_factory=dict)
    """Slot -> value that the entity must have."""
    requests: list[str] = field(default_factory=list)
    """Slots whose values the user asks for."""
    booking: Values | None = None
    """Slot -> value of the booking; None if nothing is to be booked."""
    unsatisfiable: Values | None = None
    """Constraints that the user states first, which no entity meets; None if there are none."""


@dataclass
class Goal:
    """The goal of a user: its parts by domain, in the order in which the user speaks of them."""

    parts: dict[str, Part]

    def to_json(self) -> dict[str, Any]:
        """Returns the goal as what `from_json` reads."""
        return {name: {key: value for key, value in vars(part).items() if value} for name, part in self.parts.items()}

    @staticmethod
    def from_json(data: Mapping[str, Mapping[str, Any]]) -> "Goal":
        """Returns the goal of {domain: {constraints, requests, booking, unsatisfiable}}. Raises ValueError."""
        return Goal({name: _part(name, part) for name, part in data.items()})

    def __str__(self) -> str:
        return " ".join(_paragraph(name, part) for name, part in self.parts.items())


def _part(name: str, data: Mapping[str, Any]) -> Part:
    if name not in DOMAINS:
        raise ValueError(
            tr("a goal has no domain {name!r}; there are: {domains}", name=name, domains=", ".join(DOMAINS))
        )
    domain, part = DOMAINS[name], Part()
    if unknown := set(data) - set(vars(part)):
        raise ValueError(
            tr(
                "the goal's {domain} has {unknown}; it can have: {names}",
                domain=name,
                unknown=", ".join(sorted(unknown)),
                names=", ".join(vars(part)),
            )
        )
    part = Part(**{key: _as_in_database(value) for key, value in data.items() if value is not None})
    possible = {"constraints": domain.informable, "unsatisfiable": domain.informable, "booking": domain.bookable,
                "requests": domain.requestable}  # fmt: skip
    for key, slots in possible.items():
        for slot in getattr(part, key) or ():
            if slot not in slots:
                raise ValueError(
                    tr(
                        "{slot!r} is not possible in {key} of {domain}; possible are: {slots}",
                        slot=slot,
                        key=key,
                        domain=name,
                        slots=", ".join(slots),
                    )
                )
    if part.booking is not None and set(part.booking) != set(domain.bookable):
        raise ValueError(
            tr("a booking of {domain} needs all of: {slots}", domain=name, slots=", ".join(domain.bookable))
        )
    return part


def _as_in_database(values: Any) -> Any:
    """Returns a copy of what a goal asks for, with times as the database has them: the tracker has them so, too."""
    if not isinstance(values, Mapping):
        return type(values)(values)
    return {slot: clock(value) if slot in (AFTER, BEFORE, "time") else value for slot, value in values.items()}


def _paragraph(name: str, part: Part) -> str:
    def listed(values: Values) -> str:
        return ", ".join(f"{NAMES.get(slot, slot)} {value}" for slot, value in values.items())

    text = [f"You look for {with_article(name)}" + (f" with {listed(part.constraints)}." if part.constraints else ".")]
    if part.unsatisfiable:
        text.append(f"At first you ask for one with {listed(part.unsatisfiable)}; there is none, and you give way.")
    if part.requests:
        text.append(f"You want to know: {', '.join(NAMES.get(slot, slot) for slot in part.requests)}.")
    if part.booking:
        text.append(f"You book it for {listed(part.booking)}.")
    return " ".join(text)


# ------------------------------------------------------------------------------------------------- sampling


def sample(database: Database, rng: np.random.Generator, chances: Config) -> Goal:
    """Draws a goal in which every domain has a question or a booking."""
    domains, bounds = database.domains, np.cumsum(chances.p_domains)[:-1]
    for _ in range(TRIES_OF_A_GOAL):
        number = 1 + int(np.searchsorted(bounds, rng.random(), side="right"))
        names = [domains[i] for i in rng.permutation(len(domains))[:number]]
        parts = {name: _draw(name, database, rng, chances) for name in names}
        if all(part.requests or part.booking for part in parts.values()):
            hotel, restaurant = (parts.get(name, Part()).booking for name in ("hotel", "restaurant"))
            if chances.couple and hotel and restaurant:  # they are booked for the same people and day
                restaurant.update({slot: hotel[slot] for slot in ("people", "day")})
            return Goal(parts)
    raise DatabaseError(
        "no goal was found in {count} tries in which every domain has a question or a "
        "booking; raise p_request or p_book, or give databases with more columns",
        count=TRIES_OF_A_GOAL,
    )


def _draw(name: str, database: Database, rng: np.random.Generator, chances: Config) -> Part:
    domain, table = DOMAINS[name], database.tables.get(name)
    part = Part(_constraints(name, database, rng, chances))
    # a taxi is not an entity of the database, so that its slots have no columns; both are always asked for
    part.requests = [
        slot
        for slot in domain.requestable
        if slot not in part.constraints
        and (table is None or (table.columns[slot] and rng.random() < chances.p_request))
    ]
    if domain.bookable and rng.random() < chances.p_book:
        part.booking = {slot: _one_of(BOOKING_VALUES[slot], rng) for slot in domain.bookable}
    if domain.named and table and "name" not in part.constraints and rng.random() < chances.p_unsatisfiable:
        part.unsatisfiable = _contradiction(table, part.constraints, rng)
    return part


def _constraints(name: str, database: Database, rng: np.random.Generator, chances: Config) -> Values:
    if name == "taxi":
        start, end = rng.choice(len(database.places), 2, replace=False)
        ends = {"departure": database.places[start], "destination": database.places[end]}
        return {**ends, _one_of((AFTER, BEFORE), rng): _one_of(BOOKING_VALUES["time"], rng)}
    table = database.tables[name]
    entity = table.entities[int(rng.integers(len(table.entities)))]
    values = {slot: value for slot in table.domain.informable if (value := entity[slot]) is not None}
    if table.domain.named:
        return _of_place(values, rng, chances)
    if AFTER in values and BEFORE in values:
        del values[_one_of((AFTER, BEFORE), rng)]
    return values


def _of_place(values: Values, rng: np.random.Generator, chances: Config) -> Values:
    """Returns the name alone, or some of the other known values."""
    others = [slot for slot in values if slot != "name"]
    by_name = rng.random() < chances.p_name
    if "name" in values and (by_name or not others):
        return {"name": values["name"]}
    count = min(int(rng.integers(1, chances.max_constraints + 1)), len(others))
    chosen = {others[i] for i in rng.permutation(len(others))[:count]}
    return {slot: values[slot] for slot in others if slot in chosen}


def _contradiction(table: Table, constraints: Values, rng: np.random.Generator) -> Values | None:
    """Returns the constraints with another value of one slot, such that no entity meets them; None if none is found."""
    for _ in range(TRIES_OF_A_CONTRADICTION if constraints else 0):
        slot = _one_of(tuple(constraints), rng)
        changed = {**constraints, slot: _one_of(table.columns[slot], rng)}
        if not table.match(changed):
            return changed
    return None


def _one_of(values: tuple[str, ...], rng: np.random.Generator) -> str:
    return values[int(rng.integers(len(values)))]
