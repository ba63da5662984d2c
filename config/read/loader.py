"""Python defaults < earlier run < YAML or preset < command line: one valid configuration, or all problems at once."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from config.config import GeneralConfig
from config.foreign import convlab, joyrl, joyrl_settings, rllib, rllib_multiagent
from config.foreign.table import Scope
from config.model import policies
from config.model.fields import Strict
from config.model.policies import PolicyConfig
from config.model.schema import AlgoConfig
from config.own import envs as own_env
from config.own import objects as own
from config.own import packages
from config.read import limits, presets, sources, tasks, unread
from config.read.finder import Finder
from config.read.opening import fault_below, named
from config.read.paths import fixed
from config.read.run_config import SECTIONS, RunConfig
from config.read.task_config import load_task_config
from config.read.written import Written
from config.read.yaml_reader import Document, DocumentError, Place, read
from config.tell.error_text import faults, locate
from config.tell.names import did_you_mean, nearest, printable, with_full_width_named

__all__ = ["SECTIONS", "ConfigError", "Finder", "RunConfig", "load"]

MOST_PROBLEMS = 100
"""Problems that are listed; a file may hold thousands."""


class ConfigError(Exception):
    """Everything that is wrong with a configuration, one sentence each."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(dict.fromkeys(printable(with_full_width_named(problem)) for problem in problems))
        more = len(self.problems) - MOST_PROBLEMS
        shown = [*self.problems[:MOST_PROBLEMS], *([f"and {more:,} more"] if more > 0 else [])]
        super().__init__("\n".join(shown))


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
    word: str = "",
    abbreviated: Sequence[convlab.Abbreviated] = (),
    of_rllib: bool = False,
    file: Document | sources.Source | None = None,
    task_root: Path = Path("tasks"),
    preset_root: Path = presets.PRESETS,
) -> RunConfig:
    """Returns the configuration of a run; the arguments from algo to model are the flags of these names. values:
    settings by section from a Python program. word: the command that stands for --resume or --test. abbreviated: flags
    that stand for settings. of_rllib: algo and env are RLlib's. file: what was read from yaml_path, if it has been
    read: all of it, or one of its experiments."""
    work = _Assembly(find_algo, find_env, tuple(allow_import), preset_root)
    env_class = own_class(env, "Python: env" if values is not None else "--env")
    expected_env = (env_class or env or "") if test and (algo or word == "rollout") else ""
    own_env_id = None if expected_env else env_class or env
    flags = sources.flags(algo, own_env_id, resume, test, video, checkpoint_freq, episodes, model, word)
    flags += abbreviated
    work.notes.append(convlab.note(abbreviated))
    if values is not None:
        flags = [("Python", path, value) for _, path, value in flags]
    typed = sources.from_command_line(overrides, flags, sources.from_values(values or {}, "Python"))
    work.sources = [*_by_rllib(config, stop), typed]
    of_flags = (algo, env) if of_rllib else (None, None)
    work.notes += rllib.put_flags(typed, *of_flags, checkpoint_freq, work.sources)
    document = file if isinstance(file, Document) else _read(yaml_path) if yaml_path and file is None else None
    if document:
        work.add_file(document, str(yaml_path))
    elif isinstance(file, sources.Source):
        work.sources.insert(0, file)
    work.put_policies()
    if env_class and not work.writes("general_cfg", "env_name"):
        typed.put("general_cfg", "env_name", "python", Place("--env", "general_cfg.env_name"))
    preset = work.add_preset(bool(algo or env) and not (yaml_path or resume or test))
    if document and not preset:
        work.note_missing(str(yaml_path))
    if yaml_path and not preset:
        work.note_unused_preset()
    task = work.task_loaded = work.task(task_root)
    earlier = work.earlier(task) if task else None
    if not (file or document or earlier or algo or env or preset):
        work.notes.append("no --yaml: the Python defaults are used")
    if earlier:
        address = sources.address_of(earlier)
        if address and work.general("ray_address") is None:
            work.notes.append(
                f"the cluster of the earlier run is not used: add general_cfg.ray_address={address} to connect to it"
            )
        work.sources.insert(0, sources.from_task(earlier, testing=work.general("mode") == "test"))
        work.compare(earlier, task, expected_env)
    return work.finish(
        expected_return=work.promised(document or earlier, preset),
        preset=str(work.used) if work.used else None,
        task=fixed(task) if task else None,
        into=fixed(Path(into)) if into else None,
        pause_at_step=pause_at_step,
        no_evaluation=no_evaluation,
    )


def _by_rllib(config: str | Mapping[str, Any] | None, stop: str | None) -> Iterator[sources.Source]:
    """Yields the settings by RLlib's names: of a text or a mapping, and of the stop rules."""
    if isinstance(config, Mapping):
        yield rllib.from_settings(sources.document_of(config, "Python: config"))
        config = None
    yield from rllib.from_flags(config, stop)


def _read(path: str | Path) -> Document:
    """Returns a file's document; an unreadable file leaves nothing else to check."""
    try:
        return read(path, named)
    except DocumentError as error:
        raise ConfigError([str(error)]) from None


def own_class(env: str | None, flag: str) -> str | None:
    """Returns module:name if --env names a class or function of the user's own; None for any other id."""
    try:
        return own_env.class_name(env) if env else None
    except own_env.OwnEnvError as error:
        raise ConfigError([f"{flag}: {error}"]) from None


def _position(problem: str) -> tuple[bool, int]:
    """Returns a sort key: problems in files come first, by line."""
    line = re.match(r".+?:(\d+):", problem)
    return line is None, int(line[1]) if line else 0


class _Assembly(Written):
    """Combines sources into sections and collects problems on the way."""

    def __init__(self, find_algo: Finder, find_env: Finder, allow: tuple[str, ...], preset_root: Path) -> None:
        super().__init__(find_algo, find_env, allow)
        self.preset_root = preset_root
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.nothing_to_do: list[str] = []
        self.promises = True
        """False if the policies are not those for which the preset promises a return."""
        self.task_loaded: Path | None = None
        """Task directory that load_path names."""
        self.used: Path | None = None
        """Preset that stands below the other sources."""
        self.reported: set[tuple[str, str]] = set()
        """Settings of algo_cfg with a problem, and the problem: policies that inherit them do not repeat it."""

    def report(self, section: str, key: str, message: str) -> None:
        """Records a problem at the place where the key was written, or at its section.

        An unwritten value is reported as the algorithm's default.
        """
        if section == "algo_cfg":
            self.reported.add((key, message))
        elif section in self.heirs and (key, message) in self.reported:
            return
        _, place = self.merged(section)
        parts = [int(part) if part.isdigit() else part for part in re.findall(r"\w+", key)]
        of_algo = section == "algo_cfg" or (policies.name_of(section) and parts[0] not in PolicyConfig.model_fields)
        unwritten = of_algo and parts[0] not in place.parts
        spot = f"default of {self.algo_of(section)}" if unwritten else locate(place, parts).text
        self.problems.append(f"{spot}: {section}.{key}: {message}")

    def add_file(self, document: Document, path: str) -> None:
        """Puts a YAML file below the command line, and notes what may surprise."""
        command_line = self.sources[-1].sections.get("general_cfg", {})
        source = sources.from_document(document, written=True)
        self.sources.insert(0, source)
        if joyrl_settings.is_joyrl(source, self.finders["env_name"]):
            algo = command_line.get("algo_name")
            find_algo, find_env = self.finders["algo_name"], self.finders["env_name"]
            usual = algo if isinstance(algo, str) else None
            work = joyrl_settings.Rewriting(source, find_algo, find_env, usual).run()
            work.apply()
            if self.general("load_checkpoint") is not True:
                self.sources.insert(0, work.defaults(self.sources[-1].sections.get("algo_cfg")))
            self.problems += work.problems
            self.notes += work.notes()
            self.nothing_to_do += work.needless()
        theirs, ours = source.sections.get("general_cfg", {}).get("algo_name"), command_line.get("algo_name")
        kept = source.sections.get("algo_cfg", {})
        if theirs and ours and kept and self.find("algo_name", theirs)[0] is not self.find("algo_name", ours)[0]:
            self.notes.append(f"{path} is for {theirs}; these of its settings are used for {ours}: {', '.join(kept)}")

    def _leave_out_policies(self, preset: sources.Source) -> None:
        """Drops the policies of a preset if the user writes others: two sets of policies would share the agents."""
        known = preset.policy_names()
        ours = dict.fromkeys(name for source in self.sources[1:] for name in source.policy_names())
        if known and set(ours) - set(known):
            preset.drop_policies()
            self.promises = False
            why = f"policies with other names are written: {', '.join(ours)}"
            self.notes.append(f"the policies of the preset ({', '.join(known)}) are not used, since {why}")
        else:
            self._leave_out_settings(preset)

    def _leave_out_settings(self, preset: sources.Source) -> None:
        """Drops the settings that a preset gives to the algorithm of a policy which has another one now."""
        usual = preset.sections.get("general_cfg", {}).get("algo_name") or self.general("algo_name")
        for section in [*preset.sections]:
            theirs = preset.sections[section].get("algo_name") or usual
            if not policies.name_of(section) or self.find("algo_name", theirs) == self._package_of(section):
                continue
            dropped = [key for key in preset.sections[section] if key not in PolicyConfig.model_fields]
            for key in dropped:
                del preset.sections[section][key], preset.places[section].parts[key]
            self.promises = False
            if dropped:
                why = f"they are for {theirs}: {', '.join(dropped)}"
                self.notes.append(f"settings of the preset for {section} are not used, since {why}")

    def _package_of(self, section: str) -> tuple[ModuleType | None, str]:
        """Returns the package of the algorithm of a policy, or None and why."""
        return self.find("algo_name", self.algo_of(section))

    # names ------------------------------------------------------------------------------------------------

    def writes(self, section: str, key: str) -> bool:
        """Returns True if a source has this setting."""
        return any(key in source.sections.get(section, {}) for source in self.sources)

    def task(self, root: Path) -> Path | None:
        """Returns the task directory to load from."""
        path = self.general("load_path")
        if self.general("load_checkpoint") is not True or not isinstance(path, str) or not path:
            return None
        try:
            return tasks.find(path, root)
        except tasks.TaskError as error:
            self.report("general_cfg", "load_path", str(error))
            return None

    def earlier(self, task: Path) -> Document:
        """Returns the settings of the run that is loaded, after a look at everything that is in its directory."""
        if fault := fault_below(task):
            raise ConfigError([*self.problems, fault])
        try:
            config = load_task_config(task)
        except DocumentError as error:
            raise ConfigError([*self.problems, str(error)]) from None
        if config.note:
            self.notes.append(config.note)
        return config.document

    def compare(self, earlier: Document, task: Path | None, env: str = "") -> None:
        """Refuses a model of another algorithm with one problem in place of one for each of its settings. env: the
        environment that the run has to have; empty for any."""
        sections = sources.from_document(earlier, written=False).sections
        usual = sections.get("general_cfg", {}).get("algo_name")
        problems = []
        for section in ["general_cfg", *filter(policies.name_of, sections)]:
            past, now = sections.get(section, {}).get("algo_name") or usual, self.algo_of(section)
            if self.find("algo_name", str(past))[0] is not self.find("algo_name", now)[0]:
                key = "algo_name" if section == "general_cfg" else f"{section}.algo_name"
                problems.append(f"{task} was trained with {past}, and {key} is {now}")
        kind, _ = self.find("env_name", str(self.general("env_name")))
        id_then = sections.get("env_cfg", {}).get("id", getattr(kind and kind.Config(), "id", ""))
        if env and id_then not in (env, rllib.present_id(env, kind)[0]):
            problems.append(f"{task} was trained in {id_then}, and --env is {env}; leave out --env")
        if problems:
            raise ConfigError([*self.problems, *problems])

    def add_preset(self, by_itself: bool) -> Document | None:
        """Puts the preset that is asked for below all other sources, and returns it. by_itself: auto means default."""
        self.used = self._asked_preset(by_itself)
        if self.used is None:
            return None
        document = _read(self.used)
        preset = sources.from_document(document, written=False)
        written = self._with_id()
        folder_is_id = "id" in written and presets.named(self.used, str(written["id"]))
        if folder_is_id and self._is_for_kind(self.used):  # its folder may be another spelling
            written["id"] = preset.sections.get("env_cfg", {}).get("id", written["id"])
        self.sources.insert(0, preset)
        self._leave_out_policies(preset)
        return document

    def _preset_word(self) -> str:
        """Returns general_cfg.preset as it is written; none for null."""
        values, _ = sources.merge(self.sources, "general_cfg", GeneralConfig)
        word = values.get("preset", "auto")
        return word if isinstance(word, str) else "none"  # anything but text and null is reported later

    def _asked_preset(self, by_itself: bool) -> Path | None:
        """Returns the preset that is asked for; reports a name that leads to none, or to one of another algorithm."""
        name = self._preset_word()
        word = name.lower()
        if word == "none" or (word == "auto" and not by_itself):
            return None
        if word in ("auto", "default"):
            fault, path = "", self._nearest_preset(say=True)
        else:
            fault, path = self._named_preset(name)
            self.notes.append(f"preset: {path}")
        if word != "auto" and self.general("load_checkpoint") is True:
            fault = "a run that is loaded has its own settings; leave it out"
        if fault:
            self.report("general_cfg", "preset", fault)
        return None if fault else path

    def _named_preset(self, name: str) -> tuple[str, Path | None]:
        """Returns what is wrong with the name of a preset, and its file."""
        path = presets.by_name(name, self.preset_root)
        if path is None:
            return presets.unknown(name, self.preset_root), None
        values, _ = sources.merge(self.sources, "general_cfg", GeneralConfig)
        general = sources.from_document(_read(path), written=False).sections.get("general_cfg", {})
        theirs = str(general.get("algo_name") or path.stem)
        ours = str(values.get("algo_name") or theirs)
        other = self.find("algo_name", theirs)[0] is not self.find("algo_name", ours)[0]
        return (f"{path} is for {theirs}, and algo_name is {ours}" if other else ""), path

    def _nearest_preset(self, say: bool = False) -> Path | None:
        """Returns the preset for the algorithm and the environment that are written. say: note which one it is."""
        algo = str(self.general("algo_name"))
        package, _ = self.find("algo_name", algo)
        kind, _ = self.find("env_name", str(self.general("env_name")))
        env = str(self._with_id().get("id") or getattr(kind and kind.Config(), "id", ""))
        family_name = kind.present_name(env) if kind and hasattr(kind, "present_name") else env
        name = package.NAME if package else algo
        path = presets.find(name, family_name, self.preset_root, self._is_for_kind)
        self.notes += presets.notes(path, algo, family_name, self.preset_root) if say else ()
        return path

    def _is_for_kind(self, preset: Path) -> bool:
        """Returns True if a preset is for the kind of environment that is written, or none is written."""
        if not self.writes("general_cfg", "env_name"):
            return True
        general = sources.from_document(_read(preset), written=False).sections.get("general_cfg", {})
        theirs = general.get("env_name", GeneralConfig.model_fields["env_name"].default)
        return self.find("env_name", theirs)[0] is self.find("env_name", self.general("env_name"))[0]

    def _with_id(self) -> dict[str, Any]:
        """Returns the strongest section env_cfg that names the environment; an empty one if none does."""
        parts = [source.sections.get("env_cfg", {}) for source in reversed(self.sources)]
        return next((part for part in parts if "id" in part), {})

    def note_missing(self, path: str) -> None:
        """Notes the sections that a file lacks; a run that is loaded has settings of its own."""
        used = "settings of the run" if self.general("load_checkpoint") is True else "defaults"
        if missing := next(source for source in self.sources if source.written).missing():
            self.notes.append(f"{path} sets nothing under {', '.join(missing)}: the {used} are used")

    def note_unused_preset(self) -> None:
        """Notes the preset of a file that leaves all that it sets in algo_cfg at the Python defaults."""
        fresh = self.general("mode") == "train" and self.general("load_checkpoint") is not True
        if self._preset_word().lower() != "auto" or self.policy_names() or not fresh:
            return
        if (path := self._nearest_preset()) is not None:
            written = {key for source in self.sources for key in source.sections.get("algo_cfg", {})}
            unused = sources.from_document(_read(path), written=False).sections.get("algo_cfg", {})
            if unused and not written & set(unused):
                self.notes.append(f"there is a preset, {path}; general_cfg.preset: default takes it")

    def promised(self, document: Document | None, preset: Document | None) -> float | None:
        """Returns the return that the first line of the file, or of the preset, promises for this environment."""
        known = [(source, used) for source, used in ((document, None), (preset, self.used)) if source is not None]
        fitting = [source for source, used in known if self.promises and self.same_task(source, used)]
        promises = [presets.promised_return(source.comment) for source in fitting]
        return next((promise for promise in promises if promise is not None), None)

    def same_task(self, document: Document, preset: Path | None) -> bool:
        """Returns False if the command line makes the environment another one than that of the document."""
        written = sources.from_document(document, written=False).sections.get("env_cfg", {})
        return not any("env_config" in source.foreign for source in self.sources) and all(
            key in presets.NOT_THE_TASK
            or written.get(key) == value
            or (key == "id" and preset is not None and presets.named(preset, str(value)))
            for source in self.sources
            if source.written
            for key, value in source.sections.get("env_cfg", {}).items()
        )

    def put_policies(self) -> None:
        """Puts RLlib's policies under policies_cfg, before a preset and the algorithms are chosen."""
        for source in self.sources:
            rllib_multiagent.put_policies(source, self.our_name)

    def our_name(self, algorithm: str) -> str | None:
        """Returns our name of an algorithm; None for an unknown one."""
        package, _ = self.find("algo_name", algorithm)
        return None if package is None else str(package.NAME)

    def package(self, key: str) -> ModuleType | None:
        package, problem = self.find(key, self.general(key))
        if problem:
            self.report("general_cfg", key, problem)
        return package

    def all_packages(self) -> dict[str, Any]:
        """Returns the packages of algorithm, environment and policies by section; None for those that are unknown."""
        found = {"algo_cfg": self.package("algo_name"), "env_cfg": self.package("env_name")}
        for section, name in self.policy_names().items():
            values, place = sources.merge(self.sources, section, PolicyConfig)
            if fault := policies.misnamed(name):
                self.problems.append(f"{place.text}: {section}: {fault}")
            found[section] = found["algo_cfg"]
            if isinstance(values.get("algo_name"), str):
                found[section], problem = self.find("algo_name", values["algo_name"])
                self.problems += [f"{place.parts['algo_name'].text}: {section}.algo_name: {problem}"] if problem else []
        return found

    def remarks(self, found: dict[str, Any]) -> Iterator[str]:
        """Yields what the packages of algorithms have to say of the names by which they were asked for."""
        written = {self.algo_of(section).lower(): package for section, package in found.items() if section != "env_cfg"}
        for name, package in written.items():
            yield from (text for alias, text in getattr(package, "REMARKS", {}).items() if alias.lower() == name)

    def across(self, general: GeneralConfig, algo: Any) -> None:
        """Reports problems between general_cfg and the algorithms."""
        names = self.policy_names().values()
        if general.score_policy is not None and general.score_policy not in names:
            known = did_you_mean(general.score_policy, names) or f"; policies: {', '.join(names) or 'none'}"
            self.report("general_cfg", "score_policy", f"names no policy of policies_cfg{known}")
        if algo is not None and general.mode == "train":
            self.across_offline(general, algo.offline_updates_of())
        if algo is not None and not names and general.mode == "train" and not algo.LEARNS:
            self.report("general_cfg", "algo_name", "does not learn; it is for an opponent in policies_cfg")

    def across_offline(self, general: GeneralConfig, updates: int) -> None:
        """Reports limits that count what a run collects, in a run that only learns from given data, and one that ends
        a run before it collects. updates: from the data alone; -1: all of them."""
        if 0 < general.max_update <= updates:
            why = f"{general.max_update:,} updates are over before the run collects: algo_cfg.offline_updates is"
            remedy = "set a higher max_update, or limit the run by max_total_step or max_episode alone"
            self.report("general_cfg", "max_update", f"{why} {updates:,}; {remedy}")
        if updates >= 0:
            return
        merged, _ = sources.merge(self.sources, "general_cfg", GeneralConfig)
        for key in ("max_episode", "max_total_step"):
            if merged.get(key) is not None and getattr(general, key) > 0:
                message = "counts what is collected, and this run learns from algo_cfg.data alone; set max_update, or"
                self.report("general_cfg", key, f"{message} algo_cfg.offline_updates for how long it does so")

    # sections ---------------------------------------------------------------------------------------------

    def section(self, section: str) -> Any:
        """Returns the validated section, or None. Reports contradictions as far as the section can be read."""
        model = self.models[section]
        for source in self.sources:
            self.problems += sources.doubled(source, section, model)
        values, place = self.merged(section)
        try:
            instance = model.model_validate(values)
        except ValidationError as error:
            found = faults(error, model, place, lambda key: self.hint(section, key))
            self.problems += [fault.sentence for fault in found if fault.sentence not in self.problems]
            wrong = {fault.key for fault in found}
            self.contradictions(section, {key: value for key, value in values.items() if key not in wrong}, wrong)
            return None
        self.contradictions(section, values, set())
        return instance

    def contradictions(self, section: str, values: dict[str, Any], wrong: set[str]) -> None:
        """Reports problems between the settings that can be read, except those that a wrong one may have caused."""
        model = self.models[section]
        try:
            instance = model.model_validate({**model.STAND_INS, **values})
        except ValidationError:
            return
        if not self.may_import(section, instance):
            return
        doubtful = wrong | {near for key in wrong if (near := nearest(key, model.model_fields))}
        for key, message, depends_on in instance.checks():
            if not doubtful & {key, *depends_on}:
                self.report(section, key, message)

    def may_import(self, section: str, instance: Strict) -> bool:
        """Reports code of the user's own that may not be imported; returns True if there is none."""
        own_parts = dict.fromkeys((key, self.forbids(name)) for key, name in instance.own())
        forbidden = [(key, why) for key, why in own_parts if why]
        for key, why in forbidden:
            self.report(section, key, why)
        return not forbidden

    def forbids(self, name: str) -> str | None:
        """Returns why a class or function of the user's own may not be imported; None if it may."""
        return packages.forbidden(name, self.allow, self.task_loaded)

    def environment(self, package: ModuleType, env: Any) -> None:
        """Reports what the environment itself finds wrong with its section, unless its code may not be imported."""
        if hasattr(package, "check") and not any(self.forbids(name) for _, name in env.own()):
            for key, message, *_ in package.check(env):
                if message.startswith("unknown; ") and (theirs := self.foreign_name(key, "env_cfg")):
                    message = f"unknown{theirs}"
                if key == "id" and env.id in joyrl.ENVS:
                    message = f"{env.id} is {packages.renamed(env.id)}"
                if key == "id" and not (self.used and presets.named(self.used, env.id)):
                    message += presets.elsewhere(env.id, package, self.finders["env_name"], self.preset_root)
                self.report("env_cfg", key, message)

    def _put_words(self, source: sources.Source, scope: Scope) -> None:
        """Puts words of JoyRL under our names."""
        changes = list(joyrl_settings.put_words(source, scope))
        self.nothing_to_do += [remark for kind, remark in changes if kind == joyrl_settings.NEEDLESS]
        if moved := [remark for kind, remark in changes if kind == joyrl_settings.MOVED]:
            self.notes.append(f"{joyrl_settings.TRANSLATED}: {', '.join(moved)}")

    def finish(self, **rest: Any) -> RunConfig:
        found = self.all_packages()
        self.put_models(found)
        if self.task_loaded and self.general("mode") == "test":
            self.sources.insert(0, self.unrecorded())
        scope = Scope(self.three_models(), self.sources)
        for source in self.sources:
            rllib.put_present_env(source, scope, found["env_cfg"])
        for source in self.sources:
            self.notes += rllib.translate(source, scope, lambda key: self.hint("algo_cfg", key))
            self._put_words(source, scope)
            self.notes += source.notes
            self.notes += rllib_multiagent.translate(source, self.models, self.sources, self.hint)
            self.problems += source.problems
        sources.choose_film(self.sources, self.models.get("env_cfg"))
        self.problems += sources.outside(self.sources, self.models, self.foreign_name)
        built: dict[str, Any] = {name: self.section(name) for name in self.models}
        if built.get("env_cfg"):
            self.environment(found["env_cfg"], built["env_cfg"])
        if built.get("general_cfg"):
            self.across(built["general_cfg"], built.get("algo_cfg"))
        if self.problems:
            raise ConfigError(sorted(self.problems, key=_position))
        where = {path: place.text for path, place in self.places(self.sources)}
        explicit = frozenset(path for path, _ in self.places(source for source in self.sources if source.written))
        names = [name for section in built.values() for _, name in section.own()]
        own_names = [*names, *(str(self.general(key)) for key in ("algo_name", "env_name"))]
        own_names += [self.algo_of(section) for section in self.policy_names()]
        decided = self.limits(built["general_cfg"], built["algo_cfg"], found["env_cfg"], built["env_cfg"], explicit)
        self.keep_rates(built, where, limits.planned(built["general_cfg"].model_copy(update=decided)))
        self.notes += unread.notes(self, built, joyrl_settings.without_defaults(where), self.nothing_to_do)
        self.notes += self.remarks(found)
        if hasattr(found["env_cfg"], "remark") and (remark := found["env_cfg"].remark(built["env_cfg"])):
            self.notes.append(remark)
        if built["general_cfg"].mode == "train":
            general = built["general_cfg"].model_copy(update=decided)
            for section in self.policy_names() or ["algo_cfg"]:
                self.notes += built[section].advice(general.max_total_step, general.max_update)
        return RunConfig(
            general=built["general_cfg"].model_copy(update={**self.canonical(found), **decided}),
            algo=built["algo_cfg"],
            env=built["env_cfg"],
            algo_package=found["algo_cfg"],
            env_package=found["env_cfg"],
            where=where,
            explicit=explicit,
            objects={name: own.find(name) for name in names if ":" not in name},
            allow_import=tuple(dict.fromkeys([*self.allow, *packages.imported(own_names, self.allow)])),
            notes=tuple(printable(note) for note in self.notes if note),
            policies={
                name: built[section].model_copy(update={"algo_name": self.full_name(section, found[section])})
                for section, name in self.policy_names().items()
            },
            policy_packages={name: found[section] for section, name in self.policy_names().items()},
            **rest,
        )

    def keep_rates(self, built: dict[str, Any], where: Mapping[str, str], planned: bool) -> None:
        """Makes learning rates constant that fall by default, in a run whose length is not planned."""
        for section, algo in () if planned else built.items():
            if isinstance(algo, AlgoConfig) and algo.schedule() != "constant" and f"{section}.lr_schedule" not in where:
                built[section] = algo.model_copy(update={"lr_schedule": "constant"})
                needed = "max_episode, max_total_step or max_update"
                self.notes.append(f"{section}.lr_schedule is constant: {algo.schedule()} needs {needed}")

    def unrecorded(self) -> sources.Source:
        """Returns what older runs did in place of settings that they do not record, to play their models as they were
        trained. It stands below the settings that a run has recorded."""
        source = sources.Source(written=False)
        for section, model in self.models.items():
            if section not in self.heirs and issubclass(model, AlgoConfig):
                for key, value in model.BEFORE.items():
                    source.put(section, key, value, Place("default", f"{section}.{key}"))
        return source

    def limits(
        self, general: GeneralConfig, algo: AlgoConfig, kind: ModuleType, env: Any, explicit: frozenset[str]
    ) -> dict[str, Any]:
        """Returns the values of unwritten limits, and notes what was decided."""
        if general.mode == "test":
            values, note = limits.of_test(general, "general_cfg.max_episode" in explicit)
        else:
            merged, _ = sources.merge(self.sources, "general_cfg", GeneralConfig)
            written = {key for key, value in merged.items() if value is not None}
            own = kind.own_limit(env) if hasattr(kind, "own_limit") else None
            name, offline = getattr(env, "id", general.env_name), algo.offline_updates_of()
            values, note = limits.of_training(general, written, name, own, offline, algo.data_epochs_of())
        self.notes.append(note)
        return values
