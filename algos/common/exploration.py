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


def greedy(values: Array, mask: Array | None = None) -> Array:
    """values [N, A] -> actions [N]: the first of the best legal ones."""
    return (values if mask is None else np.where(mask, values, -np.inf)).argmax(1)


def epsilon_greedy(values: Array, epsilon: float, rng: np.random.Generator, mask: Array | None = None) -> Array:
    """values [N, A] -> actions [N]: the first of the best, or with probability epsilon any legal one.

    Draws the same amount of randomness whatever epsilon is.
    """
    chance, choice = rng.random((2, len(values)))
    if mask is None:
        anything = (choice * values.shape[1]).astype(np.int64)
    else:
        legal = mask.cumsum(1)
        anything = (legal > (choice * legal[:, -1])[:, None]).argmax(1)
    return np.where(chance < epsilon, anything, greedy(values, mask))


def softmax(values: Array, temperature: float, rng: np.random.Generator, mask: Array | None = None) -> Array:
    """values [N, A] -> actions [N] with probabilities in proportion to exp(value / temperature)."""
    scaled = (values if mask is None else np.where(mask, values, -np.inf)) / temperature
    cumulative = np.exp(scaled - scaled.max(1, keepdims=True)).cumsum(1)
    return (cumulative > cumulative[:, -1:] * rng.random((len(values), 1))).argmax(1)
