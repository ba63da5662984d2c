"""Copies a run or a group of runs to a store, as a run with general_cfg.storage does while it trains."""

from config.tell.language import tr
from framework.commands.line import shared, start
from framework.commands.line.parser import Parser

HELP = {"sync NAME [s3://BUCKET/PREFIX/NAME]": tr("copy it to a store,\nor what the store lacks of it")}


def flags(parser: Parser) -> None:
    shared.add(parser, "--allow-import")
    parser.positional("run", "NAME", tr("name under tasks/, or folder of a run or a group"))
    url_help = tr("URL of the copy; default: where it is, or general_cfg.storage of the run")
    parser.positional("url", "URL", url_help, nargs="?")
    shared.add(parser, "--take-over")


run = start.worker("sync")
