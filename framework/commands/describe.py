"""Explains settings, algorithms, environments, layers and wrappers."""

from argparse import Namespace

from config.tell.language import tr
from framework.commands.line import shared, start
from framework.commands.line.parser import Parser

HELP = {
    "describe TOPIC": tr(
        "settings and their help: an\n    algorithm, environment, setting, layer, wrapper, general, or all"
    ),
}


def flags(parser: Parser) -> None:
    shared.add(parser, "--allow-import")
    parser.add_argument("what", metavar="TOPIC", nargs="?")


def run(request: Namespace) -> int:
    """Prints the explanation."""
    from config.tell.describe import describe
    from framework.catalog import ALGOS, ENVS

    return start.printed(lambda: describe(request.what, ALGOS, ENVS, request.allow_import))
