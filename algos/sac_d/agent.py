"""SAC_D: SAC for discrete actions; expectations over the policy are sums over all actions."""

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from algos.base import Act, Array, Batch, EnvSpec, Explore, PolicyModule, Result, Streams
from algos.common.maths import targets
from algos.common.maths.distributions import Categorical
from algos.common.maths.exploration import IMPOSSIBLE, masked
from algos.common.maths.targets import entropy_of, soft_value
from algos.common.nets import critics, networks
from algos.common.nets.recurrent import Observed
from algos.common.parts import optim
from algos.common.parts.acting import ActingAgent, Greedy
from algos.common.parts.optim import Outcome
from algos.common.parts.passes import Carried, outputs_of
from algos.common.parts.tables import actions_of
from algos.sac.temperature import Temperature
from algos.sac_d.config import Config


def log_policy(logits: Tensor, mask: Tensor | None) -> Tensor:
    """Returns log pi(.|s) [B, A]; actions with mask False have probability 0."""
    return F.log_softmax(logits if mask is None else logits.masked_fill(~mask, IMPOSSIBLE), -1)


class Agent(ActingAgent):
    """A categorical policy, critics and target critics."""

    METRICS: ClassVar = ("critic_loss", "q_mean", "actor_loss", "entropy", "alpha")
    KEPT: ClassVar = ("networks", "target", "actor_optimizer", "critic_optimizer", "temperature", "metrics", "updates")
    COMPILES: ClassVar = True

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.actions, seed = actions_of(spec.action_space), streams.init
        self.distribution = Categorical(spec.action_space)  # type: ignore[arg-type]
        self.actor = networks.build(spec, cfg.actor_layers, self.actions, cfg, seed, normalizer=self.normalizer)
        self.critic = critics.of_agent(self, 1, cfg.critic_layers, 0, self.actions, cfg.n_critics)
        self.temperature = Temperature(cfg, device)
        parts = {"actor": self.actor, "temperature": self.temperature, "critic": self.critic}
        self.networks = nn.ModuleDict(parts).to(device)
        self.carried = Carried(self.actor, device)
        self.carried.add("critic", self.critic.front)
        self.target = targets.frozen_copy(self.critic)
        self.critic_parameters: list[Tensor] = list(self.critic.parameters())
        self.target_parameters: list[Tensor] = list(self.target.parameters())
        self.actor_optimizer = optim.make(self.actor.parameters(), cfg, cfg.actor_lr)
        self.optimizer = self.critic_optimizer = optim.make(self.critic_parameters, cfg, cfg.critic_lr)
        self.step = self.minimize(self._critic_loss, self.critic_optimizer)
        self.actor_step = self.minimize(self._actor_loss, self.actor_optimizer)
        zero = torch.zeros((), device=device)
        self.metrics = {"actor_loss": zero, "entropy": zero, "alpha": self.temperature.alpha()}
        self.updates = 0

    # acting -----------------------------------------------------------------------------------------------

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        random = explore is not None and explore.progress.step < self.cfg.start_steps
        if state is not None or not random:  # the recurrent state is updated in random steps too
            logits, state = self.carried.act(obs, state)
        logits = masked(np.zeros((len(obs), self.actions)) if random else logits, mask)
        if explore is None:
            return Act(self.distribution.mode(logits), state=state)
        return Act(self.distribution.sample(logits, explore.rng)[0], state=state)

    def as_module(self) -> PolicyModule:
        return Greedy(self.actor, self.distribution.best)

    # learning ---------------------------------------------------------------------------------------------

    def update(self, batch: Batch) -> Result:
        cfg = self.cfg
        self.updates += 1
        metrics, priorities = self.step(batch, reduce=self.reduce)
        targets.follow(self.target_parameters, self.critic_parameters, cfg, self.updates)
        if self.updates % cfg.policy_freq == 0:
            self._improve(batch["obs"], batch.get("action_mask"))
        return Result({**metrics, **self.metrics}, priorities)

    def _critic_loss(self, batch: Batch) -> tuple[Tensor, Outcome]:
        """Returns the loss of the critics, and with prioritized replay the priorities [B]."""
        cfg, weight = self.cfg, batch.get("weight")
        target = self._target(batch)
        chosen = (batch["action"] - self.distribution.start).expand(cfg.n_critics, -1).unsqueeze(-1)
        q = self.critic(batch["obs"]).gather(2, chosen).squeeze(-1)
        loss = targets.td_loss(q, target, weight, cfg.loss == "huber")
        priorities = None if weight is None else targets.priorities(q, target)
        return loss, Outcome({"critic_loss": loss.detach(), "q_mean": q.detach().mean()}, priorities)

    @torch.no_grad()
    def _target(self, batch: Batch) -> Tensor:
        """Returns the TD target r + discount V(s') [B]; discount is gamma^k, and 0 if s' is terminal."""
        log_pi = log_policy(outputs_of(self.actor, batch["next_obs"]), batch.get("next_action_mask"))
        value = soft_value(log_pi, self.target(batch["next_obs"]).amin(0), self.temperature.alpha())
        return torch.addcmul(batch["reward"] * self.cfg.reward_scale, batch["discount"], value)

    def _improve(self, obs: Observed, mask: Tensor | None) -> None:
        """Makes one actor step towards a larger soft value (equation 12), and one of the temperature."""
        masks = () if mask is None else (mask,)
        self.metrics, entropy = self.actor_step(obs, *masks, reduce=self.reduce)
        self.temperature.step(entropy, self._target_entropy(mask), self.reduce)

    def _actor_loss(self, obs: Observed, mask: Tensor | None = None) -> tuple[Tensor, Outcome]:
        """Returns the loss of the policy, and the entropy in each state [B]."""
        alpha = self.temperature.alpha()
        with torch.no_grad():
            q = self.critic(obs).amin(0)
        log_pi = log_policy(outputs_of(self.actor, obs), mask)
        loss = -soft_value(log_pi, q, alpha).mean()
        entropy = entropy_of(log_pi.detach())
        return loss, Outcome({"actor_loss": loss.detach(), "entropy": entropy.mean(), "alpha": alpha}, entropy)

    def _target_entropy(self, mask: Tensor | None) -> Tensor | float:
        """Returns the target entropy; with a mask, [B] by the number of legal actions of each state."""
        cfg = self.cfg
        if cfg.target_entropy is not None:
            return cfg.target_entropy
        if mask is None:
            return cfg.target_entropy_scale * float(np.log(self.actions))
        return cfg.target_entropy_scale * mask.sum(-1).log()
