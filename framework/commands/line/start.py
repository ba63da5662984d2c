"""From a request to configurations, and to what is done with them. A wrong configuration starts nothing."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from config.read import arguments
from config.tell.language import tr
from config.tell.names import without_password
from framework.screen.stages import stage
from framework.screen.terminal import fitted

if TYPE_CHECKING:
    from config.read.loader import ConfigError
    from config.read.run_config import RunConfig

FLAGS = ("algo", "env", "resume", "test", "video", "into", "pause_at_step", "no_evaluation", "take_over",
         "allow_import", "config", "stop", "checkpoint_freq", "episodes", "model", "word", "abbreviated",
         "of_rllib")  # fmt: skip
"""Flags that become settings."""


def configured(request: argparse.Namespace, words: Sequence[str] = ()) -> "dict[str, RunConfig]":
    """Returns the configuration of each experiment, or a single one. words: further settings. Raises ConfigError."""
    from config.foreign.experiments import load_all
    from config.read.loader import load
    from framework.catalog import ALGOS, ENVS

    options = {name: value for name, value in vars(request).items() if name in FLAGS}
    options |= {"find_algo": ALGOS, "find_env": ENVS}
    settings = [*request.overrides, *words]
    if str(options.get("algo")).lower() == "auto":
        choice, notes = work("auto").chosen(request, settings)
        with stage(tr("reading the settings")):
            config = load(None, settings, **{**options, "algo": choice.algo, "file": choice.source()})
        return {"": replace(config, notes=(*notes, *config.notes))}
    with stage(tr("reading the settings")):
        return load_all(request.yaml, settings, **options)


def several(request: argparse.Namespace, do: "Callable[[Mapping[str, RunConfig]], int]") -> int:
    """Does something with the configurations of a request, or shows them. Returns the exit status."""
    from config.read.loader import ConfigError

    try:
        configs = configured(request)
        if problem := _unfit(request, len(configs)):
            raise ConfigError(problem)
    except ConfigError as error:
        return nothing_started(error)
    if request.seeds and (hint := arguments.one_seed(request.seeds)):
        print(hint, file=sys.stderr)
    if request.print_config or request.dry_run:
        return max(show(request, name, config) for name, config in configs.items())
    return do(configs)


def player(name: str, signals: bool = True, saves: bool = True) -> Callable[[argparse.Namespace], int]:
    """Returns what plays as a module of work/ does. signals: True if it obeys signals, and not just Ctrl-C; saves: True
    if it keeps something of what was done until a signal."""

    def play(request: argparse.Namespace, config: "RunConfig") -> int:
        if signals:
            stoppable = work("entry").stoppable
            return int(stoppable(config, lambda received: work(name).run(config, request, received), saves))
        return int(work("entry").played(config, lambda: work(name).run(config, request)))

    return lambda request: several(request, lambda configs: play(request, *configs.values()))


def worker(name: str) -> Callable[[argparse.Namespace], int]:
    """Returns what does the work of a module in work/."""
    return lambda request: guarded(lambda: int(work(name).run(request)))


def guarded(do: Callable[[], int]) -> int:
    """Does something in which every error that a user can cause ends in one message. Returns the exit status."""
    return int(work("entry").guarded(do))


def work(name: str) -> ModuleType:
    """Returns a module of work/, which may be heavy."""
    with stage(tr("loading the program")):
        return import_module(f"framework.commands.work.{name}")


def printed(text: Callable[[], str], file: bool = False) -> int:
    """Prints a text, or what is wrong with what is looked up. file: the text is that of a file, whose lines stay as
    they are on any terminal. Returns the exit status."""
    from config.read.loader import ConfigError
    from config.tell.describe import UnknownTopic

    try:
        with stage(tr("looking it up")):
            answer = text()
        print(answer if file else fitted(answer), end="")
    except (UnknownTopic, ConfigError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def nothing_started(error: "ConfigError") -> int:
    """Prints what is wrong with a configuration. Returns the exit status."""
    count = len(error.problems)
    if count == 1:
        fix = tr("Nothing was started. Fix the problem above.")
    else:
        fix = tr("Nothing was started. Fix the {count} problems above.", count=count)
    print(without_password(str(error)), fix, sep="\n", file=sys.stderr)
    return 2


def _unfit(request: argparse.Namespace, runs: int) -> str:
    """Returns which flag does not fit the number of experiments in the file; empty if all do."""
    if runs > 1 and (request.test or request.resume or request.word == "bench"):
        flags = {"--algo": request.algo, "--env": request.env}
        source = request.yaml or " ".join(f"{flag} {words}" for flag, words in flags.items() if "," in (words or ""))
        return tr(
            "{source} has {runs} experiments; leave out bench, --test and --resume, or name one",
            source=source,
            runs=runs,
        )
    if runs > 1 and (request.pause_at_step or request.no_evaluation):
        return tr("--pause-at-step and --no-evaluation are for training one run")
    if runs == 1 and request.jobs and not request.seeds:
        return tr("--jobs is the number of runs at once; it needs --seeds, or several experiments")
    return ""


def show(request: argparse.Namespace, name: str, config: "RunConfig") -> int:
    """Answers --print-config and --dry-run. A run prints its notes itself, and logs them."""
    for note in config.notes:
        print(note, file=sys.stderr)
    if request.seeds and len(request.seeds) > 1:
        print(
            tr(
                "--seeds: {count} runs; this is the one with seed {seed}",
                count=len(request.seeds),
                seed=request.seeds[0],
            ),
            file=sys.stderr,
        )
    if name:
        print(tr("# experiment {name}", name=name))
    if request.print_config:
        print(config.to_yaml(), end="")
        return 0
    return int(work("entry").dry_run(config))
