"""The configuration of one run, complete and valid, and its form as YAML."""

from dataclasses import dataclass
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
    """What a run needs to know, and where each setting came from."""

    general: GeneralConfig
    algo: AlgoConfig
    env: EnvConfig
    algo_package: ModuleType
    env_package: ModuleType
    where: dict[str, str]
    """algo_cfg.lr -> file.yaml:12 or command line, for every setting that is not a Python default."""
    explicit: frozenset[str]
    """Settings that the user wrote, in YAML or on the command line; not those of a preset or a resumed run."""
    expected_return: float | None = None
    """Promised by the first comment line of the YAML."""
    preset: str | None = None
    """The preset that was taken."""
    task: Path | None = None
    """The task directory that load_path names, where load_checkpoint is true."""
    into: Path | None = None
    """The new folder that the command line gives the run, in place of one under tasks/."""
    allow_import: tuple[str, ...] = ()
    """Packages of the user's own that the command line allowed to import."""
    notes: tuple[str, ...] = ()
    """What a person should know of how the configuration came about."""

    def sections(self) -> dict[str, Strict]:
        return dict(zip(SECTIONS, (self.general, self.algo, self.env), strict=True))

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """The three sections as plain builtins."""
        return {name: section.model_dump() for name, section in self.sections().items()}

    def to_yaml(self) -> str:
        """A file for --yaml that gives this configuration again."""
        lines = [] if self.expected_return is None else [f"# Return {self.expected_return:.12g} is expected.\n"]
        for name, section in self.sections().items():
            lines.append(f"{name}:\n")
            lines.extend(_setting(section, key, value) for key, value in section.model_dump().items())
        return "".join(lines)


def _setting(section: Strict, key: str, value: Any) -> str:
    """A setting with its help: behind it where the line stays short, otherwise above. One line for each layer."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        text = "".join([f"  {key}:\n", *(f"    - {_flow([item])[1:-1]}\n" for item in value)])
    else:
        text = f"  {_flow({key: value})[1:-1]}\n"
    field = type(section).model_fields.get(key)
    help_text = " ".join(field.description.split()) if field and field.description else ""
    if not help_text:
        return text
    beside = f"{text.rstrip()}  # {help_text}\n"
    return beside if text.count("\n") == 1 and len(beside) <= 121 else f"  # {help_text}\n{text}"


def _flow(value: Any) -> str:
    return yaml.dump(
        value, Dumper=Dumper, sort_keys=False, allow_unicode=True, default_flow_style=True, width=10_000
    ).removesuffix("\n")
