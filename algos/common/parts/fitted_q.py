"""The value of a policy from given steps alone: fitted Q evaluation (Le, Voloshin and Yue, 2019)."""

import math
from collections.abc import Iterator, Mapping

import numpy as np
import torch
from gymnasium.spaces import Box
from torch import Tensor, nn

from algos.base import Array, EnvSpec
from algos.common.fast.tensors import on_device
from algos.common.maths import targets
from algos.common.nets import critics, custom
from algos.common.nets.observations import Normalizer, encode, has_pixels
from algos.common.parts import optim
from algos.common.settings import NetworkConfig
from config.model.composite import Composite
from config.model.layers import LayerNorm, Layers, Linear

LAYERS: Layers = [layer for _ in range(2) for layer in (Linear(layer_size=[256]), LayerNorm())]
MEMBERS = 3
"""Number of critics, which differ in their first weights: their spread says how sure the value is."""
BATCH = 256
LR = 1e-3
SLOWEST, FASTEST = 0.01, 0.5
"""Limits of the share of the critics in a step of their targets."""
SETTLED = 4.0
"""Negative logarithm of what the first values count at the end."""
AT_ONCE = 4096
"""Number of observations that pass the networks at once where nothing is learned."""


def tau_for(gamma: float, updates: int) -> float:
    """Returns the share of the critics in a step of their targets, which in each update come nearer to the values by
    (1 - gamma) tau of their distance: with a small share values of far rewards stay near 0, where they begin."""
    return min(max(SETTLED / max((1.0 - gamma) * updates, 1e-9), SLOWEST), FASTEST)


class FittedQ:
    """Critics of the actions of a policy. Q(s, a) is fitted to r + gamma Q'(s', pi(s')), in which pi(s') is the action
    of the policy, and the rest is given."""

    def __init__(
        self, spec: EnvSpec, steps: Mapping[str, Array], gamma: float, seed: int, device: torch.device
    ) -> None:
        """steps: columns obs, action, reward, next_obs and terminated [K, ...] in order of time, and `start`, True for
        the first step of each episode."""
        self.steps, self.gamma, self.device = steps, gamma, device
        self.rng, cfg, space = np.random.default_rng(seed), NetworkConfig(), spec.observation_space
        normalizer = None
        if isinstance(space, Box) and not has_pixels(space) and not any(spec.parts):
            normalizer = Normalizer(space.shape).to(device)
            normalizer.update(on_device(steps["obs"], device))
        front, shape = encode(spec.action_space)
        self._encode = nn.Sequential(*front, nn.Flatten()).to(device)
        taken = self._encode(on_device(steps["action"], device))
        scaled = isinstance(spec.action_space, Box | Composite)
        self._middle = taken.mean(0) if scaled else torch.zeros(shape, device=device).flatten()
        self._deviation = taken.std(0, correction=0).clamp(min=1e-3) if scaled else torch.ones_like(self._middle)
        self.critic = critics.build(
            spec, LAYERS, cfg, seed, members=MEMBERS, actions=taken.shape[1], normalizer=normalizer
        ).to(device)
        self.target = targets.frozen_copy(self.critic)
        self.made = 0
        """Number of gradient steps made."""
        self.unit = max(float(np.abs(steps["reward"]).max()), 1e-8)
        """Largest size of a reward, in which values are learned."""
        self._online: list[Tensor] = list(self.critic.parameters())
        self._slow: list[Tensor] = list(self.target.parameters())
        self.optimizer = optim.make(self._online, cfg, LR)

    def least_updates(self) -> int:
        """Returns the number of updates that bring values near to where they settle; 0 without a discount, where the
        length of the episodes decides."""
        return math.ceil(SETTLED / (FASTEST * (1.0 - self.gamma))) if self.gamma < 1.0 else 0

    def features(self, action: Array) -> Tensor:
        """Returns actions [B, ...] as the critics see them [B, A]."""
        return (self._encode(on_device(action, self.device)) - self._middle) / self._deviation

    def fit(self, next_action: Array, updates: int) -> Iterator[None]:
        """Makes gradient steps for a policy that takes these actions [K, ...] in the next states; yields after each."""
        steps, tau = self.steps, tau_for(self.gamma, updates)
        for _ in range(updates):
            chosen = self.rng.integers(len(steps["reward"]), size=BATCH)
            obs, next_obs = (on_device(column[chosen], self.device) for column in (steps["obs"], steps["next_obs"]))
            reward = on_device((steps["reward"][chosen] / self.unit).astype(np.float32), self.device)
            discount = on_device((self.gamma * ~steps["terminated"][chosen]).astype(np.float32), self.device)
            with torch.no_grad():
                next_q = self.target(next_obs, self.features(next_action[chosen])).squeeze(-1)
                target = torch.addcmul(reward, discount, next_q)  # of each critic its own
            with torch.enable_grad():  # an environment with a network of its own may have switched gradients off
                q = self.critic(obs, self.features(steps["action"][chosen])).squeeze(-1)
                loss = (q - target).square().mean(1).sum()
                custom.completed(loss, self._online, obs).backward()
            optim.apply_gradients(self.optimizer, self._online, None, lambda grads: None)
            targets.soft_update(self._slow, self._online, tau)
            self.made += 1
            yield

    @torch.no_grad()
    def value(self, first_action: Array) -> tuple[float, float]:
        """Returns the mean value of the first states of all episodes, if the policy takes these actions there, and the
        standard deviation of the critics' means."""
        obs = self.steps["obs"][self.steps["start"]]
        parts = [
            self.critic(on_device(obs[at : at + AT_ONCE], self.device), self.features(first_action[at : at + AT_ONCE]))
            for at in range(0, len(obs), AT_ONCE)
        ]
        means = self.unit * torch.cat(parts, 1).squeeze(-1).mean(1)
        return float(means.mean()), float(means.std())
