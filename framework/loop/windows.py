"""Cuts windows of fresh steps into minibatches."""

from collections.abc import Iterator

import numpy as np
import torch

from algos.base import Batch, on_device
from config.model.memory_spec import RolloutSpec


def shuffled(window: Batch, spec: RolloutSpec, rng: np.random.Generator, device: torch.device) -> Iterator[Batch]:
    """Yields minibatches of single steps or sequences of a window [T, N, ...], in a new order each epoch. The last one
    of an epoch is smaller if the window does not divide evenly."""
    length = spec.sequence or len(window["obs"])
    samples = _single_steps(window) if spec.sequence == 1 else _sequences(window, length)
    if spec.sequence > 1:
        samples = _without_empty(samples)
    axis = {name: 0 if spec.sequence == 1 or name == "state" else 1 for name in samples}
    total = min(value.shape[axis[name]] for name, value in samples.items())
    if not total:
        return
    size = min(spec.minibatch or total, total)
    for _ in range(spec.epochs):
        if size == total:
            yield samples
            continue
        order = on_device(rng.permutation(total), device)
        for chosen in order.split(size):
            yield {name: value.index_select(axis[name], chosen) for name, value in samples.items()}


def _single_steps(window: Batch) -> Batch:
    """Flattens columns [T, N, ...] to samples [B, ...], without the dummy steps."""
    flat = {name: value.flatten(0, 1) for name, value in window.items()}
    valid = flat.pop("valid", None)
    return flat if valid is None else {name: value[valid] for name, value in flat.items()}


def _sequences(window: Batch, length: int) -> Batch:
    """Cuts columns [T, N, ...] into pieces [L, B, ...] of single rows, with the stored state [B, S] before each."""
    pieces = {name: value.unflatten(0, (-1, length)).transpose(0, 1).flatten(1, 2) for name, value in window.items()}
    return {name: value[0] if name == "state" else value for name, value in pieces.items()}


def _without_empty(pieces: Batch) -> Batch:
    """Drops pieces [L, B, ...] without a valid step: a minibatch of such pieces would have no mean."""
    if "valid" not in pieces:
        return pieces
    columns = pieces["valid"].any(0)
    return {name: value[columns] if name == "state" else value[:, columns] for name, value in pieces.items()}
