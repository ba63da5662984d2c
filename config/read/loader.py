"""Python defaults < earlier run < YAML or preset < command line: one valid configuration, or all problems at once."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from config.config import GeneralConfig
from config.foreign import flags as foreign_flags
from config.foreign.dialect import Changes, Flags
from config.foreign.dialects import DIALECTS
from config.foreign.table import Scope
from config.model import policies
from config.model.schema import AlgoConfig, EnvConfig
from config.own import env_packages, packages
from config.own import envs as own_env
from config.own import objects as own
from config.read import limits, presets, sources, stores, tasks, unused_settings
from config.read.checks import Checks
from config.read.finder import Finder
from config.read.opening import fault_below, named
from config.read.paths import as_written, fixed
from config.read.preset_choice import PresetChoice
from config.read.run_config import RunConfig
from config.read.source_stack import SourceStack
from config.read.task_config import load_task_config
from config.read.yaml_reader import Document, DocumentError, Place, read
from config.tell import hints
from config.tell.language import UserError, tr
from config.tell.names import DEFAULT, DEFAULT_OF, printable, with_full_width_named
from config.tell.traceback import concise

__all__ = ["ConfigError", "Finder", "RunConfig", "load"]

MOST_PROBLEMS = 100
"""Problems that are listed; a file may hold thousands."""


class ConfigError(UserError):
    """Everything that is wrong with a configuration, one sentence each."""

    _render_traceback_ = concise

    def __init__(self, *problems: str, **values: object) -> None:
        """values: in the places of the sentence, where there is only one."""
        said = (printable(with_full_width_named(tr(problem, **values))) for problem in problems)
        self.problems = tuple(dict.fromkeys(said))
        more = len(self.problems) - MOST_PROBLEMS
        lines = [*self.problems[:MOST_PROBLEMS], *([tr("and {count:,} more", count=more)] if more > 0 else [])]
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[type["ConfigError"], tuple[str, ...]]:
        return type(self), self.problems


def load(
    yaml_path: str | Path | None,
    overrides: Iterable[str] = (),
    *,
    find_algo: Finder,
    find_env: Finder,
    algo: str | None = None,
    env: str | None = None,
    resume: str | None = None,
    test: str | None = None,
    video: bool = False,
    allow_import: Iterable[str] = (),
    into: str | None = None,
    pause_at_step: int | None = None,
    no_evaluation: bool = False,
    values: Mapping[str, Mapping[str, Any]] | None = None,
    config: str | Mapping[str, Any] | None = None,
    stop: str | None = None,
    checkpoint_freq: int | None = None,
    episodes: int | None = None,
    model: str | int | None = None,
    take_over: bool = False,
    word: str = "",
    abbreviated: Sequence[foreign_flags.Abbreviated] = (),
    of_rllib: bool = False,
    file: Document | sources.Source | None = None,
    task_root: Path = Path("tasks"),
    preset_root: Path = presets.PRESETS,
) -> RunConfig:
    """Returns the configuration of a run; the arguments from algo to model are the flags of these names. values:
    settings by section from a Python program. word: the command that stands for --resume or --test. abbreviated: flags
    that stand for settings. of_rllib: algo and env are RLlib's. file: what was read from yaml_path, if it has been
    read: all of it, or one of its experiments."""
    env_class = own_class(env, "Python: env" if values is not None else "--env")
    expected_env = (env_class or env or "") if test and (algo or word == "rollout") else ""
    own_env_id = None if expected_env else env_class or env
    flags = sources.flags(algo, own_env_id, resume, test, video, episodes, model, word)
    flags += abbreviated
    if values is not None:
        flags = [("Python", path, value) for _, path, value in flags]
    typed = sources.from_command_line(overrides, flags, sources.from_values(values or {}, "Python"))
    work = _Assembly(find_algo, find_env, tuple(allow_import))
    work.notes.append(foreign_flags.note(abbreviated))
    work.add_flags(typed, Flags(config, stop, algo if of_rllib else None, env if of_rllib else None, checkpoint_freq))
    choice = PresetChoice(work, preset_root)
    try:
        document = work.add_file(file, yaml_path)
        work.name_classes()
        if env_class and not work.writes("general_cfg", "env_name"):
            typed.put("general_cfg", "env_name", "python", Place("--env", "general_cfg.env_name"))
        by_itself = bool(algo or env or values is None)  # a program that only gives settings names its preset
        preset = choice.add(by_itself and not (yaml_path or resume or test))
        if yaml_path and not preset:
            choice.note_absence(document, str(yaml_path))
    except DocumentError as error:
        raise ConfigError(str(error)) from None
    folder = work.place(into, task_root, typed)
    earlier = work.add_earlier(task_root, expected_env, take_over)
    work.add_package(choice.id_written())
    run = work.finish(
        choice,
        expected_return=choice.promised(document or earlier, preset),
        into=folder,
        take_over=take_over,
        pause_at_step=pause_at_step,
        no_evaluation=no_evaluation,
    )
    if pause_at_step is not None and run.algo.offline_updates_of() < 0:
        raise ConfigError(
            tr(
                "--pause-at-step counts what is collected, and this run learns from algo_cfg.data alone; set "
                "general_cfg.max_update, which a resume may raise"
            )
        )
    return run


def own_class(env: str | None, flag: str) -> str | None:
    """Returns module:name if --env names a class or function of the user's own; None for any other id."""
    try:
        return own_env.class_name(env) if env else None
    except own_env.OwnEnvError as error:
        raise ConfigError(f"{flag}: {error}") from None


class _Assembly(SourceStack):
    """Combines sources into sections."""

    def __init__(self, find_algo: Finder, find_env: Finder, allow: tuple[str, ...]) -> None:
        super().__init__(find_algo, find_env, allow)
        self.needless: list[str] = []
        """Settings of other libraries for which nothing is needed here."""
        self.task: Path | None = None
        """Task directory that load_path names."""

    # sources ----------------------------------------------------------------------------------------------

    def add_flags(self, typed: sources.Source, flags: Flags) -> None:
        """Puts the command line above all other sources, with the flags of other libraries below its own words."""
        self.sources = [*(source for dialect in DIALECTS for source in dialect.of_flags(flags)), typed]
        for dialect in DIALECTS:
            self.notes += dialect.put_flags(typed, flags, self.sources)

    def add_file(self, file: Document | sources.Source | None, path: str | Path | None) -> Document | None:
        """Puts a YAML file below the command line, notes what may surprise, and returns it. file: what was read from
        it, if it has been read."""
        document = read(path, named) if path and file is None else file
        if isinstance(document, sources.Source):
            self.sources.insert(0, document)
        elif document:
            self._add_document(document, str(path))
        for source in self.sources:  # before a preset and the algorithms are chosen
            for dialect in DIALECTS:
                dialect.put_policies(source, self.our_name)
        return document if isinstance(document, Document) else None

    def name_classes(self) -> None:
        """Puts module:Class in the place of file.py, as --env does."""
        for source in self.sources:
            name = source.sections.get("env_cfg", {}).get("id")
            if isinstance(name, str) and name.partition(":")[0].endswith(".py"):
                place = source.places["env_cfg"].parts["id"]
                source.sections["env_cfg"]["id"] = own_class(name, f"{place.text}: {place.path}")
                if not self.writes("general_cfg", "env_name"):
                    source.put("general_cfg", "env_name", "python", place)

    def _add_document(self, document: Document, path: str) -> None:
        command_line = self.sources[-1].sections.get("general_cfg", {})
        source = sources.from_document(document, written=True)
        self.sources.insert(0, source)
        find_algo, find_env = self.finders["algo_name"], self.finders["env_name"]
        for dialect in DIALECTS:
            changes = dialect.rewrite(source, find_algo, find_env, command_line)
            self._keep(changes)
            if changes.defaults and self.general("load_checkpoint") is not True:
                self.sources.insert(0, changes.defaults)
        theirs, ours = source.sections.get("general_cfg", {}).get("algo_name"), command_line.get("algo_name")
        settings = source.sections.get("algo_cfg", {})
        if theirs and ours and settings and not self.same("algo_name", theirs, ours):
            self.notes.append(
                tr(
                    "{path} is for {theirs}; these of its settings are used for {ours}: {settings}",
                    path=path,
                    theirs=theirs,
                    ours=ours,
                    settings=", ".join(settings),
                )
            )

    def _keep(self, changes: Changes) -> None:
        """Keeps what a dialect says of its changes."""
        self.notes += changes.notes
        self.needless += changes.needless
        self.problems += changes.problems

    def place(self, into: str | None, root: Path, typed: sources.Source) -> Path | None:
        """Returns the absolute path of the folder that --into names; None without one. That of a URL is a folder of
        its name in `root`, with the setting that it is copied to the store."""
        if not into or not stores.is_url(into):
            return fixed(Path(into)) if into else None
        if self.general("mode") == "test":
            self.problems.append(tr("--into {url}: a test is written to a folder of this machine", url=into))
            return None
        try:
            parent, name = stores.destination(into)
        except ValueError as error:
            self.problems.append(tr("--into {url!r} is not {what}", url=into, what=error))
            return None
        if self.general("storage") not in (None, parent):
            self.problems.append(tr("--into {url} and general_cfg.storage name two places; leave one out", url=into))
        typed.put("general_cfg", "storage", parent, Place("--into", "general_cfg.storage"))
        return fixed(root / name)

    def add_earlier(self, root: Path, env: str, take_over: bool) -> Document | None:
        """Puts the run that is loaded below all other sources, and returns its settings. env: the environment that it
        has to have; empty for any. take_over: see stores.bring."""
        self.task = self._task(root, take_over)
        if self.task is None:
            return None
        earlier = self._earlier(self.task)
        address = sources.address_of(earlier)
        if address and self.general("ray_address") is None:
            self.notes.append(
                tr(
                    "the cluster of the earlier run is not used: add general_cfg.ray_address={address} to connect "
                    "to it",
                    address=address,
                )
            )
        self.sources.insert(0, sources.from_task(earlier, testing=self.general("mode") == "test"))
        self._compare(earlier, self.task, env)
        return earlier

    def add_package(self, env_id: str) -> None:
        """Puts what the package of an environment needs below all other sources: the kind that makes it, and settings
        such as wrappers, which are noted."""
        source = sources.Source(written=False)
        package = env_packages.of_id(env_id)
        if package is None:
            if kind := presets.kind_of(env_id, self.finders["env_name"]):
                place = DEFAULT_OF.format(algo=env_id)
                source.put("general_cfg", "env_name", kind, Place(place, "general_cfg.env_name"))
                self.sources.insert(0, source)
            return
        place = DEFAULT_OF.format(algo=package.name)
        if package.kind != env_packages.GYM:
            source.put("general_cfg", "env_name", package.kind, Place(place, "general_cfg.env_name"))
        # a vector environment of a package has no single ones that could be wrapped
        whole = sources.merge(self.sources, "env_cfg", EnvConfig)[0].get("vectorization") in ("native", "envpool")
        if self.same("env_name", self.general("env_name"), env_packages.GYM):
            for key, value, why in env_packages.settings_of(env_id):
                if not self.writes("env_cfg", key) and not (key == "wrappers" and whole):
                    source.put("env_cfg", key, value, Place(place, f"env_cfg.{key}"))
                    words = f"env_cfg.{key}: {json.dumps(value)}"
                    self.notes.append(tr("{package}: {words} ({why})", package=package.name, words=words, why=why))
        self.sources.insert(0, source)

    def _task(self, root: Path, take_over: bool) -> Path | None:
        """Returns the task directory to load from."""
        path = self.general("load_path")
        if self.general("load_checkpoint") is not True or not isinstance(path, str) or not path:
            return None
        try:
            step = self.general("load_model_step")
            branch = self.writes("general_cfg", "load_model_step") and step != "latest"
            go_on = self.general("mode") != "test" and not branch
            model = step if isinstance(step, int | str) else "best"
            return tasks.find(path, root, go_on=go_on, model=model, take_over=take_over)
        except tasks.TaskError as error:
            self.report("general_cfg", "load_path", str(error))
            return None

    def _earlier(self, task: Path) -> Document:
        """Returns the settings of the run that is loaded, after a look at everything that is in its directory."""
        if fault := fault_below(task):
            raise ConfigError(*self.problems, fault)
        try:
            config = load_task_config(task)
        except DocumentError as error:
            raise ConfigError(*self.problems, str(error)) from None
        if config.note:
            self.notes.append(config.note)
        return config.document

    def _compare(self, earlier: Document, task: Path, env: str) -> None:
        """Refuses a model of another algorithm with one problem in place of one for each of its settings. env: the
        environment that the run has to have; empty for any."""
        sections = sources.from_document(earlier, written=False).sections
        usual = sections.get("general_cfg", {}).get("algo_name")
        problems = []
        for section in ["general_cfg", *filter(policies.name_of, sections)]:
            past, now = sections.get(section, {}).get("algo_name") or usual, self.algo_of(section)
            if past is None:
                path = as_written(task / "config.yaml")
                raise ConfigError(
                    *self.problems,
                    tr("{path}: there is no general_cfg.algo_name: these are not the settings of a run", path=path),
                )
            if not self.same("algo_name", str(past), now):
                key = "algo_name" if section == "general_cfg" else f"{section}.algo_name"
                problems.append(
                    tr("{task} was trained with {past}, and {key} is {now}", task=task, past=past, key=key, now=now)
                )
        kind, _ = self.find("env_name", str(self.general("env_name")))
        id_then = sections.get("env_cfg", {}).get("id", getattr(kind and kind.Config(), "id", ""))
        if env and id_then not in (env, *(dialect.present_id(env, kind) for dialect in DIALECTS)):
            problems.append(
                tr(
                    "{task} was trained in {past}, and --env is {env}; leave out --env",
                    task=task,
                    past=id_then,
                    env=env,
                )
            )
        if problems:
            raise ConfigError(*self.problems, *problems)

    def _unrecorded(self) -> sources.Source:
        """Returns what older runs did in place of settings that they do not record, to play their models as they were
        trained. It stands below the settings that a run has recorded."""
        source = sources.Source(written=False)
        for section, model in self.models.items():
            if section not in self.heirs and issubclass(model, AlgoConfig):
                for key, value in model.BEFORE.items():
                    source.put(section, key, value, Place(DEFAULT, f"{section}.{key}"))
        return source

    # the whole --------------------------------------------------------------------------------------------

    def finish(self, choice: PresetChoice, **options: Any) -> RunConfig:
        """Returns the configuration. Raises ConfigError with all problems."""
        by_section = self.all_packages()
        self.put_models(by_section)
        if self.task and self.general("mode") == "test":
            self.sources.insert(0, self._unrecorded())
        self._translate(by_section)
        self.notes += limits.leave_out(self)
        checks = Checks(self, self.task, choice)
        built, eval_env = checks.sections(by_section["env_cfg"]), None
        if built.get("general_cfg") and (changes := self._of_evaluation(built["general_cfg"])):
            eval_env = checks.evaluation(by_section["env_cfg"], changes)
        if self.problems:
            raise ConfigError(*sorted(self.problems, key=_position))
        where = {path: place.text for path, place in self.places(self.sources)}
        explicit = frozenset(path for path, _ in self.places(source for source in self.sources if source.written))
        decided, note = limits.of_run(self, built, by_section["env_cfg"], explicit)
        planned = limits.planned(built["general_cfg"].model_copy(update=decided))
        self.notes += [] if planned else limits.keep_rates(built, where)
        self.notes += [
            note,
            *unused_settings.notes(self, built, where, self.needless),
            *self._remarks(by_section, built, decided),
        ]
        names = [name for section in filter(None, (*built.values(), eval_env)) for _, name in section.own()]
        own_names = [*names, *(str(self.general(key)) for key in ("algo_name", "env_name"))]
        own_names += [self.algo_of(section) for section in self.policy_names()]
        return RunConfig(
            general=built["general_cfg"].model_copy(update={**self.canonical(by_section), **decided}),
            algo=built["algo_cfg"],
            env=built["env_cfg"],
            eval_env=eval_env,
            algo_package=by_section["algo_cfg"],
            env_package=by_section["env_cfg"],
            where=where,
            explicit=explicit,
            preset=str(choice.used) if choice.used else None,
            task=fixed(self.task) if self.task else None,
            own_modules=tuple(packages.own_modules(own_names)),
            objects={name: own.find(name) for name in names if ":" not in name},
            allow_import=tuple(dict.fromkeys([*self.allow, *packages.imported(own_names, self.allow)])),
            notes=tuple(printable(note) for note in self.notes if note),
            policies={
                name: built[section].model_copy(update={"algo_name": self.full_name(section, by_section[section])})
                for section, name in self.policy_names().items()
            },
            policy_packages={name: by_section[section] for section, name in self.policy_names().items()},
            **options,
        )

    def _of_evaluation(self, general: GeneralConfig) -> dict[str, Any]:
        """Returns the settings of env_cfg that evaluations have of their own. For a test, what its command says of
        env_cfg counts."""
        typed = self.sources[-1].sections.get("env_cfg", {}) if general.mode == "test" else {}
        return {key: value for key, value in general.eval_env.items() if key not in typed}

    def _translate(self, by_section: dict[str, Any]) -> None:
        """Puts the words of other libraries under our names. by_section: packages by section."""
        scope = Scope(self.three_models(), self.sources)
        for source in self.sources:
            for dialect in DIALECTS:
                dialect.put_env(source, scope, by_section["env_cfg"])
        for source in self.sources:
            for dialect in DIALECTS:
                self._keep(dialect.translate(source, scope, self.hint))
            self.notes += source.notes
            for dialect in DIALECTS:
                self._keep(dialect.translate_policies(source, self.models, self.sources, self.hint))
            self.problems += source.problems
        sources.choose_film(self.sources, self.models.get("env_cfg"))
        self.problems += hints.outside(self.sources, self.models, self.foreign_name)

    def _remarks(self, by_section: dict[str, Any], built: dict[str, Any], decided: dict[str, Any]) -> Iterator[str]:
        """Yields what the packages have to say of the names by which they were asked for, and of their settings."""
        algorithms = {
            self.algo_of(section).lower(): package for section, package in by_section.items() if section != "env_cfg"
        }
        for name, package in algorithms.items():
            yield from (text for alias, text in getattr(package, "REMARKS", {}).items() if alias.lower() == name)
        if hasattr(by_section["env_cfg"], "remark"):
            yield by_section["env_cfg"].remark(built["env_cfg"]) or ""
        if built["general_cfg"].mode == "train":
            general = built["general_cfg"].model_copy(update=decided)
            for section in self.policy_names() or ["algo_cfg"]:
                yield from built[section].advice(general.max_total_step, general.max_update)


def _position(problem: str) -> tuple[bool, int]:
    """Returns a sort key: problems in files come first, by line."""
    line = re.match(r".+?:(\d+):", problem)
    return line is None, int(line[1]) if line else 0
