"""The parts of this room that are on. Each has a counterpart among torch's public functions, whose numbers it gives
up to rounding, and which takes its place where it is off: JOYSTICK_PLAIN=1 in the environment turns off all of them."""

import os
from collections.abc import Sequence
from operator import attrgetter

import torch

from config.tell.language import english

VARIABLE = "JOYSTICK_PLAIN"
PLAIN = os.environ.get(VARIABLE, "") not in ("", "0")
"""True if torch's public functions alone compute."""
PARTS = {
    "Adam": ("_fused_adam_", "_fused_adamw_"),
    "lists": ("_foreach_norm", "_foreach_mul_", "_foreach_copy_", "_foreach_lerp_"),
    "products": ("ops.mkldnn._linear_pointwise", "_C._will_engine_execute_node"),
    "layers": ("ops.aten.tanh_backward",),
    "cells": ("lstm_cell", "gru_cell"),
    "few rows": (),
    "compile": ("compiler.skip_all_guards_unsafe",),
}
"""Part -> what it needs of torch that is not documented, and may be missing in another version. What
`compile` needs in addition is tried by a run that compiles."""


def _why_off(names: Sequence[str]) -> str | None:
    if PLAIN:
        return f"{VARIABLE} is set"
    for name in names:
        try:
            attrgetter(name)(torch)
        except (AttributeError, RuntimeError):
            return f"torch has no {name}"
    return None


STATES = (english("off: all parts because {name} is set"), english("off: {parts}"), english("on"))
REASONS = (english("{name} is set"), english("torch has no {name}"))
OFF = {part: why for part, names in PARTS.items() if (why := _why_off(names))}
"""Part -> why it is off, in English, one of REASONS."""


def on(part: str) -> bool:
    """Returns True if a part can be used and is to be."""
    return part not in OFF


def state() -> str:
    """Returns what is off and why: a fact of checkpoints, in English, one of STATES."""
    if PLAIN:
        return f"off: all parts because {VARIABLE} is set"
    return f"off: {', '.join(f'{part} because {why}' for part, why in OFF.items())}" if OFF else "on"
