"""What the network's outputs for an action mean, and what they are pulled towards: a number, or a distribution.

M samples, A actions, K atoms of a distribution. Outputs are [M, A] for a number and [M, A, K] for a distribution.
"""

from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from algos.common.modules import ImplicitQuantiles, value_layer


class Successor(NamedTuple):
    """What is known of the states that come next."""

    reward: Tensor
    """[M], of all steps up to there."""
    discount: Tensor
    """[M], gamma^k, and 0 where the state is terminal."""
    out: Tensor
    """Outputs of the target network."""
    value: Tensor
    """Its expected returns [M, A]; an illegal action has the lowest."""
    chooser: Tensor | None
    """Those of the network that chooses the next action; None is the target network itself."""

    def best(self) -> Tensor:
        """The next action [M]."""
        return (self.value if self.chooser is None else self.chooser).argmax(1)


class Head(Protocol):
    """One meaning of the outputs."""

    def layer(self, features: int) -> nn.Module:
        """The output layer of the online network; the target network has a copy."""

    def values(self, out: Tensor) -> Tensor:
        """Outputs -> expected returns [M, A]."""

    def target(self, after: Successor) -> Tensor:
        """What the output for the action taken is pulled towards, [M] or [M, K]."""

    def loss(self, out: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs for the action taken, [M] or [M, K] -> penalty of each sample [M], and how wrong it was [M]."""


# ------------------------------------------------------------------------------------------------- pure functions


def of_action(out: Tensor, action: Tensor) -> Tensor:
    """The outputs [M] or [M, K] for one action [M] of each sample."""
    if out.ndim == 2:
        return out.gather(1, action.unsqueeze(1)).squeeze(1)
    return out.gather(1, action.view(-1, 1, 1).expand(-1, 1, out.shape[2])).squeeze(1)


def soft_value(values: Tensor, temperature: float) -> Tensor:
    """T log sum_a exp(Q(s, a) / T) [M]: the value of a state for a policy that is paid for its entropy
    (Haarnoja et al., 2017, equation 5)."""
    return temperature * torch.logsumexp(values / temperature, 1)


def project(probability: Tensor, atoms: Tensor, support: Tensor) -> Tensor:
    """Probabilities [M, K] of returns at `atoms` [M, K] -> at the evenly spaced `support` [K]: each atom's share goes
    to its two neighbours (Bellemare et al., 2017, algorithm 1)."""
    spacing = support[1] - support[0]
    place = (atoms.clamp(support[0], support[-1]) - support[0]) / spacing  # in atoms, 0 .. K - 1
    # [M, K support, K atoms]: how near each atom is to each point of the support, from 1 (on it) to 0
    near = (1 - (place.unsqueeze(1) - torch.arange(len(support), device=place.device).unsqueeze(1)).abs()).clamp_(min=0)
    return (near * probability.unsqueeze(1)).sum(2)


def quantile_huber(values: Tensor, fractions: Tensor, target: Tensor, kappa: float) -> Tensor:
    """Quantile regression with Huber's penalty (Dabney et al., 2018a, equation 10): values [M, K] at the fractions
    [M, K] or [K] against samples of the target distribution [M, J] -> [M]; sum over K, mean over J."""
    error = target.unsqueeze(1) - values.unsqueeze(2)
    side = (fractions.unsqueeze(-1) - (error < 0).to(error.dtype)).abs()
    huber = F.huber_loss(error, torch.zeros_like(error), reduction="none", delta=kappa) / kappa
    return (side * huber).mean(2).sum(1)


# ---------------------------------------------------------------------------------------------------------- heads


class Scalar:
    """The expected return itself."""

    def __init__(self, cfg: Any, actions: int) -> None:
        self.cfg, self.actions = cfg, actions
        self.penalty = F.smooth_l1_loss if cfg.loss == "huber" else F.mse_loss

    def layer(self, features: int) -> nn.Module:
        return value_layer(features, self.actions, dueling=self.cfg.dueling, std_init=_std_init(self.cfg))

    def values(self, out: Tensor) -> Tensor:
        return out

    def target(self, after: Successor) -> Tensor:
        """r + discount V(s'), where V is the value of the best next action, or the soft value."""
        if self.cfg.soft:
            value = soft_value(after.value, self.cfg.temperature)
        elif after.chooser is None:
            value = after.value.amax(1)
        else:
            value = of_action(after.value, after.best())
        return torch.addcmul(after.reward, after.discount, value)

    def loss(self, out: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        return self.penalty(out, target, reduction="none"), (target - out.detach()).abs()


class Categorical:
    """Logits of the probabilities of n_atoms returns, evenly spaced from v_min to v_max."""

    def __init__(self, cfg: Any, actions: int) -> None:
        self.cfg, self.actions = cfg, actions
        self.support = torch.linspace(cfg.v_min, cfg.v_max, cfg.n_atoms)

    def layer(self, features: int) -> nn.Module:
        cfg = self.cfg
        return value_layer(features, self.actions, cfg.n_atoms, dueling=cfg.dueling, std_init=_std_init(cfg))

    def values(self, out: Tensor) -> Tensor:
        return out.softmax(2) @ self.support.to(out.device)

    def target(self, after: Successor) -> Tensor:
        """The distribution of r + discount Z(s', a') [M, K]."""
        support = self.support.to(after.out.device)
        atoms = torch.addcmul(after.reward.unsqueeze(1), after.discount.unsqueeze(1), support)
        return project(of_action(after.out, after.best()).softmax(1), atoms, support)

    def loss(self, out: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Cross entropy; how wrong a sample was is its Kullback-Leibler divergence."""
        each = -(target * out.log_softmax(1)).sum(1)
        return each, each.detach() + torch.xlogy(target, target).sum(1)


class Quantile:
    """Returns at the midpoints of n_quantiles equal parts of the distribution."""

    def __init__(self, cfg: Any, actions: int) -> None:
        self.cfg, self.actions = cfg, actions
        self.middle = (torch.arange(cfg.n_quantiles) + 0.5) / cfg.n_quantiles

    def layer(self, features: int) -> nn.Module:
        cfg = self.cfg
        return value_layer(features, self.actions, cfg.n_quantiles, dueling=cfg.dueling, std_init=_std_init(cfg))

    def values(self, out: Tensor) -> Tensor:
        return out.mean(2)

    def target(self, after: Successor) -> Tensor:
        """Samples of r + discount Z(s', a') [M, K]."""
        next_values = of_action(after.out, after.best())
        return torch.addcmul(after.reward.unsqueeze(1), after.discount.unsqueeze(1), next_values)

    def fractions(self, out: Tensor) -> Tensor:
        """Of the quantiles that the outputs are."""
        return self.middle.to(out.device)

    def loss(self, out: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        each = quantile_huber(out, self.fractions(out), target, self.cfg.kappa)
        return each, (target.mean(1) - out.detach().mean(1)).abs()


class Implicit(Quantile):
    """Returns at fractions that are drawn anew for each batch."""

    def layer(self, features: int) -> nn.Module:
        output = value_layer(features, self.actions, dueling=self.cfg.dueling, std_init=_std_init(self.cfg))
        self.module = ImplicitQuantiles(features, output, self.cfg.n_quantiles)
        return self.module

    def fractions(self, out: Tensor) -> Tensor:
        return self.module.fractions


HEADS: dict[str, type[Scalar | Categorical | Quantile]] = {
    "scalar": Scalar,
    "categorical": Categorical,
    "quantile": Quantile,
    "implicit": Implicit,
}


def _std_init(cfg: Any) -> float | None:
    """Of a noisy output layer; None for a plain one."""
    return cfg.std_init if cfg.noisy else None
