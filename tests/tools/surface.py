"""Texts of the product that look like sentences and are in no call of tr, so that they are shown in English alone."""

import ast
import re
from collections.abc import Iterable, Iterator

from framework.pages.sentences import CALL
from tests.tools.catalog import ERRORS, FUNCTIONS, PACKAGES, ROOT, SCRIPTS

LEAST_WORDS = 3
"""Number of words that make a sentence: names and keys have fewer."""
SHOWING = ("stage", "each", "note", "warn", "say")
"""Functions whose first argument is shown, even if it is a single word."""
OF_PROGRAMS = (
    "compile", "match", "search", "sub", "fullmatch", "findall", "startswith", "endswith", "split", "replace", "debug",
)  # fmt: skip
"""Functions whose first argument is a pattern or a separator, or for a programmer."""
SPECIAL = (*FUNCTIONS, *SHOWING, *OF_PROGRAMS)
_WORD, _PLACE = re.compile(r"[A-Za-z][A-Za-z'-]+"), re.compile(r"\{[^}]*\}|<[a-z/!][^<>]*>?")
_TWO_WORDS = re.compile(r"[a-z]{2},? [a-z]{2}")
_SCRIPT_COMMENT = re.compile(r"/\*.*?\*/|(?<![:\w])//[^\n]*", re.DOTALL)
_SCRIPT_NAMES = re.compile(
    r"""\b(?:class|rel|type|role|d): (?:"[^"]*"|`[^`]*`)|\b(?:matches|closest|querySelector(?:All)?)\("[^"]*"\)"""
)
_SCRIPT_LABEL = re.compile(r"[A-Z][a-z]+(?:[ :.,…].*)?")
_SCRIPT_TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`')
_SCRIPT_PLACE = re.compile(r"\$\{[^{}]*\}")
_PAGE_SCRIPT = re.compile(r"<!.*?>|/\*.*?\*/")
_PAGE_TEXT = re.compile(r'>(?!tr\()([^<>]+)<|(?:placeholder|aria-label|title)="(?!tr\()([^"]+)"')


def unwrapped() -> Iterator[tuple[str, str]]:
    """Yields the file of each text that looks like a sentence and is in no call of tr, and the text."""
    code = [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]
    for path in (*code, ROOT / "joystick.py", *SCRIPTS):
        find = {".py": of_python, ".js": of_script, ".html": of_page}[path.suffix]
        yield from ((path.relative_to(ROOT).as_posix(), text) for text in find(path.read_text(encoding="utf-8")))


def of_python(code: str) -> Iterator[str]:
    """Yields such texts of a piece of Python; docstrings are none."""
    yield from _texts(ast.parse(code))


def _texts(node: ast.AST, least: int = LEAST_WORDS) -> Iterator[str]:
    """Yields the texts in a node. least: number of words that make a sentence here."""
    match node:
        case ast.Constant(value=str(text)) if _is_sentence(text, least):
            yield text
        case ast.JoinedStr(values=parts):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
            yield from [text] if _is_sentence(text, least) else []
            yield from _all_texts(part for part in parts if isinstance(part, ast.FormattedValue))
        case ast.Assert() | ast.Expr(value=ast.Constant()) | ast.Constant():
            return
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[first, *others]) if name in SPECIAL:
            if name in SHOWING or (name in ERRORS and isinstance(first, ast.JoinedStr)):
                yield from _texts(first, 1 if name in SHOWING else LEAST_WORDS)
            yield from _all_texts((node.func, *others, *node.keywords))
        case _:
            yield from _all_texts(part for part in ast.iter_child_nodes(node) if part not in _beside(node))


def _all_texts(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        yield from _texts(node)


def _beside(node: ast.AST) -> list[ast.AST]:
    """Returns the annotations and decorators of a node, which nobody reads."""
    return [getattr(node, "annotation", None), getattr(node, "returns", None), *getattr(node, "decorator_list", ())]


def _is_sentence(text: str, least: int) -> bool:
    words = _WORD.findall(_PLACE.sub(" ", text))
    return len(words) >= least and (least == 1 or _TWO_WORDS.search(text) is not None)


def of_script(script: str) -> Iterator[str]:
    """Yields such texts of a script, and those that begin with a capital letter, as labels do."""
    code = _SCRIPT_NAMES.sub("", CALL.sub("tr(", _SCRIPT_COMMENT.sub("", script)))
    for quoted, template in _SCRIPT_TEXT.findall(code):
        text = quoted or _SCRIPT_PLACE.sub("{}", template)
        if _is_sentence(text, LEAST_WORDS) or _SCRIPT_LABEL.fullmatch(text):
            yield text


def of_page(page: str) -> Iterator[str]:
    """Yields the texts of a page, and those of its attributes that are shown, in no call of tr."""
    yield from (text for pair in _PAGE_TEXT.findall(_PAGE_SCRIPT.sub("", page)) if _WORD.search(text := "".join(pair)))
