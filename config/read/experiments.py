"""Section experiments of a file: several runs by name, each with the settings above and its own."""

from typing import Any

from config.model import SECTIONS, policies
from config.read.sources import EXPERIMENTS, not_a_mapping
from config.read.yaml_reader import Document, DocumentError, Place
from config.tell.language import tr


def experiments_of(document: Document) -> dict[str, Document]:
    """Returns the settings of each experiment of a file by its name; none for a file without that section. Raises
    DocumentError for a section that names none, or one that has others below it."""
    if not isinstance(document.value, dict) or EXPERIMENTS not in document.value:
        return {}
    shared = {name: value for name, value in document.value.items() if name != EXPERIMENTS}
    parts, place = document.value[EXPERIMENTS], document.place.parts[EXPERIMENTS]
    if not isinstance(parts, dict) or not parts:
        raise DocumentError(place.fault(not_a_mapping(parts)))
    for name, part in parts.items():
        if not name.strip():
            raise DocumentError(place.parts[name].fault(tr("an experiment needs a name")))
        if isinstance(part, dict) and EXPERIMENTS in part:
            inner = place.parts[name].parts[EXPERIMENTS]
            raise DocumentError(inner.fault(tr("an experiment has no others below it; write them beside it")))
    return {name: _merged(document, shared, part, place.parts[name]) for name, part in parts.items()}


def _merged(document: Document, shared: dict[str, Any], part: Any, place: Place) -> Document:
    """Returns the settings of one experiment: those of the file with its own above them."""
    if not isinstance(part, dict | None):
        raise DocumentError(place.fault(not_a_mapping(part)))
    value = dict(shared)
    places: dict[str | int, Place] = {name: document.place.parts[name] for name in shared}
    if any(_basis(shared).get(key) != choice for key, choice in _basis(part).items()):
        value.pop("algo_cfg", None)  # they are for another algorithm
    for name, settings in (part or {}).items():
        above = value.get(name)
        if isinstance(above, dict) and isinstance(settings, dict):
            one, other = Document(above, places[name]), Document(settings, place.parts[name])
            value[name], places[name] = _above(one, other, deep=name == policies.SECTION)
        elif settings is not None or above is None:
            value[name], places[name] = settings, place.parts[name]
    return Document(value, Place(document.place.text, "", places), document.duplicates, document.comment)


def _above(shared: Document, own: Document, deep: bool) -> tuple[dict[str, Any], Place]:
    """Returns settings with others above them. deep: they are those of policies, of which each is a section."""
    value, parts = {**shared.value, **own.value}, {**shared.place.parts, **own.place.parts}
    for key in own.value if deep else ():
        before, now = shared.value.get(key), own.value[key]
        if isinstance(before, dict) and isinstance(now, dict):
            one, other = Document(before, shared.place.parts[key]), Document(now, own.place.parts[key])
            value[key], parts[key] = _above(one, other, deep=False)
    return value, Place(own.place.text, shared.place.path, parts)


def _basis(sections: Any) -> dict[str, str]:
    """Returns the algorithm and the preset that sections name, in lower case: dqn is DQN."""
    general = (sections or {}).get(SECTIONS[0])
    written = general if isinstance(general, dict) else {}
    return {key: str(written[key]).lower() for key in ("algo_name", "preset") if key in written}
