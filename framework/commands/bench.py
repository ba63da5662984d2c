"""Measures the speed of training with several numbers of workers and rows."""

import argparse
from collections.abc import Iterator
from functools import partial

from config.foreign import flags as foreign_flags
from config.read import arguments
from config.tell.language import tr
from framework.commands.line import settings, shared, start
from framework.commands.line.parser import Parser

HELP = {"bench --env E --workers 0,1,2 --envs 1,4 [--seconds 5]": tr("steps/s with your settings")}
REFUSED = {**settings.OF_ONE_RUN, "": tr("bench trains for a few seconds and keeps nothing; leave out FLAG")}
MOST = 64
"""Largest number of workers or rows in a list; more can only be a typing mistake of this one machine."""
SETTINGS = {
    "general_cfg.mp_backend": tr("--workers (0 is one process)"),
    "general_cfg.n_workers": "--workers",
    "env_cfg.n_envs": "--envs",
}
"""Setting that is varied -> the flag that lists its values."""


def flags(parser: Parser) -> None:
    shared.add(parser, "--yaml --algo --env --config")
    foreign_flags.add(parser)
    workers, rows = partial(_numbers, least=0), partial(_numbers, least=1)
    parser.add_argument("--workers", metavar="0,1,2", type=workers, default=(0, 1, 2), help=tr("numbers of workers"))
    parser.add_argument("--envs", metavar="1,4", type=rows, default=(1, 4), help=tr("numbers of rows (n_envs)"))
    parser.add_argument("--seconds", metavar="S", type=_seconds, default=5.0, help=tr("seconds for each (5)"))
    shared.add_settings(parser, "")


def check(request: argparse.Namespace) -> Iterator[str]:
    for key in filter(settings.keys(request).__contains__, SETTINGS):
        yield tr("bench varies {key}: leave it out, and list the values in {flag}", key=key, flag=SETTINGS[key])
    yield from settings.twice(request)
    yield from settings.abbreviations(request)


run = start.player("bench", signals=False)


def _numbers(text: str, least: int) -> tuple[int, ...]:
    """Returns the numbers of a list such as 1,2,4, without repetitions."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdecimal() and least <= int(word) <= MOST for word in words):
        raise arguments.InvalidArgument(
            "invalid list {text!r}: use numbers from {least} to {most}, such as 1,2,4",
            text=text,
            least=least,
            most=MOST,
        )
    return tuple(dict.fromkeys(map(int, words)))


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise arguments.InvalidArgument(
            "invalid number of seconds {text!r}: use more than 0, and at most 3600", text=text
        )
    return seconds
