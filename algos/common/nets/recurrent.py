"""Recurrent networks: feed-forward stages with lstm, gru, attention or custom cells between them; and the views of
sequences as single steps that networks of both kinds take.

The recurrent state of a row is one vector [S]: the concatenated states of all cells. It is zero at the start of an
episode.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from algos.base import Batch
from algos.common.fast import layers as fast
from algos.common.nets.custom import CustomCell
from config.tell.language import tr


class Lstm(nn.LSTM):
    """Steps [T, B, D] from state [B, 2 H] (output and cell) -> outputs [T, B, H], state after the last step."""

    def __init__(self, inputs: int, size: int) -> None:
        super().__init__(inputs, size)
        self.state_size = 2 * size

    def run(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        hidden, cell = state.chunk(2, 1)
        if len(x) == 1 and fast.CELLS_ON:
            hidden, cell = fast.one_step(self, x[0], (hidden, cell))
            return hidden.unsqueeze(0), torch.cat((hidden, cell), 1)
        out, after = self.forward(x, (hidden.unsqueeze(0).contiguous(), cell.unsqueeze(0).contiguous()))
        return out, torch.cat(after, 2).squeeze(0)


class Gru(nn.GRU):
    """Steps [T, B, D] from state [B, H] -> outputs [T, B, H], state after the last step."""

    def __init__(self, inputs: int, size: int) -> None:
        super().__init__(inputs, size)
        self.state_size = size

    def run(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        if len(x) == 1 and fast.CELLS_ON:
            state = fast.one_step(self, x[0], state)
            return state.unsqueeze(0), state
        out, after = self.forward(x, state.unsqueeze(0))
        return out, after.squeeze(0)


class Attention(nn.Module):
    """A transformer layer over the last steps of each row: steps [T, B, D] from state [B, S] -> outputs [T, B, H],
    state after the last step. The state has the features of the steps before, oldest first, and for each a 1 if it is
    of the same episode. How far back a step is enters as a learned number for each head."""

    def __init__(self, inputs: int, size: int, window: int, heads: int) -> None:
        super().__init__()
        self.size, self.window, self.heads = size, window, heads
        self.state_size = (window - 1) * (size + 1)
        self.embed = nn.Linear(inputs, size)
        self.norm = nn.LayerNorm(size)
        self.query, self.key, self.value = (nn.Linear(size, size, bias=False) for _ in range(3))
        self.distance = nn.Parameter(torch.zeros(heads, window))
        """Added to the scores [H, W], of the oldest step first."""
        self.joined = nn.Linear(size, size)
        self.after = nn.Sequential(nn.LayerNorm(size), nn.Linear(size, 4 * size), nn.ReLU(), nn.Linear(4 * size, size))

    def run(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        before = self.window - 1
        past, there = state.split([before * self.size, before], 1)
        steps = torch.cat([past.unflatten(1, (before, self.size)).transpose(0, 1), self.embed(x)])
        there = torch.cat([there.t(), there.new_ones(x.shape[:2])])
        features = steps[before:]
        features = features + self.joined(self._seen(self.norm(steps), there))
        out = features + self.after(features)
        return out, torch.cat([steps[-before:].transpose(0, 1).flatten(1), there[-before:].t()], 1)

    def _seen(self, steps: Tensor, there: Tensor) -> Tensor:
        """Returns what each of T steps sees [T, B, H], from those of the window before it on [W - 1 + T, B, H]."""
        query = self.query(steps[self.window - 1 :]).unflatten(2, (self.heads, -1))
        key, value = (self._windows(part(steps)) for part in (self.key, self.value))
        scores = torch.einsum("tbhd,tbhdw->tbhw", query, key) / (self.size // self.heads) ** 0.5 + self.distance
        absent = there.unfold(0, self.window, 1).unsqueeze(2) == 0
        share = scores.masked_fill(absent, -torch.inf).softmax(3)
        return torch.einsum("tbhw,tbhdw->tbhd", share, value).flatten(2)

    def _windows(self, steps: Tensor) -> Tensor:
        """Returns the windows of each head [T, B, heads, H / heads, W]."""
        return steps.unflatten(2, (self.heads, -1)).unfold(0, self.window, 1)


class OwnCells(nn.Module):
    """A cell of its own for each of S agents: steps [T, B S, D] from state [B S, H], as other cells."""

    def __init__(self, cells: Sequence[nn.Module]) -> None:
        super().__init__()
        self.cells = nn.ModuleList(cells)
        self.state_size: int = cells[0].state_size  # type: ignore[assignment]

    def run(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        steps = x.unflatten(1, (-1, len(self.cells))).unbind(2)
        states = state.unflatten(0, (-1, len(self.cells))).unbind(1)
        results = [
            cell.run(inputs.contiguous(), before.contiguous())  # type: ignore[operator]
            for cell, inputs, before in zip(self.cells, steps, states, strict=True)
        ]
        outs, after = zip(*results, strict=True)
        return torch.stack(outs, 2).flatten(1, 2), torch.stack(after, 1).flatten(0, 1)


CELLS = Lstm, Gru, Attention, CustomCell, OwnCells
"""Stages that carry a state."""


class Recurrent(nn.Module):
    """Stages in order: feed-forward networks, which see single steps, and cells.

    Cells may see several agents of each row (parts/team.py): the first stage makes agents of rows, the last one
    rows of agents, and the state of a row is that of all its agents."""

    def __init__(self, stages: Sequence[nn.Module], agents: int = 1) -> None:
        super().__init__()
        self.stages, self.agents = nn.ModuleList(stages), agents
        self.state_sizes = [stage.state_size for stage in stages if isinstance(stage, CELLS)]
        self.state_size = agents * sum(self.state_sizes)

    def extend(self, modules: Sequence[nn.Module]) -> "Recurrent":
        """Appends modules to the output layer."""
        self.stages[-1].extend(modules)  # type: ignore[operator]
        return self

    def forward(self, *_: Any) -> Tensor:
        """Raises TypeError for a call as of a feed-forward network, which has no state."""
        raise TypeError(
            tr(
                "a recurrent network is called with the states before its steps: while acting by "
                "carried.act(obs, state), in prepare by of_window(network, window, state), in update by "
                "outputs_of(network, batch['obs']), all of algos.common.parts.passes"
            )
        )

    def step(self, obs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Makes one step of B rows: obs [B, ...], state [B, S] -> outputs [B, ...], state [B, S]."""
        out, ends = self._run(obs.unsqueeze(0), state, [0, 1])
        return out.squeeze(0), ends[0]

    def unroll(self, obs: Tensor, state: Tensor, first: Tensor) -> Tensor:
        """Unrolls L steps of B rows: obs [L, B, ...] from state [B, S] -> outputs [L, B, ...]. The state is reset
        before steps where first [L, B] is True."""
        return self._run(obs, state, _bounds(first), first)[0]

    def unroll_both(self, obs: Tensor, next_obs: Tensor, state: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the outputs for obs and for the true successors next_obs, [L, B, ...] each; the latter without
        gradients. A successor is the next observation, except at episode ends and after the last step."""
        bounds = _bounds(first)
        out, states = self._run(obs, state, bounds, first)
        # The successor is the next observation, except in the last step of a run, in rows whose episode ends there.
        ends = torch.cat([first[bounds[1:-1]], torch.ones_like(first[:1])])  # [runs, B]
        run, row = ends.nonzero(as_tuple=True)
        last = torch.tensor(bounds[1:], device=run.device)[run] - 1
        with torch.no_grad():
            following = torch.cat([out[1:], out[-1:]])
            following[last, row] = self.step(next_obs[last, row], torch.stack(states)[run, row])[0]
        return out, following

    def state_after(self, obs: Tensor, state: Tensor, first: Tensor) -> Tensor:
        """Returns the state [B, S] after L steps; L may be 0."""
        if not len(first):
            return state
        return self._run(obs, state, _bounds(first), first)[1][-1]

    def _run(
        self, obs: Tensor, state: Tensor, bounds: list[int], first: Tensor | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """Returns outputs [L, B, ...], and the states [B, S] at the end of each run, a span without an episode
        start."""
        steps = obs.shape[:2]
        states = state.reshape(self.agents * state.shape[0], -1)
        if first is not None and self.agents > 1:
            first = first.repeat_interleave(self.agents, 1)
        x, parts, ends = obs.flatten(0, 1), iter(states.split(self.state_sizes, 1)), []
        for stage in self.stages:
            if isinstance(stage, CELLS):
                runs = list(_runs(stage, x.unflatten(0, (steps[0], -1)), next(parts), bounds, first))
                x = torch.cat([out for out, _ in runs]).flatten(0, 1)
                ends.append([after for _, after in runs])
            else:
                x = stage(x)
        after = [torch.cat(parts, 1).view(state.shape) for parts in zip(*ends, strict=True)]
        return x.unflatten(0, steps), after


def _bounds(first: Tensor) -> list[int]:
    """Returns the bounds of runs in steps [L, B]: 0, each step at which some row starts an episode, and L."""
    begins = (first[1:].any(1).nonzero().squeeze(1) + 1).tolist()
    return [0, *begins, len(first)]


def _runs(
    cell: Lstm | Gru | Attention | CustomCell | OwnCells,
    x: Tensor,
    state: Tensor,
    bounds: list[int],
    first: Tensor | None,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yields for each run the cell's outputs [T, B, H] and the state after it."""
    for start, stop in pairwise(bounds):
        if first is not None:
            state = state * ~first[start].unsqueeze(1)
        out, state = cell.run(x[start:stop], state)
        yield out, state


def differentiable_twice(network: nn.Module) -> AbstractContextManager:
    """Context in which the network's outputs can be differentiated twice: torch's own cells can, cuDNN's cannot."""
    return torch.backends.cudnn.flags(enabled=False) if isinstance(network, Recurrent) else nullcontext()


# sequences of a minibatch as single steps -------------------------------------------------------------------


def real(column: Tensor, valid: Tensor | None) -> Tensor:
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
    return total, torch.where(discount.gather(0, last) > 0, factor, 0.0), real(place, valid)


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
        return self._of_last(real(column, self.valid)) if self.successors else real(column, self.valid)

    def through(self, network: nn.Module, name: str) -> Tensor:
        """Returns outputs [M, ...]; for true successors of a recurrent network, without gradients."""
        if isinstance(network, Recurrent):
            return self.both(network, name)[1] if self.successors else self._unrolled(network, name)
        return network(self.single_steps())

    def both(self, network: Recurrent, name: str) -> tuple[Tensor, Tensor]:
        """Returns outputs for the observations and their successors, [M, ...] each, from one pass."""
        steps, state = self.steps, self._state(network, name)
        out, following = network.unroll_both(steps["obs"], steps["next_obs"], state, steps["first"])
        return real(out, self.valid), self._of_last(real(following, self.valid))

    def _unrolled(self, network: Recurrent, name: str) -> Tensor:
        steps = self.steps
        return real(network.unroll(steps["obs"], self._state(network, name), steps["first"]), self.valid)

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
