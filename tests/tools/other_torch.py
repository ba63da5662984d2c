"""Trains in torches of other versions, as far as this project sees them: python -m tests.tools.other_torch

For each part of algos/common/fast an agent makes a few updates without the first function that the part needs, and a
line of JSON says which parts were off, and how far the weights are from those of this torch. Torch itself keeps its
functions.
"""

import json
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import torch

LAYERS = [{"layer_type": "linear", "layer_size": [16]}, {"layer_type": "lstm", "layer_size": [16]}]
SMALL: dict[str, Any] = {"batch_size": 4, "lookup_step": 4, "burn_in": 1}
ALGO, TOY = "DRQN", "match"
"""Its LSTM, its target network and Adam need four parts of the room; sizes decide whether the others compute."""
OURS = ("algos", "framework", "tests.tools.core")
"""Modules that have got hold of torch, or of a module that has."""


class Altered(ModuleType):
    """A module, or a part of one, in which one thing is another."""

    def __init__(self, inner: Any, path: str, change: Callable[[Any], Any] | None = None) -> None:
        """path: of the thing, below this one. change: of the thing; None takes it away."""
        super().__init__("torch")
        self.__dict__.update(_inner=inner, _path=path.split(".", 1), _change=change)

    def __getattr__(self, name: str) -> Any:
        first, rest = self._path[0], self._path[1:]
        if name != first:
            return getattr(self._inner, name)
        if rest:
            return Altered(getattr(self._inner, name), rest[0], self._change)
        if self._change is None:
            raise AttributeError(f"module 'torch' has no attribute {name!r}")
        return self._change(getattr(self._inner, name))


def with_other_arguments(function: Any) -> Any:
    """Returns a function that needs one argument more."""

    def other(*args: Any, one_more: Any, **named: Any) -> Any:
        return function(*args, **named)

    return other


def with_other_numbers(function: Any) -> Any:
    """Returns a function whose numbers are twice as large; a truth is turned round."""

    def other(*args: Any, **named: Any) -> Any:
        answer = function(*args, **named)
        if function.__name__.endswith("_"):  # changes the tensors of its first list
            for tensor in args[0]:
                tensor.mul_(2.0)
            return None
        if isinstance(answer, bool):
            return not answer
        return [2.0 * tensor for tensor in answer] if isinstance(answer, list | tuple) else 2.0 * answer

    return other


def learned(path: str = "") -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Returns the parts that are off, and the weights after a few updates of an agent whose torch lacks a function."""
    for name in [name for name in sys.modules if name.startswith(OURS)]:
        del sys.modules[name]
    sys.modules["torch"] = Altered(torch, path) if path else torch
    try:
        from algos.common.fast import compiled_steps, layers, optimizers, switch, tensors  # noqa: F401
        from algos.common.parts import passes  # noqa: F401
    finally:
        sys.modules["torch"] = torch
    from tests.tools.core import agent_of, spec_of, toy_of, trained

    env = toy_of(TOY, 4)
    agent = trained(agent_of(ALGO, spec_of(env), value_layers=LAYERS, **SMALL), env, 20)
    assert agent.updates > 0
    return dict(switch.OFF), agent.weights()


def main() -> None:
    """Prints a line for each part that needs something."""
    from algos.common.fast import switch

    parts = {part: needs.names[0] for part, needs in switch.PARTS.items() if needs.names and switch.on(part)}
    before, expected = learned()
    for part, name in parts.items():
        off, weights = learned(name)
        off = {part: why for part, why in off.items() if part not in before}
        apart = max(float(np.abs(weights[key] - expected[key]).max()) for key in expected)
        print(json.dumps({"part": part, "name": name, "off": off, "apart": apart}), flush=True)


if __name__ == "__main__":
    main()
