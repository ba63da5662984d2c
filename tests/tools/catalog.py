"""Brings the catalogs of sentences up to date: python -m tests.tools.catalog [OTHER.po ...]

zh.po has the sentences of calls of tr, in Python and in the scripts of pages, zh_settings.po the texts that the
commands describe and list show, and those of the tables of other libraries' words. Sentences that are new in the code
come in without a translation, and those that are gone go. Translations of other files of the same language fill the
gaps. At the end it prints how many sentences are not translated.
"""

import ast
import inspect
import re
import string
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from config.foreign import table
from config.model.fields import Strict
from config.read import presets
from config.tell import describe, help_texts
from config.tell.language import FOLDER, available
from envs.common import wrappers
from framework.catalog import ALGOS, ENVS
from framework.commands.line import parser
from framework.pages.sentences import sentences as page_sentences

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("algos", "config", "envs", "framework")


def _errors() -> frozenset[str]:
    """Returns the names of the errors that say a sentence themselves: ConfigError, UserError and its subclasses."""
    texts = (path.read_text(encoding="utf-8") for name in PACKAGES for path in (ROOT / name).rglob("*.py"))
    classes = [match for text in texts for match in re.findall(r"^ *class (\w+)\(([^)]*)\):", text, re.MULTILINE)]
    bases = {name: {base.strip() for base in written.split(",")} for name, written in classes}
    errors = {"ConfigError", "UserError"}
    while more := {name for name in bases.keys() - errors if bases[name] & errors}:
        errors |= more
    return frozenset(errors)


ERRORS = _errors()
FUNCTIONS = ("tr", "english", *ERRORS)
SCRIPTS = sorted(path for ending in ("js", "html") for path in (ROOT / "framework").rglob(f"*.{ending}"))
"""Scripts of pages, and the page of the command watch."""

ARGPARSE = (
    "show this help message and exit",
    "argument %(argument_name)s: %(message)s",
    "expected one argument",
    "expected at most one argument",
    "expected at least one argument",
    "the following arguments are required: %s",
    "invalid choice: %(value)r (choose from %(choices)s)",
    "invalid %(type)s value: %(value)r",
    "ignored explicit argument %r",
)
"""Sentences of argparse that a user of the commands can see."""


@cache
def sentences() -> tuple[tuple[str, str], ...]:
    """Returns the file of each sentence that is shown, and the sentence, in the order of the files. Calls within
    f-strings count, which babel's own search passes over."""
    return tuple(_sentences())


def _sentences() -> Iterator[tuple[str, str]]:
    files = [path for name in PACKAGES for path in (ROOT / name).rglob("*.py")]
    yield from ((_file(parser), text) for text in ARGPARSE)
    for path in (*sorted(files), ROOT / "joystick.py", ROOT / "main.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        yield from ((path.relative_to(ROOT).as_posix(), text) for text in sorted(calls(tree)))
    for path in SCRIPTS:
        yield from ((path.relative_to(ROOT).as_posix(), text) for text in page_sentences(path.read_text("utf-8")))
    for path in sorted((ROOT / "framework" / "commands").glob("[a-z]*.py")):
        yield path.relative_to(ROOT).as_posix(), _summary(path)


def calls(tree: ast.AST) -> Iterator[str]:
    """Yields the sentences of the calls of FUNCTIONS in a piece of code, and the counts of the nouns of `counted`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(text))]) if name in FUNCTIONS:
                yield text
            case ast.Call(func=ast.Attribute(attr=name), args=[ast.Constant(value=str(text))]) if name in ERRORS:
                yield text
            case ast.Call(func=ast.Name(id="counted"), args=[_, noun]):
                yield from (f"{{count:,}} {text}s" for text in _strings(noun))


def _strings(value: ast.AST) -> Iterator[str]:
    """Yields the strings in a piece of code."""
    for node in ast.walk(value):
        match node:
            case ast.Constant(value=str(text)):
                yield text


def _summary(path: Path) -> str:
    """Returns the first line of the file of a command, which its --help shows."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def texts() -> Iterator[tuple[str, str]]:
    """Yields the file of each text that describe and list show, or that a table of another library's words has, and the
    text; none that is a sentence of a call."""
    called = {sentence for _, sentence in sentences()}
    shown = dict.fromkeys((*_of_describe(), *_of_tables(), *_of_presets()))
    yield from ((file, text) for file, text in shown if text and text not in called)


def _of_describe() -> Iterator[tuple[str, str]]:
    for name in ALGOS.available():
        yield _file(ALGOS.get(name)), describe.first_line(ALGOS.get(name))
    finders = {"algo_cfg": ALGOS, "env_cfg": ENVS}
    for model in (*(model for _, _, model in describe.models(finders)), *describe.kinds()):
        yield from _of_model(model)
    for wrapper in wrappers.OURS.values():
        yield _file(wrapper), help_texts.one_line((wrapper.__doc__ or "").split("\n\n")[0])


def _of_model(model: type[Strict]) -> Iterator[tuple[str, str]]:
    yield _file(model), help_texts.one_line(model.__doc__)
    for name, field in model.model_fields.items():
        text, module = help_texts.written(model, name)
        yield _file(sys.modules[module]), text
        for keys in describe.mappings(field.annotation):
            yield from _of_model(keys)


def _file(owner: type | ModuleType) -> str:
    return Path(inspect.getfile(owner)).resolve().relative_to(ROOT).as_posix()


def _of_tables() -> Iterator[tuple[str, str]]:
    nothing: dict[str, Any] = defaultdict(lambda: lambda *_: None)
    for path in sorted(table.FOLDER.glob("*.txt")):
        for rows in table.tables(path.stem, nothing).values():
            for _, row in table.lines(rows):
                shown = (*row.texts.values(), *(case.remark for case in row.cases))
                yield from ((path.relative_to(ROOT).as_posix(), text) for text in shown)


def _of_presets() -> Iterator[tuple[str, str]]:
    for env, algo, comment in presets.available():
        yield f"presets/{env}/{algo}.yaml", presets.template(comment)[0]


SOURCES: dict[str, Callable[[], Iterable[tuple[str, str]]]] = {"": sentences, "_settings": texts}
"""End of a catalog's name -> what is in it."""


def read(path: Path) -> Catalog:
    """Returns the catalog of a file; an empty one if there is no file."""
    if not path.exists():
        return Catalog(charset="utf-8")
    with path.open("rb") as file:
        return read_po(file, charset="utf-8")


def updated(part: str, *catalogs: Catalog) -> Catalog:
    """Returns a catalog of all sentences of a source, with the first translation that one of the catalogs has. part:
    end of the catalog's name."""
    new = Catalog(charset="utf-8")
    for file, sentence in SOURCES[part]():
        known = (entry.string for catalog in catalogs if (entry := catalog.get(sentence)) and entry.string)
        new.add(sentence, next(known, ""), locations=[(file, None)])
    return new


def write(path: Path, catalog: Catalog) -> None:
    """Writes a catalog in the order of the files, without line numbers and dates, so that differences are few."""
    with path.open("wb") as file:
        write_po(file, catalog, width=120, omit_header=True, include_lineno=False)


def missing(catalog: Catalog) -> list[str]:
    """Returns the sentences that are not translated."""
    return [str(entry.id) for entry in catalog if entry.id and not entry.string]


def fields(text: str) -> list[str]:
    """Returns the places for values in a sentence, with their formats: name!conversion:format."""
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError:  # a brace that is meant as it is
        return []
    return sorted(f"{name}!{conversion}:{form}" for _, name, form, conversion in parts if name is not None)


def unequal(catalog: Catalog) -> list[str]:
    """Returns the translated sentences whose places for values differ from those of the English ones."""
    return [str(e.id) for e in catalog if e.id and e.string and set(fields(str(e.id))) != set(fields(str(e.string)))]


def main() -> None:
    for path, part in ((FOLDER / f"{name}{part}.po", part) for name in available()[1:] for part in SOURCES):
        catalog = updated(part, read(path), *(read(Path(other)) for other in sys.argv[1:]))
        write(path, catalog)
        for sentence in unequal(catalog):
            print(f"{path.name}: places differ: {sentence}")
        print(f"{path.name}: {len(catalog)} sentences, {len(missing(catalog))} not translated")


if __name__ == "__main__":
    main()
