"""BC: the policy maximizes the log probability of the actions in the data, or of those that an expert says."""

from functools import partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from algos.base import Act, Array, Batch, EnvSpec, Explore, Progress, Result, Streams
from algos.bc.config import Config
from algos.bc.mixture import Mixture
from algos.common.maths.distributions import distribution_for
from algos.common.maths.exploration import exponential
from algos.common.maths.gaussian import DiagGaussian, keep_spread, log_stds
from algos.common.parts import optim
from algos.common.parts.acting import PolicyAgent
from algos.common.parts.actor_critic import ActorCritic


def cloning_loss(log_prob: Tensor, entropy: Tensor, coef: float) -> Tensor:
    """Returns -mean log pi(a|s) - coef mean H(pi(.|s)); both are [B]."""
    return -log_prob.mean() - coef * entropy.mean()


def squared_error(mean: Tensor, action: Tensor) -> Tensor:
    """Returns the mean over samples and dimensions of (pi(s) - a)^2; both are [B, A]."""
    return (mean - action).square().mean()


class Agent(PolicyAgent[ActorCritic]):
    """A policy network."""

    METRICS: ClassVar = ("loss", "entropy")
    KEPT: ClassVar = ("networks", "optimizer")
    COMPILES: ClassVar = True

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        mixture = partial(Mixture, components=cfg.components) if cfg.head == "mixture" else DiagGaussian
        self.policy = ActorCritic(
            cfg, spec, streams.init, self.normalizer, device,
            with_critic=False, distribution=distribution_for(spec.action_space, mixture),
        )  # fmt: skip
        self.networks = self.policy.networks
        self.optimizer = optim.make(self.networks.parameters(), cfg, cfg.lr)
        self.log_stds = log_stds(self.networks)
        self.step = self.minimize(self._loss, self.optimizer)
        self.squared = isinstance(self.policy.distribution, DiagGaussian) and cfg.head == "deterministic"

    # acting -----------------------------------------------------------------------------------------------

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        # the squared error learns no deviation, so what it plays while it collects is the action itself
        act = super().act(obs, state, mask, None if self.squared else explore)
        if explore is None or self.expert is None or explore.progress.evaluating:
            return act
        return self._labeled(act, self.expert(obs, mask), explore)

    def _labeled(self, act: Act, label: Array, explore: Explore) -> Act:
        """Returns the mixture of both policies, beta of it the expert's, with the expert's actions to learn from."""
        by_expert = explore.rng.random(len(label)) < self._beta(explore.progress)
        action = np.where(by_expert.reshape(-1, *[1] * (label.ndim - 1)), label, act.action)
        return Act(action.astype(label.dtype, copy=False), {"expert_action": label}, act.state)

    def _beta(self, progress: Progress) -> float:
        return exponential(self.cfg.beta, 0.0, self.cfg.beta_decay, progress.step)

    def exploration(self, progress: Progress) -> dict[str, float]:
        return {} if self.cfg.asked_expert() is None else {"beta": self._beta(progress)}

    # learning ---------------------------------------------------------------------------------------------

    def update(self, batch: Batch) -> Result:
        metrics = self.step(batch, reduce=self.reduce)
        keep_spread(self.log_stds, self.cfg.log_std_min)
        return Result(metrics)

    def _loss(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        distribution = self.policy.distribution
        label = batch.get("expert_action", batch["action"])
        outputs, action = self.policy.outputs(batch), distribution.from_env(label)
        entropy = distribution.entropy(outputs)
        if self.squared:
            loss = squared_error(outputs[:, : distribution.outputs], action.flatten(1))
        else:
            loss = cloning_loss(distribution.log_prob(outputs, action), entropy, self.now.entropy_coef)
        return loss, {"loss": loss.detach(), "entropy": entropy.detach().mean()}
