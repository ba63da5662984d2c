"""Finds where a run begins: at step 0 or at a checkpoint; and decides which settings a resume may change."""

import json
import secrets
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from algos.base import EnvSpec
from config.config import HOW_TO_LOAD
from config.model import policies
from config.model.schema import AlgoConfig
from config.read.loader import ConfigError, RunConfig
from config.read.paths import as_written
from config.read.task_config import load_task_config
from config.tell.language import tr
from framework.assemble import offline
from framework.assemble.identity import check_identity, name_now
from framework.disk.checkpoints import CheckpointStore, Saved
from framework.disk.task_dir import TaskDir
from framework.errors import TaskDirError
from framework.screen.formatting import begin_command, counted
from framework.screen.stages import stage

FIXED_GENERAL = {
    "algo_name", "env_name", "seed", "max_step", "model_save_unit", "score_policy", "explore", "eval_env", "start_from",
}  # fmt: skip
"""Settings of general_cfg that a resume may not change."""
ADJUSTABLE_ENV = {"render_mode"}
"""Settings of env_cfg that a resume may change."""
DATA = "algo_cfg.data"
"""Setting that names data. A resume may name them by another path: the SHA-256 in the checkpoint tells whether it leads
to the same content."""
COUNTED = {"max_episode": "episode", "max_total_step": "step", "max_update": "update"}
"""Limit -> what it counts."""
Sections = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Start:
    """A task directory to write to, and the checkpoint to resume from."""

    task: TaskDir
    store: CheckpointStore
    """Store of this task; after reading the checkpoint it continues its journal."""
    saved: Saved | None = None
    branch: bool = False
    """True if the run continues in a new directory with new logs."""
    changed: tuple[str, ...] = ()
    """Settings that differ from the checkpoint's, as `key: old -> new`."""


def start(config: RunConfig, spec: EnvSpec) -> Start:
    """Opens the task directory: the old one for --resume and load_checkpoint, a new one for an explicit step."""
    cfg = config.general
    if config.task is None:
        return _new(config, spec)
    store = CheckpointStore(config.task / "models")
    if "general_cfg.load_model_step" in config.explicit and cfg.load_model_step != "latest":
        TaskDir(config.task).check()
        with stage(tr("reading the checkpoint"), store.journal.progress):
            saved = store.read(cfg.load_model_step)
        changed = changes(config, saved)
        check_identity(saved, config, spec)
        return replace(_new(config, spec), saved=saved, branch=True, changed=changed)
    if config.into is not None:
        raise TaskDirError(
            "the run continues in {path}; leave out --into, or say which load_model_step to branch at",
            path=as_written(config.task),
        )
    task = TaskDir(config.task)
    task.open()
    try:
        store.recover()
        if not store.numbers() and not store.has_best():
            raise TaskDirError(
                "no checkpoint in {path}; begin the run anew with {command}",
                path=as_written(task.models),
                command=begin_command(task.config, (), config.task, config.allow_import),
            )
        with stage(tr("reading the checkpoint"), store.journal.progress):
            saved = store.newest(lambda text: print(tr("warning: {text}", text=text), file=sys.stderr))
        changed = changes(config, saved)
        check_identity(saved, config, spec)
    except BaseException:
        task.close()
        raise
    return Start(task, store, saved, changed=changed)


def _new(config: RunConfig, spec: EnvSpec) -> Start:
    mark = f"_{secrets.token_hex(3)}" if config.general.storage else ""
    task = TaskDir.create("train", spec.id, config.algorithms, config.into, config.start, mark)
    return Start(task, CheckpointStore(task.models))


def changes(config: RunConfig, saved: Saved) -> tuple[str, ...]:
    """Compares the settings with those that the checkpoint was saved with, wherever the new ones come from: the command
    line, or an edited config.yaml. Returns the differences; raises ConfigError if one of them is not allowed."""
    old, new = policies.flat(settings_of(saved, config)), policies.flat(plain(config))
    owners, allowed = _algorithms(config), adjustable(config)
    changed, refused = [], [*_other_policies(old, new, config), *_other_arguments(old, new, config)]
    for section, settings in new.items():
        recorded = old.get(section) or {}
        before = {**(owners[section].BEFORE if section in owners else {}), **recorded}
        for key, value in settings.items():
            if key not in before or before[key] == value or key in HOW_TO_LOAD:
                continue
            if key == "algo_name" and name_now(before[key]) == name_now(value):
                continue
            line = f"{section}.{key}: {before[key]} -> {value}"
            if key in COUNTED and (before[key] <= 0 or value < before[key]) and 0 < value < (done := _done(saved, key)):
                refused.append(
                    tr(
                        "{section}.{key}={value}: the run has trained {amount} already; expected a higher number",
                        section=section,
                        key=key,
                        value=value,
                        amount=counted(done, COUNTED[key]),
                    )
                )
            elif key in allowed[section] or (f"{section}.{key}" == DATA and before[key] and _learns_from_data(config)):
                changed.append(line)
            elif key not in recorded:
                setting = f"{section}.{key}={json.dumps(before[key])}"
                refused.append(
                    tr(
                        "{line}: the run began before this setting existed; {setting} goes on as it began",
                        line=line,
                        setting=setting,
                    )
                )
            else:
                place = config.where.get(f"{section}.{key}", "default")
                refused.append(
                    tr(
                        "{place}: {line}: cannot change in a resumed run; start a new run for that",
                        place=place,
                        line=line,
                    )
                )
    if refused:
        raise ConfigError(*refused)
    return tuple(changed)


def _learns_from_data(config: RunConfig) -> bool:
    """Returns True if the memory of a run holds given data."""
    return offline.data_of(config, offline.memory_of(config)) is not None


def _done(saved: Saved, limit: str) -> int:
    """Returns how much of what a limit counts the run of a checkpoint has trained."""
    return int(saved.tree.get("count", {}).get(COUNTED[limit], 0))


def _algorithms(config: RunConfig) -> dict[str, AlgoConfig]:
    """Returns the settings of each algorithm by section."""
    return {"algo_cfg": config.algo, **{policies.section_of(name): algo for name, algo in config.policies.items()}}


def adjustable(config: RunConfig) -> dict[str, set[str]]:
    """Returns the settings of each section that a resume may change."""
    return {
        "general_cfg": set(type(config.general).model_fields) - FIXED_GENERAL,
        "env_cfg": ADJUSTABLE_ENV,
        **{section: type(algo).adjustable() for section, algo in _algorithms(config).items()},
    }


def _other_policies(old: Sections, new: Sections, config: RunConfig) -> Iterator[str]:
    """Yields a problem for each policy that only the checkpoint or only this configuration has."""
    for section in filter(policies.name_of, {**old, **new}):
        place = config.where.get(f"{section}.agents", "policies_cfg")
        if section not in old:
            yield tr(
                "{place}: {section}: cannot be added in a resumed run; start a new run for that",
                place=place,
                section=section,
            )
        elif section not in new:
            yield tr(
                "{place}: {section}: cannot be left out in a resumed run; start a new run for that",
                place=place,
                section=section,
            )


def _other_arguments(old: Sections, new: Sections, config: RunConfig) -> Iterator[str]:
    """Yields a problem for each argument of the environment that only the checkpoint or only this configuration has:
    without it the environment has another value, that of its constructor."""
    before, now = old.get("env_cfg"), new["env_cfg"]
    if before is None:
        return
    for key in sorted((before.keys() ^ now.keys()) - set(type(config.env).model_fields)):
        yield tr(
            "{place}: {line}: cannot change in a resumed run; start a new run for that",
            place=config.where.get(f"env_cfg.{key}", "config.yaml"),
            line=f"env_cfg.{key}: {before.get(key, tr('not set'))} -> {now.get(key, tr('not set'))}",
        )


def plain(config: RunConfig) -> Sections:
    """Returns the effective settings as a checkpoint stores them."""
    settings: Sections = json.loads(json.dumps(config.as_dict()))
    return settings


def settings_of(saved: Saved, config: RunConfig) -> Sections:
    """Returns the settings of the checkpoint; those in config.yaml if it is too old to hold them."""
    recorded = saved.facts.get("config")
    if isinstance(recorded, dict):
        return recorded
    return load_task_config(config.task).settings() if config.task else {}
