"""Words of other libraries, and what they mean here. From their tables come what is loaded, `convert`, the hints in
messages, and the pages in docs/.

A table is a file in tables/. A line is a row, for one word or for several with commas between them:

    [Learning]
    grad_clip, grad_norm_clipping = max_grad_norm (a remark)
    is_atari - a reason for which nothing has to be set
    algo_class ! advice on what to write in its place

Indented lines are further attributes of the row: see Row. Lines that are indented twice go on with the line above.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

from config.foreign.cases import Case, Meaning, NoCounterpartError, in_language, translation
from config.model.fields import Strict, same

FOLDER = Path(__file__).with_name("tables")
OFF = "it is off"
"""Reason of a row that has values with the attribute `off`."""
_HEAD = re.compile(r"(.+?) ([=!-])(?: (.*))?")
_IS_CASE = re.compile("  (when|if|else) ")
_KINDS = {"=": "settings", "-": "needless", "!": "refused"}
_TEXTS = ("remark", "needless", "refused", "here")
"""Attributes that are shown."""


class Translation(Protocol):
    """Function that translates a value. It raises NoCounterpartError for a value that means nothing, and LookupError if
    the algorithm has no such setting."""

    def __call__(self, value: Any, scope: Any, /) -> Meaning: ...


@dataclass(frozen=True)
class Row:
    """A word of another library, and its meaning here. The first of these that applies counts: needless, cases,
    translate, settings, refused."""

    settings: str = ""
    """Paths section.key, with blanks between them, of which the first that exists in the run is meant; without a
    section in algo_cfg."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """The attributes remark, needless, refused and here, in English; one that is not there is empty."""
    translate: Translation | None = None
    """Function that translates the value; in a file `by`, with the name of the function and its arguments."""
    values: tuple[Any, ...] = ()
    """Values for which nothing has to be set, as JSON in a file; none: all."""
    needs: str = ""
    """Settings with blanks between them, of which the algorithm must have one."""
    read: Callable[[Any], Any] | None = None
    """Function that reads the value before it is translated; in a file its name."""
    lines: tuple[str, ...] = ()
    """Lines of cases (config/foreign/cases.py)."""
    functions: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Functions that the cases name."""
    last: str = ""
    """Words that this one depends on, and is translated after; empty: none."""

    @property
    def remark(self) -> str:
        """A remark on the value, for messages and the page."""
        return self._text("remark")

    @property
    def needless(self) -> str:
        """Reason for which nothing has to be set; empty if something has to."""
        return self._text("needless")

    @property
    def refused(self) -> str:
        """Advice on what to write in its place, as the end of a sentence."""
        return self._text("refused")

    @property
    def here(self) -> str:
        """Text of the page about the setting here; empty: the settings, or a dash."""
        return self._text("here")

    def _text(self, name: str) -> str:
        text = self.texts.get(name)
        return in_language(text) if text else ""

    def paths(self) -> Iterator[tuple[str, str]]:
        """Yields section and key of its settings."""
        for path in self.settings.split():
            section, dot, key = path.rpartition(".")
            yield section if dot else "algo_cfg", key

    @cached_property
    def cases(self) -> list[Case]:
        return [Case(line, self.functions) for line in self.lines]

    @property
    def is_renaming(self) -> bool:
        """True if a value means the same as here."""
        return not (self.translate or self.lines)

    @property
    def reads_null(self) -> bool:
        """True if a case says what null means; in other rows it sets nothing."""
        return any(case.values is not None and None in case.values for case in self.cases)

    def spelling(self, section: str) -> str:
        """Returns the setting of the same section of which a word is another spelling; empty if it is more than
        that."""
        [[owner, key]] = list(self.paths()) or [("", "")]
        return key if owner == section and "remark" not in self.texts else ""

    def meaning(self, value: Any, scope: Any) -> Meaning:
        """Returns the settings that a value means. Raises NoCounterpartError, or LookupError if no setting of it exists
        in this run."""
        if self.needless and (not self.values or any(same(value, other) for other in self.values)):
            return Meaning({}, self.needless)
        value = self.read(value) if self.read else value
        if self.needs:
            scope.algo(*self.needs.split())
        for case in self.cases:
            if case.applies(value, scope):
                return case.meaning(value, scope)
        if self.translate:
            return self.translate(value, scope)
        for section, key in self.paths():
            if scope.has(f"{section}.{key}"):
                return Meaning({f"{section}.{key}": value})
        if self.refused:
            raise NoCounterpartError(self.refused)
        raise LookupError(self.settings)


Table = Mapping[str, Row]
"""Word -> its row; words of one line have the same row."""


def tables(name: str, translations: Mapping[str, Any] | None = None) -> dict[str, Table]:
    """Returns the tables of a file by their titles. translations: functions by the names that rows have."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").replace("\n    ", " ")
    by_title: dict[str, Table] = {}
    for title, _, body in (part.partition("]\n") for part in re.split(r"(?m)^\[", text)[1:]):
        table: dict[str, Row] = {}
        for row in re.findall(r"(?m)^[^\s#].*\n(?:  .*\n)*", body):
            head, *more = row.splitlines()
            words, attributes = _attributes(head, more, translations)
            attributes["texts"] = {name: text for name in _TEXTS if (text := attributes.pop(name, ""))}
            table |= dict.fromkeys(words.split(", "), Row(**attributes))
        by_title[title] = table
    return by_title


def _attributes(head: str, more: list[str], translations: Mapping[str, Any] | None) -> tuple[str, dict[str, Any]]:
    """Returns the words of a row, and its attributes. more: its indented lines."""
    words, kind, text = _HEAD.fullmatch(head).groups("")  # type: ignore[union-attr]
    attributes: dict[str, Any] = {}
    if kind == "=":
        text, _, remark = text.partition("(")
        attributes["remark"] = remark.removesuffix(")")
    attributes[_KINDS[kind]] = text.strip()
    functions, cases = (
        {} if translations is None else translations,
        [line.strip() for line in more if _IS_CASE.match(line)],
    )
    if cases:
        attributes |= {"lines": tuple(cases), "functions": functions}
    for line in more:
        name, _, text = line.strip().partition(": ")
        if _IS_CASE.match(line):
            continue
        if name == "by":
            attributes["translate"] = translation(text, functions)
        elif name == "read":
            attributes[name] = functions[text]
        elif name in ("off", "values"):
            attributes |= {"values": tuple(json.loads(f"[{text}]")), **({"needless": OFF} if name == "off" else {})}
        else:
            attributes[name] = text
    return words, attributes


ALGORITHMS = "Algorithms"
"""Title of a table of algorithms, in lower case, that have another name here, or none."""


def words(named: Mapping[str, Table]) -> Table:
    """Returns all words of some tables, without the names of algorithms."""
    return {word: row for title, table in named.items() if title != ALGORITHMS for word, row in table.items()}


def lines(table: Table) -> Iterator[tuple[list[str], Row]]:
    """Yields the words of each line of a table, and their row."""
    for _, pairs in groupby(table.items(), key=lambda pair: id(pair[1])):
        words, rows = zip(*pairs, strict=True)
        yield list(words), rows[0]


class SourceLike(Protocol):
    """Settings that are written, by section; config/read/sources.py reads the words of tables, and has such a class."""

    written: bool
    """True if the user wrote them for this run."""
    sections: dict[str, dict[str, Any]]
    foreign: dict[str, tuple[Any, Any]]
    """Settings outside of sections by another library's names, with their places."""


@dataclass(frozen=True)
class Scope:
    """The settings that exist in this run, and the values that are written."""

    models: Mapping[str, type[Strict]]
    sources: Sequence[SourceLike] = ()
    """Sources of settings, the strongest last."""
    policy: str = ""
    """Name of the policy whose settings they are; empty for those of all."""

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

    def word(self, name: str, default: Any = None) -> Any:
        """Returns the value of another word of the other library; the default if it is absent or null."""
        values = (source.foreign[name][0] for source in reversed(self.sources) if name in source.foreign)
        return next((value for value in values if value is not None), default)

    def number(self, path: str) -> float:
        """Returns a number that is written, or else the default."""
        section, _, key = path.partition(".")
        value, default = self.value(path), self.models[section].model_fields[key].default
        return float(value if isinstance(value, int | float) and value > 0 else default)
