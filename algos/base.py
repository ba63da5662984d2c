"""The contract of an Agent. An Agent acts and learns; it has no access to environment, memory or process.

Legend: T steps, N rows (environments), B samples of a minibatch, A actions or action dimensions.
numpy on the environment side ([N, ...] in, [N, ...] out), torch on the learning side (dicts of tensors).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from gymnasium.spaces import Space

from algos.common.fast.tensors import columns_on_device, on_device  # noqa: F401 - for the learner and the memory
from algos.common.nets import custom
from algos.common.nets.custom import OwnLossError as OwnLossError
from algos.common.nets.layers import draws, seed_dropout
from algos.common.parts import optim
from algos.common.parts.optim import GradientStep, Loss, uncompiled
from algos.common.parts.state import load_state_of, load_weights, state_of, weights_of
from config.model.arrays import Array as Array
from config.model.arrays import Model as Model
from config.model.arrays import Part as Part
from config.model.course import Schedule
from config.tell.language import UserError, tr

Batch = dict[str, torch.Tensor]
Tree = dict[str, Any]
"""Nested dicts and lists with arrays, tensors, numbers, strings, booleans and None as leaves."""


class UnfitError(UserError, ValueError):
    """Raised for settings that do not fit the environment, such as a layer list; the message explains why."""


@dataclass(frozen=True)
class EnvSpec:
    """Facts about the environment that an agent may use."""

    id: str
    observation_space: Space
    """Observation space of one row. Dict and Tuple spaces arrive flattened, as a Box with `parts`."""
    action_space: Space
    rows: int
    parts: tuple[Part, ...] = ()
    model: Model | None = None
    """Transition model, if the environment has one; for planning only."""
    frames: int = 1
    """Number of frames that an observation is a stack of, along its first axis, the newest one last."""
    expert: Callable[[Array, Array | None], Array] | None = field(default=None, compare=False)
    """Returns the actions [N, ...] of the environment's own expert for observations [N, ...] and masks of legal actions
    [N, A] or None; None if it has none."""
    joint: Any = None
    """Layout of joint observations (a JointLayout) for the agent of several policies; None for one policy."""
    agents: int = 1
    """Number of agents that are controlled as one: their observations are concatenated, and the actions are [S]."""
    global_state: int = 0
    """Numbers in the columns `global_state` and `next_global_state` of a batch; 0 if there are none."""
    starts: tuple[Any, Any] = field(default=(0, 0), compare=False)
    """First values of the environment's own whole numbers in observations and actions; here both start at 0."""
    shared: dict[str, torch.nn.Module] = field(default_factory=dict, compare=False)
    """Layers that several networks of the run share, by the name that a layer's `shared` gives."""


class Progress(NamedTuple):
    """Progress of the run. Constant within a fragment and within a chunk, the same on every worker."""

    step: int = 0
    """Environment steps so far, over all rows."""
    episode: int = 0
    update: int = 0
    fraction: float = 0.0
    """Completed share of the planned run, by its nearest limit; 0 for an endless run. While learning from an on-policy
    window it is the share at the start of the window's collection."""
    phase: float = 0
    """Phase of the curriculum, for episodes that begin now; 0 without one."""
    evaluating: bool = False
    """True in episodes that nothing is learned from: no expert is asked, no earlier version plays."""


class Act(NamedTuple):
    """Result of acting in N rows."""

    action: Array
    columns: dict[str, Array] = {}
    """Additional columns for learning, such as log_prob [N]."""
    state: Array | None = None
    """Recurrent state [N, S] after this step."""


class Explore(NamedTuple):
    """Progress and random stream, on which exploratory actions depend."""

    progress: Progress
    rng: np.random.Generator
    """Stream of the collector, from which all randomness of acting comes."""


class Result(NamedTuple):
    """Result of an update."""

    metrics: dict[str, torch.Tensor]
    """0-dimensional tensors, detached; they are read once per chunk. One that an update lacks is left out."""
    priorities: torch.Tensor | None = None
    """TD errors [B], for a prioritized replay buffer."""
    stop: bool = False
    """True to skip the remaining minibatches of this chunk (early stopping)."""


@dataclass(frozen=True)
class Streams:
    """Random streams of the agent."""

    init: int
    """Seed of the initial weights."""
    learn: np.random.Generator = field(default_factory=np.random.default_rng)
    """Stream for all randomness in learning: minibatch order, noise in targets, dropout."""


class Numbers:
    """The attribute `now` of an agent: the settings that are numbers, by name, as they are at this moment of the run:
    `self.now.entropy_coef`. One that is a schedule is a tensor, which is changed in place, since a compiled step reads
    it anew; without a device it is a number. All others are what the settings say."""

    def __init__(self, cfg: Any, device: torch.device | None = None) -> None:
        """device: of the tensors; None for numbers."""
        self._schedules: dict[str, Schedule] = {}
        for name in getattr(type(cfg), "model_fields", ()):
            value = getattr(cfg, name)
            if isinstance(value, Schedule):
                self._schedules[name] = value
                first = value.at(0.0)
                setattr(self, name, first if device is None else torch.tensor(first, device=device))
            elif isinstance(value, int | float):
                setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:  # for the type checker: the names are those of settings
        raise AttributeError(name)

    def follow(self, fraction: float) -> None:
        """Sets all to their values after this fraction of the planned run."""
        for name, schedule in self._schedules.items():
            value = getattr(self, name)
            if isinstance(value, torch.Tensor):
                value.fill_(schedule.at(fraction))
            else:
                setattr(self, name, schedule.at(fraction))

    def at(self, fraction: float) -> dict[str, float]:
        """Returns the values of the schedules after this fraction of the planned run."""
        return {name: schedule.at(fraction) for name, schedule in self._schedules.items()}


class PolicyModule(torch.nn.Module, ABC):
    """The best known actions as a function of tensors, to run without this project."""

    state_size: int = 0
    """Numbers of the recurrent state, which is 0 at the start of an episode; 0 for a feed-forward policy."""

    @abstractmethod
    def forward(
        self, obs: torch.Tensor, state: torch.Tensor | None, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Returns the numbers that an action is chosen by, such as Q(s, .) [N, A]; the actions [N, ...]; and the
        recurrent state after this step. mask: True for legal actions, None if all are legal."""


class Actor(ABC):
    """A chooser of the actions of N rows."""

    def initial_state(self, rows: int) -> Array | None:
        """Returns the recurrent state [N, S] at the start of an episode; None for a feed-forward policy. The collector
        carries it, and stores the state before each step in the column `state`."""
        return None

    def rewarded(self, state: Array, reward: Array) -> Array:
        """Returns the recurrent state [N, S] after the rewards [N] of the step are known, as a new array if it changes.
        The collector calls it after each step of the environment, before the next action."""
        return state

    def sample_action(
        self, obs: Array, state: Array | None, progress: Progress, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        """Returns exploratory actions; without exploration the best known ones. All randomness comes from rng, the
        collector's stream. mask [N, A] is True for legal actions; None if all are legal. It is stored in the columns
        `action_mask` and `next_action_mask`."""
        return self.predict_action(obs, state, mask)

    @abstractmethod
    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        """Returns the best known actions, without randomness."""

    def evaluate_action(
        self, obs: Array, state: Array | None, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        """Returns the action of an evaluation or test: the best known one, unless the protocol of the algorithm's paper
        wants some randomness. rng gives the same numbers in each evaluation."""
        return self.predict_action(obs, state, mask)


class TrainableActor(Actor):
    """An actor with weights: an Agent, or the agents of several policies."""

    spec: EnvSpec
    device: torch.device
    expert: Callable[[Array, Array | None], Array] | None = None
    """Returns the actions [N, ...] of an expert for observations [N, ...] and masks of legal actions [N, A] or None.
    Set in collecting processes if the settings name an expert (AlgoConfig.asked_expert); in all processes if the
    expert itself acts (EXPERT_ACTS)."""
    METRICS: ClassVar[tuple[str, ...]] = ()
    """Names of the metrics that `update` returns, in the order of the columns in results/train.csv."""

    def warning(self, metrics: Mapping[str, float], update: int) -> str | None:
        """Returns a sentence for the user if these metrics (means since the last episode) show that a setting is wrong.
        It is shown once."""
        return None

    def exploration(self, progress: Progress) -> dict[str, float]:
        """Returns exploration parameters to log, such as {"epsilon": 0.05}."""
        return {}

    @abstractmethod
    def by_policy(self) -> Mapping[str, "Agent"]:
        """Returns the agents by the names of their policies; that of one policy by the empty name."""

    def optimizers(self) -> Iterator[Any]:
        """Yields the optimizers of all agents."""
        for agent in self.by_policy().values():
            yield from agent.optimizers()

    def gradient_steps(self) -> list[GradientStep]:
        """Returns the steps of the updates of all agents that can be compiled."""
        return [step for agent in self.by_policy().values() for step in agent.gradient_steps()]

    @abstractmethod
    def metric_names(self) -> tuple[str, ...]:
        """Returns the names of all metrics that learning gives."""

    @abstractmethod
    def weights(self) -> dict[str, Array]:
        """Returns everything that acting depends on, including normalizer statistics."""

    @abstractmethod
    def load_weights(self, weights: dict[str, Array]) -> None:
        """Loads weights(): afterwards, the same observations and rng give the same actions."""

    @abstractmethod
    def state(self) -> Tree:
        """Returns everything that an exact resume needs: weights, optimizer, target networks, counters, stream."""

    @abstractmethod
    def load_state(self, state: Tree) -> None:
        """Loads state(): afterwards, the same chunks give the same updates."""

    def parameter_count(self) -> int:
        """Returns the number of parameters."""
        return sum(array.size for array in self.weights().values())


def _alone(grads: Iterable[torch.Tensor]) -> None:
    """Averages the gradients of one learner: they stay as they are."""


class Agent(TrainableActor):
    """A policy and its learning rule."""

    KEPT: ClassVar[tuple[str, ...]] = ()
    """Attributes that `state` saves in addition to the learning stream: modules, optimizers, generators, numbers,
    texts, tensors, dicts of these, objects with state() and load_state(). Acting depends on the first one, a module."""
    REMADE: ClassVar[tuple[str, ...]] = ()
    """Attributes that learning changes and `state` need not save, since each update makes them anew."""
    CUTS_MINIBATCHES: ClassVar[bool] = False
    """True if `update` splits the whole batch into minibatches itself, and takes its `share` of each."""
    PREPARES_WITH_DROPOUT: ClassVar[bool] = False
    """True if `prepare` computes with a target network, which has dropout where the one that learns does."""

    COMPILES: ClassVar[bool] = False
    """True if every network update is a step of `minimize` with a pure loss: no side effects, no random numbers but
    those of algos.common.fast.program.drawn, no mutable state but tensors."""

    optimizer: Any = None
    """Main optimizer, if any; its learning rate and gradient norm are logged."""

    normalizer: Any = None
    """Statistics of observations, an algos.common.nets.observations.Normalizer; None without normalize_obs."""

    state_normalizer: Any = None
    """Statistics of the global state, which critics and mixers of several agents read; None where none does."""

    carried: Any = None
    """Recurrent states of its networks, an algos.common.parts.passes.Carried. With it the sequences of recurrent
    networks arrive in `update` as single steps."""

    _own_layers: list[torch.nn.Module] | None = None
    """Layers of the user's own that learn; None until they are needed."""
    _own_names: tuple[str, ...] | None = None
    """Names of their statistics."""
    _drawing: list[torch.nn.Module] | None = None
    """Its networks that draw random numbers while it learns; None until they are needed."""
    _optimizers: list[Any] | None = None
    """Optimizers whose learning rates follow the schedule; None until they are needed."""

    def __init__(self, cfg: Any, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        self.cfg, self.spec, self.streams, self.device = cfg, spec, streams, device
        self.now = Numbers(cfg, device)
        """Numbers among the settings, which may be schedules, as they are now."""
        self.burn_in: int = getattr(cfg, "burn_in", 0)
        """Steps at the start of a sequence that only refresh the recurrent state."""
        self.n_step: int = getattr(cfg, "n_step", 1)
        """Steps of the returns that are summed within sequences; those of single steps come from the memory."""
        self.reduce: Callable[[Iterable[torch.Tensor]], None] = _alone
        """Called between backward and step; averages gradients over the learners that share a batch."""
        self.learners = 1
        """Number of learners that share each batch."""
        self.share: Callable[[Batch], Batch] = self.single_steps
        """Returns this learner's part of a shared batch, as single steps; `reduce` averages results of the most recent
        part."""

    def by_policy(self) -> Mapping[str, "Agent"]:
        return {"": self}

    # acting ---------------------------------------------------------------------------------------------

    def noted(self, obs: Array, action: Array, mask: Array | None = None) -> dict[str, Array]:
        """Returns the columns that sample_action would give with these actions [N, ...], by the present weights."""
        return {}

    def as_module(self) -> PolicyModule:
        """Returns predict_action as a module, on the device and with the weights of the agent. Raises UnfitError with
        the reason if it is not a function of the observation and a recurrent state that networks compute."""
        if self.KEPT:
            raise UnfitError("its agent has no as_module, which gives the policy as a module (docs/algorithms.md)")
        raise UnfitError("its policy is not a network but a table or a rule")

    # learning -------------------------------------------------------------------------------------------

    def metric_names(self) -> tuple[str, ...]:
        names = self.METRICS if self.optimizer is None else (*self.METRICS, "grad_norm", "lr")
        return (
            *names,
            *self.scheduled(Progress()),
            *(self.own_stats() if self._own_names is None else self._own_names),
        )

    def own_stats(self) -> dict[str, torch.Tensor]:
        """Returns the statistics that layers of the user's own give now, by name. Raises OwnLossError for unusable
        ones."""
        if self._own_layers is None:
            self._own_layers = custom.layers_of(self._attributes())
        if not self._own_layers:  # asked at every update
            return {}
        stats = custom.stats_of(self._own_layers)
        if self._own_names is None:
            self._own_names = custom.new_names(stats, (*self.METRICS, "grad_norm", "lr"))
        custom.compare(stats, self._own_names)
        return stats

    def _attributes(self) -> Iterator[Any]:
        """Yields the attributes of the agent, and of the parts that hold networks for it."""
        yield from vars(self).values()
        for name in ("policy", "discriminator", "bonus"):
            yield from getattr(getattr(self, name, None), "__dict__", {}).values()

    def drawing_layers(self) -> list[str]:
        """Returns the layers of the user's own that draw random numbers while they act."""
        return custom.drawing(self._attributes())

    def observe(self, obs: torch.Tensor) -> None:
        """Updates the statistics of observations with new ones [M, ...] of a replay memory, each of which comes once.
        Observations of a rollout are counted in `prepare`."""
        if self.normalizer is not None:
            self.normalizer.update(obs)

    def observe_state(self, state: torch.Tensor) -> None:
        """Updates the statistics of the global state with new states [M, G], each of which comes once."""
        if self.state_normalizer is not None:
            self.state_normalizer.update(state)

    def optimizers(self) -> Iterator[Any]:
        """Yields the optimizers that KEPT names, and those that its parts keep."""
        return optim.optimizers_of(self, self.KEPT)

    def rates(self, progress: Progress) -> Iterator[tuple[dict[str, Any], float]]:
        """Yields the parameter groups of the optimizers with their learning rates from now on; asked once per chunk."""
        if self._optimizers is None:
            self._optimizers = list(self.optimizers())
        for optimizer in self._optimizers:
            for group in optimizer.param_groups:  # not kept: loading a state may replace them
                if optim.SCHEDULE in group:
                    yield group, group[optim.SCHEDULE].at(progress.fraction)

    def follow(self, progress: Progress) -> None:
        """Sets the learning rates, and the numbers of `now`, to those of this progress; called once per chunk."""
        for group, rate in self.rates(progress):
            group["lr"] = rate
        self.now.follow(progress.fraction)

    def scheduled(self, progress: Progress) -> dict[str, float]:
        """Returns the values of settings that are schedules, as metrics; without those that exploration or `lr`
        tells."""
        if not (values := self.now.at(progress.fraction)):  # asked at every chunk
            return {}
        told = {*self.exploration(progress), *(() if self.optimizer is None else ("lr",))}
        return {name: value for name, value in values.items() if name not in told}

    def prepare(self, window: Batch, progress: Progress) -> Batch:
        """Adds advantages and returns; called once per chunk. A rollout's window holds on-policy steps [T, N, ...],
        before they are split into minibatches; that of a replay buffer K minibatches [K, B, ...]."""
        return window

    def standardize(self, batch: Batch) -> Batch:
        """Does what needs all samples of a minibatch, such as normalizing advantages; called once per minibatch, before
        it is split over several learners."""
        return batch

    def learning_networks(self) -> list[Any]:
        """Returns the networks that learn in an update; of tables, none that draws random numbers."""
        return [getattr(self, name) for name in self.KEPT[:1]]

    def seed_dropout(self) -> None:
        """Seeds dropout from the learning stream; called once per minibatch, before its update."""
        if self._drawing is None:
            networks = self.learning_networks()
            self._drawing = [each for each in networks if isinstance(each, torch.nn.Module) and draws(each)]
        for network in self._drawing:
            seed_dropout(network, self.streams.learn)

    def shifted(self, batch: Batch) -> Batch:
        """Returns a minibatch with random shifts of its images, if the settings ask for them; called once per
        minibatch, before it is split over several learners."""
        return batch

    def single_steps(self, batch: Batch) -> Batch:
        """Returns a minibatch as `update` takes it: of a recurrent agent, sequences become single steps [M, ...], whose
        obs and next_obs are views, which outputs_of takes (algos/common/parts/passes.py). Any other is as it was."""
        return (
            batch if self.carried is None else self.carried.with_views(batch, self.burn_in, self.n_step, self.cfg.gamma)
        )

    def by_sample(self, result: Result, batch: Batch) -> Result:
        """Returns the result of an update from these single steps, with priorities of samples: of sequences [B], where
        the steps are parts of sequences."""
        of_sequences = getattr(batch.get("obs"), "priorities", None)
        if result.priorities is None or of_sequences is None:
            return result
        return result._replace(priorities=of_sequences(result.priorities, self.cfg.per_eta))

    def everywhere(self, mean: torch.Tensor) -> torch.Tensor:
        """Returns the mean over the whole minibatch, given the mean over this learner's part."""
        mean = mean.detach().clone()
        self.reduce([mean])
        return mean

    def minimize(self, loss: Loss, optimizer: Any) -> GradientStep:
        """Returns a function that takes a step of the optimizer down the gradient of loss(*inputs), as fast as it can:
        step(*inputs, reduce=self.reduce) gives the second value of the loss. The optimizer has all parameters that
        learn from this loss."""
        return GradientStep(loss, optimizer, self.cfg.max_grad_norm)

    @classmethod
    def uncompiled(cls, cfg: Any) -> str | None:
        """Returns why updates with these settings cannot be compiled (general_cfg.compile); None if they can."""
        return uncompiled(cfg) if cls.COMPILES else tr("this algorithm has no compiled updates")

    def gradient_steps(self) -> list[GradientStep]:
        return [value for value in self._attributes() if isinstance(value, GradientStep)]

    @abstractmethod
    def update(self, batch: Batch) -> Result:
        """Makes one gradient step (or table update) from one minibatch, after seed_dropout."""

    # checkpoints, by the names in KEPT; an agent without a network overrides these ------------------------

    def weights(self) -> dict[str, Array]:
        return weights_of(self._network())

    def load_weights(self, weights: dict[str, Array]) -> None:
        load_weights(self._network(), weights)

    def _network(self) -> torch.nn.Module:
        if not self.KEPT:
            raise TypeError(
                tr(
                    "{module}: KEPT is empty; fill it, or override weights, state and their load_",
                    module=type(self).__module__,
                )
            )
        return getattr(self, self.KEPT[0])

    def state(self) -> Tree:
        return {**state_of(self, self.KEPT), "learn": self.streams.learn.bit_generator.state}

    def load_state(self, state: Tree) -> None:
        load_state_of(self, self.KEPT, state)
        self.streams.learn.bit_generator.state = state["learn"]
