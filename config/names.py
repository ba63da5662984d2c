"""Finds the name that was probably meant, and makes text from files safe to print. Case does not matter."""

import unicodedata
from collections.abc import Iterable

MOST_SHOWN = 1_000
"""Characters of a message that are shown; what files hold may be longer."""

_SYNONYMS = {
    "eval": "test", "evaluate": "test", "play": "test", "predict": "test", "enjoy": "test", "learn": "train",
    "gpu": "cuda", "cartpole": "CartPole-v1",
}  # fmt: skip
"""Words of other libraries that are not spelled like ours."""


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Returns the known name with the fewest typing mistakes, at most one in three characters; None if none is near."""
    folded = {known.lower(): known for known in names}
    word = name.lower()[:MOST_SHOWN]
    if (synonym := _SYNONYMS.get(word, "").lower()) in folded:
        return folded[synonym]
    most = max(1, len(word) // 3)
    close = [known for known in folded if abs(len(known) - len(word)) <= most]
    found = min(((distance(word, known), known[:1] != word[:1], known) for known in close), default=None)
    if found and found[0] <= most:
        return folded[found[2]]
    begun = [known for known in folded if len(word) > 3 and known.startswith(word)]
    return folded[begun[0]] if len(begun) == 1 else None


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
    return "".join(
        char.encode("unicode_escape").decode() if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") else char
        for char in text
    )
