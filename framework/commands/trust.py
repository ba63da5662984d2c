"""Lists the folders whose code settings may name, or removes one."""

import sys
from argparse import Namespace
from pathlib import Path

from config.own import trust
from config.program import PROGRAM
from config.read import arguments
from framework.commands.line import shared
from framework.commands.line.parser import Parser

HELP = {"trust [--forget [FOLDER]]": "folders of own code that you\nlet settings name"}


def flags(parser: Parser) -> None:
    shared.add(parser, "--allow-import")
    help_text = "stop trusting FOLDER (default: the current one)"
    parser.add_argument("--forget", metavar="FOLDER", type=arguments.text, nargs="?", const=".", help=help_text)


def run(request: Namespace) -> int:
    """Prints the list, or that a folder is not in it any more."""
    folder = Path(request.forget or ".")
    try:
        if request.forget is None:
            print(trust.listing(), end="")
        elif not trust.forget(folder):
            print(f"{folder.resolve()} is not trusted; {PROGRAM} trust lists what is", file=sys.stderr)
            return 2
        else:
            print(f"{folder.resolve()} is not trusted any more")
    except trust.TrustError as error:
        print(error, file=sys.stderr)
        return 2
    return 0
