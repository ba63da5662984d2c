"""Looks at what the functions of a user's own agent return, each once, at its first call."""

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Discrete

from algos.base import Act, Agent, Result, UnfitError
from algos.common.parts import optim
from algos.common.parts.acting import ActingAgent
from algos.common.parts.state import state_of
from algos.first_update import kept_tensors, watched, watched_update
from config.tell.language import tr

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
    kept, unkept = kept_tensors(agent), []
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
            value = watched_update(agent, call)
        elif function == "prepare" or not getattr(type(agent), function).__module__.startswith("algos."):
            value = watched(agent, function, call)
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
