"""CrossQ: SAC without target networks; joint batch renormalization of both action distributions replaces them."""

from typing import ClassVar

import torch
from torch import Tensor

from algos.base import Batch, EnvSpec, Streams
from algos.common.maths import targets
from algos.common.nets.layers import batch_statistics
from algos.common.nets.recurrent import Observed
from algos.common.parts.optim import Outcome
from algos.crossq.config import FIRST_BETA, Config
from algos.sac.actor_critic import SoftActorCritic
from algos.sac.losses import soft_target


class Agent(SoftActorCritic):
    """A squashed Gaussian policy and critics, all with batch renormalization."""

    KEPT: ClassVar = ("networks", "optimizer", "policy", "updates")
    COMPILES: ClassVar = True

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device, beta1=FIRST_BETA)

    def _loss(self, batch: Batch, noise: Tensor) -> tuple[Tensor, Outcome]:
        weight = batch.get("weight")
        q, target = self._values(batch, noise)
        loss = targets.td_loss(q, target, weight, self.cfg.loss == "huber")
        priorities = None if weight is None else targets.priorities(q, target)
        return loss, Outcome({"critic_loss": loss.detach(), "q_mean": q.detach().mean()}, priorities)

    def _values(self, batch: Batch, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Returns Q(s, a) [n, B] and its target [B], from one pass over both, so that they share batch statistics."""
        with torch.no_grad():
            next_action, next_log_prob = self.policy.draw(batch["next_obs"], noise)
        action = torch.cat([self.policy.bounds.to_unit(batch["action"]), next_action])
        with batch_statistics(self.critic):
            both = self.critic.with_successors(batch["obs"], batch["next_obs"], action).squeeze(-1)
        q, next_q = both.chunk(2, 1)
        reward, alpha = batch["reward"] * self.cfg.reward_scale, self.policy.temperature.alpha()
        return q, soft_target(reward, batch["discount"], next_q, next_log_prob, alpha)

    def _value(self, obs: Observed, action: Tensor) -> Tensor:
        return self.critic(obs, action).squeeze(-1).amin(0)
