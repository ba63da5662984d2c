"""Finds the name that was probably meant, and makes text from files safe to print. Case does not matter."""

import re
import unicodedata
from collections.abc import Iterable

from config.tell.language import tr

MOST_SHOWN = 1_000
"""Characters of a message that are shown; what files hold may be longer."""

_SYNONYMS = {
    "eval": "test", "evaluate": "test", "play": "test", "predict": "test", "enjoy": "test", "learn": "train",
    "gpu": "cuda", "cartpole": "CartPole-v1", "a3c": "IMPALA",
    "populationbasedtraining": "pbt", "pb2": "pbt", "ashascheduler": "asha", "asynchyperbandscheduler": "asha",
    "async_hyperband": "asha", "hyperband": "halving", "hyperbandscheduler": "halving", "sha": "halving",
    "fifo": "none", "fifoscheduler": "none", "optuna": "tpe", "optunasearch": "tpe", "bayesopt": "tpe",
    "hyperopt": "tpe", "cma": "cmaes", "grid": "random",
}  # fmt: skip
"""Words of other libraries, and earlier names, that are not spelled like ours. Files may have them as names."""
_FILE = re.compile(r"(.*/)?([^/.]+)(\.ya?ml)?", re.DOTALL)
"""Folder, name and ending of a file."""

_SECRET = re.compile(r"(\w://)[^\s/@'\"]*@")
"""End of a scheme, and the name and password of a URL."""
FULL_WIDTH = {
    "：": ":", "，": ",", "、": ",", "＝": "=", "－": "-", "＋": "+", "．": ".", "。": ".", "＿": "_", "＃": "#",
    "　": " ", "｛": "{", "｝": "}", "［": "[", "］": "]", "（": "(", "）": ")", "“": '"', "”": '"', "‘": "'", "’": "'",
}  # fmt: skip
"""Punctuation of Chinese input, and the characters that settings need in its place."""
_MARK_NAMES = {
    ":": tr("colon"), ",": tr("comma"), "=": tr("equals sign"), "-": tr("minus"), "+": tr("plus"), ".": tr("point"),
    "_": tr("underscore"), "#": tr("number sign"), " ": tr("blank"), "{": tr("brace"), "}": tr("brace"),
    "[": tr("bracket"), "]": tr("bracket"), "(": tr("parenthesis"), ")": tr("parenthesis"),
    '"': tr("quotation mark"), "'": tr("quotation mark"),
}  # fmt: skip
_CHINESE, _MARKS = "[\u3400-\u9fff]", f"[{''.join(FULL_WIDTH)}]"
SLIP = f"(?<!{_CHINESE}){_MARKS}(?!{_CHINESE})"
"""Pattern of such a character that is not beside a Chinese one."""
COMMAND_LINE = tr("command line")
"""Place of a setting that is a word of the command line."""
DEFAULT = tr("default")
"""End of the place of a setting that nobody wrote."""
DEFAULT_OF = tr("default of {algo}")
"""Place of a setting that an algorithm has by default."""
_PLACES = "|".join(re.escape(place) for place in (COMMAND_LINE, DEFAULT_OF)).replace(re.escape("{algo}"), r"\S+")
_SETTING = re.compile(rf"(?:.*?:\d+|{_PLACES}|Python|-\S+): ")
"""Start of a sentence about a setting: its place."""
_WRITTEN = re.compile(r"""\A.*?(?=: )|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\"""")
"""Part of the rest of such a sentence that a user has written: the path of the setting, and what stands in quotes."""


def of_others(algos: str, algo: str, name: str = "") -> str:
    """Returns the end of a sentence about a setting that only other algorithms have. name: the one that it has here, if
    the user writes another."""
    if name:
        return tr(
            "; it is called {name} here, a setting of {algos}, and algo_name is {algo}",
            name=name,
            algos=algos,
            algo=algo,
        )
    return tr("; it is a setting of {algos}, and algo_name is {algo}", algos=algos, algo=algo)


def of_others_by_name(end: str, name: str) -> str:
    """Returns the end of a sentence of of_others with the name of the setting; empty for any other end."""
    pattern = re.escape(tr("; it is a setting of {algos}, and algo_name is {algo}"))
    pattern = pattern.replace(r"\ ", " ?")  # tr leaves out blanks between Chinese letters
    parts = re.fullmatch(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", pattern), end)
    return of_others(**parts.groupdict(), name=name) if parts else ""


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Returns the known name with the fewest typing mistakes, at most one in three characters; None if none is near."""
    folded = {candidate.lower(): candidate for candidate in names}
    word = unicodedata.normalize("NFKC", name).lower()[:MOST_SHOWN]  # a Chinese keyboard may give full-width letters
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
    return tr("; did you mean {near}?", near=near) if near else ""


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


def without_password(text: str) -> str:
    """Returns text in which name and password of each URL are three asterisks: messages end in logs of others."""
    return _SECRET.sub(r"\1***@", text)


def full_width(mark: str) -> str:
    """Returns a sentence on punctuation of Chinese input: what it is, and what to write."""
    ascii_mark = FULL_WIDTH[mark]
    instead = {":": tr(": and a blank"), " ": tr("a blank")}.get(ascii_mark, ascii_mark)
    return tr(
        "{mark} is a full-width {name} (Chinese input); write {instead}",
        mark=mark.strip() or "U+3000",
        name=_MARK_NAMES[ascii_mark],
        instead=instead,
    )


def halved(text: str) -> str:
    """Returns text with the characters that settings need in place of Chinese punctuation."""
    return "".join(FULL_WIDTH.get(char, char) for char in text)


def with_full_width_named(problem: str) -> str:
    """Returns a sentence about a setting, and one on the Chinese punctuation in it, if there is any."""
    place = _SETTING.match(problem)
    parts = _WRITTEN.finditer(problem[place.end() :]) if place else ()
    mark = next((mark for part in parts for mark in re.finditer(SLIP, part[0])), None)
    if not mark or (sentence := full_width(mark[0])) in problem:
        return problem
    if problem.endswith(("?", "？")):
        return f"{problem} {sentence}"
    return tr("{problem}. {sentence}", problem=problem, sentence=sentence)
