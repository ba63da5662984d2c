"""TRPO: natural gradient steps within a trust region."""

from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from algos.base import Batch, EnvSpec, Progress, Result, Streams
from algos.common.maths.returns import RewardScaler
from algos.common.nets import custom
from algos.common.nets.layers import changed_by
from algos.common.nets.recurrent import differentiable_twice
from algos.common.parts import optim
from algos.common.parts.acting import PolicyAgent
from algos.common.parts.actor_critic import ActorCritic, advantages, policy_loss, seen, squared_error, standardized
from algos.trpo.config import Config
from algos.trpo.natural_gradient import conjugate_gradient, flat, hessian_product, longest_step, place
from config.tell.language import tr


def surrogate(log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor) -> Tensor:
    """Returns mean r A with r = pi/pi_old (equation 14), the objective of a step; all [B]."""
    return ((log_prob - old_log_prob).exp() * advantage).mean()


class AcceptedStep(NamedTuple):
    """gain, kl and share of the full step, for the accepted step; all 0 if none was accepted."""

    gain: float = 0.0
    kl: float = 0.0
    share: float = 0.0


class Agent(PolicyAgent[ActorCritic]):
    """A policy network without an optimizer, and a value network with one."""

    METRICS: ClassVar = ("gain", "value_loss", "entropy", "kl", "step_share", "explained_variance")
    KEPT: ClassVar = ("networks", "optimizer", "scaler")
    CUTS_MINIBATCHES: ClassVar = True

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.scaler = RewardScaler(spec.rows, cfg.gamma, device) if cfg.normalize_reward else None
        self.policy = ActorCritic(cfg, spec, streams.init, self.normalizer, device)
        self.networks = self.policy.networks
        custom.refuse(self.networks["actor"], tr("the step of TRPO's policy has no loss"))
        self.policy_parameters: list[Tensor] = [*changed_by(self.networks["actor"])]
        self.optimizer = optim.make(self.networks["critic"].parameters(), cfg, cfg.critic_lr)

    @torch.no_grad()
    def prepare(self, window: Batch, progress: Progress) -> Batch:
        cfg = self.cfg
        if self.normalizer is not None:
            self.policy.observe(window)
            window = self.policy.carried.recomputed(window, cfg.lookup_step)
        return {**seen(window), **advantages(self.policy, window, self.scaler, cfg.gamma, cfg.gae_lambda)}

    def standardize(self, batch: Batch) -> Batch:
        return standardized(batch) if self.cfg.normalize_advantage else batch

    def update(self, batch: Batch) -> Result:
        """Makes one policy step with the whole window, and epochs of minibatches for the value network."""
        steps = self.share(batch)
        step, entropy = self._full_step(steps)
        accepted = self._line_search(steps, step)
        explained = self.policy.explained_variance
        metrics = (accepted.gain, self._fit_value(batch), entropy, accepted.kl, accepted.share, explained)
        tensors = (torch.as_tensor(metric, device=self.device) for metric in metrics)
        return Result(dict(zip(self.METRICS, tensors, strict=True)))

    def _full_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns F^-1 g [P], scaled to max_kl in the quadratic model of the divergence, and the mean entropy."""
        cfg, distribution, parameters = self.cfg, self.policy.distribution, self.policy_parameters
        with differentiable_twice(self.policy.actor):
            outputs = self.policy.outputs(batch)
        entropy = distribution.entropy(outputs).mean()
        # at the old policy, this loss has the gradient of the surrogate
        loss = policy_loss(distribution.log_prob(outputs, batch["drawn"]), batch["advantage"])
        objective = self.now.entropy_coef * entropy - loss
        gradient = flat(torch.autograd.grad(objective, parameters, retain_graph=True))
        self.reduce([gradient])
        divergence = hessian_product(distribution.kl(outputs.detach(), outputs).mean(), parameters)

        def fisher(vector: Tensor) -> Tensor:
            product = divergence(vector)
            self.reduce([product])
            return product + cfg.cg_damping * vector

        direction = conjugate_gradient(fisher, gradient, cfg.cg_steps)
        return longest_step(direction, fisher, cfg.max_kl), entropy.detach()

    @torch.no_grad()
    def _line_search(self, batch: Batch, step: Tensor) -> AcceptedStep:
        """Backtracking line search: halves the step until the objective grows and the KL divergence is within
        max_kl."""
        start = [p.clone() for p in self.policy_parameters]
        old = self.policy.outputs(batch)
        for k in range(self.cfg.line_search_steps):
            place(self.policy_parameters, start, 0.5**k * step)
            numbers = self._gain_and_kl(batch, old)
            self.reduce([numbers])
            gain, kl = numbers.tolist()
            if gain > 0 and kl <= self.cfg.max_kl:
                return AcceptedStep(gain, kl, 0.5**k)
        place(self.policy_parameters, start, torch.zeros_like(step))
        return AcceptedStep()

    def _gain_and_kl(self, batch: Batch, old: Tensor) -> Tensor:
        """Returns [2]: the gain in the objective over the old policy, and the mean KL divergence from it."""
        distribution, new = self.policy.distribution, self.policy.outputs(batch)
        old_log_prob = distribution.log_prob(old, batch["drawn"])
        gain = surrogate(distribution.log_prob(new, batch["drawn"]), old_log_prob, batch["advantage"])
        entropy = (distribution.entropy(new) - distribution.entropy(old)).mean()
        gain = gain - batch["advantage"].mean() + self.now.entropy_coef * entropy
        return torch.stack([gain, distribution.kl(old, new).mean()])

    def _fit_value(self, batch: Batch) -> Tensor:
        """Trains the value network for k_epochs epochs of shuffled minibatches; returns the mean loss."""
        losses = []
        for part in self.minibatches(batch, self.cfg.sgd_batch_size, self.cfg.k_epochs):
            loss = squared_error(self.policy.value(part), part["target"])
            self.descend(loss, part, self.optimizer)
            losses.append(loss.detach())
        return torch.stack(losses).mean()
