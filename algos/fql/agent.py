"""FQL: a flow from noise to actions imitates the data; the policy goes that way in one step, and maximizes values."""

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from algos.base import Act, Array, Batch, EnvSpec, Explore, PolicyModule, Result, Streams
from algos.common.fast.tensors import on_device
from algos.common.maths import targets
from algos.common.nets import critics
from algos.common.parts import optim
from algos.common.parts.acting import ActingAgent
from algos.common.parts.continuous import Bounds, standard_normal
from algos.fql.config import Config


def between(noise: Tensor, action: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
    """Returns points [B, A] on the straight ways from noise to actions at the times [B, 1] in 0..1, and the velocity on
    each way."""
    return torch.lerp(noise, action, time), action - noise


def flow_loss(velocity: Tensor, wanted: Tensor) -> Tensor:
    """Returns the mean squared error of velocities [B, A]."""
    return (velocity - wanted).square().mean()


def policy_loss(q: Tensor, normalized: bool) -> Tensor:
    """Returns -mean Q(s, pi(s, z)), or that divided by mean |Q|; q is [B]."""
    scale = q.detach().abs().mean().clamp(min=1e-8) if normalized else 1.0
    return -q.mean() / scale


class Agent(ActingAgent):
    """A policy of one step, a flow, critics and target critics."""

    METRICS: ClassVar = ("critic_loss", "q_mean", "actor_loss", "flow_loss", "distill_loss")
    KEPT: ClassVar = ("networks", "target", "optimizer", "actor_optimizer", "updates")
    COMPILES: ClassVar = True

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.bounds = Bounds(spec.action_space, device)
        size = self.bounds.size
        self.actor = critics.of_agent(self, 0, cfg.actor_layers, size, size)
        self.flow = critics.of_agent(self, 1, cfg.actor_layers, size + 1, size)
        self.critic = critics.of_agent(self, 2, cfg.critic_layers, size, members=cfg.n_critics)
        self.target = targets.frozen_copy(self.critic)
        self.networks = nn.ModuleDict({"actor": self.actor, "flow": self.flow, "critic": self.critic})
        self.critic_parameters: list[Tensor] = list(self.critic.parameters())
        self.target_parameters: list[Tensor] = list(self.target.parameters())
        self.optimizer = optim.make(self.critic_parameters, cfg, cfg.critic_lr)
        policies = [*self.actor.parameters(), *self.flow.parameters()]
        self.actor_optimizer = optim.make(policies, cfg, cfg.actor_lr)
        self.critic_step = self.minimize(self._critic_loss, self.optimizer)
        self.actor_step = self.minimize(self._actor_loss, self.actor_optimizer)
        self.updates = 0

    # acting -----------------------------------------------------------------------------------------------

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        """Returns actions from noise; for None those from no noise, 0."""
        return self._from_noise(obs, None if explore is None else explore.rng)

    def _from_noise(self, obs: Array, rng: np.random.Generator | None) -> Act:
        shape = (len(obs), self.bounds.size)
        noise = np.zeros(shape, np.float32) if rng is None else rng.standard_normal(shape, np.float32)
        with torch.inference_mode():
            unit = self._action(torch.from_numpy(obs).to(self.device), on_device(noise, self.device))
        return Act(self.bounds.to_env(unit.cpu().numpy()))

    def as_module(self) -> PolicyModule:
        return _WithoutNoise(self)

    def _action(self, obs: Tensor, noise: Tensor) -> Tensor:
        """Returns the actions [B, A] of the policy in the cube -1..1."""
        return self.actor(obs, noise)[0].clamp(-1.0, 1.0)

    @torch.no_grad()
    def _flown(self, obs: Tensor, noise: Tensor) -> Tensor:
        """Returns the actions [B, A] that the flow leads to from noise."""
        steps, x = self.cfg.flow_steps, noise
        for step in range(steps):
            time = x.new_full((len(x), 1), step / steps)
            x = x + self.flow(obs, torch.cat([x, time], 1))[0] / steps
        return x.clamp(-1.0, 1.0)

    # learning ---------------------------------------------------------------------------------------------

    def update(self, batch: Batch) -> Result:
        self.updates += 1
        rows = len(batch["reward"])
        metrics = self.critic_step(batch, self._noise(rows), reduce=self.reduce)
        time = on_device(self.streams.learn.random((rows, 1), np.float32), self.device)
        losses = self.actor_step(batch, self._noise(rows), time, self._noise(rows), reduce=self.reduce)
        targets.follow(self.target_parameters, self.critic_parameters, self.cfg, self.updates)
        return Result({**metrics, **losses})

    def _noise(self, rows: int) -> Tensor:
        return standard_normal(rows, self.bounds.size, self.streams.learn, self.device)

    def _critic_loss(self, batch: Batch, noise: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        cfg = self.cfg
        with torch.no_grad():
            next_q = self.target(batch["next_obs"], self._action(batch["next_obs"], noise)).squeeze(-1)
            value = next_q.amin(0) if cfg.target_value == "min" else next_q.mean(0)
            target = torch.addcmul(batch["reward"] * cfg.reward_scale, batch["discount"], value)
        q = self.critic(batch["obs"], self.bounds.to_unit(batch["action"])).squeeze(-1)
        loss = targets.td_loss(q, target, None, cfg.loss == "huber")
        return loss, {"critic_loss": loss.detach(), "q_mean": q.detach().mean()}

    def _actor_loss(self, batch: Batch, start: Tensor, time: Tensor, noise: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Returns the loss of flow and policy. start: noise that the ways to the data begin at; time: how far on them;
        noise: of the policy."""
        obs = batch["obs"]
        place, velocity = between(start, self.bounds.to_unit(batch["action"]), time)
        flow = flow_loss(self.flow(obs, torch.cat([place, time], 1))[0], velocity)
        output = self.actor(obs, noise)[0]
        distill = flow_loss(output, self._flown(obs, noise))
        value = policy_loss(self.critic(obs, output.clamp(-1.0, 1.0)).squeeze(-1).mean(0), self.cfg.normalize_q)
        loss = flow + self.cfg.distill_alpha * distill + value
        return loss, {"actor_loss": value.detach(), "flow_loss": flow.detach(), "distill_loss": distill.detach()}


class _WithoutNoise(PolicyModule):
    """The policy's actions from no noise."""

    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self.networks, self._agent = agent.networks, agent

    def forward(self, obs: Tensor, state: Tensor | None, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        unit = self._agent._action(obs, obs.new_zeros((obs.shape[0], self._agent.bounds.size), dtype=torch.float32))
        return unit, self._agent.bounds.bounded(unit), state
