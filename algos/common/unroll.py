"""Networks with and without a memory, treated alike: while acting, over a window [T, N], over a minibatch."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from algos.base import Array, Batch
from algos.common.recurrent import Recurrent


def of_window(network: nn.Module, window: Batch, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Outputs for obs and for the true successors, [T, N, ...] each, without gradients. Only where an episode ended,
    and behind the last step, is the successor not simply the next observation. state [N, S] is that before the first
    step, of a network that remembers."""
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
    """Some samples of a minibatch: of single steps [B, ...], or of sequences [L, B, ...] with a state [B, S]."""
    sequences = "first" in batch
    return {name: column.index_select(int(sequences and name != "state"), chosen) for name, column in batch.items()}


def _real(column: Tensor, valid: Tensor | None) -> Tensor:
    """[L, B, ...] -> [M, ...], without dummy steps."""
    flat = column.flatten(0, 1)
    return flat if valid is None else flat[valid.flatten()]


# several networks side by side ----------------------------------------------------------------------------


@dataclass(frozen=True)
class View:
    """What M single steps show that stand in sequences [L, B, ...]: their observations, or their true successors."""

    steps: Batch
    """Columns [L, B, ...]."""
    before: Batch
    """obs and first [W, B, ...] of the steps that only bring states up to date."""
    states: Mapping[str, Tensor]
    """[B, S] before those, by the name of each network that remembers."""
    valid: Tensor | None
    """[L, B], false at dummy steps, which are none of the M."""
    successors: bool = False

    def through(self, network: nn.Module, name: str) -> Tensor:
        """Outputs [M, ...]; of true successors without gradients, where the network remembers."""
        if isinstance(network, Recurrent):
            return self.both(network, name)[1] if self.successors else self._unrolled(network, name)
        return network(_real(self.steps["next_obs" if self.successors else "obs"], self.valid))

    def both(self, network: Recurrent, name: str) -> tuple[Tensor, Tensor]:
        """Outputs for the observations and for their successors, [M, ...] each, from one pass."""
        steps, state = self.steps, self._state(network, name)
        out, following = network.unroll_both(steps["obs"], steps["next_obs"], state, steps["first"])
        return _real(out, self.valid), _real(following, self.valid)

    def _unrolled(self, network: Recurrent, name: str) -> Tensor:
        steps = self.steps
        return _real(network.unroll(steps["obs"], self._state(network, name), steps["first"]), self.valid)

    @torch.no_grad()
    def _state(self, network: Recurrent, name: str) -> Tensor:
        return network.state_after(self.before["obs"], self.states[name], self.before["first"])


Observed = Tensor | View
"""Observations of single steps [M, ...], as they are or within sequences."""


def outputs_of(network: nn.Module, obs: Observed, name: str) -> Tensor:
    """Outputs [M, ...] of a network whose state, if it has one, is carried under this name."""
    return network(obs) if isinstance(obs, Tensor) else obs.through(network, name)


def outputs_of_both(network: nn.Module, obs: Observed, next_obs: Observed, name: str) -> Tensor:
    """Outputs for the observations and, behind them, for their successors [2 M, ...], from one pass."""
    if isinstance(obs, Tensor) and isinstance(next_obs, Tensor):
        return network(torch.cat([obs, next_obs]))
    if isinstance(obs, View) and isinstance(network, Recurrent):
        return torch.cat(obs.both(network, name))
    return torch.cat([outputs_of(network, obs, name), outputs_of(network, next_obs, name)])


class Carried:
    """The states of a policy network and of networks beside it, as one vector [N, S]: of those that remember, in the
    order in which they were added."""

    def __init__(self, actor: nn.Module, device: torch.device) -> None:
        self.actor, self.device = actor, device
        self.networks: dict[str, Recurrent] = {}
        self.sizes: list[int] = []
        self.size = 0
        self.add("actor", actor)

    def add(self, name: str, network: nn.Module | None) -> None:
        """Carry the state of this network too, if it has one."""
        if isinstance(network, Recurrent):
            self.networks[name] = network
            self.sizes.append(network.state_size)
            self.size += network.state_size

    def initial(self, rows: int) -> Array | None:
        """[N, S] at the start of an episode; None where nothing is remembered."""
        return np.zeros((rows, self.size), np.float32) if self.size else None

    def parts(self, state: Tensor | None) -> dict[str, Tensor]:
        """The states by the names of their networks; what stands behind them is left out."""
        if state is None or not self.size:
            return {}
        parts = state[:, : self.size].split(self.sizes, 1)
        return {name: part.contiguous() for name, part in zip(self.networks, parts, strict=True)}

    @torch.inference_mode()
    def act(self, obs: Array, state: Array | None) -> tuple[Tensor, Array | None]:
        """One step of N rows: what the actor gives, and the states after it."""
        x = torch.from_numpy(obs).to(self.device)
        if state is None:
            return self.actor.forward(x), None
        before = self.parts(torch.from_numpy(state).to(self.device))
        steps = {name: network.step(x, before[name]) for name, network in self.networks.items()}
        outputs = steps["actor"][0] if "actor" in steps else self.actor.forward(x)
        return outputs, torch.cat([after for _, after in steps.values()], 1).cpu().numpy()

    def with_views(self, batch: Batch, burn_in: int = 0) -> Batch:
        """Returns a minibatch as single steps [M, ...]. Sequences [W + L, B, ...] lose the W steps of the burn-in and
        the dummy steps; obs and next_obs become views."""
        if "first" not in batch:
            return batch
        before: Batch = {name: batch[name][:burn_in] for name in ("obs", "first")}
        steps: Batch = {name: value[burn_in:] for name, value in batch.items() if name != "state"}
        valid = steps.pop("valid", None)
        view = View(steps, before, self.parts(batch["state"]), valid)
        seen = ("obs", "next_obs", "first")
        columns = {name: _real(value, valid) for name, value in steps.items() if name not in seen}
        return {**columns, "obs": view, "next_obs": replace(view, successors=True)}  # type: ignore[dict-item]
