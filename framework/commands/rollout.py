"""Plays a checkpoint and prints its score: RLlib's word for evaluate."""

from config.tell.language import tr
from framework.commands import evaluate
from framework.commands.line.parser import Parser

HELP = {
    "rollout CHECKPOINT --run DQN --env ENV --steps N": tr("the same for a checkpoint,\nsuch as tasks/NAME/models/500")
}
REFUSED, check, run = evaluate.REFUSED, evaluate.check, evaluate.run


def flags(parser: Parser) -> None:
    evaluate.flags(parser)
    parser.switch("--no-render", tr("as always"))
