"""The sources of settings, one layer each: a YAML file, an earlier run, the command line."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from config.document import Document, DocumentError, Place, parse
from config.effective import SECTIONS
from config.messages import shown
from config.schema import Strict


class Stray(NamedTuple):
    """A setting outside of any section."""

    key: str
    where: str
    value: str
    """With its equals sign, as on the command line; empty in a file."""


@dataclass
class Layer:
    """What one source says, and where it says it."""

    written: bool
    """By the user, for this run."""
    sections: dict[str, dict[str, Any]] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    strays: list[Stray] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def put(self, section: str, key: str, value: Any, place: Place) -> None:
        self.sections.setdefault(section, {})[key] = value
        self.places.setdefault(section, Place(place.text, section)).parts[key] = place

    def missing(self) -> list[str]:
        """Sections that are absent or empty."""
        return [name for name in SECTIONS if not self.sections.get(name)]


def from_document(document: Document, *, written: bool) -> Layer:
    """The layer of a file."""
    layer = Layer(written, problems=list(document.duplicates))
    if document.value is None:
        return layer
    if not isinstance(document.value, dict):
        layer.problems.append(
            f"{document.place.text}: got {shown(document.value)}; expected the sections {', '.join(SECTIONS)}"
        )
        return layer
    for key, value in document.value.items():
        place = document.place.parts[key]
        if key not in SECTIONS:
            layer.strays.append(Stray(key, place.text, ""))
        elif isinstance(value, dict):
            layer.sections[key], layer.places[key] = value, place
        elif value is not None:
            layer.problems.append(f"{place.text}: {key}: got {shown(value)}; expected lines of the form name: value")
    return layer


def from_task(document: Document, *, testing: bool) -> Layer:
    """The layer of an earlier run's config.yaml, without what that run loaded itself."""
    layer = from_document(document, written=False)
    general = layer.sections.get("general_cfg", {})
    for key in ("mode", "load_checkpoint", "load_path", "load_model_step"):
        general.pop(key, None)
    if not testing:
        path = "general_cfg.load_model_step"
        layer.put("general_cfg", "load_model_step", "latest", Place(document.place.text, path))
    return layer


def from_command_line(overrides: Iterable[str], flags: Iterable[tuple[str, str, Any]]) -> Layer:
    """The layer of section.key=value words, and of flags as (flag, section.key, value)."""
    layer = Layer(written=True)
    for flag, path, value in flags:
        section, _, key = path.partition(".")
        layer.put(section, key, value, Place(flag, path))
    for override in overrides:
        path, equals, text = override.partition("=")
        section, _, key = path.partition(".")
        if section not in SECTIONS or not key or not equals:
            layer.strays.append(Stray(path.rpartition(".")[2] or path, "command line", equals + text))
            continue
        try:
            document = parse(text, "command line", path=path, numbered=False)
        except DocumentError as error:
            layer.problems.append(str(error))
            continue
        layer.problems += document.duplicates
        layer.put(section, key, document.value, document.place)
    return layer


def merge(layers: Iterable[Layer], section: str, model: type[Strict]) -> tuple[dict[str, Any], Place]:
    """The settings of a section under their field names, and their places. A later layer wins."""
    values: dict[str, Any] = {}
    merged = Place("defaults", section)
    for layer in layers:
        place = layer.places.get(section)
        if place is None:
            continue
        merged.text = place.text
        for key, value in layer.sections[section].items():
            name = model.field_name(key)
            values[name], merged.parts[name] = value, place.parts[key]
    return values, merged


def doubled(layer: Layer, section: str, model: type[Strict]) -> Iterator[str]:
    """Settings that one layer gives under two spellings."""
    written: dict[str, str] = {}
    for key in layer.sections.get(section, {}):
        name = model.field_name(key)
        if name in written:
            place = layer.places[section].parts[key]
            yield f"{place.text}: {place.path}: another spelling of {written[name]}, which is set too; keep one"
        written[name] = key
