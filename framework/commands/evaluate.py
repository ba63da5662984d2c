"""Plays a saved model and prints its score, without a task directory."""

from argparse import Namespace
from collections.abc import Iterator

from config.read import arguments
from config.tell.language import tr
from framework.commands.line import settings, shared, start
from framework.commands.line.parser import Parser

HELP = {
    "evaluate NAME [--episodes N | --steps N] [--out FILE.jsonl]": tr("score it, and write no folder"),
    "evaluate NAME --from-data FILE": tr("compare its models\nby data alone"),
}
REFUSED = {"--video --into": tr("evaluate writes no task directory; leave out --video and --into, or use test or film")}


def flags(parser: Parser) -> None:
    parser.named = "test"
    shared.add(parser, "--yaml --algo --env --config --model --episodes")
    parser.value("--steps", "N", tr("whole episodes, at least N steps"), arguments.count)
    parser.value("--from-data", "FILE", tr("data to compute values from, as in algo_cfg.data; no step is played"))
    parser.value("--updates", "N", tr("with --from-data: gradient steps for each model (5000)"), arguments.count)
    parser.value("--out", "FILE", tr("a file for a JSON line per episode, or per model"))
    shared.add_settings(parser)


def check(request: Namespace) -> Iterator[str]:
    yield from settings.twice(request)
    if request.steps and request.episodes:
        yield tr("--steps and --episodes both set how much is played; leave one of them out")
    if request.from_data and (request.steps or request.episodes):
        yield tr("--from-data plays no episode; leave out --steps and --episodes")
    if request.updates and not request.from_data:
        yield tr("--updates is for --from-data")


def run(request: Namespace) -> int:
    """Plays the model, or fits its values to data."""
    return start.player("from_data" if request.from_data else "evaluate", saves=False)(request)
