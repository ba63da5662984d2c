"""Reads YAML by the rules that users expect (1e-4 is a number, only true and false are booleans); keeps line numbers.

Safe by construction: nodes become plain values here, and nothing in a file can name a class or a function.
Size, depth and number of values are bounded, so that no file can exhaust the memory.
"""

import functools
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml

from config.program import ROOT
from config.read.opening import Opener, regular
from config.tell.language import tr
from config.tell.names import FULL_WIDTH, SLIP, full_width, halved, nearest

MAX_BYTES = 1 << 20
MAX_DEPTH = 50
MAX_VALUES = 20_000
MAX_DIGITS = 400
"""Digits of a whole number; a float has 309 at most."""

_TAG = "tag:yaml.org,2002:"


class DocumentError(Exception):
    """Text that cannot be read as YAML; the message starts with its place."""


@dataclass
class Place:
    """Place of a value in its source, and places of its parts."""

    text: str
    """file.yaml:12, or command line."""
    path: str = ""
    """Path as it was written, such as algo_cfg.value_layers[0].layer_dim."""
    parts: dict[str | int, "Place"] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """Name of the file, without the line."""
        return re.sub(r":\d+$", "", self.text)

    def fault(self, what: str) -> str:
        """Returns a sentence that says what is wrong with the value, and where it is written."""
        return f"{self.text}: {self.path}: {what}"


@dataclass
class Document:
    """Parsed text: plain values, their places, and the keys that were written twice."""

    value: Any
    place: Place
    duplicates: list[str] = field(default_factory=list)
    comment: str = ""
    """First comment line above the values, except modelines for editors."""


def _whole_number(text: str) -> int:
    digits = text.replace("_", "")
    if len(digits) > MAX_DIGITS:
        raise ValueError(tr("too many digits"))
    return int(digits, 0) if re.match(r"[-+]?0[xo]", digits) else int(digits)


def _number(text: str) -> float:
    return float(re.sub(r"\.(?=inf|nan)", "", text.lower()))


_SCALARS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "null": (r"~|null|Null|NULL|", lambda text: None),
    "bool": (r"true|True|TRUE|false|False|FALSE", lambda text: text.lower() == "true"),
    "int": (r"[-+]?(0x[0-9a-fA-F]+|0o[0-7]+|\d+(_\d+)*)", _whole_number),
    "float": (
        r"[-+]?(\.\d+|\d+(_\d+)*(\.(\d+(_\d+)*)?)?)([eE][-+]?\d+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        _number,
    ),
    "str": (r"", str),
}


_NUMBER = re.compile(f"{_SCALARS['int'][0]}|{_SCALARS['float'][0]}")


class _Limited(yaml.composer.Composer):
    """Builds the nodes of a text from a parser's events, and stops at the first one beyond the limits. No other code
    goes down a level of nesting: libyaml's own composer would do so in C, until its stack overflows."""

    depth = 0
    count = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self.depth, self.count = self.depth + 1, self.count + 1
        for used, limit, problem in (
            (self.depth, MAX_DEPTH, tr("more than {limit} levels of nesting", limit=MAX_DEPTH)),
            (self.count, MAX_VALUES, tr("more than {limit} values", limit=MAX_VALUES)),
        ):
            if used > limit:
                mark = self.peek_event().start_mark  # type: ignore[attr-defined]  # both parsers have it
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node


class _Composer(_Limited, yaml.SafeLoader):
    """PyYAML's parser with the scalar rules of YAML 1.2 and with limits."""

    yaml_implicit_resolvers: dict[str | None, list[Any]] = {}


for _name, (_pattern, _) in _SCALARS.items():
    if _name != "str":
        _Composer.add_implicit_resolver(_TAG + _name, re.compile(rf"^(?:{_pattern})$"), None)


def _fast_composer() -> Any:
    """Returns the class of libyaml's parser with the same rules and limits; None if PyYAML was built without it."""
    if not yaml.__with_libyaml__:
        return None

    class FastComposer(_Limited, yaml.CSafeLoader):
        yaml_implicit_resolvers = _Composer.yaml_implicit_resolvers

        def __init__(self, text: str) -> None:
            yaml.CSafeLoader.__init__(self, text)
            yaml.composer.Composer.__init__(self)

    return FastComposer


_FastComposer = _fast_composer()


class Dumper(yaml.SafeDumper):
    """Writes text that this module and any YAML 1.1 reader read as the same values."""

    yaml_implicit_resolvers = {
        first: list(rules) + _Composer.yaml_implicit_resolvers[None]
        for first, rules in yaml.SafeDumper.yaml_implicit_resolvers.items()
    } | {None: _Composer.yaml_implicit_resolvers[None]}

    def ignore_aliases(self, data: Any) -> bool:
        return True


def dumped(value: Any, **style: Any) -> str:
    """Returns a value as YAML, with the keys in their order."""
    text: str = yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, **style)
    return text


def inline(value: Any) -> str:
    """Returns a value as YAML on one line, as it stands after a key."""
    if isinstance(value, str | int | float | None):
        return _inline_scalar(value, repr(value))
    return dumped([value], default_flow_style=True, width=10_000)[1:-2]


@functools.lru_cache(10_000)
def _inline_scalar(value: str | float | None, text: str) -> str:
    """Returns what `inline` returns. PyYAML takes a tenth of a millisecond for each of hundreds of settings, and most
    have the same value in all runs of a process. text: tells equal values apart, such as 1 and True."""
    return dumped([value], default_flow_style=True, width=10_000)[1:-2]


class _Builder:
    """Builds plain values and places from nodes. Expands aliases within the limit of values."""

    def __init__(self, name: str, numbered: bool) -> None:
        self.name, self.numbered = name, numbered
        self.count = 0
        self.duplicates: list[str] = []

    def build(self, node: yaml.Node, path: str, depth: int = 0) -> tuple[Any, Place]:
        self.count += 1
        if self.count > MAX_VALUES or depth > MAX_DEPTH:
            raise self.error(node, tr("its aliases (*name) expand to too many values"))
        place = Place(self.where(node), path)
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, place, depth), place
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            return self._sequence(node, place, depth), place
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node), place
        raise self.error(node, tr("the tag {tag!r} is not allowed; write plain values", tag=node.tag))

    def where(self, node: yaml.Node) -> str:
        return f"{self.name}:{node.start_mark.line + 1}" if self.numbered else self.name

    def error(self, node: yaml.Node, message: str) -> DocumentError:
        column = f":{node.start_mark.column + 1}" if self.numbered else ""
        return DocumentError(f"{self.where(node)}{column}: {message}")

    def _mapping(self, node: yaml.MappingNode, place: Place, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        below = Place("")
        for key_node, value_node in node.value:
            key = self._scalar(key_node) if isinstance(key_node, yaml.ScalarNode) else None
            if key == "<<" and not key_node.style:
                self._merge(value_node, place.path, depth, merged, below)
                continue
            if not isinstance(key, str):
                text = key_node.value if isinstance(key_node, yaml.ScalarNode) else ""
                fault = tr("a key must be a name, not {key}", key=text) if text else tr("a key must be a name")
                setting = f"{place.path}: " if place.path else ""
                raise self.error(key_node, setting + fault + _range_hint(node))
            if node.flow_style and ":" in key and not key_node.style and value_node.value == "":
                raise self.error(key_node, tr("a blank is missing after the colon in {key!r}", key=key))
            path = f"{place.path}.{key}" if place.path else key
            value, part = self.build(value_node, path, depth + 1)
            part.text = self.where(key_node)
            if key in values:
                self.duplicates.append(
                    part.fault(tr("written twice, first at {first}; keep one", first=place.parts[key].text))
                )
                continue
            values[key], place.parts[key] = value, part
        place.parts = below.parts | place.parts
        return merged | values

    def _merge(self, node: yaml.Node, path: str, depth: int, values: dict[str, Any], place: Place) -> None:
        """Adds the keys of the mapping after <<, or of each mapping of a list, to those of earlier ones. A merge is of
        YAML 1.1, and people write it in files whose parts have most settings in common."""
        for mapping in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if not isinstance(mapping, yaml.MappingNode):
                raise self.error(mapping, tr("<< takes the keys of a mapping, such as *name with &name before it"))
            others, part = self.build(mapping, path, depth + 1)
            for key in [key for key in others if key not in values]:
                values[key], place.parts[key] = others[key], part.parts[key]

    def _sequence(self, node: yaml.SequenceNode, place: Place, depth: int) -> list[Any]:
        values = []
        for index, child in enumerate(node.value):
            value, place.parts[index] = self.build(child, f"{place.path}[{index}]", depth + 1)
            values.append(value)
        return values

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        rule = _SCALARS.get(node.tag.removeprefix(_TAG))
        if rule is None:
            raise self.error(node, tr("the tag {tag!r} is not allowed; write plain values", tag=node.tag))
        mark = next((mark for mark in node.value if mark in FULL_WIDTH), None) if not node.style else None
        if mark and _NUMBER.fullmatch(halved(node.value)):
            raise self.error(node, full_width(mark))
        try:
            return rule[1](node.value)
        except ValueError as error:
            kind = node.tag.removeprefix(_TAG)
            raise self.error(
                node, tr("{value!r} cannot be read as {kind}", value=node.value[:40], kind=kind)
            ) from error


def _range_hint(node: yaml.MappingNode) -> str:
    """Returns the end of a sentence about a mapping such as {log: 1e-4, 1e-2}, which lacks its brackets, or {1, 2}, or
    {max_update: 1,000}, whose number has a comma."""
    pairs = (f"{key.value}: {value.value}" if value.value else str(key.value) for key, value in node.value)
    if node.flow_style and (thousands := re.search(r"\w+: [-+]?\d{1,3}(,\d{3})+(?!\d)", ",".join(pairs))):
        return tr("; write {value}", value=thousands[0].replace(",", ""))
    name, *following = [key.value for key, _ in node.value]
    first, *others = [value.value for _, value in node.value]
    texts = [first, *following]
    if not (node.flow_style and following and not any(others) and all(isinstance(text, str) for text in texts)):
        return ""
    example = f"{{{name}: [{', '.join(texts)}]}}" if first else f"[{', '.join([name, *following])}]"
    return tr("; a list needs brackets: {example}", example=example)


def parse(text: str, name: str, *, path: str = "", numbered: bool = True) -> Document:
    """Returns the only document in a text. name and path (of its root) appear in messages; numbered adds lines."""
    text = _without_tabs(text)
    if (document := _parse_fast(text, name, path, numbered)) is not None:
        return document
    try:
        node = yaml.compose(text, Loader=_Composer)
    except yaml.MarkedYAMLError as error:
        slip = _slip_before(error, text)
        mark = error.problem_mark or error.context_mark
        spot = _line_and_column(text[: slip.start()]) if slip else f"{mark.line + 1}:{mark.column + 1}" if mark else ""
        place = f"{name}:{spot}" if spot and numbered else name
        reason = full_width(slip[0]) if slip else _syntax(error)
        raise DocumentError(f"{place}: {path + ': ' if path else ''}{reason}") from None
    except yaml.YAMLError as error:
        raise DocumentError(f"{name}: {error}") from None
    return _document(node, text, name, path, numbered)


def _without_tabs(text: str) -> str:
    """Returns a text in brackets, such as JSON, with blanks in place of the tabs that begin its lines: they indent
    nothing there."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    return re.sub(r"^[ \t]+", lambda tabs: " " * len(tabs[0]), text, flags=re.MULTILINE)


def _parse_fast(text: str, name: str, path: str, numbered: bool) -> Document | None:
    """Returns what parse returns, from libyaml, which is six times as fast. None if it is not there, or if the text has
    faults: PyYAML's own parser gives the messages, and is also stricter about tabs and question marks."""
    if _FastComposer is None or re.search("[\t?]", text):
        return None
    try:
        return _document(yaml.compose(text, Loader=_FastComposer), text, name, path, numbered)
    except (yaml.YAMLError, DocumentError, UnicodeError):
        return None


def _document(node: yaml.Node | None, text: str, name: str, path: str, numbered: bool) -> Document:
    if node is None:
        return Document(None, Place(name, path), comment=first_comment(text))
    builder = _Builder(name, numbered)
    value, place = builder.build(node, path)
    return Document(value, place, builder.duplicates, first_comment(text))


def first_comment(text: str) -> str:
    lines = takewhile(lambda line: line.startswith("#"), text.splitlines())
    return next((line for line in lines if "yaml-language-server" not in line), "")


# Patterns of PyYAML's messages, and plain sentences in their place.
_PLAIN = {
    r"expected alphabetic or numeric character": tr(
        'a name after * (an alias); text that begins with * needs quotes: "*"'
    ),
    r"'\\t'": tr("a tab; indent with spaces"),
    r"stream end|end of stream": tr("ends too early: a bracket or a quote is not closed"),
    r"mapping values": tr("a ':' too many, or wrong indentation; put text with ': ' between quotes"),
    r"expected ':'|block end": tr("a ':' is missing, or wrong indentation"),
    r"another document": tr("a second document (---); write one"),
    r"expected escape sequence|unknown escape character": tr(
        "\\ begins an escape between double quotes; write a path with /, or between single quotes"
    ),
    r"undefined alias": tr("an alias (*name) without its anchor (&name); text that begins with * needs quotes"),
}


def _syntax(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or tr("is not YAML")
    return next((plain for words, plain in _PLAIN.items() if re.search(words, problem)), problem)


_WRITTEN_SO = re.compile(
    rf"""(?<![^\s,:\[\]{{}}])(?:"(?:\\.|[^"\\])*"|'(?:''|[^'])*')|(?<!\S)\#[^\n]*|(?P<slip>{SLIP})"""
)
"""Text between quotes and comments, in which any character is meant, or Chinese punctuation elsewhere."""


def _slip_before(error: yaml.MarkedYAMLError, text: str) -> re.Match[str] | None:
    """Returns the last Chinese punctuation in what a parser was reading when it failed; None without any."""
    end = error.problem_mark
    if end is None:
        return None
    first = min(error.context_mark.line if error.context_mark else end.line, max(end.line - 1, 0))
    begin = sum(len(line) + 1 for line in text.split("\n")[:first])
    return next((part for part in reversed([*_WRITTEN_SO.finditer(text, begin, end.index + 1)]) if part["slip"]), None)


def read(path: str | Path, opener: Opener = regular) -> Document:
    """Returns the document in a file. opener: `named` for a file that the user has named."""
    content = _bytes(Path(path), opener)
    if str(path).endswith(".py"):
        raise DocumentError(
            tr(
                "{path}: is a Python program; write its settings as YAML, or use joystick.Run (docs/python.md)",
                path=path,
            )
        )
    return parse(_decode(content, str(path)), str(path))


def _bytes(path: Path, opener: Opener) -> bytes:
    try:
        with open(path, "rb", opener=opener) as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise DocumentError(tr("{path}: no such file{near}", path=path, near=_near_files(path))) from None
    except IsADirectoryError:
        if example := min(path.glob("*.yaml"), default=None):
            text = tr("{path}: is a directory; name a file, such as {file}", path=path, file=example)
        else:
            text = tr("{path}: is a directory; name a YAML file, or write --into {path} for results", path=path)
        raise DocumentError(text) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DocumentError(tr("{path}: cannot be read: {reason}", path=path, reason=reason)) from None
    if len(content) > MAX_BYTES:
        raise DocumentError(tr("{path}: is larger than 1 MiB; a configuration is a few hundred lines", path=path))
    return content


def _near_files(path: Path) -> str:
    if not path.is_absolute() and (ours := ROOT / path).is_file():  # a preset, from a folder that has none
        return tr("; did you mean {near}?", near=ours)
    if not path.parent.is_dir():
        return tr("; the folder {folder} does not exist", folder=path.parent)
    files = {file.name: file for file in [*path.parent.glob("*/*.y*ml"), *path.parent.glob("*.y*ml")]}
    near = nearest(path.name, files)
    return tr("; did you mean {near}?", near=files[near]) if near else ""


def _decode(content: bytes, name: str) -> str:
    """Decodes UTF-8 with or without a byte order mark, UTF-16 with one (as `>` of PowerShell 5 writes it), and any line
    ends; refuses control characters."""
    try:
        text = content.decode("utf-16" if content[:2] in (BOM_UTF16_LE, BOM_UTF16_BE) else "utf-8-sig")
    except UnicodeDecodeError as error:
        place = _line_and_column(content[: error.start].decode("utf-8", "replace"))
        raise DocumentError(
            tr("{name}:{place}: not UTF-8 text; save the file as UTF-8", name=name, place=place)
        ) from None
    text = re.sub(r"\r\n?", "\n", text)
    strange = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if strange:
        place = _line_and_column(text[: strange.start()])
        code = ord(strange.group())
        raise DocumentError(
            tr("{name}:{place}: character U+{code:04X}; this is not a text file", name=name, place=place, code=code)
        )
    return text


def _line_and_column(before: str) -> str:
    return f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
