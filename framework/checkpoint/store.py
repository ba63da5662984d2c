"""Checkpoints: whole and verified, or not there. Reading one never runs code.

models/500/manifest.json   what it is, and the SHA-256 of everything that it needs; its own digest is its last line
models/500/state.safetensors
models/journal/00000.log   what the memory collected, appended: a checkpoint costs what is new since the last one
models/best/               the same files as the numbered checkpoint that scored best
"""

import hashlib
import json
import os
import shutil
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
from framework.checkpoint.atomic import recover, remove_folder, replace_folder, sync_folder, write_durably
from framework.checkpoint.journal import KEPT_JOURNALS, Journal, JournalPart, Span
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
"""What reading a damaged or hostile file may raise."""


@dataclass(frozen=True)
class Saved:
    """A checkpoint that was read and verified."""

    path: Path
    tree: Tree
    facts: dict[str, Any]
    """Small things to compare and to show: algorithm, environment, counters, evaluation."""
    journal: JournalPart | None = None
    """The part of the journal that this checkpoint needs; its frames are read when the memory is loaded."""


# ---------------------------------------------------------------------------------------- trees of state


def flatten(tree: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The tree as JSON, with its arrays moved out to `arrays`: in the order of their keys, so that equal trees give
    equal files, whatever order their dicts grew in."""
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
    """The inverse of flatten. Takes each array out of `arrays`, so that none can be named a thousand times."""
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
    raise ValueError(f"nothing in a checkpoint is called {kind}")


class CheckpointStore:
    """The models/ folder of a task."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.journal = Journal(folder / "journal")

    # reading ----------------------------------------------------------------------------------------------

    def numbers(self) -> list[int]:
        """Update steps of the checkpoints, oldest first."""
        if not self.folder.is_dir():
            return []
        return sorted(int(p.name) for p in self.folder.iterdir() if p.name.isdecimal() and p.is_dir())

    def has_best(self) -> bool:
        return (self.folder / "best").exists()

    def read(self, name: str | int, with_journal: bool = True) -> Saved:
        """A checkpoint by name, verified, or CheckpointError."""
        path = self.folder / str(name)
        if not path.exists():
            known = [str(number) for number in self.numbers()] + (["best"] if self.has_best() else [])
            have = f"there are {', '.join(known[-12:])}" if known else "there are none"
            raise CheckpointError(f"no checkpoint {name} in {self.folder}; {have}")
        if not path.is_dir():
            raise CheckpointError(
                f"{path} is a single file, not one of our checkpoints (a folder with manifest.json); it was not opened"
            )
        try:
            manifest = _read_manifest(path / "manifest.json")
            if manifest["format"] != FORMAT:
                raise CheckpointError(f"{path} has format {manifest['format']}; this version reads format {FORMAT}")
            data = (path / "state.safetensors").read_bytes()
            if hashlib.sha256(data).hexdigest() != manifest["state_sha256"]:
                raise CheckpointError(f"{path} is damaged: state.safetensors does not match its checksum")
            tree, facts = unflatten(manifest["tree"], load_arrays(data)), dict(manifest["facts"])
            span = Span.from_json(manifest["journal"])
            part = JournalPart(self.journal, span) if with_journal and span else None
            if part is not None:
                part.verify()
        except BAD_CONTENT as error:
            raise CheckpointError(f"{path} is damaged: {type(error).__name__}: {error}") from error
        return Saved(path, tree, facts, part)

    def newest(self, say: Callable[[str], None]) -> Saved:
        """The newest checkpoint that is whole. Damaged ones are said and passed over."""
        numbers = self.numbers()
        for number in reversed(numbers):
            try:
                return self.read(number)
            except CheckpointError as error:
                say(f"{error}; going back to the one before")
        raise CheckpointError(f"no whole checkpoint in {self.folder}" if numbers else f"no checkpoint in {self.folder}")

    # writing ----------------------------------------------------------------------------------------------

    def save(self, number: int, tree: Tree, memory: Any, facts: dict[str, Any]) -> Path:
        """Write everything, and only then give it its name. OSError leaves the earlier checkpoints as they were."""
        self.folder.mkdir(parents=True, exist_ok=True)
        new = self.folder / f"{number}.tmp"
        shutil.rmtree(new, ignore_errors=True)
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
            write_durably(new / "manifest.json", _manifest_bytes(body))
            sync_folder(new)
            replace_folder(new, self.folder / str(number))
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
        return self.folder / str(number)

    def mark_best(self, number: int) -> None:
        """models/best becomes this checkpoint: the same files under a second name."""
        new, source = self.folder / "best.tmp", self.folder / str(number)
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        for file in source.iterdir():
            try:
                os.link(file, new / file.name)
            except OSError:
                shutil.copy2(file, new / file.name)
        sync_folder(new)
        replace_folder(new, self.folder / "best")

    def realign_best(self, number: int | None) -> None:
        """models/best as the run that goes on knows it: what came after its checkpoint comes again."""
        if number is None:
            remove_folder(self.folder / "best")
        elif (self.folder / str(number)).is_dir():
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
        """What a checkpoint needs of the journal; nothing if it is damaged and cannot be read anyway."""
        try:
            return Span.from_json(_read_manifest(self.folder / str(number) / "manifest.json")["journal"])
        except (CheckpointError, *BAD_CONTENT):
            return None

    def recover(self) -> None:
        """Tidy up after a crash."""
        recover(self.folder)

    def continue_from(self, saved: Saved) -> None:
        """The run goes on from here: later checkpoints (damaged ones) step aside, the journal ends here."""
        for number in self.numbers():
            if number > int(saved.path.name):
                path = self.folder / str(number)
                shutil.rmtree(path.with_suffix(".damaged"), ignore_errors=True)
                os.rename(path, path.with_suffix(".damaged"))
        if saved.journal is not None:
            self.journal.continue_from(saved.journal.span.end)


def _manifest_bytes(body: dict[str, Any]) -> bytes:
    text = json.dumps(body, sort_keys=True).encode()
    return text + b"\n" + hashlib.sha256(text).hexdigest().encode() + b"\n"


def _read_manifest(path: Path) -> dict[str, Any]:
    text, _, digest = path.read_bytes().rstrip(b"\n").rpartition(b"\n")
    if hashlib.sha256(text).hexdigest().encode() != digest:
        raise CheckpointError(f"{path} is damaged: it does not match its own checksum")
    return json.loads(text)


def _check_finite(arrays: dict[str, np.ndarray]) -> None:
    """A model that has become NaN must not take the place of a good one."""
    for array in arrays.values():
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise NumericsError("the state holds NaN; it was not saved, and the earlier checkpoints stand")
