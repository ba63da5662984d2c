"""Lists algorithms, environments, presets or runs."""

from argparse import Namespace
from collections.abc import Iterator

from config.tell.language import tr
from config.tell.names import did_you_mean
from framework.commands import runs
from framework.commands.line import shared, start
from framework.commands.line.parser import Parser

HELP = {"list algos|envs|presets|tasks": tr("list algorithms, and so on")}
KINDS = ("algos", "envs", "presets", "tasks")
OF_RUNS = ("tasks", "runs")
"""Kinds that the word `runs` lists."""


def flags(parser: Parser) -> None:
    shared.add(parser, "--allow-import")
    parser.add_argument("what", metavar="|".join(KINDS), nargs="?")
    parser.add_argument("filter", metavar="TEXT", nargs="?", default="")


def check(request: Namespace) -> Iterator[str]:
    if request.what not in (None, *KINDS, *OF_RUNS):
        yield tr(
            "nothing to list under {what!r}{nearest}",
            what=request.what,
            nearest=did_you_mean(request.what, KINDS) or tr("; known: {names}", names=", ".join(KINDS)),
        )


def run(request: Namespace) -> int:
    """Prints a table."""
    if request.what in OF_RUNS:
        return runs.run(Namespace(filter=request.filter, json=False, tag=None))
    from config.tell import describe
    from framework.catalog import ALGOS, ENVS

    return start.printed(lambda: describe.listing(request.what, ALGOS, ENVS, part=request.filter))
