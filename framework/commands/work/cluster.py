"""Training of a batch job and the machines that it needs, printed for SLURM (slurm.py) or Kubernetes."""

import argparse
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from config.config import GeneralConfig
from config.program import PROGRAM
from config.read.loader import ConfigError
from config.read.run_config import RunConfig
from config.tell.language import tr
from framework.commands import cluster
from framework.commands.line import start
from framework.commands.work import kubernetes, slurm
from framework.commands.work.batch_job import Job

PRINTERS = {"slurm": slurm.script, "kuberay": kubernetes.manifest, "kubernetes": kubernetes.manifest}
OWN = {
    *("--name", "--cpus", "--gpus", "--memory", "--nodes", "--warning", "--seeds", "--jobs", "--into", "--setup"),
    *(f"--{name}" for names in cluster.SYSTEMS.values() for name in names),
}
"""Flags that are no words of the training, each with a value."""
AUTO = "general_cfg.device=auto"


def run(request: argparse.Namespace) -> int:
    """Prints what the batch system gets. Returns the exit status."""
    try:
        config, device = _configured(request)
        job = _job(request, config, device)
        if problems := list(_unfit(request, job, config.general)):
            raise ConfigError(*problems)
        text = PRINTERS[request.system](job)
    except ConfigError as error:
        print(error, tr("Nothing was printed. Fix the problem above."), sep="\n", file=sys.stderr)
        return 2
    print(text, end="")
    return 0


def _configured(request: argparse.Namespace) -> tuple[RunConfig, str]:
    """Returns the settings of the training, and its device. Where the command is typed, on the login node of a cluster,
    there may be no GPU."""
    try:
        configs = start.configured(request)
        config = next(iter(configs.values()))
        device = config.general.device if "general_cfg.device" in config.explicit else "auto"
    except ConfigError as error:
        words = [word for word in request.overrides if not word.startswith("general_cfg.device=")]
        try:
            configs = start.configured(argparse.Namespace(**{**vars(request), "overrides": words}), [AUTO])
        except ConfigError:
            raise error from None
        device = "cuda"
    if len(configs) > 1:
        names = ", ".join(configs)
        raise ConfigError("a job trains one experiment; print a script for each of: {names}", names=names)
    return next(iter(configs.values())), device


def _job(request: argparse.Namespace, config: RunConfig, device: str) -> Job:
    general = config.general
    ray = general.mp_backend == "ray"
    processes = general.n_workers + general.n_learners + 1 if ray else 2
    nodes = request.nodes or 1
    words = [*_training_words(request.command_line[1:])]
    if request.gpus and device == "auto":  # a node whose GPU is missing or broken ends the job, and not the patience
        words = [*(word for word in words if not word.startswith("general_cfg.device=")), "general_cfg.device=cuda"]
    return Job(
        request.name or re.sub(r"[^A-Za-z0-9.-]+", "-", f"{config.algorithms}-{config.env_id}").strip("-.")[:50],
        tuple(words),
        Path(request.yaml) if request.yaml else None,
        tuple(request.seeds or ()),
        request.jobs,
        request.into,
        ray,
        general.n_workers,
        nodes,
        request.cpus or -(-processes // nodes),
        request.gpus or 0,
        device,
        request.memory or "8G",
        request.warning or cluster.WARNING_SECONDS,
        f"{PROGRAM} {shlex.join(request.command_line)}".replace("\n", " "),
        request,
    )


def _training_words(argv: Sequence[str]) -> Iterator[str]:
    """Yields the words of a command line that belong to the training, without the name of the batch system."""
    words, named = iter(argv), False
    for word in words:
        flag, equals, _ = word.partition("=")
        if flag in OWN:
            if not equals:
                next(words, None)
        elif word in cluster.SYSTEMS and not named:
            named = True
        elif word != "--keep-alive":  # which is always there
            yield word


def _unfit(request: argparse.Namespace, job: Job, general: GeneralConfig) -> Iterator[str]:
    """Yields what of the training and of the machines does not fit together."""
    if general.mode == "test":
        yield tr("general_cfg.mode=test plays; a job trains")
    if job.nodes > 1 and not job.ray:
        yield tr("one process trains on one node; --nodes {nodes} needs general_cfg.mp_backend=ray", nodes=job.nodes)
    if general.ray_address:
        yield tr("the job starts a Ray of its own; leave out general_cfg.ray_address")
    if job.device == "cpu" and job.gpus:
        yield tr("--gpus {gpus}: general_cfg.device=cpu uses none; leave out --gpus, or set device=cuda", gpus=job.gpus)
    if job.device.startswith("cuda") and not job.gpus:
        yield tr("general_cfg.device={device} needs a GPU: add --gpus 1", device=job.device)
    is_cluster = job.nodes > 1 or request.system != "slurm"  # on one node of SLURM, a run starts a Ray of its own
    if job.ray and is_cluster and general.n_workers + general.n_learners > job.nodes * job.cpus:
        yield tr(
            "{workers} workers and {learners} learners need as many CPUs, and {nodes} nodes of {cpus} have {have}; use "
            "a larger --cpus or --nodes",
            workers=general.n_workers,
            learners=general.n_learners,
            nodes=job.nodes,
            cpus=job.cpus,
            have=job.nodes * job.cpus,
        )
