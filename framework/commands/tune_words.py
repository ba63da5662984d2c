"""Flags of `python main.py tune`, and what excludes them."""

import argparse
from collections.abc import Iterator

from config.read import arguments

REFUSED = (
    "test", "video", "seeds", "pause_at_step", "no_evaluation", "model", "episodes", "steps", "out", "config",
    "stop", "checkpoint_freq",
)  # fmt: skip
"""Flags of a run that tuning does not take."""
SETTINGS = ("samples", "jobs")
"""Flags that are settings of tune_cfg."""
OF_A_NEW_ONE = ("yaml", "algo", "env", "into", "samples", "overrides")
"""Flags of which a tuning that is continued has its own values."""

WHERE = "tune_cfg.ray_address"
"""Setting that no tuning has of its own."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Adds the flags of tune to those of a run."""
    parser.set_defaults(command="tune")
    parser.add_argument("--samples", metavar="N", type=arguments.count, help="tune: tune_cfg.samples")


def problems(request: argparse.Namespace) -> Iterator[str]:
    """Yields what is wrong with the flags of tune."""
    for name in REFUSED:
        if getattr(request, name, None):
            yield f"tune trains the runs of a file; leave out --{name.replace('_', '-')}"
    keys = {word.partition("=")[0].strip() for word in request.overrides}
    if request.resume:
        extra = [name for name in OF_A_NEW_ONE if getattr(request, name, None)]
        if extra and not (extra == ["overrides"] and keys == {WHERE}):
            named = [f"settings but {WHERE}" if name == "overrides" else f"--{name}" for name in extra]
            yield f"--resume continues a tuning with its own settings; leave out {', '.join(named)}"
    elif not request.yaml:
        yield "tune needs a file with values to try: --yaml FILE; or --resume FOLDER"
    for name in SETTINGS:
        if getattr(request, name, None) and f"tune_cfg.{name}" in keys:
            yield f"--{name} and tune_cfg.{name} are the same setting; leave one of them out"
