"""Looks at what a run needs on this machine, and says how to mend what is missing."""

from argparse import Namespace

from config.tell.language import tr
from framework.commands.line import shared
from framework.screen import stages

HELP = {"doctor": tr("what a run needs here, and\nhow to mend what is missing")}
flags = shared.permission


def run(request: Namespace) -> int:
    """Prints what was seen."""
    from framework.commands.work import doctor

    with stages.stage(tr("looking at this machine")):
        findings = list(doctor.findings())
    return doctor.show(findings)
