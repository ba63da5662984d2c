"""Loggers of a user's own."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from joystick import Logger


class Lines(Logger):
    """Writes each call as a line of JSON into the task directory."""

    def start(self, folder: Path, config: Mapping[str, Any], state: Any) -> None:
        self.path, self.calls = folder / "lines.jsonl", state.get("calls", 0)
        self._write("start", config["general_cfg"]["algo_name"], self.calls)

    def scalars(self, group: str, values: Mapping[str, float], step: int) -> None:
        self.calls += 1
        self._write("scalars", group, dict(values), step)

    def files(self, paths: Sequence[Path]) -> None:
        self._write("files", [str(path.relative_to(self.path.parent)) for path in paths])

    def close(self) -> None:
        self._write("close")

    def state(self) -> Any:
        return {"calls": self.calls}

    def _write(self, *line: Any) -> None:
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


class Fails(Lines):
    """Fails at its third point."""

    def scalars(self, group: str, values: Mapping[str, float], step: int) -> None:
        super().scalars(group, values, step)
        if self.calls == 3:
            raise RuntimeError("no server here")


class Spoils(Lines):
    """Has a state that no checkpoint can hold."""

    def state(self) -> Any:
        return {"file": self}


class FailsAtItsEnd(Lines):
    """Cannot write what waits."""

    def close(self) -> None:
        super().close()
        raise KeyError("queue")


class Short(Lines):
    """Takes fewer arguments than it gets."""

    def scalars(self, values: Mapping[str, float], step: int) -> None:  # type: ignore[override]
        self._write("scalars", dict(values), step)


class NoLogger:
    """Lacks the base class."""


class Misspelled(Logger):
    """Has a method that no run calls."""

    def scalar(self, group: str, values: Mapping[str, float], step: int) -> None:
        raise AssertionError


class Idle(Logger):
    """Receives nothing."""

    def start(self, folder: Path, config: Mapping[str, Any], state: Any) -> None:
        raise AssertionError
