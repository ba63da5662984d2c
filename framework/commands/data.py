"""Shows what collected data contain, and whether they fit an environment."""

from config.read import arguments
from config.tell.language import tr
from framework.commands.line import shared, start
from framework.commands.line.parser import Parser

HELP = {"data DATA... [--env ID] [--json]": tr("what collected data contain,\nand if it fits an environment")}


def flags(parser: Parser) -> None:
    shared.add(parser, "--allow-import")
    help_text = tr("file, pattern such as 'data/*.npz', or task directory")
    parser.positional("data", "DATA", help_text, nargs="+")
    parser.add_argument("--env", metavar="ID", type=arguments.text, help=tr("compare with its spaces"))
    parser.switch("--json", tr("print JSON, with all that is known"))


run = start.worker("data")
