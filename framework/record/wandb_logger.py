"""Weights & Biases: offline, into wandb/ of the task directory, unless WANDB_MODE says otherwise."""

import contextlib
import io
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from framework.record import leveldb_log
from framework.record.service import PROJECT, Beyond, Service

AXES = {"interact": "environment_step", "model": "update"}
"""Group -> name of its horizontal axis."""


class WandbLogger(Service):
    """A run of wandb, with the name of the task directory. `wandb sync` sends one that was written offline."""

    NAME = "wandb"
    VARIABLES = {"WANDB_MODE": "offline", "WANDB_ERROR_REPORTING": "false", "WANDB_INIT_TIMEOUT": "30"}
    """By these, nothing is sent, and a server is waited for half a minute."""
    _folder: Path | None = None

    def _is_local(self) -> bool:
        return os.environ["WANDB_MODE"] not in ("online", "shared")

    def _begin(self, folder: Path, config: Mapping[str, Any], goes_on: bool) -> None:
        quiet = self._package.Settings(
            symlink=False,
            silent=True,
            console="off",
            disable_git=True,
            save_code=False,
            x_disable_stats=True,
            x_transaction_log_flush_interval=1.0,
        )  # a task directory has no links, and says itself what it was made with
        self._folder = folder.absolute()
        self.id = self.id or secrets.token_hex(4)
        while next(folder.glob(f"wandb/offline-run-{time.strftime('%Y%m%d_%H%M%S')}-{self.id}"), None):
            time.sleep(0.1)  # wandb would write over the file of a session that began in the same second
        try:
            self._run = self._package.init(
                dir=str(self._folder), project=os.environ.get("WANDB_PROJECT", PROJECT), name=folder.name,
                config=dict(config), id=self.id, resume="allow" if goes_on else None, settings=quiet,
            )  # fmt: skip
        finally:
            self._without_links()
        for group, axis in AXES.items():
            self._run.define_metric(axis)
            self._run.define_metric(f"{group}/*", step_metric=axis)

    def _cut(self, folder: Path, beyond: Beyond) -> None:
        for path in sorted(folder.glob(f"wandb/offline-run-*-{self.id}/run-{self.id}.wandb")):
            leveldb_log.cut(path, lambda record: any([beyond(curve) for curve in _curves(record)]))

    def _send(self, group: str, values: Mapping[str, float], step: int) -> None:
        self._run.log({**values, AXES[group]: step})

    def files(self, paths: Sequence[Path]) -> None:
        with contextlib.redirect_stderr(io.StringIO()):  # it prints a warning that a change would not be noticed
            for path in paths:
                self._run.save(str(path.absolute()), base_path=str(self._folder), policy="now")

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._without_links()

    def _without_links(self) -> None:
        """Deletes the link to wandb's log of its own process, which no setting prevents: a task directory with links
        is refused by a resume."""
        for path in (self._folder / "wandb").rglob("*") if self._folder else ():
            if path.is_symlink():
                path.unlink()


def _curves(data: bytes) -> list[str]:
    """Returns the curves that a record has points of."""
    items = import_module("wandb.proto.wandb_internal_pb2").Record.FromString(data).history.item
    names = [item.key or "/".join(item.nested_key) for item in items]
    return [name for name in names if name.partition("/")[0] in AXES]
