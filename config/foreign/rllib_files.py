"""Files of RLlib: experiments, or the config of one, such as its params.json; and their conversion."""

from typing import Any

from config.config import GeneralConfig
from config.foreign import rllib
from config.foreign.dialect import LOST, NEEDLESS, ConversionError, OldFile, new_file
from config.foreign.rllib_keys import CONFIG, PARTS
from config.foreign.table import Scope
from config.model import SECTIONS, policies
from config.model.fields import Strict
from config.model.schema import FILM, AlgoConfig
from config.program import PROGRAM
from config.read.finder import Finder
from config.read.sources import Source, not_a_mapping
from config.read.yaml_reader import Document, Place
from config.tell.error_text import shown
from config.tell.language import tr
from config.tell.names import did_you_mean

MAIN = ("run", "env", "stop", "config")
"""Parts that every experiment has."""
REPEATS = ("num_samples", "repeat", "num_trials")
"""Parts that are a number of runs."""


def is_config(document: Document) -> bool:
    """Returns True for a file with RLlib's words outside of any section, such as its params.json."""
    value = document.value
    if not isinstance(value, dict) or set(value) & {*SECTIONS, policies.SECTION} or len(value) < 2:
        return False
    return "run" not in value and 2 * sum(key in CONFIG for key in value) > len(value)


def experiments(document: Document) -> dict[str, Source]:
    """Returns the settings of each experiment by its name; none if the file has our sections."""
    value = document.value
    if not isinstance(value, dict) or set(value) & set(SECTIONS):
        return {}
    if not any(isinstance(part, dict) and {"run", "alg"} & set(part) for part in value.values()):
        return {}
    sources = {name: _experiment(name, part, document.place.parts[name]) for name, part in value.items()}
    next(iter(sources.values())).problems += document.duplicates
    return sources


def take_repeats(document: Document) -> int:
    """Takes the number of runs out of a file with one experiment, and returns it; 0 without any."""
    parts = [part for part in document.value.values() if isinstance(part, dict) and {"run", "alg"} & set(part)]
    counts = [part.pop(word) for part in parts for word in REPEATS if isinstance(part.get(word), int)]
    return counts[0] if len(parts) == 1 and counts else 0


def _experiment(name: str, value: Any, place: Place) -> Source:
    if not isinstance(value, dict):
        return Source(True, problems=[f"{place.text}: {name}: got {shown(value)}; expected {', '.join(MAIN)}"])
    source = Source(written=True)
    for key, part in value.items():
        where = place.parts[key]
        if key == "env":
            source.put("env_cfg", "id", part, where)
        if key in ("stop", "config"):
            if part is not None:
                _add(source, key, part, where)
        elif key in ("run", "alg") and part is None:
            source.refuse(where, tr("got null; expected the name of an algorithm"))
        elif key == "env" or key in PARTS:
            source.foreign["run" if key == "alg" else key] = (part, where)
        else:
            listed = tr("; known: {names}", names=", ".join((*MAIN, "checkpoint_freq")))
            near = did_you_mean(key, (*MAIN, *PARTS)) or listed
            source.refuse(where, tr("is not a part of an experiment{near}", near=near))
    rllib.name_algorithm(source)
    return source


def _add(source: Source, key: str, value: Any, place: Place) -> None:
    """Adds the mapping under stop or config."""
    if not isinstance(value, dict):
        return source.refuse(place, not_a_mapping(value))
    read_part = rllib.from_settings if key == "config" else rllib.from_stop_rules
    part = read_part(Document(value, place))
    for section, settings in part.sections.items():
        if not settings:  # a policy lacks its agents then
            source.sections.setdefault(section, {})
            source.places.setdefault(section, part.places[section])
        for name, setting in settings.items():
            source.put(section, name, setting, part.places[section].parts[name])
    source.foreign |= part.foreign
    source.problems += part.problems


# --------------------------------------------------------------------------------------------------- conversion


def understands(document: Document) -> bool:
    """Returns True for experiments of RLlib, or the config of one."""
    return is_config(document) or bool(experiments(document))


def converted(file: OldFile) -> str:
    """Returns the text of the new file."""
    source = _chosen(file.document, file.name)
    algo, lost = _algorithm(source, file.find_algo)
    kind = file.find_env.get("gym")
    models: dict[str, type[Strict]] = {"general_cfg": GeneralConfig, "env_cfg": kind.Config}
    models["algo_cfg"] = algo.Config if algo else AlgoConfig
    source.problems += lost
    _put_present_ids(source, kind)
    scope, name_here = Scope(models, [source]), str(source.sections.get("general_cfg", {}).get("algo_name", "DQN"))
    rllib.put_present_env(source, scope, kind)

    def hint(section: str, key: str) -> str:
        if algo is None:
            return tr("; a word of an algorithm, which has to be named first")
        return file.hint(section, key, models, name_here)

    return _text(source, list(rllib.translate(source, scope, hint).notes))


def _chosen(document: Document, name: str) -> Source:
    """Returns the settings of an experiment."""
    file = document.place.text
    if is_config(document):
        return rllib.from_settings(document)
    sources = experiments(document)
    if name and name not in sources:
        near = did_you_mean(name, sources) or tr("; it has {names}", names=", ".join(sources))
        raise ConversionError(tr("{file}: has no experiment {name!r}{near}", file=file, name=name, near=near))
    if not name and len(sources) > 1:
        names = ", ".join(sources)
        raise ConversionError(
            tr(
                "{file}: has {count} experiments, {names}; {command} converts one",
                file=file,
                count=len(sources),
                names=names,
                command=f"{PROGRAM} convert FILE NAME",
            )
        )
    return sources[name or next(iter(sources))]


def _algorithm(source: Source, find_algo: Finder) -> tuple[Any, list[str]]:
    """Returns the package of the algorithm, or None and what is to be done."""
    name = source.sections.get("general_cfg", {}).get("algo_name")
    if not isinstance(name, str):
        return None, [tr("general_cfg.algo_name: write the name of the algorithm, which is not in the file")]
    try:
        return find_algo.get(name), []
    except LookupError:
        return None, [tr("general_cfg.algo_name: there is no {name} here", name=name)]


def _put_present_ids(source: Source, kind: Any) -> None:
    """Puts present ids in the place of those of a list of environments to try."""
    value = source.foreign.get("env", (None, None))[0]
    for key, ids in value.items() if isinstance(value, dict) else ():
        if isinstance(ids, list) and all(isinstance(env_id, str) for env_id in ids):
            here = [rllib.present_id(env_id, kind)[0] for env_id in ids]
            source.put("env_cfg", "id", {key: here}, source.places["env_cfg"].parts["id"])
            if all(env_id.startswith("ALE/") for env_id in here):
                source.put("env_cfg", "vectorization", "native", source.places["env_cfg"].parts["id"])


def _text(source: Source, notes: list[str]) -> str:
    """Returns the new file. notes: what became of the words."""
    remarks = {note.split(": ", 1)[-1].split(" -> ")[0].split(" ")[0]: note for note in notes if " -> " in note}
    comments = {}
    for section in SECTIONS:
        for key, value in source.sections.get(section, {}).items():
            comments[f"{section}.{key}"] = _comment(source.places[section].parts[key].path, key, remarks)
            source.sections[section][key] = "rgb_array" if value is FILM else value
    needless = [note for note in notes if " -> " not in note]
    named = {name: part for section, part in source.sections.items() if (name := policies.name_of(section)) is not None}
    return new_file(
        source.sections,
        comments,
        {LOST: source.problems, NEEDLESS: needless},
        {policies.SECTION: named} if named else {},
    )


def _comment(path: str, key: str, remarks: dict[str, str]) -> str:
    """Returns the comment that names the word of RLlib; empty if it is the same."""
    word = path.partition(".config.")[2] or path.rpartition(".")[2]
    remark = remarks.get(word, "").rpartition(" (")
    return "" if word == key else tr("was {name}", name=word) + (f" ({remark[2]}" if remark[1] else "")
