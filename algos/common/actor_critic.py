"""What the algorithms with a policy network share: acting, the advantages of a window, and learning rates."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from algos.base import Act, Array, Batch, EnvSpec
from algos.common import networks, optim
from algos.common.distributions import distribution_for, masked
from algos.common.normalize import Normalizer, RewardScaler
from algos.common.returns import gae

EPSILON = 1e-5
"""Of Adam, as in OpenAI's implementations."""


class Policy:
    """A network and the distribution over actions that its outputs stand for."""

    def __init__(self, cfg: Any, spec: EnvSpec, seed: int, normalizer: Normalizer | None, device: torch.device) -> None:
        self.device = device
        self.distribution = distribution_for(spec.action_space)
        network = networks.build(
            spec, cfg.actor_layers, self.distribution.outputs, cfg, seed,
            init="orthogonal", gain=0.01, normalizer=normalizer,
        )  # fmt: skip
        self.network = network.extend(self.distribution.tail(cfg.log_std_init)).to(device)

    def outputs(self, batch: Batch) -> Tensor:
        """What the distribution is made from [B, size], illegal actions masked."""
        return masked(self.network(batch["obs"]), batch.get("action_mask"))

    def sample(self, obs: Array, mask: Array | None, rng: np.random.Generator) -> Act:
        """Drawn actions; the columns `drawn`, before any clipping to the space, and `log_prob` [N]."""
        drawn, log_prob = self.distribution.sample(self._outputs(obs, mask), rng)
        return Act(self.distribution.to_env(drawn), {"drawn": drawn, "log_prob": log_prob})

    def best(self, obs: Array, mask: Array | None) -> Act:
        """The likeliest actions."""
        return Act(self.distribution.to_env(self.distribution.mode(self._outputs(obs, mask))))

    def _outputs(self, obs: Array, mask: Array | None) -> Array:
        with torch.inference_mode():
            return masked(self.network(torch.from_numpy(obs).to(self.device)).cpu().numpy(), mask)


def value_network(cfg: Any, spec: EnvSpec, seed: int, normalizer: Normalizer | None, device: torch.device) -> nn.Module:
    """The critic: observations [B, ...] -> values [B, 1]."""
    network = networks.build(spec, cfg.critic_layers, 1, cfg, seed, init="orthogonal", normalizer=normalizer)
    return network.to(device)


# a window -------------------------------------------------------------------------------------------------


def advantages(critic: nn.Module, window: Batch, scaler: RewardScaler | None, gamma: float, lam: float) -> Batch:
    """Columns `advantage`, `target` (of the value) and `value`, [T, N] each, of a window of fresh steps."""
    ended, valid, reward = window["terminated"] | window["truncated"], window.get("valid"), window["reward"]
    if scaler is not None:
        reward = scaler.scale(reward, ended, valid)
    value, next_value = values(critic, window, ended)
    advantage, target = gae(reward, value, next_value, window["terminated"], window["truncated"], gamma, lam, valid)
    return {"advantage": advantage, "target": target, "value": value}


def values(critic: nn.Module, window: Batch, ended: Tensor) -> tuple[Tensor, Tensor]:
    """V(s) and V of the true successor, [T, N] each. Only where an episode ended, and behind the last step, is
    the successor not simply the next observation."""
    obs, next_obs = window["obs"], window["next_obs"]
    value = critic(obs.flatten(0, 1)).view(ended.shape)
    next_value = torch.cat([value[1:], critic(next_obs[-1]).view(1, -1)])
    if ended.any():
        next_value[ended] = critic(next_obs[ended]).squeeze(1)
    return value, next_value


def policy_loss(log_prob: Tensor, advantage: Tensor) -> Tensor:
    """-mean A log pi(a|s), whose gradient is that of the policy gradient theorem; both [B]."""
    return -(log_prob * advantage).mean()


def squared_error(value: Tensor, target: Tensor) -> Tensor:
    """Half the mean squared error; both [B]."""
    return 0.5 * (value - target).square().mean()


def standardise(advantage: Tensor) -> Tensor:
    """Mean 0 and deviation 1 over the minibatch; a single sample stays as it is."""
    if advantage.numel() < 2:
        return advantage
    return (advantage - advantage.mean()) / (advantage.std(correction=0) + 1e-8)


# learning rates -------------------------------------------------------------------------------------------


def _rates(cfg: Any) -> tuple[float, float]:
    """Of actor and critic."""
    return cfg.actor_lr or cfg.lr, cfg.critic_lr or cfg.lr


def make_optimizer(cfg: Any, *actor_and_critic: nn.Module) -> optim.Optimizer:
    """One optimizer over actor and critic (or the actor alone), each with its own learning rate."""
    pairs = zip(actor_and_critic, _rates(cfg), strict=False)
    groups = [{"params": list(network.parameters()), "lr": lr} for network, lr in pairs]
    return optim.make(groups, cfg, cfg.lr, epsilon=EPSILON)


def follow_schedule(optimizer: optim.Optimizer, cfg: Any, fraction: float) -> None:
    """The learning rates when this fraction of the planned run is done."""
    for group, lr in zip(optimizer.param_groups, _rates(cfg), strict=False):
        group["lr"] = optim.lr_at(cfg.lr_schedule, lr, fraction)
