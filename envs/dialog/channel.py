"""Errors of understanding: what the system hears of what the user says."""

from collections.abc import Mapping, Sequence

import numpy as np

from envs.dialog.acts import Act
from envs.dialog.database import Table
from envs.dialog.ontology import AFTER, BEFORE, BOOKING_VALUES, DOMAINS, Domain


class Channel:
    """Changes slot, value or intent of an act with some probability, within its domain."""

    def __init__(self, slot: float = 0.0, value: float = 0.0, intent: float = 0.0) -> None:
        self.slot, self.value, self.intent = slot, value, intent

    def heard(self, acts: Sequence[Act], tables: Mapping[str, Table], rng: np.random.Generator) -> Sequence[Act]:
        """Returns the acts as the system receives them. Without errors, draws no random numbers."""
        if not (self.slot or self.value or self.intent):
            return acts
        return [self._heard(act, tables, rng) for act in acts]

    def _heard(self, act: Act, tables: Mapping[str, Table], rng: np.random.Generator) -> Act:
        slot, value, intent = rng.random(3) < (self.slot, self.value, self.intent)
        domain = DOMAINS.get(act.domain)
        if domain is None or act.slot is None:
            return act
        if intent:
            act = act._replace(intent="request" if act.intent == "inform" else "inform")
        possible = domain.requestable if act.intent == "request" else (*domain.informable, *domain.bookable)
        others = [other for other in possible if other != act.slot]
        if (slot or act.slot not in possible) and others:
            act = act._replace(slot=others[rng.integers(len(others))])
        if act.intent == "request":
            return act._replace(value=None)
        return self._with_value(act, domain, tables, value or act.value is None, rng)

    def _with_value(
        self, act: Act, domain: Domain, tables: Mapping[str, Table], change: bool, rng: np.random.Generator
    ) -> Act:
        """Returns an inform, with another value of its slot if that is to be changed, and if there is one."""
        if not change or act.slot is None:
            return act
        others = [other for other in _values(act.slot, domain, tables) if other != act.value]
        return act._replace(value=others[rng.integers(len(others))]) if others else act


def _values(slot: str, domain: Domain, tables: Mapping[str, Table]) -> Sequence[str]:
    """Returns the values of a slot. A taxi has no table: it goes at any time, from a place in the others to another."""
    if slot in domain.bookable and slot not in domain.informable:
        return BOOKING_VALUES[slot]
    if column := tables[domain.name].columns[slot]:
        return column
    if slot in (AFTER, BEFORE):
        return BOOKING_VALUES["time"]
    return [name for table in tables.values() for name in table.columns.get("name", ())]
