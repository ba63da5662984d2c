"""Python defaults < earlier run < YAML or preset < command line: one valid configuration, or all problems at once."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from config import hints, joyrl, limits, own, packages, policies, presets, rllib, sources, tasks
from config.error_text import faults, locate
from config.finder import Finder
from config.general import GeneralConfig
from config.names import did_you_mean, nearest, printable
from config.policies import PolicyConfig
from config.program import PROGRAM
from config.run_config import SECTIONS, RunConfig
from config.schema import Strict
from config.task_config import load_task_config
from config.yaml_reader import Document, DocumentError, Place, read

__all__ = ["SECTIONS", "ConfigError", "Finder", "RunConfig", "load"]

MOST_PROBLEMS = 100
"""Problems that are listed; a file may hold thousands."""


_MANY = "env_cfg.n_envs: N steps N environments in this process, mp_backend: ray starts processes"


class ConfigError(Exception):
    """Everything that is wrong with a configuration, one sentence each."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(printable(problem) for problem in problems)
        more = len(problems) - MOST_PROBLEMS
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
    values: Mapping[str, Mapping[str, Any]] | None = None,
    config: str | None = None,
    stop: str | None = None,
    checkpoint_freq: int | None = None,
    episodes: int | None = None,
    model: str | int | None = None,
    word: str = "",
    file: Document | sources.Source | None = None,
    task_root: Path = Path("tasks"),
    preset_root: Path = presets.PRESETS,
) -> RunConfig:
    """Returns the configuration of a run; the arguments from algo to model are the flags of these names. values:
    settings by section from a Python program. word: the command that stands for --resume or --test. file: what was read
    from yaml_path, if it has been read: all of it, or one of its experiments."""
    work = _Assembly(find_algo, find_env, tuple(allow_import), preset_root)
    flags = sources.flags(algo, env, resume, test, video, checkpoint_freq, episodes, model, word)
    if values is not None:
        flags = [("Python", path, value) for _, path, value in flags]
    typed = sources.from_command_line(overrides, flags, sources.from_values(values or {}, "Python"))
    work.sources = [*rllib.from_flags(config, stop), typed]
    preset = work.preset() if (algo or env) and not (yaml_path or resume or test) else None
    path = yaml_path or preset
    document = file if isinstance(file, Document) else _read(path) if path and file is None else None
    if document:
        work.add_document(document, str(path), written=preset is None)
    elif isinstance(file, sources.Source):
        work.sources.insert(0, file)
    task = work.task(task_root)
    earlier = work.earlier(task) if task else None
    if not (file or document or earlier or algo or env):
        work.notes.append("no --yaml: the Python defaults are used")
    if earlier:
        address = sources.address_of(earlier)
        if address and work.general("ray_address") is None:
            work.notes.append(
                f"the cluster of the earlier run is not used: add general_cfg.ray_address={address} to connect to it"
            )
        work.sources.insert(0, sources.from_task(earlier, testing=work.general("mode") == "test"))
        work.compare(earlier, task)
    source = document or earlier
    return work.finish(
        expected_return=presets.promised_return(source.comment) if source and work.same_task(source, preset) else None,
        preset=str(preset) if preset else None,
        task=task,
        into=Path(into) if into else None,
    )


def _read(path: str | Path) -> Document:
    """Returns a file's document; an unreadable file leaves nothing else to check."""
    try:
        return read(path)
    except DocumentError as error:
        raise ConfigError([str(error)]) from None


def _position(problem: str) -> tuple[bool, int]:
    """Returns a sort key: problems in files come first, by line."""
    line = re.match(r".+?:(\d+):", problem)
    return line is None, int(line[1]) if line else 0


class _Assembly:
    """Combines sources into sections and collects problems on the way."""

    def __init__(self, find_algo: Finder, find_env: Finder, allow: tuple[str, ...], preset_root: Path) -> None:
        self.finders = {"algo_name": find_algo, "env_name": find_env}
        self.allow, self.preset_root = allow, preset_root
        self.sources: list[sources.Source] = []
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.nothing_to_do: list[str] = []
        self.models: dict[str, type[Strict]] = {"general_cfg": GeneralConfig}
        self.heirs: set[str] = set()
        """Sections of policies whose settings default to those of algo_cfg."""
        self.reported: set[tuple[str, str]] = set()
        """Settings of algo_cfg with a problem, and the problem: policies that inherit them do not repeat it."""

    def general(self, key: str) -> Any:
        """Returns a general setting as written, or its default; not validated yet."""
        values, _ = sources.merge(self.sources, "general_cfg", GeneralConfig)
        value = values.get(key)
        return GeneralConfig.model_fields[key].default if value is None else value

    def report(self, section: str, key: str, message: str) -> None:
        """Records a problem at the place where the key was written, or at its section.

        An unwritten value is reported as the algorithm's default.
        """
        if section == "algo_cfg":
            self.reported.add((key, message))
        elif section in self.heirs and (key, message) in self.reported:
            return
        _, place = self.merged(section, self.sources)
        parts = [int(part) if part.isdigit() else part for part in re.findall(r"\w+", key)]
        of_algo = section == "algo_cfg" or (policies.name_of(section) and parts[0] not in PolicyConfig.model_fields)
        unwritten = of_algo and parts[0] not in place.parts
        spot = f"default of {self.algo_of(section)}" if unwritten else locate(place, parts).text
        self.problems.append(f"{spot}: {section}.{key}: {message}")

    def add_document(self, document: Document, path: str, *, written: bool) -> None:
        """Puts a YAML file or a preset below the command line, and notes what may surprise."""
        command_line = self.sources[-1].sections.get("general_cfg", {})
        source = sources.from_document(document, written=written)
        self.sources.insert(0, source)
        if not written:
            return
        if missing := source.missing():
            self.notes.append(f"{path} sets nothing under {', '.join(missing)}: the defaults are used")
        theirs, ours = source.sections.get("general_cfg", {}).get("algo_name"), command_line.get("algo_name")
        kept = source.sections.get("algo_cfg", {})
        if theirs and ours and kept and self.find("algo_name", str(theirs))[0] is not self.find("algo_name", ours)[0]:
            self.notes.append(f"{path} is for {theirs}; these of its settings are used for {ours}: {', '.join(kept)}")

    # names ------------------------------------------------------------------------------------------------

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
        """Returns the settings of the run that is loaded."""
        try:
            config = load_task_config(task)
        except DocumentError as error:
            raise ConfigError([*self.problems, str(error)]) from None
        if config.note:
            self.notes.append(config.note)
        return config.document

    def compare(self, earlier: Document, task: Path | None) -> None:
        """Refuses a model of another algorithm with one problem in place of one for each of its settings."""
        source = sources.from_document(earlier, written=False)
        past = source.sections.get("general_cfg", {}).get("algo_name")
        now = self.general("algo_name")
        if self.find("algo_name", str(past))[0] is not self.find("algo_name", str(now))[0]:
            raise ConfigError([*self.problems, f"{task} was trained with {past}, and algo_name is {now}"])
        for section in filter(policies.name_of, source.sections):
            past, now = source.sections[section].get("algo_name") or past, self.algo_of(section)
            if self.find("algo_name", str(past))[0] is not self.find("algo_name", str(now))[0]:
                problem = f"{section} of {task} was trained with {past}, and its algo_name is {now}"
                raise ConfigError([*self.problems, problem])

    def preset(self) -> Path | None:
        """Returns the preset for the algorithm and the environment of the command line."""
        algo = str(self.general("algo_name"))
        package, _ = self.find("algo_name", algo)
        kind, _ = self.find("env_name", str(self.general("env_name")))
        parts = [source.sections.get("env_cfg", {}) for source in reversed(self.sources)]
        command = next((part for part in parts if "id" in part), {})
        env = str(command.get("id") or getattr(kind and kind.Config(), "id", ""))
        family_name = kind.present_name(env) if kind and hasattr(kind, "present_name") else env
        path = presets.find(package.NAME if package else algo, family_name, self.preset_root)
        self.notes += presets.notes(path, algo, family_name, self.preset_root)
        if path and "id" in command and presets.named(path, env):
            preset = sources.from_document(_read(path), written=False)
            command["id"] = preset.sections.get("env_cfg", {}).get("id", env)
        return path

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

    def find(self, key: str, name: str) -> tuple[ModuleType | None, str]:
        return packages.find(key, name, self.finders[key], self.allow)

    def package(self, key: str) -> ModuleType | None:
        name = self.general(key)
        if not isinstance(name, str):
            return None
        package, problem = self.find(key, name)
        if problem:
            self.report("general_cfg", key, problem)
        return package

    # policies ---------------------------------------------------------------------------------------------

    def algo_of(self, section: str) -> str:
        """Returns the algorithm of a policy, or for another section that of general_cfg; as written."""
        own_name = None
        if policies.name_of(section) is not None:
            own_name = sources.merge(self.sources, section, PolicyConfig)[0].get("algo_name")
        return str(own_name or self.general("algo_name"))

    def policies(self, usual: ModuleType | None) -> dict[str, ModuleType]:
        """Returns the packages of the policies by section; those that can be found. usual: that of general_cfg."""
        found = {}
        for section in dict.fromkeys(section for source in self.sources for section in source.sections):
            name = policies.name_of(section)
            if name is None:
                continue
            values, place = sources.merge(self.sources, section, PolicyConfig)
            if fault := policies.misnamed(name):
                self.problems.append(f"{place.text}: {section}: {fault}")
            package, problem = usual, ""
            if isinstance(values.get("algo_name"), str):
                package, problem = self.find("algo_name", values["algo_name"])
            if problem:
                self.report(section, "algo_name", problem)
            if package:
                found[section] = package
                self.models[section] = policies.combined(package.Config)
                self.heirs |= {section} if package is usual else set()
        return found

    def merged(self, section: str, some: Iterable[sources.Source]) -> tuple[dict[str, Any], Place]:
        """Returns the settings of a section in these sources, and their places; a policy has those of algo_cfg too."""
        some, model = list(some), self.models.get(section, Strict)
        values, place = sources.merge(some, section, model)
        if section in self.heirs:
            algo, above = sources.merge(some, "algo_cfg", self.models["algo_cfg"])
            inherited = [key for key in algo if key in model.model_fields and key not in PolicyConfig.model_fields]
            values = {**{key: algo[key] for key in inherited}, **values}
            place.parts = {**{key: above.parts[key] for key in inherited}, **place.parts}
        return values, place

    def across(self, general: GeneralConfig, algo: Any) -> None:
        """Reports problems between general_cfg and the algorithms."""
        names = [name for section in self.models if (name := policies.name_of(section))]
        if general.score_policy is not None and general.score_policy not in names:
            known = did_you_mean(general.score_policy, names) or f"; policies: {', '.join(names) or 'none'}"
            self.report("general_cfg", "score_policy", f"names no policy of policies_cfg{known}")
        if algo is not None and not names and general.mode == "train" and not algo.LEARNS:
            self.report("general_cfg", "algo_name", "does not learn; it is for an opponent in policies_cfg")

    def unread(self, section: str, built: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """Yields the settings of a section that nothing reads, and why; of a policy those that it has itself."""
        if section == "algo_cfg" and len(built) > len(SECTIONS):
            heirs = [built[name] for name in built if name in self.heirs]
            yield from policies.unread(built[section], heirs, self.algo_of(section))
        elif policies.name_of(section) is None:
            yield from built[section].unread()
        else:
            own_keys = sources.merge(self.sources, section, self.models[section])[0]
            yield from ((key, why) for key, why in built[section].unread() if key in own_keys)

    def built_policies(self, built: dict[str, Any], found: dict[str, ModuleType]) -> dict[str, Any]:
        """Returns the policies and the packages of their algorithms, each by name."""
        names = {section: name for section in built if (name := policies.name_of(section))}
        algos = {section: self.algo_of(section) for section in names}
        full = {section: algo if "." in algo else found[section].NAME for section, algo in algos.items()}
        return {
            "policies": {
                name: built[section].model_copy(update={"algo_name": full[section]}) for section, name in names.items()
            },
            "policy_packages": {name: found[section] for section, name in names.items()},
        }

    # sections ---------------------------------------------------------------------------------------------

    def section(self, section: str) -> Any:
        """Returns the validated section, or None. Reports contradictions as far as the section can be read."""
        model = self.models[section]
        for source in self.sources:
            self.problems += sources.doubled(source, section, model)
            self.nothing_to_do += source.drop_accepted(section, model)
        values, place = self.merged(section, self.sources)
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
        own_parts = dict.fromkeys((key, packages.forbidden(name, self.allow)) for key, name in instance.own())
        forbidden = [(key, why) for key, why in own_parts if why]
        for key, why in forbidden:
            self.report(section, key, why)
        return not forbidden

    def hint(self, section: str, key: str) -> str:
        models, algo = self.models, self.algo_of(section)
        if policies.name_of(section) is not None:  # to the hints a policy is an algo_cfg
            models = {**{name: models[name] for name in SECTIONS if name in models}, "algo_cfg": models[section]}
            section = "algo_cfg"
        return hints.unknown_setting(section, key, models, self.finders["algo_name"], algo)

    def foreign_name(self, key: str) -> str:
        algo = str(self.general("algo_name"))
        return hints.foreign_name("", key, self.models, self.finders["algo_name"], algo)

    def environment(self, package: ModuleType, env: Any) -> None:
        """Reports what the environment itself finds wrong with its section, unless its code may not be imported."""
        if hasattr(package, "check") and not any(packages.forbidden(name, self.allow) for _, name in env.own()):
            for key, message, *_ in package.check(env):
                if key == "id" and env.id in joyrl.ENVS:
                    message = f"{env.id} is {packages.renamed(env.id)}"
                more = presets.elsewhere(env.id, package, self.finders["env_name"], self.preset_root)
                self.report("env_cfg", key, message + (more if key == "id" else ""))

    def finish(self, **rest: Any) -> RunConfig:
        found: dict[str, Any] = {"algo_cfg": self.package("algo_name"), "env_cfg": self.package("env_name")}
        self.models |= {section: package.Config for section, package in found.items() if package}
        found |= self.policies(found["algo_cfg"])
        known = rllib.Known(self.models, self.sources)
        for source in self.sources:
            self.notes += rllib.translate(source, known, lambda key: self.hint("algo_cfg", key))
            self.problems += source.problems
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
        decided = self.limits(built["general_cfg"], found["env_cfg"], built["env_cfg"], explicit)
        self.note_unread(built, where)
        if built["general_cfg"].mode == "train":
            general = built["general_cfg"].model_copy(update=decided)
            learning = [built["algo_cfg"]] if len(built) == len(SECTIONS) else list(built.values())[len(SECTIONS) :]
            self.notes += [note for one in learning for note in one.advice(general.max_total_step, general.max_update)]
        return RunConfig(
            general=built["general_cfg"].model_copy(update={**self.canonical(found), **decided}),
            algo=built["algo_cfg"],
            env=built["env_cfg"],
            algo_package=found["algo_cfg"],
            env_package=found["env_cfg"],
            where=where,
            explicit=explicit,
            objects={name: own.find(name) for name in names if ":" not in name},
            allow_import=tuple(dict.fromkeys([*self.allow, *packages.given(names)])),
            notes=tuple(printable(note) for note in self.notes if note),
            **self.built_policies(built, found),
            **rest,
        )

    def limits(self, general: GeneralConfig, kind: ModuleType, env: Any, explicit: frozenset[str]) -> dict[str, Any]:
        """Returns the values of unwritten limits, and notes what was decided."""
        if general.mode == "test":
            values, note = limits.of_test(general, "general_cfg.max_episode" in explicit)
        else:
            merged, _ = sources.merge(self.sources, "general_cfg", GeneralConfig)
            written = {key for key, value in merged.items() if value is not None}
            own = kind.own_limit(env) if hasattr(kind, "own_limit") else None
            values, note = limits.of_training(general, written, getattr(env, "id", general.env_name), own)
        self.notes.append(note)
        return values

    def note_unread(self, built: dict[str, Any], where: dict[str, str]) -> None:
        """Notes the written settings that nothing reads or loads, in one line each kind."""
        unread: dict[str, list[str]] = {}
        for section in built:
            for key, why in self.unread(section, built):
                if f"{section}.{key}" in where:
                    more = f"; {_MANY}" if key == "n_workers" else ""
                    unread.setdefault(why + more, []).append(f"{section}.{key}")
        if self.nothing_to_do:
            self.notes.append(f"JoyRL's keys that need nothing here: {', '.join(dict.fromkeys(self.nothing_to_do))}")
        if unread:
            self.notes.append("not used: " + "; ".join(f"{', '.join(keys)} ({why})" for why, keys in unread.items()))
        if where.get("general_cfg.load_path") == "command line" and not built["general_cfg"].load_checkpoint:
            self.notes.append(
                f"load_path is not used (load_checkpoint is false); {PROGRAM} test NAME or resume NAME loads one"
            )

    def canonical(self, found: dict[str, ModuleType]) -> dict[str, str]:
        """Returns algo_name and env_name without aliases and case; a user's own package keeps its path."""
        algo, env = self.general("algo_name"), self.general("env_name")
        return {
            "algo_name": algo if "." in algo else found["algo_cfg"].NAME,
            "env_name": env if "." in env else found["env_cfg"].__name__.rpartition(".")[2],
        }

    def places(self, some: Iterable[sources.Source]) -> Iterator[tuple[str, Place]]:
        """Yields every setting that is written in these sources, as section.field, and its place."""
        some = list(some)
        for section in self.models:
            for key, place in self.merged(section, some)[1].parts.items():
                yield f"{section}.{key}", place
