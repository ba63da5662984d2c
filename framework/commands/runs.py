"""Lists runs."""

from argparse import Namespace

from config.read import arguments
from config.tell.language import tr
from framework.commands.line import shared
from framework.commands.line.parser import Parser

HELP = {"runs [TEXT] [--tag TAG] [--json]": tr("list runs")}


def flags(parser: Parser) -> None:
    shared.add(parser, "--allow-import")
    parser.add_argument("filter", metavar="TEXT", nargs="?", default="")
    tag_help = tr("runs with this tag, given in watch")
    parser.add_argument("--tag", metavar="TAG", type=arguments.text, help=tag_help)
    parser.switch("--json", tr("print JSON, with all that is known"))


def run(request: Namespace) -> int:
    """Prints a table, or JSON."""
    from framework.archive import task_list

    print((task_list.as_json if request.json else task_list.listing)(request.filter, tag=request.tag), end="")
    return 0
