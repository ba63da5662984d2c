"""Types that environments and algorithms have in common. No other module of config imports this one, since it imports
numpy."""

from typing import NamedTuple

import numpy as np

Array = np.ndarray


class Part(NamedTuple):
    """Position of one named part of a flattened Dict or Tuple observation."""

    name: str
    start: int
    stop: int
    shape: tuple[int, ...]


class Model(NamedTuple):
    """Transition model of a finite environment: K possible outcomes of each action A in each state S, all [S, A, K]."""

    probability: Array
    """Probabilities of the outcomes; they sum to 1 over K."""
    next_state: Array
    reward: Array
    terminated: Array
