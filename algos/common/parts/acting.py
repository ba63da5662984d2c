"""Acting, for agents to inherit: one function chooses the actions of a step, by values of actions, a policy or a table.
An agent may also define the functions of algos.base.Actor itself."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from algos import base
from algos.base import Act, Array, Batch, EnvSpec, Explore, PolicyModule, Progress, Result, Streams, Tree
from algos.common.maths.exploration import Explorer, epsilon_greedy, greedy, masked
from algos.common.nets.observations import RandomShift, normalizer_for
from algos.common.nets.recurrent import Recurrent
from algos.common.parts import optim
from algos.common.parts.passes import Carried, samples


class ActingAgent(base.Agent):
    """An agent whose actions of every kind come from one function. With normalize_obs it has a normalizer."""

    def __init__(self, cfg: Any, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        if getattr(cfg, "normalize_obs", False):
            self.normalizer = normalizer_for(spec.observation_space, device)
        shift = getattr(cfg, "random_shift", 0)
        self.shift = RandomShift(spec.observation_space, shift) if shift else None

    @abstractmethod
    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        """Returns exploratory actions; for None the best known ones, without randomness. mask [N, A] is True for legal
        actions; None if all are legal."""

    def shifted(self, batch: Batch) -> Batch:
        if self.shift is None:
            return batch
        images = [name for name in ("obs", "next_obs") if name in batch]
        moved: Batch = {name: self.shift(batch[name], self.streams.learn) for name in images}  # next ones by others
        return {**batch, **moved}

    def descend(self, loss: Tensor, inputs: Any, optimizer: optim.Optimizer) -> None:
        """Makes a step of an optimizer down the gradient of a loss, to which layers of the user's own have added
        theirs. inputs: minibatch that the loss is of."""
        parameters = optim.parameters_of(optimizer)
        optim.descend(loss, inputs, optimizer, parameters, self.cfg.max_grad_norm, self.reduce)

    def minibatches(self, batch: Batch, size: int, epochs: int) -> Iterator[Batch]:
        """Yields this learner's parts of minibatches of `size` steps, in a new order in each epoch, for an agent that
        cuts the whole batch itself (CUTS_MINIBATCHES)."""
        length, total = batch["first"].shape if "first" in batch else (1, len(batch["obs"]))
        for _ in range(epochs):
            order = torch.from_numpy(self.streams.learn.permutation(total)).to(self.device)
            for chosen in order.split(max(1, size // length)):
                yield self.share(samples(batch, chosen))

    def initial_state(self, rows: int) -> Array | None:
        return None if self.carried is None else self.carried.initial(rows)

    def sample_action(
        self, obs: Array, state: Array | None, progress: Progress, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        return self.act(obs, state, mask, Explore(progress, rng))

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        return self.act(obs, state, mask)


class ValueAgent(ActingAgent):
    """An agent that chooses among actions by their values."""

    explorer: Explorer
    eval_epsilon: float | None = None
    """Share of random actions in evaluations; None: its generator is not used."""
    draws_noise = False
    """True if the network has noise, which is drawn for each step."""

    def values(
        self, obs: Array, state: Array | None = None, rng: np.random.Generator | None = None
    ) -> tuple[Array, Array | None]:
        """Returns Q(s, .) [N, A], and the recurrent state after this step. rng: of noise in the network; None for no
        noise."""
        return self.carried.act(obs, state)

    def exploration(self, progress: Progress) -> dict[str, float]:
        return self.explorer.strength(progress)

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        if explore is None:
            values, after = self.values(obs, state)
            return Act(greedy(values, mask), state=after)
        if state is None and not self.draws_noise:
            # the values are a function: where all rows act at random, choose does not compute them
            shape = len(obs), int(self.spec.action_space.n)  # type: ignore[attr-defined]  # of a Discrete
            return Act(self.explorer.choose(lambda: self.values(obs, None, explore.rng)[0], shape, *explore, mask))
        values, after = self.values(obs, state, explore.rng)  # a memory follows each step; noise comes before the rest
        return Act(self.explorer.choose(lambda: values, values.shape, *explore, mask), state=after)

    def evaluate_action(
        self, obs: Array, state: Array | None, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        if self.eval_epsilon is None:
            return self.act(obs, state, mask)
        values, after = self.values(obs, state)
        return Act(epsilon_greedy(values, self.eval_epsilon, rng, mask), state=after)


class Policy(ABC):
    """A part of an agent that acts for it."""

    carried: Carried
    """Recurrent states of its networks, and of those beside it."""

    @abstractmethod
    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        """Returns what ActingAgent.act does."""

    @abstractmethod
    def as_module(self) -> PolicyModule:
        """Returns the best known actions as a module."""

    def initial_state(self, rows: int) -> Array | None:
        """Returns the recurrent state [N, S] at the start of an episode; None for feed-forward networks."""
        return self.carried.initial(rows)

    def noted(self, obs: Array, action: Array, mask: Array | None) -> dict[str, Array]:
        """Returns the columns that exploring gives with these actions [N, ...]."""
        return {}


Part = TypeVar("Part", bound=Policy)


class PolicyAgent(ActingAgent, Generic[Part]):
    """An agent that acts by a policy."""

    policy: Part

    def initial_state(self, rows: int) -> Array | None:
        return self.policy.initial_state(rows)

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        return self.policy.act(obs, state, mask, explore)

    def noted(self, obs: Array, action: Array, mask: Array | None = None) -> dict[str, Array]:
        return self.policy.noted(obs, action, mask)

    def as_module(self) -> PolicyModule:
        return self.policy.as_module()

    def single_steps(self, batch: Batch) -> Batch:
        return self.policy.carried.with_views(batch, self.burn_in, self.n_step, self.cfg.gamma)


Choice = Callable[[Tensor], Tensor]


def highest(values: Tensor) -> Tensor:
    """Returns the first of the best actions [...] of values [..., A]."""
    return values.argmax(-1)


class Greedy(PolicyModule):
    """A network, and the choice of an action from its outputs [N, ...]. Illegal actions are masked in between."""

    def __init__(
        self,
        network: nn.Module,
        choose: Choice,
        read: Choice = lambda outputs: outputs,
        mask: Callable[[Tensor, Tensor | None], Tensor] = masked,
    ) -> None:
        """read: from outputs to the numbers that an action is chosen by. mask: removes what is illegal from them."""
        super().__init__()
        self.network, self._choose, self._read, self._mask = network, choose, read, mask
        self.state_size = network.state_size if isinstance(network, Recurrent) else 0

    def forward(self, obs: Tensor, state: Tensor | None, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        if isinstance(self.network, Recurrent) and state is not None:
            outputs, state = self.network.step(obs, state)
        else:
            outputs = self.network(obs)
        outputs = self._read(outputs)
        return outputs, self._choose(self._mask(outputs, mask)), state


class Weightless:
    """The part of an agent's contract that is about learning, for one that does not learn. Comes before base.Agent."""

    def update(self, batch: Batch) -> Result:
        """Changes nothing."""
        return Result({})

    def weights(self) -> dict[str, Array]:
        return {}

    def load_weights(self, weights: dict[str, Array]) -> None:
        pass

    def state(self) -> Tree:
        return {}

    def load_state(self, state: Tree) -> None:
        pass
