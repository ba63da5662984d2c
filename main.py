"""Trains or tests an agent: python main.py --yaml FILE. Imports heavy packages only once the config is valid."""

import argparse
import json
import os
import sys

from config import cli
from framework.errors import silence

REQUIRED = {"gymnasium", "matplotlib", "numpy", "PIL", "pydantic", "rich", "safetensors", "torch", "yaml"}


def main(argv: list[str] | None = None) -> int:
    """Returns the exit status: 0; 2 for a wrong command or configuration, or an error that ended the run; 1 if a run
    of --seeds failed."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a console may lack a character
    try:
        try:
            return _answer(sys.argv[1:] if argv is None else argv)
        finally:
            if sys.stdout:
                sys.stdout.flush()
    except ModuleNotFoundError as error:
        if error.name not in REQUIRED:
            raise
        print(f"{error.name} is not installed here: make run, or pip install -r requirements.txt", file=sys.stderr)
        return 2
    except BrokenPipeError:
        silence(sys.stdout)
        return 0


def _answer(argv: list[str]) -> int:
    request = cli.parse(argv, _setting_of)
    if request.allow_import:
        sys.path.append(os.getcwd())
    return _run(request, argv) if request.command == "run" else _look_up(request)


def _setting_of(name: str) -> str | None:
    """Returns section.key for the name of a setting; asked only for a word that is not understood."""
    from config.hints import setting_of
    from framework.catalog import ALGOS, ENVS

    return setting_of(name, ALGOS, ENVS)


def _look_up(request: argparse.Namespace) -> int:
    from config import describe, json_schema
    from config.loader import ConfigError
    from framework.catalog import ALGOS, ENVS

    try:
        if request.command == "schema":
            print(json.dumps(json_schema.schema(ALGOS, ENVS), indent=1))
        elif request.command == "convert":
            from config import convert

            print(convert.converted(request.file, ALGOS, ENVS), end="")
        elif request.command == "runs":
            from framework.runs import task_list

            print(task_list.as_json(request.filter) if request.json else task_list.listing(request.filter), end="")
        elif request.command == "list":
            print(describe.listing(request.what, ALGOS, ENVS, wanted=request.filter), end="")
        else:
            print(describe.describe(request.what, ALGOS, ENVS, request.allow_import), end="")
    except (describe.UnknownTopic, ConfigError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _run(request: argparse.Namespace, argv: list[str]) -> int:
    from config.loader import ConfigError, load
    from framework.catalog import ALGOS, ENVS

    names = ("algo", "env", "resume", "test", "video", "into", "allow_import")
    flags = {name: getattr(request, name) for name in names}
    try:
        config = load(request.yaml, request.overrides, find_algo=ALGOS, find_env=ENVS, **flags)
    except ConfigError as error:
        count = len(error.problems)
        fix = "Fix the problem above." if count == 1 else f"Fix the {count} problems above."
        print(error, f"Nothing was started. {fix}", sep="\n", file=sys.stderr)
        return 2
    if request.print_config or request.dry_run:  # a run prints its notes itself, and logs them
        for note in config.notes:
            print(note, file=sys.stderr)
        if request.seeds:
            print(f"--seeds: {len(request.seeds)} runs; this is the one with seed {request.seeds[0]}", file=sys.stderr)
    if request.print_config:
        print(config.to_yaml(), end="")
        return 0
    if request.seeds and not request.dry_run:
        from framework.runs.entry import run_seeds

        return run_seeds(config, argv, request.seeds, request.jobs)
    from framework.runs.entry import dry_run, run

    return dry_run(config) if request.dry_run else run(config, argv)


if __name__ == "__main__":
    sys.exit(main())
