"""QMIX and VDN: the agents' values of their own actions, mixed to one value that learns the return of all."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from algos.base import Act, Array, Batch, EnvSpec, Explore, PolicyModule, Progress, Result, Streams
from algos.common.maths import targets
from algos.common.maths.exploration import IMPOSSIBLE, Explorer, greedy, masked
from algos.common.nets import networks
from algos.common.nets.recurrent import Observed
from algos.common.parts import optim, passes, team
from algos.common.parts.acting import ActingAgent, Greedy, highest
from algos.common.parts.optim import Outcome
from algos.qmix import mixer
from algos.qmix.config import Config


def of_actions(values: Tensor, action: Tensor) -> Tensor:
    """Returns the values [M, S] of actions [M, S], from values [M, S, A]."""
    return values.gather(2, action.unsqueeze(2)).squeeze(2)


class Agent(ActingAgent):
    """A value network that all agents share and a network of the mixer's weights, with a target network of each."""

    METRICS: ClassVar = ("loss", "q_mean")
    KEPT: ClassVar = ("networks", "targets", "optimizer", "updates")
    COMPILES: ClassVar = True

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.actions, seed = team.actions_of_each(spec), streams.init
        network = team.shared_by_agents(spec, cfg.value_layers, self.actions, cfg, seed, self.normalizer)
        self.networks = nn.ModuleDict({"agent": network})
        self.sees, state_spec, normalizer = team.central(self, spec)
        if cfg.mixer == "monotonic":
            weights = mixer.outputs(spec.agents, cfg.mixer_size)
            hyper = networks.build(state_spec, cfg.hyper_layers, weights, cfg, seed + 1, normalizer=normalizer)
            self.networks["hyper"] = hyper
        self.networks.to(device)
        self.targets = targets.frozen_copy(self.networks)
        self.carried = passes.Carried(network, device)
        self.parameters: list[Tensor] = list(self.networks.parameters())
        self.slow: list[Tensor] = list(self.targets.parameters())
        self.optimizer = optim.make(self.parameters, cfg, cfg.lr)
        self.step = self.minimize(self._loss, self.optimizer)
        self.explorer = Explorer(cfg)
        self.reward_scale = cfg.reward_scale / (spec.agents if cfg.joint_reward == "mean" else 1)
        """Factor on the sum of the agents' rewards."""
        self.updates = 0

    # acting -----------------------------------------------------------------------------------------------

    def exploration(self, progress: Progress) -> dict[str, float]:
        return self.explorer.strength(progress)

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        values, after = self.carried.act(obs, state)
        of_agents = values.reshape(-1, self.actions)  # of the agents of all rows, [N S, A]
        legal = None if mask is None else mask.reshape(of_agents.shape)
        if explore is None:
            action = greedy(of_agents, legal)
        else:
            action = self.explorer.choose(lambda: of_agents, of_agents.shape, *explore, legal)
        return Act(action.reshape(-1, *(self.spec.action_space.shape or ())), state=after)

    def as_module(self) -> PolicyModule:
        shape = self.spec.action_space.shape or ()
        return Greedy(
            self.networks["agent"],
            lambda values: highest(values).reshape(-1, *shape),
            mask=lambda values, mask: masked(values, None if mask is None else mask.view(values.shape)),
        )

    # learning ---------------------------------------------------------------------------------------------

    def update(self, batch: Batch) -> Result:
        metrics, priorities = self.step(batch, reduce=self.reduce)
        self.updates += 1
        targets.follow(self.slow, self.parameters, self.cfg, self.updates)
        return Result(metrics, priorities)

    def _loss(self, batch: Batch) -> tuple[Tensor, Outcome]:
        """Returns the loss, and with prioritized replay the TD errors [M]."""
        cfg, weight = self.cfg, batch.get("weight")
        target = self._target(batch)
        values = passes.outputs_of(self.networks["agent"], batch["obs"])
        action = batch["action"].reshape(values.shape[:2])
        total = self._mixed(self.networks, of_actions(values, action), batch[self.sees])
        losses = targets.penalty(cfg)(total, target, reduction="none")
        loss = losses.mean() if weight is None else (weight * losses).mean()
        error = (target - total.detach()).abs()
        metrics = {"loss": loss.detach(), "q_mean": total.detach().mean()}
        return loss, Outcome(metrics, None if weight is None else error)

    @torch.no_grad()
    def _target(self, batch: Batch) -> Tensor:
        """Returns r + discount Q_tot(s', the best action of each agent) [M], from the target networks."""
        values = passes.outputs_of(self.targets["agent"], batch["next_obs"])
        online = passes.outputs_of(self.networks["agent"], batch["next_obs"]) if self.cfg.double else values
        if (mask := batch.get("next_action_mask")) is not None:
            online = online.masked_fill(~mask.view(online.shape), IMPOSSIBLE)
        best = of_actions(values, online.argmax(2))
        total = self._mixed(self.targets, best, batch[f"next_{self.sees}"])
        return torch.addcmul(batch["reward"] * self.reward_scale, batch["discount"], total)

    def _mixed(self, nets: nn.ModuleDict, values: Tensor, state: Observed) -> Tensor:
        """Returns Q_tot [M] of the values [M, S] of the agents' actions."""
        if "hyper" not in nets:
            return values.sum(1)
        return mixer.monotonic(values, passes.outputs_of(nets["hyper"], state, "hyper"))
