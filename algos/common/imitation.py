"""A discriminator between the steps of an expert and those of a policy, and the reward that it gives a policy."""

from typing import Any

import torch
from gymnasium.spaces import Box, Space
from torch import Tensor, nn
from torch.nn import functional as F

from algos.base import Batch, EnvSpec, Streams, Tree
from algos.common import critics, networks, optim
from algos.common.actor_critic import ActorCritic
from algos.common.distributions import Distribution
from algos.common.encoder import encode
from algos.common.keep import load_state_of, state_of
from algos.common.normalize import Normalizer
from algos.common.optim import Reduce
from config.schema import EXPERT

SEEDS = 100
"""Distance of the seeds of its initial weights from those of the policy."""


def discriminator_loss(expert: Tensor, own: Tensor, entropy_coef: float) -> Tensor:
    """Returns -mean log D of the expert's steps - mean log(1 - D) of the policy's, from log-odds [B] of D, less
    entropy_coef times the mean entropy of both (Ho and Ermon, equation 17, with the labels exchanged)."""
    loss = F.softplus(-expert).mean() + F.softplus(own).mean()
    if not entropy_coef:
        return loss
    odds = torch.cat([expert, own])
    # H(D) = -D log D - (1 - D) log(1 - D) = softplus(l) - l D
    return loss - entropy_coef * (F.softplus(odds) - odds * odds.sigmoid()).mean()


def imitation_reward(odds: Tensor, form: str) -> Tensor:
    """Returns the reward of steps from the log-odds of D, the probability that they are the expert's: -log(1 - D), log
    D, or the difference of both."""
    match form:
        case "positive":
            return F.softplus(odds)
        case "negative":
            return -F.softplus(-odds)
    return odds


def shaped(g: Tensor, h: Tensor, next_h: Tensor, terminated: Tensor, gamma: float) -> Tensor:
    """Returns f(s, a, s') = g + gamma h(s') - h(s) (Fu, Luo and Levine, equation 4); all [B]. After a terminal state h
    is 0."""
    return g + gamma * next_h * ~terminated - h


class Actions(nn.Module):
    """Actions of the environment [B, ...] as numbers [B, size]: one-hot, or those of a Box as the policy has them."""

    def __init__(self, space: Space, distribution: Distribution) -> None:
        super().__init__()
        self.distribution = distribution if isinstance(space, Box) else None
        modules, shape = ([], (distribution.outputs,)) if isinstance(space, Box) else encode(space)
        self.encode, self.size = nn.Sequential(*modules), shape[0]

    def forward(self, action: Tensor) -> Tensor:
        return self.encode(action) if self.distribution is None else self.distribution.from_env(action).flatten(1)


class Discriminator:
    """Networks, their optimizer, and the reward. Without shaping the log-odds of D are a network of observation and
    action; with it they are f(s, a, s') - log pi(a|s), which is D = exp(f) / (exp(f) + pi)."""

    METRICS = ("discriminator_loss", "discriminator_accuracy")
    KEPT = ("networks", "optimizer")
    READS = ("obs", "action", "next_obs", "terminated")

    def __init__(
        self, cfg: Any, spec: EnvSpec, policy: ActorCritic, streams: Streams, normalizer: Normalizer | None,
        device: torch.device,
    ) -> None:  # fmt: skip
        self.cfg, self.policy, self.streams = cfg, policy, streams
        self.actions = Actions(spec.action_space, policy.distribution).to(device)
        seed, sees_action = streams.init + SEEDS, not (cfg.shaping and cfg.state_only)

        def made(seed: int, actions: int) -> critics.Critic:
            made = critics.build(
                spec, cfg.discriminator_layers, cfg, seed, members=1, actions=actions, normalizer=normalizer
            )
            return made.to(device)

        self.networks = nn.ModuleDict({"g": made(seed, self.actions.size if sees_action else 0)})
        if cfg.shaping:
            self.networks["h"] = made(seed + 1, 0)
        self.sees_action = sees_action
        self.parameters: list[Tensor] = list(self.networks.parameters())
        self.optimizer = optim.make(self.parameters, cfg, cfg.discriminator_lr)

    def log_odds(self, obs: Tensor, action: Tensor, next_obs: Tensor, terminated: Tensor) -> Tensor:
        """Returns log D - log(1 - D) [B]."""
        g = self.networks["g"](obs, self.actions(action) if self.sees_action else None).flatten()
        if not self.cfg.shaping:
            return g
        h, next_h = (self.networks["h"](each).flatten() for each in (obs, next_obs))
        return shaped(g, h, next_h, terminated, self.cfg.gamma) - self._log_pi(obs, action)

    @torch.no_grad()
    def _log_pi(self, obs: Tensor, action: Tensor) -> Tensor:
        """Returns log pi(a|s) [B] of the policy as it is now; an expert's data have no action masks, so that the
        policy's own steps go without them too."""
        distribution = self.policy.distribution
        return distribution.log_prob(self.policy.outputs({"obs": obs}), distribution.from_env(action))

    @torch.no_grad()
    def prepare(self, window: Batch, fraction: float) -> Batch:
        """Returns the window [T, N, ...] with this discriminator's rewards. fraction: share of the run that is done."""
        optim.set_lr(self.optimizer, optim.lr_at(self.cfg.lr_schedule, self.cfg.discriminator_lr, fraction))
        odds = self.log_odds(*(window[name].flatten(0, 1) for name in self.READS))
        reward = imitation_reward(odds, self.cfg.imitation_reward)
        return {**window, "reward": reward.view(window["reward"].shape)}

    def columns(self, window: Batch) -> Batch:
        """Returns the columns of a window that an update needs."""
        return {name: window[name] for name in (*self.READS, *EXPERT.values())}

    def update(self, batch: Batch, reduce: Reduce) -> dict[str, Tensor]:
        """Makes one step from a minibatch, and returns the metrics."""
        networks.seed_dropout(self.networks, self.streams.learn)
        own = self.log_odds(*(batch[name] for name in self.READS))
        expert = self.log_odds(*(batch[EXPERT[name]] for name in self.READS))
        loss = discriminator_loss(expert, own, self.cfg.discriminator_entropy_coef)
        loss.backward()
        optim.apply_gradients(self.optimizer, self.parameters, self.cfg.max_grad_norm, reduce)
        right = 0.5 * ((expert > 0).float().mean() + (own < 0).float().mean())
        return dict(zip(self.METRICS, (loss.detach(), right), strict=True))

    # checkpoints

    def state(self) -> Tree:
        return state_of(self, self.KEPT)

    def load_state(self, state: Tree) -> None:
        load_state_of(self, self.KEPT, state)


def discriminator_of(
    cfg: Any, spec: EnvSpec, policy: ActorCritic, streams: Streams, normalizer: Normalizer | None, device: torch.device
) -> Discriminator | None:
    """Returns the discriminator that the settings ask for; None if the rewards are the environment's."""
    return Discriminator(cfg, spec, policy, streams, normalizer, device) if cfg.IMITATES else None
