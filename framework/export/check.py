"""Comparison of an exported policy with the agent itself, on the same observations."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from config.tell.language import tr
from envs.base import Array
from framework.errors import JoystickError
from framework.export.policy import Arrays, FileModule
from framework.export.recordings import Seen

SAME = 1e-4
"""Largest difference of continuous actions that count as equal, absolute or relative to the action."""


class Checked(NamedTuple):
    """Result of a comparison."""

    observations: int
    largest: float
    """Largest difference of the outputs from the outputs of the agent's networks."""
    equal: float
    """Share of the actions that are equal to the agent's."""

    def __str__(self) -> str:
        return tr(
            "{observations:,} observations: {equal:.2%} of the actions are the agent's; the outputs "
            "differ by at most {largest:.2g}",
            observations=self.observations,
            equal=self.equal,
            largest=self.largest,
        )


def compare(
    run: Callable[[Arrays], Arrays],
    module: FileModule,
    steps: Iterable[Seen],
    observation_start: Array | int = 0,
    action_start: Array | int = 0,
) -> Checked:
    """Runs a file on what the agent saw, with a recurrent state of the file's own, and compares what it gives with the
    agent's actions, and with the outputs of the agent's module, which has its own state too. Raises JoystickError if
    an output is not finite where the agent's is."""
    states: dict[str, Array | None] = {"file": None, "module": None}
    taken: dict[str, Array] = {}
    count, largest, equal = 0, 0.0, 0
    for step in steps:
        results = {}
        for name, function in (("file", run), ("module", module.run)):
            arrays = {"obs": np.asarray(step.obs + observation_start, step.obs.dtype)}
            if "state" in module.inputs:
                after = states[name]
                if after is not None:
                    after = np.where(step.idle[:, None], taken[name], after)
                arrays["state"] = taken[name] = _state(after, step.fresh, module.policy.state_size)
            if step.mask is not None:
                arrays["action_mask"] = step.mask
            results[name] = function(arrays)
            states[name] = results[name].get("next_state")
        largest = max(largest, _difference(results["file"]["outputs"], results["module"]["outputs"]))
        count += len(step.obs)
        equal += int(_equal(results["file"]["action"], step.action + action_start).sum())
    return Checked(count, largest, equal / count)


def _difference(values: Array, reference: Array) -> float:
    """Returns the largest difference of outputs; NaN and infinities are equal to themselves."""
    if (np.isfinite(reference) & ~np.isfinite(values)).any():
        raise JoystickError("the file was not written: an output of it is not finite where the agent's is")
    same = (values == reference) | (np.isnan(values) & np.isnan(reference))
    with np.errstate(invalid="ignore"):
        difference = np.abs(values.astype(np.float64) - reference)
    return float(np.where(same, 0.0, np.nan_to_num(difference, nan=np.inf, posinf=np.inf)).max())


def _state(state: Array | None, fresh: Array, size: int) -> Array:
    """Returns the recurrent state before a step: 0 where an episode begins."""
    if state is None:
        return np.zeros((len(fresh), size), np.float32)
    return np.where(fresh[:, None], np.float32(0), state)


def _equal(values: Array, reference: Array) -> Array:
    """Returns [N], True where all numbers of an action are equal."""
    if values.shape != reference.shape:
        return np.zeros(len(reference), bool)
    whole = np.issubdtype(reference.dtype, np.integer)
    same = values == reference if whole else np.isclose(values, reference, rtol=SAME, atol=SAME)
    return same.reshape(len(reference), -1).all(1)
