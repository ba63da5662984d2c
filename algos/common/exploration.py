"""How often to act at random, and doing it. numpy only: this runs at every step."""

import math

import numpy as np

Array = np.ndarray


def exponential(start: float, end: float, decay: float, step: int) -> float:
    """end + (start - end) exp(-step / decay)."""
    return end + (start - end) * math.exp(-step / decay)


def linear(start: float, end: float, decay: float, step: int) -> float:
    """A straight line from start to end over decay steps, then end."""
    return start + (end - start) * min(step / decay, 1.0)


EPSILON = {"exponential": exponential, "linear": linear}


def epsilon_greedy(values: Array, epsilon: float, rng: np.random.Generator) -> Array:
    """values [N, A] -> actions [N]: the first of the best, or with probability epsilon any.

    Draws the same amount of randomness whatever epsilon is.
    """
    chance, choice = rng.random((2, len(values)))
    return np.where(chance < epsilon, (choice * values.shape[1]).astype(np.int64), values.argmax(1))
