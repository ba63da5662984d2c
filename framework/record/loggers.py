"""Loggers: where metrics are sent besides the CSV files, TensorBoard among them."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from algos.base import Tree
from config.own import objects as own
from config.tell.language import tr
from config.tell.names import did_you_mean
from framework.disk.checkpoints import flatten

HOMES = {
    "tensorboard": "framework.record.tensorboard:TensorBoard",
    "wandb": "framework.record.wandb_logger:WandbLogger",
    "mlflow": "framework.record.mlflow_logger:MlflowLogger",
    "swanlab": "framework.record.swanlab_logger:SwanlabLogger",
    "trackio": "framework.record.trackio_logger:TrackioLogger",
}
"""Name in general_cfg.loggers -> class."""


class Logger:
    """Ignores all numbers; a subclass overrides what it wants. It is made without arguments before the task directory
    exists. An error in it is a warning, and the run goes on without it."""

    def start(self, folder: Path, config: Mapping[str, Any], state: Tree) -> None:
        """Begins. folder: the task directory; config: all settings, by section; state: what `state` returned at the
        checkpoint that the run goes on from, {} in a new run. Called again after `close` if the run returns to a
        checkpoint."""

    def scalars(self, group: str, values: Mapping[str, float], step: int) -> None:
        """Receives points of several curves at one step. group: interact (over environment steps) or model (over
        updates)."""

    def files(self, paths: Sequence[Path]) -> None:
        """Receives what the end of a session leaves to look at: settings, report, figure, video."""

    def close(self) -> None:
        """Writes what waits, and ends."""

    def state(self) -> Tree:
        """Returns what checkpoints keep, such as the name of its own run: numbers, text, dicts and lists."""
        return {}


METHODS = ("start", "scalars", "files", "close", "state")
"""Names of the methods that a run calls."""
RECEIVERS = ("scalars", "files", "close")
"""Names of the methods of which a logger needs one, since it would do nothing without."""


def problem(cls: Any) -> str:
    """Returns what is wrong with a class of a logger; empty if nothing is."""
    if not isinstance(cls, type) or not issubclass(cls, Logger):
        return tr(
            "{thing} is not a class that inherits from joystick.Logger", thing=getattr(cls, "__qualname__", repr(cls))
        )
    inherited = [name for name in RECEIVERS if getattr(cls, name) is getattr(Logger, name)]
    for name in sorted(set(dir(cls)) - set(dir(Logger))):
        if not name.startswith("_") and (hint := did_you_mean(name, inherited)):
            return tr("{logger} has {name}, which no run calls{hint}", logger=cls.__name__, name=name, hint=hint)
    for method in METHODS:
        if fault := _call_fault(cls, method):
            return fault
    if len(inherited) == len(RECEIVERS):
        names = ", ".join(RECEIVERS)
        return tr("{logger} has none of the methods that receive something: {names}", logger=cls.__name__, names=names)
    return ""


def _call_fault(cls: type[Logger], method: str) -> str:
    """Returns why a method cannot be called with its arguments; empty if it can."""
    arguments = [*inspect.signature(getattr(Logger, method)).parameters][1:]
    try:
        inspect.signature(getattr(cls, method)).bind(None, *arguments)
    except TypeError as error:
        return tr(
            "{logger}.{method} is called as {method}({arguments}): {error}",
            logger=cls.__name__,
            method=method,
            arguments=", ".join(arguments),
            error=error,
        )
    except ValueError:  # a builtin, whose parameters Python cannot tell
        pass
    return ""


def flat(config: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the settings by their names: section.key."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _of_service(error: BaseException) -> str:
    """Returns the text of an error of a service in one line, with its kind where the text alone says little."""
    plain = str(error) and not isinstance(error, SystemExit | KeyError)
    return " ".join((str(error) if plain else f"{type(error).__name__}: {error}").split()).rstrip(".")


class Loggers:
    """The loggers of a run, by their names. One that fails is closed with a warning."""

    def __init__(
        self, loggers: Mapping[str, Logger], folder: Path, config: Mapping[str, Any], warn: Callable[[str], None]
    ) -> None:
        self._all, self._folder, self._config, self._warn = dict(loggers), folder, config, warn
        self._running: dict[str, Logger] = {}
        self._states: dict[str, Tree] = {}
        """State from a checkpoint, by logger, for those that have not begun."""

    def begin(self) -> None:
        """Starts those that do not run, each with its state."""
        for name, logger in list(self._all.items()):
            if name not in self._running:
                self._running[name] = logger
                self._call(name, "start", self._folder, self._config, self._states.pop(name, {}))

    def scalars(self, group: str, values: Mapping[str, float], step: int) -> None:
        """Passes on points of several curves at one step."""
        for name in list(self._running):
            self._call(name, "scalars", group, values, step)

    def files(self, paths: Sequence[Path]) -> None:
        """Passes on files."""
        for name in list(self._running):
            self._call(name, "files", paths)

    def state(self) -> dict[str, Tree]:
        """Returns the states of those that run, or will; one that has failed has none."""
        states = {name: self._call(name, "state") for name in list(self._running)}
        return {**self._states, **{name: state for name, state in states.items() if name in self._running}}

    def load_state(self, states: Mapping[str, Tree]) -> None:
        """Ends all; the next `begin` starts them with these states."""
        self.close()
        self._states = {name: state for name, state in states.items() if name in self._all}

    def close(self) -> None:
        """Ends all that run."""
        for name in list(self._running):
            self._call(name, "close")
        self._running.clear()

    def _call(self, name: str, method: str, *args: Any) -> Any:
        try:
            result = getattr(self._running[name], method)(*args)
        except (Exception, SystemExit) as error:  # a service may fail in any way, and the numbers are in the CSV files
            self._drop(name, own.described(error) if own.is_own(name) else _of_service(error), method)
            return None
        if method == "state":
            try:
                flatten(result, {})
            except TypeError as error:
                self._drop(name, tr("a checkpoint cannot hold what its state() returns: {error}", error=error), method)
                return None
        return result

    def _drop(self, name: str, why: str, method: str) -> None:
        logger = self._running.pop(name)
        self._all.pop(name)
        if method == "close":
            text = tr("logger {name} failed when it was closed: {why}. It may lack points; results/ has all numbers")
        else:
            text = tr("logger {name} stopped: {why}. Training goes on; results/ holds the same numbers")
        self._warn(text.format(name=name, why=why))
        if method != "close":
            try:
                logger.close()
            except (Exception, SystemExit):  # it has failed already, and that was said
                return
