"""Writes the settings and run.json of a training run: what it is before its first step, and how exact a resume is."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from algos.common.fast import kernels
from config.config import HOW_TO_LOAD, GeneralConfig
from config.read.loader import RunConfig
from config.read.opening import read_regular
from config.read.paths import as_written
from config.tell.language import UserError
from framework.assemble import build, offline
from framework.disk.atomic import ensure_folder, write_whole
from framework.disk.task_dir import FAILED, TaskDir
from framework.runs.exactness import Exactness
from framework.runs.resume import Start


def repeatable(config: RunConfig) -> RunConfig:
    """Returns the config without the checkpoint that it was loaded from: settings that start the run from step 0."""
    return config.with_general(**{key: GeneralConfig.model_fields[key].default for key in HOW_TO_LOAD})


def write_start(task: TaskDir, config: RunConfig, start: Start, session: Mapping[str, Any]) -> None:
    """Writes config.yaml, params.json and run.json; the settings of a run that goes on stay until its checkpoint fits.
    session: facts about this session, such as its command."""
    facts, saved = dict(session), start.saved
    if saved is not None and not start.branch:
        entry = {"from": saved.path.name, **facts, "changed": list(start.changed)}
        facts = {"resumes": [*(task.facts().resumes or ()), entry]}
    elif saved is not None:
        facts["branched_from"] = str(as_written(saved.path))
    facts |= {"changed": list(start.changed)} if start.changed else {}
    before = task.facts().preset if saved is not None and not start.branch else None  # config.yaml names none
    facts |= {"expected_return": config.expected_return, "preset": config.preset or before}
    facts |= {
        "allow_import": list(config.allow_import),
        "seed": config.general.seed,
        "data_return": offline.data_return(config),
        "torch_threads": torch.get_num_threads(),
        "kernels": kernels.state(),
        "gpu": build.gpu_name(config),
    }
    if saved is None or start.branch:
        write_settings(task, config)
    task.write_run(facts)


def write_settings(task: TaskDir, config: RunConfig) -> None:
    """Writes config.yaml and params.json, where they changed."""
    settings = repeatable(config)
    plain = json.dumps(settings.as_dict(), indent=2, ensure_ascii=False) + "\n"
    for path, text in ((task.config, settings.to_yaml()), (task.params, plain)):
        _write_changed(path, text.encode())


def write_code(task: TaskDir, files: Mapping[str, bytes]) -> None:
    """Writes copies of the files of the user's own code, where they changed. Nothing is ever imported from them."""
    for name, data in files.items():
        ensure_folder((task.code / name).parent)
        _write_changed(task.code / name, data)


def _write_changed(path: Path, data: bytes) -> None:
    """Writes a file whose content changed."""
    if not path.is_file() or path.stat().st_size != len(data) or read_regular(path, len(data)) != data:
        write_whole(path, data)


def text_of(error: Exception) -> str:
    """Returns what run.json keeps of an error: its text, after its kind where it is no message of this program."""
    kind = "" if isinstance(error, UserError) and str(error) else f"{type(error).__name__}: "
    return f"{kind}{error}".rstrip(": ")


def write_failure(task: TaskDir, error: str) -> None:
    """Adds to run.json the first line of the error that has ended a run."""
    task.write_run({"outcome": f"{FAILED} {error.splitlines()[0]}", "finished": False})


def write_verdict(task: TaskDir, branch: bool, verdict: Exactness) -> None:
    """Adds to run.json whether this resume or branch is exact."""
    if branch:
        task.write_run(verdict.to_json())
        return
    *earlier, entry = task.facts().resumes or [{}]
    task.write_run({"resumes": [*earlier, entry | verdict.to_json()]})
