"""One seed, many named streams. A stream depends on its name alone, so adding a worker moves no other stream."""

import secrets
from zlib import crc32

import numpy as np

_TOP = 2**31 - 1


def draw_seed() -> int:
    """A seed for a run that asked for none: recorded and printed, so that the run can be repeated."""
    return secrets.randbelow(_TOP) + 1


def _sequence(seed: int, name: str, numbers: tuple[int, ...]) -> np.random.SeedSequence:
    return np.random.SeedSequence(entropy=seed, spawn_key=(crc32(name.encode()), *numbers))


def stream(seed: int, name: str, *numbers: int) -> np.random.Generator:
    """The random stream with this name, such as stream(1, "act", worker)."""
    return np.random.Generator(np.random.PCG64(_sequence(seed, name, numbers)))


def number(seed: int, name: str, *numbers: int) -> int:
    """One number from a named stream, as a seed for something else."""
    return int(_sequence(seed, name, numbers).generate_state(1)[0]) & _TOP
