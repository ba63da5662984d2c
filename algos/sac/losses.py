"""The losses of SAC: of the critics, of the policy and of the temperature. The loss of the critics is the TD loss
(targets.td_loss) of the soft target; CQL adds conservatism to it."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F


def soft_target(reward: Tensor, discount: Tensor, next_q: Tensor, next_log_prob: Tensor, alpha: Tensor) -> Tensor:
    """Returns r + discount (min_i Q'_i(s', a') - alpha log pi(a'|s')) [B] (equations 2, 3 and 5); next_q is [n, B].
    discount [B] is gamma^k, and 0 if s' is terminal. No gradient flows through it."""
    return torch.addcmul(reward, discount, next_q.detach().amin(0) - alpha * next_log_prob)


def policy_loss(log_prob: Tensor, q: Tensor, alpha: Tensor) -> Tensor:
    """Returns mean(alpha log pi(a|s) - Q(s, a)) (equation 7 of Haarnoja et al., 2018); log_prob and q are [B]."""
    return (alpha * log_prob - q).mean()


def temperature_gradient(entropy: Tensor, target: Tensor | float) -> Tensor:
    """Returns the mean excess of the entropy [B] over its target: the gradient of equation 18 of Haarnoja et al. (2018)
    with respect to log alpha, which stands in place of alpha there, so that steps do not shrink with alpha."""
    return (entropy.detach() - target).mean()


def conservatism(values: Tensor, log_density: Tensor, q: Tensor) -> Tensor:
    """Returns the mean over the batch, summed over the critics, of log mean_k exp(Q(s, a_k) - log mu(a_k)) - Q(s, a):
    CQL(H) with importance sampling (appendix F of Kumar et al., 2020). values [n, K, B] and log_density [K, B] are
    those of K drawn actions, q [n, B] of the data's action."""
    drawn = (values - log_density).logsumexp(1) - math.log(len(log_density))
    return (drawn - q).mean(1).sum()


def similarity(slopes: Tensor) -> Tensor:
    """Returns the mean over the batch of the cosines between the gradients of all pairs of critics [n, B, A], both
    orders counted, divided by n - 1 (EDAC, An et al., 2021)."""
    units = F.normalize(slopes, dim=-1, eps=1e-10)
    total = units.sum(0).square().sum(-1) - units.square().sum(-1).sum(0)  # without the pairs of one critic
    return total.mean() / (len(slopes) - 1)
