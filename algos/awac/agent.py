"""AWAC, and CRR as a variant: critics evaluate the policy, which imitates the actions with a high advantage."""

from typing import ClassVar

import torch
from gymnasium.spaces import Box
from torch import Tensor, nn

from algos.awac.config import Config
from algos.base import Act, Array, Batch, EnvSpec, Explore, PolicyModule, Result, Streams
from algos.common.maths import targets
from algos.common.maths.gaussian import DiagGaussian, keep_spread, log_stds
from algos.common.nets import critics, networks
from algos.common.parts import optim
from algos.common.parts.acting import ActingAgent, Greedy
from algos.common.parts.actor_critic import policy_loss
from algos.common.parts.continuous import Bounds, standard_normal


def advantages(q: Tensor, drawn: Tensor, baseline: str) -> Tensor:
    """Returns Q(s, a) - mean_j Q(s, a_j), or with the maximum over j, [B]; drawn [K, B] are the values of actions of
    the policy."""
    return q - (drawn.mean(0) if baseline == "mean" else drawn.amax(0))


def weights(advantage: Tensor, kind: str, temperature: float, most: float) -> Tensor:
    """Returns min(exp(A / temperature), most), or 1(A > 0) for kind binary, [B]."""
    if kind == "binary":
        return (advantage > 0).float()
    return (advantage / temperature).exp().clamp(max=most)


class Agent(ActingAgent):
    """A Gaussian policy in the cube -1..1, critics and target critics."""

    METRICS: ClassVar = ("critic_loss", "actor_loss", "q_mean", "advantage_mean", "weight_mean")
    KEPT: ClassVar = ("networks", "target", "optimizer", "actor_optimizer", "updates")
    COMPILES: ClassVar = True

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.bounds = Bounds(spec.action_space, device)
        size, seed = self.bounds.size, streams.init
        self.distribution = DiagGaussian(Box(-1.0, 1.0, (size,)))
        actor = networks.build(spec, cfg.actor_layers, size, cfg, seed, normalizer=self.normalizer)
        self.actor: nn.Module = actor.extend([nn.Tanh(), *self.distribution.tail(cfg.log_std_init)]).to(device)
        self.critic = critics.of_agent(self, 1, cfg.critic_layers, size, members=cfg.n_critics)
        self.target = targets.frozen_copy(self.critic)
        self.networks = nn.ModuleDict({"actor": self.actor, "critic": self.critic})
        self.log_stds = log_stds(self.actor)
        self.parameters: list[Tensor] = list(self.critic.parameters())
        self.target_parameters: list[Tensor] = list(self.target.parameters())
        self.optimizer = optim.make(self.parameters, cfg, cfg.critic_lr)
        self.actor_optimizer = optim.make(self.actor.parameters(), cfg, cfg.actor_lr)
        self.step = self.minimize(self._critic_loss, self.optimizer)
        self.actor_step = self.minimize(self._actor_loss, self.actor_optimizer)
        self.updates = 0

    # acting -----------------------------------------------------------------------------------------------

    def _outputs(self, obs: Array) -> Array:
        with torch.inference_mode():
            return self.actor(torch.from_numpy(obs).to(self.device)).cpu().numpy()

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        outputs, of = self._outputs(obs), self.distribution
        return Act(self.bounds.to_env(of.mode(outputs) if explore is None else of.sample(outputs, explore.rng)[0]))

    def as_module(self) -> PolicyModule:
        return Greedy(self.actor, lambda outputs: self.bounds.bounded(self.distribution.best(outputs)))

    # learning ---------------------------------------------------------------------------------------------

    def update(self, batch: Batch) -> Result:
        self.updates += 1
        metrics = self.step(batch, reduce=self.reduce)
        targets.follow(self.target_parameters, self.parameters, self.cfg, self.updates)
        metrics |= self.actor_step(batch, reduce=self.reduce)
        keep_spread(self.log_stds, self.cfg.log_std_min)
        return Result(metrics)

    def _critic_loss(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        cfg, unit = self.cfg, self.bounds.to_unit(batch["action"])
        with torch.no_grad():
            next_value = self._of_policy(self.target, batch["next_obs"], 1)[0]
            target = torch.addcmul(batch["reward"] * cfg.reward_scale, batch["discount"], next_value)
        q = self.critic(batch["obs"], unit).squeeze(-1)
        loss = targets.td_loss(q, target, None, cfg.loss == "huber")
        return loss, {"critic_loss": loss.detach(), "q_mean": q.detach().mean()}

    @torch.no_grad()
    def _of_policy(self, critic: critics.Critic, obs: Tensor, count: int) -> Tensor:
        """Returns min_i Q_i(s, a_j) [count, B] of actions a_j that are drawn from the policy."""
        mean, log_std = self.actor(obs).repeat(count, 1).chunk(2, -1)
        noise = standard_normal(len(mean), self.bounds.size, self.streams.learn, self.device)
        action = torch.addcmul(mean, log_std.exp(), noise).clamp(-1.0, 1.0)
        values = critic(critics.repeated(obs, count), action).squeeze(-1).amin(0)
        return values.unflatten(0, (count, len(obs)))

    def _actor_loss(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Returns the loss of the policy, which imitates the actions with a high advantage."""
        cfg, obs, unit = self.cfg, batch["obs"], self.bounds.to_unit(batch["action"])
        with torch.no_grad():
            q = self.critic(obs, unit).squeeze(-1).amin(0)
        advantage = advantages(q, self._of_policy(self.critic, obs, cfg.advantage_actions), cfg.advantage_baseline)
        weight = weights(advantage, cfg.weights, cfg.temperature, cfg.most_weight)
        loss = policy_loss(self.distribution.log_prob(self.actor(obs), unit), weight)
        metrics = {"actor_loss": loss.detach(), "advantage_mean": advantage.mean(), "weight_mean": weight.mean()}
        return loss, metrics
