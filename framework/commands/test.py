"""Plays a saved model, by default the best, and scores it."""

from config.tell.language import tr
from framework.commands import train
from framework.commands.line import settings, shared
from framework.commands.line.parser import Parser

HELP = {"test NAME": tr("play and score its best model")}


def flags(parser: Parser) -> None:
    parser.named = "test"
    shared.add(parser, "--yaml --env --config --video --model --episodes --into")
    shared.add_settings(parser)


check, run = settings.twice, train.run
