"""Uniform treatment of feed-forward and recurrent networks: in acting, over a window [T, N], over a minibatch."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from algos.base import Array, Batch
from algos.common.fast import compiled_steps
from algos.common.fast.few_rows import few_rows
from algos.common.nets.recurrent import Recurrent


def of_window(network: nn.Module, window: Batch, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Returns outputs for obs and for the true successors, [T, N, ...] each, without gradients. The successor is the
    next observation, except at episode ends and after the last step. state [N, S] is the recurrent state before the
    first step."""
    obs, next_obs = window["obs"], window["next_obs"]
    with torch.no_grad():
        if isinstance(network, Recurrent) and state is not None:
            return network.unroll_both(obs, next_obs, state, window["first"])
        ended = window["terminated"] | window["truncated"]
        out = network(obs.flatten(0, 1)).unflatten(0, ended.shape)
        following = torch.cat([out[1:], network(next_obs[-1]).unsqueeze(0)])
        if ended.any():
            following[ended] = network(next_obs[ended])
        return out, following


def samples(batch: Batch, chosen: Tensor) -> Batch:
    """Selects samples of a minibatch: single steps [B, ...], or sequences [L, B, ...] with a stored state [B, S]."""
    sequences = "first" in batch
    return {name: column.index_select(int(sequences and name != "state"), chosen) for name, column in batch.items()}


def _real(column: Tensor, valid: Tensor | None) -> Tensor:
    """Flattens [L, B, ...] to [M, ...], without dummy steps."""
    flat = column.flatten(0, 1)
    return flat if valid is None else flat[valid.flatten()]


def n_step_returns(steps: Batch, n: int, gamma: float, valid: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the sums of up to n discounted rewards within sequences [L, B], the discount of the state after them, and
    the place of their last step among the M valid ones [M]. Fewer than n where an episode or the sequence ends."""
    reward, discount, first = steps["reward"], steps["discount"], steps["first"]
    ends = torch.cat([first[1:], torch.ones_like(first[:1])]) | (discount == 0)
    length, width = reward.shape
    last = torch.arange(length, device=reward.device).unsqueeze(1).expand(length, width)
    total, factor = reward.clone(), torch.full_like(reward, gamma)
    for _ in range(n - 1):
        going = ~ends.gather(0, last)
        last = torch.where(going, last + 1, last)
        total = torch.where(going, torch.addcmul(total, factor, reward.gather(0, last)), total)
        factor = torch.where(going, factor * gamma, factor)
    place = last * width + torch.arange(width, device=reward.device)
    if valid is not None:
        place = (valid.flatten().cumsum(0) - 1)[place]
    return total, torch.where(discount.gather(0, last) > 0, factor, 0.0), _real(place, valid)


# several networks side by side ----------------------------------------------------------------------------


@dataclass(frozen=True)
class View:
    """Observations, or true successors, of the M single steps within sequences [L, B, ...]."""

    steps: Batch
    """Columns [L, B, ...]."""
    before: Batch
    """obs and first [W, B, ...] of the burn-in steps, which only refresh the recurrent state."""
    states: Mapping[str, Tensor]
    """Stored states [B, S] before the burn-in, by the name of each recurrent network."""
    valid: Tensor | None
    """[L, B], False for dummy steps, which are not among the M."""
    successors: bool = False
    last: Tensor | None = None
    """Place among the M of the last step of the n-step return that begins at each [M]; None for returns of one step."""

    def _of_last(self, following: Tensor) -> Tensor:
        """Returns what belongs to the successors of single steps [M, ...] for the ends of n-step returns."""
        return following if self.last is None else following[self.last]

    def single_steps(self) -> Tensor | None:
        """Returns the observations of the M steps [M, ...], or their successors; None if these are not stored."""
        column = self.steps.get("next_obs" if self.successors else "obs")
        if column is None:
            return None
        return self._of_last(_real(column, self.valid)) if self.successors else _real(column, self.valid)

    def through(self, network: nn.Module, name: str) -> Tensor:
        """Returns outputs [M, ...]; for true successors of a recurrent network, without gradients."""
        if isinstance(network, Recurrent):
            return self.both(network, name)[1] if self.successors else self._unrolled(network, name)
        return network(self.single_steps())

    def both(self, network: Recurrent, name: str) -> tuple[Tensor, Tensor]:
        """Returns outputs for the observations and their successors, [M, ...] each, from one pass."""
        steps, state = self.steps, self._state(network, name)
        out, following = network.unroll_both(steps["obs"], steps["next_obs"], state, steps["first"])
        return _real(out, self.valid), self._of_last(_real(following, self.valid))

    def _unrolled(self, network: Recurrent, name: str) -> Tensor:
        steps = self.steps
        return _real(network.unroll(steps["obs"], self._state(network, name), steps["first"]), self.valid)

    def priorities(self, errors: Tensor, eta: float) -> Tensor:
        """Returns a priority of each sequence [B]: eta max + (1 - eta) mean of the TD errors [M] of its steps
        (Kapturowski et al., 2019, section 2.3)."""
        first = self.steps["first"]
        if self.valid is None:
            each = errors.view(first.shape)
            return eta * each.amax(0) + (1 - eta) * each.mean(0)
        each = torch.zeros(first.shape, dtype=errors.dtype, device=errors.device).masked_scatter(self.valid, errors)
        return eta * each.amax(0) + (1 - eta) * each.sum(0) / self.valid.sum(0).clamp(min=1)

    @torch.no_grad()
    def _state(self, network: Recurrent, name: str) -> Tensor:
        return network.state_after(self.before["obs"], self.states[name], self.before["first"])


Observed = Tensor | View
"""Observations of single steps [M, ...], plain or within sequences."""


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
        columns = {name: _real(value, valid) for name, value in steps.items() if name not in seen}
        if last is not None:
            columns = {name: value[last] if name.startswith("next_") else value for name, value in columns.items()}
        return {**columns, "obs": view, "next_obs": replace(view, successors=True)}  # type: ignore[dict-item]
