"""Lists runs."""

from argparse import Namespace

from config.tell.language import tr
from framework.commands.line import shared
from framework.commands.line.parser import Parser

HELP = {"runs [TEXT] [--json]": tr("list runs")}


def flags(parser: Parser) -> None:
    shared.add(parser, "--allow-import")
    parser.add_argument("filter", metavar="TEXT", nargs="?", default="")
    parser.switch("--json", tr("print JSON, with all that is known"))


def run(request: Namespace) -> int:
    """Prints a table, or JSON."""
    from framework.archive import task_list

    print((task_list.as_json if request.json else task_list.listing)(request.filter), end="")
    return 0
