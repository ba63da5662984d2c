"""SAC: critics learn the soft action values, and the policy maximizes them. The actor's loss is in soft_policy.py, that
of the temperature in temperature.py, the TD loss in critics.py."""

import math
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from algos.base import Batch, EnvSpec, Result, Streams
from algos.common.maths import targets
from algos.common.maths.normalize import normalizer_for
from algos.common.nets import critics
from algos.common.parts import optim
from algos.common.parts.acting import PolicyAgent
from algos.common.parts.soft_policy import SoftPolicy
from algos.common.parts.unroll import Observed
from algos.sac.config import Config


def soft_target(reward: Tensor, discount: Tensor, next_q: Tensor, next_log_prob: Tensor, alpha: Tensor) -> Tensor:
    """Returns r + discount (min_i Q'_i(s', a') - alpha log pi(a'|s')) [B] (equations 2, 3 and 5); next_q is [n, B].
    discount [B] is gamma^k, and 0 if s' is terminal."""
    return torch.addcmul(reward, discount, next_q.amin(0) - alpha * next_log_prob)


def conservatism(values: Tensor, log_density: Tensor, q: Tensor) -> Tensor:
    """Returns the mean over the batch, summed over the critics, of log mean_k exp(Q(s, a_k) - log mu(a_k)) - Q(s, a):
    CQL(H) with importance sampling (appendix F of Kumar et al., 2020). values [n, K, B] and log_density [K, B] are
    those of K drawn actions, q [n, B] of the data's action."""
    drawn = (values - log_density).logsumexp(1) - math.log(len(log_density))
    return (drawn - q).mean(1).sum()


class Agent(PolicyAgent[SoftPolicy]):
    """A squashed Gaussian policy, critics and target critics."""

    METRICS: ClassVar[tuple[str, ...]] = ("critic_loss", "q_mean", *SoftPolicy.METRICS)
    """Followed by cql_loss, if that is part of the loss."""
    KEPT: ClassVar = ("networks", "target", "optimizer", "policy", "updates")
    COMPILES: ClassVar = True

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        if cfg.cql_alpha:
            self.METRICS = (*type(self).METRICS, "cql_loss")  # type: ignore[misc]
        self.normalizer = normalizer_for(spec.observation_space, device) if cfg.normalize_obs else None
        self.policy = SoftPolicy(cfg, spec, streams, device, self.normalizer, self._value)
        self.critic = self._critic(cfg.n_critics).to(device)
        self.policy.carried.add("critic", self.critic.front)
        self.target = targets.frozen_copy(self.critic)
        # REDQ: the random subset of target critics in an update is copied to a smaller ensemble
        subset = cfg.target_critics < cfg.n_critics
        self.target_subset = self._critic(cfg.target_critics).to(device) if subset else self.target
        self.target_subset.front = self.target.front
        targets.freeze(self.target_subset)
        self.parameters: list[Tensor] = list(self.critic.parameters())
        self.target_parameters: list[Tensor] = list(self.target.parameters())
        self.optimizer = optim.make(self.parameters, cfg, cfg.critic_lr)
        parts = {"actor": self.policy.network, "temperature": self.policy.temperature, "critic": self.critic}
        self.networks = nn.ModuleDict(parts)
        self.step = self.minimize(self._loss, self.optimizer)
        self.updates = 0

    def _critic(self, members: int) -> critics.Critic:
        cfg, seed, actions = self.cfg, self.streams.init + 1, self.policy.bounds.size
        return critics.build(
            self.spec, cfg.critic_layers, cfg, seed, members=members, actions=actions, normalizer=self.normalizer
        )

    def update(self, batch: Batch) -> Result:
        cfg = self.cfg
        self.updates += 1
        noise = self.policy.noise(len(batch["action"]))
        self._choose_targets()
        metrics, priorities = self.step(batch, noise, reduce=self.reduce)
        targets.follow(self.target_parameters, self.parameters, cfg, self.updates)
        if self.updates % cfg.policy_freq == 0:
            self.policy.improve(batch["obs"], self.policy.noise(len(noise)), self.reduce)
        return Result({**metrics, **self.policy.metrics}, priorities)

    def _choose_targets(self) -> None:
        """Draws the target critics of an update, if these are fewer than there are."""
        if self.target_subset is not self.target:
            chosen = self.streams.learn.permutation(self.cfg.n_critics)[: self.cfg.target_critics]
            critics.copy_members(self.target_subset, self.target, torch.from_numpy(chosen).to(self.device))

    def _loss(self, batch: Batch, noise: Tensor) -> tuple[Tensor, tuple[dict[str, Tensor], Tensor | None]]:
        """Returns the loss of the critics; the metrics, and the priorities [M] in prioritized replay. noise: of the
        next actions."""
        cfg, target = self.cfg, self._target(batch, noise)
        q = self.critic(batch["obs"], self.policy.bounds.to_unit(batch["action"])).squeeze(-1)
        loss = critics.td_loss(q, target, batch.get("weight"), cfg.loss == "huber")
        extra = {}
        if cfg.cql_alpha:
            conservative = conservatism(*self._drawn(batch["obs"], batch["next_obs"]), q)
            loss, extra = loss + cfg.cql_alpha * conservative, {"cql_loss": conservative.detach()}
        metrics = {"critic_loss": loss.detach(), "q_mean": q.detach().mean(), **extra}
        return loss, (metrics, critics.priorities(q, target) if "weight" in batch else None)

    @classmethod
    def uncompiled(cls, cfg: Config) -> str | None:
        return "actions are drawn within the loss of cql_alpha" if cfg.cql_alpha else super().uncompiled(cfg)

    def _drawn(self, obs: Tensor, next_obs: Tensor) -> tuple[Tensor, Tensor]:
        """Returns values [n, K, B] in states obs and log densities [K, B] of actions drawn uniformly, and from the
        policy in these states and in the next ones."""
        count, rows, size = self.cfg.cql_actions, len(obs), self.policy.bounds.size
        here, there = (critics.repeated(each, count) for each in (obs, next_obs))
        uniform = self.streams.learn.uniform(-1.0, 1.0, (count * rows, size)).astype(np.float32)
        with torch.no_grad():
            drawn = [self.policy.draw(each, self.policy.noise(len(each))) for each in (here, there)]
        drawn.append((torch.from_numpy(uniform).to(self.device), obs.new_full((count * rows,), -size * math.log(2.0))))
        values = [self.critic(here, action).squeeze(-1).unflatten(1, (count, rows)) for action, _ in drawn]
        return torch.cat(values, 1), torch.cat([log_density.view(count, rows) for _, log_density in drawn])

    def _target(self, batch: Batch, noise: Tensor) -> Tensor:
        with torch.no_grad():
            next_action, next_log_prob = self.policy.draw(batch["next_obs"], noise)
        # not within no_grad, since the weights are frozen: there is no graph
        next_q = self.target_subset(batch["next_obs"], next_action).squeeze(-1)
        alpha = self.policy.temperature.alpha() if self.cfg.entropy_backup else next_log_prob.new_zeros(())
        return soft_target(batch["reward"] * self.cfg.reward_scale, batch["discount"], next_q, next_log_prob, alpha)

    def _value(self, obs: Observed, action: Tensor) -> Tensor:
        """Returns the value that the actor maximizes [B]."""
        q = self.critic(obs, action).squeeze(-1)
        return q.amin(0) if self.cfg.actor_value == "min" else q.mean(0)
