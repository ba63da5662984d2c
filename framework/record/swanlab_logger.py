"""SwanLab: offline, into swanlog/ of the task directory, unless SWANLAB_MODE says otherwise."""

import contextlib
import io
import os
import secrets
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from algos.base import Tree
from framework.record import leveldb_log
from framework.record.service import PROJECT, Beyond, Service

ONLINE = ("online", "cloud")
"""Modes in which points go to a server."""


class SwanlabLogger(Service):
    """A run of SwanLab, with the name of the task directory. `swanlab sync` sends one that was written offline."""

    NAME = "swanlab"
    VARIABLES = {"SWANLAB_MODE": "offline", "SWANLAB_INTERACTIVE": "false"}
    """By these, nothing is sent, and nothing is asked."""

    def _is_local(self) -> bool:
        return os.environ["SWANLAB_MODE"] not in ONLINE

    def _begin(self, folder: Path, config: Mapping[str, Any], goes_on: bool) -> None:
        self.id = self.id or secrets.token_hex(8)
        settings = self._package.Settings
        quiet = settings(
            probe=settings.Probe(
                hardware=False, runtime=False, requirements=False, git=False, swanlab=False, monitor=False
            ),
            terminal=settings.Terminal(proxy_type="none"),
        )  # a task directory says itself what it was made with, and the terminal is ours
        with _silence():
            self._run = self._package.init(
                log_dir=str((folder / "swanlog").absolute()), mode=os.environ["SWANLAB_MODE"],
                project=os.environ.get("SWANLAB_PROJ_NAME", PROJECT), name=folder.name, config=dict(config),
                id=self.id, resume="allow", settings=quiet,
            )  # fmt: skip

    def _cut(self, folder: Path, beyond: Beyond) -> None:
        parsed = import_module("swanlab.proto.swanlab.record.v1.record_pb2").Record.FromString

        def is_beyond(record: bytes) -> bool:
            curve = parsed(record).scalar.key
            return bool(curve) and beyond(curve)

        for path in sorted(folder.glob(f"swanlog/run-*-{self.id}/run-{self.id}.swanlab")):
            leveldb_log.cut(path, is_beyond)

    def _send(self, group: str, values: Mapping[str, float], step: int) -> None:
        self._run.log(dict(values), step=step)

    def state(self) -> Tree:
        store = getattr(getattr(self._run, "_core", None), "_store", None)
        if store is not None:  # SwanLab itself writes its buffer at the end alone, and a run may be killed before
            store.ensure_flushed()
        return super().state()

    def _finish(self, run: Any) -> None:
        with _silence():
            super()._finish(run)


@contextlib.contextmanager
def _silence() -> Any:
    """Keeps SwanLab's greeting, its animation and its advertisement from the terminal."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield
