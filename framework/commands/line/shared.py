"""Flags that several words have."""

from collections.abc import Callable
from functools import partial
from typing import Any

from config.foreign import flags as foreign_flags
from config.program import PROGRAM
from config.read import arguments
from config.tell.cells import wrapped
from config.tell.language import tr
from framework.commands.line.parser import Algorithm, Paragraphs, Parser, Version
from framework.commands.line.words import help_of, usage

VALUES: dict[str, tuple[str, str, Callable[[str], Any]]] = {
    "--yaml": ("FILE", tr("settings of the run"), arguments.text),
    "--env": (
        "ID",
        tr("environment, or my_env.py; without --yaml, with the nearest preset. Several, A-v1,B-v1: a run for each"),
        arguments.text,
    ),
    "--model": ("N", tr("best (default), latest, or an update"), arguments.model),
    "--episodes": ("N", tr("number of episodes"), arguments.count),
    "--seeds": ("1..5", tr("one run for each of these seeds, side by side"), arguments.seeds),
    "--jobs": ("N", tr("with --seeds, tune or several experiments: runs at once"), arguments.count),
    "--into": ("FOLDER", tr("a new folder to write to, instead of tasks/NAME"), arguments.text),
    "--pause-at-step": ("S", tr("train, or resume, to step S and save; the plan stays"), arguments.count),
    "--config": ("JSON", tr("settings by RLlib's names, or in our sections"), arguments.text),
    "--stop": ("JSON", tr("RLlib's stop rules, such as {training_iteration: 9}"), arguments.text),
    "--checkpoint-freq": ("N", tr("save every N iterations, as in RLlib"), arguments.count_or_none),
}
"""Flag -> the name of its value, its help, and what reads the value."""
SWITCHES = {
    "--video": tr("record a video (env_cfg.render_mode=rgb_array)"),
    "--take-over": tr("go on with a copy in a store whose writer was killed"),
    "--no-evaluation": tr("train, or resume, without an evaluation at the end or at a pause"),
    "--keep-alive": tr("train, or resume, and start again from the newest checkpoint after a crash"),
    "--print-config": tr("show all settings as YAML, and stop"),
    "--profile": tr("show where the time of the training went"),
    "--dry-run": tr("check and build everything, train nothing"),
}
"""Flag without a value -> its help."""
NEVER_MISSING = ("resume", "test", "seeds", "jobs", "keep_alive", "print_config", "profile", "dry_run")
"""Flags that the request of a word with settings has, even where the word has them not."""


def add(parser: Parser, flags: str, where: str = "") -> None:
    """Adds flags, with blanks between them. where: begins their help, with the words that they are for."""
    for flag in flags.split():
        if flag in SWITCHES:
            parser.switch(flag, SWITCHES[flag])
        elif flag == "--allow-import":
            permission(parser)
        elif flag == "--algo":
            text = tr(
                "algorithm; without --yaml, with the nearest preset. Several, as in PPO,DQN: a run for each. auto: "
                "chosen by the environment and general_cfg.max_total_step"
            )
            parser.add_argument(flag, "--run", metavar="NAME", type=arguments.text, action=Algorithm, help=text)
            parser.set_defaults(of_rllib=False)
        else:
            metavar, text, kind = VALUES[flag]
            parser.value(f"{flag} -f" if flag == "--yaml" else flag, metavar, where + text, kind)


def permission(parser: Parser) -> None:
    """Adds --allow-import."""
    parser.add_argument(
        "--allow-import", metavar="PKG", type=arguments.module, action="append", default=[],
        help=tr("let the settings name code of this package"),
    )  # fmt: skip


def add_experiments(parser: Parser) -> None:
    """Adds --yaml and --algo, which may start several experiments."""
    text = tr("settings of the run, or several experiments of RLlib")
    parser.value("--yaml -f", "FILE", text, arguments.text)
    add(parser, "--algo")


def add_training(parser: Parser) -> None:
    """Adds how long a run trains, and what it saves."""
    add(parser, "--pause-at-step --no-evaluation --keep-alive --take-over --config --stop --checkpoint-freq")
    foreign_flags.add(parser)


def add_settings(parser: Parser, flags: str = "--print-config --dry-run") -> None:
    """Adds section.key=value. flags: those that show what comes of the settings."""
    add(parser, f"--allow-import {flags}")
    parser.add_argument("--version", action=Version, nargs=0, help=tr("show the version, and stop"))
    name, text = "section.key=value", tr("a setting, such as algo_cfg.lr=3e-4")
    if parser.named:
        name = "NAME section.key=value"
        text = tr("a run, by its name in tasks/ or by its folder; then settings, such as general_cfg.max_episode=200")
    parser.add_argument("overrides", nargs="*", metavar=name, help=text)
    parser.set_defaults(**dict.fromkeys(NEVER_MISSING))
    parser.formatter_class = partial(Paragraphs, width=79)
    parser.usage = tr("{typed} [options] [section.key=value ...]", typed=f"{PROGRAM} {usage(parser.name)}")
    parser.description = "\n".join(wrapped(tr((parser.word.__doc__ or "").partition("\n")[0]), 79))
    parser.epilog = tr("typed as:\n{lines}", lines=help_of(parser.name))
