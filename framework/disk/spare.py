"""Descriptors held in reserve, so that a run can be saved of which an environment has taken all others."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

COUNT = 16
"""Number of descriptors: those of a checkpoint, of run.json and of the logs, and a few more."""


@contextmanager
def spare_descriptors() -> Iterator[None]:
    """Holds descriptors meanwhile, as many as there are; they are free once an error has left the block."""
    held: list[int] = []
    try:
        with suppress(OSError):
            while len(held) < COUNT:
                held.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)
