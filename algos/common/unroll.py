"""Networks with and without a memory, treated alike: while acting, over a window [T, N], over a minibatch."""

import numpy as np
import torch
from torch import Tensor, nn

from algos.base import Array, Batch
from algos.common.recurrent import Recurrent


def initial_state(network: nn.Module, rows: int) -> Array | None:
    """The state [N, S] at the start of an episode; None for a network that does not remember."""
    return np.zeros((rows, network.state_size), np.float32) if isinstance(network, Recurrent) else None


def act(network: nn.Module, obs: Array, state: Array | None, device: torch.device) -> tuple[Tensor, Array | None]:
    """One step of N rows while acting: the outputs, and the state [N, S] after it. Within torch.inference_mode."""
    x = torch.from_numpy(obs).to(device)
    if state is None or not isinstance(network, Recurrent):
        return network.forward(x), state
    out, after = network.step(x, torch.from_numpy(state).to(device))
    return out, after.cpu().numpy()


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


def of_batch(network: nn.Module, batch: Batch, state: Tensor | None = None) -> Tensor:
    """Outputs [M, ...] for a minibatch: single steps [B, ...], or sequences [L, B, ...] whose steps are then put behind
    one another. state [B, S] is that before the sequences, of a network that remembers."""
    if "first" not in batch:
        return network(batch["obs"])
    if isinstance(network, Recurrent) and state is not None:
        return _real(network.unroll(batch["obs"], state, batch["first"]), batch)
    return network(_real(batch["obs"], batch))


def single_steps(batch: Batch) -> Batch:
    """The columns of a minibatch in the order of the outputs of of_batch, [M, ...]."""
    if "first" not in batch:
        return batch
    return {name: _real(value, batch) for name, value in batch.items() if name not in ("obs", "state", "valid")}


def _real(column: Tensor, batch: Batch) -> Tensor:
    """[L, B, ...] -> [M, ...], without dummy steps."""
    flat = column.flatten(0, 1)
    return flat[batch["valid"].flatten()] if "valid" in batch else flat
