"""BCQ: a variational autoencoder proposes actions like those of the data, a small perturbation improves them, and the
best one by the critics is chosen."""

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from algos.base import Act, Array, Batch, EnvSpec, Explore, PolicyModule, Result, Streams
from algos.bcq.config import Config
from algos.common.maths import targets
from algos.common.nets import critics
from algos.common.parts import optim
from algos.common.parts.acting import ActingAgent
from algos.common.parts.continuous import Bounds, standard_normal

LOG_STD_RANGE = (-4.0, 15.0)
"""Bounds of the encoder's log standard deviation, as in the authors' code."""
LATENT_LIMIT = 0.5
"""Latents are clipped to -0.5..0.5 where actions are drawn: the decoder imitates best near the middle."""


def autoencoder_loss(decoded: Tensor, action: Tensor, mean: Tensor, log_std: Tensor, kl_weight: float) -> Tensor:
    """Returns mean (decoded - a)^2 + kl_weight mean KL(N(mean, std^2), N(0, 1)), over samples and dimensions; actions
    are [B, A], latents [B, L]."""
    divergence = 0.5 * (mean.square() + (2 * log_std).exp() - 1) - log_std
    return (decoded - action).square().mean() + kl_weight * divergence.mean()


def soft_clipped(q: Tensor, min_weight: float) -> Tensor:
    """Returns lambda min_i Q_i + (1 - lambda) max_i Q_i [...]; q is [n, ...] (equation 12)."""
    return min_weight * q.amin(0) + (1 - min_weight) * q.amax(0)


def td_target(reward: Tensor, discount: Tensor, next_q: Tensor) -> Tensor:
    """Returns r + discount max_k Q(s', a_k) [B]; next_q [K, B] are the values of the drawn actions (equation 13)."""
    return torch.addcmul(reward, discount, next_q.amax(0))


def perturbed(action: Tensor, output: Tensor, most: float) -> Tensor:
    """Returns clip(a + most tanh(output), -1, 1) [B, A]."""
    return torch.add(action, output.tanh(), alpha=most).clamp(-1.0, 1.0)


class Agent(ActingAgent):
    """A conditional variational autoencoder, a perturbation network and critics, and targets of the latter two."""

    METRICS: ClassVar = ("critic_loss", "q_mean", "actor_loss", "vae_loss")
    KEPT: ClassVar = ("networks", "targets", "optimizer", "actor_optimizer", "vae_optimizer", "updates")
    COMPILES: ClassVar = True

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.bounds = Bounds(spec.action_space, device)
        size = self.bounds.size
        self.latents = 2 * size
        """Size of a latent, as in the authors' code."""
        self.encoder = critics.of_agent(self, 0, cfg.vae_layers, size, 2 * self.latents)
        self.decoder = critics.of_agent(self, 1, cfg.vae_layers, self.latents, size)
        self.actor = critics.of_agent(self, 2, cfg.actor_layers, size, size)
        self.critic = critics.of_agent(self, 3, cfg.critic_layers, size, members=cfg.n_critics)
        learned = nn.ModuleDict({"actor": self.actor, "critic": self.critic})
        self.targets = targets.frozen_copy(learned)
        self.online: list[Tensor] = list(learned.parameters())
        self.slow: list[Tensor] = list(self.targets.parameters())
        self.networks = nn.ModuleDict({"encoder": self.encoder, "decoder": self.decoder, **learned})
        self.fixed = self._noise(cfg.acting_actions, np.random.default_rng(streams.init))
        """Latents [K, L] of the best known action, which must not be random."""
        self.networks.register_buffer("latents", self.fixed)
        self.optimizer = optim.make(self.critic.parameters(), cfg, cfg.critic_lr)
        self.actor_optimizer = optim.make(self.actor.parameters(), cfg, cfg.actor_lr)
        self.vae_optimizer = optim.make([*self.encoder.parameters(), *self.decoder.parameters()], cfg, cfg.vae_lr)
        self.vae_step = self.minimize(self._vae_loss, self.vae_optimizer)
        self.step = self.minimize(self._critic_loss, self.optimizer)
        self.actor_step = self.minimize(self._actor_loss, self.actor_optimizer)
        self.updates = 0

    def _noise(self, rows: int, rng: np.random.Generator) -> Tensor:
        """Returns latents [rows, L] to draw actions with."""
        return standard_normal(rows, self.latents, rng, self.device).clamp_(-LATENT_LIMIT, LATENT_LIMIT)

    def _propose(self, obs: Tensor, latent: Tensor, actor: nn.Module) -> Tensor:
        """Returns actions [B, A] like those of the data, perturbed."""
        action = self.decoder(obs, latent)[0].tanh()
        return perturbed(action, actor(obs, action)[0], self.cfg.perturbation)

    # acting -----------------------------------------------------------------------------------------------

    def _best(self, obs: Tensor, latent: Tensor) -> Tensor:
        """Returns the actions [N, A] that Q_1 finds best among those of the latents [K N, L]."""
        count, rows = self.cfg.acting_actions, obs.shape[0]
        seen = critics.repeated(obs, count)
        action = self._propose(seen, latent, self.actor)
        best = self.critic.first(seen, action).view(count, rows).argmax(0)
        return action.unflatten(0, (count, rows))[best, torch.arange(rows, device=self.device)]

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        if explore is None:
            latent = self.fixed.repeat_interleave(len(obs), 0)
        else:
            latent = self._noise(self.cfg.acting_actions * len(obs), explore.rng)
        with torch.inference_mode():
            chosen = self._best(torch.from_numpy(obs).to(self.device), latent)
        return Act(self.bounds.to_env(chosen.cpu().numpy()))

    def as_module(self) -> PolicyModule:
        return _Best(self)

    # learning ---------------------------------------------------------------------------------------------

    def update(self, batch: Batch) -> Result:
        obs = batch["obs"]
        self.updates += 1
        vae_loss = self.vae_step(obs, self.bounds.to_unit(batch["action"]), reduce=self.reduce)
        metrics = self.step(batch, reduce=self.reduce)
        actor_loss = self.actor_step(obs, reduce=self.reduce)
        targets.follow(self.slow, self.online, self.cfg, self.updates)
        return Result({**metrics, "actor_loss": actor_loss, "vae_loss": vae_loss})

    def _vae_loss(self, obs: Tensor, unit: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the loss of the autoencoder, which imitates actions [B, A]."""
        mean, log_std = self.encoder(obs, unit)[0].chunk(2, -1)
        log_std = log_std.clamp(*LOG_STD_RANGE)
        noise = standard_normal(len(unit), self.latents, self.streams.learn, self.device)
        decoded = self.decoder(obs, torch.addcmul(mean, log_std.exp(), noise))[0].tanh()
        loss = autoencoder_loss(decoded, unit, mean, log_std, self.cfg.kl_weight)
        return loss, loss.detach()

    def _critic_loss(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        target = self._target(batch)
        q = self.critic(batch["obs"], self.bounds.to_unit(batch["action"])).squeeze(-1)
        loss = targets.td_loss(q, target, None, self.cfg.loss == "huber")
        return loss, {"critic_loss": loss.detach(), "q_mean": q.detach().mean()}

    @torch.no_grad()
    def _target(self, batch: Batch) -> Tensor:
        cfg, rows = self.cfg, len(batch["reward"])
        seen = critics.repeated(batch["next_obs"], cfg.target_actions)
        action = self._propose(seen, self._noise(len(seen), self.streams.learn), self.targets["actor"])
        next_q = soft_clipped(self.targets["critic"](seen, action).squeeze(-1), cfg.min_weight)
        return td_target(batch["reward"] * cfg.reward_scale, batch["discount"], next_q.view(-1, rows))

    def _actor_loss(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the loss of the perturbation, which maximizes Q_1."""
        action = self._propose(obs, self._noise(len(obs), self.streams.learn), self.actor)
        loss = -self.critic.first(obs, action).mean()
        return loss, loss.detach()


class _Best(PolicyModule):
    """The best one of the actions that fixed latents propose."""

    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self.networks, self._agent = agent.networks, agent

    def forward(self, obs: Tensor, state: Tensor | None, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        latents = self._agent.fixed
        unit = self._agent._best(obs, latents.unsqueeze(1).expand(-1, obs.shape[0], -1).flatten(0, 1))
        return unit, self._agent.bounds.bounded(unit), state
