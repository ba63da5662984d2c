"""What the words of another library can mean in a run: the settings that exist, and the values that are written."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from config.foreign.row import Meaning, NoCounterpartError, Row, Translation
from config.schema import Strict
from config.sources import Source, merge

__all__ = ["Meaning", "NoCounterpartError", "Row", "Scope", "Translation"]


@dataclass(frozen=True)
class Scope:
    """The settings that exist in this run, and the values that are written."""

    models: Mapping[str, type[Strict]]
    sources: Iterable[Source] = ()

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
        """Returns the settings of a section that are written."""
        return merge(self.sources, section, self.models[section])[0] if section in self.models else {}

    def value(self, path: str) -> Any:
        """Returns a setting as it is written, or else its default."""
        section, _, key = path.partition(".")
        value = self.written(section).get(key)
        return self.models[section].model_fields[key].default if value is None else value

    def number(self, path: str) -> float:
        """Returns a number that is written, or else the default."""
        section, _, key = path.partition(".")
        written = self.written(section).get(key)
        default = self.models[section].model_fields[key].default
        return float(written if isinstance(written, int | float) and written > 0 else default)
