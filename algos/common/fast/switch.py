"""The parts of this room that are on. Each has a counterpart among torch's public functions, whose numbers it gives
up to rounding, and which takes its place where it is off: in a torch that lacks what the part needs, or answers
otherwise; and with JOYSTICK_PLAIN=1 in the environment, which turns off all of them."""

import os
from operator import attrgetter
from typing import NamedTuple

import torch

from algos.common.fast import trials
from config.tell.language import english

VARIABLE = "JOYSTICK_PLAIN"
PLAIN = os.environ.get(VARIABLE, "") not in ("", "0")
"""True if torch's public functions alone compute."""


class Needs(NamedTuple):
    """Undocumented functions of torch that a part calls; another version may lack them, or have others."""

    names: tuple[str, ...] = ()
    trial: trials.Trial | None = None
    """A function that calls them as the part does; None for parts that are tried elsewhere, or need nothing."""


PARTS = {
    "Adam": Needs(("_fused_adam_", "_fused_adamw_"), trials.adam),
    "lists": Needs(("_foreach_norm", "_foreach_mul_", "_foreach_copy_", "_foreach_lerp_"), trials.lists),
    "products": Needs(("ops.mkldnn._linear_pointwise", "_C._will_engine_execute_node"), trials.products),
    "layers": Needs(("ops.aten.tanh_backward",), trials.layers),
    "cells": Needs(("lstm_cell", "gru_cell"), trials.cells),
    "few rows": Needs(),
    "compile": Needs(("_C._aoti.AOTIModelContainerRunnerCpu",)),
}
"""Part -> what it needs. The compiler takes seconds: a run that compiles finds out whether it works (packages.py)."""


def first_line(error: Exception) -> str:
    """Returns the first line of what an error says; torch adds the places where it was raised."""
    return (str(error).strip().splitlines() or [""])[0]


def _why_off(needs: Needs) -> str | None:
    """Returns why a part is off, in English, one of REASONS; None if it is on."""
    if PLAIN:
        return f"{VARIABLE} is set"
    for name in needs.names:
        try:
            attrgetter(name)(torch)
        except (AttributeError, RuntimeError):
            return f"torch has no {name}"
    try:
        if needs.trial:
            needs.trial()
    except Exception as error:  # another signature raises anything
        reason = first_line(error).rstrip(" .,;:")
        return f"a trial call fails: {type(error).__name__}: {reason}"
    return None


STATES = (english("off: all parts because {name} is set"), english("off: {parts}"), english("on"))
REASONS = (
    english("{name} is set"),
    english("torch has no {name}"),
    english("a trial call fails: {kind}: {reason}"),
)
OFF = {part: why for part, needs in PARTS.items() if (why := _why_off(needs))}
"""Part -> why it is off, in English, one of REASONS."""


def on(part: str) -> bool:
    """Returns True if a part can be used and is to be."""
    return part not in OFF


def state() -> str:
    """Returns what is off and why: a fact of checkpoints, in English, one of STATES."""
    if PLAIN:
        return f"off: all parts because {VARIABLE} is set"
    return f"off: {', '.join(f'{part} because {why}' for part, why in OFF.items())}" if OFF else "on"
