"""PPO: raise the probability of what went better than expected, within a limit, and learn what to expect."""

from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from algos import base
from algos.base import Act, Array, Batch, EnvSpec, Progress, Result, Streams, Tree
from algos.common import modules, networks, optim
from algos.common.distributions import distribution_for
from algos.common.normalize import RewardScaler, normalizer_for
from algos.common.returns import gae
from algos.ppo.config import Config


class PolicyLoss(NamedTuple):
    """loss [], kl [], clipped []: an estimate of how far the policy moved, and the share of clipped ratios."""

    loss: Tensor
    kl: Tensor
    clipped: Tensor


def clipped_surrogate(log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, clip: float) -> PolicyLoss:
    """-mean min(r A, clip(r, 1 - c, 1 + c) A) with r = pi/pi_old (equation 7); all arguments [B].
    kl is the estimator mean((r - 1) - log r), never negative."""
    log_ratio = log_prob - old_log_prob
    ratio = log_ratio.exp()
    limited = ratio.clamp(1.0 - clip, 1.0 + clip)
    loss = -torch.min(ratio * advantage, limited * advantage).mean()
    with torch.no_grad():
        kl = ((ratio - 1.0) - log_ratio).mean()
        clipped = (ratio != limited).float().mean()
    return PolicyLoss(loss, kl, clipped)


def value_loss(value: Tensor, old_value: Tensor, target: Tensor, clip: float | None) -> Tensor:
    """Half the mean squared error; with a clip, the worse of it and that of the value held near the old one."""
    error = (value - target).square()
    if clip is not None:
        near = old_value + (value - old_value).clamp(-clip, clip)
        error = torch.max(error, (near - target).square())
    return 0.5 * error.mean()


def standardise(advantage: Tensor) -> Tensor:
    """Mean 0 and deviation 1 over the minibatch; a single sample stays as it is."""
    if advantage.numel() < 2:
        return advantage
    return (advantage - advantage.mean()) / (advantage.std(correction=0) + 1e-8)


class Agent(base.Agent):
    """A policy network and a value network, with one optimizer."""

    METRICS: ClassVar = ("loss", "policy_loss", "value_loss", "entropy", "kl", "clipped")

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.distribution = distribution_for(spec.action_space)
        self.normalizer = normalizer_for(spec.observation_space).to(device) if cfg.normalize_obs else None
        self.scaler = RewardScaler(spec.rows, cfg.gamma) if cfg.normalize_reward else None
        self.networks = nn.ModuleDict(
            {
                "actor": self._build(cfg.actor_layers, self.distribution.outputs, streams.init, 0.01),
                "critic": self._build(cfg.critic_layers, 1, streams.init + 1, 1.0),
            }
        ).to(device)
        self.actor, self.critic = self.networks["actor"], self.networks["critic"]
        if self.distribution.parameters:
            log_std = torch.full((self.distribution.parameters,), cfg.log_std_init, device=device)
            self.networks.register_parameter("log_std", nn.Parameter(log_std))
        self.lrs = (cfg.actor_lr or cfg.lr, cfg.critic_lr or cfg.lr)
        self.parameters = list(self.networks.parameters())
        critic = list(self.critic.parameters())
        policy = [p for p in self.parameters if not any(p is q for q in critic)]
        self.optimizer = optim.make([{"params": policy, "lr": self.lrs[0]}, {"params": critic, "lr": self.lrs[1]}], cfg)

    def _build(self, layers: list, out: int, seed: int, gain: float) -> nn.Module:
        return networks.build(
            self.spec, layers, out, self.cfg, seed, init="orthogonal", gain=gain, normalizer=self.normalizer
        )

    # acting -----------------------------------------------------------------------------------------------

    def sample_action(self, obs: Array, state: None, progress: Progress, rng: np.random.Generator) -> Act:
        drawn = self.distribution.sample(*self._outputs(obs), rng)
        return Act(drawn.action, {"drawn": drawn.raw, "log_prob": drawn.log_prob})

    def predict_action(self, obs: Array, state: None) -> Act:
        return Act(self.distribution.mode(*self._outputs(obs)))
