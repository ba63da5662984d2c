"""Train or test an agent: python main.py --yaml FILE. Heavy packages are imported only once the config is valid."""

import argparse
import json
import os
import sys

from config import cli
from config.pipes import reader_has_gone

REQUIRED = {"gymnasium", "matplotlib", "numpy", "PIL", "pydantic", "rich", "safetensors", "torch", "yaml"}


def main(argv: list[str] | None = None) -> int:
    """The exit status: 0; 2 where a line says what is wrong, of the command, the configuration, or what ended the run;
    1 where a run of --seeds failed."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # A console may lack a character; that is no reason to stop.
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
        reader_has_gone()
        return 0


def _answer(argv: list[str]) -> int:
    request = cli.parse(argv)
    return _run(request, argv) if request.command == "run" else _look_up(request)


def _look_up(request: argparse.Namespace) -> int:
    from config import describe, json_schema
    from framework.catalog import ALGOS, ENVS

    try:
        if request.command == "schema":
            print(json.dumps(json_schema.schema(ALGOS, ENVS), indent=1))
        elif request.command == "list":
            print(describe.listing(request.what, ALGOS, ENVS), end="")
        else:
            print(describe.describe(request.what, ALGOS, ENVS), end="")
    except describe.UnknownTopic as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _run(request: argparse.Namespace, argv: list[str]) -> int:
    from config.loader import ConfigError, load
    from framework.catalog import ALGOS, ENVS

    if request.allow_import:
        sys.path.append(os.getcwd())
    flags = {name: getattr(request, name) for name in ("algo", "env", "resume", "into", "allow_import")}
    try:
        config = load(request.yaml, request.overrides, find_algo=ALGOS, find_env=ENVS, **flags)
    except ConfigError as error:
        print(error, f"Nothing was started: {len(error.problems)} to mend.", sep="\n", file=sys.stderr)
        return 2
    if request.print_config or request.dry_run:  # A run says its notes itself, and logs them.
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
