"""The row of a table: a word of another library, and its meaning here. From the tables come what is loaded, `convert`,
the hints in messages, and the pages in docs/. Imports nothing of ours: models of settings take other spellings from a
table."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple


class Meaning(NamedTuple):
    """Settings that a word and its value mean here."""

    settings: dict[str, Any]
    """section.key -> value; empty: nothing is to be set."""
    remark: str = ""


class NoCounterpartError(Exception):
    """A word or value that means nothing here; the message says what to write in its place."""


Translation = Callable[[Any, Any], Meaning]
"""Function of the value of a word and of the Scope. It raises NoCounterpartError for a value that means nothing, and
LookupError if the algorithm has no such setting."""


@dataclass(frozen=True)
class Row:
    """A word of another library, and its meaning here. The first of these that applies counts: needless, translate,
    settings, refused."""

    settings: str = ""
    """Paths section.key, with blanks between them, of which the first that exists in the run is meant; without a
    section in algo_cfg."""
    remark: str = ""
    """A remark on the value, for messages and the page."""
    translate: Translation | None = None
    needless: str = ""
    """Reason for which nothing has to be set; empty if something has to."""
    values: tuple[Any, ...] = ()
    """Values for which nothing has to be set; none: all."""
    refused: str = ""
    """Advice on what to write in its place, as the end of a sentence."""

    def paths(self) -> Iterator[tuple[str, str]]:
        """Yields section and key of its settings."""
        for path in self.settings.split():
            section, dot, key = path.rpartition(".")
            yield section if dot else "algo_cfg", key

    def meaning(self, value: Any, scope: Any) -> Meaning:
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
