"""Policy of SAC for actions of several parts: choices beside squashed numbers (Delalleau et al., 2019)."""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import torch
from gymnasium.spaces import Box, Space
from torch import Tensor, nn
from torch.nn import functional as F

from algos.base import Act, Array, Explore, PolicyModule, UnfitError
from algos.common.maths.distributions import draw_index
from algos.common.maths.exploration import Logits, masked
from algos.common.parts import optim
from algos.common.parts.acting import Greedy
from algos.common.parts.optim import Outcome
from algos.common.parts.sequences import Observed, outputs_of
from algos.sac.losses import entropy_of, policy_loss, soft_value
from algos.sac.policy import SoftPolicy
from algos.sac.temperature import Temperature
from config.model.composite import Composite
from config.tell.language import tr

MOST_OUTCOMES = 1024
"""Largest number of combinations of choices; a critic has an output for each."""


class HybridPolicy(SoftPolicy):
    """Independent categorical distributions of the choices, given by their logits, and the squashed Gaussian of the
    numbers of all Boxes. A critic sees the numbers and gives a value of each of the K combinations of choices, so that
    expectations over the choices are sums. Each kind has a temperature of its own."""

    METRICS: ClassVar = (*SoftPolicy.METRICS, "choice_entropy", "choice_alpha")
    KEPT: ClassVar = (*SoftPolicy.KEPT, "choice_temperature")

    space: Composite

    def __init__(self, cfg: Any, *arguments: Any) -> None:
        super().__init__(cfg, *arguments)
        self.choice_temperature = Temperature(cfg, self.device)
        zero = torch.zeros((), device=self.device)
        self.metrics |= {"choice_entropy": zero, "choice_alpha": self.choice_temperature.alpha()}

    def box(self, space: Space) -> Space:
        """Returns one Box of the numbers of all Boxes; prepares the choices."""
        assert isinstance(space, Composite)
        choices = space.choices
        self.space, self.logits, self.sizes = space, choices.entries, choices.size.tolist()
        self.outcomes = math.prod(self.sizes)
        if self.outcomes > MOST_OUTCOMES:
            raise UnfitError(
                tr(
                    "the actions {space} have {count:,} combinations of choices. SAC has an output of its critics for "
                    "each, and at most {limit:,}; PPO and the other policy gradients have no such limit",
                    space=space,
                    count=self.outcomes,
                    limit=MOST_OUTCOMES,
                )
            )
        self._numbers = space.box_columns
        values = np.stack(np.unravel_index(np.arange(self.outcomes), self.sizes or (1,)), axis=1)
        self._table = torch.as_tensor(values[:, : len(self.sizes)] + choices.first, device=self.device)
        """[K, places]: columns of the logits of each combination."""
        strides = [math.prod(self.sizes[place + 1 :]) for place in range(len(self.sizes))]
        self._strides = torch.tensor(strides, device=self.device)
        self._column = torch.as_tensor(choices.column, device=self.device)
        order = np.argsort(np.concatenate([choices.column, self._numbers]))
        self._order = torch.as_tensor(order, device=self.device)
        """Position of each number of a flat action among the choices followed by the numbers."""
        return Box(space.low[self._numbers], space.high[self._numbers], dtype=np.float32)

    @property
    def modules(self) -> dict[str, nn.Module]:
        return {**super().modules, "choice_temperature": self.choice_temperature}

    # acting

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        seen: list[Array] = []

        def unit(outputs: Array) -> Array:
            logits, numbers = outputs[:, : self.logits], outputs[:, self.logits :]
            seen.append(logits)
            return self.distribution.mode(numbers) if explore is None else self.distribution.sample(numbers, explore.rng)

        act = self.explorer.act(unit, obs, state, explore)
        logits = seen[0] if seen else np.zeros((len(obs), self.logits), np.float32)  # random at the start of a run
        digits = self._digits(masked(logits, mask), explore)
        return act._replace(action=np.concatenate([digits, act.action], 1, dtype=np.float32)[:, self._order_of_array])

    @property
    def _order_of_array(self) -> Array:
        return np.asarray(self._order.cpu())

    def _digits(self, logits: Array, explore: Explore | None) -> Array:
        """Returns the choices [N, places]: the likeliest, or drawn ones."""
        first = self.space.choices.first
        parts = [logits[:, start : start + size] for start, size in zip(first, self.sizes, strict=True)]
        digits = [part.argmax(1) if explore is None else draw_index(part, explore.rng)[0] for part in parts]
        return np.stack(digits, 1) if digits else np.zeros((len(logits), 0))

    def as_module(self) -> PolicyModule:
        return Greedy(self.network, self._best, mask=self._masked)

    def _masked(self, outputs: Logits, mask: Logits | None) -> Any:
        if mask is None:
            return outputs
        return torch.cat([masked(outputs[:, : self.logits], mask), outputs[:, self.logits :]], 1)  # type: ignore[list-item]

    def _best(self, outputs: Tensor) -> Tensor:
        parts = outputs[:, : self.logits].split(self.sizes, 1) if self.sizes else ()
        digits = [part.argmax(1, keepdim=True).float() for part in parts]
        numbers = self.bounds.bounded(self.distribution.best(outputs[:, self.logits :]))
        return torch.cat([*digits, numbers], 1)[:, self._order.to(outputs.device)]

    # learning

    def to_unit(self, action: Tensor) -> Tensor:
        return self.bounds.to_unit(action[:, self._numbers])

    def chosen(self, q: Tensor, action: Tensor) -> Tensor:
        """Returns those of the values [n, B, K] that belong to the choices in the actions."""
        index = (action[:, self._column].long() * self._strides).sum(1)
        return self._by_outcome(q).gather(-1, index.expand(len(q), -1).unsqueeze(-1)).squeeze(-1)

    def _by_outcome(self, q: Tensor) -> Tensor:
        """Returns values [.., B, K]; with a single combination the last axis is missing."""
        return q.unsqueeze(-1) if self.outcomes == 1 else q

    def _drawn(self, obs: Observed, noise: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Returns actions [B, A] in the cube, their log densities [B], and log pi(.|s) [B, K] of the choices."""
        outputs = outputs_of(self.network, obs)
        action, log_prob = self.distribution.draw(outputs[:, self.logits :], noise)
        logits = masked(outputs[:, : self.logits], mask)
        if self.sizes:
            logits = torch.cat([F.log_softmax(part, -1) for part in logits.split(self.sizes, 1)], 1)
        return action, log_prob, logits[:, self._table].sum(-1)

    def next_value(
        self, obs: Observed, noise: Tensor, mask: Tensor | None, q_of: Callable[[Tensor], Tensor], backup: bool
    ) -> tuple[Tensor, Tensor]:
        """Returns the expectation over the choices of the smallest value less alpha log pi [1, B], and the log
        densities of the numbers."""
        with torch.no_grad():
            action, log_prob, log_pi = self._drawn(obs, noise, mask)
            alpha = self.choice_temperature.alpha() if backup else log_prob.new_zeros(())
            value = soft_value(log_pi, self._by_outcome(q_of(action)).amin(0), alpha)
        return value.unsqueeze(0), log_prob

    def improve(self, obs: Observed, noise: Tensor, reduce: optim.Reduce, mask: Tensor | None = None) -> None:
        self.metrics, entropies = self.step(obs, noise, *([] if mask is None else [mask]), reduce=reduce)
        entropy, of_choices = entropies
        self.temperature.step(entropy, self.target_entropy, reduce)
        self.choice_temperature.step(of_choices, self._target_of_choices(mask), reduce)

    def _target_of_choices(self, mask: Tensor | None) -> Tensor | float:
        """Returns the target entropy of the choices; with a mask, [B] by the number of legal values of each."""
        scale: float = self.cfg.target_entropy_scale
        if mask is None:
            return scale * sum(math.log(size) for size in self.sizes)
        return scale * sum((part.sum(-1).clamp(min=1).log() for part in mask.split(self.sizes, -1)), mask.new_zeros(()))

    def _loss(self, obs: Observed, noise: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Outcome]:
        """Returns the loss of the policy, and the entropies of numbers and choices of each sample [2, B]."""
        alpha, of_choices = self.temperature.alpha(), self.choice_temperature.alpha()
        action, log_prob, log_pi = self._drawn(obs, noise, mask)
        value = soft_value(log_pi, self._by_outcome(self.value(obs, action)), of_choices)
        loss = policy_loss(log_prob, value, alpha)
        entropies = torch.stack([-log_prob.detach(), entropy_of(log_pi.detach())])
        metrics = {
            "actor_loss": loss.detach(),
            "entropy": entropies[0].mean(),
            "alpha": alpha,
            "choice_entropy": entropies[1].mean(),
            "choice_alpha": of_choices,
        }
        return loss, Outcome(metrics, entropies)
