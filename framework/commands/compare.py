"""Compares runs, and writes a page."""

from config.read import arguments
from config.tell.language import tr
from framework.commands.line import shared, start
from framework.commands.line.parser import Parser

HELP = {
    "compare RUN RUN ... [--at last] [--width W] [--into FOLDER]": tr(
        "scores, curves, settings on\na page; groups of seeds, too"
    )
}


def flags(parser: Parser) -> None:
    shared.add(parser, "--allow-import")
    help_text = tr("name under tasks/, folder, group of --seeds, tuning, or a pattern such as 'Train_CartPole*'")
    parser.positional("runs", "RUN", help_text, nargs="+")
    parser.add_argument("--threshold", metavar="X", type=arguments.score, help=tr("score to reach; by default a goal"))
    where = tr("scores at a step that all runs have come to (default), or their last ones")
    parser.add_argument("--at", metavar="common|last", choices=arguments.COMPARED_AT, default="common", help=where)
    width = tr("width of learning_curves.pdf, such as that of a column, 3.25: small letters and no title")
    parser.add_argument("--width", metavar="INCHES", type=arguments.inches, help=width)
    parser.add_argument("--into", metavar="FOLDER", type=arguments.text, help=tr("a new folder, instead of tasks/NAME"))


run = start.worker("compare")
