"""Lets a person talk to a policy that was trained on dialogues."""

from config.tell.language import tr
from framework.commands.line import settings, shared, start
from framework.commands.line.parser import Parser

HELP = {"talk NAME [--record FILE]": tr("talk to it, if it was trained\non dialogues")}


def flags(parser: Parser) -> None:
    parser.named = "test"
    shared.add(parser, "--yaml --env --config --model")
    parser.value("--record", "FILE", tr("a file for the dialogue"))
    shared.add_settings(parser)


check, run = settings.twice, start.player("talk", signals=False)
