"""Commands: each file of this folder is a word of the command line, found by its name.

A word's file has
    HELP      for --help: what is typed behind the name of the program -> what it does, in lines of 29 characters
    flags     (parser): adds the flags that the word has, and no others
    run       (request): does it, and returns the exit status
and may have
    check     (request): completes the request, and yields what is wrong with it
    REFUSED   flags of other words -> why this one does not have them; without a reason, the words that do are named

Nothing heavy is imported outside of `run`. line/ holds what words share while the command line is read, and work/ what
they do once it is valid.
"""

import atexit
import gc
import os
import sys
from collections.abc import Sequence

from config.own.trust import ask_on_terminal
from framework.commands.line import words
from framework.commands.line.parser import parse
from framework.screen import stages, terminal


def answer(argv: Sequence[str]) -> int:
    """Does what a command line asks for. Returns the exit status."""
    request = parse(argv)
    request.command_line = [*argv]
    ask_on_terminal(quiet=lambda: stages.shown_on(terminal.Screen()))
    if getattr(request, "allow_import", None):
        sys.path.append(os.getcwd())
    atexit.register(_keep_garbage)
    with stages.shown():
        return int(words.module(request.word or words.DEFAULT).run(request))


def _keep_garbage() -> None:
    """Spares Python the look through hundreds of thousands of objects before it ends, which takes seconds. ale_py would
    complain about those that are left."""
    if "ale_py" not in sys.modules:
        gc.freeze()
