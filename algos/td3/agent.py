"""TD3, and DDPG as a special case: a deterministic policy follows the gradient of the critic's value."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from algos.base import Act, Array, Batch, EnvSpec, Explore, PolicyModule, Result, Streams
from algos.common.fast.layers import Network
from algos.common.maths import targets
from algos.common.nets import critics, networks
from algos.common.nets.layers import changed_by
from algos.common.nets.recurrent import Recurrent
from algos.common.parts import optim
from algos.common.parts.acting import ActingAgent, Greedy
from algos.common.parts.continuous import Bounds, Explorer, standard_normal
from algos.common.parts.optim import Outcome
from algos.common.parts.passes import Carried, outputs_of
from algos.td3.config import Config


def smoothed(action: Tensor, noise: Tensor, clip: float) -> Tensor:
    """Returns clip(pi'(s') + clip(noise, -c, c), -1, 1) [B, A]: the target action with smoothing noise
    (algorithm 1)."""
    return (action + noise.clamp(-clip, clip)).clamp(-1.0, 1.0)


def td_target(reward: Tensor, discount: Tensor, next_q: Tensor) -> Tensor:
    """Returns the TD target r + discount min_i Q'_i(s', a') [B] (equation 10); next_q is [n, B], and n is 1 in DDPG.
    discount [B] is gamma^k, and 0 if s' is terminal."""
    return torch.addcmul(reward, discount, next_q.amin(0))


def policy_loss(q: Tensor) -> Tensor:
    """Returns -mean Q_1(s, pi(s)): its gradient is the deterministic policy gradient; q is [1, B]."""
    return -q[0].mean()


def cloning_loss(q: Tensor, action: Tensor, example: Tensor, alpha: float) -> Tensor:
    """Returns -lambda mean Q_1(s, pi(s)) + mean (pi(s) - a)^2 with lambda = alpha / mean |Q_1| (equations 3 and 5 of
    Fujimoto and Gu, 2021); q is [1, B], pi(s) and the example a are [B, A] in -1..1."""
    scale = alpha / q[0].detach().abs().mean().clamp(min=1e-8)
    return scale * policy_loss(q) + (action - example).square().mean()


def squared_distance(action: Tensor, example: Tensor) -> Tensor:
    """Returns the squared distances [B] of actions [B, A] in -1..1."""
    return (action - example).square().sum(-1)


def penalized_loss(q: Tensor, distance: Tensor, weight: float) -> Tensor:
    """Returns mean(weight distance - Q / mean |Q|) with Q = min_i Q_i(s, pi(s)) (Tarasov et al., 2023); q is [n, B],
    the squared distance of pi(s) to the action of the data [B]."""
    least = q.amin(0)
    scale = least.detach().abs().mean().clamp(min=1e-8)
    return (weight * distance - least / scale).mean()


class Agent(ActingAgent):
    """A deterministic policy and critics, with a target network of each."""

    METRICS: ClassVar = ("critic_loss", "q_mean", "actor_loss")
    KEPT: ClassVar = ("networks", "targets", "actor_optimizer", "critic_optimizer", "actor_loss", "updates")
    COMPILES: ClassVar = True

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.bounds = Bounds(spec.action_space, device)
        size, seed = self.bounds.size, streams.init
        actor = self._actor(size, seed)
        self.sees, seen, normalizer = self._critic_input()
        critic = critics.build(
            seen, cfg.critic_layers, cfg, seed + 1, members=cfg.n_critics, actions=size, normalizer=normalizer
        )
        self.actor, self.critic = actor.extend([nn.Tanh()]).to(device), critic.to(device)
        self.carried = Carried(self.actor, device)
        self.carried.add("critic", self.critic.front)
        self.explorer = Explorer(cfg, self.bounds, self.carried)
        self.networks = nn.ModuleDict({"actor": self.actor, "critic": self.critic})
        self.targets = targets.frozen_copy(self.networks)
        self.target_actor, self.target_critic = self.targets["actor"], self.targets["critic"]
        self.online: list[Tensor] = list(self.networks.parameters())
        self.slow: list[Tensor] = list(self.targets.parameters())
        self.actor_optimizer = optim.make(changed_by(self.actor), cfg, cfg.actor_lr)
        self.optimizer = self.critic_optimizer = optim.make(self.critic.parameters(), cfg, cfg.critic_lr)
        self.critic_step = self.minimize(self._critic_loss, self.critic_optimizer)
        self.actor_step = self.minimize(self._actor_loss, self.actor_optimizer)
        self.actor_loss = torch.zeros((), device=device)
        self.updates = 0

    def _actor(self, size: int, seed: int) -> Network | Recurrent:
        """Returns the policy network without its tanh."""
        return networks.build(self.spec, self.cfg.actor_layers, size, self.cfg, seed, normalizer=self.normalizer)

    def _critic_input(self) -> tuple[str, EnvSpec, nn.Module | None]:
        """Returns the column that the critics read, the spec whose observation it is, and its normalizer."""
        return "obs", self.spec, self.normalizer

    # acting -----------------------------------------------------------------------------------------------

    def initial_state(self, rows: int) -> Array | None:
        return self.explorer.initial_state(rows)

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        return self.explorer.act(lambda unit: unit, obs, state, explore)

    def as_module(self) -> PolicyModule:
        return Greedy(self.actor, self.bounds.bounded)

    # learning ---------------------------------------------------------------------------------------------

    def update(self, batch: Batch) -> Result:
        cfg = self.cfg
        self.updates += 1
        metrics, priorities = self.critic_step(batch, self._noise(len(batch["reward"])), reduce=self.reduce)
        if self.updates % cfg.policy_freq == 0:
            self.actor_loss = self.actor_step(batch, reduce=self.reduce)
            targets.follow(self.slow, self.online, cfg, self.updates // cfg.policy_freq)
        return Result({**metrics, "actor_loss": self.actor_loss}, priorities)

    def _noise(self, rows: int) -> Tensor | None:
        """Returns the standard normal noise [B, A] of the target actions; None without smoothing."""
        return (
            standard_normal(rows, self.bounds.size, self.streams.learn, self.device) if self.cfg.policy_noise else None
        )

    def _critic_loss(self, batch: Batch, noise: Tensor | None) -> tuple[Tensor, Outcome]:
        """Returns the loss of the critics, and with prioritized replay the priorities [M]."""
        target, weight = self._target(batch, noise), batch.get("weight")
        q = self.critic(batch[self.sees], self.bounds.to_unit(batch["action"])).squeeze(-1)
        loss = targets.td_loss(q, target, weight, self.cfg.loss == "huber")
        metrics = {"critic_loss": loss.detach(), "q_mean": q.detach().mean()}
        return loss, Outcome(metrics, None if weight is None else targets.priorities(q, target))

    def _actor_loss(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns the loss of the policy, and once more without a graph; the critics receive no gradients."""
        action = outputs_of(self.actor, batch["obs"])
        values = self.critic if self.cfg.bc_actor else self.critic.first
        q = values(batch[self.sees], action).squeeze(-1)
        if self.cfg.bc_actor:
            distance = squared_distance(action, self.bounds.to_unit(batch["action"]))
            loss = penalized_loss(q, distance, self.cfg.bc_actor)
        elif self.cfg.bc_alpha is None:
            loss = policy_loss(q)
        else:
            loss = cloning_loss(q, action, self.bounds.to_unit(batch["action"]), self.cfg.bc_alpha)
        return loss, loss.detach()

    @torch.no_grad()
    def _target(self, batch: Batch, noise: Tensor | None) -> Tensor:
        """Returns the TD target [B]. noise: of the smoothing of the target actions."""
        cfg, action = self.cfg, outputs_of(self.target_actor, batch["next_obs"])
        if noise is not None:
            action = smoothed(action, cfg.policy_noise * noise, cfg.noise_clip)
        next_q = self.target_critic(batch[f"next_{self.sees}"], action).squeeze(-1)
        if cfg.bc_critic:
            distance = squared_distance(action, self.bounds.to_unit(batch["next_action"]))
            next_q = next_q - cfg.bc_critic * batch["has_next"] * distance
        return td_target(batch["reward"] * cfg.reward_scale, batch["discount"], next_q)
