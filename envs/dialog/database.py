"""The databases: loading, and queries by bit masks, in which bit i stands for entity i."""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from operator import or_
from pathlib import Path
from typing import Any

import numpy as np

from config.model.fields import is_number
from config.tell.language import UserError, tr
from envs.dialog.acts import ANY, Value
from envs.dialog.ontology import AFTER, BEFORE, DOMAINS, Domain, minutes

BUNDLED = Path(__file__).parent / "data"
"""Folder of the databases that envs/dialog/generator.py makes."""
NOTHING = "?"
"""Text that stands for an unknown value in a file."""
TAXI = {"taxi_colors": tr("colors"), "taxi_types": tr("types of car")}

Entity = Mapping[str, str | None]


class DatabaseError(UserError, ValueError):
    """A database cannot be used; the message says which file, and why."""


class Table:
    """Entities of one domain in the order of the file, with an index for each slot."""

    def __init__(self, domain: Domain, entities: Sequence[Entity]) -> None:
        self.domain, self.entities, self.everything = domain, entities, (1 << len(entities)) - 1
        self.columns: dict[str, tuple[str, ...]] = {slot: self._column(slot) for slot in sorted(domain.slots)}
        self._values = {slot: frozenset(value.lower() for value in self.columns[slot]) for slot in self.columns}
        self._equal: dict[str, dict[str, int]] = {}
        self._times: dict[str, tuple[list[int], list[int]]] = {}

    def _column(self, slot: str) -> tuple[str, ...]:
        """Returns the different known values of a slot, in the order of the file."""
        values = (entity.get(slot) for entity in self.entities)
        return tuple(dict.fromkeys(value for value in values if value is not None))

    def match(self, constraints: Mapping[str, Value]) -> int:
        """Returns the mask of entities that meet the constraints."""
        mask = self.everything
        for slot, value in constraints.items():
            if value is not None and value is not ANY:
                mask &= self._meets(slot, str(value))
        return mask

    def query(self, constraints: Mapping[str, Value]) -> list[Entity]:
        """Returns the entities that meet the constraints, in the order of the file."""
        return [self.entities[index] for index in indices(self.match(constraints))]

    def knows(self, slot: str, value: Value) -> bool:
        """Returns True if a value stands in the column of a slot."""
        return isinstance(value, str) and value.lower() in self._values.get(slot, ())

    def _meets(self, slot: str, value: str) -> int:
        """Returns the mask of the entities whose value is unknown or meets the constraint."""
        if slot not in self._equal:
            self._index(slot)
        if slot not in (AFTER, BEFORE):
            return self._equal[slot].get(value.lower(), self._equal[slot][NOTHING])
        times, masks = self._times[slot]
        limit = minutes(value)
        if limit is None:
            return self._equal[slot][NOTHING]
        if slot == AFTER:
            return self.everything & ~masks[bisect_left(times, limit)]
        return masks[bisect_right(times, limit)] | self._equal[slot][NOTHING]

    def _index(self, slot: str) -> None:
        """Makes the index of a slot: value -> mask; for times, the masks of all that are earlier, too."""
        of_value: dict[str, int] = {NOTHING: 0}
        for index, entity in enumerate(self.entities):
            value = entity.get(slot)
            key = NOTHING if value is None or (slot in (AFTER, BEFORE) and minutes(value) is None) else value.lower()
            of_value[key] = of_value.get(key, 0) | 1 << index
        if slot in (AFTER, BEFORE):
            at = sorted((minutes(value) or 0, mask) for value, mask in of_value.items() if value != NOTHING)
            self._times[slot] = [time for time, _ in at], [*accumulate((mask for _, mask in at), or_, initial=0)]
        unknown = of_value[NOTHING]
        self._equal[slot] = {value: mask | unknown for value, mask in of_value.items()}


def indices(mask: int) -> Iterator[int]:
    """Yields the entities of a mask in order."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def ranked(mask: int, rank: int) -> int | None:
    """Returns the entity of this rank, 1 is the first one; None if fewer match."""
    for _ in range(rank - 1):
        mask &= mask - 1
    return (mask & -mask).bit_length() - 1 if mask else None


class Database:
    """The tables of some domains."""

    def __init__(self, tables: Mapping[str, Table], taxi: Mapping[str, Sequence[str]] | None) -> None:
        self.tables, self._taxi = dict(tables), taxi
        self.domains = tuple(name for name in DOMAINS if name in tables or (name == "taxi" and taxi))
        places = (place for table in tables.values() for place in table.columns.get("name", ()))
        self.places = tuple(dict.fromkeys(places))
        """Names of everything, from and to which taxis go."""

    def of_dialogue(self, rng: np.random.Generator) -> dict[str, Table]:
        """Returns the tables of one dialogue: a taxi is drawn for it."""
        if self._taxi is None:
            return self.tables
        colors, types = self._taxi["taxi_colors"], self._taxi["taxi_types"]
        car = f"{colors[int(rng.integers(len(colors)))]} {types[int(rng.integers(len(types)))]}"
        taxi = {"car type": car, "phone": f"{rng.integers(10**10, 10**11)}"}
        return {**self.tables, "taxi": Table(DOMAINS["taxi"], [taxi])}


def load(folder: Path, domains: tuple[str, ...]) -> Database:
    """Returns the databases of some domains. Raises DatabaseError."""
    if not folder.is_dir():
        raise DatabaseError(
            "there is no folder {folder}; name one with files such as {domain}_db.json",
            folder=folder,
            domain=domains[0],
        )
    tables = {name: Table(DOMAINS[name], _entities(folder, DOMAINS[name])) for name in domains if name != "taxi"}
    database = Database(tables, _cars(folder) if "taxi" in domains else None)
    if "taxi" in domains and len(database.places) < 2:
        raise DatabaseError("{folder} names fewer than two places, and a taxi goes from one to another", folder=folder)
    return database


def _read(folder: Path, domain: str) -> Any:
    path = folder / f"{domain}_db.json"
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise DatabaseError("{path} is missing; each domain of the id has its file", path=path) from None
    except OSError as error:
        raise DatabaseError("{path} cannot be read: {error}", path=path, error=error.strerror) from None
    except (ValueError, RecursionError) as error:
        raise DatabaseError("{path} is not JSON: {error}", path=path, error=error) from None


def _entities(folder: Path, domain: Domain) -> list[Entity]:
    rows = _read(folder, domain.name)
    path = folder / f"{domain.name}_db.json"
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DatabaseError("{path} is not a list of objects, one for each {domain}", path=path, domain=domain.name)
    if not rows:
        raise DatabaseError("{path} has no entity", path=path)
    entities: list[Entity] = [
        {slot: _value(path, number, slot, row.get(slot)) for slot in sorted(domain.slots)}
        for number, row in enumerate(rows, start=1)
    ]
    if not any(value for entity in entities for value in entity.values()):
        raise DatabaseError(
            "{path} has no value of any slot of a {domain}: {slots}",
            path=path,
            domain=domain.name,
            slots=", ".join(sorted(domain.slots)),
        )
    for slot in (slot for group in domain.needed for slot in group):
        if all(entity[slot] is None for entity in entities):
            raise DatabaseError(
                "{path} has no {slot} in any object, which every {domain} needs",
                path=path,
                slot=slot,
                domain=domain.name,
            )
    return entities


def _value(path: Path, number: int, slot: str, value: Any) -> str | None:
    """Returns a value of a file as text; None if it is unknown. number: the object's, from 1. Any other value would be
    unknown without a word, and so meet every constraint."""
    if value is None:
        return None
    if not (isinstance(value, str) or is_number(value)):
        raise DatabaseError(
            "{path}: object {number} has {slot}: {value}; expected text or a number, such as yes for true",
            path=path,
            number=number,
            slot=slot,
            value=json.dumps(value, ensure_ascii=False)[:80],
        )
    text = str(value).strip()
    if text in ("", NOTHING):
        return None
    if slot in (AFTER, BEFORE) and minutes(text) is None:
        raise DatabaseError(
            "{path}: object {number} has {slot}: {value}; expected a time such as 9:30",
            path=path,
            number=number,
            slot=slot,
            value=text[:80],
        )
    return text


def _cars(folder: Path) -> dict[str, list[str]]:
    cars = _read(folder, "taxi")
    cars = cars[0] if isinstance(cars, list) and cars else cars
    for key, meaning in TAXI.items():
        values = cars.get(key) if isinstance(cars, dict) else None
        if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
            raise DatabaseError(
                "{path} has no list {key} ({meaning}) with an entity",
                path=folder / "taxi_db.json",
                key=key,
                meaning=meaning,
            )
    return {key: cars[key] for key in TAXI}
