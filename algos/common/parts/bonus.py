"""Rewards of an agent's own for what it has not seen before, which it adds to those of the environment
(algo_cfg.bonus): the errors of a network that predicts (RND, ICM), or visits of a state (count)."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from torch import Tensor, nn

from algos.base import Batch, EnvSpec, Streams, Tree
from algos.common.maths.distributions import distribution_for
from algos.common.maths.returns import Moments, RewardScaler
from algos.common.nets import networks
from algos.common.nets.layers import seed_dropout
from algos.common.nets.observations import Normalizer, encode
from algos.common.parts import optim
from algos.common.parts.optim import GradientStep
from algos.common.parts.state import load_state_of, state_of
from algos.common.parts.tables import states_of
from algos.common.settings import BonusConfig
from config.model import layers as layer_settings

CLIP = 5.0
"""Limit of normalized observations, which a network that is never trained would follow anywhere."""
OBS, NEXT_OBS, ACTION = "bonus_obs", "bonus_next_obs", "bonus_action"
"""Columns of a minibatch that the networks learn from."""


# formulas ---------------------------------------------------------------------------------------------------


def prediction_error(predicted: Tensor, features: Tensor) -> Tensor:
    """Returns half the squared distance [M] of features [M, F] (Burda et al., 2019; equation 6 of Pathak et al.,
    2017)."""
    return 0.5 * (predicted - features).square().sum(1)


def novelty(visits: Tensor) -> Tensor:
    """Returns 1 / sqrt(n) [M] of visits [M], this one included (Strehl and Littman, 2008; Tang et al., 2017)."""
    return visits.clamp(min=1).float().rsqrt()


def codes(features: Tensor, planes: Tensor) -> Tensor:
    """Returns a whole number for each row of features [M, D]: its bits say on which side of planes [K, D + 1] it is,
    whose last column are their distances from 0 (SimHash, Charikar, 2002)."""
    sides = features @ planes[:, :-1].T + planes[:, -1] > 0
    return (sides.long() << torch.arange(len(planes), device=features.device)).sum(1)


# bonuses ----------------------------------------------------------------------------------------------------


class Bonus(ABC):
    """An own reward for each step."""

    METRICS: ClassVar[tuple[str, ...]] = ("bonus", "env_reward")
    """Mean of both rewards per step, as they are learned from. With networks the mean loss of these follows."""
    KEPT: ClassVar[tuple[str, ...]] = ()
    COLUMNS: ClassVar[tuple[str, ...]] = ()
    """Columns of a minibatch that `learn` reads."""
    TWO_HEADS: ClassVar = False
    """True if the values of an actor-critic have a part for each of both rewards."""

    def __init__(self, cfg: BonusConfig, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        self.cfg, self.device, self.rng = cfg, device, streams.learn
        self.gamma = cfg.bonus_gamma
        self.scaler = RewardScaler(spec.rows, cfg.bonus_gamma, device)
        """Deviation of the returns of the bonus, of windows."""
        self.moments = Moments(()).to(device)
        """Deviation of the bonus, of samples of a replay buffer."""
        self.means: dict[str, Tensor] = {}

    @abstractmethod
    def raw(self, batch: Batch) -> Tensor:
        """Returns the bonus [M] of steps [M, ...] before it is scaled."""

    def observe(self, obs: Tensor) -> None:
        """Updates statistics with observations [M, ...], each of which comes once."""

    def learn(self, batch: Batch, reduce: optim.Reduce, learners: int = 1) -> dict[str, Tensor]:
        """Learns from a minibatch [M, ...], or from the part of it of one of several learners; returns the metrics."""
        return self.means

    def of_window(self, window: Batch) -> Tensor:
        """Returns the bonus [T, N] of the steps of a window, in units of its returns' deviation."""
        shape, valid = window["reward"].shape, window.get("valid")
        seen = window["next_obs"].flatten(0, 1)
        self.observe(seen if valid is None else seen[valid.flatten()])
        raw = self.raw({name: window[name].flatten(0, 1) for name in ("obs", "action", "next_obs")}).view(shape)
        bonus = self._scaled_window(raw, valid)
        real = torch.ones_like(raw, dtype=torch.bool) if valid is None else valid
        self.means = {"bonus": bonus[real].mean(), "env_reward": window["reward"][real].mean()}
        return bonus

    def _scaled_window(self, raw: Tensor, valid: Tensor | None) -> Tensor:
        """Divides the bonus by the deviation of its returns, which go on where episodes end."""
        return self.scaler.scale(raw, None, valid)

    def of_samples(self, chunk: Batch) -> Tensor:
        """Returns the bonus [K, B] of K minibatches [K, B, ...] of a replay buffer, in units of its deviation."""
        shape = chunk["reward"].shape
        raw = self.raw({name: chunk[name].flatten(0, 1) for name in ("obs", "action", "next_obs")})
        bonus = self._scaled_samples(raw).view(shape)
        self.means = {"bonus": bonus.mean(), "env_reward": chunk["reward"].mean()}
        return bonus

    def _scaled_samples(self, raw: Tensor) -> Tensor:
        self.moments.update(raw)
        return raw / self.moments.deviation().float()

    def columns(self, window: Batch) -> Batch:
        """Returns the columns that `learn` reads of a window or a chunk."""
        sources = {OBS: "obs", NEXT_OBS: "next_obs", ACTION: "action"}
        return {name: window[sources[name]] for name in self.COLUMNS}

    def state(self) -> Tree:
        return {**state_of(self, self.KEPT), "scaler": self.scaler.state(), "moments": state_of(self, ["moments"])}

    def load_state(self, state: Tree) -> None:
        load_state_of(self, self.KEPT, state)
        load_state_of(self, ["moments"], state["moments"])
        self.scaler.load_state(state["scaler"])


class _Learning:
    """The networks of a bonus that is their error: they learn to predict what is seen often."""

    METRICS: ClassVar = (*Bonus.METRICS, "bonus_loss")
    KEPT: ClassVar[tuple[str, ...]] = ("networks", "optimizer")
    COLUMNS: ClassVar[tuple[str, ...]]
    cfg: BonusConfig
    rng: np.random.Generator
    device: torch.device
    means: dict[str, Tensor]
    networks: nn.Module
    optimizer: optim.Optimizer
    step: GradientStep

    def _begin(self, loss: Callable[..., tuple[Tensor, Tensor]], *learning: nn.Module) -> None:
        """Makes the optimizer of networks, and their step. loss: with gradients, and without."""
        parameters = [parameter for network in learning for parameter in network.parameters()]
        self.optimizer = optim.make(parameters, self.cfg, self.cfg.bonus_lr)
        self.step = GradientStep(loss, self.optimizer, self.cfg.max_grad_norm)

    def learn(self, batch: Batch, reduce: optim.Reduce, learners: int = 1) -> dict[str, Tensor]:
        inputs = [batch[name] for name in self.COLUMNS]
        seed_dropout(self.networks, self.rng)
        # parts differ in size, and the streams of all learners must give the same minibatches after this
        rng = self.rng if learners == 1 else np.random.default_rng(self.rng.integers(2**63))
        chosen = rng.random(len(inputs[0]), np.float32) < self.cfg.bonus_share
        chosen[:1] |= not chosen.any()
        weight = torch.from_numpy(chosen / np.float32(chosen.sum())).to(self.device)
        return {**self.means, "bonus_loss": self.step(*inputs, weight, reduce=reduce)}


class Distillation(_Learning, Bonus):
    """Random network distillation (Burda et al., 2019): the error of a network that predicts the outputs of another
    one, whose weights stay those of the start."""

    COLUMNS: ClassVar = (NEXT_OBS,)
    TWO_HEADS: ClassVar = True

    def __init__(self, cfg: BonusConfig, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.normalizer = _normalizer(spec, device)
        size, seeds = cfg.bonus_features, streams.init + 1000
        options: dict[str, Any] = {"init": "orthogonal", "gain": math.sqrt(2), "normalizer": self.normalizer}
        target = networks.build(spec, cfg.bonus_layers, size, cfg, seeds, **options)
        deeper = [*cfg.bonus_layers, layer_settings.Linear(layer_type="linear", layer_size=[size])]
        predictor = networks.build(spec, deeper, size, cfg, seeds + 1, **options)
        self.target, self.predictor = target.to(device).requires_grad_(False), predictor.to(device)
        self.networks = nn.ModuleDict({"target": self.target, "predictor": self.predictor})
        self._begin(self._loss, self.predictor)

    def observe(self, obs: Tensor) -> None:
        if self.normalizer is not None:
            self.normalizer.update(obs)

    @torch.no_grad()
    def raw(self, batch: Batch) -> Tensor:
        return prediction_error(self.predictor(batch["next_obs"]), self.target(batch["next_obs"]))

    def _loss(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        obs, weight = inputs
        loss = (weight * prediction_error(self.predictor(obs), self.target(obs))).sum()
        return loss, loss.detach()


class Curiosity(_Learning, Bonus):
    """Intrinsic curiosity module (Pathak et al., 2017): the error of predicting the features of the next state from
    those of this one and the action. The features are what tells which action was taken."""

    COLUMNS: ClassVar = (OBS, ACTION, NEXT_OBS)

    def __init__(self, cfg: BonusConfig, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.normalizer = _normalizer(spec, device)
        size, seeds = cfg.bonus_features, streams.init + 1000
        encoder = networks.build(spec, cfg.bonus_layers, size, cfg, seeds, normalizer=self.normalizer)
        self.distribution = distribution_for(spec.action_space)
        modules, (width,) = encode(spec.action_space)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seeds + 1)
            inverse = nn.Sequential(_hidden(2 * size, size, self.distribution.outputs), *self.distribution.tail(0.0))
            dynamics = _hidden(size + width, size, size)
        self.encoder, self.inverse, self.dynamics = encoder.to(device), inverse.to(device), dynamics.to(device)
        self.action = nn.Sequential(*modules).to(device)
        self.networks = nn.ModuleDict({"encoder": self.encoder, "inverse": self.inverse, "dynamics": self.dynamics})
        self._begin(self._loss, self.networks)

    observe = Distillation.observe

    def _errors(self, obs: Tensor, action: Tensor, next_obs: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the errors [M] of predicting the next features (equation 5), and the action (equation 3)."""
        here, there = self.encoder(obs), self.encoder(next_obs)
        outputs = self.inverse(torch.cat([here, there], 1))
        predicted = self.dynamics(torch.cat([here, self.action(action).flatten(1)], 1))
        return prediction_error(predicted, there), -self.distribution.log_prob(outputs, action)

    @torch.no_grad()
    def raw(self, batch: Batch) -> Tensor:
        return self._errors(batch["obs"], batch["action"], batch["next_obs"])[0]

    def _loss(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Returns (1 - b) times the loss of the action plus b times that of the features (equation 7)."""
        *step, weight = inputs
        features, action = self._errors(*step)
        share = self.cfg.bonus_forward
        loss = (weight * ((1.0 - share) * action + share * features)).sum()
        return loss, loss.detach()


class Visits(Bonus):
    """Counts of states, or of the codes of observations that are not discrete (Tang et al., 2017)."""

    def __init__(self, cfg: BonusConfig, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.counts: dict[int, int] = {}
        self.space = space = spec.observation_space
        self.index = states_of(space)[0] if isinstance(space, Discrete | MultiDiscrete | MultiBinary) else None
        self.planes = torch.zeros(0, 1, device=device)
        if isinstance(space, Box):
            low, high = (torch.from_numpy(np.float32(bound).ravel()) for bound in (space.low, space.high))
            known = (low > -1e6) & (high < 1e6) & (high > low)
            self.middle = torch.where(known, 0.5 * (low + high), 0.0).to(device)
            self.half = torch.where(known, 0.5 * (high - low), 1.0).to(device)
            drawn = np.random.default_rng(streams.init).standard_normal((cfg.bonus_bits, len(low) + 1), np.float32)
            self.planes = torch.from_numpy(drawn).to(device)

    def numbers(self, obs: Tensor) -> np.ndarray:
        """Returns whole numbers [M] of observations [M, ...], equal ones for those that count as one."""
        if self.index is not None:
            return np.asarray(self.index(obs.cpu().numpy()), np.int64)
        return codes((obs.flatten(1).float() - self.middle) / self.half, self.planes).cpu().numpy()

    def observe(self, obs: Tensor) -> None:
        for number, times in zip(*np.unique(self.numbers(obs), return_counts=True), strict=True):
            self.counts[int(number)] = self.counts.get(int(number), 0) + int(times)

    def raw(self, batch: Batch) -> Tensor:
        number, place = np.unique(self.numbers(batch["next_obs"]), return_inverse=True)
        visits = np.array([self.counts.get(int(each), 0) for each in number])
        return novelty(torch.from_numpy(visits[place]).to(self.device))

    def _scaled_window(self, raw: Tensor, valid: Tensor | None) -> Tensor:
        return raw

    def _scaled_samples(self, raw: Tensor) -> Tensor:
        return raw

    def state(self) -> Tree:
        number = np.array(sorted(self.counts), np.int64)
        return {"number": number, "visits": np.array([self.counts[int(each)] for each in number], np.int64)}

    def load_state(self, state: Tree) -> None:
        self.counts = dict(zip(state["number"].tolist(), state["visits"].tolist(), strict=True))


KINDS: dict[str, type[Bonus]] = {"rnd": Distillation, "icm": Curiosity, "count": Visits}


def bonus_for(cfg: Any, spec: EnvSpec, streams: Streams, device: torch.device) -> Bonus | None:
    """Returns the bonus that the settings ask for; None if there is none."""
    kind = KINDS.get(getattr(cfg, "bonus", "none"))
    return None if kind is None else kind(cfg, spec, streams, device)


def _normalizer(spec: EnvSpec, device: torch.device) -> Normalizer | None:
    """Returns statistics of observations of its own, which do not depend on normalize_obs."""
    space = spec.observation_space
    return Normalizer(space.shape, CLIP).to(device) if isinstance(space, Box) else None


def _hidden(inputs: int, width: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, outputs))
