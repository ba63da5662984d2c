"""CQL: SAC whose critics are conservative: values of actions that the data do not choose are pushed down."""

import math
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from algos.base import Batch, Result
from algos.sac import agent as sac


def conservatism(values: Tensor, log_density: Tensor, q: Tensor) -> Tensor:
    """Returns the mean over the batch, summed over the critics, of log mean_k exp(Q(s, a_k) - log mu(a_k)) - Q(s, a):
    CQL(H) with importance sampling (appendix F of Kumar et al., 2020). values [n, K, B] and log_density [K, B] are
    those of K drawn actions, q [n, B] of the data's action."""
    drawn = (values - log_density).logsumexp(1) - math.log(len(log_density))
    return (drawn - q).mean(1).sum()


class Agent(sac.Agent):
    """SAC with a conservative loss of the critics."""

    METRICS: ClassVar = (*sac.Agent.METRICS, "cql_loss")

    def update(self, batch: Batch) -> Result:
        result = super().update(batch)
        return result._replace(metrics={**result.metrics, "cql_loss": self.cql_loss.detach()})

    def _critic_loss(self, batch: Batch, q: Tensor, target: Tensor) -> Tensor:
        self.cql_loss = conservatism(*self._drawn(batch["obs"], batch["next_obs"]), q)
        return super()._critic_loss(batch, q, target) + self.cfg.cql_alpha * self.cql_loss

    def _drawn(self, obs: Tensor, next_obs: Tensor) -> tuple[Tensor, Tensor]:
        """Returns values [n, K, B] in states obs and log densities [K, B] of actions drawn uniformly, and from the
        policy in these states and in the next ones."""
        count, rows, size = self.cfg.cql_actions, len(obs), self.policy.bounds.size
        here, there = (each.repeat(count, *[1] * (each.ndim - 1)) for each in (obs, next_obs))
        uniform = self.streams.learn.uniform(-1.0, 1.0, (count * rows, size)).astype(np.float32)
        with torch.no_grad():
            drawn = [self.policy.draw(here), self.policy.draw(there)]
        drawn.append((torch.from_numpy(uniform).to(self.device), here.new_full((count * rows,), -size * math.log(2.0))))
        values = [self.critic(here, action).squeeze(-1).unflatten(1, (count, rows)) for action, _ in drawn]
        return torch.cat(values, 1), torch.cat([log_density.view(count, rows) for _, log_density in drawn])
