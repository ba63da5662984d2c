"""Checkpoints: whole and verified, or absent. Reading one never runs code.

models/500/manifest.json   facts, the tree of state without its arrays, SHA-256 of the arrays; last line: its own digest
models/500/state.safetensors
models/journal/00000.log   transitions of the replay memory, appended: a save costs what is new since the last one
models/best/               the same files as the numbered checkpoint with the best score
"""

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from algos.base import Tree
from config import machine
from config.read.opening import read_regular
from config.read.paths import as_written
from config.system.files import patiently
from config.tell.language import tr
from framework.disk.atomic import (
    aside,
    copy_durably,
    discard,
    ensure_folder,
    recover,
    remove_folder,
    replace_folder,
    sync_folder,
    unfinished_folder,
    write_durably,
)
from framework.disk.journal import KEPT_JOURNALS, Journal, JournalPart, Span
from framework.disk.task_dir import checkpoint_numbers
from framework.errors import CheckpointError, NumericsError

FORMAT = 1
BAD_CONTENT = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    MemoryError,
    RecursionError,
    SafetensorError,
)
"""Errors that reading a damaged or hostile file may raise."""
MOST_MANIFEST_BYTES = 2**26


@dataclass(frozen=True)
class Saved:
    """A checkpoint that was read and verified."""

    path: Path
    tree: Tree
    facts: dict[str, Any]
    """Small values to compare and to show: algorithm, environment, counters, evaluation."""
    journal: JournalPart | None = None
    """Part of the journal that this checkpoint needs; its frames are read when the memory is loaded."""


# ---------------------------------------------------------------------------------------- trees of state


def flatten(tree: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Returns the tree as JSON and moves its arrays to `arrays`. Keys are sorted, so that equal trees give equal files
    whatever the order of their dicts."""
    if isinstance(tree, torch.Tensor):
        tree = tree.detach().cpu().numpy()
    if isinstance(tree, np.ndarray):
        if tree.dtype.kind not in "biuf":
            raise TypeError(f"an array of {tree.dtype} cannot be saved")
        key = str(len(arrays))
        arrays[key] = np.ascontiguousarray(tree).reshape(tree.shape)
        return {"$array": key}
    if isinstance(tree, np.generic):
        return tree.item()
    if isinstance(tree, dict):
        return {"$dict": {str(key): flatten(tree[key], arrays) for key in sorted(tree, key=str)}}
    if isinstance(tree, tuple):
        return {"$tuple": [flatten(value, arrays) for value in tree]}
    if isinstance(tree, list):
        return [flatten(value, arrays) for value in tree]
    if tree is None or isinstance(tree, bool | int | float | str):
        return tree
    raise TypeError(f"{type(tree).__name__} cannot be saved")


def unflatten(tree: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Inverts flatten. Takes each array out of `arrays`, so that none can be named a thousand times."""
    if isinstance(tree, list):
        return [unflatten(value, arrays) for value in tree]
    if not isinstance(tree, dict):
        return tree
    ((kind, value),) = tree.items()
    match kind:
        case "$array":
            return arrays.pop(value).copy()
        case "$tuple":
            return tuple(unflatten(item, arrays) for item in value)
        case "$dict":
            return {key: unflatten(item, arrays) for key, item in value.items()}
    raise ValueError(f"unknown kind of value: {kind}")


class CheckpointStore:
    """The models/ folder of a task."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.journal = Journal(folder / "journal")

    # reading ----------------------------------------------------------------------------------------------

    def numbers(self) -> list[int]:
        """Returns the updates of the checkpoints, oldest first."""
        return checkpoint_numbers(self.folder)

    def has(self, number: int) -> bool:
        """Returns True if there is a checkpoint of this update."""
        return (self.folder / str(number)).is_dir()

    def has_best(self) -> bool:
        return self._place("best").exists()

    def _place(self, name: str | int) -> Path:
        """Returns the folder of a checkpoint: the one that was put aside, if a crash came before its successor. It is
        found and not renamed, since another process may be writing here."""
        path = self.folder / str(name)
        return path if path.exists() or not aside(path).is_dir() else aside(path)

    def read(self, name: str | int, with_journal: bool = True) -> Saved:
        """Returns a checkpoint by name, verified, or raises CheckpointError."""
        path = self._place(name)
        if not path.exists():
            names = [str(number) for number in self.numbers()] + (["best"] if self.has_best() else [])
            raise CheckpointError(
                "no checkpoint {name} in {path}; the newest are: {names}",
                name=name,
                path=as_written(self.folder),
                names=", ".join(names[-12:]) or tr("none"),
            )
        if not path.is_dir():
            raise CheckpointError(
                "{path} is a single file, not one of our checkpoints (a folder with manifest.json); it was not opened",
                path=as_written(path),
            )
        try:
            manifest = _read_manifest(path / "manifest.json")
            if manifest["format"] != FORMAT:
                raise CheckpointError(
                    "{path} has format {format}; this version reads format {known}",
                    path=as_written(path),
                    format=manifest["format"],
                    known=FORMAT,
                )
            free = machine.available_bytes()  # a larger state has no room
            data = read_regular(path / "state.safetensors", 2**62 if free is None else free)
            if hashlib.sha256(data).hexdigest() != manifest["state_sha256"]:
                raise CheckpointError(
                    "{path} is damaged: state.safetensors does not match its checksum", path=as_written(path)
                )
            tree, facts = unflatten(manifest["tree"], load_arrays(data)), dict(manifest["facts"])
            span = Span.from_json(manifest["journal"])
            part = JournalPart(self.journal, span) if with_journal and span else None
            if part is not None:
                part.verify()
        except FileNotFoundError as error:
            missing = as_written(Path(error.filename or path))
            raise CheckpointError(
                "{path} is damaged: {missing} is missing", path=as_written(path), missing=missing
            ) from error
        except BAD_CONTENT as error:
            raise CheckpointError(
                "{path} is damaged: {kind}: {error}", path=as_written(path), kind=type(error).__name__, error=error
            ) from error
        return Saved(path, tree, facts, part)

    def newest(self, say: Callable[[str], None], with_journal: bool = True) -> Saved:
        """Returns the newest checkpoint that is whole. Reports damaged ones and passes over them. with_journal: False
        to use its model alone, without what the agent remembers."""
        numbers = self.numbers()
        for number in reversed(numbers):
            try:
                return self.read(number, with_journal)
            except CheckpointError as error:
                say(tr("{error}; going back to the one before", error=error) if number > numbers[0] else str(error))
        if self._has_whole_best():
            raise CheckpointError(
                "no whole checkpoint in {path} but best: load_model_step=best, or --model best, takes that",
                path=as_written(self.folder),
            )
        if numbers:
            raise CheckpointError("no whole checkpoint in {path}", path=as_written(self.folder))
        raise CheckpointError("no checkpoint in {path}", path=as_written(self.folder))

    def _has_whole_best(self) -> bool:
        try:
            return self.has_best() and self.read("best", with_journal=False) is not None
        except CheckpointError:
            return False

    def best_or_newest(self) -> Saved:
        """Returns the best model, or without one the newest that is whole; none of them with what the agent
        remembers."""
        if self.has_best():
            return self.read("best", with_journal=False)
        return self.newest(lambda text: None, with_journal=False)

    def save(self, number: int, tree: Tree, memory: Any, facts: dict[str, Any]) -> Path:
        """Writes everything, and renames it last. An OSError leaves the earlier checkpoints as they were."""
        ensure_folder(self.folder)
        new = unfinished_folder(self.folder / str(number))
        discard(new)
        try:
            span = memory.write(self.journal)
            arrays: dict[str, np.ndarray] = {}
            body = {"format": FORMAT, "facts": facts, "journal": span.to_json() if span else None}
            body["tree"] = flatten(tree, arrays)
            _check_finite(arrays)
            state = save_arrays(arrays)
            body["state_sha256"] = hashlib.sha256(state).hexdigest()
            new.mkdir()
            write_durably(new / "state.safetensors", state)
            text = json.dumps(body, sort_keys=True).encode()
            digest = hashlib.sha256(text).hexdigest().encode()
            write_durably(new / "manifest.json", text + b"\n" + digest + b"\n")
            sync_folder(new)
            replace_folder(new, self.folder / str(number))
        except BaseException:
            discard(new)
            raise
        return self.folder / str(number)

    def mark_best(self, number: int) -> None:
        """Makes models/best this checkpoint: the same files under a second name."""
        new, source = unfinished_folder(self.folder / "best"), self.folder / str(number)
        discard(new)
        new.mkdir()
        for file in source.iterdir():
            try:
                os.link(file, new / file.name)
            except OSError:
                copy_durably(file, new / file.name)
        sync_folder(new)
        replace_folder(new, self.folder / "best")

    def realign_best(self, number: int | None) -> None:
        """Sets models/best to the best checkpoint that a resumed run knows of. Without one, models/best stays until the
        run has found a new best: it is never absent once it existed."""
        if number is not None and type(number) is not int:
            raise CheckpointError("best_update is not an update number: {number!r}", number=number)
        if number is not None and self.has(number):
            self.mark_best(number)

    def prune(self, keep: int) -> None:
        """Deletes all but the newest numbered checkpoints (none if keep is below 1), and then the files of the journal
        that the newest ones do not need."""
        numbers = self.numbers()
        for number in numbers[:-keep] if keep >= 1 else ():
            remove_folder(self.folder / str(number))
        spans = [self._span(number) for number in numbers[-(keep if keep >= 1 else KEPT_JOURNALS) :]]
        starts = [span.start.segment for span in spans if span]
        if starts:
            self.journal.drop_before(min(starts))

    def _span(self, number: int) -> Span | None:
        """Returns the part of the journal that a checkpoint needs; None if it is damaged and cannot be read anyway."""
        try:
            return Span.from_json(_read_manifest(self.folder / str(number) / "manifest.json")["journal"])
        except (CheckpointError, *BAD_CONTENT):
            return None

    def recover(self) -> None:
        """Cleans up after a crash."""
        recover(self.folder)

    def continue_from(self, saved: Saved) -> None:
        """Prepares for saves after this checkpoint: renames later (damaged) ones and cuts the journal."""
        for number in self.numbers():
            if number > int(saved.path.name):
                path = self.folder / str(number)
                discard(path.with_suffix(".damaged"))
                patiently(os.rename, path, path.with_suffix(".damaged"))
        if saved.journal is not None:
            self.journal.continue_from(saved.journal.span.end)


def _read_manifest(path: Path) -> dict[str, Any]:
    text, _, digest = read_regular(path, MOST_MANIFEST_BYTES).rstrip(b"\n").rpartition(b"\n")
    if hashlib.sha256(text).hexdigest().encode() != digest:
        raise CheckpointError("{path} is damaged: it does not match its own checksum", path=as_written(path))
    return json.loads(text)


def _check_finite(arrays: dict[str, np.ndarray]) -> None:
    """Raises NumericsError for NaN: a spoilt model must not replace a good one."""
    for array in arrays.values():
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise NumericsError("the state holds NaN; it was not saved, and the earlier checkpoints are kept")
