"""The scope in which the words of another library are read: the settings that exist, and the written values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from config.foreign.row import Meaning, NoCounterpartError, Row, Translation
from config.model.fields import Strict

__all__ = ["Meaning", "NoCounterpartError", "Row", "Scope", "Translation"]


class Written(Protocol):
    """Settings that are written, by section; config/read/sources.py reads the words of tables, and has such a class."""

    sections: dict[str, dict[str, Any]]
    foreign: dict[str, tuple[Any, Any]]
    """Settings outside of sections by another library's names, with their places."""


@dataclass(frozen=True)
class Scope:
    """The settings that exist in this run, and the values that are written."""

    models: Mapping[str, type[Strict]]
    sources: Iterable[Written] = ()
    """Sources of settings, the strongest last."""

    def has(self, path: str) -> bool:
        section, _, key = path.partition(".")
        model = self.models.get(section)
        return model is not None and key in model.model_fields

    def paths(self, *keys: str) -> list[str]:
        """Returns those of these settings that the algorithm has, with their section."""
        return [f"algo_cfg.{key}" for key in keys if self.has(f"algo_cfg.{key}")]

    def algo(self, *keys: str) -> list[str]:
        """Returns those of these settings that the algorithm has, with their section. Raises LookupError if it has
        none."""
        paths = self.paths(*keys)
        if not paths:
            raise LookupError(keys)
        return paths

    def written(self, section: str) -> dict[str, Any]:
        """Returns the settings of a section that are written, by our names."""
        values: dict[str, Any] = {}
        model = self.models.get(section)
        for source in self.sources:
            settings = source.sections.get(section, {}) if model else {}
            values |= {model.field_name(name) if model else name: value for name, value in settings.items()}
        return values

    def value(self, path: str) -> Any:
        """Returns what is written for a setting; None if nothing is."""
        section, _, key = path.partition(".")
        return self.written(section).get(key)

    def number(self, path: str) -> float:
        """Returns a number that is written, or else the default."""
        section, _, key = path.partition(".")
        written, default = self.value(path), self.models[section].model_fields[key].default
        return float(written if isinstance(written, int | float) and written > 0 else default)
