"""Looks at what the functions of a user's own agent return, each once, at its first call."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from algos.base import Act, Agent, Result, UnfitError
from algos.common.parts.acting import ActingAgent
from algos.common.parts.state import state_of
from config.tell.language import tr

ARGUMENTS = {
    "act": ("obs", "state", "mask", "explore"),
    "prepare": ("window", "progress"),
    "update": ("batch",),
}
"""Functions that an agent of the user's own is likely to define, and what they are called with, in this order."""


FORMER = "standardise"
"""Former spelling of a function, which nothing would call."""


def look_at(agent: Agent) -> None:
    """Makes the functions of an agent raise UnfitError at their first call if they return what they must not. Raises it
    for functions that cannot be called with their arguments, and a KEPT by which the agent cannot be saved."""
    if not hasattr(agent, "now"):
        raise UnfitError(
            "{agent}: __init__ has to begin with super().__init__(cfg, spec, streams, device)", agent=_name(agent)
        )
    if hasattr(agent, FORMER):
        raise UnfitError("{agent} has {former}, whose name is standardize now", agent=_name(agent), former=FORMER)
    _look_at_arguments(agent)
    _look_at_kept(agent)
    for function in ("act", "sample_action", "predict_action", "evaluate_action"):
        if hasattr(agent, function):
            setattr(agent, function, partial(_called, agent, function, _fault_of_act))
    agent.update = partial(_called, agent, "update", partial(_fault_of_result, agent))  # type: ignore[method-assign]


def _look_at_arguments(agent: Agent) -> None:
    for function, arguments in ARGUMENTS.items():
        try:
            if function != "act" or isinstance(agent, ActingAgent):  # in other agents a function of their own
                inspect.signature(getattr(agent, function)).bind(*arguments)
        except TypeError as error:
            raise UnfitError(
                "{function} of {agent} is called with ({arguments}): {error}",
                function=function,
                agent=_name(agent),
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
    if cls.state is Agent.state:
        try:
            state_of(agent, agent.KEPT)
        except TypeError as error:
            raise UnfitError("KEPT of {agent}: {error}", agent=_name(agent), error=error) from error


def _called(agent: Agent, function: str, fault_of: Callable[[Any], str | None], *args: Any, **kwargs: Any) -> Any:
    """Calls a function of the class for the first time, and leaves later calls to it."""
    vars(agent).pop(function, None)
    value = getattr(agent, function)(*args, **kwargs)
    if (fault := fault_of(value)) is not None:
        raise UnfitError("{function} of {agent} returned {fault}", function=function, agent=_name(agent), fault=fault)
    return value


def _name(agent: Agent) -> str:
    return f"{type(agent).__module__}.{type(agent).__qualname__}"


def _fault_of_act(act: Any) -> str | None:
    """Returns what came instead of an Act, and what is expected; None for an Act."""
    if not isinstance(act, Act):
        return tr("{kind}; expected an Act of algos.base, such as Act(action)", kind=_kind(act))
    if not isinstance(act.action, np.ndarray):
        return tr("an Act whose action is {kind}; expected a numpy array", kind=_kind(act.action))
    return None


def _fault_of_result(agent: Agent, result: Any) -> str | None:
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
    if unnamed := [name for name in result.metrics if name not in agent.metric_names()]:
        return tr(
            "a Result whose metric {name} is not among METRICS; write METRICS = {names} in the class",
            name=unnamed[0],
            names=(*agent.METRICS, *unnamed),
        )
    return None


def _kind(value: Any) -> str:
    """Returns what a value is, for a message."""
    if isinstance(value, torch.Tensor | np.ndarray):
        return tr("{kind} of shape {shape}", kind=type(value).__name__, shape=tuple(value.shape))
    return "None" if value is None else type(value).__name__
