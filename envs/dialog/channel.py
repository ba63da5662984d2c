"""Errors of understanding: what the system hears of what the user says."""

from collections.abc import Mapping, Sequence

import numpy as np

from envs.dialog.acts import Act
from envs.dialog.database import Table
from envs.dialog.ontology import BOOKING_VALUES, DOMAINS, Domain


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
        """Returns an inform, with another value of its slot if that is to be changed."""
        if not change or act.slot is None:
            return act
        bookable = act.slot in domain.bookable and act.slot not in domain.informable
        values = BOOKING_VALUES[act.slot] if bookable else tables[domain.name].columns[act.slot]
        others = [other for other in values if other != act.value] or list(BOOKING_VALUES["time"])
        return act._replace(value=others[rng.integers(len(others))])
