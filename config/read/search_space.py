"""Settings with several values to try, as leaves of a file: {log: [1e-4, 1e-2]}. Only tuning reads them."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from config.model.domain_kinds import KINDS, written_kind
from config.model.fields import is_number, same, whole
from config.read.yaml_reader import Place
from config.tell.error_text import shown
from config.tell.language import tr
from config.tell.names import did_you_mean, printable

LISTS = ("grid", "choice")
"""Kinds that list their values; the others have two bounds."""

OTHER_KINDS = {
    "values": "grid", "randint": "int", "qrandint": "int", "lograndint": "int", "quniform": "uniform",
    "qloguniform": "log", "log_uniform_values": "log", "int_uniform": "int",
}  # fmt: skip
"""Kind of values in the files of another library -> ours."""

LARGEST = 1e18
"""Largest size of a bound: whole numbers are drawn with 64 bits."""


class Domain(NamedTuple):
    """A setting, and the values that may be tried for it."""

    path: str
    """The setting's name with its section, such as algo_cfg.lr."""
    keys: tuple[str | int, ...]
    """Keys and list indices that lead to the setting from the top of the document."""
    kind: str
    """Kind of its values; empty for a word that is none."""
    values: tuple[Any, ...]
    """All values, or the lowest and the highest."""
    place: str


class Fault(NamedTuple):
    """A leaf with values that cannot be tried, and the sentence that says why."""

    domain: Domain
    """The leaf with those of its values that are written; empty if they are not a list."""
    sentence: str


def domains_of(value: Any, place: Place, faults: list[Fault], keys: tuple[str | int, ...] = ()) -> Iterator[Domain]:
    """Yields the domains in a value of a file, in their order; adds what is wrong with others to `faults`."""
    kind = written_kind(value)
    if kind is not None:
        [(_, entries)] = value.items()
        problem = _problem(kind, entries)
        if problem:
            domain = Domain(place.path, keys, kind, tuple(entries) if isinstance(entries, list) else (), place.text)
            faults.append(Fault(domain, place.fault(problem)))
        else:
            values = [whole(bound) for bound in entries] if kind == "int" else entries
            yield Domain(place.path, keys, kind, tuple(values), place.text)
        return
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from domains_of(part, place.parts[key], faults, (*keys, key))


def misspelled(value: Any, place: Place, keys: tuple[str | int, ...] = ()) -> Iterator[Fault]:
    """Yields the parts of a value of a file that look like a domain with a mistyped kind. Only where a setting refuses
    such a value is it one."""
    if isinstance(value, Mapping) and len(value) == 1 and written_kind(value) is None:
        [(word, entries)] = value.items()
        ours = OTHER_KINDS.get(str(word))
        hint = tr("; did you mean {near}?", near=ours) if ours else did_you_mean(str(word), KINDS)
        if isinstance(entries, list) and hint:
            domain = Domain(place.path, keys, "", tuple(entries), place.text)
            what = tr("{word} is no kind of values to try{hint}", word=printable(str(word)), hint=hint)
            yield Fault(domain, place.fault(what))
            return
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from misspelled(part, place.parts[key], (*keys, key))


def listed(value: Any, place: Place, keys: tuple[str | int, ...] = ()) -> Iterator[Fault]:
    """Yields the lists of plain values in a value of a file. Only where a setting takes one of them, and not the list,
    are they values to try."""
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, list) and len(value) > 1 and not any(isinstance(part, list | Mapping) for part in value):
        what = tr("got {value}; to try these values, write {{grid: {value}}}", value=shown(value))
        yield Fault(Domain(place.path, keys, "grid", tuple(value), place.text), place.fault(what))
        return
    for key, part in parts:
        yield from listed(part, place.parts[key], (*keys, key))


def _problem(kind: str, values: Any) -> str:
    """Returns what is wrong with the values of a domain; empty if nothing is."""
    if kind in LISTS:
        if not isinstance(values, list) or not values:
            return tr("{kind}: got {value}; expected a list of values", kind=kind, value=shown(values))
        twice = next((value for place, value in enumerate(values) if any(same(value, e) for e in values[:place])), None)
        return "" if twice is None else tr("{kind}: {value} is listed twice", kind=kind, value=shown(twice))
    numbers = isinstance(values, list) and len(values) == 2 and all(map(is_number, values))
    if numbers and max(map(abs, values)) > LARGEST:
        return tr(
            "{kind}: got {value}; expected two numbers of a size up to {most:g}",
            kind=kind,
            value=shown(values),
            most=LARGEST,
        )
    if not numbers or not values[0] < values[1]:
        return tr("{kind}: got {value}; expected two numbers, the lower one first", kind=kind, value=shown(values))
    if kind == "log" and values[0] <= 0:
        return tr("log: got {value}; expected two numbers above 0", value=shown(values))
    if kind == "int" and not all(isinstance(whole(bound), int) for bound in values):
        return tr("int: got {value}; expected two whole numbers", value=shown(values))
    return ""


def filled(value: Any, domains: Sequence[Domain], settings: Sequence[Any]) -> Any:
    """Returns a copy of a value of a file with one setting in the place of each domain."""
    result = copy.deepcopy(value)
    for domain, setting in zip(domains, settings, strict=True):
        *way, last = domain.keys
        part = result
        for key in way:
            part = part[key]
        part[last] = copy.deepcopy(setting)
    return result


# ------------------------------------------------------------------------------------------------- from Python


def grid(*values: Any) -> dict[str, Any]:
    """Returns a leaf whose values are all tried, each with every value of the other grids."""
    return _listing("grid", values)


def choice(*values: Any) -> dict[str, Any]:
    """Returns a leaf of which each trial draws a value."""
    return _listing("choice", values)


def _listing(kind: str, values: tuple[Any, ...]) -> dict[str, Any]:
    """Returns a leaf that lists its values. Raises TypeError for a list of them, as other libraries take it: it would
    be the only value."""
    if len(values) == 1 and isinstance(values[0], list | tuple | range):
        text = ", ".join(map(repr, values[0]))
        raise TypeError(tr("{kind} takes its values one by one: {kind}({values:.80})", kind=kind, values=text))
    return {kind: [_plain(value) for value in values]}


def uniform(low: float, high: float) -> dict[str, Any]:
    """Returns a leaf of which each trial draws a number between two others."""
    return {"uniform": [_plain(low), _plain(high)]}


def log(low: float, high: float) -> dict[str, Any]:
    """Returns a leaf of which each trial draws a number between two others, evenly on a logarithmic scale."""
    return {"log": [_plain(low), _plain(high)]}


def integer(low: int, high: int) -> dict[str, Any]:
    """Returns a leaf of which each trial draws a whole number from low to high."""
    return {"int": [_plain(low), _plain(high)]}


def _plain(value: Any) -> Any:
    """Returns a number of numpy as one of Python, and everything else as it is."""
    return value.item() if getattr(value, "shape", None) == () else value
