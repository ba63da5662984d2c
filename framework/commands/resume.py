"""Trains a run further, in its own folder, or what is left of a group of runs."""

from argparse import Namespace
from collections.abc import Iterator

from config.read import arguments
from config.tell.language import tr
from framework.commands import train
from framework.commands.line import settings, shared
from framework.commands.line.parser import Parser

HELP = {"resume NAME [section.key=value]": tr("train it further")}
REFUSED, run = settings.OF_RESUME, train.run


def flags(parser: Parser) -> None:
    parser.named = "resume"
    shared.add(parser, "--yaml --video")
    parser.value("--jobs", "N", tr("of a group or several experiments: runs at once"), arguments.count)
    shared.add_training(parser)
    shared.add_settings(parser, "--print-config --profile --dry-run")


def check(request: Namespace) -> Iterator[str]:
    yield from settings.twice(request)
    yield from settings.abbreviations(request)
