"""The store of steps: files that are only appended to, and that a resume cuts back to its checkpoint. Trajectories in
every format and traces are kept in it; a format says what a record and a file are."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, ClassVar, Protocol

from config.tell.language import tr
from framework.log import LOGGER

MOST_WAITING = 2**28
"""Bytes of records that are kept in memory while they cannot be written."""


class StepFile(Protocol):
    """The newest file of a series."""

    @property
    def full(self) -> bool:
        """True if the next record begins another file."""

    @property
    def waiting(self) -> int:
        """Bytes in memory that a full disk keeps out of the file."""

    def take(self, record: Any) -> None:
        """Appends a record. After an OSError the file is as before."""

    def end(self) -> dict[str, Any]:
        """Returns where the file ends, which is on the disk now."""

    def close(self) -> None: ...


class StepStore(ABC):
    """A series of files for each key, such as the name of a policy; the newest file of each is open. Opens none before
    the first record. Records that cannot be written (a full disk) wait in memory and are tried again with the next one;
    until they are written no checkpoint can be saved, so none is lost."""

    NOUN: ClassVar[str] = tr("trajectories")
    FORM: str = "pkl"
    """Format, as general_cfg.collect_format says it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[Any, Any] = {}
        """Key of a series -> its newest file."""
        self._waiting: list[tuple[Any, Any, int]] = []
        """Key, record and its bytes."""
        self._warned = False

    @property
    def path(self) -> Path:
        """The file, or the folder of several."""
        return self.folder

    @abstractmethod
    def _record(self, item: Any) -> tuple[Any, Any, int]:
        """Returns the key of the series that an item belongs to, its record, and the bytes of this."""

    @abstractmethod
    def _opened(self, key: Any, before: Any) -> StepFile:
        """Opens the file after a full one, or, with None, the file that a series goes on in."""

    def add(self, item: Any) -> None:
        """Appends an item."""
        self._waiting.append(self._record(item))
        try:
            self._write()
            if self._held() > MOST_WAITING:
                self._ends()
        except OSError as error:
            if self._held() > MOST_WAITING:
                raise
            if not self._warned:
                LOGGER.warning(tr("%s: %s; %s wait in memory"), error.filename, error.strerror, self.NOUN)
            self._warned = True

    def _held(self) -> int:
        return sum(size for *_, size in self._waiting) + sum(file.waiting for file in self._files.values())

    def _write(self) -> None:
        """Writes the waiting records."""
        while self._waiting:
            key, record, _ = self._waiting[0]
            file = self._files.get(key)
            if file is None or file.full:
                file = self._following(key, file)
            file.take(record)
            del self._waiting[0]

    def _following(self, key: Any, before: Any) -> Any:
        """Opens the next file of a series."""
        if before is not None:
            before.end()  # `state` makes only the files that follow durable
        file = self._opened(key, before)
        if before is not None:
            before.close()
        self._files[key] = file
        return file

    def _ends(self) -> dict[Any, dict[str, Any]]:
        """Returns where each series ends, all of it on the disk."""
        self._write()
        return {key: file.end() for key, file in self._files.items()}

    def _only_end(self) -> dict[str, Any]:
        """Returns where the only series ends, which begins now if it has not."""
        self._write()
        return (self._files.get("") or self._following("", None)).end()

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Returns the ends of the files, which are on the disk now: the state for an exact resume."""

    @abstractmethod
    def restore(self, state: Mapping[str, Any]) -> bool:
        """Drops every record that was written after this state. Returns False if those before it have changed."""

    def _check_form(self, state: Mapping[str, Any]) -> None:
        if (form := state.get("form", "pkl")) != self.FORM:
            raise ValueError(
                tr("its trajectories are in {form}; resume with general_cfg.collect_format={form}", form=form)
            )

    def _drop(self) -> None:
        """Forgets what waits, and closes the files before they are cut."""
        self._waiting.clear()
        for file in self._files.values():
            with suppress(OSError):
                file.close()
        self._files.clear()

    def close(self) -> None:
        """Closes the files. Records that still wait are tried once more."""
        files = self._files
        try:
            self._write()
        finally:
            self._waiting.clear()
            self._files = {}
            with ExitStack() as stack:
                for file in files.values():
                    stack.callback(file.close)
