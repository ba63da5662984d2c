"""The parts of this room that are on. Each has a counterpart among torch's public functions, whose numbers it gives
up to rounding, and which takes its place where it is off: JOYSTICK_PLAIN=1 in the environment turns off all of them."""

import os
from collections.abc import Sequence
from operator import attrgetter

import torch

from config.tell.language import tr

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
        return tr("{name} is set", name=VARIABLE)
    for name in names:
        try:
            attrgetter(name)(torch)
        except (AttributeError, RuntimeError):
            return tr("torch has no {name}", name=name)
    return None


OFF = {part: why for part, names in PARTS.items() if (why := _why_off(names))}
"""Part -> why it is off."""


def on(part: str) -> bool:
    """Returns True if a part can be used and is to be."""
    return part not in OFF


def state() -> str:
    """Returns what is off and why, as text."""
    if PLAIN:
        return tr("off: all parts because {name} is set", name=VARIABLE)
    parts = [tr("{part} because {reason}", part=part, reason=why) for part, why in OFF.items()]
    return tr("off: {parts}", parts=", ".join(parts)) if OFF else tr("on")
