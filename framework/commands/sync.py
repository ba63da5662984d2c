"""Copies a run or a group of runs to a store, as a run with general_cfg.storage does while it trains."""

from config.read import arguments
from config.tell.language import tr
from framework.commands.line import shared, start
from framework.commands.line.parser import Parser

HELP = {"sync NAME [s3://BUCKET/PREFIX/NAME]": tr("copy it to a store,\nor what the store lacks of it")}


def flags(parser: Parser) -> None:
    shared.add(parser, "--allow-import")
    help_text = tr("name under tasks/, or folder of a run or a group")
    parser.add_argument("run", metavar="NAME", type=arguments.text, help=help_text)
    url_help = tr("URL of the copy; default: where it is, or general_cfg.storage of the run")
    parser.add_argument("url", metavar="URL", type=arguments.text, nargs="?", help=url_help)
    shared.add(parser, "--take-over")


run = start.worker("sync")
