"""The door of the command line."""

import os
import sys
from collections.abc import Sequence

from config.own import trust
from framework.commands.line import words
from framework.commands.line.parser import parse


def answer(argv: Sequence[str]) -> int:
    """Does what a command line asks for. Returns the exit status."""
    request = parse(argv)
    request.command_line = [*argv]
    trust.ask_on_terminal()
    if request.allow_import:
        sys.path.append(os.getcwd())
    return int(words.module(request.word or words.DEFAULT).run(request))
