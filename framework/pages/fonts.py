"""Fonts of figures: for characters that the usual font lacks, such as Chinese ones, another font of this machine."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from config.tell.language import ENGLISH, SAMPLES, chosen, spoken, tr
from framework.log import LOGGER

FAMILIES = (
    "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Source Han Sans CN", "Microsoft YaHei", "PingFang SC",
    "SimHei", "Hiragino Sans GB", "Heiti SC", "STHeiti", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Noto Sans CJK JP",
    "Noto Sans CJK TC", "Noto Sans CJK KR", "PingFang HK", "PingFang TC", "SimSun", "Droid Sans Fallback",
    "Arial Unicode MS", "Unifont",
)  # fmt: skip
"""Fonts with Chinese, Japanese or Korean characters; the first that has a character draws it."""
MOST_NAMED = 5
"""Number of characters that the warning names."""


@contextmanager
def language() -> Iterator[None]:
    """Shows the words of a figure in English if no font of this machine has the letters of the usual language."""
    letters = SAMPLES.get(spoken())
    with chosen(ENGLISH if letters and _families(frozenset(letters))[1] else spoken()):
        yield


def fit(figure: Any) -> None:
    """Gives each text of a figure fonts that have its characters. One that no font has becomes a question mark, of
    which there is one warning. A dollar sign starts no formula."""
    from matplotlib.text import Text

    undrawn: set[str] = set()
    for text in figure.findobj(Text):
        text.set_parse_math(False)
        if lacking := _lacking(text):
            families, left = _families(lacking)
            text.set_family([*text.get_family(), *families])
            text.set_text("".join("?" if letter in left else letter for letter in text.get_text()))
            undrawn |= left
    if undrawn:
        _warn("".join(sorted(undrawn)))


@cache
def file_with(text: str) -> str | None:
    """Returns the file of a font that has all characters of a text; None if no other than the usual ones has."""
    from matplotlib import font_manager

    families, left = _families(frozenset(filter(lambda letter: not letter.isascii(), text)))
    if left or len(families) != 1:
        return None
    return str(font_manager.findfont(font_manager.FontProperties(family=families[0])))


def _lacking(text: Any) -> frozenset[str]:
    """Returns the characters of a text that its font lacks."""
    letters = text.get_text()
    return frozenset() if letters.isascii() else _without(_font(text.get_fontproperties()), letters)


def _font(properties: Any) -> Any:
    from matplotlib import font_manager

    return font_manager.get_font(font_manager.fontManager.findfont(properties))


def _without(font: Any, letters: Iterable[str]) -> frozenset[str]:
    """Returns the letters that a font lacks."""
    return frozenset(letter for letter in letters if not (letter.isspace() or font.get_char_index(ord(letter))))


@cache
def _families(letters: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Returns the fonts that have these letters, and the letters that none has."""
    families, left = _chosen(letters)
    return _chosen(letters) if left and _read_new_fonts() else (families, left)


def _chosen(letters: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    from matplotlib import font_manager

    installed, families, left = {font.name for font in font_manager.fontManager.ttflist}, [], letters
    for family in FAMILIES:
        if family in installed:
            still = _without(_font(font_manager.FontProperties(family=family)), left)
            families += [family] if still < left else []
            left = still
    return tuple(families), left


@cache
def _read_new_fonts() -> bool:
    """Reads the fonts that were installed after matplotlib had made its list. Returns True if there are some."""
    from matplotlib import font_manager

    manager = font_manager.fontManager
    listed, before = {str(font.fname) for font in manager.ttflist}, len(manager.ttflist)
    for path in set(font_manager.findSystemFonts()) - listed:
        try:
            manager.addfont(path)
        except Exception as error:  # a font may be damaged in any way, and another may have the letters
            LOGGER.debug("the font %s cannot be read: %s", path, error)
    return len(manager.ttflist) > before


@cache
def _warn(letters: str) -> None:
    """Warns once: figures are drawn again and again."""
    sample = " ".join(letters[:MOST_NAMED]) + (" ..." if len(letters) > MOST_NAMED else "")
    LOGGER.warning(
        tr(
            "figures show ? in place of {letters}, which no font of this machine has; install one (for Chinese on "
            "Debian and Ubuntu: apt install fonts-noto-cjk)",
            letters=sample,
        )
    )
