"""Decides which kernels a run computes with (general_cfg.kernels), and sets them in each of its processes."""

from pathlib import Path

from pydantic import ValidationError

from algos.common.fast.kernels import older, use
from config.model.kernels import Kernels
from config.read.loader import ConfigError, RunConfig
from config.read.task_config import load_task_config, recorded_facts


def with_kernels(config: RunConfig) -> RunConfig:
    """Replaces null by the kernels that a resumed run had, whatever this machine would choose now; for a new run by
    those that are fastest on this machine."""
    if config.general.kernels is not None:
        return config
    kernels = _measured() if config.task is None else _recorded(config.task)
    return config.with_general(kernels=kernels)


def use_kernels(config: RunConfig) -> None:
    """Lets this process compute with the kernels of a run."""
    kernels = with_kernels(config).general.kernels
    assert kernels is not None
    use(kernels)


def _measured() -> Kernels:
    from algos.common.fast import measuring  # nothing else needs it

    return measuring.chosen().kernels


def _recorded(task: Path) -> Kernels:
    """Returns the kernels of an earlier run."""
    recorded = load_task_config(task).settings().get("general_cfg", {}).get("kernels")
    if recorded is None:
        return older(recorded_facts(task))
    try:
        return Kernels.model_validate(recorded)
    except ValidationError as error:
        raise ConfigError(f"{task}: general_cfg.kernels: {error.errors()[0]['msg']}") from error
