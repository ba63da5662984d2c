"""Passes through networks, feed-forward and recurrent ones alike: in acting, over a window [T, N], over a minibatch.

For a few observations numpy computes them in acting: torch takes longer to start a layer than to compute it. What this
gains is in docs/speed.md. The numbers are those of torch up to rounding; learning is torch's alone.
"""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from algos.base import Array, Batch
from algos.common.fast import compiled_steps, kernels, switch
from algos.common.fast.layers import Linear, Network, Tanh
from algos.common.maths.gaussian import LogStd
from algos.common.maths.returns import LIMIT
from algos.common.nets.observations import Normalizer, ToFloat, in_parts
from algos.common.nets.recurrent import Observed, Recurrent, View, n_step_returns, real


def of_window(network: nn.Module, window: Batch, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Returns outputs for obs and for the true successors, [T, N, ...] each, without gradients. The successor is the
    next observation, except at episode ends and after the last step. state [N, S] is the recurrent state before the
    first step."""
    obs, next_obs = window["obs"], window["next_obs"]
    with torch.no_grad():
        if isinstance(network, Recurrent) and state is not None:
            return network.unroll_both(obs, next_obs, state, window["first"])
        ended = window["terminated"] | window["truncated"]
        out = torch.cat([network(part) for part in in_parts(obs.flatten(0, 1))]).unflatten(0, ended.shape)
        following = torch.cat([out[1:], network(next_obs[-1]).unsqueeze(0)])
        if ended.any():
            following[ended] = network(next_obs[ended])
        return out, following


def samples(batch: Batch, chosen: Tensor) -> Batch:
    """Selects samples of a minibatch: single steps [B, ...], or sequences [L, B, ...] with a stored state [B, S]."""
    sequences = "first" in batch
    return {name: column.index_select(int(sequences and name != "state"), chosen) for name, column in batch.items()}


ACTING = "actor"
"""Name of the recurrent state of the network that acts, whatever its outputs mean."""


def outputs_of(network: nn.Module, obs: Observed, name: str = ACTING) -> Tensor:
    """Returns outputs [M, ...] of a network whose recurrent state, if any, has this name."""
    return network(obs) if isinstance(obs, Tensor) else obs.through(network, name)


def outputs_of_both(network: nn.Module, obs: Observed, next_obs: Observed, name: str) -> Tensor:
    """Returns outputs for the observations followed by those for their successors, [2 M, ...], from one pass."""
    if isinstance(obs, Tensor) and isinstance(next_obs, Tensor):
        return network(torch.cat([obs, next_obs]))
    if isinstance(obs, View) and isinstance(network, Recurrent):
        return torch.cat(obs.both(network, name))
    return torch.cat([outputs_of(network, obs, name), outputs_of(network, next_obs, name)])


class Carried:
    """Recurrent state of the network that acts and of networks beside it as one vector [N, S], in the order in which
    they were added. Feed-forward networks have no part in it. The first must be complete by then."""

    def __init__(self, network: nn.Module, device: torch.device) -> None:
        self.network, self.device = network, device
        self.networks: dict[str, Recurrent] = {}
        self.sizes: list[int] = []
        self.size = 0
        self.few, self._passes = few_rows(network, device), compiled_steps.passes(network, device)
        self.add(ACTING, network)

    def add(self, name: str, network: nn.Module | None) -> None:
        """Adds the recurrent state of a network, if it has one."""
        if isinstance(network, Recurrent):
            self.networks[name] = network
            self.sizes.append(network.state_size)
            self.size += network.state_size

    def initial(self, rows: int) -> Array | None:
        """Returns the state [N, S] at the start of an episode; None if no network is recurrent."""
        return np.zeros((rows, self.size), np.float32) if self.size else None

    def parts(self, state: Tensor | None) -> dict[str, Tensor]:
        """Splits the state by the names of the networks; further columns are ignored."""
        if state is None or not self.size:
            return {}
        parts = state[:, : self.size].split(self.sizes, 1)
        return {name: part.contiguous() for name, part in zip(self.networks, parts, strict=True)}

    def act(self, obs: Array, state: Array | None) -> tuple[Array, Array | None]:
        """Makes one step of N rows; returns the outputs of the network that acts and the state after it."""
        if state is None and self.few is not None and len(obs) <= self.few.rows:
            return self.few(obs), None
        outputs, after = self._through_torch(obs, state)
        return outputs.cpu().numpy(), after

    @torch.inference_mode()
    def _through_torch(self, obs: Array, state: Array | None) -> tuple[Tensor, Array | None]:
        if state is None and self._passes is not None:
            return self._passes(torch.from_numpy(obs)), None
        x = torch.from_numpy(obs).to(self.device)
        if state is None:
            return self.network.forward(x), None
        before = self.parts(torch.from_numpy(state).to(self.device))
        steps = {name: network.step(x, before[name]) for name, network in self.networks.items()}
        outputs = steps[ACTING][0] if ACTING in steps else self.network.forward(x)
        return outputs, torch.cat([after for _, after in steps.values()], 1).cpu().numpy()

    @torch.no_grad()
    def recomputed(self, window: Batch, length: int) -> Batch:
        """Returns the window [T, N, ...] with the stored states of sequences of `length` steps as the networks give
        them now. The stored ones are those of acting, before new statistics changed what the networks see."""
        if not self.size:
            return window
        state = window["state"].clone()
        for start in range(0, len(state) - length, length):
            steps, parts = slice(start, start + length), self.parts(state[start])
            after = [
                n.state_after(window["obs"][steps], parts[k], window["first"][steps]) for k, n in self.networks.items()
            ]
            state[start + length] = torch.cat(after, 1)
        return {**window, "state": state}

    def with_views(self, batch: Batch, burn_in: int = 0, n_step: int = 1, gamma: float = 1.0) -> Batch:
        """Returns a minibatch as single steps [M, ...]. Sequences [W + L, B, ...] lose the W burn-in steps and
        the dummy steps; obs and next_obs become views. Without a stored state they begin with zeros, as those of given
        data do. With an n-step return, rewards are summed, and what belongs to the next state is that of its end."""
        if "first" not in batch:
            return batch
        before: Batch = {name: batch[name][:burn_in] for name in ("obs", "first")}
        steps: Batch = {name: value[burn_in:] for name, value in batch.items() if name != "state"}
        valid = steps.pop("valid", None)
        state = batch["state"] if "state" in batch else torch.zeros(steps["first"].shape[1], self.size).to(self.device)
        last = None
        if n_step > 1:
            steps["reward"], steps["discount"], last = n_step_returns(steps, n_step, gamma, valid)
        view = View(steps, before, self.parts(state), valid, last=last)
        seen = ("obs", "next_obs", "first")
        columns = {name: real(value, valid) for name, value in steps.items() if name not in seen}
        if last is not None:
            columns = {name: value[last] if name.startswith("next_") else value for name, value in columns.items()}
        return {**columns, "obs": view, "next_obs": replace(view, successors=True)}  # type: ignore[dict-item]


# a few observations, by numpy -------------------------------------------------------------------------------

Step = Callable[[Array], Array]
"""[N, ...] -> [N, ...]; the argument stays as it is."""


def _view(tensor: Tensor) -> Array:
    """Returns an array that shares the memory of the tensor, and so has its later values too."""
    view: Array = tensor.detach().numpy()
    return view


def _linear(layer: nn.Linear) -> Step:
    weight, bias = _view(layer.weight).T, _view(layer.bias)

    def step(x: Array) -> Array:
        out: Array = np.dot(x, weight)
        out += bias
        return out

    return step


def _normalized(layer: Normalizer) -> Step:
    shift, factor = _view(layer.shift), _view(layer.factor)
    return lambda x: np.minimum(np.maximum((x.astype(np.float32) - shift) * factor, -LIMIT), LIMIT)  # np.clip is slow


def _with_deviations(layer: LogStd) -> Step:
    log_std = _view(layer.log_std)
    return lambda x: np.concatenate([x, np.broadcast_to(log_std, (len(x), log_std.size))], 1)


STEPS: dict[type[nn.Module], Callable[[Any], Step]] = {
    Linear: _linear,
    nn.Linear: _linear,
    nn.ReLU: lambda layer: lambda x: np.maximum(x, 0.0),
    nn.Tanh: lambda layer: np.tanh,
    Tanh: lambda layer: np.tanh,
    nn.Flatten: lambda layer: lambda x: x.reshape(len(x), -1),
    ToFloat: lambda layer: lambda x: x.astype(np.float32),
    Normalizer: _normalized,
    LogStd: _with_deviations,
}
"""Layer -> what makes the function of one; a network with any other layer is left to torch."""


def _is_known(layer: nn.Module) -> bool:
    """Returns True for a layer of STEPS with the settings that they take for granted."""
    if isinstance(layer, nn.Flatten):
        return (layer.start_dim, layer.end_dim) == (1, -1)
    return type(layer) in STEPS and getattr(layer, "bias", True) is not None


def few_rows(network: nn.Module, device: torch.device) -> "FewRows | None":
    """Returns the network for a few observations; None if it has other layers than these. Of one on a GPU a copy on the
    CPU acts: its answer would take longer to arrive than to compute."""
    if not (switch.on("few rows") and isinstance(network, Network) and all(_is_known(layer) for layer in network)):
        return None
    if device.type == "cpu":
        return FewRows(network)
    return Followed(network) if all(x.dtype == torch.float32 for x in _state(network)) else None


class FewRows:
    """A network for at most `rows` observations."""

    def __init__(self, network: Network) -> None:
        self.network, self._largest = network, max(p.numel() for p in network.parameters())
        self.steps = [STEPS[type(layer)](layer) for layer in network]

    @property
    def rows(self) -> int:
        """Largest number of observations that numpy computes faster than torch."""
        return (kernels.now.few_rows or 0) // self._largest

    def __call__(self, obs: Array) -> Array:
        for step in self.steps:
            obs = step(obs)
        return obs

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuilds the views when copied or pickled."""
        return type(self), (self.network,)


class Followed(FewRows):
    """A network on a GPU, whose weights are copied to the CPU when they have changed, all in one copy."""

    def __init__(self, network: Network) -> None:
        here = copy.deepcopy(network).to("cpu")
        self._original, self._theirs = network, _state(network)
        self._versions = [theirs._version for theirs in self._theirs]
        self._memory = torch.cat([mine.detach().flatten() for mine in _state(here)])
        parts = self._memory.split([mine.numel() for mine in _state(here)])
        for mine, part in zip(_state(here), parts, strict=True):
            mine.data = part.view(mine.shape)
        super().__init__(here)

    @torch.no_grad()
    def __call__(self, obs: Array) -> Array:
        versions = [theirs._version for theirs in self._theirs]
        if versions != self._versions:
            self._memory.copy_(torch.cat([theirs.flatten() for theirs in self._theirs]))
            self._versions = versions
        return super().__call__(obs)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._original,)


def _state(network: nn.Module) -> list[Tensor]:
    """Returns the parameters and buffers of a network."""
    return [*network.parameters(), *network.buffers()]
