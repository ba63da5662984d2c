"""MLflow: files in mlruns/ of the task directory, unless MLFLOW_TRACKING_URI names another store."""

import os
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from algos.base import Tree
from config.read.opening import read_regular, regular
from framework.record.loggers import flat
from framework.record.service import PROJECT, Beyond, Service

MOST_WAITING = 500
"""Number of values that wait to be written together."""
MOST_SECONDS = 5.0
"""Longest time that values wait."""
MOST_PARAMS = 100
"""Number of settings that MLflow takes at once."""
LONGEST = 500
"""Letters of a setting that every store of MLflow takes."""
MOST_BYTES = 2**30
"""Size of the largest file of a curve that is cut back."""


class MlflowLogger(Service):
    """A run of MLflow, with the name of the task directory."""

    NAME = "mlflow"
    VARIABLES = {
        "MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_ALLOW_FILE_STORE": "true",
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    }  # fmt: skip
    """By these, nothing is sent, and a store of files is allowed. MLflow itself tries for minutes to reach a server,
    and the run waits."""

    def __init__(self) -> None:
        super().__init__()
        self._entities = import_module("mlflow.entities")
        self._client: Any = None
        self._waiting: list[Any] = []
        self._written = 0.0
        """Time of the last write, in seconds of a clock that is never set."""

    def _is_local(self) -> bool:
        return not os.environ.get("MLFLOW_TRACKING_URI")

    def _begin(self, folder: Path, config: Mapping[str, Any], goes_on: bool) -> None:
        default = (folder / "mlruns").absolute().as_uri()
        self._client = self._package.MlflowClient(tracking_uri=os.environ.get("MLFLOW_TRACKING_URI") or default)
        was_left = self._is_local() and not any(folder.glob(f"mlruns/*/{self.id}"))  # the run was copied without it
        if goes_on and not was_left:
            self._client.update_run(self.id, status="RUNNING")
            return
        experiment = self._client.get_experiment_by_name(PROJECT)
        number = experiment.experiment_id if experiment else self._client.create_experiment(PROJECT)
        self.id = self._client.create_run(number, run_name=folder.name).info.run_id
        params = [self._entities.Param(name, str(value)[:LONGEST]) for name, value in flat(config)]
        for place in range(0, len(params), MOST_PARAMS):
            self._client.log_batch(self.id, params=params[place : place + MOST_PARAMS])

    def _cut(self, folder: Path, beyond: Beyond) -> None:
        """Shortens the file of each curve, which has a line for each point."""
        for metrics in folder.glob(f"mlruns/*/{self.id}/metrics"):
            for path in (path for path in metrics.rglob("*") if path.is_file()):
                curve = path.relative_to(metrics).as_posix()
                lines = read_regular(path, MOST_BYTES).splitlines(keepends=True)
                kept = [line for line in lines if not beyond(curve)]
                if not kept:
                    path.unlink()
                elif len(kept) < len(lines):
                    with open(path, "r+b", opener=regular) as file:
                        file.truncate(sum(map(len, kept)))

    def _send(self, group: str, values: Mapping[str, float], step: int) -> None:
        now = time.time()  # as MLflow shows it; the clock may be set
        self._waiting += [self._entities.Metric(name, value, round(1000 * now), step) for name, value in values.items()]
        if len(self._waiting) > MOST_WAITING or time.monotonic() - self._written > MOST_SECONDS:
            self._write()

    def files(self, paths: Sequence[Path]) -> None:
        for path in paths:
            self._client.log_artifact(self.id, str(path))

    def close(self) -> None:
        super().close()
        client, self._client = self._client, None
        if client is not None and self.id:
            self._write(client)
            client.set_terminated(self.id)

    def state(self) -> Tree:
        self._write()
        return {**super().state(), "newest": []}

    def _write(self, client: Any = None) -> None:
        waiting, self._waiting, self._written = self._waiting, [], time.monotonic()
        if waiting:
            (client or self._client).log_batch(self.id, metrics=waiting)
