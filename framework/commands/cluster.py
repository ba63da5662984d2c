"""Prints what a batch system needs to train with these words: a script for SLURM, or a file for Kubernetes."""

import argparse
import re
from collections.abc import Callable, Iterator
from typing import Any

from config.read import arguments
from config.tell.language import either, tr
from framework.commands.line import settings, shared, start
from framework.commands.line.parser import Parser

HELP = {
    "cluster slurm --time H:M:S": tr("print a script for SLURM"),
    "cluster kuberay --image NAME": tr("print a Job or a RayJob"),
}
REFUSED = {
    "--resume --test": tr("cluster prints a new training; to continue an old one in a job: --into its folder"),
    "": tr("cluster trains in a batch job; leave out FLAG"),
}
OF_SLURM = ("time", "partition", "account", "qos", "setup")
OF_KUBERNETES = ("image", "volume", "namespace", "retries")
"""Flags of one system, which another one has not."""
SYSTEMS = {"slurm": OF_SLURM, "kuberay": OF_KUBERNETES, "kubernetes": OF_KUBERNETES}
"""Batch system -> its own flags; the two last names mean the same."""
WARNING_SECONDS = 120
"""Seconds that a run has to save before it is ended."""
EARLIER_SECONDS = 60
"""Seconds by which SLURM may send a signal too early."""


def flags(parser: Parser) -> None:
    # needed, but where it is missing, argparse would say that settings are, too
    parser.add_argument("system", nargs="?", choices=[*SYSTEMS], help=tr("the batch system"))
    shared.add_experiments(parser)
    shared.add(parser, "--env --seeds --jobs --into")
    shared.add_training(parser)
    own: dict[str, tuple[str, str, Callable[[str], Any]]] = {
        "--name": ("NAME", tr("name of the job"), _word),
        "--cpus": ("N", tr("CPUs of each node (by default one for each process)"), arguments.count),
        "--gpus": ("N", tr("GPUs of each node (none)"), arguments.count),
        "--memory": ("8G", tr("memory of each node (8G)"), _memory),
        "--nodes": ("N", tr("nodes; several need general_cfg.mp_backend=ray"), arguments.count),
        "--warning": ("S", tr("seconds for saving before the end ({seconds})", seconds=WARNING_SECONDS), _seconds),
        "--time": ("4:00:00", tr("slurm: longest time of a job; it goes on in the next one"), _time),
        "--partition": ("NAME", tr("slurm: partition"), _word),
        "--account": ("NAME", tr("slurm: account"), _word),
        "--qos": ("NAME", tr("slurm: quality of service"), _word),
        "--setup": ("LINE", tr("slurm: a line before the training, such as 'module load cuda'"), arguments.text),
        "--image": ("NAME", tr("kuberay: container image (Containerfile makes one)"), arguments.text),
        "--volume": ("CLAIM", tr("kuberay: claim of the volume that tasks/ is on"), _word),
        "--namespace": ("NAME", tr("kuberay: namespace"), _word),
        "--retries": ("N", tr("kuberay: lost pods that are replaced (6)"), arguments.count),
    }
    for flag, (metavar, text, kind) in own.items():
        parser.value(flag, metavar, text, kind)
    shared.add_settings(parser, "")


def check(request: argparse.Namespace) -> Iterator[str]:
    if request.system is None:
        yield tr("cluster needs a batch system: {systems}", systems=either(tuple(SYSTEMS)))
        return
    yield from settings.twice(request)
    yield from settings.abbreviations(request)
    if request.seeds:
        yield from settings.refusals(request, settings.OF_ONE_RUN)
    for system, names in SYSTEMS.items():
        for name in names:
            if name not in SYSTEMS[request.system] and getattr(request, name):
                yield tr("--{flag} is for: cluster {system}; leave it out", flag=name, system=system)
    yield from _missing(request)


def _missing(request: argparse.Namespace) -> Iterator[str]:
    """Yields what a system needs."""
    if request.system == "slurm":
        if request.time is None:
            yield tr("cluster slurm needs the longest time of a job, such as --time 4:00:00")
        elif request.time <= EARLIER_SECONDS + 2 * (warning := request.warning or WARNING_SECONDS):
            yield tr(
                "--time is {seconds} s, and SLURM warns {warning} s before the end, or up to {earlier} s earlier: a "
                "job would hardly train; use a longer --time, or a shorter --warning",
                seconds=request.time,
                warning=warning,
                earlier=EARLIER_SECONDS,
            )
    elif not request.image:
        yield tr("cluster {system} needs --image NAME, a container image with this program", system=request.system)
    if request.jobs and not request.seeds:
        yield tr("--jobs is the number of jobs of --seeds at once; add --seeds, or leave it out")


run = start.worker("cluster")


def _seconds(text: str) -> int:
    return arguments.count(text, 10)


def _word(text: str) -> str:
    """Returns a name that needs no quotes in a line of a script."""
    if not re.fullmatch(r"[\w.,:@/-]+", text, re.ASCII):
        raise arguments.InvalidArgument("invalid name {text!r}: use letters, digits and . , : @ / - _", text=text)
    return text


def _memory(text: str) -> str:
    if not re.fullmatch(r"[1-9][0-9]{0,6}[MGT]", text):
        raise arguments.InvalidArgument("invalid memory {text!r}: use a number with M, G or T: 8G", text=text)
    return text


def _time(text: str) -> int:
    """Returns the seconds of a time as SLURM reads it: minutes, M:S, H:M:S, D-H, D-H:M or D-H:M:S."""
    match = re.fullmatch(r"(?:(\d{1,3})-)?(\d{1,6})(?::(\d{1,2}))?(?::(\d{1,2}))?", text)
    if match is None:
        raise arguments.InvalidArgument(
            "invalid time {text!r}: use HOURS:MINUTES:SECONDS, or DAYS-HOURS:MINUTES:SECONDS", text=text
        )
    days, *parts = match.groups()
    first, second, third = (int(part or 0) for part in parts)
    if days is not None or match[4] is not None:
        return int(days or 0) * 86400 + first * 3600 + second * 60 + third
    return first * 60 + second
