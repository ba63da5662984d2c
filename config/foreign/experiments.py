"""Several experiments in one command: algorithms to compare, or a file of another library with experiments by name."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from config.foreign.dialects import DIALECTS, experiments
from config.program import PROGRAM
from config.read import search_space
from config.read.loader import ConfigError, load
from config.read.opening import named
from config.read.run_config import RunConfig
from config.read.yaml_reader import DocumentError, read
from config.system.terminal import quoted
from config.tell.language import tr


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
            raise ConfigError(problem)
        return _load_each({name: partial(load, None, words, algo=name, **options) for name in names})
    try:
        document = read(yaml_path, named) if yaml_path else None
    except DocumentError as error:
        raise ConfigError(str(error)) from None
    read_one = partial(load, yaml_path, words, algo=algo, **options)
    for dialect in DIALECTS:
        if document and (source := dialect.settings(document)):
            if not algo:
                raise ConfigError(
                    "{path}: settings of {library} without the name of an algorithm: {command}",
                    path=yaml_path,
                    library=dialect.library,
                    command=f"{PROGRAM} --run NAME -f {quoted(str(yaml_path))}",
                )
            return {"": read_one(file=source)}
    sources = experiments(document) if document else {}
    if document and sources and (domains := list(search_space.domains_of(document.value, document.place, []))):
        first = domains[0]
        command = f"{PROGRAM} tune -f {quoted(str(yaml_path))}"
        raise ConfigError(
            "{place}: {path}: values to try are for: {command}", place=first.place, path=first.path, command=command
        )
    if not sources:
        return {"": read_one(file=document)}
    return _load_each({name: partial(read_one, file=source) for name, source in sources.items()})


def _not_several(names: list[str], yaml_path: str | Path | None) -> str:
    """Returns why these algorithms cannot be compared in one command; empty if they can."""
    if "" in names:
        return tr(
            "--algo {names}: names of algorithms with commas between them, such as PPO,DQN", names=",".join(names)
        )
    if twice := {name for name in names if [other.lower() for other in names].count(name.lower()) > 1}:
        return tr("--algo {names}: {name} is named twice", names=",".join(names), name=min(twice))
    if yaml_path:
        return tr(
            "--algo {names} takes the preset of each; leave out --yaml, or train with one at a time ({example}) "
            "and then compare: {command}",
            names=",".join(names),
            example=f"--algo {names[0]} --yaml {yaml_path} --seeds 1..3",
            command=f"{PROGRAM} compare NAME OTHER",
        )
    return ""


def _load_each(loads: dict[str, Callable[[], RunConfig]]) -> dict[str, RunConfig]:
    """Returns the configuration of each experiment. The problems of all are reported at once."""
    configs: dict[str, RunConfig] = {}
    problems: list[str] = []
    for name, loaded in loads.items():
        try:
            configs[name] = loaded()
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(*dict.fromkeys(problems))
    return configs
