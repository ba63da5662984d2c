"""SAC, and CQL as a variant: critics learn the soft action values, and the policy maximizes them."""

import math
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from algos.base import Batch, EnvSpec, Streams, UnfitError
from algos.common.fast.program import drawn
from algos.common.fast.tensors import on_device
from algos.common.maths import targets
from algos.common.maths.distributions import Bins
from algos.common.nets import critics
from algos.common.nets.layers import batch_statistics
from algos.common.nets.recurrent import Observed
from algos.common.parts.optim import Outcome
from algos.sac.actor_critic import SoftActorCritic
from algos.sac.config import Config
from algos.sac.losses import conservatism, similarity, soft_target


class Agent(SoftActorCritic):
    """A squashed Gaussian policy, critics and target critics."""

    METRICS: ClassVar[tuple[str, ...]] = SoftActorCritic.METRICS
    """Followed by cql_loss and similarity, if they are parts of the loss."""
    KEPT: ClassVar = ("networks", "target", "optimizer", "policy", "updates")
    REMADE: ClassVar = ("target_subset",)
    COMPILES: ClassVar = True

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device, out=cfg.critic_bins or 1)
        parts = {"cql_alpha": cfg.cql_alpha, "critic_bins": cfg.critic_bins, "diversity": cfg.diversity}
        parts |= {"critic_layers: batchnorm": self.joint}
        for setting in (name for name, value in parts.items() if value and self.policy.choices is not None):
            space = spec.action_space
            raise UnfitError(
                "algo_cfg.{setting} is for Box actions, and these are {space}", setting=setting, space=space
            )
        self.bins = Bins(cfg.critic_bins, cfg.critic_range, device) if cfg.critic_bins else None
        if self.bins is not None:
            critics.set_bias(self.critic, self.bins.first_bias())
        terms = {"cql_loss": cfg.cql_alpha, "similarity": cfg.diversity}
        self.METRICS = (*self.METRICS, *(name for name, weight in terms.items() if weight))  # type: ignore[misc]
        self.target = targets.frozen_copy(self.critic)
        # REDQ: the random subset of target critics in an update is copied to a smaller ensemble
        count = cfg.target_critics or cfg.n_critics
        self.target_subset = self._critics(count) if count < cfg.n_critics else self.target
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
        cfg, weight = self.cfg, batch.get("weight")
        if self.joint or self.bins is not None:
            out, target = self._outputs(batch, noise)
            q = self._q(out)
        else:
            target = self._target(batch, noise)
            q = self.critic(batch["obs"], self.policy.to_unit(batch["action"])).squeeze(-1)
            q = self.policy.chosen(q, batch["action"])
        if self.bins is None:
            loss = targets.td_loss(q, target, weight, cfg.loss == "huber")
        else:
            loss = self.bins.loss(out, target, weight)
        extra = {}
        if cfg.cql_alpha:
            conservative = conservatism(*self._drawn(batch), q)
            loss, extra = loss + cfg.cql_alpha * conservative, {"cql_loss": conservative.detach()}
        if cfg.diversity:
            alike = similarity(self._slopes(batch))
            loss, extra = loss + cfg.diversity * alike, {**extra, "similarity": alike.detach()}
        metrics = {"critic_loss": loss.detach(), "q_mean": q.detach().mean(), **extra}
        if weight is None:
            return loss, Outcome(metrics)
        expected = target if self.bins is None else target @ self.bins.support
        return loss, Outcome(metrics, targets.priorities(q, expected))

    def _q(self, out: Tensor) -> Tensor:
        """Returns the values [n, B] of outputs [n, B, K] of critics."""
        return out.squeeze(-1) if self.bins is None else self.bins.mean(out)

    def _outputs(self, batch: Batch, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the outputs of the critics [n, B, K], and their target, [B] or with bins [B, K]. Critics with batch
        normalization get the actions of the data and of the policy in one batch, as do the target critics."""
        with torch.no_grad():
            next_action, next_log_prob = self.policy.draw(batch["next_obs"], noise)
        obs, next_obs, action = batch["obs"], batch["next_obs"], self.policy.bounds.to_unit(batch["action"])
        # not within no_grad, since the weights are frozen: there is no graph
        if self.joint:
            both = torch.cat([action, next_action])
            with batch_statistics(self.critic), batch_statistics(self.target_subset):
                out = self.critic.with_successors(obs, next_obs, both).chunk(2, 1)[0]
                next_out = self.target_subset.with_successors(obs, next_obs, both).chunk(2, 1)[1]
        else:
            next_out, out = self.target_subset(next_obs, next_action), self.critic(obs, action)
        return out, self._target_of(batch, next_out, next_log_prob)

    def _target_of(self, batch: Batch, next_out: Tensor, next_log_prob: Tensor) -> Tensor:
        """Returns the target from the outputs [n, B, K] of the target critics for the next action."""
        alpha = self.policy.temperature.alpha() if self.cfg.entropy_backup else next_log_prob.new_zeros(())
        reward = batch["reward"] * self.cfg.reward_scale
        if self.bins is None:
            return soft_target(reward, batch["discount"], next_out.squeeze(-1), next_log_prob, alpha)
        return self.bins.target(next_out, reward, batch["discount"], -alpha * next_log_prob)

    def _slopes(self, batch: Batch) -> Tensor:
        """Returns the gradients [n, B, A] of the critics with respect to the action, with a graph."""
        action = self.policy.bounds.to_unit(batch["action"]).repeat(self.cfg.n_critics, 1, 1).requires_grad_()
        total = self._q(self.critic(batch["obs"], action)).sum()
        return torch.autograd.grad(total, action, create_graph=True)[0]

    def _drawn(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns values [n, K, B] in states obs and log densities [K, B] of actions drawn uniformly, and from the
        policy in these states and in the next ones."""
        obs, next_obs = batch["obs"], batch["next_obs"]
        count, rows, size = self.cfg.cql_actions, len(obs), self.policy.bounds.size
        here, there = (critics.repeated(states, count) for states in (obs, next_obs))
        rng, sizes = self.streams.learn, (count * rows, size)
        uniform = drawn(rng, lambda: on_device(rng.uniform(-1.0, 1.0, sizes).astype(np.float32), self.device))
        with torch.no_grad():
            actions = [self.policy.draw(states, self.policy.noise(len(states))) for states in (here, there)]
        density = torch.full((count * rows,), -size * math.log(2.0), device=self.device)
        actions.append((uniform, density))
        values = [self._q(self.critic(here, action)).unflatten(1, (count, rows)) for action, _ in actions]
        if "to_go" in batch:
            least = batch["to_go"] * self.cfg.reward_scale
            values[:2] = [torch.maximum(value, least) for value in values[:2]]
        return torch.cat(values, 1), torch.cat([log_density.view(count, rows) for _, log_density in actions])

    def _target(self, batch: Batch, noise: Tensor) -> Tensor:
        """Returns the targets of the critics; of those with bins, their probabilities."""
        if self.joint or self.bins is not None:
            return self._outputs(batch, noise)[1]
        obs, mask, backup = batch["next_obs"], batch.get("next_action_mask"), self.cfg.entropy_backup
        next_q, next_log_prob = self.policy.next_value(
            obs, noise, mask, lambda action: self.target_subset(obs, action).squeeze(-1), backup
        )
        alpha = self.policy.temperature.alpha() if backup else next_log_prob.new_zeros(())
        return soft_target(batch["reward"] * self.cfg.reward_scale, batch["discount"], next_q, next_log_prob, alpha)

    def _value(self, obs: Observed, action: Tensor) -> Tensor:
        q = self._q(self.critic(obs, action))
        return q.amin(0) if self.cfg.actor_value == "min" else q.mean(0)
