"""Writes the policy of a saved model as a file for other programs."""

from argparse import Namespace
from collections.abc import Iterator

from config.read import arguments
from config.tell.language import tr
from framework.commands.line import settings, shared, start
from framework.commands.line.parser import Parser

HELP = {"export NAME --to onnx [--policy P] [--out FILE]": tr("write its policy for other\nprograms; --to safetensors")}
REFUSED = {
    "--video --into --episodes": tr(
        "export writes a file, and no task directory; leave out --video, --into and --episodes"
    )
}
FORMATS = ("onnx", "safetensors")


def flags(parser: Parser) -> None:
    parser.named = "test"
    shared.add(parser, "--yaml --env --config --model")
    parser.value("--to", "FORMAT", tr("onnx or safetensors"), kind=lambda text: arguments.text(text).lower())
    parser.value("--policy", "NAME", tr("one of several policies"))
    parser.value("--out", "FILE", tr("the file"))
    shared.add_settings(parser)


def check(request: Namespace) -> Iterator[str]:
    yield from settings.twice(request)
    if request.to not in FORMATS:
        flags = tr(" or ").join(f"--to {name}" for name in FORMATS)
        if request.to:
            yield tr("--to {format} is not known: write {flags}", format=request.to, flags=flags)
        else:
            yield tr("export needs --to: write {flags}", flags=flags)


run = start.player("export", saves=False)
