"""Weights & Biases: offline, into wandb/ of the task directory, unless WANDB_MODE says otherwise."""

import contextlib
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from algos.base import Tree
from config.tell.language import tr
from framework.errors import JoystickError
from framework.record.loggers import Logger

INSTALL = 'pip install "wandb>=0.31"'
OFFLINE = {"WANDB_MODE": "offline", "WANDB_ERROR_REPORTING": "false"}
"""Variables that the user may set otherwise; by these, nothing is sent."""
AXES = {"interact": "environment_step", "model": "update"}
"""Group -> name of its horizontal axis."""


class WandbLogger(Logger):
    """A run of wandb, with the name of the task directory. `wandb sync` sends one that was written offline."""

    def __init__(self) -> None:
        for name, value in OFFLINE.items():
            os.environ.setdefault(name, value)
        try:
            import wandb
        except ImportError as error:
            raise JoystickError(
                tr("wandb needs a package that is not installed here: {install}", install=INSTALL)
            ) from error
        self._wandb: Any = wandb
        self._run: Any = None
        self._folder: Path | None = None

    def start(self, folder: Path, config: Mapping[str, Any], state: Tree) -> None:
        run_id = state.get("id") if isinstance(state, dict) else None
        quiet = self._wandb.Settings(
            symlink=False, silent=True, console="off", disable_git=True, save_code=False, x_disable_stats=True
        )  # a task directory has no links, and says itself what it was made with
        self._folder = folder.absolute()
        try:
            self._run = self._wandb.init(
                dir=str(self._folder), project=os.environ.get("WANDB_PROJECT", "joystick"), name=folder.name,
                config=dict(config), id=str(run_id) if run_id else None, resume="allow" if run_id else None,
                settings=quiet,
            )  # fmt: skip
        finally:
            self._without_links()
        for group, axis in AXES.items():
            self._run.define_metric(axis)
            self._run.define_metric(f"{group}/*", step_metric=axis)

    def scalars(self, group: str, values: Mapping[str, float], step: int) -> None:
        self._run.log({**{f"{group}/{name}": value for name, value in values.items()}, AXES[group]: step})

    def files(self, paths: Sequence[Path]) -> None:
        with contextlib.redirect_stderr(io.StringIO()):  # it prints a warning that a change would not be noticed
            for path in paths:
                self._run.save(str(path.absolute()), base_path=str(self._folder), policy="now")

    def close(self) -> None:
        run, self._run = self._run, None
        try:
            if run is not None:
                run.finish()
        finally:
            self._without_links()

    def state(self) -> Tree:
        return {"id": self._run.id}

    def _without_links(self) -> None:
        """Deletes the link to wandb's log of its own process, which no setting prevents: a task directory with links
        is refused by a resume."""
        for path in (self._folder / "wandb").rglob("*") if self._folder else ():
            if path.is_symlink():
                path.unlink()
