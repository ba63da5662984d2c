"""Brings the catalogs of sentences up to date: python -m tests.tools.catalog [OTHER.po ...]

Sentences that are new in the code come in without a translation, and those that are gone go. Translations of other
files of the same language fill the gaps. At the end it prints how many sentences are not translated.
"""

import ast
import string
import sys
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from config.tell.language import FOLDER

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS = ("tr", "english")
PACKAGES = ("algos", "config", "envs", "framework")


def sentences() -> Iterator[tuple[str, str]]:
    """Yields the file of each sentence that is shown, and the sentence, in the order of the files."""
    for name in PACKAGES:
        files = (ROOT / name).rglob("*.py")
        yield from sorted((str(path.relative_to(ROOT)), text) for path in files for text in _marked(path))
    for path in sorted((ROOT / "framework" / "commands").glob("[a-z]*.py")):
        yield str(path.relative_to(ROOT)), _summary(path)
    for name in ("joystick.py", "main.py"):
        yield from ((name, text) for text in _marked(ROOT / name))


def _marked(path: Path) -> Iterator[str]:
    """Yields the sentences that a file gives to FUNCTIONS."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(text))]) if name in FUNCTIONS:
                yield text


def _summary(path: Path) -> str:
    """Returns the first line of the file of a command, which its --help shows."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def read(path: Path) -> Catalog:
    """Returns the catalog of a file; an empty one if there is no file."""
    if not path.exists():
        return Catalog(charset="utf-8")
    with path.open("rb") as file:
        return read_po(file, charset="utf-8")


def updated(*catalogs: Catalog) -> Catalog:
    """Returns a catalog of all sentences of the code, with the first translation that one of the catalogs has."""
    new = Catalog(charset="utf-8")
    for file, sentence in sentences():
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
    for path in sorted(FOLDER.glob("*.po")):
        catalog = updated(read(path), *(read(Path(other)) for other in sys.argv[1:]))
        write(path, catalog)
        for sentence in unequal(catalog):
            print(f"{path.name}: places differ: {sentence}")
        print(f"{path.name}: {len(catalog)} sentences, {len(missing(catalog))} not translated")


if __name__ == "__main__":
    main()
