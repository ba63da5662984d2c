"""Python defaults < earlier run < YAML or preset < command line: one valid configuration, or all problems at once."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from pydantic import ValidationError

from config import presets, sources, tasks
from config.elsewhere import elsewhere
from config.error_text import faults, locate
from config.general import GeneralConfig
from config.names import did_you_mean, nearest
from config.run_config import SECTIONS, RunConfig
from config.schema import AlgoConfig, EnvConfig, Strict
from config.task_config import load_task_config
from config.yaml_reader import Document, DocumentError, Place, read

__all__ = ["SECTIONS", "ConfigError", "Finder", "RunConfig", "load"]


class ConfigError(Exception):
    """Everything that is wrong with a configuration, one sentence each."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(problems))


class Finder(NamedTuple):
    """How packages are found: get raises LookupError for a name that is not known."""

    get: Callable[[str], ModuleType]
    available: Callable[[], list[str]]


def load(
    yaml_path: str | Path | None,
    overrides: Iterable[str] = (),
    *,
    find_algo: Finder,
    find_env: Finder,
    algo: str | None = None,
    env: str | None = None,
    resume: str | None = None,
    allow_import: Iterable[str] = (),
    into: str | None = None,
    task_root: Path = Path("tasks"),
    preset_root: Path = presets.PRESETS,
) -> RunConfig:
    """The configuration of a run; algo, env, resume and into are the flags of these names."""
    work = _Assembly(find_algo, find_env, tuple(allow_import), preset_root)
    work.sources = [sources.from_command_line(overrides, sources.flags(algo, env, resume))]
    preset = work.preset() if (algo or env) and not (yaml_path or resume) else None
    path = yaml_path or preset
    document = _read(path) if path else None
    if document:
        work.sources.insert(0, sources.from_document(document, written=preset is None))
        if preset is None and (missing := work.sources[0].missing()):
            work.notes.append(f"{path} says nothing under {', '.join(missing)}: the defaults are used")
    task = work.task(task_root)
    earlier = work.earlier(task) if task else None
    if not (document or earlier or algo or env):
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
    """A file that cannot be read leaves nothing else to check."""
    try:
        return read(path)
    except DocumentError as error:
        raise ConfigError([str(error)]) from None


def _position(problem: str) -> tuple[bool, int]:
    """Problems in files come first, in the order of their lines."""
    line = re.match(r".+?:(\d+):", problem)
    return line is None, int(line[1]) if line else 0


def _permission(dotted: str) -> str:
    return f"--allow-import {dotted.partition('.')[0]}"


class _Assembly:
    """Sources become sections; problems are collected on the way."""

    def __init__(self, find_algo: Finder, find_env: Finder, allow: tuple[str, ...], preset_root: Path) -> None:
        self.finders = {"algo_name": find_algo, "env_name": find_env}
        self.allow, self.preset_root = allow, preset_root
        self.sources: list[sources.Source] = []
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.models: dict[str, type[Strict]] = {"general_cfg": GeneralConfig}

    def general(self, key: str) -> Any:
        """A general setting as written, or its default; not validated yet."""
        values, _ = sources.merge(self.sources, "general_cfg", GeneralConfig)
        value = values.get(key)
        return GeneralConfig.model_fields[key].default if value is None else value

    def report(self, section: str, key: str, message: str) -> None:
        """A problem at the place where the key was written, or at its section. Nobody wrote an algorithm's default."""
        _, place = sources.merge(self.sources, section, self.models.get(section, Strict))
        parts = [int(part) if part.isdigit() else part for part in re.findall(r"\w+", key)]
        unwritten = section == "algo_cfg" and parts[0] not in place.parts
        spot = f"default of {self.general('algo_name')}" if unwritten else locate(place, parts).text
        self.problems.append(f"{spot}: {section}.{key}: {message}")

    # what is named ----------------------------------------------------------------------------------------

    def task(self, root: Path) -> Path | None:
        """The task directory to load from."""
        path = self.general("load_path")
        if self.general("load_checkpoint") is not True or not isinstance(path, str) or not path:
            return None
        try:
            return tasks.find(path, root)
        except tasks.TaskError as error:
            self.report("general_cfg", "load_path", str(error))
            return None

    def earlier(self, task: Path) -> Document:
        """The settings of the run that is loaded."""
        try:
            config = load_task_config(task)
        except DocumentError as error:
            raise ConfigError([*self.problems, str(error)]) from None
        if config.note:
            self.notes.append(config.note)
        return config.document

    def compare(self, earlier: Document, task: Path | None) -> None:
        """A model of another algorithm is one problem, not one for each of its settings."""
        past = sources.from_document(earlier, written=False).sections.get("general_cfg", {}).get("algo_name")
        now = self.general("algo_name")
        if self.find("algo_name", str(past))[0] is not self.find("algo_name", str(now))[0]:
            raise ConfigError([*self.problems, f"{task} was trained with {past}, and algo_name is {now}"])

    def preset(self) -> Path | None:
        """The preset for the algorithm and the environment of the command line."""
        algo = str(self.general("algo_name"))
        package, _ = self.find("algo_name", algo)
        kind, _ = self.find("env_name", str(self.general("env_name")))
        command = self.sources[0].sections.get("env_cfg", {})
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
        return all(
            key in presets.NOT_THE_TASK
            or written.get(key) == value
            or (key == "id" and preset is not None and presets.named(preset, str(value)))
            for key, value in self.sources[-1].sections.get("env_cfg", {}).items()
        )

    def find(self, key: str, name: str) -> tuple[ModuleType | None, str]:
        """The package that algo_name or env_name means, or why there is none. A user's own needs permission."""
        finder, base = self.finders[key], AlgoConfig if key == "algo_name" else EnvConfig
        if "." in name and not self.allowed(name):
            return None, f"{name!r} is not built in; to run a package of your own, add {_permission(name)}"
        try:
            package = finder.get(name)
            if isinstance(package.Config, type) and issubclass(package.Config, base):
                return package, ""
            return None, f"{name}.Config must inherit from config.schema.{base.__name__}"
        except LookupError as error:
            known = f"(python main.py list {key.removesuffix('_name')}s shows all)"
            instead = getattr(error, "instead", "")
            hint = f"; {instead}" if instead else did_you_mean(name, finder.available())
            return None, f"unknown name {name!r}{hint} {known}"
        except Exception as error:
            if "." not in name:
                raise
            return None, f"{name} cannot be imported: {type(error).__name__}: {error}"

    def allowed(self, dotted: str) -> bool:
        return any(dotted == name or dotted.startswith(f"{name}.") for name in self.allow)

    def package(self, key: str) -> ModuleType | None:
        name = self.general(key)
        if not isinstance(name, str):
            return None
        package, problem = self.find(key, name)
        if problem:
            self.report("general_cfg", key, problem)
        return package

    # sections ---------------------------------------------------------------------------------------------

    def section(self, section: str) -> Any:
        """The validated section, or None; its contradictions are reported as far as it can be read."""
        model = self.models[section]
        for source in self.sources:
            self.problems += sources.doubled(source, section, model)
        if idle := sources.idle(self.sources, section, model):
            self.notes.append(f"left out, since nothing reads it now: {', '.join(sorted(idle))}")
            for source in self.sources:
                source.leave_out(section, idle, model)
        values, place = sources.merge(self.sources, section, model)
        try:
            instance = model.model_validate(values)
        except ValidationError as error:
            found = faults(error, model, place, lambda key: self.hint(section, key))
            self.problems += [fault.sentence for fault in found]
            wrong = {fault.key for fault in found}
            self.contradictions(section, {key: value for key, value in values.items() if key not in wrong}, wrong)
            return None
        self.contradictions(section, values, set())
        return instance

    def contradictions(self, section: str, values: dict[str, Any], wrong: set[str]) -> None:
        """Problems between the settings that can be read. Those that a wrong one may have caused say nothing new."""
        model = self.models[section]
        try:
            instance = model.model_validate(values)
        except ValidationError:
            return
        doubtful = wrong | {near for key in wrong if (near := nearest(key, model.model_fields))}
        for key, message, *_ in instance.checks():
            if not doubtful & set(re.findall(r"\w+", f"{key} {message}")):
                self.report(section, key, message)

    def hint(self, section: str, key: str) -> str:
        """What an unknown key may have meant."""
        others = {name: model.spellings() for name, model in self.models.items() if name != section}
        owner = next((name for name, known in others.items() if key in known), None)
        if owner:
            return f"; it belongs under {owner}"
        if section == "algo_cfg" and (algos := self.algorithms_with(key)):
            named = ", ".join(algos[:4]) + (" and others" if len(algos) > 4 else "")
            return f"; it is a setting of {named}, and algo_name is {self.general('algo_name')}"
        near_here = did_you_mean(key, self.models[section].spellings())
        return near_here or next(
            (f"; did you mean {name}.{near}?" for name in others if (near := nearest(key, others[name]))), ""
        )

    def algorithms_with(self, key: str) -> list[str]:
        finder = self.finders["algo_name"]
        return [name for name in finder.available() if key in finder.get(name).Config.spellings()]

    def environment(self, package: ModuleType, env: Any) -> None:
        """What the environment itself has to say about its section."""
        module, colon, _ = str(getattr(env, "id", "")).partition(":")
        if colon and not self.allowed(module):
            self.report("env_cfg", "id", f"imports {module}; to allow it, add {_permission(module)}")
        elif hasattr(package, "check"):
            finder = self.finders["env_name"]
            others = [kind for name in finder.available() if (kind := finder.get(name)) is not package]
            for key, message, *_ in package.check(env):
                more = elsewhere(env.id, others, self.preset_root) if key == "id" else ""
                self.report("env_cfg", key, message + more)

    def finish(self, **rest: Any) -> RunConfig:
        for source in self.sources:
            self.problems += source.problems
        packages: dict[str, Any] = {"algo_cfg": self.package("algo_name"), "env_cfg": self.package("env_name")}
        self.models |= {section: package.Config for section, package in packages.items() if package}
        self.problems += sources.outside(self.sources, self.models)
        built: dict[str, Any] = {name: self.section(name) for name in SECTIONS if name in self.models}
        if built.get("env_cfg"):
            self.environment(packages["env_cfg"], built["env_cfg"])
        if self.problems:
            raise ConfigError(sorted(self.problems, key=_position))
        return RunConfig(
            general=built["general_cfg"].model_copy(update=self.canonical(packages)),
            algo=built["algo_cfg"],
            env=built["env_cfg"],
            algo_package=packages["algo_cfg"],
            env_package=packages["env_cfg"],
            where={path: place.text for path, place in self.places(self.sources)},
            explicit=frozenset(path for path, _ in self.places(source for source in self.sources if source.written)),
            allow_import=self.allow,
            notes=(*self.notes, *self.advice(built["general_cfg"], built["algo_cfg"])),
            **rest,
        )

    def advice(self, general: GeneralConfig, algo: AlgoConfig) -> Iterator[str]:
        """What the algorithm says of its settings within the limits of a training run."""
        if general.mode == "train":
            yield from algo.advice(general.max_total_step, general.max_update)

    def canonical(self, packages: dict[str, ModuleType]) -> dict[str, str]:
        """algo_name and env_name without aliases and case; a user's own package keeps its path."""
        algo, env = self.general("algo_name"), self.general("env_name")
        return {
            "algo_name": algo if "." in algo else packages["algo_cfg"].NAME,
            "env_name": env if "." in env else packages["env_cfg"].__name__.rpartition(".")[2],
        }

    def places(self, some: Iterable[sources.Source]) -> Iterator[tuple[str, Place]]:
        """Every setting that is written in these sources, as section.field, and where."""
        some = list(some)
        for section, model in self.models.items():
            for key, place in sources.merge(some, section, model)[1].parts.items():
                yield f"{section}.{key}", place
