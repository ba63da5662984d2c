"""The settings as they are written: all sources of a configuration, and the models of its sections."""

from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from config.config import GeneralConfig
from config.foreign import hints
from config.model import SECTIONS, policies
from config.model.fields import Strict
from config.model.policies import PolicyConfig
from config.own import packages
from config.read import sources
from config.read.finder import Finder
from config.read.yaml_reader import Place


class Written:
    """Sources from the weakest to the strongest. Nothing is validated yet."""

    def __init__(self, find_algo: Finder, find_env: Finder, allow: tuple[str, ...]) -> None:
        self.finders = {"algo_name": find_algo, "env_name": find_env}
        self.allow = allow
        self.sources: list[sources.Source] = []
        self.models: dict[str, type[Strict]] = {"general_cfg": GeneralConfig}
        """Models of the sections that are known so far; those of policies come last."""
        self.heirs: set[str] = set()
        """Sections of policies whose settings default to those of algo_cfg."""

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

    def put_models(self, found: Mapping[str, ModuleType | None]) -> None:
        """Adds the models of sections whose packages are known."""
        for section, package in found.items():
            if package is None:
                continue
            if policies.name_of(section) is None:
                self.models[section] = package.Config
            else:
                self.models[section] = policies.combined(package.Config)
                self.heirs |= {section} if package is found["algo_cfg"] else set()

    def merged(self, section: str, some: Iterable[sources.Source] | None = None) -> tuple[dict[str, Any], Place]:
        """Returns the settings of a section, and their places; a policy has those of algo_cfg too. some: sources; None
        for all."""
        some = self.sources if some is None else list(some)
        model = self.models.get(section, Strict)
        values, place = sources.merge(some, section, model)
        if section in self.heirs:
            algo, above = sources.merge(some, "algo_cfg", self.models["algo_cfg"])
            for key in algo:
                own = key in PolicyConfig.model_fields or (key in values and not model.is_silent(key, values[key]))
                if key in model.model_fields and not own:
                    values[key], place.parts[key] = algo[key], above.parts[key]
        return values, place

    def places(self, some: Iterable[sources.Source]) -> Iterator[tuple[str, Place]]:
        """Yields every setting that is written in these sources, as section.field, and its place."""
        some = list(some)
        for section in self.models:
            for key, place in self.merged(section, some)[1].parts.items():
                yield f"{section}.{key}", place

    def canonical(self, found: Mapping[str, ModuleType]) -> dict[str, str]:
        """Returns algo_name and env_name without aliases and case; a user's own package keeps its path."""
        env = self.general("env_name")
        return {
            "algo_name": self.full_name("algo_cfg", found["algo_cfg"]),
            "env_name": env if "." in env else found["env_cfg"].__name__.rpartition(".")[2],
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
