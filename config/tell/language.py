"""Language of what is shown. The sentences stand in the code in English; a catalog has them in another language.

    print(tr("the runs in {folder}", folder=folder))
    raise JoystickError("{path} is no task directory", path=path)

JOYSTICK_LANG=zh or the locale chooses Chinese. What programs read stays English: keys and values in files, log levels.
A catalog is a file of gettext's format, such as zh.po here; zh_settings.po has the help texts of settings, and what is
said of other libraries' words. `python -m tests.tools.catalog` brings them up to date.
"""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from string import Formatter

FOLDER = Path(__file__).parent
VARIABLE = "JOYSTICK_LANG"
"""Environment variable with the language; empty: that of the locale."""
ENGLISH = "en"
_PARTS = ("", "_settings")
"""Ends of the names of a language's catalogs, in the order in which a sentence is looked up."""
_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")
"""Environment variables of the locale; the first that is set counts."""
SAMPLES = {"zh": "中文"}
"""Language -> letters of it."""
_CHOSEN: ContextVar[str | None] = ContextVar("language", default=None)
"""Language that a part of the program has chosen; None: that of the process."""
_CHINESE = re.compile("[\u3000-\u9fff\uff00-\uffef]")
_CHINESE_BLANK, _ENDS_CHINESE = re.compile(_CHINESE.pattern + " $"), re.compile(_CHINESE.pattern + "$")
_BLANK_CHINESE = re.compile(" " + _CHINESE.pattern)
_FORMATTER = Formatter()
_ENTRY = re.compile(r'^msgid ((?:".*"\s*)+)^msgstr ((?:".*"\s*)+)', re.MULTILINE)


def available() -> list[str]:
    """Returns the languages by their two letters."""
    return [ENGLISH, *sorted(path.stem for path in FOLDER.glob("??.po"))]


@cache
def language() -> str:
    """Returns the language of this process; English if there is no catalog of the one that is asked for, or if the
    output cannot show its letters."""
    letters = wanted()
    return letters if letters in available() and encoded(letters) else ENGLISH


def wanted() -> str:
    """Returns the language that is asked for, by its two letters."""
    name = os.environ.get(VARIABLE) or next(filter(None, map(os.environ.get, _LOCALE)), ENGLISH)
    return name[:2].lower()


def encoded(letters: str) -> bool:
    """True if the encoding of the output has the letters of a language."""
    try:
        SAMPLES.get(letters, "").encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def spoken() -> str:
    """Returns the language in which sentences are shown here."""
    return _CHOSEN.get() or language()


@contextmanager
def chosen(letters: str) -> Iterator[None]:
    """Shows the sentences within in a language."""
    token = _CHOSEN.set(letters)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def tr(sentence: str, /, **values: object) -> str:
    """Returns a sentence in the language of this process, or in the one that is `chosen`, with the values in its places
    {name}. Without values, braces stay as they are."""
    catalogs = (_catalog(spoken() + part) for part in _PARTS)
    text = next(filter(None, (catalog.get(sentence) for catalog in catalogs)), sentence)
    if not values:
        return text
    return _filled(text, values) if _CHINESE.search(text) else text.format(**values)


class UserError(Exception):
    """An error whose text a user reads. It is raised with a sentence and the values in its places, as tr takes them;
    what is no sentence of a catalog stays as it is."""

    def __init__(self, sentence: str, /, **values: object) -> None:
        super().__init__(tr(sentence, **values))


def _filled(text: str, values: Mapping[str, object]) -> str:
    """Returns a sentence with values in its places. A blank beside a place separates Chinese letters from others, and
    goes where the value has Chinese letters there, too."""
    filled = ""
    for words, name, form, conversion in _FORMATTER.parse(text):
        if _ENDS_CHINESE.search(filled) and _BLANK_CHINESE.match(words):
            words = words[1:]
        filled += words
        if name is not None:
            value = _FORMATTER.convert_field(_FORMATTER.get_field(name, (), values)[0], conversion)
            piece = format(value, str(form).format(**values))
            filled = filled[:-1] if _CHINESE_BLANK.search(filled) and _CHINESE.match(piece) else filled
            filled += piece
    return filled


def either(names: Iterable[str]) -> str:
    """Returns names as a list of which one is chosen: "a", "a or b", "a, b or c"."""
    *first, last = names
    return tr(" or ").join([tr(", ").join(first), last]) if first else last


def english(sentence: str, /) -> str:
    """Returns a sentence as it is, and brings it into the catalog: one that is written to a file, or compared, in
    English, and translated with `tr` where it is shown."""
    return sentence


def reworded(text: str, sentences: Iterable[str]) -> str:
    """Returns a text in the language of this process: one of these sentences of `english`, with values in its places.
    A text that is none of them stays as it is."""
    for sentence in sentences:
        if match := re.fullmatch(_pattern(sentence), text):
            return tr(sentence, **match.groupdict())
    return text


def is_one_of(text: str, sentences: Iterable[str]) -> bool:
    """True if a text is one of these sentences, with values in its places: in any language, as another process may have
    written it."""
    catalogs = [{}, *(_catalog(name) for name in available()[1:])]
    forms = (catalog.get(sentence, sentence) for catalog in catalogs for sentence in sentences)
    return any(re.fullmatch(_pattern(form), text) for form in forms)


def _pattern(sentence: str) -> str:
    """Returns the pattern of a sentence with any values in its places."""
    pieces = ((re.escape(words), name) for words, name, *_ in _FORMATTER.parse(sentence))
    return "".join(words + (f"(?P<{name}>.+)" if name else "") for words, name in pieces)


@cache
def _catalog(name: str) -> Mapping[str, str]:
    """Returns the sentences of a catalog by the English ones; those that are not translated are left out."""
    if name.startswith(ENGLISH):
        return {}
    pairs = _ENTRY.findall((FOLDER / f"{name}.po").read_text(encoding="utf-8"))
    return {_text(key): text for key, value in pairs if (text := _text(value))}


def _text(lines: str) -> str:
    """Returns the text of quoted lines, whose escapes are those of JSON."""
    return "".join(json.loads(line) for line in lines.splitlines() if line)
