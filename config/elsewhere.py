"""Where an id stands that its kind of environment does not know."""

from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from config import presets


def elsewhere(env_id: str, others: Iterable[ModuleType], root: Path) -> str:
    """The end of a sentence: what to type for another kind of environment, or for a preset; empty where nothing is."""
    for package in others:
        if hasattr(package, "knows") and package.knows(env_id):
            kind = package.__name__.rpartition(".")[2]
            return f" (it is there with general_cfg.env_name={kind} env_cfg.id={env_id})"
    algos = presets.algos_with(presets.folder_name(env_id), root)
    return f" (presets of this name: --algo {' or '.join(algos)} --env {env_id})" if algos else ""
