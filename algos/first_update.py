"""Looks at the first update of a user's own agent: what it changes and no checkpoint has, what nothing moves, and
shapes of tensors that make a table where numbers were meant."""

import logging
import sys
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from algos.base import Agent
from algos.common.parts import optim
from config.own.lines import is_own
from config.tell.language import tr

LOGGER = logging.getLogger("joystick")


def kept_tensors(agent: Agent) -> set[int]:
    """Returns the identities of the parameters and statistics of all networks that the agent keeps."""
    return {id(tensor) for name in agent.KEPT for tensor in _tensors(getattr(agent, name, None), set())}


def _tensors(part: Any, seen: set[int]) -> Iterator[Tensor]:
    if id(part) in seen:
        return
    seen.add(id(part))
    if isinstance(part, Tensor):
        yield part
    elif isinstance(part, nn.Module):
        yield from (*part.parameters(), *part.buffers())
    elif not isinstance(part, optim.Optimizer):
        parts = part if isinstance(part, dict) else vars(part) if hasattr(part, "load_state") else {}
        for value in parts.values():
            yield from _tensors(value, seen)


def watched(agent: Agent, function: str, call: Callable[[], Any]) -> Any:
    """Returns what the first call of a function returns. Warns of changes that no checkpoint would have."""
    changing, missing = _unkept(agent), [name for name in agent.KEPT if getattr(agent, name, 0) is None]
    before = {name: _trace(getattr(agent, name)) for name in changing}
    value = call()
    changed = [name for name in changing if before[name] is not None and before[name] != _trace(getattr(agent, name))]
    if changed:
        LOGGER.warning(
            tr(
                "{function} of {agent} changes {names}, which KEPT does not name: after a resume it begins as in "
                "__init__. Name it in KEPT if a later update depends on it, otherwise in REMADE",
                function=function,
                agent=type(agent).__module__,
                names=", ".join(changed),
            )
        )
    if late := [name for name in missing if isinstance(getattr(agent, name), Tensor | np.ndarray | nn.Module)]:
        LOGGER.warning(
            tr(
                "{names}, which KEPT of {agent} names, is None until {function} makes it: a resume cannot give it "
                "back. Make it in __init__",
                function=function,
                agent=type(agent).__module__,
                names=", ".join(late),
            )
        )
    return value


def watched_update(agent: Agent, call: Callable[[], Any]) -> Any:
    """Returns what the first update returns. Warns also of parameters that nothing moves, and of shapes."""
    moved = {id(p) for optimizer in agent.optimizers() for p in optim.parameters_of(optimizer)}
    idle = [
        (f"{name}.{path}", parameter, parameter.detach().clone())
        for name in agent.KEPT
        if isinstance(network := getattr(agent, name, None), nn.Module)
        for path, parameter in network.named_parameters()
        if parameter.requires_grad and id(parameter) not in moved
    ]
    with _Shapes():
        value = watched(agent, "update", call)
    if still := [path for path, parameter, before in idle if torch.equal(parameter, before)]:
        LOGGER.warning(
            tr(
                "no optimizer of {agent} has {name} (and {count} more), and the first update left it as it was. Give "
                "it to an optimizer that KEPT names; a target network is a targets.frozen_copy",
                agent=type(agent).__module__,
                name=still[0],
                count=len(still) - 1,
            )
        )
    return value


def _unkept(agent: Agent) -> list[str]:
    """Returns the attributes that no checkpoint has, and that the agent did not say to make anew."""
    kept = kept_tensors(agent)
    named = {*agent.KEPT, *(name for cls in type(agent).__mro__ for name in vars(cls).get("REMADE", ()))}
    return [
        name
        for name, value in vars(agent).items()
        if name not in named and not any(id(tensor) in kept for tensor in _tensors(value, set()))
    ]


def _trace(value: Any) -> Any:
    """Returns something that is another one once the value has changed; None for what is not looked at."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    if isinstance(value, Tensor):
        return id(value), value._version
    if isinstance(value, nn.Module):
        return [tensor._version for tensor in (*value.parameters(), *value.buffers())]
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    return len(value) if isinstance(value, list | dict | set | deque) else None


class _Shapes(TorchFunctionMode):
    """Warns once where numbers [B] and a column [B, 1] make a table [B, B], whose mean is no loss that was meant."""

    def __init__(self) -> None:
        super().__init__()
        self._told = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not self._told and (rows := _rows_of_table(func, args, result)):
            self._told = True
            LOGGER.warning(
                tr(
                    "{place}: tensors of the shapes {column} and {numbers} make {rows} x {rows} numbers. Is a "
                    "squeeze(1) missing?",
                    place=_place(),
                    column=f"[{rows}, 1]",
                    numbers=f"[{rows}]",
                    rows=rows,
                )
            )
        return result


def _rows_of_table(func: Any, args: Any, result: Any) -> int:
    """Returns the number of rows of a table that an operation makes of a column and of numbers; 0 if it makes none."""
    shapes = {tuple(part.shape) for part in args if isinstance(part, Tensor)}
    for rows in (shape[0] for shape in shapes if len(shape) == 1 and shape[0] > 1):
        table = isinstance(result, Tensor) and tuple(result.shape) == (rows, rows)
        if (rows, 1) in shapes and (table or getattr(func, "__name__", "").endswith("_loss")):
            return rows
    return 0


def _place() -> str:
    """Returns the line of the user's own code that is being carried out."""
    frame = sys._getframe(1)
    while frame is not None and not is_own(frame.f_code.co_filename):
        frame = frame.f_back  # type: ignore[assignment]
    if frame is None:
        return "update"
    path, folder = Path(frame.f_code.co_filename), Path.cwd()
    file = path.relative_to(folder) if path.is_relative_to(folder) else path
    return tr("{file}, line {line}", file=file, line=frame.f_lineno)
