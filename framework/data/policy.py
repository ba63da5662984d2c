"""The interface of a policy that a program writes itself, and its phases."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from torch import nn

from config.tell.language import tr
from framework.data.absent_names import OF_A_POLICY
from framework.data.batch import Batch
from framework.data.buffer import ReplayBuffer
from framework.data.conversion import to_numpy
from framework.data.settings import whole
from framework.data.values import brief
from framework.errors import JoystickError
from framework.seeding import stream


class Policy(nn.Module, ABC):
    """Chooses actions, and learns from batches of a buffer. It is a torch module: networks that are its attributes are
    in its parameters() and its state_dict(), and follow train() and eval().

    Its two flags tell the phase: collecting (training True, updating False), updating (True, True) and testing (False,
    False). Outside of all phases `training` is what train() and eval() made it, True at first.
    """

    ONE_ARRAY: ClassVar[bool] = False
    """True if observations are always one array."""
    updating = False
    """True while it learns."""
    fraction = 0.0
    """Share of the planned training that is done, for schedules; trainers set it."""
    updates = 0
    """Number of minibatches learned from."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Makes a torch module, so that an __init__ may assign networks without calling that of its base class."""
        policy = super().__new__(cls)
        nn.Module.__init__(policy)
        return policy

    def __init__(self, observation_space: Any = None, action_space: Any = None) -> None:
        """Keeps the spaces, for the policy's own use. What has been assigned before it is called stays."""
        self.observation_space, self.action_space = observation_space, action_space

    def __getattr__(self, name: str) -> Any:
        if remedy := OF_A_POLICY.get(name):
            kind = type(self).__name__
            raise AttributeError(tr("{kind} has no attribute {name!r}; {remedy}", kind=kind, name=name, remedy=remedy))
        return super().__getattr__(name)

    @abstractmethod
    def forward(self, batch: Batch, state: Any = None) -> Batch:
        """Returns `act` [N, ...] for batch.obs [N, ...]; optionally `policy`, further columns for the buffer, and
        `state` [N, ...], what a recurrent policy gets back at the next step, with zeros in rows that begin an
        episode. May have further arguments: policy(batch, eps=0) passes them on."""

    def rewarded(self, state: Any, reward: np.ndarray) -> Any:
        """Returns the `state` of a recurrent policy once the rewards [N] of the step are known."""
        return state

    @property
    def needs_own_actions(self) -> bool:
        """True if it can learn from no actions but those that it has chosen."""
        return False

    def rested(self, rows: int) -> None:
        """Is told how many rows of the latest batch took no step: their episodes were over."""

    def process_fn(self, batch: Batch, buffer: ReplayBuffer, indices: np.ndarray) -> Batch:
        """Prepares a batch for learning, such as by adding returns. indices: places of its transitions in the
        buffer."""
        return batch

    @abstractmethod
    def learn(self, batch: Batch) -> Mapping[str, float]:
        """Makes one update from a minibatch, and returns metrics."""

    def post_process_fn(self, batch: Batch, buffer: ReplayBuffer, indices: np.ndarray) -> None:
        """Is called after learning. Gives a prioritized buffer the priorities that `learn` has put into
        batch.weight."""
        if hasattr(buffer, "update_weight") and "weight" in batch:
            buffer.update_weight(indices, batch.weight)

    def update(
        self, sample_size: int, buffer: ReplayBuffer, batch_size: int | None = None, repeat: int = 1
    ) -> dict[str, float]:
        """Samples transitions (0: all, in order of time), and learns from them `repeat` times in minibatches of at most
        batch_size; None: all at once. Returns the means of the metrics."""
        check_buffer(buffer)
        whole("repeat", repeat)
        with self.phase(training=True, updating=True):
            batch, indices = buffer.sample(sample_size)
            if not len(indices):
                raise JoystickError("the buffer is empty; collect before the first update")
            batch = self.process_fn(batch, buffer, indices)
            if not isinstance(batch, Batch):
                raise JoystickError("process_fn gave a {kind}; return the batch", kind=type(batch).__name__)
            results, rng = [], stream(buffer.seed, "minibatches", self.updates)
            every = Batch(place=np.arange(len(batch)))
            weights = np.array(to_numpy(batch.weight)) if "weight" in batch and batch_size is not None else None
            for _ in range(repeat):
                for part in [every] if batch_size is None else every.split(batch_size, rng=rng):
                    minibatch = batch if part is every else batch[part.place]
                    results.append(_metrics(self.learn(minibatch)))
                    if weights is not None and "weight" in minibatch:
                        weights[part.place] = to_numpy(minibatch.weight)  # what `learn` has put there
                    self.updates += 1
            if weights is not None:  # at the end: further passes learn with the weights of the sample
                batch.weight = weights
            self.post_process_fn(batch, buffer, indices)
        return means(results)

    @contextlib.contextmanager
    def phase(self, training: bool, updating: bool = False) -> Iterator[None]:
        """Sets the two flags within a `with`; afterwards, also after an exception, they are what they were before.
        Where `training` changes, train() is called, so that networks with dropout follow."""
        before = self.updating, [(module, module.training) for module in self.modules()]
        self.updating = updating
        if self.training != training:
            self.train(training)
        try:
            yield
        finally:
            self.updating = before[0]
            for module, mode in before[1]:
                module.training = mode


def check_buffer(buffer: Any) -> None:
    """Raises JoystickError for something that is not a buffer."""
    if not isinstance(buffer, ReplayBuffer):
        raise JoystickError(
            "update(sample_size, buffer): got {value} as the buffer; expected a ReplayBuffer", value=brief(buffer)
        )


def _metrics(learned: Any) -> dict[str, float]:
    """Returns the metrics of an update as numbers. Raises JoystickError if `learn` gave something else."""
    if not isinstance(learned, Mapping):
        raise JoystickError(
            "learn gave a {kind}; return a dict of numbers, such as {{'loss': 0.5}}", kind=type(learned).__name__
        )
    for name, value in learned.items():
        if np.size(value) != 1:
            raise JoystickError(
                "learn gave {name} of the shape {shape}; a metric is one number",
                name=name,
                shape=tuple(np.shape(value)),
            )
    return {name: float(value) for name, value in learned.items()}


def means(results: list[dict[str, float]]) -> dict[str, float]:
    """Returns the mean of each metric over the updates that gave it."""
    names = dict.fromkeys(name for result in results for name in result)
    return {name: float(np.mean([result[name] for result in results if name in result])) for name in names}
