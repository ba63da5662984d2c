"""Plays a saved model, scores it and makes a video; or makes one of an episode of the training."""

import argparse
from collections.abc import Iterator

from config.read import arguments
from config.tell.language import tr
from framework.commands.line import settings, shared, start
from framework.commands.line.parser import Parser

HELP = {
    "film NAME [--episodes N] [--grid 3x3] [--worst]": tr("as test, and make a video"),
    "film NAME --episode N": tr("an episode of the training"),
}


def flags(parser: Parser) -> None:
    parser.named = "test"
    shared.add(parser, "--yaml --env --config --model --episodes")
    parser.switch("--worst", tr("the episode with the lowest return"))
    parser.value("--grid", "3x3", tr("rows and columns of episodes side by side"), arguments.grid)
    parser.value("--episode", "N", tr("this episode of the training, from its trajectory"), arguments.count)
    shared.add(parser, "--into")
    parser.add_argument("--video", action="store_true", default=True, help=argparse.SUPPRESS)
    shared.add_settings(parser)


def check(request: argparse.Namespace) -> Iterator[str]:
    places = request.grid[0] * request.grid[1] if request.grid else 0
    if places and not (request.worst or request.episodes):
        request.episodes = places
    yield from settings.twice(request)
    if request.episode and (request.worst or request.grid or request.episodes or request.model is not None):
        yield tr("--episode films one episode of the training; leave out --worst, --grid, --episodes and --model")
    if (request.episodes or places) < places:
        yield tr(
            "--grid shows {places} episodes; --episodes {episodes} plays fewer",
            places=places,
            episodes=request.episodes,
        )


run = start.player("film", saves=False)
