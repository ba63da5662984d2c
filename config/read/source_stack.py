"""The settings as they are written: all sources of a configuration, the models of its sections, and what is wrong."""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from config.config import GeneralConfig
from config.model import SECTIONS, policies
from config.model.fields import Strict
from config.model.policies import PolicyConfig
from config.own import packages
from config.read import sources
from config.read.finder import Finder
from config.read.yaml_reader import Place
from config.tell import hints
from config.tell.error_text import locate
from config.tell.language import tr
from config.tell.names import DEFAULT_OF


class SourceStack:
    """Sources from the weakest to the strongest. Nothing is validated yet."""

    def __init__(self, find_algo: Finder, find_env: Finder, allow: tuple[str, ...]) -> None:
        self.finders = {"algo_name": find_algo, "env_name": find_env}
        self.allow = allow
        self.sources: list[sources.Source] = []
        self.models: dict[str, type[Strict]] = {"general_cfg": GeneralConfig}
        """Models of the sections that are known so far; those of policies come last."""
        self.heirs: set[str] = set()
        """Sections of policies whose settings default to those of algo_cfg."""
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.reported: set[tuple[str, str]] = set()
        """Settings of algo_cfg with a problem, and the problem: policies that inherit them do not repeat it."""

    def report(self, section: str, key: str, message: str, depends_on: Iterable[str] = ()) -> None:
        """Records a problem at the place where the key was written, or at its section.

        An unwritten value is reported as the algorithm's default. depends_on: settings that it does not go with.
        """
        if section == "algo_cfg":
            self.reported.add((key, message))
        elif section in self.heirs and (key, message) in self.reported:
            return
        _, place = self.merged(section)
        parts = [int(part) if part.isdigit() else part for part in re.findall(r"\w+", key)]
        of_policy = policies.name_of(section) and parts[0] not in PolicyConfig.model_fields
        of_algo = section == "algo_cfg" or of_policy
        unwritten = of_algo and parts[0] not in place.parts
        spot = DEFAULT_OF.format(algo=self.algo_of(section)) if unwritten else locate(place, parts).text
        remedy = self._remedy(section, parts[0], depends_on) if of_algo else ""
        self.problems.append(f"{spot}: {section}.{key}: {message}{remedy}")

    def _remedy(self, section: str, key: Any, depends_on: Iterable[str]) -> str:
        """Returns the end of a sentence about a value of a preset, or a default, which does not go with a setting that
        the user has written: nobody is to change a preset for that."""
        _, place = self.merged(section, (source for source in self.sources if source.written))
        written = [place.parts[name] for name in depends_on if name in place.parts]
        if key in place.parts or not written:
            return ""
        return tr(
            "; you have set {theirs} ({place}): change that, or set {key}, too",
            theirs=written[0].path,
            place=written[0].text,
            key=f"{section}.{key}",
        )

    def writes(self, section: str, key: str) -> bool:
        """Returns True if a source has this setting."""
        return any(key in source.sections.get(section, {}) for source in self.sources)

    def general(self, key: str) -> Any:
        """Returns a general setting as written, or its default."""
        values, _ = sources.merge(self.sources, "general_cfg", GeneralConfig)
        value = values.get(key)
        return GeneralConfig.model_fields[key].default if value is None else value

    def find(self, key: str, name: Any) -> tuple[ModuleType | None, str]:
        """Returns the package that a name means, or None and why. What is not text means none: its section says so."""
        if not isinstance(name, str):
            return None, ""
        return packages.find(key, name, self.finders[key], self.allow)

    def our_name(self, algorithm: str) -> str | None:
        """Returns our name of an algorithm; None for an unknown one."""
        package, _ = self.find("algo_name", algorithm)
        return None if package is None else str(package.NAME)

    def package(self, key: str) -> ModuleType | None:
        package, problem = self.find(key, self.general(key))
        if problem:
            self.report("general_cfg", key, problem)
        return package

    def same(self, key: str, name: Any, other: Any) -> bool:
        """Returns True if two names mean the same package, or none."""
        return self.find(key, name)[0] is self.find(key, other)[0]

    def algo_of(self, section: str) -> str:
        """Returns the name of the algorithm of a policy; for another section that of general_cfg."""
        values: dict[str, Any] = {}
        if policies.name_of(section) is not None:
            values, _ = sources.merge(self.sources, section, PolicyConfig)
        return str(values.get("algo_name") or self.general("algo_name"))

    def policy_names(self) -> dict[str, str]:
        """Returns the names of all policies by section, in the order of their first appearance."""
        every = (section for source in self.sources for section in source.sections)
        return {section: name for section in every if (name := policies.name_of(section)) is not None}

    def all_packages(self) -> dict[str, Any]:
        """Returns the packages of algorithm, environment and policies by section; None for those that are unknown."""
        by_section = {"algo_cfg": self.package("algo_name"), "env_cfg": self.package("env_name")}
        for section, name in self.policy_names().items():
            values, place = sources.merge(self.sources, section, PolicyConfig)
            if fault := policies.misnamed(name):
                self.problems.append(f"{place.text}: {section}: {fault}")
            by_section[section] = by_section["algo_cfg"]
            if isinstance(values.get("algo_name"), str):
                by_section[section], problem = self.find("algo_name", values["algo_name"])
                self.problems += [f"{place.parts['algo_name'].text}: {section}.algo_name: {problem}"] if problem else []
        return by_section

    def put_models(self, by_section: Mapping[str, ModuleType | None]) -> None:
        """Adds the models of sections whose packages are known."""
        for section, package in by_section.items():
            if package is None:
                continue
            if policies.name_of(section) is None:
                self.models[section] = package.Config
            else:
                self.models[section] = policies.combined(package.Config)
                self.heirs |= {section} if package is by_section["algo_cfg"] else set()

    def merged(self, section: str, some: Iterable[sources.Source] | None = None) -> tuple[dict[str, Any], Place]:
        """Returns the settings of a section, and their places; a policy has those of algo_cfg too. some: sources; None
        for all."""
        some = self.sources if some is None else list(some)
        model = self.models.get(section, Strict)
        values, place = sources.merge(some, section, model)
        if section in self.heirs:
            algo, above = sources.merge(some, "algo_cfg", self.models["algo_cfg"])
            for key in algo:
                is_own = key in PolicyConfig.model_fields or (key in values and not model.is_silent(key, values[key]))
                if key in model.model_fields and not is_own:
                    values[key], place.parts[key] = algo[key], above.parts[key]
        return values, place

    def places(self, some: Iterable[sources.Source]) -> Iterator[tuple[str, Place]]:
        """Yields every setting that is written in these sources, as section.field, and its place."""
        some = list(some)
        for section in self.models:
            for key, place in self.merged(section, some)[1].parts.items():
                yield f"{section}.{key}", place

    def canonical(self, by_section: Mapping[str, ModuleType]) -> dict[str, str]:
        """Returns algo_name and env_name without aliases and case; a user's own package keeps its path."""
        env = self.general("env_name")
        return {
            "algo_name": self.full_name("algo_cfg", by_section["algo_cfg"]),
            "env_name": env if "." in env else by_section["env_cfg"].__name__.rpartition(".")[2],
        }

    def full_name(self, section: str, package: ModuleType) -> str:
        """Returns the name of the algorithm of a section without aliases and case."""
        name = self.algo_of(section)
        return name if "." in name else str(package.NAME)

    def hint(self, section: str, key: str) -> str:
        """Returns the end of a sentence about a key that a section does not have."""
        models, algo = self.models, self.algo_of(section)
        if policies.name_of(section) is not None:  # to the hints a policy is an algo_cfg
            models, section = {**self.three_models(), "algo_cfg": models[section]}, "algo_cfg"
        return hints.unknown_setting(section, key, models, self.finders["algo_name"], algo)

    def foreign_name(self, key: str, section: str = "") -> str:
        """Returns the end of a sentence about a name of another library. section: the one that it is written in."""
        return hints.foreign_name(section, key, self.models, self.finders["algo_name"], self.algo_of("algo_cfg"))

    def three_models(self) -> dict[str, type[Strict]]:
        """Returns the models of the sections other than policies."""
        return {name: self.models[name] for name in SECTIONS if name in self.models}
