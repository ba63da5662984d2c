"""A policy as the file of its weights, safetensors, with its description as JSON beside it."""

import copy
import json
from collections.abc import Mapping
from typing import Any

from safetensors.torch import load, save

from framework.export.policy import FileModule


def content(module: FileModule, facts: Mapping[str, str]) -> bytes:
    """Returns the file. facts: metadata."""
    tensors = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in module.state_dict().items()}
    return bytes(save(tensors, dict(facts)))


def description(module: FileModule, facts: Mapping[str, Any]) -> bytes:
    """Returns the JSON beside it: the facts, and the name, shape and type of each tensor."""
    tensors = {
        name: {"shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch.")}
        for name, tensor in module.state_dict().items()
    }
    return (json.dumps({**facts, "tensors": tensors}, indent=1) + "\n").encode()


def loaded(module: FileModule, data: bytes) -> FileModule:
    """Returns a copy of the module with the weights of the file, and none of its own."""
    other = copy.deepcopy(module)
    for tensor in other.state_dict().values():
        tensor.zero_()
    other.load_state_dict(load(data))
    return other
