"""Derives named random streams from one seed. A stream depends on its name alone, so a new worker changes no other."""

import contextlib
import secrets
from collections.abc import Iterator
from zlib import crc32

import numpy as np

_TOP = 2**31 - 1


def draw_seed() -> int:
    """Draws a seed for a run without one; it is recorded and printed, so that the run can be repeated."""
    return secrets.randbelow(_TOP) + 1


def _sequence(seed: int, name: str, numbers: tuple[int, ...]) -> np.random.SeedSequence:
    return np.random.SeedSequence(entropy=seed, spawn_key=(crc32(name.encode()), *numbers))


def stream(seed: int, name: str, *numbers: int) -> np.random.Generator:
    """Returns the random stream of this name, such as stream(1, "act", worker)."""
    return np.random.Generator(np.random.PCG64(_sequence(seed, name, numbers)))


def number(seed: int, name: str, *numbers: int) -> int:
    """Returns a number from a named stream, to be used as a seed."""
    return int(_sequence(seed, name, numbers).generate_state(1)[0]) & _TOP


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Lets torch use one thread, so that bits do not depend on the number of cores."""
    import torch  # late: streams are needed without it

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
