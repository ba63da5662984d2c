"""Trains an agent, as a command line without a word does."""

import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from config.program import PROGRAM
from config.system.terminal import quoted
from config.tell.language import tr
from framework.commands.line import settings, shared, start
from framework.commands.line.parser import Parser
from framework.runs import supervisor_pipe

if TYPE_CHECKING:
    from config.read.run_config import RunConfig

HELP = {"train ...": tr("the same without the word")}
ABOUT = tr(
    "Train or test a reinforcement learning agent. Settings come from the Python\n"
    "defaults, then the YAML file, then section.key=value; sections are general_cfg,\n"
    "algo_cfg and env_cfg, and policies_cfg for several agents."
)
REFUSED = {
    "--steps": tr(
        "--steps is for evaluate; training ends at general_cfg.max_total_step=VALUE, or after VALUE "
        "iterations of RLlib with --stop '{\"training_iteration\": VALUE}'"
    ),
}


def flags(parser: Parser) -> None:
    shared.add_experiments(parser)
    shared.add(parser, "--env")
    parser.value("--resume", "TASK", tr("the same as: resume TASK"))
    parser.value("--test", "TASK", tr("the same as: test TASK"))
    shared.add(parser, "--video")
    shared.add(parser, "--model", tr("with test, film, evaluate, export: "))
    shared.add(parser, "--episodes", tr("with test, film, evaluate: "))
    shared.add(parser, "--seeds --jobs --into")
    shared.add_training(parser)
    shared.add_settings(parser, "--print-config --profile --dry-run")
    parser.usage = tr("{program} [command] [--yaml FILE] [options] [section.key=value ...]", program=PROGRAM)
    parser.description = ABOUT


def check(request: Namespace) -> Iterator[str]:
    if request.resume:
        yield from settings.refusals(request, settings.OF_RESUME)
    if request.test:
        yield from settings.refusals(request, settings.OF_TEST)
    if request.seeds:
        yield from settings.refusals(request, settings.OF_ONE_RUN)
    yield from settings.twice(request)
    if request.episodes and not request.test:
        yield tr(
            "--episodes is for test, film and evaluate; training ends at general_cfg.max_episode={episodes}",
            episodes=request.episodes,
        )
    if request.model is not None and not request.test:
        yield tr("--model is for test, film and evaluate; another start of training is general_cfg.load_model_step")
    yield from settings.abbreviations(request)
    if request.seeds:
        request.overrides.append(f"general_cfg.seed={request.seeds[0]}")  # what is checked or shown is the first run


def run(request: Namespace) -> int:
    """Trains once, or for each experiment and each seed; tests with --test, and goes on with --resume."""
    if request.keep_alive and not (request.print_config or request.dry_run):
        from framework.commands.work import keep_alive

        return keep_alive.run(request)
    supervisor_pipe.connect()

    def work(configs: "Mapping[str, RunConfig]") -> int:
        from framework.commands.work import entry

        if len(configs) == 1 and not request.seeds:
            [config] = configs.values()
            return entry.run(config, request.command_line)
        from framework.jobs import many_runs

        every = dict.fromkeys(word for name in configs for word in name.split())
        title = Path(request.yaml).stem if request.yaml else "_".join(every)
        words = title, request.command_line, request.seeds, request.jobs
        return entry.guarded(lambda: many_runs.begin(configs, *words, entry.check_training)[1])

    if request.resume:
        for resume in (_resume_tuning, _resume_group):
            if (status := resume(request)) is not None:
                return status
    return start.several(request, work)


def _resume_tuning(request: Namespace) -> int | None:
    """Goes on with a tuning. Returns None if none is named."""
    from config.read import tasks
    from framework.commands import tune

    if not tasks.tuning_named(request.resume, Path("tasks")):
        return None
    if problems := [*tune.check(request)]:
        print(*problems, sep="\n", file=sys.stderr)
        return 2
    return tune.run(Namespace(**{**dict.fromkeys(("samples", "algo", "env", "into", "yaml")), **vars(request)}))


def _resume_group(request: Namespace) -> int | None:
    """Goes on with a group of runs. Returns None if no group is named."""
    from config.read import tasks
    from config.read.loader import ConfigError
    from config.read.paths import as_written
    from config.read.stores import StoreError, bring, is_url
    from framework.archive.members import of_group
    from framework.catalog import ALGOS, ENVS
    from framework.jobs import members

    if is_url(request.resume):
        try:
            request.resume = str(
                as_written(bring(request.resume, Path("tasks"), go_on=True, take_over=request.take_over))
            )
        except StoreError as error:
            return start.nothing_started(ConfigError(str(error)))
    folder = tasks.group_named(request.resume, Path("tasks"))
    if folder is None:
        return None
    if problems := [*settings.refusals(request, settings.OF_GROUP)]:
        return start.nothing_started(ConfigError(*problems))
    every, longer = of_group(folder), members.are_limits(request.overrides)
    if not every:
        return start.nothing_started(ConfigError(members.why_unknown(folder)))
    if line := members.without_effect(folder, every[0], request.overrides):
        return start.nothing_started(ConfigError(line))
    if not (unfinished := every if longer else members.unfinished(folder)):
        line = tr(
            "{name!r}: all of its runs have finished; to train them further, give a higher limit: {command}",
            name=request.resume,
            command=f"{PROGRAM} resume {quoted(request.resume)} general_cfg.{members.limit(folder, every[0])}=N",
        )
        return start.nothing_started(ConfigError(line))
    options = {"find_algo": ALGOS, "find_env": ENVS, "allow_import": request.allow_import}
    try:
        runs = members.with_settings(folder, unfinished, request.overrides, **options)
    except ConfigError as error:
        return start.nothing_started(error)
    if request.print_config or request.dry_run:
        first, config = next(iter(runs.items()))
        names = tr(", ").join(member.folder for member in runs)
        line = tr("resume goes on with {count} of {all} runs: {names}; this is {first}",
                  count=len(runs), all=len(every), names=names, first=first.folder)  # fmt: skip
        print(line, file=sys.stderr)
        return start.show(request, "", config)
    from framework.commands.work.entry import check_training, guarded
    from framework.jobs import many_runs

    words = request.overrides, request.command_line
    return guarded(lambda: many_runs.resume(runs, folder, *words, request.jobs, check_training)[1])
