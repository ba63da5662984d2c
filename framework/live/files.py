"""Files that the page may fetch. Each has a key; no address contains a path, so none can lead out of the folder."""

import hmac
import os
import secrets
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple
from urllib.parse import quote

from config.read.task_files import REPORT
from config.tell.names import printable
from framework.disk.lines import opened

PLACES = ("", "results", "videos", "logs")
"""Folders of a task directory whose files are shown."""
KINDS = {
    ".html": "text/html; charset=utf-8", ".csv": "text/csv; charset=utf-8", ".txt": "text/plain; charset=utf-8",
    ".yaml": "text/plain; charset=utf-8", ".png": "image/png", ".gif": "image/gif", ".mp4": "video/mp4",
}  # fmt: skip
"""Ending of a file that is shown -> its type."""
MOST_FILES = 60
"""Number of files of a run that are shown, newest first; a run may film any number of episodes."""

MOST_KEPT = 8
"""Number of pages that are kept."""


class Shown(NamedTuple):
    """A file of a run."""

    name: str
    """Place in its task directory."""
    url: str
    """Changes when the file does."""
    kind: str
    size: int


class Files:
    """Lists files and opens those that it has listed. Links are not followed."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)
        self._listed: dict[str, Path] = {}
        self._kept: OrderedDict[str, bytes] = OrderedDict()

    def of(self, folder: Path, places: Iterable[str] = PLACES) -> list[Shown]:
        """Returns the newest files in each place of a folder, newest first: many videos do not hide the report."""

        def newest(entries: Iterable[tuple[Path, os.stat_result]]) -> list[tuple[Path, os.stat_result]]:
            return sorted(entries, key=lambda item: -item[1].st_mtime_ns)[:MOST_FILES]

        of_places = [entry for place in places for entry in newest(_entries(folder / place))]
        ordered = sorted(of_places, key=lambda item: -item[1].st_mtime_ns)
        return [self._shown(folder, path, status) for path, status in ordered]

    def _shown(self, folder: Path, path: Path, status: os.stat_result) -> Shown:
        key = hmac.digest(self._secret, os.fsencode(path), "sha256").hex()
        self._listed[key] = path
        name = quote(path.name, errors="surrogateescape", safe="")
        url = f"/file/{key}/{name}?{status.st_mtime_ns}"
        place = printable(path.relative_to(folder).as_posix())
        return Shown(place, url, KINDS[path.suffix], status.st_size)

    def keep(self, name: str, content: bytes) -> str:
        """Keeps a page that is no file, and returns its address; the oldest of many is dropped."""
        key = secrets.token_hex(32)
        self._kept[key] = content
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return f"/file/{key}/{name}"

    def open(self, key: str) -> tuple[BinaryIO, str] | None:
        """Returns a file that was listed, or a page that is kept, and its type; None for any other key, and if it is
        gone."""
        if key in self._kept:
            return BytesIO(self._kept[key]), KINDS[".html"]
        path = self._listed.get(key)
        try:
            return None if path is None else (opened(path), KINDS[path.suffix])
        except OSError:
            return None


def _entries(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yields the files of a folder that are shown."""
    try:
        if folder.is_symlink():
            return
        with os.scandir(folder) as entries:
            for entry in entries:
                path = Path(entry.path)
                if path.suffix == ".html" and path.name != REPORT:
                    continue
                if path.suffix in KINDS and entry.is_file(follow_symlinks=False):
                    yield path, entry.stat(follow_symlinks=False)
    except OSError:
        return
