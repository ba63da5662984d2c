"""Reads the settings of an earlier run: its config.yaml, backed by the copy in its newest checkpoint."""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from config.model import policies
from config.read.opening import read_regular
from config.read.yaml_reader import Document, DocumentError, dumped, parse, read
from config.tell.language import tr

MOST_BYTES = 64 * 2**20
"""Size of the largest manifest.json that is read."""


class TaskConfig(NamedTuple):
    """Settings of an earlier run."""

    document: Document
    note: str = ""
    """Reason why they were not taken from config.yaml; empty if they were."""

    def settings(self) -> dict[str, Any]:
        """Returns the sections as plain values; policies below policies_cfg."""
        value = self.document.value
        sections = value.items() if isinstance(value, dict) else ()
        return {name: values for name, values in sections if isinstance(values, dict)}


def load_task_config(task: Path) -> TaskConfig:
    """Reads the settings of a run. Its config.yaml counts, unless it is missing, unreadable or lacks settings: then the
    settings that its newest checkpoint was saved with. Raises DocumentError if there are neither."""
    recorded = _recorded(task / "models")
    try:
        config = TaskConfig(read(task / "config.yaml"))
    except DocumentError as error:
        if recorded is None:
            raise
        return _restored(*recorded, str(error))
    if recorded is not None and (missing := _missing(config.settings(), recorded[1]["config"])):
        path, name, count = task / "config.yaml", missing[0], len(missing)
        return _restored(
            *recorded,
            tr("{path} lacks 1 setting, such as {name}", path=path, name=name)
            if count == 1
            else tr("{path} lacks {count} settings, such as {name}", path=path, count=count, name=name),
        )
    return config


def has_config(task: Path) -> bool:
    """Returns True if the settings of a run can be read from its directory."""
    return (task / "config.yaml").is_file() or _recorded(task / "models") is not None


def recorded_facts(task: Path) -> dict[str, Any]:
    """Returns the facts of the newest undamaged checkpoint of a run; nothing if there is none."""
    recorded = _recorded(task / "models")
    return recorded[1] if recorded else {}


def _missing(settings: dict[str, Any], recorded: dict[str, Any]) -> list[str]:
    here, there = policies.flat(settings), policies.flat(recorded)
    return [f"{name}.{key}" for name, keys in there.items() for key in keys if key not in here.get(name, {})]


def _restored(path: Path, facts: dict[str, Any], reason: str) -> TaskConfig:
    text = dumped(facts["config"])
    document = parse(text, str(path), numbered=False)
    if isinstance(expected := facts.get("expected_return"), float):
        document.comment = f"# Return {expected:.12g} is expected."
    return TaskConfig(
        document,
        tr("{reason}; the settings were restored from checkpoint {name}", reason=reason, name=path.parent.name),
    )


def _recorded(models: Path) -> tuple[Path, dict[str, Any]] | None:
    """Returns the manifest of the newest undamaged checkpoint and its facts; None if it does not hold the settings."""
    numbers = [path for path in models.iterdir() if path.name.isdecimal()] if models.is_dir() else []
    for folder in sorted(numbers, key=lambda path: int(path.name), reverse=True):
        path = folder / "manifest.json"
        facts = facts_of_model(folder)
        if facts is not None:
            config = facts.get("config")
            whole = isinstance(config, dict) and all(isinstance(section, dict) for section in config.values())
            return (path, facts) if whole else None
    return None


def facts_of_model(folder: Path) -> dict[str, Any] | None:
    """Returns the facts in the manifest of a checkpoint; None if it is missing or damaged. Its last line is the SHA-256
    of the rest."""
    try:
        text, _, digest = read_regular(folder / "manifest.json", MOST_BYTES).rstrip(b"\n").rpartition(b"\n")
        if hashlib.sha256(text).hexdigest().encode() != digest:
            return None
        facts = json.loads(text)["facts"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return facts if isinstance(facts, dict) else None
