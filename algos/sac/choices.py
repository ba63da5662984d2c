"""Choices among a few, in the actions of a Tuple or Dict (Delalleau et al., 2019).

Each choice has a categorical distribution, independent of the others. A critic sees the numbers of all Boxes and gives
a value of each of the K combinations of choices, so that expectations over the choices are sums.
"""

import math
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box
from torch import Tensor
from torch.nn import functional as F

from algos.base import Array, UnfitError
from algos.common.maths.distributions import draw_index
from algos.common.maths.exploration import masked
from algos.sac.temperature import Temperature
from config.model.composite import Composite

CHOICE_METRICS = ("choice_entropy", "choice_alpha")
MOST_OUTCOMES = 1024
"""Largest number of combinations of choices; a critic has an output for each."""


class Choosing:
    """The choices in flat actions. The first outputs of the policy network are their logits, with an entry for each
    value of each choice, as in a mask. They have a temperature of their own."""

    def __init__(self, cfg: Any, space: Composite, device: torch.device) -> None:
        choices = space.choices
        self.logits, self.sizes, self.first = choices.entries, choices.size.tolist(), choices.first
        self.outcomes = math.prod(self.sizes)
        """Number of combinations, K."""
        if self.outcomes > MOST_OUTCOMES:
            raise UnfitError(
                "the actions {space} have {count:,} combinations of choices. SAC has an output of its critics for "
                "each, and at most {limit:,}; PPO and the other policy gradients have no such limit",
                space=space,
                count=self.outcomes,
                limit=MOST_OUTCOMES,
            )
        self.scale: float = cfg.target_entropy_scale
        self.temperature = Temperature(cfg, device)
        numbers = space.box_columns
        self.box = Box(space.low[numbers], space.high[numbers], dtype=np.float32)
        """Space of the numbers of all Boxes in a row."""
        self.order = np.argsort(np.concatenate([choices.column, numbers]))
        """Place of each number of a flat action among the choices followed by the numbers."""
        values = np.indices(self.sizes).reshape(len(self.sizes), -1).T
        strides = [math.prod(self.sizes[place + 1 :]) for place in range(len(self.sizes))]
        self.numbers, self.column = (
            torch.as_tensor(numbers, device=device),
            torch.as_tensor(choices.column, device=device),
        )
        self.table = torch.as_tensor(values + choices.first, device=device)
        """[K, choices]: the logits of each combination."""
        self.strides = torch.tensor(strides, dtype=torch.int64, device=device)

    # acting

    def masked(self, outputs: Any, mask: Any) -> Any:
        """Returns outputs [B, ...] with the logits of what a mask [B, logits] forbids at the least."""
        if mask is None:
            return outputs
        logits, rest = masked(outputs[:, : self.logits], mask), outputs[:, self.logits :]
        return torch.cat([logits, rest], 1) if isinstance(outputs, Tensor) else np.concatenate([logits, rest], 1)

    def values(self, logits: Array, rng: np.random.Generator | None) -> Array:
        """Returns drawn values of the choices [N, choices]; without a generator the likeliest."""
        parts = [logits[:, first : first + size] for first, size in zip(self.first, self.sizes, strict=True)]
        columns = [part.argmax(1) if rng is None else draw_index(part, rng)[0] for part in parts]
        return np.stack(columns, 1) if columns else np.zeros((len(logits), 0))

    def joined(self, values: Array, numbers: Array) -> Array:
        """Returns the flat actions of choices [N, choices] and numbers [N, A]."""
        return np.concatenate([values, numbers], 1, dtype=np.float32)[:, self.order]

    def best(self, outputs: Tensor, numbers: Tensor) -> Tensor:
        """Returns the flat actions of the likeliest choices and of numbers [B, A]."""
        parts = outputs[:, : self.logits].split(self.sizes, 1) if self.sizes else ()
        values = [part.argmax(1, keepdim=True).float() for part in parts]
        return torch.cat([*values, numbers], 1)[:, torch.as_tensor(self.order, device=outputs.device)]

    # learning

    def log_pi(self, outputs: Tensor, mask: Tensor | None) -> Tensor:
        """Returns log pi(.|s) [B, K] of the combinations."""
        logits = masked(outputs[:, : self.logits], mask)
        if self.sizes:
            logits = torch.cat([F.log_softmax(part, -1) for part in logits.split(self.sizes, 1)], 1)
        return logits[:, self.table].sum(-1)

    def by_outcome(self, q: Tensor) -> Tensor:
        """Returns values [..., B, K]; a single combination has no axis of its own in q."""
        return q.unsqueeze(-1) if self.outcomes == 1 else q

    def chosen(self, q: Tensor, action: Tensor) -> Tensor:
        """Returns those of the values [n, B, K] that belong to the choices in flat actions [B, W]."""
        index = (action[:, self.column].long() * self.strides).sum(1)
        return self.by_outcome(q).gather(-1, index.expand(len(q), -1).unsqueeze(-1)).squeeze(-1)

    def target_entropy(self, mask: Tensor | None) -> Tensor | float:
        """Returns the target entropy; with a mask, [B] by the number of legal values of each choice."""
        if mask is None:
            return self.scale * sum(math.log(size) for size in self.sizes)
        legal = torch.stack([part.sum(-1) for part in mask.split(self.sizes, -1)])
        return self.scale * legal.clamp(min=1).log().sum(0)
