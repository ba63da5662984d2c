"""Distributions of returns as outputs of the network, and all meanings that its outputs can have.

M samples, A actions, K atoms of a distribution. Outputs are [M, A, K].
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from algos.common.fast.tensors import on_both
from algos.common.maths.distributions import project
from algos.common.maths.targets import of_action
from algos.common.nets.layers import Features, ImplicitQuantiles
from algos.dqn.heads import Head, Metrics, Scalar, Successor
from config.tell.language import tr


def outside(probability: Tensor, atoms: Tensor, support: Tensor) -> Tensor:
    """Returns the mean share of the mass that `project` moves to an edge of the support from beyond. The margin is for
    rounding: r + gamma v_max is v_max where that is the greatest possible return, r / (1 - gamma)."""
    margin = (support[1] - support[0]) / 100
    beyond = (atoms < support[0] - margin) | (atoms > support[-1] + margin)
    return (probability * beyond).sum(1).mean()


def quantile_huber(values: Tensor, fractions: Tensor, target: Tensor, kappa: float) -> Tensor:
    """Returns the quantile regression loss [M] with Huber's penalty (Dabney et al., 2018a, equation 10): of values
    [M, K] at the fractions [M, K] or [K] against samples of the target [M, J]; sum over K, mean over J."""
    error = target.unsqueeze(1) - values.unsqueeze(2)
    side = (fractions.unsqueeze(-1) - (error < 0).to(error.dtype)).abs()
    huber = F.huber_loss(error, torch.zeros_like(error), reduction="none", delta=kappa) / kappa
    return (side * huber).mean(2).sum(1)


def quantile_regression(values: Tensor, fractions: Tensor, target: Tensor, kappa: float) -> tuple[Tensor, Tensor]:
    """Returns the loss of `quantile_huber`, and the difference of the means [M]."""
    return quantile_huber(values, fractions, target, kappa), (target.mean(1) - values.detach().mean(1)).abs()


def samples(after: Successor) -> Tensor:
    """Returns samples of r + discount Z(s', a') [M, K]."""
    next_values = of_action(after.out, after.best())
    return torch.addcmul(after.reward.unsqueeze(1), after.discount.unsqueeze(1), next_values)


def soft_samples(after: Successor, temperature: float | Tensor) -> Tensor:
    """Returns samples of r + discount sum_a' pi(a'|s') (Z(s', a') - T log pi(a'|s')) [M, K], with pi = softmax(Q / T)
    of the target network (Vieillard et al., 2020). An illegal action has probability 0."""
    logits = (after.value / temperature).clamp(min=torch.finfo(after.value.dtype).min)  # of illegal actions too
    log_policy = F.log_softmax(logits, 1).unsqueeze(2)
    each = after.out[:, : after.value.shape[1]] - temperature * log_policy
    return torch.addcmul(after.reward.unsqueeze(1), after.discount.unsqueeze(1), (log_policy.exp() * each).sum(1))


class Categorical(Head):
    """Logits of the probabilities of n_atoms returns, evenly spaced from v_min to v_max."""

    METRICS: ClassVar[tuple[str, ...]] = ("at_v_min", "at_v_max", "outside")
    """Shares of the target's mass: at the lowest atom, at the highest, and beyond both before the projection."""
    MOST_AT_EDGE = 0.5
    LEAST_OUTSIDE = 0.05
    """Without mass outside, mass at the edge is right: a return of 0 is v_min where rewards are 0 and 1."""

    def __init__(self, cfg: Any, actions: int, device: torch.device) -> None:
        super().__init__(cfg, actions, device)
        self.support = on_both(torch.linspace(cfg.v_min, cfg.v_max, cfg.n_atoms), device)

    def layer(self, features: Features, atoms: int = 1) -> nn.Module:
        return super().layer(features, self.cfg.n_atoms)

    def values(self, out: Tensor) -> Tensor:
        return out.softmax(2) @ self.support[out.device.type]

    def target(self, after: Successor) -> tuple[Tensor, Metrics]:
        """Returns the distribution of r + discount Z(s', a') [M, K], and its shares at the edges of the support."""
        support = self.support[after.out.device.type]
        atoms = torch.addcmul(after.reward.unsqueeze(1), after.discount.unsqueeze(1), support)
        probability = of_action(after.out, after.best()).softmax(1)
        target = project(probability, atoms, support)
        edges = {"at_v_min": target[:, 0].mean(), "at_v_max": target[:, -1].mean()}
        return target, {**edges, "outside": outside(probability, atoms, support)}

    def loss(self, out: Tensor, action: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the cross entropy, and the Kullback-Leibler divergence as the error."""
        losses = -(target * of_action(out, action).log_softmax(1)).sum(1)
        return losses, losses.detach() + torch.xlogy(target, target).sum(1)

    def warning(self, metrics: Mapping[str, float]) -> str | None:
        for setting, where in (("v_max", tr("too low")), ("v_min", tr("too high"))):
            share = metrics.get(f"at_{setting}", 0.0)
            if share > self.MOST_AT_EDGE and metrics["outside"] > self.LEAST_OUTSIDE:
                value = getattr(self.cfg, setting)
                return tr(
                    "{setting} {value:g} is {where} for the returns seen: {share:.0%} of the target mass is there; set "
                    "algo_cfg.{setting} beyond the discounted returns, or scale them (algo_cfg.reward_scale)",
                    setting=setting,
                    value=value,
                    where=where,
                    share=share,
                )
        return None


class Quantile(Head):
    """Returns at the midpoints of n_quantiles equal parts of the distribution."""

    def __init__(self, cfg: Any, actions: int, device: torch.device) -> None:
        super().__init__(cfg, actions, device)
        self.middle = on_both((torch.arange(cfg.n_quantiles) + 0.5) / cfg.n_quantiles, device)

    def layer(self, features: Features, atoms: int = 1) -> nn.Module:
        return super().layer(features, self.cfg.n_quantiles)

    def values(self, out: Tensor) -> Tensor:
        return out.mean(2)

    def target(self, after: Successor) -> tuple[Tensor, Metrics]:
        return soft_samples(after, self.now.temperature) if self.cfg.soft else samples(after), {}

    def loss(self, out: Tensor, action: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        return quantile_regression(of_action(out, action), self.middle[out.device.type], target, self.cfg.kappa)


class Implicit(Head):
    """Returns at random fractions of the distribution, which the network hands out in the last row of its outputs."""

    def layer(self, features: Features, atoms: int = 1) -> nn.Module:
        return ImplicitQuantiles(features.width, super().layer(features), self.cfg.n_quantiles)

    def values(self, out: Tensor) -> Tensor:
        return out[:, :-1].mean(2)

    def target(self, after: Successor) -> tuple[Tensor, Metrics]:
        return soft_samples(after, self.now.temperature) if self.cfg.soft else samples(after), {}

    def loss(self, out: Tensor, action: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        return quantile_regression(of_action(out, action), out[:, -1], target, self.cfg.kappa)


HEADS: dict[str, type[Head]] = {
    "scalar": Scalar,
    "categorical": Categorical,
    "quantile": Quantile,
    "implicit": Implicit,
}
