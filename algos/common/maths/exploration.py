"""Choice of an action by values: the legal ones, the best one, and exploration. numpy only where it runs at every step.

mask [N, A] is true where an action is legal; None where all are.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from algos.base import Progress
from config.model.arrays import Array
from config.model.course import value_at

IMPOSSIBLE = -1e30
"""Logit whose probability is exactly 0, without the NaN that -inf gives to the entropy."""

Logits = TypeVar("Logits", np.ndarray, Tensor)
Values = Callable[[], Array]
"""Computes values of actions [N, A]."""


def masked(logits: Logits, mask: Logits | None) -> Logits:
    """Sets logits [..., A] of illegal actions to IMPOSSIBLE; mask [..., A] is True for legal actions. Masked logits
    receive no gradient; without a mask the logits are unchanged."""
    if mask is None:
        return logits
    if isinstance(logits, Tensor):
        return torch.where(mask, logits, IMPOSSIBLE)
    return np.where(mask, logits, IMPOSSIBLE)


def exponential(start: float, end: float, decay: float, step: int) -> float:
    """Returns end + (start - end) exp(-step / decay)."""
    return end + (start - end) * math.exp(-step / decay)


def linear(start: float, end: float, decay: float, step: int) -> float:
    """Returns a linear interpolation from start to end over decay steps, then end."""
    return start + (end - start) * min(step / decay, 1.0)


EPSILON = {"exponential": exponential, "linear": linear}


# actions, drawn: each function takes the same amount of randomness at every call


def greedy(values: Array, mask: Array | None = None) -> Array:
    """Returns the greedy actions [N] of values [N, A]: the first of the best legal ones."""
    return (values if mask is None else np.where(mask, values, -np.inf)).argmax(1)


def epsilon_greedy(values: Array, epsilon: float, rng: np.random.Generator, mask: Array | None = None) -> Array:
    """Returns epsilon-greedy actions [N] of values [N, A]: the first of the best, or with probability epsilon any legal
    one. Draws the same amount of randomness whatever epsilon is."""
    return epsilon_greedy_of(lambda: values, values.shape, epsilon, rng, mask)


def epsilon_greedy_of(
    values: Values, shape: tuple[int, ...], epsilon: float, rng: np.random.Generator, mask: Array | None = None
) -> Array:
    """Returns what `epsilon_greedy` returns. values: is called only if an action depends on them. shape: theirs."""
    rows, actions = shape
    chance, choice = rng.random((2, rows))
    explores = chance < epsilon
    exploring = np.count_nonzero(explores)
    if not exploring:
        return greedy(values(), mask)
    if mask is None:
        anything = (choice * actions).astype(np.int64)
    else:
        legal = mask.cumsum(1)
        anything = (legal > (choice * legal[:, -1])[:, None]).argmax(1)
    return anything if exploring == rows else np.where(explores, anything, greedy(values(), mask))


def softmax(values: Array, temperature: float, rng: np.random.Generator, mask: Array | None = None) -> Array:
    """Samples actions [N] in proportion to exp(value / temperature) of values [N, A]."""
    return draw(softmax_policy(values, temperature, mask), rng)


def draw(policy: Array, rng: np.random.Generator) -> Array:
    """Samples actions [N] from probabilities [N, A]; never one of probability 0."""
    cumulative = policy.cumsum(1)
    return (cumulative > cumulative[:, -1:] * rng.random((len(policy), 1))).argmax(1)


# probabilities [N, A], by which tables act; all are 0 in a row where nothing is legal


def best_policy(values: Array, mask: Array | None = None) -> Array:
    """Returns equal probabilities for the best legal actions: the first one alone would hide the others as long as a
    table has the same value for all."""
    legal = np.ones(values.shape, bool) if mask is None else mask
    chosen = legal & (values == np.where(legal, values, -np.inf).max(1, keepdims=True))
    return chosen / np.maximum(chosen.sum(1, keepdims=True), 1)


def epsilon_greedy_policy(values: Array, epsilon: float, mask: Array | None = None) -> Array:
    """Returns probabilities: epsilon spread over the legal actions, the rest over the best ones."""
    legal = np.ones(values.shape) if mask is None else mask
    any_legal = legal / np.maximum(legal.sum(1, keepdims=True), 1)
    return epsilon * any_legal + (1 - epsilon) * best_policy(values, mask)


def softmax_policy(values: Array, temperature: float, mask: Array | None = None) -> Array:
    """Returns the softmax of value / temperature over the legal actions."""
    if mask is None:
        weight = np.exp((values - values.max(1, keepdims=True)) / temperature)
        return weight / weight.sum(1, keepdims=True)
    best = np.take_along_axis(values, greedy(values, mask)[:, None], 1)
    # what is illegal may be above the best legal value, and must not overflow
    weight = np.exp(np.minimum(values - best, 0.0) / temperature) * mask
    return weight / np.maximum(weight.sum(1, keepdims=True), 1)


def ucb_policy(values: Array, counts: Array, c: float, mask: Array | None = None) -> Array:
    """Returns equal probabilities for the actions of highest Q + c sqrt(ln t / n); n visits of the action, t of its
    state.

    An action that was never taken comes before all that were (Sutton and Barto, 2018, equation 2.10).
    """
    time = np.maximum(counts.sum(1, keepdims=True), 1)
    bound = values + c * np.sqrt(np.log(time) / np.maximum(counts, 1))
    return best_policy(np.where(counts == 0, np.inf, bound), mask)


class Explorer:
    """Exploration as configured by exploration_type and its settings, from a network's values [N, A]."""

    def __init__(self, cfg: Any) -> None:
        self.cfg, self.epsilon = cfg, EPSILON[cfg.epsilon_schedule]

    def strength(self, progress: Progress) -> dict[str, float]:
        """Returns the exploration parameter in effect."""
        cfg = self.cfg
        match cfg.exploration_type:
            case "e-greedy":
                if cfg.epsilon is not None:
                    return {"epsilon": value_at(cfg.epsilon, progress.fraction)}
                return {"epsilon": self.epsilon(cfg.epsilon_start, cfg.epsilon_end, cfg.epsilon_decay, progress.step)}
            case "softmax":
                return {"temperature": value_at(cfg.temperature, progress.fraction)}
            case "ucb":
                return {"ucb_c": cfg.ucb_c}
            case _:
                return {}

    def choose(
        self, values: Values, shape: tuple[int, ...], progress: Progress, rng: np.random.Generator, mask: Array | None
    ) -> Array:
        """Returns actions [N] for values [N, A] of this shape. values: is called only if an action depends on them."""
        match self.strength(progress):
            case {"epsilon": epsilon}:
                return epsilon_greedy_of(values, shape, epsilon, rng, mask)
            case {"temperature": temperature}:
                return softmax(values(), temperature, rng, mask)
            case _:
                return greedy(values(), mask)
