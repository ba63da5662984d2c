"""MLflow: files in mlruns/ of the task directory, unless MLFLOW_TRACKING_URI names another store."""

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from algos.base import Tree
from config.tell.language import tr
from framework.errors import JoystickError
from framework.record.loggers import Logger, flat

INSTALL = 'pip install "mlflow-skinny>=3.17"'
OFFLINE = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_ALLOW_FILE_STORE": "true"}
"""Variables that the user may set otherwise; by these, nothing is sent, and a store of files is allowed."""
EXPERIMENT = "joystick"
MOST_WAITING = 500
"""Number of values that wait to be written together."""
MOST_PARAMS = 100
"""Number of settings that MLflow takes at once."""
LONGEST = 500
"""Letters of a setting that every store of MLflow takes."""


class MlflowLogger(Logger):
    """A run of MLflow, with the name of the task directory."""

    def __init__(self) -> None:
        for name, value in OFFLINE.items():
            os.environ.setdefault(name, value)
        try:
            import mlflow
            from mlflow import entities
        except ImportError as error:
            raise JoystickError(
                tr("mlflow needs a package that is not installed here: {install}", install=INSTALL)
            ) from error
        self._client_of, self._entities = mlflow.MlflowClient, entities
        self._client: Any = None
        self._run = ""
        self._waiting: list[Any] = []

    def start(self, folder: Path, config: Mapping[str, Any], state: Tree) -> None:
        default = (folder / "mlruns").absolute().as_uri()
        self._client = self._client_of(tracking_uri=os.environ.get("MLFLOW_TRACKING_URI") or default)
        run_id = state.get("run") if isinstance(state, dict) else None
        if run_id:
            self._run = str(run_id)
            self._client.update_run(self._run, status="RUNNING")
            return
        experiment = self._client.get_experiment_by_name(EXPERIMENT)
        number = experiment.experiment_id if experiment else self._client.create_experiment(EXPERIMENT)
        self._run = self._client.create_run(number, run_name=folder.name).info.run_id
        params = [self._entities.Param(name, str(value)[:LONGEST]) for name, value in flat(config)]
        for place in range(0, len(params), MOST_PARAMS):
            self._client.log_batch(self._run, params=params[place : place + MOST_PARAMS])

    def scalars(self, group: str, values: Mapping[str, float], step: int) -> None:
        now = round(1000 * time.time())
        self._waiting += [self._entities.Metric(f"{group}/{name}", value, now, step) for name, value in values.items()]
        if len(self._waiting) > MOST_WAITING:
            self._write()

    def files(self, paths: Sequence[Path]) -> None:
        for path in paths:
            self._client.log_artifact(self._run, str(path))

    def close(self) -> None:
        if self._run:
            self._write()
            self._client.set_terminated(self._run)
            self._run = ""

    def state(self) -> Tree:
        self._write()
        return {"run": self._run}

    def _write(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._client.log_batch(self._run, metrics=waiting)
