"""The name that was probably meant. Case does not matter."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, names: Iterable[str]) -> str | None:
    folded = {known.lower(): known for known in names}
    found = get_close_matches(name.lower(), folded, n=1)
    return folded[found[0]] if found else None


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The end of a sentence; empty where nothing is near."""
    near = nearest(name, names)
    return f"; did you mean {near}?" if near else ""
