"""DQN and its family: the online network is pulled towards what the target network says of the next state."""

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from algos import base
from algos.base import Act, Array, Batch, EnvSpec, Progress, Result, Streams
from algos.common import modules, networks, optim, targets, unroll
from algos.common.distributions import IMPOSSIBLE
from algos.common.exploration import Explorer, greedy
from algos.common.normalize import normalizer_for
from algos.common.tables import actions_of
from algos.dqn.config import Config
from algos.dqn.heads import HEADS, Head, Successor, of_action


class Agent(base.Agent):
    """An online and a target network, and a head that says what their outputs mean."""

    METRICS: ClassVar = ("loss", "q_mean")
    KEPT: ClassVar = ("network", "target", "optimizer", "updates")

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.normalizer = normalizer_for(spec.observation_space, device) if cfg.normalize_obs else None
        self.head: Head = HEADS[cfg.HEAD](cfg, actions_of(spec.action_space))
        self.network = networks.build(
            spec, cfg.value_layers, self.head.layer, cfg, streams.init,
            noise=cfg.std_init if cfg.noisy else None, normalizer=self.normalizer,
        ).to(device)  # fmt: skip
        self.target = targets.frozen_copy(self.network)
        self.carried = unroll.Carried(self.network, device)
        self.parameters: list[Tensor] = list(self.network.parameters())
        self.target_parameters: list[Tensor] = list(self.target.parameters())
        self.chance, self.target_chance = modules.with_chance(self.network), modules.with_chance(self.target)
        self.optimizer = optim.make(self.parameters, cfg, cfg.lr, epsilon=cfg.adam_epsilon)
        self.explorer = Explorer(cfg)
        self.updates = 0

    # acting -----------------------------------------------------------------------------------------------

    def initial_state(self, rows: int) -> Array | None:
        return self.carried.initial(rows)

    def values(self, obs: Array, state: Array | None = None) -> tuple[Array, Array | None]:
        """Q(s, .) [N, A], and the state after this step."""
        with torch.inference_mode():
            out, after = self.carried.act(obs, state)
            return self.head.values(out).cpu().numpy(), after

    def exploration(self, progress: Progress) -> dict[str, float]:
        return self.explorer.strength(progress)

    def sample_action(
        self, obs: Array, state: Array | None, progress: Progress, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        modules.draw(self.chance, rng)
        values, after = self.values(obs, state)
        return Act(self.explorer.choose(values, progress, rng, mask), state=after)

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        modules.draw(self.chance, None)
        values, after = self.values(obs, state)
        return Act(greedy(values, mask), state=after)

    # learning ---------------------------------------------------------------------------------------------

    def prepare(self, window: Batch, progress: Progress) -> Batch:
        optim.set_lr(self.optimizer, optim.lr_at(self.cfg.lr_schedule, self.cfg.lr, progress.fraction))
        if self.normalizer is not None:
            self.normalizer.update(window["obs"], window.get("valid"))
        return window

    def update(self, batch: Batch) -> Result:
        networks.seed_dropout(self.network, self.streams.learn)
        modules.draw(self.chance, self.streams.learn)
        modules.draw(self.target_chance, self.streams.learn)
        out, next_out, next_online, batch = self._outputs(batch)
        with torch.no_grad():
            target = self.head.target(self._successor(batch, next_out, next_online))
        each, error = self.head.loss(of_action(out, batch["action"]), target)
        q = of_action(self.head.values(out.detach()), batch["action"])
        if "valid" in batch:  # dummy steps of sequences were kept, since a head may have drawn something for each
            each, q = each[batch["valid"]], q[batch["valid"]]
        weight = batch.get("weight")
        loss = each.mean() if weight is None else (weight * each).mean()
        loss.backward()
        optim.apply_gradients(self.optimizer, self.parameters, self.cfg.max_grad_norm, self.reduce)
        self.updates += 1
        targets.follow(self.target_parameters, self.parameters, self.cfg, self.updates)
        return Result({"loss": loss.detach(), "q_mean": q.mean()}, None if weight is None else error)

    def _outputs(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor | None, Batch]:
        """Online outputs for obs, target outputs for next_obs, and with `double` the online ones for it too, of M
        single steps; and the columns of these."""
        batch = self.carried.with_views(batch, self.cfg.burn_in, dummies=True)
        with torch.no_grad():
            next_out = unroll.outputs_of(self.target, batch["next_obs"], "actor")
            next_online = unroll.outputs_of(self.network, batch["next_obs"], "actor") if self.cfg.double else None
        # obs comes last: IQN's head remembers the fractions of the last batch, and the loss needs those of obs
        return unroll.outputs_of(self.network, batch["obs"], "actor"), next_out, next_online, batch

    def _successor(self, batch: Batch, out: Tensor, online: Tensor | None) -> Successor:
        """With the values of illegal next actions set so low that nothing chooses them."""
        mask = batch.get("next_action_mask")

        def legal_values(out: Tensor) -> Tensor:
            values = self.head.values(out)
            return values if mask is None else values.masked_fill(~mask, IMPOSSIBLE)

        reward = batch["reward"] * self.cfg.reward_scale
        chooser = None if online is None else legal_values(online)
        return Successor(reward, batch["discount"], out, legal_values(out), chooser)
