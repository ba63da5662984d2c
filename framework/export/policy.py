"""One policy as it is exported: a module with named inputs and outputs, and a description of it."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space
from torch import Tensor, nn

from algos.base import Agent, PolicyModule
from config.model.composite import ActionPart, Composite
from envs.base import Array

Arrays = dict[str, Array]


class FileModule(nn.Module):
    """A policy from the observations of the environment to its actions, as tensors [N, ...]: those that `inputs`
    names, and a tuple in the order of `outputs`."""

    _obs_start: Tensor
    _action_start: Tensor

    def __init__(self, policy: PolicyModule, masked: bool, observation_start: Any = 0, action_start: Any = 0) -> None:
        super().__init__()
        self.policy = policy
        carries = policy.state_size > 0
        self.inputs = ("obs", *(["state"] if carries else []), *(["action_mask"] if masked else []))
        self.outputs = ("action", "outputs", *(["next_state"] if carries else []))
        starts = {"_obs_start": observation_start, "_action_start": action_start}
        self._shifted = {name: bool(np.any(start)) for name, start in starts.items()}
        for name, start in starts.items():
            self.register_buffer(name, torch.as_tensor(np.asarray(start)), persistent=False)

    def forward(
        self, obs: Tensor, state: Tensor | None = None, action_mask: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        """Takes what `inputs` names, by these names."""
        obs = obs - self._obs_start if self._shifted["_obs_start"] else obs
        outputs, action, after = self.policy(obs, state, action_mask)
        if self._shifted["_action_start"]:
            action = action + self._action_start
        return (action, outputs) if after is None else (action, outputs, after)

    def run(self, arrays: Arrays) -> Arrays:
        """Returns the outputs by name."""
        tensors = {name: torch.from_numpy(arrays[name]).to(self._obs_start.device) for name in self.inputs}
        with torch.inference_mode():
            return {name: out.cpu().numpy() for name, out in zip(self.outputs, self.forward(**tensors), strict=True)}


def space_facts(space: Space, start: Any = 0) -> dict[str, Any]:
    """Returns a space in the words of JSON. start: first value of whole numbers, where the environment counts."""
    facts: dict[str, Any] = {"space": type(space).__name__, "shape": list(space.shape or ()), "dtype": str(space.dtype)}
    match space:
        case Box():
            facts |= {"low": _bound(space.low), "high": _bound(space.high)}
        case Discrete():
            facts |= {"n": int(space.n), "start": int(start)}
        case MultiDiscrete():
            facts |= {"nvec": space.nvec.tolist(), "start": np.broadcast_to(start, space.nvec.shape).tolist()}
        case MultiBinary():
            facts |= {"n": space.n}
        case Composite():
            facts |= {"space": type(space.source).__name__, "parts": [_part_facts(part) for part in space.parts]}
    return facts


def _part_facts(part: ActionPart) -> dict[str, Any]:
    """Returns a part of a flat action, with the positions of its numbers."""
    place = {"first": part.start, "stop": part.stop}
    return {"path": [*part.path], **place, **space_facts(part.space, part.first)}


def _bound(bound: Array) -> Any:
    """Returns one number where all dimensions have the same bound; JSON has no infinity, which is null."""
    if bound.size and (bound == bound.flat[0]).all():
        return _number(bound.flat[0])
    return [_number(value) for value in bound.ravel()]


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def parts_facts(parts: Sequence[Any]) -> list[dict[str, Any]]:
    """Returns the parts of a flattened Dict or Tuple observation."""
    return [{"name": name, "start": start, "stop": stop, "shape": list(shape)} for name, start, stop, shape in parts]


def text_facts(facts: dict[str, Any]) -> dict[str, str]:
    """Returns facts as texts, for formats whose metadata are nothing else."""
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in facts.items()}


def network_facts(module: FileModule, agent: Agent) -> dict[str, Any]:
    """Returns the layers and the normalization of observations, with the names of their tensors."""
    layers = [
        {"name": name, "layer": type(part).__name__, "settings": part.extra_repr()}
        for name, part in module.named_modules()
        if not list(part.children())
    ]
    facts: dict[str, Any] = {"layers": layers}
    for name, part in module.named_modules():
        if part is agent.normalizer:
            facts["normalisation"] = {
                "formula": "clip((obs - shift) * factor, -10, 10)",
                "shift": f"{name}.shift",
                "factor": f"{name}.factor",
            }
    return facts
