"""REINFORCE: Monte Carlo policy gradient from complete episodes."""

import torch
from torch import Tensor

from algos.base import Batch, EnvSpec, Progress, Streams
from algos.common.maths.returns import discounted_sums
from algos.common.parts.actor_critic import OnPolicyAgent, explained_variance, seen
from algos.reinforce.config import Config


def monte_carlo(reward: Tensor, ended: Tensor, gamma: float) -> Tensor:
    """Returns G[t] = r[t] + gamma r[t + 1] + ... up to the end of the episode; all [T, N]."""
    return discounted_sums(reward, gamma * ~ended)


def scaled(advantage: Tensor, valid: Tensor) -> Tensor:
    """Divides advantages [T, N] by the root mean square of the valid ones."""
    return advantage / (advantage[valid].square().mean().sqrt() + 1e-8)


class Agent(OnPolicyAgent):
    """A policy network and, with baseline value, a value network, with one optimizer."""

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device, with_critic=cfg.baseline == "value")

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
