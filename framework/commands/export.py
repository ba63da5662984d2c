"""Writes the policy of a saved model as a file for other programs."""

from argparse import Namespace
from collections.abc import Iterator

from framework.commands.line import settings, shared, start
from framework.commands.line.parser import Parser

HELP = {"export NAME --to onnx [--policy P] [--out FILE]": "write its policy for other\nprograms; --to safetensors"}
REFUSED = {
    "--video --into --episodes": "export writes a file, and no task directory; leave out --video, --into and --episodes"
}
FORMATS = ("onnx", "safetensors")


def flags(parser: Parser) -> None:
    parser.named = "test"
    shared.add(parser, "--yaml --env --config --model")
    parser.value("--to", "FORMAT", "onnx or safetensors")
    parser.value("--policy", "NAME", "one of several policies")
    parser.value("--out", "FILE", "the file")
    shared.add_settings(parser)


def check(request: Namespace) -> Iterator[str]:
    yield from settings.twice(request)
    if request.to not in FORMATS:
        lack = f"--to {request.to} is not known" if request.to else "export needs --to"
        yield f"{lack}: write --to {' or --to '.join(FORMATS)}"


run = start.player("export")
