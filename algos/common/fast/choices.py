"""The kernels of this room that compute in this process: for each an amount of work from which it takes the place of
torch's own (config/model/kernels.py), as measuring.py found it on this processor or a run recorded it.

Numbers depend on them in their last bits, so a run sets them when it begins, and a resumed run sets those that it had.
"""

import os
from collections.abc import Mapping
from typing import Any

from algos.common.fast import switch
from config.model.kernels import Kernels

VARIABLE = "JOYSTICK_FIXED_KERNELS"
"""Environment variable; 1 uses the kernels of FIXED on every machine, and measures nothing."""
FIXED = Kernels(
    tanh=1 << 15,
    acting_tanh=1 << 11,
    narrow_gradients=1 << 15,
    single_outputs=1,
    few_rows=1 << 18,
)
"""Kernels where nothing is measured: those that pay on most processors."""
PARTS = {
    "products": "products",
    "compiled_products": "products",
    "tanh": "layers",
    "acting_tanh": "layers",
    "narrow_gradients": "layers",
    "single_outputs": "layers",
    "few_rows": "few rows",
}
"""Kernel -> the part of the room that it belongs to."""


def are_fixed() -> bool:
    """Returns True if the environment asks for the kernels that are the same on every machine."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


def older(facts: Mapping[str, Any]) -> Kernels:
    """Returns the kernels of a run whose checkpoints do not record them. facts: of one; from 2,000,000 multiplications
    on, products were made by the library that it names."""
    by_onednn = (facts.get("exactness") or {}).get("matrix_products") == "oneDNN"
    return FIXED.model_copy(update=dict.fromkeys(("products", "compiled_products"), 2_000_000 if by_onednn else None))


def possible(kernels: Kernels) -> Kernels:
    """Returns the kernels without those of parts that are off."""
    return kernels.model_copy(update={name: None for name, part in PARTS.items() if not switch.on(part)})


def use(kernels: Kernels) -> None:
    """Lets these kernels compute from now on."""
    global now
    now = possible(kernels)


def state(kernels: Kernels | None = None) -> str:
    """Returns kernels, or those that compute, with their amounts: a fact of checkpoints."""
    used = possible(kernels or now).model_dump(exclude_none=True)
    return ", ".join(f"{name} {amount}" for name, amount in used.items()) or "torch"


now = possible(FIXED)
"""The kernels that compute."""
recording = False
"""True while a step is recorded (program.py): only operations of torch itself can be seen."""
