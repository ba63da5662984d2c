"""Converts the text of a flag to its value, or rejects it with a sentence."""

import argparse
import contextlib
import math

from config.own import envs as own_env
from config.tell.language import UserError, tr

COMPARED_AT = ("common", "last")
"""Scores that the command compare compares: at a step that all runs have come to, or the last ones."""
MOST_SIDE = 9
"""Rows, and columns, of the largest grid of a video."""
WIDTHS = (1, 40)
"""Smallest and largest width of a figure for print, in inches."""
MOST_SEEDS = 1000
"""Number of seeds in one range; more can only be a typing mistake."""
MOST_MEANT = 20
"""Largest single seed that may be meant as the number of runs."""


class InvalidArgument(UserError, argparse.ArgumentTypeError):
    """The text of a flag has no value."""


def is_number(text: str) -> bool:
    """Returns True for a number, which may begin with a minus as flags do."""
    with contextlib.suppress(ValueError):
        return not math.isnan(float(text))
    return False


def seeds(text: str) -> tuple[int, ...]:
    """Returns the seeds in 1..5, in a list such as 1,2,7, or in both: 1..3,7."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dots, last = part.strip().partition("..")
        if not all(number.isascii() and number.isdecimal() for number in (first, last or first)) or (dots and not last):
            raise InvalidArgument("invalid seed {text!r}: use 1..5, or a list such as 1,2,7", text=part.strip())
        low, high = int(first), int(last or first)
        if low > high:
            raise InvalidArgument("empty range {range}: use {high}..{low}", range=part.strip(), high=high, low=low)
        if high - low >= MOST_SEEDS:
            raise InvalidArgument("{range} is more than {most} runs", range=part.strip(), most=MOST_SEEDS)
        numbers += range(low, high + 1)
    if 0 in numbers or max(numbers) >= 2**63:
        raise InvalidArgument("a seed is a number from 1 to 2**63 - 1 (0 would draw one)")
    if twice := next((seed for seed in numbers if numbers.count(seed) > 1), None):
        raise InvalidArgument("{seed} is listed twice; two runs with one seed are the same run", seed=twice)
    return tuple(numbers)


def one_seed(numbers: tuple[int, ...]) -> str:
    """Returns what to type for several runs, if a single seed looks like their number; empty if it does not."""
    [*others, number] = numbers
    if others or not 1 < number <= MOST_MEANT:
        return ""
    return tr(
        "--seeds {number}: one run, with seed {number}; for {number} runs with different seeds write "
        "--seeds 1..{number}",
        number=number,
    )


def text(words: str) -> str:
    """Refuses empty text: an unset shell variable does not ask for the default."""
    if not words.strip():
        raise InvalidArgument("nothing was given; give a value, or leave the flag out")
    return words


def module(words: str) -> str:
    """Returns the name of a module or package; a file such as walk.py is one, too."""
    name = text(words)
    if "," in name:
        every = " ".join(f"--allow-import {package}" for package in filter(None, name.replace(" ", "").split(",")))
        raise InvalidArgument("invalid package {name!r}: each has a flag of its own: {every}", name=name, every=every)
    try:
        return own_env.module_of(name) if name.endswith(".py") else name.removeprefix("./")
    except own_env.OwnEnvError as error:
        raise InvalidArgument(str(error)) from None


def count(words: str, least: int = 1) -> int:
    """Returns a whole number, 1 or more; least: or this."""
    if not (words.isascii() and words.isdecimal() and len(words) < 19 and int(words) >= least):
        raise InvalidArgument(
            "invalid number {text!r}: use a whole number, {least} or more", text=words[:40], least=least
        )
    return int(words)


def count_or_none(words: str) -> int:
    """Returns a whole number, 0 or more."""
    return count(words, 0)


def score(words: str) -> float:
    """Returns a finite number."""
    with contextlib.suppress(ValueError):
        if math.isfinite(value := float(words)):
            return value
    raise InvalidArgument("invalid score {text!r}: use a number, such as 475", text=words[:40])


def inches(words: str) -> float:
    """Returns the width of a figure for print."""
    least, most = WIDTHS
    with contextlib.suppress(ValueError):
        if least <= (value := float(words)) <= most:
            return value
    raise InvalidArgument(
        "invalid width {text!r}: use a number of inches from {least} to {most}, such as 3.25",
        text=words[:40],
        least=least,
        most=most,
    )


def port(words: str) -> int:
    """Returns the number of a port, 1 to 65535."""
    if not (words.isascii() and words.isdecimal() and len(words) < 6 and 0 < int(words) < 2**16):
        raise InvalidArgument("invalid port {text!r}: use 1 to 65535, or leave it out", text=words[:40])
    return int(words)


def model(words: str) -> str | int:
    """Returns the checkpoint that a flag names: best, latest, or the number of an update."""
    if words.isascii() and words.isdecimal() and len(words) < 19:
        return int(words)
    if words not in ("best", "latest"):
        raise InvalidArgument("invalid model {text!r}: use best, latest, or the number of an update", text=words[:40])
    return words


def grid(words: str) -> tuple[int, int]:
    """Returns the numbers of rows and columns in 3x3."""
    rows, _, columns = words.lower().partition("x")
    sides = [int(side) if side.isascii() and side.isdecimal() and len(side) < 3 else 0 for side in (rows, columns)]
    if not all(1 <= side <= MOST_SIDE for side in sides):
        raise InvalidArgument(
            "invalid grid {text!r}: use rows x columns, 1x2 to {most}x{most}", text=words[:40], most=MOST_SIDE
        )
    return sides[0], sides[1]
