"""Several experiments in one command: algorithms to compare, or a file as RLlib's tuned examples are: a name, and below
it run, env, stop and config."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from config.foreign import rllib
from config.foreign.rllib_keys import CONFIG, PARTS
from config.model import SECTIONS, policies
from config.program import PROGRAM
from config.read.loader import ConfigError, load
from config.read.opening import named
from config.read.run_config import RunConfig
from config.read.sources import Source
from config.read.yaml_reader import Document, DocumentError, Place, read
from config.tell.error_text import shown
from config.tell.names import did_you_mean
from config.tune import space

MAIN = ("run", "env", "stop", "config")
"""Parts that every experiment has."""
REPEATS = ("num_samples", "repeat", "num_trials")
"""Parts that are a number of runs."""


def load_all(
    yaml_path: str | Path | None, overrides: Iterable[str] = (), *, algo: str | None = None, **options: Any
) -> dict[str, RunConfig]:
    """Returns the configuration of each experiment by its name, or a single one without a name. All problems of all
    experiments are reported at once.

    algo: an algorithm, or several with commas between them: an experiment for each. options: those of
    config.loader.load."""
    words = list(overrides)
    names = [name.strip() for name in algo.split(",")] if algo else []
    if len(names) > 1:
        if problem := _not_several(names, yaml_path):
            raise ConfigError([problem])
        return _each({name: partial(load, None, words, algo=name, **options) for name in names})
    try:
        document = read(yaml_path, named) if yaml_path else None
    except DocumentError as error:
        raise ConfigError([str(error)]) from None
    if document and is_config(document):
        if not algo:
            what = "settings of RLlib without the name of an algorithm"
            raise ConfigError([f"{yaml_path}: {what}: {PROGRAM} --run NAME -f {yaml_path}"])
        return {"": load(yaml_path, words, file=rllib.from_settings(document), algo=algo, **options)}
    found = experiments(document) if document else {}
    if document and found and (domains := list(space.found(document.value, document.place, []))):
        first = domains[0]
        told = f"{first.place}: {first.path}: values to try are for: {PROGRAM} tune -f {yaml_path}"
        raise ConfigError([told])
    if not found:
        return {"": load(yaml_path, words, file=document, algo=algo, **options)}
    read_one = partial(load, yaml_path, words, algo=algo, **options)
    return _each({name: partial(read_one, file=source) for name, source in found.items()})


def _not_several(names: list[str], yaml_path: str | Path | None) -> str:
    """Returns why these algorithms cannot be compared in one command; empty if they can."""
    if "" in names:
        return f"--algo {','.join(names)}: names of algorithms with commas between them, such as PPO,DQN"
    if twice := {name for name in names if [other.lower() for other in names].count(name.lower()) > 1}:
        return f"--algo {','.join(names)}: {min(twice)} is named twice"
    if yaml_path:
        return (
            f"--algo {','.join(names)} takes the preset of each; leave out --yaml, or train with one at a time "
            f"(--algo {names[0]} --yaml {yaml_path} --seeds 1..3) and then compare: {PROGRAM} compare NAME OTHER"
        )
    return ""


def _each(loads: dict[str, Callable[[], RunConfig]]) -> dict[str, RunConfig]:
    """Returns the configuration of each experiment. The problems of all are reported at once."""
    configs: dict[str, RunConfig] = {}
    problems: list[str] = []
    for name, loaded in loads.items():
        try:
            configs[name] = loaded()
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(list(dict.fromkeys(problems)))
    return configs


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
    found = {name: _experiment(name, part, document.place.parts[name]) for name, part in value.items()}
    next(iter(found.values())).problems += document.duplicates
    return found


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
            source.problems.append(f"{where.text}: {where.path}: got null; expected the name of an algorithm")
        elif key == "env" or key in PARTS:
            source.foreign["run" if key == "alg" else key] = (part, where)
        else:
            known = did_you_mean(key, (*MAIN, *PARTS)) or f"; known: {', '.join((*MAIN, 'checkpoint_freq'))}"
            source.problems.append(f"{where.text}: {where.path}: is not a part of an experiment{known}")
    rllib.name_algorithm(source)
    return source


def _add(source: Source, key: str, value: Any, place: Place) -> None:
    """Adds the mapping under stop or config."""
    if not isinstance(value, dict):
        source.problems.append(
            f"{place.text}: {place.path}: got {shown(value)}; expected lines of the form name: value"
        )
        return
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
