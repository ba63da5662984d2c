"""Trackio: into its own folder, which its dashboard shows, unless TRACKIO_SPACE_ID or TRACKIO_SERVER_URL name a
server."""

import contextlib
import io
import json
import os
import re
import secrets
import sqlite3
import warnings
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from algos.base import Tree
from framework.log import LOGGER
from framework.record.service import PROJECT, Beyond, Service

SERVERS = ("TRACKIO_SPACE_ID", "TRACKIO_SERVER_URL")
"""Variables by which the user names a server."""


class TrackioLogger(Service):
    """A run of Trackio. Its name is that of the task directory with a few letters of its own: Trackio goes on with a
    run by its name."""

    NAME = "trackio"

    def _is_local(self) -> bool:
        return not any(os.environ.get(name) for name in SERVERS)

    def _begin(self, folder: Path, config: Mapping[str, Any], goes_on: bool) -> None:
        name = re.sub(r"[^\w-]", "_", folder.name)[:150]
        self.id = self.id or f"{name}-{secrets.token_hex(3)}"
        project = os.environ.get("TRACKIO_PROJECT", PROJECT)
        if self._is_local():
            # trackio.init would send the token of the Hugging Face hub there, to learn the name of its owner
            self._run = _local_run()(url=None, project=project, client=None, name=self.id, run_id=self.id,
                                     config=dict(config))  # fmt: skip
            return
        with _in_the_log():
            self._run = self._package.init(
                project, name=self.id, config=dict(config), resume="allow" if goes_on else "never", embed=False,
                auto_log_gpu=False, auto_log_cpu=False,
            )  # fmt: skip

    def _cut(self, folder: Path, beyond: Beyond) -> None:
        storage = import_module("trackio.sqlite_storage").SQLiteStorage
        path = storage.get_project_db_path(os.environ.get("TRACKIO_PROJECT", PROJECT))
        if not path.is_file():  # the run was copied from another machine
            return
        with contextlib.closing(sqlite3.connect(path, timeout=30)) as base, base:
            rows = base.execute("SELECT id, metrics FROM metrics WHERE run_id = ? ORDER BY id", (self.id,)).fetchall()
            for number, metrics in rows:
                if any([beyond(curve) for curve in json.loads(metrics)]):
                    base.execute("DELETE FROM metrics WHERE id = ?", (number,))

    def _send(self, group: str, values: Mapping[str, float], step: int) -> None:
        self._run.log(dict(values), step=step)

    def state(self) -> Tree:
        if self._is_local() and self._run is not None:  # a thread writes them twice a second, and a run may be killed
            self._run._flush_queues_inline()
            return {**super().state(), "newest": []}
        return super().state()

    def _finish(self, run: Any) -> None:
        with _in_the_log():
            super()._finish(run)


@contextlib.contextmanager
def _in_the_log() -> Iterator[None]:
    """Keeps what Trackio prints from the terminal, and logs each of its warnings in a line."""
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        yield
    for warning in caught:
        LOGGER.warning("trackio: %s", " ".join(str(warning.message).split()))


def _local_run() -> Any:
    """Returns the class of a run in files, which asks no server for the name of the user."""

    class LocalRun(import_module("trackio.run").Run):  # type: ignore[misc]
        def _get_username(self) -> None:
            return None

    return LocalRun
