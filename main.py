"""Trains or tests an agent: python main.py --yaml FILE. Imports heavy packages only once the config is valid."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from config.own import trust
from config.program import PROGRAM
from config.read import arguments
from framework.commands import cli
from framework.errors import silence

if TYPE_CHECKING:
    from config.read.loader import ConfigError
    from config.read.run_config import RunConfig

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
    trust.ask_on_terminal()
    if request.allow_import:
        sys.path.append(os.getcwd())
    if request.command == "doctor":
        from framework.commands import doctor

        return doctor.run()
    if request.command == "watch":
        from framework.commands import entry

        return entry.watch(request.folder, request.port, request.open)
    if request.command == "tune":
        return _tune(request, argv)
    return (
        _run(request, argv) if request.command in ("run", "evaluate", "export", "talk", "bench") else _look_up(request)
    )


def _setting_of(name: str, algo: str) -> tuple[str, str] | None:
    """Returns section.key for the name of a setting, or of several that it sets at once, and a remark; asked only for
    a word that is not understood."""
    from config.foreign.hints import setting_of
    from config.foreign.names import all_at_once
    from framework.catalog import ALGOS, ENVS

    path, remark = setting_of(name, ALGOS, ENVS, algo) or ("", "")
    return (all_at_once(name, path, ALGOS, algo), remark) if path or remark else None


def _look_up(request: argparse.Namespace) -> int:
    from config.read.loader import ConfigError
    from config.tell import describe, json_schema
    from framework.catalog import ALGOS, ENVS

    try:
        if request.command == "schema":
            print(json.dumps(json_schema.schema(ALGOS, ENVS), indent=1))
        elif request.command in ("data", "compare") or getattr(request, "target", None):
            from framework.commands import entry

            command: Callable[[argparse.Namespace], int] = getattr(entry, request.command)
            return command(request)
        elif request.command == "convert":
            from config.foreign import convert

            words = {"name": getattr(request, "name", None) or "", "algo": request.algo, "env": request.env}
            print(convert.converted(request.file, ALGOS, ENVS, **words), end="")
        elif request.command == "trust":
            return _trust(request.forget)
        elif request.command == "runs":
            from framework.archive import task_list

            print(task_list.as_json(request.filter) if request.json else task_list.listing(request.filter), end="")
        elif request.command == "list":
            print(describe.listing(request.what, ALGOS, ENVS, wanted=request.filter), end="")
        else:
            print(describe.describe(request.what, ALGOS, ENVS, request.allow_import), end="")
    except (describe.UnknownTopic, ConfigError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _trust(forget: str | None) -> int:
    """Lists the folders whose code settings may name, or removes one."""
    try:
        if forget is None:
            print(trust.listing(), end="")
        elif not trust.forget(Path(forget)):
            print(f"{Path(forget).resolve()} is not trusted; {PROGRAM} trust lists what is", file=sys.stderr)
            return 2
        else:
            print(f"{Path(forget).resolve()} is not trusted any more")
    except trust.TrustError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


FLAGS = ("algo", "env", "resume", "test", "video", "into", "pause_at_step", "no_evaluation", "allow_import", "config",
         "stop", "checkpoint_freq", "episodes", "model", "word", "abbreviated", "of_rllib")  # fmt: skip
"""Flags that become settings."""


def _run(request: argparse.Namespace, argv: list[str]) -> int:
    from config.foreign.experiments import load_all
    from config.read.loader import ConfigError
    from framework.catalog import ALGOS, ENVS

    if request.resume and (status := _resume_group(request, argv)) is not None:
        return status
    flags = {name: getattr(request, name) for name in FLAGS}

    def configured(words: Sequence[str] = ()) -> "dict[str, RunConfig]":
        return load_all(request.yaml, [*request.overrides, *words], find_algo=ALGOS, find_env=ENVS, **flags)

    try:
        configs = configured()
        if problem := _unfit(request, len(configs)):
            raise ConfigError([problem])
    except ConfigError as error:
        return _nothing_started(error)
    if request.seeds and (hint := arguments.one_seed(request.seeds)):
        print(hint, file=sys.stderr)
    if request.print_config or request.dry_run:
        return max(_show(request, name, config) for name, config in configs.items())
    if request.command == "bench":
        from framework.commands.entry import bench

        def one(words: Sequence[str]) -> "RunConfig":
            [config] = configured(words).values()
            return config

        return bench(one, request)
    return _start(request, configs, argv)


def _resume_group(request: argparse.Namespace, argv: list[str]) -> int | None:
    """Goes on with a group of runs that have not all finished. Returns None if nothing like it is named."""
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
        return _nothing_started(error)
    from framework.commands import entry

    return entry.resume_group(runs, folder, request.overrides, argv, request.jobs)


def _nothing_started(error: "ConfigError") -> int:
    """Prints what is wrong with a configuration. Returns the exit status."""
    count = len(error.problems)
    fix = "Fix the problem above." if count == 1 else f"Fix the {count} problems above."
    print(error, f"Nothing was started. {fix}", sep="\n", file=sys.stderr)
    return 2


def _tune(request: argparse.Namespace, argv: list[str]) -> int:
    from config.read.loader import ConfigError
    from config.read.paths import fixed
    from config.tune import section as tuning
    from framework.catalog import ALGOS, ENVS

    options = {"find_algo": ALGOS, "find_env": ENVS, "allow_import": request.allow_import}
    flags = {name: getattr(request, name) for name in ("samples", "jobs", "algo", "env")}
    folder = Path(request.resume) if request.resume else None
    try:
        read, place = (tuning.continued, folder) if folder else (tuning.from_file, request.yaml)
        asked = read(place, request.overrides, flags, into=request.into, **options)
    except ConfigError as error:
        return _nothing_started(error)
    from framework.commands import entry

    if request.print_config or request.dry_run:
        return entry.describe_tuning(asked, request.print_config)
    return entry.tune(asked, argv, fixed(folder) if folder else None)


def _start(request: argparse.Namespace, configs: "dict[str, RunConfig]", argv: list[str]) -> int:
    from framework.commands import entry

    if len(configs) > 1 or request.seeds:
        title = Path(request.yaml).stem if request.yaml else "_".join(configs)
        return entry.run_group(configs, title, argv, request.seeds, request.jobs)
    [config] = configs.values()
    if request.command == "evaluate":
        return entry.evaluate(config, request.steps, request.out)
    if request.word == "film":
        return entry.film(config, argv, request.worst, request.grid, request.episode)
    if request.command == "export":
        return entry.export(config, request.to, request.policy, request.out)
    if request.command == "talk":
        return entry.talk(config, request.record)
    return entry.run(config, argv)


def _unfit(request: argparse.Namespace, runs: int) -> str:
    """Returns which flag does not fit the number of experiments in the file; empty if all do."""
    if runs > 1 and (request.test or request.resume or request.command == "bench"):
        what = request.yaml or f"--algo {request.algo}"
        return f"{what} has {runs} experiments; leave out bench, --test and --resume, or name one"
    if runs == 1 and request.jobs and not request.seeds:
        return "--jobs is the number of runs at once; it needs --seeds, or several experiments"
    return ""


def _show(request: argparse.Namespace, name: str, config: "RunConfig") -> int:
    """Answers --print-config and --dry-run. A run prints its notes itself, and logs them."""
    for note in config.notes:
        print(note, file=sys.stderr)
    if request.seeds and len(request.seeds) > 1:
        print(f"--seeds: {len(request.seeds)} runs; this is the one with seed {request.seeds[0]}", file=sys.stderr)
    if name:
        print(f"# experiment {name}")
    if request.print_config:
        print(config.to_yaml(), end="")
        return 0
    from framework.commands.entry import dry_run

    return dry_run(config)


if __name__ == "__main__":
    sys.exit(main())
