"""Chooses what runs stages."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from config.config import GeneralConfig
from framework.jobs.processes import Processes, Runner
from framework.screen.stages import stage
from framework.screen.terminal import Screen


@contextlib.contextmanager
def runner(
    address: str | None,
    cfg: GeneralConfig,
    jobs: int | None,
    here: int,
    start: Path,
    screen: Screen,
    noun: str,
) -> Iterator[Runner]:
    """Makes what runs stages: the machines of the cluster at an address, or this one. cfg: of one of them; jobs: stages
    at once in a cluster, None: one for each CPU; here: the same on this machine; start: working directory; noun:
    trial or run."""
    if address is None:
        yield Processes(here, start)
        return
    from framework.distributed import stage_tasks

    with contextlib.ExitStack() as stack:
        with stage("connecting to the cluster"):
            tasks = stack.enter_context(stage_tasks.started(address, cfg, jobs, screen.say, noun))
        yield tasks
