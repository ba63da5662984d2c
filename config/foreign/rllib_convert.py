"""Converts an experiment of RLlib's files into a file of ours, with a comment for each word that became another."""

from collections.abc import Iterator
from typing import Any

import yaml

from config.config import GeneralConfig
from config.foreign import hints, rllib
from config.foreign.experiments import experiments, is_config
from config.foreign.table import Scope
from config.model import SECTIONS, policies
from config.model.fields import Strict
from config.model.schema import FILM, AlgoConfig
from config.program import PROGRAM
from config.read.finder import Finder
from config.read.loader import ConfigError
from config.read.sources import Source
from config.read.yaml_reader import Document, Dumper
from config.tell.names import did_you_mean, printable

LOST = "Not converted; look for a setting that does the same:"
NEEDLESS = "Left out, since nothing is needed here:"


def understands(document: Document) -> bool:
    """Returns True for experiments of RLlib, or the config of one."""
    return is_config(document) or bool(experiments(document))


def converted(document: Document, find_algo: Finder, find_env: Finder, name: str = "") -> str:
    """Returns the text of the new file. name: of one of several experiments."""
    source = _chosen(document, name)
    algo, lost = _algorithm(source, find_algo)
    kind = find_env.get("gym")
    models: dict[str, type[Strict]] = {"general_cfg": GeneralConfig, "env_cfg": kind.Config}
    models["algo_cfg"] = algo.Config if algo else AlgoConfig
    source.problems += lost
    _put_present_ids(source, kind)
    scope, name_here = Scope(models, [source]), str(source.sections.get("general_cfg", {}).get("algo_name", "DQN"))
    rllib.put_present_env(source, scope, kind)

    def hint(key: str) -> str:
        if algo is None:
            return "; a word of an algorithm, which has to be named first"
        return hints.unknown_setting("algo_cfg", key, models, find_algo, name_here)

    notes = list(rllib.translate(source, scope, hint))
    return "".join(_lines(source, notes))


def _chosen(document: Document, name: str) -> Source:
    """Returns the settings of an experiment."""
    file = document.place.text
    if is_config(document):
        return rllib.from_settings(document)
    known = experiments(document)
    if name and name not in known:
        near = did_you_mean(name, known) or f"; it has {', '.join(known)}"
        raise ConfigError([f"{file}: has no experiment {name!r}{near}"])
    if not name and len(known) > 1:
        names = ", ".join(known)
        raise ConfigError([f"{file}: has {len(known)} experiments, {names}; {PROGRAM} convert FILE NAME converts one"])
    return known[name or next(iter(known))]


def _algorithm(source: Source, find_algo: Finder) -> tuple[Any, list[str]]:
    """Returns the package of the algorithm, or None and what is to be done."""
    name = source.sections.get("general_cfg", {}).get("algo_name")
    if not isinstance(name, str):
        return None, ["general_cfg.algo_name: write the name of the algorithm, which is not in the file"]
    try:
        return find_algo.get(name), []
    except LookupError:
        return None, [f"general_cfg.algo_name: there is no {name} here"]


def _put_present_ids(source: Source, kind: Any) -> None:
    """Puts present ids in the place of those of a list of environments to try."""
    value = source.foreign.get("env", (None, None))[0]
    for key, ids in value.items() if isinstance(value, dict) else ():
        if isinstance(ids, list) and all(isinstance(each, str) for each in ids):
            here = [rllib.present_id(each, kind)[0] for each in ids]
            source.put("env_cfg", "id", {key: here}, source.places["env_cfg"].parts["id"])
            if all(each.startswith("ALE/") for each in here):
                source.put("env_cfg", "vectorization", "native", source.places["env_cfg"].parts["id"])


def _lines(source: Source, notes: list[str]) -> Iterator[str]:
    for heading, listed in ((LOST, source.problems), (NEEDLESS, [note for note in notes if "needs nothing" in note])):
        yield from (f"# {heading}\n", *(f"#   {printable(line)}\n" for line in listed)) if listed else ()
    remarks = {note.split(": ", 1)[-1].split(" -> ")[0].split(" ")[0]: note for note in notes if " -> " in note}
    for section in SECTIONS:
        settings = source.sections.get(section, {})
        yield from (f"{section}:\n",) if settings else ()
        for key, value in settings.items():
            place = source.places[section].parts[key]
            flow = _flow({key: "rgb_array" if value is FILM else value})
            yield f"  {flow}{_comment(place.path, key, remarks)}\n"
    kept = {
        name: settings
        for section, settings in source.sections.items()
        if (name := policies.name_of(section)) is not None
    }
    if kept:
        yield yaml.dump({policies.SECTION: kept}, Dumper=Dumper, sort_keys=False, allow_unicode=True)


def _flow(pair: dict[str, Any]) -> str:
    text = yaml.dump(pair, Dumper=Dumper, default_flow_style=True, sort_keys=False, width=10_000, allow_unicode=True)
    return text.strip()[1:-1]


def _comment(path: str, key: str, remarks: dict[str, str]) -> str:
    """Returns the comment that names the word of RLlib; empty if it is the same."""
    word = path.partition(".config.")[2] or path.rpartition(".")[2]
    if word == key:
        return ""
    remark = remarks.get(word, "").rpartition(" (")
    return printable(f"  # was {word}" + (f" ({remark[2]}" if remark[1] else ""))
