"""Cases of a test of which the suite tries one for each path of the code.

Two algorithms that one class computes, with one kind of memory, take the same lines on their way through a worker or a
checkpoint. `python -m tests.stress.every_case` tries all of them.
"""

import os
from collections.abc import Iterable
from functools import cache
from typing import Any

import algos
from config.model.memory_spec import ReplaySpec

VARIABLE = "JOYSTICK_EVERY_CASE"
"""Environment variable with which all cases are tried."""
EVERY = VARIABLE in os.environ


def in_the_suite(cases: Iterable[Any], *kept: Any) -> list[Any]:
    """Returns those of the cases that the suite tries; all of them with VARIABLE. kept: the cases, which must exist."""
    every = list(cases)
    assert all(case in every for case in kept), f"no case: {[case for case in kept if case not in every]}"
    return [case for case in every if EVERY or case in kept]


def one_of_each(names: Iterable[str]) -> list[str]:
    """Returns one algorithm of each class of agents, kind of memory, and way of remembering; all of them with VARIABLE.
    A new class is tried without an edit here."""
    paths: dict[Any, str] = {}
    every = list(names)
    for name in every:
        paths.setdefault(_path(name), name)
    return every if EVERY else list(paths.values())


@cache
def _path(name: str) -> Any:
    """What decides which lines an algorithm takes outside its formulas."""
    package = algos.get(name)
    cfg, default = package.Config, package.Config()
    spec = default.memory(1)
    kind = (spec.priority_alpha > 0, spec.relabel > 0) if isinstance(spec, ReplaySpec) else ()
    remembers = getattr(default, "remembers", bool)()
    return algos.agent_class(package), type(spec), kind, remembers, cfg.MAY_LAG, default.needs_global_state()
