"""The runs of a group that goes on, with the settings beside its group.json."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from config.config import RUN_LIMITS
from config.model import SECTIONS
from config.read.loader import ConfigError, RunConfig, load
from config.read.opening import fault_below, regular
from config.read.paths import as_written
from config.read.task_config import TaskConfig, has_config
from config.read.task_files import GroupFiles
from config.read.yaml_reader import Document, DocumentError, read
from config.tell.language import tr
from framework.archive.groups import folders_in
from framework.archive.members import Member, group_facts, of_group
from framework.archive.run import RecordedRun
from framework.screen.formatting import number

WHERE = ("general_cfg.mp_backend=ray", "general_cfg.ray_address=")
"""Settings that a group takes when it goes on, beside its limits."""
LIMITS = tuple(f"general_cfg.{name}=" for name in RUN_LIMITS)
"""Beginnings of settings that end its runs."""

DATA = "algo_cfg.data="
"""Beginning of the setting that names data, which may lie elsewhere when a group goes on."""


def unfinished(folder: Path) -> list[Member]:
    """Returns the runs of a group, if some of them, or its tables, have not come to their end; none if all have, or if
    its files do not say how they begin."""
    members = of_group(folder)
    flags = [RecordedRun(folder / member.folder).facts.finished for member in members]
    return [] if all(flags) and group_facts(folder).seconds is not None else members


def why_unknown(folder: Path) -> str:
    """Returns why `of_group` knows no runs of a group, and what to do then."""
    if fault := fault_below(folder, tr("a group of runs")):
        return fault
    path = as_written(GroupFiles(folder).group)
    if runs := sorted(filter(has_config, folders_in(folder))):
        return tr(
            "{path} is damaged, or of an earlier version: it names no runs whose settings are beside it; resume them "
            "one by one, such as {example}",
            path=path,
            example=as_written(runs[0]),
        )
    return tr(
        "{path} is damaged, or of an earlier version: it names no runs whose settings are beside it, and none has "
        "begun; train them as a new group",
        path=path,
    )


def limit(folder: Path, member: Member) -> str:
    """Returns the name of the setting that ends a run of a group."""
    general = _general(folder, member)
    return next((name for name in RUN_LIMITS if (number(general.get(name)) or 0) > 0), "max_total_step")


def are_limits(words: Iterable[str]) -> bool:
    """Returns True if settings on the command line end runs."""
    return any(word.startswith(LIMITS) for word in words)


def without_effect(folder: Path, member: Member, words: Iterable[str]) -> str:
    """Returns why limits on the command line end no run of a group: it has another one; empty if they do."""
    general = _general(folder, member)
    names = [word.partition("=")[0].removeprefix("general_cfg.") for word in words if word.startswith(LIMITS)]
    if not names or not general or any((number(general.get(name)) or 0) > 0 for name in names):
        return ""
    return tr(
        "general_cfg.{name}: the runs of the group end by {limit}; give a higher general_cfg.{limit}",
        name=names[0],
        limit=limit(folder, member),
    )


def _general(folder: Path, member: Member) -> dict[str, Any]:
    """Returns general_cfg as the group has it for a run, which may not have begun; nothing if it cannot be read."""
    try:
        settings = TaskConfig(read(folder / member.file, regular)).settings()
    except DocumentError:
        return {}
    section: dict[str, Any] = settings.get("general_cfg", {})
    return section


def with_settings(
    folder: Path, members: Sequence[Member], words: Sequence[str], **options: Any
) -> dict[Member, RunConfig]:
    """Returns the runs of a group that goes on, with the settings that are in its folder. words: where it is trained
    now, data by another path, and limits that are higher than before; options: finders and permissions."""
    extra = [word for word in words if not word.startswith((*WHERE, *LIMITS, DATA))]
    if extra:
        example = as_written(folder / members[0].folder)
        raise ConfigError(
            "resume continues a group with its own settings, higher limits, and the same data by another path; leave "
            "out {words}, or name one of its runs, such as {example}",
            words=", ".join(extra),
            example=example,
        )
    if fault := fault_below(folder, tr("a group of runs")):
        raise ConfigError(fault)
    configs: dict[str, RunConfig] = {}
    for file in dict.fromkeys(member.file for member in members):
        example = as_written(folder / next(member.folder for member in members if member.file == file))
        try:
            document = read(as_written(folder / file), regular)
        except DocumentError as error:
            raise ConfigError(
                "{error}; resume the runs one by one, such as {example}", error=error, example=example
            ) from None
        if lacking := [name for name in SECTIONS if name not in TaskConfig(document).settings()]:
            raise ConfigError(
                "{path} lacks {names}: how the runs of the group begin is not known any more; resume them one by one, "
                "such as {example}",
                path=as_written(folder / file),
                names=", ".join(lacking),
                example=example,
            )
        moved = [word for word in words if word.startswith(DATA)]
        if moved and not TaskConfig(document).settings()["algo_cfg"].get("data"):
            raise ConfigError(
                "{path}: the runs of the group learn from no given data; leave out {words}",
                path=as_written(folder / file),
                words=", ".join(moved),
            )
        config = configs[file] = load(str(as_written(folder / file)), words, file=document, **options)
        _refuse_lower(folder / file, document, config)
        address = config.general.ray_address if config.general.mp_backend == "ray" else None
        if address and not any(word.startswith(WHERE[1]) for word in words):
            key = f"general_cfg.ray_address={address}"
            raise ConfigError(
                "{path}: the cluster of the group is not used unless the command names it: add {key}, or "
                "general_cfg.ray_address=null",
                path=as_written(folder / file),
                key=key,
            )
    return {member: configs[member.file] for member in members}


def _refuse_lower(path: Path, document: Document, config: RunConfig) -> None:
    """Raises ConfigError if a limit is lower than that of the group: its runs may be beyond it."""
    value = document.value if isinstance(document.value, dict) else {}
    section = value.get("general_cfg")
    for name in RUN_LIMITS:
        before = number(section.get(name)) if isinstance(section, dict) else None
        now = getattr(config.general, name)
        if before is not None and 0 < now < before:
            raise ConfigError(
                "general_cfg.{name}={now}: the runs of the group end at {before}, as {path} says; expected a higher "
                "number",
                name=name,
                now=now,
                before=before,
                path=as_written(path),
            )
