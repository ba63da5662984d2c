"""REINFORCE: after complete episodes, raise the probability of each action by the return that followed it."""

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from algos import base
from algos.base import Act, Array, Batch, EnvSpec, Progress, Result, Streams, Tree, restore_stream, stream_state
from algos.common import networks, optim
from algos.common.actor_critic import (
    Policy,
    follow_schedule,
    make_optimizer,
    policy_loss,
    squared_error,
    value_network,
)
from algos.common.normalize import normalizer_for
from algos.common.returns import discounted_sums
from algos.common.weights import load_weights, weights_of
from algos.reinforce.config import Config

KEPT = ("obs", "action_mask", "drawn", "valid")
"""Columns that the update needs."""


def monte_carlo(reward: Tensor, ended: Tensor, gamma: float) -> Tensor:
    """G[t] = r[t] + gamma r[t + 1] + ... up to the end of the episode; all [T, N]."""
    return discounted_sums(reward, gamma * ~ended)


def scaled(advantage: Tensor, valid: Tensor) -> Tensor:
    """[T, N] divided by the root mean square of those that are valid."""
    return advantage / (advantage[valid].square().mean().sqrt() + 1e-8)


class Agent(base.Agent):
    """A policy network, and a value network where that is the baseline, with one optimizer."""

    METRICS: ClassVar = ("loss", "policy_loss", "value_loss", "entropy")

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.normalizer = normalizer_for(spec.observation_space, device) if cfg.normalize_obs else None
        self.policy = Policy(cfg, spec, streams.init, self.normalizer, device)
        self.networks = nn.ModuleDict({"actor": self.policy.network})
        self.critic: nn.Module | None = None
        if cfg.baseline == "value":
            self.critic = value_network(cfg, spec, streams.init + 1, self.normalizer, device)
            self.networks["critic"] = self.critic
        self.parameters: list[Tensor] = list(self.networks.parameters())
        self.optimizer = make_optimizer(cfg, *self.networks.values())

    # acting -----------------------------------------------------------------------------------------------

    def sample_action(
        self, obs: Array, state: Array | None, progress: Progress, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        return self.policy.sample(obs, mask, rng)

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        return self.policy.best(obs, mask)

    # learning ---------------------------------------------------------------------------------------------

    @torch.no_grad()
    def prepare(self, window: Batch, progress: Progress) -> Batch:
        cfg, valid = self.cfg, window["valid"]
        follow_schedule(self.optimizer, cfg, progress.fraction)
        if self.normalizer is not None:
            self.normalizer.update(window["obs"], valid)
        target = self._returns(window)
        advantage = target - self._baseline(window, target)
        if cfg.normalize_advantage:
            advantage = scaled(advantage, valid)
        columns = {name: window[name] for name in KEPT if name in window}
        return {**columns, "target": target, "advantage": advantage}

    def _returns(self, window: Batch) -> Tensor:
        """[T, N]. What an episode that was cut off would still have brought is the value of where it stood; without
        a critic nobody knows it, and it counts as nothing."""
        reward, terminated, truncated = window["reward"], window["terminated"], window["truncated"]
        cut = truncated & ~terminated
        if self.critic is not None and cut.any():
            reward = reward.clone()
            reward[cut] += self.cfg.gamma * self.critic(window["next_obs"][cut]).squeeze(1)
        return monte_carlo(reward, terminated | truncated, self.cfg.gamma)

    def _baseline(self, window: Batch, target: Tensor) -> Tensor | float:
        """What was to be expected: [T, N], or one number for all."""
        if self.critic is not None:
            return self.critic(window["obs"].flatten(0, 1)).view(target.shape)
        return target[window["valid"]].mean() if self.cfg.baseline == "mean" else 0.0

    def update(self, batch: Batch) -> Result:
        cfg, distribution = self.cfg, self.policy.distribution
        networks.seed_dropout(self.networks, self.streams.learn)
        outputs = self.policy.outputs(batch)
        policy = policy_loss(distribution.log_prob(outputs, batch["drawn"]), batch["advantage"])
        entropy = distribution.entropy(outputs).mean()
        value = torch.zeros_like(policy)
        if self.critic is not None:
            value = squared_error(self.critic(batch["obs"]).squeeze(1), batch["target"])
        loss = policy + cfg.value_coef * value - cfg.entropy_coef * entropy
        loss.backward()
        optim.apply_gradients(self.optimizer, self.parameters, cfg.max_grad_norm, self.reduce)
        metrics = (loss, policy, value, entropy)
        return Result({name: m.detach() for name, m in zip(self.METRICS, metrics, strict=True)})

    # carrying on ------------------------------------------------------------------------------------------

    def weights(self) -> dict[str, Array]:
        return weights_of(self.networks)

    def load_weights(self, weights: dict[str, Array]) -> None:
        load_weights(self.networks, weights)

    def state(self) -> Tree:
        return {
            "networks": weights_of(self.networks),
            "optimizer": optim.state_tree(self.optimizer),
            "learn": stream_state(self.streams.learn),
        }

    def load_state(self, state: Tree) -> None:
        load_weights(self.networks, state["networks"])
        optim.load_state_tree(self.optimizer, state["optimizer"])
        restore_stream(self.streams.learn, state["learn"])
