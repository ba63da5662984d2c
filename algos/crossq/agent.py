"""CrossQ: SAC without target networks; joint batch renormalization of both action distributions replaces them."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from algos.base import Batch, EnvSpec, Result, Streams
from algos.common.maths.normalize import normalizer_for
from algos.common.nets import critics
from algos.common.nets.renorm import BatchRenorm, batch_statistics
from algos.common.parts import optim
from algos.common.parts.acting import PolicyAgent
from algos.common.parts.soft_policy import SoftPolicy
from algos.common.parts.unroll import Observed
from algos.crossq.config import Config


def soft_target(reward: Tensor, discount: Tensor, next_q: Tensor, next_log_prob: Tensor, alpha: Tensor) -> Tensor:
    """Returns r + discount (min_i Q_i(s', a') - alpha log pi(a'|s')) [B] with the critics themselves; next_q is [n, B].
    discount [B] is gamma^k, and 0 if s' is terminal. No gradient flows through it."""
    return torch.addcmul(reward, discount, next_q.detach().amin(0) - alpha * next_log_prob)


class Agent(PolicyAgent[SoftPolicy]):
    """A squashed Gaussian policy and critics, all with batch renormalization."""

    METRICS: ClassVar = ("critic_loss", "q_mean", *SoftPolicy.METRICS)
    KEPT: ClassVar = ("networks", "optimizer", "policy", "updates")

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.normalizer = normalizer_for(spec.observation_space, device) if cfg.normalize_obs else None
        self.policy = SoftPolicy(cfg, spec, streams, device, self.normalizer, self._value, cfg.adam_beta1)
        self.critic = critics.build(
            spec, cfg.critic_layers, cfg, streams.init + 1, members=cfg.n_critics, actions=self.policy.bounds.size,
            normalizer=self.normalizer,
        ).to(device)  # fmt: skip
        self.policy.carried.add("critic", self.critic.front)
        self.parameters: list[Tensor] = list(self.critic.parameters())
        self.optimizer = optim.make(self.parameters, cfg, cfg.critic_lr, beta1=cfg.adam_beta1)
        parts = {"actor": self.policy.network, "temperature": self.policy.temperature, "critic": self.critic}
        self.networks = nn.ModuleDict(parts)
        norms = [module for module in self.networks.modules() if isinstance(module, BatchRenorm)]
        self.statistics = [buffer for norm in norms for buffer in norm.buffers()]
        self.updates = 0

    def update(self, batch: Batch) -> Result:
        cfg, weight = self.cfg, batch.get("weight")
        self.updates += 1
        q, target = self._values(batch)
        loss = critics.td_loss(q, target, weight, cfg.loss == "huber")
        optim.descend(loss, batch, self.optimizer, self.parameters, cfg.max_grad_norm, self.reduce)
        if self.updates % cfg.policy_freq == 0:
            self._improve(batch["obs"], len(target))
        if self.learners > 1:
            self.reduce(self.statistics)
        priorities = None if weight is None else critics.priorities(q, target)
        return Result({"critic_loss": loss.detach(), "q_mean": q.detach().mean(), **self.policy.metrics}, priorities)

    def _values(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns Q(s, a) [n, B] and its target [B], from one pass over both, so that they share batch statistics."""
        with torch.no_grad():
            next_action, next_log_prob = self.policy.draw(batch["next_obs"], self.policy.noise(len(batch["reward"])))
        action = torch.cat([self.policy.bounds.to_unit(batch["action"]), next_action])
        with batch_statistics(self.critic):
            both = self.critic.with_successors(batch["obs"], batch["next_obs"], action).squeeze(-1)
        q, next_q = both.chunk(2, 1)
        reward, alpha = batch["reward"] * self.cfg.reward_scale, self.policy.temperature.alpha()
        return q, soft_target(reward, batch["discount"], next_q, next_log_prob, alpha)

    def _improve(self, obs: Observed, rows: int) -> None:
        """Makes one actor step, with batch statistics in the policy and running statistics in the critics."""
        with batch_statistics(self.policy.network):
            self.policy.improve(obs, self.policy.noise(rows), self.reduce)

    def _value(self, obs: Observed, action: Tensor) -> Tensor:
        """Returns the value that the actor maximizes [B]."""
        return self.critic(obs, action).squeeze(-1).amin(0)
