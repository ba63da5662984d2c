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
LARGEST = 2**26
"""Bytes of the largest array whose numbers are compared: a replay memory of an agent's own stays as it is."""
MAKE_TABLES = {"add", "sub", "mul", "div", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"}
"""Functions of torch to which numbers [B] and a column [B, 1] are given by mistake."""
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
        if _is_called(agent, function) and function not in vars(agent):  # not what __init__ has put in its place
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
        if _is_called(agent, function):
            _look_at_arguments_of(type(agent), function, getattr(agent, function), arguments)


def _is_called(agent: Agent, function: str) -> bool:
    """Returns True for a function of the contract; `act` is one in an ActingAgent, and another agent's own matter."""
    return hasattr(type(agent), function) and (function != "act" or isinstance(agent, ActingAgent))


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
        except (TypeError, ValueError) as error:  # ValueError: of a lazy layer that has no weights yet
            raise UnfitError("KEPT of {agent}: {error}", agent=_name(agent), error=error) from error


def _keeps_by_name(agent: Agent) -> bool:
    """Returns True if KEPT is all that the user's own code says about checkpoints."""
    return type(agent).state.__module__.startswith("algos.")


def _look_at_learners(agent: Agent) -> None:
    """Raises UnfitError for networks and optimizers that learn and that no checkpoint would have, and for a step of
    such an optimizer."""
    if not _keeps_by_name(agent):
        return
    kept, remade = _kept(agent), _remade(agent)
    unkept = [
        name
        for name, value in vars(agent).items()
        if name not in remade
        for part in (value if isinstance(value, list | tuple) else (value,))
        if isinstance(part, nn.Module | optim.Optimizer)
        if any(
            isinstance(leaf, optim.Optimizer) or leaf.requires_grad for leaf in _leaves(part) if id(leaf) not in kept
        )
    ]
    if unkept:
        raise UnfitError(
            "KEPT of {agent} does not name {names}: no checkpoint would have what it learns. Name it there; a network "
            "that does not learn is frozen by requires_grad_(False)",
            agent=_name(agent),
            names=", ".join(dict.fromkeys(unkept)),
        )
    for name, value in vars(agent).items():
        if isinstance(value, optim.GradientStep) and id(value.optimizer) not in kept:
            raise UnfitError(
                "{name} of {agent} moves an optimizer that KEPT does not name. After another optimizer, make it anew: "
                "self.{name} = self.minimize(loss, optimizer)",
                agent=_name(agent),
                name=name,
            )


def _is_frozen(optimizer: optim.Optimizer) -> bool:
    return not any(parameter.requires_grad for parameter in optim.parameters_of(optimizer))


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
    except RuntimeError as error:
        if function != "update" or not any(map(_is_frozen, agent.optimizers())):
            raise
        raise UnfitError(
            "all parameters of an optimizer of {agent} are frozen (requires_grad_(False)); its loss needs some that "
            "learn",
            agent=_name(agent),
        ) from error
    except KeyError as error:
        if args and isinstance(batch := args[0], dict) and not any(map(batch.__contains__, error.args)):
            error.add_note(
                tr("{function} is called with the columns {names}", function=function, names=", ".join(batch))
            )
        raise
    if args and (fault := fault_of(agent, value, *args)) is not None:  # without: the agent's own call, by names
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
        expected = tuple(batch["reward"].shape[-1:])  # of sequences [L, B] one each
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


def _kept(agent: Agent) -> set[int]:
    """Returns the identities of the parameters, statistics and optimizers of all parts that the agent keeps."""
    return {id(leaf) for name in agent.KEPT for leaf in _leaves(getattr(agent, name, None))}


def _remade(agent: Agent) -> set[str]:
    return {name for cls in type(agent).__mro__ for name in vars(cls).get("REMADE", ())}


def _leaves(part: Any) -> Iterator[Any]:
    """Yields the tensors and optimizers of a part: of a network, a dict, or an object that is saved."""
    parts, seen = [part], set[int]()
    while parts:
        part = parts.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, Tensor | optim.Optimizer):
            yield part
        elif isinstance(part, nn.Module):
            yield from (*part.parameters(), *part.buffers())
        elif isinstance(part, dict):
            parts.extend(part.values())
        elif hasattr(part, "load_state"):
            for value in getattr(part, "__dict__", {}).values():
                # a list may be a memory of many transitions, which are no parts
                listed = isinstance(value, list | tuple)
                parts.extend([each for each in value if isinstance(each, nn.Module)] if listed else [value])


def _watched(agent: Agent, function: str, call: Callable[[], Any]) -> Any:
    """Returns what the first call of a function returns. Warns of changes that no checkpoint would have."""
    if not agent.KEPT or not _keeps_by_name(agent):  # tables of ours are saved without a KEPT
        return call()
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
    idle = [(path, parameter, parameter.detach().clone()) for path, parameter in _idle(agent)]
    with _Shapes(agent):
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


def _idle(agent: Agent) -> Iterator[tuple[str, Tensor]]:
    """Yields the parameters that should learn and that no optimizer has, with their names. A copy of one that an
    optimizer has is a target network's."""
    if not _keeps_by_name(agent):
        return
    moved = [parameter for optimizer in agent.optimizers() for parameter in optim.parameters_of(optimizer)]
    identities = {id(parameter) for parameter in moved}
    for name in agent.KEPT:
        if isinstance(network := getattr(agent, name, None), nn.Module):
            for path, parameter in network.named_parameters():
                is_idle = parameter.requires_grad and id(parameter) not in identities
                if is_idle and not any(torch.equal(parameter, other) for other in moved):
                    yield f"{name}.{path}", parameter


def _unkept(agent: Agent) -> list[str]:
    """Returns the attributes that no checkpoint has, and that the agent did not say to make anew."""
    kept, named = _kept(agent), {*agent.KEPT, *_remade(agent)}
    return [
        name
        for name, value in vars(agent).items()
        if name not in named and not any(id(leaf) in kept for leaf in _leaves(value))
    ]


def _trace(value: Any) -> Any:
    """Returns something that is another one once the value has changed; None for what is not looked at."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return repr(value)  # nan is another number than itself
    if isinstance(value, Tensor):
        return id(value), _version(value)
    if isinstance(value, nn.Module):
        return [_version(tensor) for tensor in (*value.parameters(), *value.buffers())]
    if isinstance(value, np.ndarray):
        return value.tobytes() if value.nbytes <= LARGEST else None
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)  # some have arrays in it
    return len(value) if isinstance(value, list | dict | set | deque) else None


def _version(tensor: Tensor) -> int:
    """Returns a number that changes with the tensor; one of torch.inference_mode has none."""
    return 0 if tensor.is_inference() else tensor._version


class _Shapes(TorchFunctionMode):
    """Warns once where numbers [B] and a column [B, 1] make a table [B, B], whose mean is no loss that was meant. It is
    meant of a column that is made of numbers, as in x[:, None] - x, and of numbers that the agent has."""

    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self._told = False
        self._meant = {id(leaf): leaf for value in vars(agent).values() for leaf in _leaves(value)}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        tensors = [part for part in args if isinstance(part, Tensor) and not part.is_nested]
        if self._told or not tensors or not isinstance(result, Tensor) or result.is_nested:
            return result
        if result.ndim == 2 and result.shape[1] == 1 and self._is_of_numbers(tensors, len(result)):
            self._meant[id(result)] = result  # which keeps its identity from another tensor
        elif name in MAKE_TABLES and (rows := self._rows_of_table(tensors)):
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

    def _is_of_numbers(self, tensors: list[Tensor], rows: int) -> bool:
        """Returns True if all of the tensors are numbers [B], columns of such, or single numbers."""
        return all(part.ndim == 0 or part.shape == (rows,) or id(part) in self._meant for part in tensors)

    def _rows_of_table(self, tensors: list[Tensor]) -> int:
        """Returns the number of rows of the table that a column and numbers make; 0 if they make none, or a meant
        one."""
        if len(tensors) != 2 or any(id(part) in self._meant for part in tensors):
            return 0
        numbers, column = sorted(tensors, key=lambda part: part.ndim)
        rows = numbers.numel()
        return rows if rows > 1 and numbers.ndim == 1 and column.shape == (rows, 1) else 0


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
