"""Where a run begins: anew, or at a checkpoint; and what may be changed when it goes on."""

import sys
from dataclasses import dataclass, replace
from typing import Any

import yaml

from algos.base import EnvSpec
from config.loader import ConfigError, RunConfig
from framework.checkpoint.store import CheckpointStore, Saved
from framework.errors import CheckpointError, TaskDirError
from framework.runs.task_dir import TaskDir
from framework.seeding import draw_seed

FIXED_GENERAL = {"algo_name", "env_name", "seed", "max_step", "model_save_unit"}
"""A run that changes one of these is another run."""
HOW_TO_LOAD = {"load_checkpoint", "load_path", "load_model_step"}
"""They say where a run goes on from, and are no change to it."""
ADJUSTABLE_ENV = {"render_mode"}


@dataclass(frozen=True)
class Start:
    """A task directory to write to, and the checkpoint to go on from."""

    task: TaskDir
    store: CheckpointStore
    """Of this task; one that has read the checkpoint knows its journal, and goes on with it."""
    saved: Saved | None = None
    branch: bool = False
    """The run goes on in a directory of its own, and writes logs of its own."""
    changed: tuple[str, ...] = ()
    """Settings that are not those of the run that goes on."""


def with_seed(config: RunConfig) -> RunConfig:
    """seed 0 means: the one of the run that goes on, or else draw one, so that this run too can be repeated."""
    if config.general.seed:
        return config
    seed = _recorded(config).get("general_cfg", {}).get("seed") or draw_seed()
    return replace(config, general=config.general.model_copy(update={"seed": seed}))


def start(config: RunConfig, spec: EnvSpec) -> Start:
    """Open the task directory: the old one for --resume and load_checkpoint, a new one for an explicit step."""
    cfg = config.general
    if config.task is None:
        return _anew(config, spec)
    changed = changes(config)
    store = CheckpointStore(config.task / "models")
    if "general_cfg.load_model_step" in config.explicit and cfg.load_model_step != "latest":
        TaskDir(config.task).check()
        saved = store.read(cfg.load_model_step)
        check_identity(saved, config, spec)
        return replace(_anew(config, spec), saved=saved, branch=True, changed=changed)
    if config.into is not None:
        raise TaskDirError(
            f"the run goes on in {config.task}; leave out --into, or say which load_model_step to branch at"
        )
    task = TaskDir(config.task)
    task.open()
    try:
        store.recover()
        saved = store.newest(lambda text: print(f"warning: {text}", file=sys.stderr))
        check_identity(saved, config, spec)
    except BaseException:
        task.close()
        raise
    return Start(task, store, saved, changed=changed)


def _anew(config: RunConfig, spec: EnvSpec) -> Start:
    task = TaskDir.create("train", spec.id, config.algo_package.NAME, config.into)
    return Start(task, CheckpointStore(task.models))


def _recorded(config: RunConfig) -> dict[str, Any]:
    """The effective config of the run that goes on."""
    if config.task is None:
        return {}
    return yaml.safe_load((config.task / "config.yaml").read_text(encoding="utf-8")) or {}


def changes(config: RunConfig) -> tuple[str, ...]:
    """Settings that differ from the run that goes on, as `key: old -> new`; ConfigError where one may not."""
    old, new = _recorded(config), config.as_dict()
    allowed = {
        "general_cfg": set(new["general_cfg"]) - FIXED_GENERAL,
        "algo_cfg": set(type(config.algo).ADJUSTABLE),
        "env_cfg": ADJUSTABLE_ENV,
    }
    changed, refused = [], []
    for section, settings in new.items():
        before = old.get(section) or {}
        for key, value in settings.items():
            if key not in before or before[key] == value or key in HOW_TO_LOAD:
                continue
            line = f"{section}.{key}: {before[key]} -> {value}"
            if key in allowed[section]:
                changed.append(line)
            else:
                place = config.where.get(f"{section}.{key}", "default")
                refused.append(f"{place}: {line}: cannot change when a run goes on; start a new run for that")
    if refused:
        raise ConfigError(refused)
    return tuple(changed)


def identity(config: RunConfig, spec: EnvSpec) -> dict[str, Any]:
    """What a checkpoint must agree with to be loaded."""
    return {
        "algo": config.algo_package.NAME,
        "env": spec.id,
        "observation_space": str(spec.observation_space),
        "action_space": str(spec.action_space),
        "seed": config.general.seed,
    }


def check_identity(saved: Saved, config: RunConfig, spec: EnvSpec) -> None:
    """CheckpointError where the checkpoint is of another algorithm or environment."""
    here = identity(config, spec)
    words = {"algo": "trained with", "env": "trained on", "observation_space": "observes", "action_space": "acts in"}
    for key, word in words.items():
        if saved.facts.get(key) != here[key]:
            raise CheckpointError(f"{saved.path} {word} {saved.facts.get(key)}, and this config says {here[key]}")
