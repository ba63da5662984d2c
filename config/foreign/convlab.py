"""The flags of ConvLab-2's training scripts: --batchsz B --epoch E --process_num P."""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from config import arguments

Abbreviated = tuple[str, str, Any]
"""Flag, the setting section.key that it stands for, and its value."""

HELP = {
    "batchsz": ("B", "as in ConvLab-2: algo_cfg.batch_size"),
    "epoch": ("E", "as in ConvLab-2: general_cfg.max_total_step, E times B"),
    "process_num": ("P", "as in ConvLab-2: above 1, as many workers of Ray"),
}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Adds the flags to those of a run."""
    for name, (metavar, text) in HELP.items():
        parser.add_argument(f"--{name}", metavar=metavar, type=arguments.count, help=text)


def problems(request: argparse.Namespace) -> Iterator[str]:
    """Yields what is wrong with the flags beside the other words."""
    if request.epoch and not request.batchsz:
        limits = "general_cfg.max_total_step=STEPS or general_cfg.max_iteration=N"
        yield f"--epoch E is E windows of --batchsz B; give both, or {limits}"
    keys = {word.partition("=")[0].strip() for word in request.overrides}
    for flag, path, value in settings(request):
        if path in keys:
            yield f"{flag} sets {path}={value}; leave out one of the two"
        elif request.test:
            yield f"{flag} is for training; a test has the settings of its run"


def settings(request: argparse.Namespace) -> list[Abbreviated]:
    """Returns what the given flags stand for."""
    given: list[Abbreviated] = []
    if request.batchsz:
        given.append(("--batchsz", "algo_cfg.batch_size", request.batchsz))
    if request.batchsz and request.epoch:
        given.append(("--epoch", "general_cfg.max_total_step", request.batchsz * request.epoch))
    if (request.process_num or 1) > 1:
        given.append(("--process_num", "general_cfg.mp_backend", "ray"))
        given.append(("--process_num", "general_cfg.n_workers", request.process_num))
    return given


def note(given: Sequence[Abbreviated]) -> str:
    """Returns a line that lists what the flags set; empty without any."""
    return "; ".join(f"{flag} sets {path}={value}" for flag, path, value in given)
