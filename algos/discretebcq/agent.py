"""DiscreteBCQ: double Q-learning whose maximum is over the actions that a network imitating the data finds likely."""

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from algos.base import Act, Array, Batch, EnvSpec, Explore, PolicyModule, Result, Streams
from algos.common.maths import targets
from algos.common.maths.exploration import epsilon_greedy, greedy, masked
from algos.common.nets import networks
from algos.common.parts import optim
from algos.common.parts.acting import ActingAgent, highest
from algos.common.parts.tables import actions_of
from algos.discretebcq.config import Config


def allowed(logits: Tensor, threshold: float) -> Tensor:
    """Returns where G(a|s) / max_a' G(a'|s) > threshold [B, A], for G = softmax(logits)."""
    return (logits - logits.amax(1, keepdim=True)).exp() > threshold


def imitation_loss(logits: Tensor, action: Tensor, mask: Tensor | None, penalty: float) -> Tensor:
    """Returns -mean log G(a|s) + penalty mean logits^2, of logits [B, A] and actions [B]; mask [B, A] is True for legal
    actions."""
    return F.cross_entropy(masked(logits, mask), action) + penalty * logits.square().mean()


def td_target(reward: Tensor, discount: Tensor, next_q: Tensor, chooser: Tensor) -> Tensor:
    """Returns r + discount Q'(s', argmax_a chooser(s', a)) [B]; next_q and chooser are [B, A]."""
    return torch.addcmul(reward, discount, targets.of_action(next_q, chooser.argmax(1)))


class Agent(ActingAgent):
    """Action values, their target network, and a network that imitates the data."""

    METRICS: ClassVar = ("loss", "q_mean", "imitation_loss", "allowed")
    KEPT: ClassVar = ("networks", "target", "optimizer", "updates")
    COMPILES: ClassVar = True

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        actions, seed = actions_of(spec.action_space), streams.init
        self.critic = networks.build(spec, cfg.value_layers, actions, cfg, seed, normalizer=self.normalizer).to(device)
        self.actor = networks.build(spec, cfg.actor_layers, actions, cfg, seed + 1, normalizer=self.normalizer)
        self.networks = nn.ModuleDict({"critic": self.critic, "actor": self.actor.to(device)})
        self.target = targets.frozen_copy(self.critic)
        self.critic_parameters: list[Tensor] = list(self.critic.parameters())
        self.target_parameters: list[Tensor] = list(self.target.parameters())
        self.optimizer = optim.make(self.networks.parameters(), cfg, cfg.lr)
        self.step = self.minimize(self._loss, self.optimizer)
        self.updates = 0

    # acting -----------------------------------------------------------------------------------------------

    def _constrained(self, obs: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Returns Q(s, .) [B, A], too low to be chosen where an action is not allowed, and where it is."""
        may = allowed(masked(self.actor(obs), mask), self.cfg.bcq_threshold)
        return masked(self.critic(obs), may), may

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        with torch.inference_mode():
            legal = None if mask is None else torch.from_numpy(mask).to(self.device)
            values = self._constrained(torch.from_numpy(obs).to(self.device), legal)[0].cpu().numpy()
        if explore is None:
            return Act(greedy(values, mask))
        return Act(epsilon_greedy(values, self.cfg.epsilon, explore.rng, mask))

    def as_module(self) -> PolicyModule:
        return _Constrained(self)

    # learning ---------------------------------------------------------------------------------------------

    def update(self, batch: Batch) -> Result:
        self.updates += 1
        metrics = self.step(batch, reduce=self.reduce)
        targets.follow(self.target_parameters, self.critic_parameters, self.cfg, self.updates)
        return Result(metrics)

    def _loss(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        cfg, action = self.cfg, batch["action"]
        with torch.no_grad():
            chooser, may = self._constrained(batch["next_obs"], batch.get("next_action_mask"))
            reward, next_q = batch["reward"] * cfg.reward_scale, self.target(batch["next_obs"])
            target = td_target(reward, batch["discount"], next_q, chooser)
        q = targets.of_action(self.critic(batch["obs"]), action)
        loss = targets.penalty(cfg)(q, target)
        imitation = imitation_loss(self.actor(batch["obs"]), action, batch.get("action_mask"), cfg.logit_penalty)
        metrics = {
            "loss": loss.detach(),
            "q_mean": q.detach().mean(),
            "imitation_loss": imitation.detach(),
            "allowed": may.float().mean(),
        }
        return loss + imitation, metrics


class _Constrained(PolicyModule):
    """The best action among those that the imitating network finds likely."""

    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self.networks, self._constrained = agent.networks, agent._constrained

    def forward(self, obs: Tensor, state: Tensor | None, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        values = self._constrained(obs, mask)[0]
        return values, highest(masked(values, mask)), state
