"""Trains a run further, in its own folder, or what is left of a group of runs."""

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from framework.commands.line import settings, shared, start
from framework.commands.line.parser import Parser

HELP = "resume NAME [section.key=value]  train it further\n"
REFUSED = settings.OF_RESUME


def flags(parser: Parser) -> None:
    parser.named = "resume"
    shared.add(parser, "--yaml --video --jobs")
    shared.add_training(parser)
    shared.add_settings(parser, "--print-config --profile --dry-run")


def check(request: Namespace) -> Iterator[str]:
    yield from settings.twice(request)
    yield from settings.abbreviations(request)


def run(request: Namespace) -> int:
    """Goes on with a run, or with a group of runs that have not all finished."""
    status = run_group(request)
    return start.run(request) if status is None else status


def run_group(request: Namespace) -> int | None:
    """Goes on with a group of runs. Returns None if no group is named, or all of its runs have finished."""
    from config.read import tasks
    from config.read.loader import ConfigError
    from framework.catalog import ALGOS, ENVS
    from framework.jobs import members

    folder = tasks.group_named(request.resume, Path("tasks"))
    unfinished = members.unfinished(folder) if folder and not (request.print_config or request.dry_run) else []
    if folder is None or not unfinished:
        return None
    options = {"find_algo": ALGOS, "find_env": ENVS, "allow_import": request.allow_import}
    try:
        runs = members.with_settings(folder, unfinished, request.overrides, **options)
    except ConfigError as error:
        return start.nothing_started(error)
    from framework.commands.work.entry import check_training, guarded
    from framework.jobs import many_runs

    words = request.overrides, request.command_line
    return guarded(lambda: many_runs.resume(runs, folder, *words, request.jobs, check_training))
