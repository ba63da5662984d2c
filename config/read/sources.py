"""Sources of settings: a YAML file, an earlier run, the command line."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from config.foreign import names as foreign_names
from config.model import SECTIONS, policies
from config.model.domain_kinds import SECTION as TUNING
from config.model.fields import Strict
from config.model.schema import FILM, EnvConfig
from config.program import PROGRAM
from config.read.yaml_reader import Document, DocumentError, Place, parse
from config.tell.error_text import shown
from config.tell.language import tr
from config.tell.names import COMMAND_LINE

NOT_TAKEN_OVER = ("mode", "load_checkpoint", "load_path", "load_model_step", "ray_address")
"""General settings of an earlier run that a command does not inherit. The address of a cluster is among them: whoever
answers there can run code here, and the directory may come from a stranger."""


EXPERIMENTS = "experiments"
"""Section of the runs of a file."""


class Stray(NamedTuple):
    """A setting outside any section."""

    key: str
    where: str
    value: str
    """Value with its equals sign, from the command line; empty for a file."""
    path: str
    """Name as it was written: on the command line with the section before it, which may not exist."""


@dataclass
class Source:
    """Settings of one source, and their places."""

    written: bool
    """True if the user wrote it for this run."""
    sections: dict[str, dict[str, Any]] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    strays: list[Stray] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Remarks on how settings were read, for the user."""
    foreign: dict[str, tuple[Any, Place]] = field(default_factory=dict)
    """Settings by RLlib's names; config/foreign/rllib.py puts them under ours once the algorithm is known."""
    of_policies: dict[str, dict[str, tuple[Any, Place]]] = field(default_factory=dict)
    """Settings of the policies of its multiagent, by RLlib's names, by section."""

    def put(self, section: str, key: str, value: Any, place: Place) -> None:
        self.sections.setdefault(section, {})[key] = value
        self.places.setdefault(section, Place(place.text, section)).parts[key] = place

    def policy_names(self) -> list[str]:
        """Returns the names of the policies that it sets."""
        return [name for section in self.sections if (name := policies.name_of(section))]

    def drop_policies(self) -> None:
        """Removes its policies, and the choice of one of them as the score."""
        names = self.policy_names()
        for section in map(policies.section_of, names):
            del self.sections[section], self.places[section]
        if self.sections.get("general_cfg", {}).get("score_policy") in names:
            del self.sections["general_cfg"]["score_policy"], self.places["general_cfg"].parts["score_policy"]

    def refuse(self, place: Place, what: str) -> None:
        """Records what is wrong with a value."""
        self.problems.append(place.fault(what))

    def put_section(self, name: str, value: Any, place: Place) -> None:
        """Adds the settings of a whole section; null has none."""
        if name == policies.SECTION:
            self.put_policies(value, place)
        elif isinstance(value, dict):
            self.sections.setdefault(name, {})
            self.places.setdefault(name, Place(place.text, name))
            for key, setting in value.items():
                self.put(name, key, setting, place.parts[key])
        elif value is not None:
            self.refuse(place, not_a_mapping(value))

    def put_policies(self, value: Any, place: Place) -> None:
        """Adds the section policies_cfg: each policy is a section of its own."""
        if value is not None and not isinstance(value, dict):
            message = tr("got {value}; expected {kind}{end}", value=shown(value), kind=policies.EXPECTED, end="")
            return self.refuse(place, message)
        for name, settings in (value or {}).items():
            self.put_section(policies.section_of(name), {} if settings is None else settings, place.parts[name])

    def missing(self) -> list[str]:
        """Returns the sections that are absent or empty."""
        return [name for name in SECTIONS if not self.sections.get(name)]


def not_a_mapping(value: Any) -> str:
    """Returns what is wrong with a value in the place of settings by name."""
    return tr("got {value}; expected lines of the form name: value", value=shown(value))


def from_document(document: Document, *, written: bool) -> Source:
    """Returns the settings of a file."""
    source = Source(written, problems=list(document.duplicates))
    if document.value is None:
        return source
    if not isinstance(document.value, dict):
        source.problems.append(
            tr(
                "{place}: got {value}; expected the sections {sections}",
                place=document.place.text,
                value=shown(document.value),
                sections=", ".join(SECTIONS),
            )
        )
        return source
    sections = {*SECTIONS, policies.SECTION, TUNING}
    if not sections & set(document.value) and (library := foreign_names.origin(document.value, document.place.file)):
        source.problems.append(
            tr(
                "{place}: has none of the sections {sections}{library}",
                place=document.place.text,
                sections=", ".join(SECTIONS),
                library=library,
            )
        )
        return source
    for key, value in document.value.items():
        place = document.place.parts[key]
        if key == TUNING:
            source.refuse(place, tr("only tuning reads it: {command}", command=f"{PROGRAM} tune --yaml FILE"))
        elif key == EXPERIMENTS:
            command = f"{PROGRAM} --yaml {document.place.file} --seeds 1..3"
            source.refuse(place, tr("only training reads them, each as a run: {command}", command=command))
        elif key not in sections:
            source.strays.append(Stray(key, place.text, "", place.path or key))
        else:
            source.put_section(key, value, place)
    return source


def from_task(document: Document, *, testing: bool) -> Source:
    """Returns the settings of an earlier run's config.yaml, except which model that run loaded itself."""
    source = from_document(document, written=False)
    general = source.sections.get("general_cfg", {})
    for key in NOT_TAKEN_OVER:
        general.pop(key, None)
    if testing:
        for key in ("callbacks", "loggers"):
            general.pop(key, None)
    else:
        path = "general_cfg.load_model_step"
        source.put("general_cfg", "load_model_step", "latest", Place(document.place.text, path))
    return source


def address_of(document: Document) -> str | None:
    """Returns the ray_address in an earlier run's config.yaml."""
    address = from_document(document, written=False).sections.get("general_cfg", {}).get("ray_address")
    return address if isinstance(address, str) else None


def flags(
    algo: str | None,
    env: str | None,
    resume: str | None,
    test: str | None,
    video: bool,
    episodes: int | None = None,
    model: str | int | None = None,
    word: str = "",
) -> list[tuple[str, str, Any]]:
    """Returns the flags of these names as (flag, section.key, value). word: command that stands for --resume or
    --test."""
    loads = {"load_checkpoint": True, "load_path": resume or test}
    table: list[tuple[str, Any, str, dict[str, Any]]] = [
        ("--algo", algo, "general_cfg", {"algo_name": algo}),
        ("--env", env, "env_cfg", {"id": env}),
        (word or "--resume", resume, "general_cfg", {**loads, "load_model_step": "latest", "mode": "train"}),
        (word or "--test", test, "general_cfg", {**loads, "load_path": test, "mode": "test"}),
        (word or "--video", video, "env_cfg", {"render_mode": FILM}),
        ("--episodes", episodes, "general_cfg", {"max_episode": episodes}),
        ("--model", model is not None, "general_cfg", {"load_model_step": model}),
    ]
    return [
        (flag, f"{section}.{key}", value)
        for flag, is_set, section, settings in table
        if is_set
        for key, value in settings.items()
    ]


def choose_film(sources: Iterable[Source], model: type[Strict] | None) -> None:
    """Puts the render_mode in which this environment is filmed in the place of FILM. model: of env_cfg, if the kind of
    environment is known."""
    for source in sources:
        settings = source.sections.get("env_cfg", {})
        if settings.get("render_mode") is FILM:
            settings["render_mode"] = getattr(model, "FILM", EnvConfig.FILM)[0]


def from_values(values: Mapping[str, Mapping[str, Any]], text: str) -> Source:
    """Returns settings that a Python program gives by section. text: where they come from."""
    source = Source(written=True)
    for section, settings in values.items():
        if section == policies.SECTION:
            plain = _builtin(settings)
            source.put_policies(plain, _placed(plain, text, section))
            continue
        for key, value in settings.items():
            plain = _builtin(value)
            source.put(section, key, plain, _placed(plain, text, f"{section}.{key}"))
    return source


def document_of(values: Mapping[str, Any], text: str) -> Document:
    """Returns a mapping of a Python program as if it were a file. text: where it comes from."""
    plain = _builtin(values)
    return Document(plain, _placed(plain, text, ""))


def _placed(value: Any, text: str, path: str) -> Place:
    """Returns the place of a value, and the places of its parts."""
    place = Place(text, path)
    if isinstance(value, dict):
        place.parts |= {key: _placed(part, text, f"{path}.{key}".lstrip(".")) for key, part in value.items()}
    elif isinstance(value, list):
        place.parts |= {i: _placed(part, text, f"{path}[{i}]") for i, part in enumerate(value)}
    return place


def _builtin(value: Any) -> Any:
    """Returns a value with lists for tuples and Python's numbers for numpy's, as YAML would give it."""
    if isinstance(value, Mapping):
        return {key: _builtin(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_builtin(item) for item in value]
    return value.item() if hasattr(value, "item") and getattr(value, "shape", None) == () else value


def from_command_line(
    overrides: Iterable[str],
    flags: Iterable[tuple[str, str, Any]],
    below: Source | None = None,
    sections: tuple[str, ...] = (),
) -> Source:
    """Returns the settings of section.key=value and section={key: value} words, and of flags as (flag, section.key,
    value). below: settings that they are added to; sections: further ones that words may name."""
    source = below or Source(written=True)
    sections = (*SECTIONS, policies.SECTION, *sections)
    for flag, path, value in flags:
        section, _, key = path.partition(".")
        source.put(section, key, value, Place(flag, path))
    for override in overrides:
        path, equals, text = override.partition("=")
        section, key = _split(path)
        a_setting = key and (section in sections or policies.name_of(section))
        if not equals or not (a_setting or path in sections):
            source.strays.append(Stray(path.rpartition(".")[2] or path, COMMAND_LINE, equals + text, path))
            continue
        if not text.strip():
            source.refuse(Place(COMMAND_LINE, path), tr("no value after =; write null for the default"))
            continue
        try:
            text = json.dumps(text) if text.startswith("*") else text  # a pattern, and no alias of YAML
            document = parse(text, COMMAND_LINE, path=path, numbered=False)
        except DocumentError as error:
            source.problems.append(str(error))
            continue
        source.problems += document.duplicates
        if path in sections:
            source.put_section(section, document.value, document.place)
        elif section == policies.SECTION:
            source.put_policies({key: document.value}, Place(COMMAND_LINE, section, {key: document.place}))
        else:
            source.put(section, key, document.value, document.place)
    return source


def _split(path: str) -> tuple[str, str]:
    """Returns section and key of a path; a policy is a section of its own."""
    section, _, key = path.partition(".")
    if section == policies.SECTION and "." in key:
        name, _, key = key.partition(".")
        section = policies.section_of(name)
    return section, key


def merge(sources: Iterable[Source], section: str, model: type[Strict]) -> tuple[dict[str, Any], Place]:
    """Returns the settings of a section by field name, and their places. A later source wins."""
    values: dict[str, Any] = {}
    merged = Place(tr("defaults"), section)
    for source in sources:
        place = source.places.get(section)
        if place is None:
            continue
        merged.text = place.text
        for key, value in source.sections[section].items():
            name = model.field_name(key)
            values[name], merged.parts[name] = value, place.parts[key]
    return values, merged


def doubled(source: Source, section: str, model: type[Strict]) -> Iterator[str]:
    """Yields the settings that a source gives under two spellings."""
    spellings: dict[str, str] = {}
    for key in source.sections.get(section, {}):
        name = model.field_name(key)
        if name in spellings:
            place, other = source.places[section].parts[key], spellings[name]
            yield place.fault(tr("another spelling of {other}, which is set too; keep one", other=other))
        spellings[name] = key
