"""Looks at what the functions of a user's own agent return, each once, at its first call; and in the first update at
what it changes and no checkpoint has, what nothing moves, and tensors that make a table where numbers were meant."""

import inspect
import logging
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Discrete
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from algos.base import Act, Agent, Result, UnfitError
from algos.common.parts import optim
from algos.common.parts.acting import ActingAgent
from algos.common.parts.state import state_of
from config.own.lines import is_own
from config.tell.language import tr

LOGGER = logging.getLogger("joystick")

ARGUMENTS = {
    "act": ("obs", "state", "mask", "explore"),
    "prepare": ("window", "progress"),
    "update": ("batch",),
}
"""Functions that an agent of the user's own is likely to define, and what they are called with, in this order."""

FaultOf = Callable[..., str | None]
"""Returns what is wrong with what a function of an agent returned; its arguments are the agent, that, and what the
function was called with."""
FORMER = "standardise"
"""Former spelling of a function, which nothing would call."""


def look_at(agent: Agent) -> None:
    """Makes the functions of an agent raise UnfitError at their first call if they return what they must not. Raises it
    for functions that cannot be called with their arguments, and a KEPT by which the agent cannot be saved."""
    if not hasattr(agent, "now"):
        raise _without_base(agent)
    if hasattr(agent, FORMER):
        raise UnfitError("{agent} has {former}, whose name is standardize now", agent=_name(agent), former=FORMER)
    _look_at_arguments(agent)
    _look_at_kept(agent)
    _look_at_learners(agent)
    acting = ("act", "sample_action", "predict_action", "evaluate_action")
    faults: dict[str, FaultOf] = {name: _fault_of_act for name in acting}
    faults |= {"prepare": _fault_of_batch, "update": _fault_of_result}
    for function, fault_of in faults.items():
        if hasattr(agent, function):
            setattr(agent, function, partial(_first_call, agent, function, fault_of))


def make(cls: type[Agent], arguments: tuple[Any, ...]) -> Agent:
    """Makes an agent, and looks at it. Raises UnfitError for an __init__ that cannot be called with these arguments, or
    that uses the agent before its base is made."""
    _look_at_arguments_of(cls, "__init__", cls, ("cfg", "spec", "streams", "device"))
    try:
        agent = cls(*arguments)
    except AttributeError as error:
        if isinstance(error.obj, Agent) and not hasattr(error.obj, "now"):
            raise _without_base(error.obj) from error
        raise
    look_at(agent)
    return agent


def _without_base(agent: Agent) -> UnfitError:
    return UnfitError(
        "{agent}: __init__ has to begin with super().__init__(cfg, spec, streams, device)", agent=_name(agent)
    )


def _look_at_arguments(agent: Agent) -> None:
    for function, arguments in ARGUMENTS.items():
        if function != "act" or isinstance(agent, ActingAgent):  # in other agents a function of their own
            _look_at_arguments_of(type(agent), function, getattr(agent, function), arguments)


def _look_at_arguments_of(cls: type[Agent], name: str, function: Callable[..., Any], arguments: Sequence[str]) -> None:
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise UnfitError(
            "{function} of {agent} is called with ({arguments}): {error}",
            function=name,
            agent=_name_of(cls),
            arguments=", ".join(arguments),
            error=error,
        ) from None


def _look_at_kept(agent: Agent) -> None:
    for name in agent.KEPT:
        if not hasattr(agent, name):
            raise UnfitError(
                "KEPT of {agent} names {name!r}, and the agent has no attribute of this name after __init__",
                agent=_name(agent),
                name=name,
            )
    cls = type(agent)
    if cls.weights is Agent.weights:
        if not agent.KEPT:
            raise UnfitError(
                "{module}: KEPT is empty; fill it, or override weights, state and their load_", module=cls.__module__
            )
        if not isinstance(first := getattr(agent, agent.KEPT[0]), torch.nn.Module):
            raise UnfitError(
                "KEPT of {agent} begins with {name!r}, a {kind}; its first entry is the module that acting depends on",
                agent=_name(agent),
                name=agent.KEPT[0],
                kind=type(first).__name__,
            )
    if _keeps_by_name(agent):
        try:
            state_of(agent, agent.KEPT)
        except TypeError as error:
            raise UnfitError("KEPT of {agent}: {error}", agent=_name(agent), error=error) from error


def _keeps_by_name(agent: Agent) -> bool:
    """Returns True if KEPT is all that the user's own code says about checkpoints."""
    return type(agent).state.__module__.startswith("algos.")


def _look_at_learners(agent: Agent) -> None:
    """Raises UnfitError for networks and optimizers that learn and that no checkpoint would have, for a step of such an
    optimizer, and for an optimizer with nothing to move."""
    optimizers = list(agent.optimizers())
    if any(not any(p.requires_grad for p in optim.parameters_of(optimizer)) for optimizer in optimizers):
        raise UnfitError(
            "all parameters of an optimizer of {agent} are frozen (requires_grad_(False)); its loss needs some that "
            "learn",
            agent=_name(agent),
        )
    if not _keeps_by_name(agent):
        return
    kept, unkept = _kept_tensors(agent), []
    for name, value in vars(agent).items():
        for part in value if isinstance(value, list | tuple) else (value,):
            networks = part.parameters() if isinstance(part, torch.nn.Module) else ()
            learns = any(p.requires_grad and id(p) not in kept for p in networks)
            if learns or (isinstance(part, optim.Optimizer) and all(part is not other for other in optimizers)):
                unkept.append(name)
    if unkept:
        raise UnfitError(
            "KEPT of {agent} does not name {names}: no checkpoint would have what it learns. Name it there; a network "
            "that does not learn is frozen by requires_grad_(False)",
            agent=_name(agent),
            names=", ".join(dict.fromkeys(unkept)),
        )
    for name, value in vars(agent).items():
        if isinstance(value, optim.GradientStep) and all(value.optimizer is not other for other in optimizers):
            raise UnfitError(
                "{name} of {agent} moves an optimizer that KEPT does not name. After another optimizer, make it anew: "
                "self.{name} = self.minimize(loss, optimizer)",
                agent=_name(agent),
                name=name,
            )


def _first_call(agent: Agent, function: str, fault_of: FaultOf, *args: Any, **kwargs: Any) -> Any:
    """Calls a function of the class for the first time, and looks at what it returns. Later calls are the function's
    own: this one stands in its place until now."""
    vars(agent).pop(function, None)
    call = partial(getattr(agent, function), *args, **kwargs)
    try:
        if function == "update":
            value = _watched_update(agent, call)
        elif function == "prepare" or not getattr(type(agent), function).__module__.startswith("algos."):
            value = _watched(agent, function, call)
        else:
            value = call()
    except KeyError as error:
        if args and isinstance(batch := args[0], dict) and error.args[0] not in batch:
            error.add_note(
                tr("{function} is called with the columns {names}", function=function, names=", ".join(batch))
            )
        raise
    if (fault := fault_of(agent, value, *args)) is not None:
        raise UnfitError("{function} of {agent} returned {fault}", function=function, agent=_name(agent), fault=fault)
    return value


def _name(agent: Agent) -> str:
    return _name_of(type(agent))


def _name_of(cls: type[Agent]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _fault_of_act(agent: Agent, act: Any, obs: Any, state: Any = None, *_: Any) -> str | None:
    """Returns what came instead of an Act, and what is expected; None for an Act."""
    if not isinstance(act, Act):
        return tr("{kind}; expected an Act of algos.base, such as Act(action)", kind=_kind(act))
    if not isinstance(act.action, np.ndarray):
        return tr("an Act whose action is {kind}; expected a numpy array", kind=_kind(act.action))
    if state is not None and act.state is None:
        return tr("an Act without state, and the agent is recurrent; expected Act(..., state=) with the state after it")
    space = getattr(agent.spec, "action_space", None)
    if space is None or space.shape is None or agent.spec.agents > 1:
        return None
    if act.action.shape != (expected := (len(obs), *space.shape)):
        return tr(
            "an Act whose action is {kind}; expected the shape {expected}", kind=_kind(act.action), expected=expected
        )
    if isinstance(space, Discrete) and not all(space.contains(action) for action in act.action):
        return tr(
            "an Act whose actions are {actions}; expected whole numbers from 0 to {most}",
            actions=act.action,
            most=space.n - 1,
        )
    return None


def _fault_of_batch(agent: Agent, batch: Any, *_: Any) -> str | None:
    """Returns what came instead of a dict of columns, and what is expected; None for a dict."""
    if isinstance(batch, dict):
        return None
    return tr("{kind}; expected the columns for update, a dict of tensors", kind=_kind(batch))


def _fault_of_result(agent: Agent, result: Any, batch: Any = None, *_: Any) -> str | None:
    """Returns what came instead of a Result, and what is expected; None for a Result."""
    if not isinstance(result, Result):
        return tr("{kind}; expected a Result of algos.base, such as Result(metrics)", kind=_kind(result))
    if not isinstance(result.metrics, dict):
        return tr("a Result whose metrics are {kind}; expected a dict", kind=_kind(result.metrics))
    for name, value in result.metrics.items():
        if not isinstance(value, torch.Tensor) or value.numel() != 1:
            return tr(
                "a Result whose metric {name} is {kind}; expected a tensor with one number",
                name=name,
                kind=_kind(value),
            )
    if result.priorities is not None and isinstance(batch, dict) and "reward" in batch:
        expected = (batch["reward"].numel(),)
        if _shape_of(result.priorities) != expected:
            return tr(
                "a Result whose priorities are {kind}; expected a tensor of shape {expected}",
                kind=_kind(result.priorities),
                expected=expected,
            )
    if unnamed := [name for name in result.metrics if name not in agent.metric_names()]:
        return tr(
            "a Result whose metric {name} is not among METRICS; write METRICS = {names} in the class",
            name=unnamed[0],
            names=(*agent.METRICS, *unnamed),
        )
    return None


def _shape_of(value: Any) -> tuple[int, ...] | None:
    return tuple(value.shape) if isinstance(value, torch.Tensor) else None


def _kind(value: Any) -> str:
    """Returns what a value is, for a message."""
    if isinstance(value, torch.Tensor | np.ndarray):
        return tr("{kind} of shape {shape}", kind=type(value).__name__, shape=tuple(value.shape))
    return "None" if value is None else type(value).__name__


# what the first update changes, and shapes ------------------------------------------------------------------------


def _kept_tensors(agent: Agent) -> set[int]:
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


def _watched(agent: Agent, function: str, call: Callable[[], Any]) -> Any:
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


def _watched_update(agent: Agent, call: Callable[[], Any]) -> Any:
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
        value = _watched(agent, "update", call)
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
    kept = _kept_tensors(agent)
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
