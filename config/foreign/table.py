"""A table of the words of another library: for each the settings here, what happens to its value, or why it means
nothing. From a table come what is loaded, `convert`, the hints in messages, and the page in docs/."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from config.schema import Strict
from config.sources import Source, merge


class Meaning(NamedTuple):
    """Settings that a word and its value mean here."""

    settings: dict[str, Any]
    """section.key -> value; empty: nothing is to be set."""
    remark: str = ""


class NoCounterpartError(Exception):
    """A word or value that means nothing here; the message says what to write in its place."""


@dataclass(frozen=True)
class Scope:
    """The settings that exist in this run, and the values that are written."""

    models: Mapping[str, type[Strict]]
    sources: Iterable[Source] = ()

    def has(self, path: str) -> bool:
        section, _, key = path.partition(".")
        model = self.models.get(section)
        return model is not None and key in model.model_fields

    def algo(self, *keys: str) -> list[str]:
        """Returns those of these settings that the algorithm has, with their section. Raises LookupError if it has
        none."""
        paths = [f"algo_cfg.{key}" for key in keys if self.has(f"algo_cfg.{key}")]
        if not paths:
            raise LookupError(keys)
        return paths

    def number(self, path: str) -> float:
        """Returns a number that is written, or else the default."""
        section, _, key = path.partition(".")
        model = self.models[section]
        written = merge(self.sources, section, model)[0].get(key)
        return float(written if isinstance(written, int | float) and written > 0 else model.model_fields[key].default)


Translation = Callable[[Any, Scope], Meaning]
"""Function of the value of a word. It raises NoCounterpartError for a value that means nothing, and LookupError if the
algorithm has no such setting."""


@dataclass(frozen=True)
class Row:
    """What a word of another library is here. The first of these that applies counts: needless, translate, settings,
    refused."""

    settings: str = ""
    """Paths section.key, with blanks between them, of which the first that exists in the run is meant; without a
    section in algo_cfg."""
    remark: str = ""
    """What has to be known about the value, for messages and the page."""
    translate: Translation | None = None
    needless: str = ""
    """Why nothing has to be set; empty if something has to."""
    values: tuple[Any, ...] = ()
    """Values for which nothing has to be set; none: all."""
    refused: str = ""
    """What to write in its place, as the end of a sentence."""
    sections: tuple[str, ...] = ()
    """Sections in which the other library has it; none: outside of sections. A word of this name in another section is
    not this word."""

    def paths(self) -> Iterator[tuple[str, str]]:
        """Yields section and key of its settings."""
        for path in self.settings.split():
            section, dot, key = path.rpartition(".")
            yield section if dot else "algo_cfg", key

    def meaning(self, value: Any, scope: Scope) -> Meaning:
        """Returns the settings that a value means. Raises NoCounterpartError, or LookupError if no setting of it exists
        in this run."""
        if self.needless and (not self.values or any(_same(value, other) for other in self.values)):
            return Meaning({}, self.needless)
        if self.translate:
            return self.translate(value, scope)
        for section, key in self.paths():
            if scope.has(f"{section}.{key}"):
                return Meaning({f"{section}.{key}": value})
        if self.refused:
            raise NoCounterpartError(self.refused)
        raise LookupError(self.settings)


def _same(value: Any, other: Any) -> bool:
    """Returns True for equal values of one type: true is not 1."""
    return type(value) is type(other) and value == other
