"""Chooses what runs stages."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from config.config import GeneralConfig
from config.tell.language import tr
from framework.jobs.own_objects import packed
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
    objects: Mapping[str, Any] = MappingProxyType({}),
) -> Iterator[Runner]:
    """Makes what runs stages: the machines of the cluster at an address, or this one. cfg: of one of them; jobs: stages
    at once in a cluster, None: one for each CPU; here: the same on this machine; start: working directory; noun:
    trial or run; objects: those that the program has registered, by the names in the settings."""
    if address is None:
        yield Processes(here, start, packed(objects) if objects else b"")
        return
    from framework.distributed import stage_tasks

    with contextlib.ExitStack() as stack:
        with stage(tr("connecting to the cluster")):
            tasks = stack.enter_context(stage_tasks.started(address, cfg, jobs, screen.say, noun, start))
        yield tasks
