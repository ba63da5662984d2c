"""DQN: the online network is pulled towards what the target network says of the next state."""

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from algos import base
from algos.base import Act, Array, Batch, EnvSpec, Progress, Result, Streams, Tree, restore_stream, stream_state
from algos.common import networks, optim, targets
from algos.common.exploration import EPSILON, epsilon_greedy
from algos.common.normalize import normalizer_for
from algos.common.tables import actions_of
from algos.common.weights import load_weights, weights_of
from algos.dqn.config import Config


def td_target(reward: Tensor, discount: Tensor, next_q: Tensor, next_q_online: Tensor | None) -> Tensor:
    """r + discount max_a Q'(s', a) [B]; with the online values (double DQN), Q' of the action that they prefer.
    discount [B] is gamma^k, and 0 where s' is terminal."""
    if next_q_online is None:
        value = next_q.amax(dim=1)
    else:
        value = next_q.gather(1, next_q_online.argmax(dim=1, keepdim=True)).squeeze(1)
    return torch.addcmul(reward, discount, value)


def td_loss(q: Tensor, action: Tensor, target: Tensor, weight: Tensor | None, huber: bool) -> tuple[Tensor, Tensor]:
    """Penalty of Q(s, a) against its target [B], and the errors [B]; weight [B] corrects for drawing by priority."""
    chosen = q.gather(1, action.unsqueeze(1)).squeeze(1)
    if weight is None:
        loss = F.smooth_l1_loss(chosen, target) if huber else F.mse_loss(chosen, target)
    else:
        each = F.smooth_l1_loss if huber else F.mse_loss
        loss = (weight * each(chosen, target, reduction="none")).mean()
    return loss, target - chosen.detach()


class Agent(base.Agent):
    """An online and a target network."""

    METRICS: ClassVar = ("loss", "q_mean")

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.normalizer = normalizer_for(spec.observation_space, device) if cfg.normalize_obs else None
        self.network = networks.build(
            spec, cfg.value_layers, actions_of(spec.action_space), cfg, streams.init,
            dueling=cfg.dueling, normalizer=self.normalizer,
        ).to(device)  # fmt: skip
        self.target = targets.frozen_copy(self.network)
        self.parameters: list[Tensor] = list(self.network.parameters())
        self.target_parameters: list[Tensor] = list(self.target.parameters())
        self.optimizer = optim.make(self.parameters, cfg, cfg.lr)
        self.epsilon = EPSILON[cfg.epsilon_schedule]
        self.updates = 0

    # acting -----------------------------------------------------------------------------------------------

    def values(self, obs: Array) -> Array:
        """Q(s, .) [N, A]."""
        with torch.inference_mode():
            return self.network(torch.from_numpy(obs).to(self.device)).cpu().numpy()

    def exploration(self, progress: Progress) -> dict[str, float]:
        cfg = self.cfg
        return {"epsilon": self.epsilon(cfg.epsilon_start, cfg.epsilon_end, cfg.epsilon_decay, progress.step)}

    def sample_action(
        self, obs: Array, state: Array | None, progress: Progress, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        return Act(epsilon_greedy(self.values(obs), self.exploration(progress)["epsilon"], rng))

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        return Act(self.values(obs).argmax(axis=1))

    # learning ---------------------------------------------------------------------------------------------

    def prepare(self, window: Batch, progress: Progress) -> Batch:
        optim.set_lr(self.optimizer, optim.lr_at(self.cfg.lr_schedule, self.cfg.lr, progress.fraction))
        if self.normalizer is not None:
            self.normalizer.update(window["obs"])
        return window

    def update(self, batch: Batch) -> Result:
        networks.seed_dropout(self.network, self.streams.learn)
        with torch.no_grad():
            next_q = self.target(batch["next_obs"])
            next_q_online = self.network(batch["next_obs"]) if self.cfg.double else None
            reward = batch["reward"] * self.cfg.reward_scale
            target = td_target(reward, batch["discount"], next_q, next_q_online)
        q = self.network(batch["obs"])
        loss, error = td_loss(q, batch["action"], target, batch.get("weight"), self.cfg.loss == "huber")
        loss.backward()
        optim.apply_gradients(self.optimizer, self.parameters, self.cfg.max_grad_norm, self.reduce)
        self.updates += 1
        if self.updates % self.cfg.target_update == 0:
            targets.soft_update(self.target_parameters, self.parameters, self.cfg.tau)
        priorities = error.abs() if "weight" in batch else None
        return Result({"loss": loss.detach(), "q_mean": (target - error).mean()}, priorities)

    # carrying on ------------------------------------------------------------------------------------------

    def weights(self) -> dict[str, Array]:
        return weights_of(self.network)

    def load_weights(self, weights: dict[str, Array]) -> None:
        load_weights(self.network, weights)

    def state(self) -> Tree:
        return {
            "network": weights_of(self.network),
            "target": weights_of(self.target),
            "optimizer": optim.state_tree(self.optimizer),
            "updates": self.updates,
            "learn": stream_state(self.streams.learn),
        }

    def load_state(self, state: Tree) -> None:
        load_weights(self.network, state["network"])
        load_weights(self.target, state["target"])
        optim.load_state_tree(self.optimizer, state["optimizer"])
        self.updates = state["updates"]
        restore_stream(self.streams.learn, state["learn"])
