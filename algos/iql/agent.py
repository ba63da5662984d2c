"""IQL: an expectile of the values of given actions, critics that learn from it, and a policy that imitates the actions
with a high advantage."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from algos.base import Act, Array, Batch, EnvSpec, Explore, Result, Streams
from algos.common.maths import targets
from algos.common.maths.gaussian import keep_spread, log_stds
from algos.common.nets import critics
from algos.common.parts import optim
from algos.common.parts.acting import PolicyAgent
from algos.common.parts.actor_critic import ActorCritic
from algos.common.parts.continuous import Bounds
from algos.common.parts.optim import Outcome
from algos.iql.config import Config


def expectile_loss(error: Tensor, expectile: float) -> Tensor:
    """Returns mean |tau - 1(u < 0)| u^2 of u = Q(s, a) - V(s) [B] (equation 5)."""
    return ((expectile - (error < 0).float()).abs() * error.square()).mean()


def weighted_cloning_loss(log_prob: Tensor, advantage: Tensor, beta: float, most: float) -> Tensor:
    """Returns -mean min(exp(beta A), most) log pi(a|s) (equation 7); both are [B]."""
    return -((beta * advantage).exp().clamp(max=most) * log_prob).mean()


class Agent(PolicyAgent[ActorCritic]):
    """A Gaussian policy, a value network, critics and target critics."""

    METRICS: ClassVar = ("critic_loss", "value_loss", "actor_loss", "q_mean", "value_mean")
    KEPT: ClassVar = ("networks", "target", "optimizer", "actor_optimizer", "updates")
    COMPILES: ClassVar = True

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.bounds = Bounds(spec.action_space, device)
        self.policy = ActorCritic(cfg, spec, streams.init, self.normalizer, device)
        self.critic = critics.of_agent(self, 2, cfg.critic_layers, self.bounds.size, members=cfg.n_critics)
        self.target = targets.frozen_copy(self.critic)
        self.networks = nn.ModuleDict({**self.policy.networks, "action_values": self.critic})
        self.log_stds = log_stds(self.policy.actor)
        assert self.policy.critic is not None
        self.critic_parameters: list[Tensor] = list(self.critic.parameters())
        self.target_parameters: list[Tensor] = list(self.target.parameters())
        values = [*self.policy.critic.parameters(), *self.critic_parameters]
        self.optimizer = optim.make(values, cfg, cfg.critic_lr)
        self.actor_optimizer = optim.make(self.policy.actor.parameters(), cfg, cfg.actor_lr)
        self.step = self.minimize(self._values_loss, self.optimizer)
        self.actor_step = self.minimize(self._actor_loss, self.actor_optimizer)
        self.updates = 0

    # acting -----------------------------------------------------------------------------------------------

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        return super().act(obs, state, mask, explore)._replace(columns={})

    # learning ---------------------------------------------------------------------------------------------

    def update(self, batch: Batch) -> Result:
        cfg = self.cfg
        self.updates += 1
        metrics, advantage = self.step(batch, reduce=self.reduce)
        actor_loss = self.actor_step(batch, advantage, reduce=self.reduce)
        keep_spread(self.log_stds, cfg.log_std_min)
        targets.follow(self.target_parameters, self.critic_parameters, cfg, self.updates)
        return Result({**metrics, "actor_loss": actor_loss})

    def _values_loss(self, batch: Batch) -> tuple[Tensor, Outcome]:
        """Returns the loss of the value network and the critics, and the advantages Q(s, a) - V(s) [B]."""
        cfg, policy = self.cfg, self.policy
        unit = self.bounds.to_unit(batch["action"])
        with torch.no_grad():
            q = self.target(batch["obs"], unit).squeeze(-1).amin(0)
            next_value = policy.value({"obs": batch["next_obs"]})
            target = torch.addcmul(batch["reward"] * cfg.reward_scale, batch["discount"], next_value)
        value = policy.value(batch)
        value_loss = expectile_loss(q - value, cfg.expectile)
        values = self.critic(batch["obs"], unit).squeeze(-1)
        critic_loss = targets.td_loss(values, target, None, cfg.loss == "huber")
        metrics = {
            "critic_loss": critic_loss.detach(),
            "value_loss": value_loss.detach(),
            "q_mean": values.detach().mean(),
            "value_mean": value.detach().mean(),
        }
        return value_loss + critic_loss, Outcome(metrics, q - value.detach())

    def _actor_loss(self, batch: Batch, advantage: Tensor) -> tuple[Tensor, Tensor]:
        distribution = self.policy.distribution
        log_prob = distribution.log_prob(self.policy.outputs(batch), distribution.from_env(batch["action"]))
        loss = weighted_cloning_loss(log_prob, advantage, self.cfg.beta, self.cfg.most_weight)
        return loss, loss.detach()
