"""Reads settings by RLlib's names: --config, --stop, and experiments in a file. config/foreign/names.py has the names,
config/foreign/rllib_values.py the values that mean something else here."""

from collections.abc import Callable, Iterator
from typing import Any

from config import sources
from config.error_text import shown
from config.foreign import convlab
from config.foreign import names as foreign_names
from config.foreign.rllib_values import (
    LAST,
    NOTHING,
    REFUSED,
    STOP_RULES,
    VALUES,
    Known,
    Meaning,
    NoCounterpartError,
)
from config.names import did_you_mean
from config.sources import Source
from config.yaml_reader import Document, DocumentError, Place, parse

# ------------------------------------------------------------------------------------------------------ reading


def from_flags(config: str | None, stop: str | None) -> Iterator[Source]:
    """Yields the settings of --config, which may use our sections, and of --stop."""
    if config is not None and (source := convlab.from_config(config)):
        config = None
        yield source
    for flag, text, read in (("--config", config, from_settings), ("--stop", stop, from_stop_rules)):
        if text is not None:
            document, problem = _json(flag, text)
            yield read(document) if document else Source(True, problems=[problem])


def _json(flag: str, text: str) -> tuple[Document | None, str]:
    """Returns the mapping in a text, or what is wrong with it."""
    try:
        try:
            document = parse(text, flag, numbered=False)
        except DocumentError:
            document = parse(text, flag)  # fails again, with line and column
    except DocumentError as error:
        return None, str(error)
    if isinstance(document.value, dict):
        return document, ""
    file = "; a file is given as --yaml FILE" if str(document.value).endswith((".yaml", ".yml", ".json")) else ""
    return None, f"{flag}: got {shown(document.value)}; expected {{name: value}}{file}"


def from_settings(document: Document) -> Source:
    """Returns the settings of a mapping with our sections or RLlib's names."""
    source = sources.from_document(document, written=True)
    for key, *_ in source.strays:
        value, place = document.value[key], document.place.parts[key]
        if key == "env":  # the choice of the preset depends on it, before the names are translated
            source.put("env_cfg", "id", value, place)
        else:
            source.foreign[key] = (value, place)
    source.strays.clear()
    return source


def from_stop_rules(document: Document) -> Source:
    """Returns the settings of a mapping with RLlib's stop rules."""
    source = Source(True, problems=list(document.duplicates))
    for key, value in document.value.items():
        place = document.place.parts[key]
        if key in STOP_RULES:
            source.foreign[key] = (value, place)
        else:
            near = did_you_mean(key, STOP_RULES) or f"; known: {', '.join(STOP_RULES)}"
            source.problems.append(f"{place.text}: {place.path}: is not a stop rule{near}")
    return source


# -------------------------------------------------------------------------------------------------- translation


def translate(source: Source, known: Known, hint: Callable[[str], str]) -> Iterator[str]:
    """Puts the settings that have RLlib's names under ours, and yields a note on each. hint: end of a sentence about an
    unknown setting."""
    for key in sorted(source.foreign, key=lambda key: key in LAST):
        value, place = source.foreign[key]
        try:
            meaning = meaning_of(key, value, known)
        except NoCounterpartError as reason:
            source.problems.append(f"{place.text}: {place.path}: {reason}")
            continue
        except LookupError:
            if "algo_cfg" in known.models:
                near = (hint(key) or did_you_mean(key, VALUES)).removeprefix("; ") or "has no counterpart here"
                source.problems.append(f"{place.text}: {place.path}: {near}")
            continue
        _put(source, meaning, place)
        if note := _note(key, value, meaning):
            yield f"{place.text}: {note}"


def meaning_of(key: str, value: Any, known: Known) -> Meaning:
    """Returns the settings that a name and its value mean here. Raises NoCounterpartError, or LookupError for an
    unknown name."""
    if value is None:
        return Meaning({}, "null is the default")
    if key in NOTHING and (not NOTHING[key][1] or value in NOTHING[key][1]):
        return Meaning({}, NOTHING[key][0])
    if key in VALUES:
        return VALUES[key](value, known)
    if key in REFUSED:
        raise NoCounterpartError(REFUSED[key])
    if remark := foreign_names.remark_on(key):
        raise NoCounterpartError(remark)
    for section, name, remark in foreign_names.ours(key):
        if known.has(f"{section}.{name}"):
            if remark:
                raise NoCounterpartError(f"is {name} here ({remark}); write {section}.{name}")
            parts = foreign_names.together(key, name, known.models[section].model_fields)
            return Meaning({f"{section}.{part}": value for part in parts})
    owner = next((section for section, model in known.models.items() if key in model.spellings()), None)
    if owner is None:
        raise LookupError(key)
    return Meaning({f"{owner}.{known.models[owner].field_name(key)}": value})


def _put(source: Source, meaning: Meaning, place: Place) -> None:
    for path, value in meaning.settings.items():
        section, _, name = path.partition(".")
        if name in source.sections.get(section, {}):
            other = source.places[section].parts[name].path
            source.problems.append(f"{place.text}: {place.path}: sets {path}, which {other} sets too; keep one")
            return
        source.put(section, name, value, Place(place.text, place.path))


def _note(key: str, value: Any, meaning: Meaning) -> str:
    """Returns a setting and its meaning in words; empty if they are the same."""
    if not meaning.settings:
        return f"{key} {_plain(value)} needs nothing here: {meaning.remark}"
    named = {path.partition(".")[2]: other for path, other in meaning.settings.items()}
    if named == {key: value}:
        return ""
    ours = ", ".join(f"{name} {_plain(other)}" for name, other in named.items())
    return f"{key} {_plain(value)} -> {ours}" + (f" ({meaning.remark})" if meaning.remark else "")


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else shown(value)
