"""A discriminator between the steps of an expert and those of a policy, and the reward that it gives a policy."""

from collections.abc import Callable
from typing import Any

import torch
from gymnasium.spaces import Box, Space
from torch import Tensor, nn
from torch.nn import functional as F

from algos.base import Batch, EnvSpec, Streams, Tree
from algos.common.maths.distributions import Distribution, Parts
from algos.common.nets import critics
from algos.common.nets.observations import Normalizer, encode
from algos.common.parts import optim
from algos.common.parts.actor_critic import ActorCritic
from algos.common.parts.optim import Reduce
from algos.common.parts.state import load_state_of, state_of
from config.model.memory_spec import EXPERT

SEEDS = 100
"""Distance of the seeds of its initial weights from those of the policy."""


def discriminator_loss(expert: Tensor, policy: Tensor) -> Tensor:
    """Returns -mean log D of the expert's steps - mean log(1 - D) of the policy's, from log-odds [B] of D (Ho and
    Ermon, equation 17, with the labels exchanged)."""
    return F.softplus(-expert).mean() + F.softplus(policy).mean()


def imitation_reward(odds: Tensor, form: str) -> Tensor:
    """Returns the reward of steps from the log-odds of D, the probability that they are the expert's: -log(1 - D), log
    D, or the difference of both."""
    match form:
        case "positive":
            return F.softplus(odds)
        case "negative":
            return -F.softplus(-odds)
    return odds


def absorbing_reward(expert_ends: Tensor, own_ends: Tensor, form: str, gamma: float) -> Tensor:
    """Returns gamma / (1 - gamma) r: what the reward r of the state after a terminal step is worth if that state lasts
    for ever (Kostrikov et al., 2019). It is one state, whose D is known: the share of the expert in the terminal steps
    of both. The flags are those of equally many steps; one more terminal step each is assumed."""
    odds = ((expert_ends.sum() + 1) / (own_ends.sum() + 1)).log()
    return gamma / (1 - gamma) * imitation_reward(odds, form)


def shaped(g: Tensor, h: Tensor, next_h: Tensor, terminated: Tensor, gamma: float) -> Tensor:
    """Returns f(s, a, s') = g + gamma h(s') - h(s) (Fu, Luo and Levine, equation 4); all [B]. After a terminal state h
    is 0."""
    return g + gamma * next_h * ~terminated - h


def gradient_penalty(network: nn.Module, expert: Tensor, policy: Tensor) -> Tensor:
    """Returns mean (|gradient of the network's output| - 1)^2 at points between inputs of both kinds [B, D]: evenly
    from one end to the other, since the pairs are random (Gulrajani et al., 2017, equation 3)."""
    count = len(policy)
    share = ((torch.arange(count, device=policy.device) + 0.5) / count).unsqueeze(1)
    between = (policy + share * (expert - policy)).detach().requires_grad_()
    (slope,) = torch.autograd.grad(network(between).sum(), between, create_graph=True)
    return (slope.norm(dim=1) - 1).square().mean()


def _numbers(space: Space, distribution: Distribution, device: torch.device) -> tuple[Callable[[Tensor], Tensor], int]:
    """Returns the function from actions of the environment [B, ...] to numbers [B, size], and this size: one-hot, or
    those of a Box as the policy has them."""
    if isinstance(space, Box):
        return lambda action: distribution.from_env(action).flatten(1), distribution.outputs
    if isinstance(distribution, Parts):
        return _numbers_of_parts(distribution, device)
    modules, shape = encode(space)
    return nn.Sequential(*modules).to(device), shape[0]


def _numbers_of_parts(distribution: Parts, device: torch.device) -> tuple[Callable[[Tensor], Tensor], int]:
    """Returns the same for flat actions: the numbers of the parts side by side."""
    members = distribution.members
    pairs = [_numbers(member.part.space, member.of, device) for member in members]

    def numbers(action: Tensor) -> Tensor:
        return torch.cat([of(member.action(action)) for member, (of, _) in zip(members, pairs, strict=True)], 1)

    return numbers, sum(size for _, size in pairs)


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
        self.cfg, self.policy = cfg, policy
        self.numbers, size = _numbers(spec.action_space, policy.distribution, device)
        self.sees_action = not (cfg.shaping and cfg.state_only)

        def critic_for(seed: int, actions: int) -> critics.Critic:
            layers = cfg.discriminator_layers
            return critics.build(spec, layers, cfg, seed, members=1, actions=actions, normalizer=normalizer).to(device)

        self.g = critic_for(streams.init + SEEDS, size if self.sees_action else 0)
        self.h = critic_for(streams.init + SEEDS + 1, 0) if cfg.shaping else None
        self.networks = nn.ModuleDict({"g": self.g} if self.h is None else {"g": self.g, "h": self.h})
        self.parameters: list[Tensor] = list(self.networks.parameters())
        self.optimizer = optim.make(self.parameters, cfg, cfg.discriminator_lr)

    def log_odds(self, obs: Tensor, action: Tensor, next_obs: Tensor, terminated: Tensor) -> Tensor:
        """Returns log D - log(1 - D) [B]."""
        g = self.g(obs, self.numbers(action) if self.sees_action else None).flatten()
        if self.h is None:
            return g
        h, next_h = self.h(obs).flatten(), self.h(next_obs).flatten()
        return shaped(g, h, next_h, terminated, self.cfg.gamma) - self._log_pi(obs, action)

    @torch.no_grad()
    def _log_pi(self, obs: Tensor, action: Tensor) -> Tensor:
        """Returns log pi(a|s) [B] of the policy as it is now. An expert's data need not have action masks, so the
        policy's own steps go without them, too."""
        distribution = self.policy.distribution
        return distribution.log_prob(self.policy.outputs({"obs": obs}), distribution.from_env(action))

    @torch.no_grad()
    def prepare(self, window: Batch) -> Batch:
        """Returns the window [T, N, ...] with this discriminator's rewards."""
        odds = self.log_odds(*(window[name].flatten(0, 1) for name in self.READS))
        form, ends = self.cfg.imitation_reward, window["terminated"]
        reward = imitation_reward(odds, form).view(ends.shape)
        if self.cfg.absorbing:
            reward = reward + ends * absorbing_reward(window[EXPERT["terminated"]], ends, form, self.cfg.gamma)
        return {**window, "reward": reward}

    def columns(self, window: Batch) -> Batch:
        """Returns the columns of a window that an update needs."""
        return {name: window[name] for name in (*self.READS, *EXPERT.values())}

    def update(self, batch: Batch, reduce: Reduce) -> dict[str, Tensor]:
        """Makes one step from a minibatch, and returns the metrics."""
        of_policy = self.log_odds(*(batch[name] for name in self.READS))
        of_expert = self.log_odds(*(batch[EXPERT[name]] for name in self.READS))
        loss = discriminator_loss(of_expert, of_policy)
        penalized = loss + self.cfg.gradient_penalty * self.penalty(batch)
        most = self.cfg.discriminator_max_grad_norm
        optim.descend(penalized, batch, self.optimizer, self.parameters, most, reduce)
        right = 0.5 * ((of_expert > 0).float().mean() + (of_policy < 0).float().mean())
        return dict(zip(self.METRICS, (loss.detach(), right), strict=True))

    def penalty(self, batch: Batch) -> Tensor:
        """Returns the sum of the gradient penalties of all networks, on what they see behind their first layers."""
        obs, action = ((batch[EXPERT[name]], batch[name]) for name in ("obs", "action"))
        inputs = [self.g.front(part) for part in obs]
        if self.sees_action:
            inputs = [
                torch.cat([features, self.numbers(part)], 1) for features, part in zip(inputs, action, strict=True)
            ]
        penalty = gradient_penalty(self.g.body, *inputs)
        return penalty if self.h is None else penalty + gradient_penalty(self.h.body, *map(self.h.front, obs))

    # checkpoints

    def state(self) -> Tree:
        return state_of(self, self.KEPT)

    def load_state(self, state: Tree) -> None:
        load_state_of(self, self.KEPT, state)
