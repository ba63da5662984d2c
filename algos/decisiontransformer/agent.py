"""Decision Transformer: the action that follows from the past steps and from the return that is still wanted."""

import math
from typing import ClassVar

import numpy as np
import torch
from gymnasium.spaces import Discrete
from torch import Tensor
from torch.nn import functional as F

from algos.base import Act, Array, Batch, EnvSpec, Explore, PolicyModule, Progress, Result, Streams, UnfitError
from algos.common.maths.distributions import distribution_for
from algos.common.maths.exploration import masked
from algos.common.nets import networks
from algos.common.parts import optim
from algos.common.parts.acting import ActingAgent
from algos.decisiontransformer.config import Config
from algos.decisiontransformer.transformer import Steps, Transformer


def squared_error(action: Tensor, example: Tensor) -> Tensor:
    """Returns the mean over samples and dimensions of (a - a')^2; both are [M, A]."""
    return (action - example).square().mean()


class Agent(ActingAgent):
    """A transformer. The recurrent state of a row holds what its episode has earned so far, the number of steps, and
    the latest steps: what was earned before, the action and the observation of each."""

    METRICS: ClassVar = ("loss",)
    KEPT: ClassVar = ("network", "optimizer")

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.distribution = distribution_for(spec.action_space)
        observer = networks.build(
            spec, cfg.obs_layers, cfg.embed_size, cfg, streams.init, normalizer=self.normalizer
        )  # fmt: skip
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(streams.init + 1)
            self.network = Transformer(
                observer, self.distribution.outputs, self.distribution.outputs,
                cfg.embed_size, cfg.n_blocks, cfg.n_heads, cfg.dropout,
            ).to(device)  # fmt: skip
        self.optimizer = optim.make(self.network.parameters(), cfg, cfg.lr)
        self.discrete = isinstance(spec.action_space, Discrete)
        self.numbers = 1 if self.discrete else self.distribution.outputs
        """Numbers of an action in the recurrent state."""
        self.width = 1 + self.numbers + math.prod(spec.observation_space.shape or ())
        """Numbers of a step in it."""

    # acting -----------------------------------------------------------------------------------------------

    def initial_state(self, rows: int) -> Array:
        return np.zeros((rows, 2 + self.cfg.context_length * self.width), np.float32)

    def rewarded(self, state: Array, reward: Array) -> Array:
        state = state.copy()
        state[:, 0] += reward
        return state

    def as_module(self) -> PolicyModule:
        raise UnfitError("it acts by the return that is still wanted, which needs the reward of each step")

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        """Explores by sampling, where actions are discrete."""
        assert state is not None
        rows, length = len(obs), self.cfg.context_length
        past = np.empty((rows, length, self.width), np.float32)
        past[:, :-1] = state[:, 2:].reshape(past.shape)[:, 1:]
        past[:, -1, 0], past[:, -1, 1 : 1 + self.numbers] = state[:, 0], 0.0
        past[:, -1, 1 + self.numbers :] = obs.reshape(rows, -1)
        outputs = masked(self._outputs(past, state[:, 1]), mask)
        if explore is not None and self.discrete:
            drawn = self.distribution.sample(outputs, explore.rng)[0]
        else:
            drawn = self.distribution.mode(outputs)
        action = self.distribution.to_env(drawn)
        past[:, -1, 1 : 1 + self.numbers] = action.reshape(rows, -1)
        after = np.concatenate([state[:, :1], state[:, 1:2] + 1, past.reshape(rows, -1)], axis=1)
        return Act(action, state=after)

    @torch.inference_mode()
    def _outputs(self, past: Array, now: Array) -> Array:
        """Returns outputs [N, out] for the last of the steps [N, L, width], which has the number `now` [N]."""
        length, space = past.shape[1], self.spec.observation_space
        timestep = now - np.arange(length - 1, -1, -1)[:, None]
        real = timestep >= 0
        steps = np.where(real[..., None], past.swapaxes(0, 1), past[:, -1])  # before the first one, any will do
        earned, action, obs = np.split(steps, [1, 1 + self.numbers], axis=2)
        obs = obs.reshape(*real.shape, *(space.shape or ())).astype(space.dtype)
        action = action.reshape(*real.shape, *(self.spec.action_space.shape or ())).astype(self.spec.action_space.dtype)
        columns = (self._target() - earned[..., 0], obs, action, timestep, real)
        outputs = self.network(self._steps(*(torch.from_numpy(column).to(self.device) for column in columns)))
        return outputs[-1].cpu().numpy()

    def _target(self) -> float:
        """Returns the return that an episode is asked for; 0 before anything was learned."""
        if self.cfg.target_return is not None:
            return self.cfg.target_return
        highest = float(self.network.highest)
        return highest if math.isfinite(highest) else 0.0

    def _steps(self, future: Tensor, obs: Tensor, action: Tensor, timestep: Tensor, episode: Tensor) -> Steps:
        """Returns steps [L, B, ...] as the network takes them."""
        if isinstance(self.spec.action_space, Discrete):
            index = (action.long() - int(self.spec.action_space.start)).clamp(min=0)
            numbers = F.one_hot(index, self.distribution.outputs).float()
        else:
            numbers = self.distribution.from_env(action).flatten(2)
        scale = self.cfg.return_scale or torch.where(self.network.largest > 0, self.network.largest, 1.0)
        return Steps((future / scale).float(), obs, numbers, timestep.float(), episode)

    # learning ---------------------------------------------------------------------------------------------

    def prepare(self, window: Batch, progress: Progress) -> Batch:
        self.network.set_returns(window["highest_return"].max(), window["largest_return"].max())
        return window

    def update(self, batch: Batch) -> Result:
        future, action = batch["episode_return"] - batch["earned"], batch["action"]
        steps = self._steps(future, batch["obs"], action, batch["timestep"], batch["first"].cumsum(0))
        outputs = self.network(steps).flatten(0, 1)
        if self.discrete:
            loss = -self.distribution.log_prob(outputs, action.flatten()).mean()
        else:
            loss = squared_error(outputs, steps.action.flatten(0, 1))
        self.descend(loss, batch, self.optimizer)
        return Result({"loss": loss.detach()})
