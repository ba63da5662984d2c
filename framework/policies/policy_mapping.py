"""Asks a function of the user's own which policies an agent may have."""

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from config.own import objects as own
from config.read.loader import ConfigError
from config.tell.language import tr
from config.tell.names import did_you_mean

DRAWS = 100
"""Calls of a function that names the policy of an agent: one that draws it names each of a few at least once."""


def is_for(selector: str, agent: str, policy: str, policies: Iterable[str]) -> bool:
    """Returns True if a function says that a policy controls an agent: by True, or by the name of the policy. Raises
    ConfigError if it fails, or names a policy that there is not."""
    place = f"policies_cfg.{policy}.agents: {selector}"
    function = own.find(selector)
    try:
        with _random_numbers_kept():
            answers = _answers(function, agent)
    except Exception as error:  # it may raise anything
        raise ConfigError(
            "{place} failed for agent {agent!r}: {error}", place=place, agent=agent, error=own.described(error)
        ) from error
    for answer in answers:
        if isinstance(answer, str) and answer not in policies:
            near = did_you_mean(answer, policies) or tr("; there are {names}", names=", ".join(policies))
            raise ConfigError(
                "{place} gives agent {agent!r} the policy {answer!r}, and there is none{hint}",
                place=place,
                agent=agent,
                answer=answer,
                hint=near,
            )
        if not isinstance(answer, str | bool | np.bool_):
            raise ConfigError(
                "{place} gives {answer!r} for agent {agent!r}; expected the name of its policy, or True or False",
                place=place,
                answer=answer,
                agent=agent,
            )
    return policy in answers or True in answers


def _answers(function: Callable[..., Any], agent: str) -> list[Any]:
    """Returns what a function says of an agent: one answer, or several if they are names, which it may draw. What else
    RLlib gives it, such as the episode, is None."""
    parameters = own.parameters_of(function) or []
    needed = [item for item in parameters if item.default is item.empty and item.kind in (0, 1)]  # by their places
    more = (None,) * max(len(needed) - 1, 0)
    first = function(agent, *more)
    again = DRAWS - 1 if isinstance(first, str) else 0
    return list(dict.fromkeys([first, *(function(agent, *more) for _ in range(again))]))


@contextmanager
def _random_numbers_kept() -> Iterator[None]:
    """Leaves the random numbers of the program as they are."""
    states = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
