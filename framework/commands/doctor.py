"""Looks at what a run needs on this machine, and says how to mend what is missing.

With --compile it compiles gradient steps ahead, so that no run waits for them.
"""

from argparse import Namespace
from collections.abc import Iterator

from config.tell.language import tr
from framework.commands.line import shared, start
from framework.commands.line.parser import Parser
from framework.screen import stages

HELP = {
    "doctor": tr("what a run needs here, and\nhow to mend what is missing"),
    "doctor --compile [--yaml FILE]": tr("compile gradient steps ahead"),
}


def flags(parser: Parser) -> None:
    shared.permission(parser)
    parser.switch("--compile", tr("compile the gradient steps of common runs, or of the one in --yaml, ahead"))
    shared.add(parser, "--yaml")


def check(request: Namespace) -> Iterator[str]:
    if request.yaml and not request.compile:
        yield tr("doctor reads --yaml with --compile only")


def run(request: Namespace) -> int:
    """Prints what was seen, or what was compiled."""
    if request.compile:
        return start.worker("precompile")(request)
    from framework.commands.work import doctor

    with stages.stage(tr("looking at this machine")):
        findings = list(doctor.findings())
    return doctor.show(findings)
