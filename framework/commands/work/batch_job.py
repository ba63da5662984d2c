"""A training in a batch job: its words, and what it asks of the machines."""

import argparse
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Job:
    """A training in a batch job."""

    name: str
    words: tuple[str, ...]
    """Words of the training, without its seed and its folder."""
    yaml: Path | None
    """File that these words name."""
    seeds: tuple[int, ...]
    """Seeds of an array of jobs; none for a single one."""
    at_once: int | None
    """Number of jobs of an array at once; None: as many as there is room for."""
    into: str | None
    """Folder of the run that the user has named."""
    ray: bool
    """True if the training has several processes."""
    workers: int
    nodes: int
    cpus: int
    """CPUs of each node."""
    gpus: int
    """GPUs of each node."""
    device: str
    """general_cfg.device of the training."""
    memory: str
    warning: int
    """Seconds from the request to save to the end."""
    command: str
    """The command that has printed it."""
    request: argparse.Namespace
    """Flags of the batch system."""
