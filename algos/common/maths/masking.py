"""Masks of legal actions, on logits and on values."""

from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

IMPOSSIBLE = -1e30
"""Logit whose probability is exactly 0, without the NaN that -inf gives to the entropy."""

Logits = TypeVar("Logits", np.ndarray, Tensor)


def masked(logits: Logits, mask: Logits | None) -> Logits:
    """Sets logits [..., A] of illegal actions to IMPOSSIBLE; mask [..., A] is True for legal actions. Masked logits
    receive no gradient; without a mask the logits are unchanged."""
    if mask is None:
        return logits
    if isinstance(logits, Tensor):
        return torch.where(mask, logits, IMPOSSIBLE)
    return np.where(mask, logits, IMPOSSIBLE)
