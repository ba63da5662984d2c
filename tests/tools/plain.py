"""Trains every algorithm for a few updates by torch's public functions alone, and writes the weights to a folder:
JOYSTICK_PLAIN=1 python -m tests.tools.plain FOLDER

A call of ours to a function that torch does not document raises an error, and so does one to a kernel of our own.
"""

import sys
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
OURS = {"algos", "config", "envs", "framework", "joystick", "main", "tests"}


def refuse(owner: Any, name: str) -> None:
    """Makes a function raise an error if a file of ours calls it; torch itself may."""
    function = getattr(owner, name)

    def guarded(*args: Any, **named: Any) -> Any:
        caller = sys._getframe(1).f_code.co_filename
        assert not Path(caller).is_relative_to(ROOT), f"{name} is called by {caller}"
        return function(*args, **named)

    if hasattr(function, "default"):  # torch's own code asks an operator for its overload
        guarded.default = function.default  # type: ignore[attr-defined]
    setattr(owner, name, guarded)


def refuse_private_functions() -> None:
    """Refuses them before a module of ours can get hold of one."""
    for name in dir(torch):
        if name.startswith("_") and isinstance(getattr(torch, name), BuiltinFunctionType):
            refuse(torch, name)
    for owner, names in (
        (torch, ("lstm_cell", "gru_cell", "compile")),
        (torch._C, ("_will_engine_execute_node",)),
        (torch.ops.mkldnn, ("_linear_pointwise",)),
        (torch.ops.aten, ("tanh_backward",)),
    ):
        for name in names:
            if hasattr(owner, name):
                refuse(owner, name)


def refuse_kernels() -> None:
    """Refuses what computes in another way than torch does."""
    from algos.common.fast import kernels, optimizers
    from algos.common.parts import passes

    for kind in (kernels._NarrowLinear, kernels._Tanh, kernels._Product):
        refuse(kind, "apply")
    refuse(passes, "FewRows")
    refuse(optimizers.FusedAdam, "step")


def forget_ours() -> None:
    """Forgets the modules of this project: they get hold of torch when they are imported."""
    for name in [name for name in sys.modules if name.split(".")[0] in OURS]:
        del sys.modules[name]


def learned(algo: str, toy: str) -> dict[str, np.ndarray]:
    """Returns the weights of an algorithm after a few updates."""
    from tests.algos.test_contract import Work

    work = Work(algo, toy)
    work.learn(work.chunks(2))
    return work.agent.weights()


def tried() -> dict[str, str]:
    """Returns the algorithms that are trained, each with a toy."""
    from tests.algos.test_contract import CASES

    return dict(CASES)


def main(folder: str) -> None:
    """Writes a file for each algorithm. The process is one for this alone, perhaps a forked one."""
    forget_ours()
    refuse_private_functions()
    refuse_kernels()
    from tests.tools import short_runs

    short_runs.begin()  # as in the test that compares the weights
    for algo, toy in tried().items():
        np.savez(Path(folder) / f"{algo}.npz", **learned(algo, toy))


if __name__ == "__main__":
    main(sys.argv[1])
