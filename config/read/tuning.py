"""Section tune_cfg, and a file whose leaves are values to try: read once, and then a configuration for each trial."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from config.config import GeneralConfig, address
from config.foreign.dialects import DIALECTS, experiments
from config.foreign.names import remark_on
from config.model import SECTIONS, policies
from config.model.domain_kinds import SECTION
from config.model.fields import Int, PositiveInt, Problem, Strict, lower
from config.program import PROGRAM
from config.read import search_space, sources, tasks
from config.read.loader import ConfigError, load, own_class
from config.read.opening import Opener, fault_below, named, regular
from config.read.paths import fixed
from config.read.run_config import RunConfig
from config.read.search_space import Domain
from config.read.stores import is_url
from config.read.task_files import TUNING
from config.read.yaml_reader import Document, DocumentError, Place, dumped, inline, read
from config.system.terminal import quoted
from config.tell import hints
from config.tell.error_text import faults, shown
from config.tell.language import tr
from config.tell.names import did_you_mean

DECISIVE = ("general_cfg.algo_name", "general_cfg.env_name", "env_cfg.id")
"""Settings on which depends what the others mean."""
MOST_RUNS = 10_000
"""Number of runs that a tuning may have: the settings of all its trials are drawn and checked before the first one."""
FIRST_LINE = "# Repeats this tuning: {program} tune --yaml {file}\n"
FIRST_LINE_OF_A_FUNCTION = "# Goes on with this tuning: joystick.tune({function}, resume={folder!r})\n"


class TuneConfig(Strict):
    """Settings of tuning: the trials, how they are compared, and how many run at once."""

    READ_WITH = {
        "rungs": ("scheduler", ("halving", "asha", "pbt")),
        "eta": ("scheduler", ("halving", "asha")),
        "batch": ("search", ("tpe", "cmaes", "qmc")),
    }

    samples: PositiveInt = 1
    """Number of draws; with grids, for each point of the grids."""
    search: Annotated[Literal["random", "tpe", "cmaes", "qmc"], BeforeValidator(lower)] = "random"
    """random: grids, and independent draws. tpe, cmaes and qmc: searches of the package Optuna, which learn from the
    scores of earlier batches (qmc: a sequence that fills the space evenly)."""
    batch: PositiveInt = 8
    """Number of trials that Optuna chooses at once. halving compares the trials of a batch."""
    scheduler: Annotated[Literal["none", "halving", "asha", "pbt"], BeforeValidator(lower)] = "none"
    """none: every trial is trained to its end. halving: all are trained to the first rung, the best third of them (see
    eta) to the next one, and so on. asha: the same as halving. pbt: at each rung the last quarter is replaced by copies
    of members of the first quarter, with other settings."""
    score: str = "evaluation"
    """Number that trials are compared by: evaluation (mean return of the last evaluation), best (of all evaluations),
    or a column of results/progress.csv, such as return_mean."""
    mode: Annotated[Literal["max", "min"], BeforeValidator(lower)] = "max"
    """max: a higher score is better; min: a lower one."""
    rungs: PositiveInt | None = None
    """Environment steps between two comparisons. null: for halving, rungs that end at max_total_step, each eta times
    the one before; for pbt, a tenth of max_total_step."""
    eta: Annotated[Int, Field(ge=2)] = 3
    """Reduction factor: one trial in `eta` survives each rung."""
    seeds: PositiveInt = 1
    """Number of runs of each trial, with general_cfg.seed and the numbers that follow it. Their interquartile mean is
    the score."""
    seed: Annotated[Int, Field(ge=1, lt=2**31)] = 1
    """Seed of all draws of tuning, and of training if general_cfg.seed is 0."""
    jobs: PositiveInt | None = None
    """Number of runs at once. null: by the cores. No result depends on it."""
    ray_address: Annotated[str, AfterValidator(address)] | None = None
    """Address of a running Ray cluster, as HOST:PORT or auto, whose machines train the trials, each in one process.
    null: this machine trains them."""

    def problems(self) -> Iterator[Problem]:
        if not self.score.strip():
            yield Problem("score", tr("names no number; write evaluation, best, or a column of results/progress.csv"))

    @property
    def halves(self) -> bool:
        return self.scheduler in ("halving", "asha")


@dataclass(frozen=True)
class Tuning:
    """A file whose leaves are values to try."""

    settings: TuneConfig
    document: Document
    """The file without tune_cfg, and with the settings of the command line."""
    domains: tuple[Domain, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of `load`: finders and permissions."""
    name: str = ""
    """The file, in messages."""
    into: Path | None = None
    notes: tuple[str, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)
    """File and line of each setting of tune_cfg."""
    start: Path = field(default_factory=Path.cwd)
    """Working directory when the settings were read, as RunConfig has it."""

    def where(self, key: str) -> str:
        """Returns where a setting of tune_cfg is written."""
        return self.places.get(key, self.name)

    def config(self, settings: Sequence[Any]) -> RunConfig:
        """Returns the configuration of a trial, or raises ConfigError. settings: one for each domain."""
        filled = replace(self.document, value=search_space.filled(self.document.value, self.domains, settings))
        several, words = _experiments(filled)
        if len(several) > 1:
            raise ConfigError(
                "{name} has {count} experiments; copy the one to tune into a file of its own",
                name=self.name,
                count=len(several),
            )
        run = load(self.name, words, file=next(iter(several.values()), filled), **self.options)
        if run.objects:
            raise ConfigError(
                *[
                    tr(
                        "{name}: a trial is a process of its own and cannot import it; name it as "
                        "module:name, with allow_import",
                        name=name,
                    )
                    for name in run.objects
                ]
            )
        changes: dict[str, Any] = {"seed": run.general.seed or self.settings.seed}
        if self.settings.ray_address:  # a machine of the cluster trains it in one process
            changes |= {"mp_backend": "single", "ray_address": None}
        return replace(run, general=run.general.model_copy(update=changes))

    def to_yaml(self, file: Path, function: str | None = None) -> str:
        """Returns a file for tune --yaml that repeats this, without the address of a cluster: which one is asked is
        said with each command. file: its name; function: of one of the user's own, which no file repeats."""
        whole = {**self.document.value, SECTION: self.settings.model_dump(exclude={"ray_address"})}
        text = dumped(whole, default_flow_style=None, width=120)
        if function is not None:
            return FIRST_LINE_OF_A_FUNCTION.format(function=function, folder=str(file.parent)) + text
        return FIRST_LINE.format(program=PROGRAM, file=file) + text


_RAYS = {"metric": "score", "num_samples": "samples", "search_alg": "search", "max_concurrent_trials": "jobs"}
"""Argument of Ray's tune -> the setting of tune_cfg."""


def _meant(key: str) -> str:
    """Returns the end of a sentence about a setting that tune_cfg does not have."""
    if key in _RAYS:
        return tr("; did you mean {hint}?", hint=_RAYS[key])
    if remark := remark_on(key):
        return f"; {remark}"
    names = TuneConfig.model_fields
    return did_you_mean(key, names) or tr("; known are: {names}", names=", ".join(names))


def from_file(path: str | Path, words: Iterable[str], flags: Mapping[str, Any], **options: Any) -> Tuning:
    """Returns what a file and the words of a command ask for. flags: settings of tune_cfg, by name, and algo and env;
    options: finders, allow_import, into, and
    leaves: values to try by section.key."""
    return _of_file(Path(path), named, words, flags, **options)


def _of_file(path: Path, opener: Opener, words: Iterable[str], flags: Mapping[str, Any], **options: Any) -> Tuning:
    try:
        document = read(path, opener)
    except DocumentError as error:
        raise ConfigError(str(error)) from None
    return _tuning(document, str(path), words, flags, "--", **options)


def folder_named(name: str | Path) -> Path:
    """Returns the folder of a tuning by its name under tasks/, or by its path. Raises ConfigError if there is none."""
    try:
        return tasks.tuning_folder(os.fspath(name), Path("tasks"))
    except tasks.TaskError as error:
        raise ConfigError(f"--resume: {error}") from None


def continued(folder: Path, words: Iterable[str], flags: Mapping[str, Any], **options: Any) -> Tuning:
    """Returns the tuning in a folder, as from_file does, after a look at everything that is in the folder."""
    if folder.is_dir() and (fault := fault_below(folder, "a tuning")):
        raise ConfigError(fault)
    file = folder / "config.yaml"
    if folder.is_dir() and not (folder / TUNING).exists():  # which is written first
        raise ConfigError(
            "{folder} is not a tuning folder: it has no {file}; a run or a group of runs goes on with: "
            "{program} resume {quoted}",
            folder=folder,
            file=TUNING,
            program=PROGRAM,
            quoted=quoted(str(folder)),
        )
    return _of_file(file, regular, words, flags, **options)


def from_values(values: Mapping[str, Any], words: Iterable[str], flags: Mapping[str, Any], **options: Any) -> Tuning:
    """Returns what a mapping of a Python program asks for, as from_file does."""
    return _tuning(sources.document_of(values, "Python"), "Python", words, flags, "", **options)


def _tuning(
    document: Document,
    name: str,
    words: Iterable[str],
    flags: Mapping[str, Any],
    dashes: str,
    leaves: Mapping[str, Any] | None = None,
    into: str | Path | None = None,
    **options: Any,
) -> Tuning:
    problems = list(document.duplicates)
    if into and is_url(str(into)):
        problems.append(
            tr("{dashes}into {url}: a tuning is written to a folder of this machine", dashes=dashes, url=into)
        )
    document = replace(document, duplicates=[])
    _refuse_others(document)
    _add_words(document, words, problems)
    for path, leaf in (leaves or {}).items():
        placed = sources.document_of({path: leaf}, "Python").place.parts[path]
        _put(document, path.split("."), leaf, placed)
    _add_flags(document, flags, dashes)
    settings = _settings(document, problems)
    wrong: list[search_space.Fault] = []
    domains = tuple(search_space.domains_of(document.value, document.place, wrong))
    if dashes:  # a function has settings of its own kind
        wrong += _miswritten(Tuning(settings or TuneConfig(), document, domains, options, name), wrong)
    problems += [fault.sentence for fault in wrong]
    if not domains and not problems:
        problems.append(
            tr("{name}: nothing to try; write values such as algo_cfg: {{lr: {{log: [1e-4, 1e-2]}}}}", name=name)
        )
    places = document.place.parts[SECTION].parts if SECTION in document.place.parts else {}
    if settings is not None and domains:
        settings = settings.model_copy(update=_repeats(document, domains, places))
        problems += _across(settings, [*domains, *(fault.domain for fault in wrong)], places)
    if problems:
        if dashes:
            problems += _of_a_trial(Tuning(settings or TuneConfig(), document, domains, options, name), wrong)
        raise ConfigError(*problems)
    assert settings is not None
    notes = [tr("not used: tune_cfg.{key} ({why})", key=key, why=why) for key, why in settings.unread()]
    notes += _by_chance(domains)
    if settings.scheduler == "asha":
        notes.append(tr("asha: all trials of a rung are compared at once, as in halving"))
    where = {str(key): place.text for key, place in places.items()}
    return Tuning(settings, document, domains, options, name, fixed(Path(into)) if into else None, tuple(notes), where)


def _refuse_others(document: Document) -> None:
    """Raises ConfigError for a document that has not the settings of one run."""
    if not isinstance(document.value, dict):
        raise ConfigError(
            "{place}: got {value}; expected sections with values to try",
            place=document.place.text,
            value=shown(document.value),
        )
    if sources.EXPERIMENTS in document.value:
        raise ConfigError(
            "{place}: experiments: tune tries values of the settings of one run; copy those of one experiment into a "
            "file of its own",
            place=document.place.parts[sources.EXPERIMENTS].text,
        )


def _repeats(document: Document, domains: Sequence[Domain], places: Mapping[Any, Place]) -> dict[str, int]:
    """Takes the number of runs out of an experiment of another library, and returns the setting that it is: draws, or
    seeds if nothing is drawn."""
    key = "samples" if any(domain.kind != "grid" for domain in domains) else "seeds"
    count = max(dialect.take_repeats(document) for dialect in DIALECTS)
    return {key: count} if count > 0 and key not in places else {}


def _miswritten(tuning: Tuning, wrong: Sequence[search_space.Fault]) -> list[search_space.Fault]:
    """Returns the values to try that are written in another way: refused by their settings, which would take one of the
    values of a list."""
    document = tuning.document
    leaves = [*search_space.misspelled(document.value, document.place)]
    lists = [*search_space.listed(document.value, document.place)]
    if not leaves and not lists:
        return []
    problems = _of_a_trial(tuning, wrong)
    for fault in lists:
        if _refused(fault, problems):
            with_one = replace(tuning, domains=(*tuning.domains, fault.domain))
            leaves += [] if _refused(fault, _of_a_trial(with_one, wrong)) else [fault]
    return [fault for fault in leaves if _refused(fault, problems)]


def _refused(fault: search_space.Fault, problems: Iterable[str]) -> bool:
    """Returns True if one of the problems of a trial is that of a leaf."""
    return any(f": {fault.domain.path}: " in problem for problem in problems)


def _of_a_trial(tuning: Tuning, wrong: Sequence[search_space.Fault]) -> list[str]:
    """Returns what is wrong with a trial that has the first value of each domain: faults outside tune_cfg, and of other
    settings than those of `wrong`."""
    leaves = [*tuning.domains, *(fault.domain for fault in wrong)]
    if not all(leaf.values for leaf in leaves if leaf.path in DECISIVE):
        return []
    trial = replace(tuning, domains=tuple(leaves))
    try:
        trial.config([next(iter(leaf.values), None) for leaf in leaves])
    except ConfigError as error:
        prefixes = [f": {fault.domain.path}: " for fault in wrong]
        return [problem for problem in error.problems if not any(path in problem for path in prefixes)]
    return []


def _experiments(document: Document) -> tuple[dict[str, sources.Source], list[str]]:
    """Returns the experiments of another library in a document, and its sections as words: those that the command line
    has added to them."""
    added = (*SECTIONS, policies.SECTION)
    ours = {key: part for key, part in document.value.items() if key in added and isinstance(part, dict)}
    theirs = {key: part for key, part in document.value.items() if key not in ours}
    several = experiments(replace(document, value=theirs))
    if not several:
        return {}, []
    return several, [f"{section}.{key}={inline(value)}" for section in ours for key, value in ours[section].items()]


def _add_flags(document: Document, flags: Mapping[str, Any], dashes: str) -> None:
    """Puts flags into a document; dashes: what is before their names, empty for a Python program."""
    paths = {"algo": "general_cfg.algo_name", "env": "env_cfg.id"}
    for flag, value in flags.items():
        if value is None:
            continue
        path = paths.get(flag, f"{SECTION}.{flag}")
        if flag == "env" and (env_class := own_class(value, f"{dashes}env")):
            value = env_class
            if "env_name" not in (document.value.get("general_cfg") or {}):
                _put(document, ["general_cfg", "env_name"], "python", Place("--env", "general_cfg.env_name"))
        _put(document, path.split("."), value, Place(f"{dashes}{flag}" if dashes else "Python", path))


def _add_words(document: Document, words: Iterable[str], problems: list[str]) -> None:
    """Puts section.key=value words into a document."""
    source = sources.from_command_line(words, (), sections=(SECTION,))
    problems += source.problems
    problems += hints.outside([source], {}, lambda key: "")
    for section, values in source.sections.items():
        model, policy = GeneralConfig if section == "general_cfg" else Strict, policies.name_of(section)
        above = [policies.SECTION, policy] if policy is not None else [section]
        for key, value in values.items():
            name, part = model.field_name(key), document.value.get(section)
            same = [other for other in part if model.field_name(other) == name] if isinstance(part, dict) else []
            # a word of JoyRL does not make the file one of JoyRL, nor its setting another one than that of the file
            _put(document, [*above, same[0] if same else name], value, source.places[section].parts[key])


def _put(document: Document, keys: Sequence[str], value: Any, place: Place) -> None:
    """Puts a value into a document, below mappings that it may lack."""
    part, at = document.value, document.place
    for key in keys[:-1]:
        if part.get(key) is None:
            part[key], at.parts[key] = {}, Place(place.text, ".".join([at.path, key]).lstrip("."))
        part, at = part[key], at.parts[key]
        if not isinstance(part, dict):
            return  # the loader says what is wrong with it
    part[keys[-1]], at.parts[keys[-1]] = value, place


def _settings(document: Document, problems: list[str]) -> TuneConfig | None:
    """Takes tune_cfg out of a document and returns it; None if it is wrong."""
    values, place = (
        document.value.pop(SECTION, None) or {},
        document.place.parts.get(SECTION, Place(tr("defaults"), SECTION)),
    )
    if not isinstance(values, dict):
        problems.append(place.fault(sources.not_a_mapping(values)))
        return None
    try:
        settings = TuneConfig.model_validate(values)
    except ValidationError as error:
        errors = faults(error, TuneConfig, place, _meant)
        problems += [fault.sentence for fault in errors]
        return None
    for key, message, *_ in settings.checks():
        problems.append(f"{place.parts.get(key, place).text}: {SECTION}.{key}: {message}")
    return settings


def _across(settings: TuneConfig, domains: Sequence[Domain], places: Mapping[Any, Place]) -> Iterator[str]:
    """Yields problems between tune_cfg and the values to try."""
    drawn = any(domain.kind != "grid" for domain in domains)
    if settings.samples > 1 and not drawn:
        where = places["samples"].text
        yield tr(
            "{place}: tune_cfg.samples: nothing is drawn, so that all samples would be equal; leave it out", place=where
        )
    runs = (
        settings.samples * settings.seeds * math.prod(len(domain.values) for domain in domains if domain.kind == "grid")
    )
    if runs > MOST_RUNS:
        where = next((places[key].text for key in ("samples", "seeds") if key in places), domains[0].place)
        yield tr(
            "{place}: {runs:,} runs would be trained, and a tuning has at most {most:,}; take fewer tune_cfg.samples, "
            "tune_cfg.seeds or values of grids",
            place=where,
            runs=runs,
            most=MOST_RUNS,
        )
    if settings.seeds > 1 and (seed := next((d for d in domains if d.path == "general_cfg.seed"), None)):
        yield tr("{place}: general_cfg.seed: tune_cfg.seeds sets it too; leave one of them out", place=seed.place)
    if settings.search != "random":
        yield from _of_optuna(settings, domains, places["search"].text)


def _by_chance(domains: Sequence[Domain]) -> Iterator[str]:
    """Yields remarks on values to try whose scores say nothing about the settings."""
    paths = {domain.path for domain in domains}
    if "general_cfg.seed" in paths:
        yield tr(
            "general_cfg.seed is tried: the best seed is the best by chance; tune_cfg.seeds=N compares trials by "
            "N seeds each"
        )
    if tasks := sorted(paths & {"general_cfg.env_name", "env_cfg.id"}):
        yield tr(
            "{settings} is tried: scores of different environments are compared, which says nothing about the others",
            settings=", ".join(tasks),
        )


def _of_optuna(settings: TuneConfig, domains: Sequence[Domain], place: str) -> Iterator[str]:
    """Yields problems of a search by Optuna. place: where it is written."""
    search, where = settings.search, f"{place}: tune_cfg.search"
    if settings.scheduler == "pbt":
        yield tr(
            "{place}: pbt makes its own draws, and cannot train batches of {search}; leave search out",
            place=where,
            search=search,
        )
    if grids := [domain.path for domain in domains if domain.kind == "grid"]:
        yield tr(
            "{place}: {search} draws all settings; write choice in the place of grid for {settings}",
            place=where,
            search=search,
            settings=", ".join(grids),
        )
    numbers = [domain.path for domain in domains if domain.kind not in search_space.LISTS]
    if search == "cmaes" and len(numbers) < 2:
        yield tr(
            "{place}: cmaes moves at least two numbers (log, uniform or int), and there are {count}; take tpe",
            place=where,
            count=len(numbers),
        )
