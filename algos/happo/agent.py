"""HAPPO: the policies of several agents are improved one after the other, in a random order."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from algos.base import Batch, EnvSpec, Progress, Result, Streams
from algos.common.maths.returns import RewardScaler, gae, rewards_of
from algos.common.nets import networks
from algos.common.parts import optim, passes, team
from algos.common.parts.acting import PolicyAgent
from algos.common.parts.actor_critic import (
    EPSILON,
    clipped_surrogate,
    explained_variance,
    seen,
    squared_error,
    standardized,
)
from algos.happo.config import Config


class Agent(PolicyAgent[team.TeamPolicy]):
    """A policy for each agent with an optimizer of its own, and a central value network."""

    METRICS: ClassVar = ("policy_loss", "value_loss", "entropy", "kl", "clipped", "explained_variance")
    KEPT: ClassVar = ("networks", "optimizer", "optimizers_of_agents", "scaler")
    CUTS_MINIBATCHES: ClassVar = True

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.scaler = RewardScaler(spec.rows, cfg.gamma, device) if cfg.normalize_reward else None
        self.policy = team.TeamPolicy(cfg, spec, streams.init, self.normalizer, device, shared=False)
        self.sees, seen_spec, normalizer = team.central(self, spec)
        seed = streams.init + 1
        critic = networks.build(seen_spec, cfg.critic_layers, 1, cfg, seed, init="orthogonal", normalizer=normalizer)
        self.critic = critic.to(device)
        self.networks = nn.ModuleDict({"actor": self.policy.network, "critic": self.critic})
        own = team.own_parameters(self.policy.network, spec.agents) if spec.agents > 1 else []
        own = own or [list(self.policy.network.parameters())]
        self.optimizers_of_agents = {
            str(agent): optim.make(parameters, cfg, cfg.actor_lr or cfg.lr, epsilon=EPSILON)
            for agent, parameters in enumerate(own)
        }
        self.optimizer = optim.make(self.critic.parameters(), cfg, cfg.critic_lr or cfg.lr, epsilon=EPSILON)

    @torch.no_grad()
    def prepare(self, window: Batch, progress: Progress) -> Batch:
        cfg, valid = self.cfg, window.get("valid")
        team.observe_window(self, window)
        seen_by_critic = {**window, "obs": window[self.sees], "next_obs": window[f"next_{self.sees}"]}
        value, next_value = (out.squeeze(2) for out in passes.of_window(self.critic, seen_by_critic))
        reward, flags = rewards_of(window, self.scaler), (window["terminated"], window["truncated"])
        advantage, target = gae(reward, value, next_value, *flags, cfg.gamma, cfg.gae_lambda, valid)
        self.explained = explained_variance(value, target, valid)
        return {**seen(window), "advantage": advantage, "target": target}

    def standardize(self, batch: Batch) -> Batch:
        return standardized(batch) if self.cfg.normalize_advantage else batch

    def update(self, batch: Batch) -> Result:
        """Improves each agent's policy with the whole window, in a random order, and then the value network."""
        batch = {**batch, "log_prob": self._log_probs(batch)}
        metrics = []
        for agent in self.streams.learn.permutation(self.spec.agents).tolist():
            metrics += [self._improve(part, agent) for part in self.minibatches(batch, *self._epochs)]
            moved = (self._log_probs(batch) - batch["log_prob"])[:, agent].exp()
            batch["advantage"] = moved * batch["advantage"]
        policy, entropy, kl, clipped = torch.stack(metrics).mean(0)
        numbers = (policy, self._fit_value(batch), entropy, kl, clipped, self.explained)
        return Result(dict(zip(self.METRICS, numbers, strict=True)))

    @property
    def _epochs(self) -> tuple[int, int]:
        return self.cfg.sgd_batch_size, self.cfg.k_epochs

    @torch.no_grad()
    def _log_probs(self, batch: Batch) -> Tensor:
        """Returns the log probabilities [M, S] of the window's actions under the present policies."""
        return self.policy.log_probs(self.policy.outputs(batch), batch["drawn"])

    def _improve(self, batch: Batch, agent: int) -> Tensor:
        """Makes one step of an agent's policy; returns its loss, entropy, KL divergence and share of clipped ratios.
        The advantage is weighted by the ratios of the agents before it (equation 10)."""
        outputs = self.policy.outputs(batch)
        log_prob = self.policy.log_probs(outputs, batch["drawn"])[:, agent]
        policy = clipped_surrogate(log_prob, batch["log_prob"][:, agent], batch["advantage"], self.now.eps_clip)
        entropy = self.policy.entropies(outputs)[:, agent].mean()
        loss = policy.loss - self.now.entropy_coef * entropy
        self.descend(loss, batch, self.optimizers_of_agents[str(agent)])
        return torch.stack([policy.loss, entropy, policy.kl, policy.clipped]).detach()

    def _fit_value(self, batch: Batch) -> Tensor:
        losses = []
        for part in self.minibatches(batch, *self._epochs):
            loss = squared_error(self.critic(part[self.sees]).squeeze(1), part["target"])
            self.descend(self.cfg.value_coef * loss, part, self.optimizer)
            losses.append(loss.detach())
        return torch.stack(losses).mean()
