"""SAC, and CQL as a variant: critics learn the soft action values, and the policy maximizes them."""

import math
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from algos.base import Batch, EnvSpec, Streams, UnfitError
from algos.common.maths import targets
from algos.common.nets import critics
from algos.common.parts.optim import Outcome
from algos.common.parts.sequences import Observed
from algos.sac.actor_critic import SoftActorCritic
from algos.sac.config import Config
from algos.sac.losses import conservatism, soft_target
from config.tell.language import tr


class Agent(SoftActorCritic):
    """A squashed Gaussian policy, critics and target critics."""

    METRICS: ClassVar[tuple[str, ...]] = SoftActorCritic.METRICS
    """Followed by cql_loss, if that is part of the loss."""
    KEPT: ClassVar = ("networks", "target", "optimizer", "policy", "updates")
    COMPILES: ClassVar = True

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        if cfg.cql_alpha:
            if self.policy.choices is not None:
                raise UnfitError(
                    tr("algo_cfg.cql_alpha is for Box actions, and these are {space}", space=spec.action_space)
                )
            self.METRICS = (*self.METRICS, "cql_loss")  # type: ignore[misc]
        self.target = targets.frozen_copy(self.critic)
        # REDQ: the random subset of target critics in an update is copied to a smaller ensemble
        self.target_subset = self._critics(cfg.target_critics) if cfg.target_critics < cfg.n_critics else self.target
        self.target_subset.front = self.target.front
        targets.freeze(self.target_subset)
        self.target_parameters: list[Tensor] = list(self.target.parameters())

    def _choose_targets(self) -> None:
        if self.target_subset is not self.target:
            chosen = self.streams.learn.permutation(self.cfg.n_critics)[: self.cfg.target_critics]
            critics.copy_members(self.target_subset, self.target, torch.from_numpy(chosen).to(self.device))

    def _follow(self) -> None:
        targets.follow(self.target_parameters, self.parameters, self.cfg, self.updates)

    def _loss(self, batch: Batch, noise: Tensor) -> tuple[Tensor, Outcome]:
        cfg, target = self.cfg, self._target(batch, noise)
        q = self.critic(batch["obs"], self.policy.to_unit(batch["action"])).squeeze(-1)
        q = self.policy.chosen(q, batch["action"])
        loss = targets.td_loss(q, target, batch.get("weight"), cfg.loss == "huber")
        extra = {}
        if cfg.cql_alpha:
            conservative = conservatism(*self._drawn(batch["obs"], batch["next_obs"]), q)
            loss, extra = loss + cfg.cql_alpha * conservative, {"cql_loss": conservative.detach()}
        metrics = {"critic_loss": loss.detach(), "q_mean": q.detach().mean(), **extra}
        return loss, Outcome(metrics, targets.priorities(q, target) if "weight" in batch else None)

    @classmethod
    def uncompiled(cls, cfg: Config) -> str | None:
        return tr("actions are drawn within the loss of cql_alpha") if cfg.cql_alpha else super().uncompiled(cfg)

    def _drawn(self, obs: Tensor, next_obs: Tensor) -> tuple[Tensor, Tensor]:
        """Returns values [n, K, B] in states obs and log densities [K, B] of actions drawn uniformly, and from the
        policy in these states and in the next ones."""
        count, rows, size = self.cfg.cql_actions, len(obs), self.policy.bounds.size
        here, there = (critics.repeated(states, count) for states in (obs, next_obs))
        uniform = self.streams.learn.uniform(-1.0, 1.0, (count * rows, size)).astype(np.float32)
        with torch.no_grad():
            drawn = [self.policy.draw(states, self.policy.noise(len(states))) for states in (here, there)]
        drawn.append((torch.from_numpy(uniform).to(self.device), obs.new_full((count * rows,), -size * math.log(2.0))))
        values = [self.critic(here, action).squeeze(-1).unflatten(1, (count, rows)) for action, _ in drawn]
        return torch.cat(values, 1), torch.cat([log_density.view(count, rows) for _, log_density in drawn])

    def _target(self, batch: Batch, noise: Tensor) -> Tensor:
        obs, mask, backup = batch["next_obs"], batch.get("next_action_mask"), self.cfg.entropy_backup
        next_q, next_log_prob = self.policy.next_value(
            obs, noise, mask, lambda action: self.target_subset(obs, action).squeeze(-1), backup
        )
        alpha = self.policy.temperature.alpha() if backup else next_log_prob.new_zeros(())
        return soft_target(batch["reward"] * self.cfg.reward_scale, batch["discount"], next_q, next_log_prob, alpha)

    def _value(self, obs: Observed, action: Tensor) -> Tensor:
        q = self.critic(obs, action).squeeze(-1)
        return q.amin(0) if self.cfg.actor_value == "min" else q.mean(0)
