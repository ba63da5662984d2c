"""Lists the folders whose code settings may name, or removes one."""

import sys
from argparse import Namespace
from pathlib import Path

from config.own import trust
from config.program import PROGRAM
from config.read import arguments
from config.tell.language import tr
from framework.commands.line import shared
from framework.commands.line.parser import Parser

HELP = {"trust [--forget [FOLDER]]": tr("folders of own code that you\nlet settings name")}


def flags(parser: Parser) -> None:
    shared.add(parser, "--allow-import")
    help_text = tr("stop trusting FOLDER (default: the current one)")
    parser.add_argument("--forget", metavar="FOLDER", type=arguments.text, nargs="?", const=".", help=help_text)


def run(request: Namespace) -> int:
    """Prints the list, or that a folder is not in it any more."""
    folder = Path(request.forget or ".")
    try:
        if request.forget is None:
            print(trust.listing(), end="")
        elif not trust.forget(folder):
            print(
                tr("{folder} is not trusted; {program} trust lists what is", folder=folder.resolve(), program=PROGRAM),
                file=sys.stderr,
            )
            return 2
        else:
            print(tr("{folder} is not trusted any more", folder=folder.resolve()))
    except trust.TrustError as error:
        print(error, file=sys.stderr)
        return 2
    return 0
