"""Tries values of settings, and looks for the best."""

import sys
from argparse import Namespace
from collections.abc import Iterator

from config.read import arguments, presets
from config.tell.language import tr
from framework.commands.line import settings, shared, start
from framework.commands.line.parser import Parser

HELP = {
    "tune --yaml FILE [--samples N] [--jobs N] | --resume NAME": tr(
        "try settings, such as\n    algo_cfg: {lr: {log: [1e-4, 1e-2]}, gamma: {grid: [0.9, 0.99]}}"
    ),
}
REFUSED = {"": tr("tune trains the runs of a file; leave out FLAG")}
SETTINGS = ("samples", "jobs")
"""Flags that are settings of tune_cfg."""
CONTINUED = ("word", "command_line", "abbreviated", "resume", "jobs", "print_config", "dry_run", "allow_import")
"""Attributes that the request of a continued tuning may have; for all others the tuning has its own values."""
NO_PRESET = ("none", "null", "~")
"""Words for a run without a preset, which leave a tuning without a file."""
WHERE = "tune_cfg.ray_address"
"""Setting that no tuning has of its own."""


def flags(parser: Parser) -> None:
    shared.add_experiments(parser)
    shared.add(parser, "--env")
    parser.value("--resume", "NAME", tr("the same as: resume NAME"))
    parser.value("--samples", "N", "tune_cfg.samples", arguments.count)
    shared.add(parser, "--jobs --into")
    shared.add_settings(parser)


def check(request: Namespace) -> Iterator[str]:
    keys = settings.keys(request)
    if request.resume:
        extra = [name for name, value in vars(request).items() if value and name not in CONTINUED]
        if extra and not (extra == ["overrides"] and keys == {WHERE}):
            named = [
                tr("settings but {setting}", setting=WHERE) if name == "overrides" else f"--{name.replace('_', '-')}"
                for name in extra
            ]
            yield tr("--resume continues a tuning with its own settings; leave out {flags}", flags=", ".join(named))
    elif several := next((text for text in (request.algo, request.env) if "," in (text or "")), ""):
        yield tr(
            "{several}: tune tries values for one algorithm in one environment; tune each by itself (training takes "
            "several)",
            several=several,
        )
    elif not request.yaml:
        word = "general_cfg.preset="
        names = [text.removeprefix(word) for text in request.overrides if text.startswith(word)]
        preset = presets.by_name(names[-1]) if names and request.algo and request.env else None
        if not names or names[-1].lower() not in NO_PRESET:
            request.yaml = preset or presets.find(request.algo or "", request.env or "")
        if not request.yaml:
            yield tr(
                "tune needs a file with values to try: --yaml FILE; or --algo and --env that have a preset, with "
                "values such as {example}; or --resume NAME",
                example="'algo_cfg.lr={log: [1e-4, 1e-2]}'",
            )
    for name in SETTINGS:
        if getattr(request, name, None) and f"tune_cfg.{name}" in keys:
            yield tr("--{name} and tune_cfg.{name} are the same setting; leave one of them out", name=name)
    yield from settings.twice(request)


def run(request: Namespace) -> int:
    """Tunes, or shows what a tuning would be."""
    from config.read import tuning
    from config.read.loader import ConfigError
    from config.read.paths import fixed
    from framework.catalog import ALGOS, ENVS

    options = {"find_algo": ALGOS, "find_env": ENVS, "allow_import": request.allow_import}
    values = {name: getattr(request, name) for name in ("samples", "jobs", "algo", "env")}
    try:
        folder = tuning.folder_named(request.resume) if request.resume else None
        read, source = (tuning.continued, folder) if folder else (tuning.from_file, request.yaml)
        plan = read(source, request.overrides, values, into=request.into, **options)
    except ConfigError as error:
        return start.nothing_started(error)
    from framework.commands.work.entry import check_training, guarded
    from framework.jobs import dry_run, session
    from framework.screen.terminal import choose

    if request.print_config or request.dry_run:
        return guarded(lambda: (dry_run.settings if request.print_config else dry_run.describe)(plan, check_training))
    place, screen = fixed(folder) if folder else None, choose(sys.stdout)
    return guarded(lambda: session.run(plan, check_training, screen, request.command_line, place)[1])
