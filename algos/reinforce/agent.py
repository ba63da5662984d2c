"""REINFORCE: Monte Carlo policy gradient from complete episodes."""

from typing import ClassVar

import torch
from torch import Tensor

from algos.base import Batch, EnvSpec, Progress, Result, Streams
from algos.common.maths.normalize import RewardScaler, normalizer_for
from algos.common.maths.returns import discounted_sums
from algos.common.parts import optim
from algos.common.parts.acting import PolicyAgent
from algos.common.parts.actor_critic import (
    ActorCritic,
    explained_variance,
    make_optimizer,
    policy_loss,
    seen,
    squared_error,
)
from algos.reinforce.config import Config


def monte_carlo(reward: Tensor, ended: Tensor, gamma: float) -> Tensor:
    """Returns G[t] = r[t] + gamma r[t + 1] + ... up to the end of the episode; all [T, N]."""
    return discounted_sums(reward, gamma * ~ended)


def scaled(advantage: Tensor, valid: Tensor) -> Tensor:
    """Divides advantages [T, N] by the root mean square of the valid ones."""
    return advantage / (advantage[valid].square().mean().sqrt() + 1e-8)


class Agent(PolicyAgent[ActorCritic]):
    """A policy network and, with baseline value, a value network, with one optimizer."""

    METRICS: ClassVar = ("loss", "policy_loss", "value_loss", "entropy", "explained_variance")
    KEPT: ClassVar = ("networks", "optimizer", "scaler")

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.normalizer = normalizer_for(spec.observation_space, device) if cfg.normalize_obs else None
        self.scaler = RewardScaler(spec.rows, cfg.gamma, device) if cfg.normalize_reward else None
        self.policy = ActorCritic(cfg, spec, streams.init, self.normalizer, device, with_critic=cfg.baseline == "value")
        self.networks = self.policy.networks
        self.parameters: list[Tensor] = list(self.networks.parameters())
        self.optimizer = make_optimizer(cfg, *self.networks.values())

    @torch.no_grad()
    def prepare(self, window: Batch, progress: Progress) -> Batch:
        cfg, valid = self.cfg, window["valid"]
        if self.normalizer is not None:
            self.normalizer.update(window["obs"], valid)
        ended, cut = window["terminated"] | window["truncated"], window["truncated"] & ~window["terminated"]
        reward, expected = window["reward"], torch.zeros_like(window["reward"])
        if self.scaler is not None:
            reward = self.scaler.scale(reward, ended, valid)
        if self.policy.critic is not None:
            # A truncated episode is bootstrapped from the value of its last state; without a critic, from 0.
            expected, next_value = self.policy.values(window)
            reward = reward + cfg.gamma * next_value * cut
        target = monte_carlo(reward, ended, cfg.gamma)
        if cfg.baseline == "mean":
            expected = target[valid].mean()
        self.policy.explained_variance = explained_variance(expected, target, valid)
        advantage = target - expected
        if cfg.normalize_advantage:
            advantage = scaled(advantage, valid)
        return {**seen(window), "target": target, "advantage": advantage}

    def update(self, batch: Batch) -> Result:
        cfg, distribution = self.cfg, self.policy.distribution
        outputs = self.policy.outputs(batch)
        policy = policy_loss(distribution.log_prob(outputs, batch["drawn"]), batch["advantage"])
        entropy = distribution.entropy(outputs).mean()
        value = torch.zeros_like(policy)
        if self.policy.critic is not None:
            value = squared_error(self.policy.value(batch), batch["target"])
        loss = policy + cfg.value_coef * value - cfg.entropy_coef * entropy
        optim.descend(loss, batch, self.optimizer, self.parameters, cfg.max_grad_norm, self.reduce)
        metrics = (loss, policy, value, entropy, self.policy.explained_variance)
        return Result({name: m.detach() for name, m in zip(self.METRICS, metrics, strict=True)})
