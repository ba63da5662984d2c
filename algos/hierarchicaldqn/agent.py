"""Hierarchical DQN: two value networks, of goals and of actions that reach a goal."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import torch
from gymnasium.spaces import Discrete, MultiDiscrete
from torch import Tensor, nn

from algos.base import Act, Array, Batch, EnvSpec, Explore, PolicyModule, Progress, Result, Streams, UnfitError
from algos.common.maths import targets
from algos.common.maths.exploration import Explorer, greedy, masked
from algos.common.nets import networks
from algos.common.parts import optim
from algos.common.parts.acting import ActingAgent
from algos.common.parts.passes import Carried, outputs_of
from algos.common.parts.tables import actions_of
from algos.hierarchicaldqn.config import Config

HEAD = 3
"""Numbers of the recurrent state before that of the controller's network."""


def controller_target(reached: Tensor, discount: Tensor, next_values: Tensor) -> Tensor:
    """Returns 1 where the goal is reached, and elsewhere discount max_a Q(s', g, a) (equation 1 of the paper, with this
    reward); next_values are [M, A]."""
    return torch.where(reached, 1.0, discount * next_values.amax(1))


def meta_target(earned: Tensor, discount: Tensor, next_values: Tensor) -> Tensor:
    """Returns the sum of the rewards since the goal was chosen + discount max_g Q(s', g) (equation 2 of the paper);
    next_values are [M, goals]."""
    return earned + discount * next_values.amax(1)


class Agent(ActingAgent):
    """A meta-controller and a controller, each with a target network. The recurrent state of a row begins with the
    goal, counted from 1 (0 stands for none), the state where it was chosen, and the rewards since then."""

    METRICS: ClassVar = ("controller_loss", "meta_loss", "reached")
    KEPT: ClassVar = ("networks", "targets", "optimizer", "updates")

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        space = spec.observation_space
        if not isinstance(space, Discrete):
            raise UnfitError(
                "{space} is not Discrete: goals are the values of an observation that is a single number", space=space
            )
        self.start, goals = int(space.start), int(space.n)
        pair = replace(spec, observation_space=MultiDiscrete([goals, goals], start=[self.start, 0]))
        meta = networks.build(spec, cfg.meta_layers, goals, cfg, streams.init)
        controller = networks.build(
            pair, cfg.controller_layers, actions_of(spec.action_space), cfg, streams.init + 1
        )  # fmt: skip
        self.networks = nn.ModuleDict({"meta": meta, "controller": controller}).to(device)
        self.targets = targets.frozen_copy(self.networks)
        self.carried = Carried(controller, device)
        self.parameters: list[Tensor] = list(self.networks.parameters())
        self.target_parameters: list[Tensor] = list(self.targets.parameters())
        self.optimizer = optim.make(self.parameters, cfg, cfg.lr)
        self.penalty = targets.penalty(cfg)
        self.explorer = Explorer(cfg)
        self.updates = 0

    # acting -----------------------------------------------------------------------------------------------

    def initial_state(self, rows: int) -> Array:
        return np.zeros((rows, HEAD + self.carried.size), np.float32)

    def rewarded(self, state: Array, reward: Array) -> Array:
        state = state.copy()
        state[:, 2] += reward
        return state

    def exploration(self, progress: Progress) -> dict[str, float]:
        return self.explorer.strength(progress)

    def as_module(self) -> PolicyModule:
        raise UnfitError("it acts by two networks and a goal that the first keeps until the second reaches it")

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        """Chooses a goal where there is none or it is reached, and an action."""
        assert state is not None
        last_goal = state[:, 0].astype(np.int64) - 1
        due = (last_goal < 0) | (last_goal == obs - self.start)
        with torch.inference_mode():
            of_goals = self.networks["meta"](torch.from_numpy(obs).to(self.device)).cpu().numpy()
        goal = np.where(due, self._chosen(of_goals, None, explore), last_goal)
        values, memory = self.carried.act(np.stack([obs, goal], 1), state[:, HEAD:] if self.carried.size else None)
        columns = {
            "goal": goal.astype(np.int32),
            "chosen_at": np.where(due, obs, state[:, 1]).astype(np.int32),
            "earned": np.where(due, np.float32(0), state[:, 2]),
        }
        of_goal = np.stack([goal + 1, columns["chosen_at"], columns["earned"]], 1).astype(np.float32)
        after = of_goal if memory is None else np.concatenate([of_goal, memory], 1)
        return Act(self._chosen(values, mask, explore), columns, after)

    def _chosen(self, values: Array, mask: Array | None, explore: Explore | None) -> Array:
        if explore is None:
            return greedy(values, mask)
        return self.explorer.choose(lambda: values, values.shape, *explore, mask)

    # learning ---------------------------------------------------------------------------------------------

    def prepare(self, window: Batch, progress: Progress) -> Batch:
        """Adds the goal to the observations, and whether it is reached; leaves only the controller's state."""
        goal, after = window["goal"].long(), window["next_obs"]
        pairs = {name: torch.stack([window[name], goal], -1) for name in ("obs", "next_obs")}
        window = {**window, **pairs, "goal": goal, "after": after, "reached": after - self.start == goal}
        if "state" in window:
            window["state"] = window["state"][..., HEAD:]
        # a memory from before the flag was stored has discounts alone
        return {"terminated": window["discount"] == 0, **window}

    def update(self, batch: Batch) -> Result:
        (meta, meta_error), (controller, controller_error) = self._meta_loss(batch), self._controller_loss(batch)
        weight = batch.get("weight", torch.ones_like(meta))
        loss = (weight * (meta + controller)).mean()
        self.descend(loss, batch, self.optimizer)
        self.updates += 1
        targets.follow(self.target_parameters, self.parameters, self.cfg, self.updates)
        losses = {"controller_loss": controller.detach().mean(), "meta_loss": meta.detach().mean()}
        priorities = meta_error + controller_error if "weight" in batch else None
        return Result({**losses, "reached": batch["reached"].float().mean()}, priorities)

    def _meta_loss(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns the losses and the absolute TD errors [M] of goals: 0 for steps after which a goal is kept."""
        with torch.no_grad():
            earned = (batch["earned"] + batch["reward"]) * self.cfg.reward_scale
            target = meta_target(earned, batch["discount"], self.targets["meta"](batch["after"]))
        over = batch["reached"] | batch["terminated"]
        loss, error = self._losses(targets.of_action(self.networks["meta"](batch["chosen_at"]), batch["goal"]), target)
        return over * loss, over * error

    def _controller_loss(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns the losses and the absolute TD errors [M] of actions."""
        with torch.no_grad():
            following = outputs_of(self.targets["controller"], batch["next_obs"])
            following = masked(following, batch.get("next_action_mask"))
            target = controller_target(batch["reached"], batch["discount"], following)
        return self._losses(
            targets.of_action(outputs_of(self.networks["controller"], batch["obs"]), batch["action"]), target
        )

    def _losses(self, value: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        return self.penalty(value, target, reduction="none"), (target - value.detach()).abs()
