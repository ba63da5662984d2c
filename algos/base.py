"""The contract of an Agent, on one page. An Agent acts and learns; it knows no environment, memory or process.

Legend: T steps, N rows (environments), B samples of a minibatch, A actions or action dimensions.
numpy on the environment side ([N, ...] in, [N, ...] out), torch on the learning side (dicts of tensors).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from gymnasium.spaces import Space

from algos.common.keep import load_state_of, restore_stream, state_of, stream_state
from algos.common.weights import load_weights, weights_of

Array = np.ndarray
Batch = dict[str, torch.Tensor]
Tree = dict[str, Any]
"""Nested dicts and lists with arrays, tensors, numbers, strings, booleans and None as leaves."""


class UnfitError(ValueError):
    """Settings that do not fit the environment, such as a layer list; the message says how."""


class Part(NamedTuple):
    """Where one named part of a flattened Dict or Tuple observation stands."""

    name: str
    start: int
    stop: int
    shape: tuple[int, ...]


class Model(NamedTuple):
    """The rules of a finite environment: K possible outcomes of each action A in each state S, all [S, A, K]."""

    probability: Array
    """Sums to 1 over K."""
    next_state: Array
    reward: Array
    terminated: Array


@dataclass(frozen=True)
class EnvSpec:
    """What an agent may know of its environment."""

    id: str
    observation_space: Space
    """Of one row. Dict and Tuple spaces arrive flattened, as a Box with `parts`."""
    action_space: Space
    rows: int
    parts: tuple[Part, ...] = ()
    model: Model | None = None
    """Of an environment that tells its rules; only planning may look at it."""


class Progress(NamedTuple):
    """How far the run is. Constant within a fragment and within a chunk, the same on every worker."""

    step: int = 0
    """Environment steps accepted so far, over all rows."""
    episode: int = 0
    update: int = 0
    fraction: float = 0.0
    """Share of the planned run that is done, by steps, episodes or updates; 0 for an endless run."""


class Act(NamedTuple):
    """What acting gives for N rows."""

    action: Array
    columns: dict[str, Array] = {}
    """What learning needs besides, such as log_prob [N]."""
    state: Array | None = None
    """Recurrent state [N, S] after this step."""


class Result(NamedTuple):
    """What an update gives."""

    metrics: dict[str, torch.Tensor]
    """0-dimensional tensors, detached; nobody reads them inside the loop."""
    priorities: torch.Tensor | None = None
    """[B], for a prioritised memory."""
    stop: bool = False
    """No more minibatches of this chunk."""


@dataclass(frozen=True)
class Streams:
    """The agent's own randomness."""

    init: int
    """Seed of the first weights."""
    learn: np.random.Generator = field(default_factory=np.random.default_rng)
    """For everything random in learning: minibatch order, noise in targets, dropout."""


class Agent(ABC):
    """One policy and the rule that improves it."""

    METRICS: ClassVar[tuple[str, ...]] = ()
    """Names of the metrics, in the order of the columns in results/train.csv."""
    KEPT: ClassVar[tuple[str, ...]] = ()
    """Attributes that `state` saves besides the learning stream: modules, optimizers, numbers, and objects with a state
    of their own. The first one is the module whose weights acting depends on."""
    CUTS_MINIBATCHES: ClassVar[bool] = False
    """update cuts minibatches of its own: it is given the whole, and takes its `share` of each."""

    normalizer: Any = None
    """Statistics of observations, an algos.common.normalize.Normalizer; None without normalize_obs."""

    def __init__(self, cfg: Any, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        self.cfg, self.spec, self.streams, self.device = cfg, spec, streams, device
        self.reduce: Callable[[Iterable[torch.Tensor]], None] = lambda grads: None
        """Called between backward and step; averages the gradients where several learners share a batch."""
        self.learners = 1
        """How many share each batch."""
        self.share: Callable[[Batch], Batch] = lambda batch: batch
        """Our part of a batch that several learners share; `reduce` averages what is made of the last one."""

    # acting ---------------------------------------------------------------------------------------------

    def initial_state(self, rows: int) -> Array | None:
        """Recurrent state [N, S] at the start of an episode; None for a policy without memory. The collector carries
        it, and adds the state before each step to the columns, as `state`."""
        return None

    @abstractmethod
    def sample_action(
        self, obs: Array, state: Array | None, progress: Progress, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        """Explore. All randomness comes from rng, which belongs to the collector. mask [N, A] is true where an action
        is legal; None where all are. It stands in the columns `action_mask` and `next_action_mask`."""

    @abstractmethod
    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        """The best known action, without randomness."""

    def evaluate_action(
        self, obs: Array, state: Array | None, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        """Returns the action of an evaluation or test: the best known one, unless the protocol of the algorithm's paper
        wants some randomness. rng gives the same numbers in each evaluation."""
        return self.predict_action(obs, state, mask)

    def warning(self, metrics: Mapping[str, float], update: int) -> str | None:
        """Returns a sentence for the user if these metrics (means since the last episode) show that a setting is wrong.
        It is shown once."""
        return None

    def exploration(self, progress: Progress) -> dict[str, float]:
        """What a person wants to see of the exploration, such as {"epsilon": 0.05}."""
        return {}

    # learning -------------------------------------------------------------------------------------------

    def observe(self, obs: torch.Tensor) -> None:
        """Updates the statistics of observations with new ones [M, ...] of a replay memory, each of which comes once.
        Observations of a rollout are counted in `prepare`."""
        if self.normalizer is not None:
            self.normalizer.update(obs)

    def prepare(self, window: Batch, progress: Progress) -> Batch:
        """Once per chunk: adds advantages and returns, sets learning rates. For a rollout, the window is one of fresh
        steps [T, N, ...], before minibatches are cut; for a replay, it is K sampled minibatches [K, B, ...]."""
        return window

    def standardise(self, batch: Batch) -> Batch:
        """Once per minibatch, while it is whole (several learners share it): what needs all of its samples, such as
        advantages of mean 0."""
        return batch

    def everywhere(self, mean: torch.Tensor) -> torch.Tensor:
        """A mean over our part of this minibatch, as that over the parts of all learners."""
        mean = mean.detach().clone()
        self.reduce([mean])
        return mean

    @abstractmethod
    def update(self, batch: Batch) -> Result:
        """One gradient step (or table update) from one minibatch."""

    # carrying on, by the names in KEPT; an agent without a network writes its own ------------------------

    def weights(self) -> dict[str, Array]:
        """Everything that acting depends on, normaliser statistics included."""
        return weights_of(self._network())

    def load_weights(self, weights: dict[str, Array]) -> None:
        """After this, the same observations and rng give the same actions."""
        load_weights(self._network(), weights)

    def _network(self) -> torch.nn.Module:
        if not self.KEPT:
            raise TypeError(f"{type(self).__module__}: KEPT names nothing; or write weights, state and their load_")
        return getattr(self, self.KEPT[0])

    def state(self) -> Tree:
        """Everything that is needed to go on exactly: weights, optimizer, targets, counters, learning stream."""
        return {**state_of(self, self.KEPT), "learn": stream_state(self.streams.learn)}

    def load_state(self, state: Tree) -> None:
        """After this, the same chunks give the same updates."""
        load_state_of(self, self.KEPT, state)
        restore_stream(self.streams.learn, state["learn"])

    def parameter_count(self) -> int:
        """Numbers that learning changes."""
        return sum(array.size for array in self.weights().values())
