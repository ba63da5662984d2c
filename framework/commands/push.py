"""Uploads a run, or a group of seeds, to a repository of a model hub."""

from argparse import Namespace
from collections.abc import Iterator

from config.read import arguments
from config.tell.language import tr
from framework.commands.line import shared, start
from framework.commands.line.parser import Parser

HELP = {"push NAME --to hf://USER/REPO [--private]": tr("upload model, report, card;\nms://... for ModelScope")}


def flags(parser: Parser) -> None:
    parser.positional("name", "NAME", tr("a run, or a group of seeds"))
    parser.add_argument("--to", metavar="ADDRESS", type=arguments.text, help=tr("hf://user/name or ms://user/name"))
    shared.add(parser, "--model")
    parser.switch("--private", tr("make a new repository private"))
    parser.value("--revision", "BRANCH", tr("branch to change, by default the main one"))
    parser.switch("--overwrite", tr("replace files that the repository has"))
    parser.switch("--replay", tr("upload the replay buffer, too, however large it is: a resume needs it"))


def check(request: Namespace) -> Iterator[str]:
    if not request.to:
        yield tr("push needs --to: write --to hf://user/name, or --to ms://user/name")


run = start.worker("push")
