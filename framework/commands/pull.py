"""Downloads a run, or a group of seeds, from a repository of a model hub into tasks/."""

from config.tell.language import tr
from framework.commands.line import shared, start
from framework.commands.line.parser import Parser

HELP = {"pull hf://USER/REPO [--into FOLDER]": tr("download it into tasks/")}


def flags(parser: Parser) -> None:
    parser.positional("address", "ADDRESS", tr("hf://user/name or ms://user/name"))
    shared.add(parser, "--into")
    parser.value("--revision", "REVISION", tr("branch, tag or commit, by default the newest"))


run = start.worker("pull")
