"""DQN and its family: the online network learns the bootstrapped returns that the target network estimates."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from algos.base import Array, Batch, EnvSpec, PolicyModule, Progress, Result, Streams
from algos.common.maths import targets
from algos.common.maths.exploration import Explorer, masked
from algos.common.nets import networks
from algos.common.nets.layers import draw, noisy_parts
from algos.common.parts import optim, passes
from algos.common.parts.acting import Greedy, ValueAgent, highest
from algos.common.parts.bonus import bonus_for
from algos.common.parts.optim import Outcome
from algos.common.parts.tables import actions_of
from algos.dqn.config import Config
from algos.dqn.distributional import HEADS
from algos.dqn.heads import Head, Successor, soft_value

UPDATES_BEFORE_WARNING = 1000
"""Updates that the targets get to move away from those of the first weights."""


def conservatism(values: Tensor, action: Tensor, mask: Tensor | None = None) -> Tensor:
    """Returns the mean of log sum_a' exp Q(s, a') - Q(s, a) (equation 4 of Kumar et al., 2020), of values [B, A]. The
    sum is over the legal actions; mask [B, A] is True for them."""
    return (masked(values, mask).logsumexp(1) - targets.of_action(values, action)).mean()


def log_policy_bonus(values: Tensor, action: Tensor, temperature: float | Tensor, floor: float) -> Tensor:
    """Returns T log pi(a|s) [M], at least the floor, with pi = softmax(Q / T) of values [M, A] (Vieillard et al.,
    2020): the value of the action minus the soft value of its state. An illegal action has the lowest value."""
    return (targets.of_action(values, action) - soft_value(values, temperature)).clamp(floor, 0.0)


class Agent(ValueAgent):
    """An online network, a target network, and a head that defines the meaning of their outputs."""

    METRICS: ClassVar[tuple[str, ...]] = ("loss", "q_mean")
    """Followed by those of the head."""
    KEPT: ClassVar = ("network", "target", "optimizer", "updates", "bonus")
    COMPILES: ClassVar = True

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.head: Head = HEADS[cfg.HEAD](cfg, actions_of(spec.action_space), device)
        self.head.now = self.now
        self.METRICS = (*type(self).METRICS, *self.head.METRICS)  # type: ignore[misc]
        self.network = networks.build(
            spec, cfg.value_layers, self.head.layer, cfg, streams.init,
            noise=cfg.std_init if cfg.noisy else None, split=cfg.dueling, normalizer=self.normalizer,
        ).to(device)  # fmt: skip
        self.target = targets.frozen_copy(self.network)
        self.carried = passes.Carried(self.network, device)
        self.parameters: list[Tensor] = list(self.network.parameters())
        self.target_parameters: list[Tensor] = list(self.target.parameters())
        self.noise, self.target_noise = noisy_parts(self.network), noisy_parts(self.target)
        self.draws_noise = bool(self.noise)
        self.optimizer = optim.make(self.parameters, cfg, cfg.lr)
        self.step = self.minimize(self._loss, self.optimizer)
        self.explorer, self.eval_epsilon = Explorer(cfg), cfg.eval_epsilon
        self.updates = 0
        self.bonus = bonus_for(cfg, spec, streams, device)
        if self.bonus is not None:
            self.METRICS = (*self.METRICS, *self.bonus.METRICS)  # type: ignore[misc]

    # acting -----------------------------------------------------------------------------------------------

    def values(
        self, obs: Array, state: Array | None = None, rng: np.random.Generator | None = None
    ) -> tuple[Array, Array | None]:
        if self.noise:
            draw(self.noise, rng)
        out, after = self.carried.act(obs, state)
        return self.head.acting_values(out), after

    def as_module(self) -> PolicyModule:
        draw(self.noise, None)
        return Greedy(self.network, highest, self.head.values)

    # learning ---------------------------------------------------------------------------------------------

    def observe(self, obs: Tensor) -> None:
        super().observe(obs)
        if self.bonus is not None:
            self.bonus.observe(obs)

    def prepare(self, window: Batch, progress: Progress) -> Batch:
        """Adds the bonus to the rewards of a chunk."""
        if self.bonus is None:
            return window
        own = self.now.bonus_coef * self.bonus.of_samples(window) / self.cfg.reward_scale
        return {**window, "reward": window["reward"] + own, **self.bonus.columns(window)}

    def update(self, batch: Batch) -> Result:
        if self.noise:
            draw([*self.noise, *self.target_noise], self.streams.learn)
        metrics, error = self.step(batch, reduce=self.reduce)
        if self.bonus is not None:
            metrics = {**metrics, **self.bonus.learn(batch, self.reduce, self.learners)}
        self.updates += 1
        targets.follow(self.target_parameters, self.parameters, self.cfg, self.updates)
        return Result(metrics, priorities=error if "weight" in batch else None)

    def _loss(self, batch: Batch) -> tuple[Tensor, Outcome]:
        """Returns the loss, and the TD errors [M]."""
        with torch.no_grad():
            after = self._successor(batch)
            if self.cfg.munchausen_alpha:
                after = after._replace(reward=after.reward + self.cfg.munchausen_alpha * self._bonus(batch))
            target, metrics = self.head.target(after)
        out = passes.outputs_of(self.network, batch["obs"])
        losses, error = self.head.loss(out, batch["action"], target)
        q = targets.of_action(self.head.values(out.detach()), batch["action"])
        weight = batch.get("weight")
        loss = losses.mean() if weight is None else (weight * losses).mean()
        if self.cfg.cql_alpha:
            gap = conservatism(self.head.values(out), batch["action"], batch.get("action_mask"))
            loss = loss + self.cfg.cql_alpha * gap
        return loss, Outcome({"loss": loss.detach(), "q_mean": q.mean(), **metrics}, error.detach())

    def _successor(self, batch: Batch) -> Successor:
        """Returns the estimates for the next states; illegal actions get values that no maximum chooses."""
        mask = batch.get("next_action_mask")

        def legal_values(out: Tensor) -> Tensor:
            return masked(self.head.values(out), mask)

        out = passes.outputs_of(self.target, batch["next_obs"])
        chooser = None
        if self.cfg.double:
            chooser = legal_values(passes.outputs_of(self.network, batch["next_obs"]))
        return Successor(batch["reward"] * self.cfg.reward_scale, batch["discount"], out, legal_values(out), chooser)

    def _bonus(self, batch: Batch) -> Tensor:
        """Returns what Munchausen Q-learning adds to the rewards, before it is weighted [M]."""
        values = self.head.values(passes.outputs_of(self.target, batch["obs"]))
        values = masked(values, batch.get("action_mask"))
        return log_policy_bonus(values, batch["action"], self.now.temperature, self.cfg.munchausen_floor)

    def warning(self, metrics: Mapping[str, float], update: int) -> str | None:
        return self.head.warning(metrics) if update > UPDATES_BEFORE_WARNING else None
