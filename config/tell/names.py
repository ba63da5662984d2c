"""Finds the name that was probably meant, and makes text from files safe to print. Case does not matter."""

import re
import unicodedata
from collections.abc import Iterable

MOST_SHOWN = 1_000
"""Characters of a message that are shown; what files hold may be longer."""

_SYNONYMS = {
    "eval": "test", "evaluate": "test", "play": "test", "predict": "test", "enjoy": "test", "learn": "train",
    "gpu": "cuda", "cartpole": "CartPole-v1", "a3c": "IMPALA",
}  # fmt: skip
"""Words of other libraries, and earlier names, that are not spelled like ours. Files may have them as names."""
_FILE = re.compile(r"(.*/)?([^/.]+)(\.ya?ml)?", re.DOTALL)
"""Folder, name and ending of a file."""

FULL_WIDTH = {
    "：": ":", "，": ",", "、": ",", "＝": "=", "－": "-", "＋": "+", "．": ".", "＿": "_", "＃": "#", "　": " ",
    "｛": "{", "｝": "}", "［": "[", "］": "]", "（": "(", "）": ")", "“": '"', "”": '"', "‘": "'", "’": "'",
}  # fmt: skip
"""Punctuation of Chinese input, and the characters that settings need in its place."""
_MARK_NAMES = {
    ":": "colon", ",": "comma", "=": "equals sign", "-": "minus", "+": "plus", ".": "point", "_": "underscore",
    "#": "number sign", " ": "blank", "{": "brace", "}": "brace", "[": "bracket", "]": "bracket", "(": "parenthesis",
    ")": "parenthesis", '"': "quotation mark", "'": "quotation mark",
}  # fmt: skip
_CHINESE, _MARKS = "[\u3400-\u9fff]", f"[{''.join(FULL_WIDTH)}]"
SLIP = f"(?<!{_CHINESE}){_MARKS}(?!{_CHINESE})"
"""Pattern of such a character that is not beside a Chinese one."""
_SETTING = re.compile(r"(?:.*?:\d+|command line|Python|default of \S+|-\S+): ")
"""Start of a sentence about a setting: its place."""


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Returns the known name with the fewest typing mistakes, at most one in three characters; None if none is near."""
    folded = {candidate.lower(): candidate for candidate in names}
    word = name.lower()[:MOST_SHOWN]
    if (synonym := _with_synonym(word)) in folded:
        return folded[synonym]
    most = max(1, len(word) // 3)
    close = [candidate for candidate in folded if abs(len(candidate) - len(word)) <= most]
    best = min(((distance(word, candidate), candidate[:1] != word[:1], candidate) for candidate in close), default=None)
    if best and best[0] <= most:
        return folded[best[2]]
    begun = [candidate for candidate in folded if len(word) > 3 and candidate.startswith(word)]
    return folded[begun[0]] if len(begun) == 1 else None


def _with_synonym(word: str) -> str:
    """Returns a name, or the path of a file, with the synonym of its name; empty if it has none."""
    folder, name, ending = parts.groups("") if (parts := _FILE.fullmatch(word)) else ("", word, "")
    synonym = _SYNONYMS.get(name, "").lower()
    return f"{folder}{synonym}{ending}" if synonym else ""


def distance(a: str, b: str) -> int:
    """Returns the number of typing mistakes between two words: a letter too many, missing, wrong, or two swapped."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        oldest, before, row = before, row, [i]
        for j, y in enumerate(b, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, oldest[j - 2] + 1)
            row.append(cost)
    return row[-1]


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Returns the end of a sentence; empty if no name is near."""
    near = nearest(name, names)
    return f"; did you mean {near}?" if near else ""


def printable(text: str) -> str:
    """Returns text with control and bidirectional characters escaped, cut in its middle to MOST_SHOWN characters."""
    if len(text) > MOST_SHOWN:
        text = f"{text[: MOST_SHOWN * 3 // 4]} ... {text[-MOST_SHOWN // 4 :]}"
    if text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode() if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") else char
        for char in text
    )


def full_width(mark: str) -> str:
    """Returns a sentence on punctuation of Chinese input: what it is, and what to write."""
    ascii_mark = FULL_WIDTH[mark]
    instead = {":": ": and a blank", " ": "a blank"}.get(ascii_mark, ascii_mark)
    return f"{mark.strip() or 'U+3000'} is a full-width {_MARK_NAMES[ascii_mark]} (Chinese input); write {instead}"


def halved(text: str) -> str:
    """Returns text with the characters that settings need in place of Chinese punctuation."""
    return "".join(FULL_WIDTH.get(char, char) for char in text)


def with_full_width_named(problem: str) -> str:
    """Returns a sentence about a setting, and one on the Chinese punctuation in it, if there is any."""
    place = _SETTING.match(problem)
    mark = re.compile(SLIP).search(problem, place.end()) if place else None
    if not mark or (sentence := full_width(mark[0])) in problem:
        return problem
    return f"{problem}{'' if problem.endswith('?') else '.'} {sentence}"
