"""The words of the command line, and the part of --help that lists them."""

import pkgutil
import re
from importlib import import_module
from types import ModuleType

from config.program import PROGRAM
from config.tell.language import tr

PACKAGE = "framework.commands"
DEFAULT = "train"
"""Word of a command line without one."""
EXAMPLES = tr(
    "examples:\n"
    "  {program}                                  DQN on CartPole-v1\n"
    "  {program} --yaml my.yaml algo_cfg.lr=3e-4\n"
    "  {program} --algo PPO --env Acrobot-v1\n"
    "  {program} --algo PPO --seeds 1..5          five runs, one figure\n"
    "  {program} --algo PPO,DQN --seeds 1..5      two algorithms compared\n",
    program=PROGRAM,
)
WIDTH = 33
"""Characters of what is typed, with two blanks at least, if the text stands beside it."""
MARGIN = " " * 50
"""Blanks before a text that stands below."""
GROUPS = {
    tr("with a run, by the name of its folder under tasks/:"): (
        "runs", "watch", "resume", "sync", "test", "film", "compare", "evaluate", "rollout", "export", "push",
        "pull", "talk",
    ),
    tr("other commands:"): (
        "train", "list", "describe", "tune", "bench", "cluster", "convert", "data", "doctor", "trust", "schema",
    ),
}  # fmt: skip
"""Heading -> words in the order of --help. Words that are not listed come last."""


def names() -> list[str]:
    """Returns all words, in the order of --help."""
    files = [file.name for file in pkgutil.iter_modules(import_module(PACKAGE).__path__) if not file.ispkg]
    listed = [name for group in GROUPS.values() for name in group]
    return [*listed, *(name for name in files if name not in listed)]


def module(name: str) -> ModuleType:
    """Returns the file of a word."""
    return import_module(f"{PACKAGE}.{name}")


def usage(name: str) -> str:
    """Returns a word with what has to follow it, such as film NAME."""
    return re.split(r" +[-[|>.]", next(iter(module(name).HELP)))[0]


def help_of(*group: str) -> str:
    """Returns the lines of words in --help: what is typed, and beside it or below it what it does. Lines with blanks at
    their start stand as they are."""
    lines = []
    for typed, text in (row for name in group for row in module(name).HELP.items()):
        first, *others = text.split("\n")
        is_short = len(typed) + 2 <= WIDTH
        lines += [f"  {PROGRAM} {typed:<{WIDTH}}{first}"] if is_short else [f"  {PROGRAM} {typed}", MARGIN + first]
        lines += [other if other.startswith(" ") else MARGIN + other for other in others]
    return "".join(f"{line}\n" for line in lines)


def help_text() -> str:
    """Returns the end of --help: examples, and all words."""
    (first, listed), (other, _) = GROUPS.items()
    return f"{EXAMPLES}\n{first}\n{help_of(*listed)}\n{other}\n{help_of(*names()[len(listed) :])}"
