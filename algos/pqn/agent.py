"""PQN: Q-learning with lambda returns of the online network itself, without a target network."""

from typing import ClassVar

import torch
from torch import Tensor

from algos.base import Batch, EnvSpec, PolicyModule, Progress, Result, Streams
from algos.common.maths import targets
from algos.common.maths.exploration import IMPOSSIBLE, Explorer
from algos.common.maths.returns import RewardScaler, discounted_sums, rewards_of
from algos.common.nets import networks
from algos.common.nets.layers import value_layer
from algos.common.parts import optim, passes
from algos.common.parts.acting import Greedy, ValueAgent, highest
from algos.common.parts.tables import actions_of
from algos.pqn.config import Config


def lambda_returns(
    reward: Tensor, next_value: Tensor, terminated: Tensor, truncated: Tensor, gamma: float, lam: float
) -> Tensor:
    """Returns G_t = r_t + gamma (lam G_{t+1} + (1 - lam) max_a Q(s_{t+1}, a)), all [T, N] (Gallici et al., 2024,
    equation 6). After the end of an episode or of the window, G_{t+1} is the value of the true successor, or 0 if that
    is terminal."""
    goes_on = ~(terminated | truncated)
    goes_on[-1] = False
    decay = gamma * lam * goes_on
    return discounted_sums(reward + (gamma * ~terminated - decay) * next_value, decay)


class Agent(ValueAgent):
    """One network, which makes its own targets."""

    METRICS: ClassVar = ("loss", "q_mean")
    KEPT: ClassVar = ("network", "optimizer", "scaler")
    COMPILES: ClassVar = True

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.scaler = RewardScaler(spec.rows, cfg.gamma, device) if cfg.normalize_reward else None
        actions = actions_of(spec.action_space)
        self.network = networks.build(
            spec, cfg.value_layers, lambda features: value_layer(features, actions, dueling=cfg.dueling),
            cfg, streams.init, split=cfg.dueling, normalizer=self.normalizer,
        ).to(device)  # fmt: skip
        self.carried = passes.Carried(self.network, device)
        self.optimizer = optim.make(self.network.parameters(), cfg, cfg.lr)
        self.step = self.minimize(self._loss, self.optimizer)
        self.explorer = Explorer(cfg)

    def as_module(self) -> PolicyModule:
        return Greedy(self.network, highest)

    @torch.no_grad()
    def prepare(self, window: Batch, progress: Progress) -> Batch:
        cfg = self.cfg
        if self.normalizer is not None:
            self.normalizer.update(window["obs"], window.get("valid"))
            window = self.carried.recomputed(window, cfg.lookup_step)
        _, next_values = passes.of_window(self.network, window, window["state"][0] if self.carried.size else None)
        if (mask := window.get("next_action_mask")) is not None:
            next_values = next_values.masked_fill(~mask, IMPOSSIBLE)
        reward, flags = rewards_of(window, self.scaler), (window["terminated"], window["truncated"])
        target = lambda_returns(reward * cfg.reward_scale, next_values.amax(2), *flags, cfg.gamma, cfg.q_lambda)
        names = ("obs", "action", "valid", *(("state", "first") if self.carried.size else ()))
        return {**{name: window[name] for name in names if name in window}, "target": target}

    def update(self, batch: Batch) -> Result:
        return Result(self.step(batch, reduce=self.reduce))

    def _loss(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Returns the loss, and the metrics."""
        q = passes.outputs_of(self.network, batch["obs"])
        chosen = targets.of_action(q, batch["action"])
        loss = targets.penalty(self.cfg)(chosen, batch["target"])
        return loss, {"loss": loss.detach(), "q_mean": chosen.detach().mean()}
