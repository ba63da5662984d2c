"""PPO: raise the probability of what went better than expected, within a limit, and learn what to expect."""

from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from algos import base
from algos.base import Act, Array, Batch, EnvSpec, Progress, Result, Streams, Tree, restore_stream, stream_state
from algos.common import networks, optim
from algos.common.distributions import distribution_for
from algos.common.normalize import RewardScaler, normalizer_for
from algos.common.returns import gae
from algos.common.weights import load_weights, weights_of
from algos.ppo.config import Config
from config.schema import Layers


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
        self.normalizer = normalizer_for(spec.observation_space, device) if cfg.normalize_obs else None
        self.scaler = RewardScaler(spec.rows, cfg.gamma, device) if cfg.normalize_reward else None
        actor = self._build(cfg.actor_layers, self.distribution.outputs, streams.init, gain=0.01)
        self.actor = actor.extend(self.distribution.tail(cfg.log_std_init)).to(device)
        self.critic = self._build(cfg.critic_layers, 1, streams.init + 1, gain=1.0).to(device)
        self.networks = nn.ModuleDict({"actor": self.actor, "critic": self.critic})
        self.parameters = list(self.networks.parameters())
        self.lrs = (cfg.actor_lr or cfg.lr, cfg.critic_lr or cfg.lr)
        pairs = zip((self.actor, self.critic), self.lrs, strict=True)
        groups = [{"params": list(network.parameters()), "lr": lr} for network, lr in pairs]
        self.optimizer = optim.make(groups, cfg, cfg.lr, epsilon=1e-5)

    def _build(self, layers: Layers, out: int, seed: int, gain: float) -> networks.Network:
        return networks.build(
            self.spec, layers, out, self.cfg, seed, init="orthogonal", gain=gain, normalizer=self.normalizer
        )

    # acting -----------------------------------------------------------------------------------------------

    def _outputs(self, obs: Array) -> Array:
        with torch.inference_mode():
            return self.actor(torch.from_numpy(obs).to(self.device)).cpu().numpy()

    def sample_action(
        self, obs: Array, state: Array | None, progress: Progress, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        drawn, log_prob = self.distribution.sample(self._outputs(obs), rng)
        return Act(self.distribution.to_env(drawn), {"drawn": drawn, "log_prob": log_prob})

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        return Act(self.distribution.to_env(self.distribution.mode(self._outputs(obs))))

    # learning ---------------------------------------------------------------------------------------------

    @torch.no_grad()
    def prepare(self, window: Batch, progress: Progress) -> Batch:
        for group, lr in zip(self.optimizer.param_groups, self.lrs, strict=True):
            group["lr"] = optim.lr_at(self.cfg.lr_schedule, lr, progress.fraction)
        ended, valid = window["terminated"] | window["truncated"], window.get("valid")
        if self.normalizer is not None:
            self.normalizer.update(window["obs"], valid)
            window["log_prob"] = self._log_prob(window)
        reward = window["reward"]
        if self.scaler is not None:
            reward = self.scaler.scale(reward, ended, valid)
        value, next_value = self._values(window, ended)
        advantage, target = gae(
            reward, value, next_value, window["terminated"], window["truncated"],
            self.cfg.gamma, self.cfg.gae_lambda, valid,
        )  # fmt: skip
        columns: Batch = {name: window[name] for name in ("obs", "drawn", "log_prob", "valid") if name in window}
        return {**columns, "advantage": advantage, "target": target, "value": value}

    def _log_prob(self, window: Batch) -> Tensor:
        """Of the collected actions [T, N], seen through the newest statistics: the first ratio is then 1."""
        outputs = self.actor(window["obs"].flatten(0, 1))
        return self.distribution.log_prob(outputs, window["drawn"].flatten(0, 1)).view(window["log_prob"].shape)

    def _values(self, window: Batch, ended: Tensor) -> tuple[Tensor, Tensor]:
        """V(s) and V of the true successor, [T, N] each. Only where an episode ended, and behind the last step, is
        the successor not simply the next observation."""
        obs, next_obs = window["obs"], window["next_obs"]
        value = self.critic(obs.flatten(0, 1)).view(ended.shape)
        next_value = torch.cat([value[1:], self.critic(next_obs[-1]).view(1, -1)])
        if ended.any():
            next_value[ended] = self.critic(next_obs[ended]).squeeze(1)
        return value, next_value

    def update(self, batch: Batch) -> Result:
        cfg = self.cfg
        networks.seed_dropout(self.networks, self.streams.learn)
        outputs = self.actor(batch["obs"])
        log_prob = self.distribution.log_prob(outputs, batch["drawn"])
        entropy = self.distribution.entropy(outputs).mean()
        advantage = standardise(batch["advantage"]) if cfg.normalize_advantage else batch["advantage"]
        policy = clipped_surrogate(log_prob, batch["log_prob"], advantage, cfg.eps_clip)
        value = value_loss(self.critic(batch["obs"]).squeeze(1), batch["value"], batch["target"], cfg.value_clip)
        loss = policy.loss + cfg.value_coef * value - cfg.entropy_coef * entropy
        loss.backward()
        optim.apply_gradients(self.optimizer, self.parameters, cfg.max_grad_norm, self.reduce)
        metrics = (loss, policy.loss, value, entropy, policy.kl, policy.clipped)
        stop = cfg.target_kl is not None and policy.kl.item() > 1.5 * cfg.target_kl
        return Result({name: m.detach() for name, m in zip(self.METRICS, metrics, strict=True)}, stop=stop)

    # carrying on ------------------------------------------------------------------------------------------

    def weights(self) -> dict[str, Array]:
        return weights_of(self.networks)

    def load_weights(self, weights: dict[str, Array]) -> None:
        load_weights(self.networks, weights)

    def state(self) -> Tree:
        return {
            "networks": weights_of(self.networks),
            "optimizer": optim.state_tree(self.optimizer),
            "scaler": self.scaler.state() if self.scaler else None,
            "learn": stream_state(self.streams.learn),
        }

    def load_state(self, state: Tree) -> None:
        load_weights(self.networks, state["networks"])
        optim.load_state_tree(self.optimizer, state["optimizer"])
        if self.scaler is not None:
            self.scaler.load_state(state["scaler"])
        restore_stream(self.streams.learn, state["learn"])
