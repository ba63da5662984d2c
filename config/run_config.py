"""Complete and valid configuration of one run, and its form as YAML."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from config.general import GeneralConfig
from config.schema import AlgoConfig, EnvConfig, Strict
from config.yaml_reader import Dumper

SECTIONS = ("general_cfg", "algo_cfg", "env_cfg")


@dataclass(frozen=True)
class RunConfig:
    """All settings of a run, and the source of each."""

    general: GeneralConfig
    algo: AlgoConfig
    env: EnvConfig
    algo_package: ModuleType
    env_package: ModuleType
    where: dict[str, str]
    """Source of each setting that is not a Python default: algo_cfg.lr -> file.yaml:12 or command line."""
    explicit: frozenset[str]
    """Settings that the user wrote, in YAML or on the command line; not those of a preset or a resumed run."""
    expected_return: float | None = None
    """Return that the first comment line of the YAML promises."""
    preset: str | None = None
    """Path of the preset that is used."""
    task: Path | None = None
    """Task directory that load_path names, if load_checkpoint is true."""
    into: Path | None = None
    """New folder for the run, from --into, in place of one under tasks/."""
    allow_import: tuple[str, ...] = ()
    """User packages that the command line allows to import."""
    objects: Mapping[str, Any] = field(default_factory=dict)
    """Classes and functions of the user's own that settings name and no other process could import: by their registered
    name."""
    notes: tuple[str, ...] = ()
    """Remarks on how the configuration was decided, for the user."""

    def sections(self) -> dict[str, Strict]:
        return dict(zip(SECTIONS, (self.general, self.algo, self.env), strict=True))

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Returns the three sections as plain builtins."""
        return {name: section.model_dump() for name, section in self.sections().items()}

    def to_yaml(self) -> str:
        """Returns a file for --yaml that gives this configuration again."""
        lines = [] if self.expected_return is None else [f"# Return {self.expected_return:.12g} is expected.\n"]
        for name, section in self.sections().items():
            lines.append(f"{name}:\n")
            lines.extend(_setting(section, key, value) for key, value in section.model_dump().items())
        return "".join(lines)


def _setting(section: Strict, key: str, value: Any) -> str:
    """Returns a setting with its help, on the same line if it is short, otherwise above. Layers get a line each."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        text = "".join([f"  {key}:\n", *(f"    - {_flow([item])[1:-1]}\n" for item in value)])
    else:
        text = f"  {_flow({key: value})[1:-1]}\n"
    known = type(section).model_fields.get(key)
    help_text = " ".join(known.description.split()) if known and known.description else ""
    if not help_text:
        return text
    beside = f"{text.rstrip()}  # {help_text}\n"
    return beside if text.count("\n") == 1 and len(beside) <= 121 else f"  # {help_text}\n{text}"


def _flow(value: Any) -> str:
    return yaml.dump(
        value, Dumper=Dumper, sort_keys=False, allow_unicode=True, default_flow_style=True, width=10_000
    ).removesuffix("\n")
