"""Shows runs in a browser until Ctrl-C."""

from config.read import arguments
from framework.commands.line import shared, start
from framework.commands.line.parser import Parser

HELP = """\
watch [FOLDER] [--port N] [--open]
                                                  see them train, in a browser
"""


def flags(parser: Parser) -> None:
    """Adds which runs are shown, and where."""
    shared.add(parser, "--allow-import")
    what = "folder of runs (default tasks), or one run or group"
    parser.add_argument("folder", metavar="FOLDER", type=arguments.text, nargs="?", help=what)
    parser.add_argument("--port", metavar="N", type=arguments.port, default=0, help="default: a free one")
    parser.switch("--open", "open the page in the browser")


run = start.worker("watch")
