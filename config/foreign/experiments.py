"""Several experiments in one command: algorithms and environments to compare, or a file with experiments by name, ours
or another library's."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from config.foreign.dialects import DIALECTS, experiments
from config.program import PROGRAM
from config.read import search_space
from config.read.experiments import experiments_of
from config.read.loader import ConfigError, load
from config.read.opening import named
from config.read.run_config import RunConfig
from config.read.yaml_reader import DocumentError, read
from config.system.terminal import quoted
from config.tell.language import tr


def load_all(
    yaml_path: str | Path | None,
    overrides: Iterable[str] = (),
    *,
    algo: str | None = None,
    env: str | None = None,
    **options: Any,
) -> dict[str, RunConfig]:
    """Returns the configuration of each experiment by its name, or a single one, whose name is empty unless it stands
    in a section experiments. All problems of all experiments are reported at once.

    algo, env: an algorithm and an environment, or several with commas between them: an experiment for each pair.
    options: those of config.loader.load."""
    words = list(overrides)
    algos, envs = _names(algo), _names(env)
    if len(algos) > 1 or len(envs) > 1:
        if problem := _not_several("--algo", algos, yaml_path) or _not_several("--env", envs, yaml_path):
            raise ConfigError(problem)
        return _load_each(_pairs(algos, envs, partial(load, None, words, **options)))
    options["env"] = env
    try:
        document = read(yaml_path, named) if yaml_path else None
        own = experiments_of(document) if document else {}
    except DocumentError as error:
        raise ConfigError(str(error)) from None
    read_one = partial(load, yaml_path, words, algo=algo, **options)
    if own:
        configs = _load_each({name: partial(read_one, file=part) for name, part in own.items()})
        _refuse_equal(configs, yaml_path)
        return configs
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
    configs = _load_each({name: partial(read_one, file=source) for name, source in sources.items()})
    return configs if len(configs) > 1 else dict.fromkeys([""], *configs.values())  # its file has a name for each run


def _pairs(
    algos: Sequence[str | None], envs: Sequence[str | None], load_one: Callable[..., RunConfig]
) -> dict[str, Callable[[], RunConfig]]:
    """Returns what loads the experiment of each algorithm and environment, by a name of what differs."""
    loads: dict[str, Callable[[], RunConfig]] = {}
    for algo, env in itertools.product(algos, envs):
        differing = (algo if len(algos) > 1 else "", env if len(envs) > 1 else "")
        loads[" ".join(filter(None, differing))] = partial(load_one, algo=algo, env=env)
    return loads


def _names(text: str | None) -> list[str | None]:
    """Returns the names between the commas of a flag; None for one that is left out."""
    return [name.strip() for name in text.split(",")] if text else [None]


def _not_several(flag: str, names: Sequence[str | None], yaml_path: str | Path | None) -> str:
    """Returns why these algorithms or environments cannot be compared in one command; empty if they can."""
    if len(names) == 1:
        return ""
    words = [str(name) for name in names]
    written = f"{flag} {','.join(words)}"
    if not all(words):
        return tr(
            "{written}: names with commas between them, such as {example}",
            written=written,
            example="PPO,DQN" if flag == "--algo" else "CartPole-v1,Acrobot-v1",
        )
    if twice := {name for name in words if [other.lower() for other in words].count(name.lower()) > 1}:
        return tr("{written}: {name} is named twice", written=written, name=min(twice))
    if yaml_path:
        return tr(
            "{written} takes the preset of each; leave out --yaml, or train with one at a time ({example}) "
            "and then compare: {command}",
            written=written,
            example=f"{flag} {words[0]} --yaml {yaml_path} --seeds 1..3",
            command=f"{PROGRAM} compare NAME OTHER",
        )
    return ""


def _refuse_equal(configs: Mapping[str, RunConfig], path: str | Path | None) -> None:
    """Raises ConfigError if two experiments are the same run."""
    names: dict[str, str] = {}
    for other, config in configs.items():
        if (one := names.setdefault(config.to_yaml(), other)) != other:
            raise ConfigError(
                "{path}: experiments: {one} and {other} have equal settings, and would be the same runs; what {other} "
                "sets may be a default",
                path=path,
                one=one,
                other=other,
            )


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
