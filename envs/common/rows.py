"""Makes rows of a scalar environment: stepped in turn in this process, or each in a process of its own."""

import contextlib
import multiprocessing
import os
import signal
import sys
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import cloudpickle
import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from gymnasium.vector.async_vector_env import AsyncState

from config import machine
from config.system.processes import at_fork
from config.tell.language import tr
from envs.base import Array, EnvError, VectorEnv
from envs.common import masks
from envs.common.error_text import described
from envs.common.facts import EnvFacts, facts_of
from envs.common.probe import first_action, probe
from envs.common.sync import Row, SyncVector
from envs.common.vector import GymnasiumVector, Masked, end_processes, mode_of

Maker = Callable[[int], gymnasium.Env]
"""Makes the environment of a row."""
Spaces = tuple[gymnasium.Space, gymnasium.Space]
"""Spaces of observations and of actions."""
ASYNC_PAYS = 0.25e-3
"""Seconds per environment step above which one process per row is faster than the communication costs."""
SEVERAL = ("agents", "possible_agents", "num_agents", "observation_spaces")
"""Attributes of environments of several agents; those of PettingZoo have one of them already as classes."""


def assemble(
    maker: Maker, name: str, rows: int, vectorization: str, obey_masks: bool = True, first: Any = None
) -> VectorEnv:
    """Makes rows of a scalar environment, after checking its API on the first one. A maker may also give a vector
    environment, ours or gymnasium's, which has all the rows. first: environment of row 0, if it has been made."""
    env = make_env(maker, name, 0) if first is None else first
    if isinstance(env, VectorEnv | gymnasium.vector.VectorEnv):
        return _whole(env, name, rows, obey_masks)
    if fault := no_environment(env):
        raise EnvError(f"{name} {fault}")
    masked, source = probe(env, name, obey_masks), env.observation_space
    if masked or masks.in_observation(env.observation_space):
        maker, env = partial(masks.with_masks, maker, obey_masks), masks.Legal(env, obey_masks)
    first = Row(env, name, 0)
    inside = masks.in_observation(source)
    facts = facts_of(env, first.parts, masked, name)._replace(
        start=first.start, encode=masks.encoder(first.encode, inside), mask_inside=inside
    )
    vector: VectorEnv
    if vectorization == "async" or (vectorization == "auto" and _async_pays(first, rows, name)):
        first.close()
        vector = _async(maker, name, rows, facts, first.spaces)
    else:
        members = [first, *(Row(make_env(maker, name, i), name, i) for i in range(1, rows))]
        check_spaces(name, [row.spaces for row in members], first.spaces)
        vector = SyncVector(members, facts)
    vector.source_space = source
    return vector


def check_spaces(name: str, rows: Sequence[Spaces], first: Spaces) -> None:
    """Raises EnvError if a row has other spaces than the first one. rows: spaces of each row. first: those that the
    run is built for."""
    for row, spaces in enumerate(rows):
        for what, own, expected in zip(("observation_space", "action_space"), spaces, first, strict=True):
            if own != expected:
                raise EnvError(
                    "{name}: the {what} of row {row} is {own}, and the run is made for {expected}: "
                    "all rows need the same one",
                    name=name,
                    what=what,
                    row=row,
                    own=own,
                    expected=expected,
                )


def no_environment(thing: Any) -> str | None:
    """Returns what is wrong with a class or an object that is not an environment, after its name; None if it is one."""
    kind = thing if isinstance(thing, type) else type(thing)
    if issubclass(kind, gymnasium.Env | gymnasium.vector.VectorEnv | VectorEnv):
        return None
    if any(hasattr(thing, name) for name in SEVERAL):
        needed = ("possible_agents", "observation_space(agent)", "action_space(agent)", "reset", "step")
        lacks = [name for name in needed if not hasattr(thing, name.partition("(")[0])] or needed[1:3]
        return tr(
            "is an environment of several agents ({kind}) without {names}; joystick.OldGym(env) "
            "accepts the old form, and spaces in mappings by agent",
            kind=kind.__name__,
            names=", ".join(lacks),
        )
    if hasattr(kind, "observation_spec") and hasattr(kind, "action_spec"):
        return tr(
            "is an environment of dm_env ({kind}), whose step gives a TimeStep: write a gymnasium.Env around it, see "
            "docs/environments.md",
            kind=kind.__name__,
        )
    if hasattr(kind, "reset") and hasattr(kind, "step"):
        return tr(
            "is not a gymnasium.Env ({kind}): inherit from it; one of several agents needs methods "
            "observation_space(agent) and action_space(agent); joystick.OldGym(env) accepts the old step of 4 values, "
            "and spaces in mappings by agent",
            kind=kind.__name__,
        )
    return tr("is not an environment ({kind}): inherit from gymnasium.Env", kind=kind.__name__)


def _whole(env: Any, name: str, rows: int, obey_masks: bool) -> VectorEnv:
    """Returns a vector environment as ours."""
    size = env.rows if isinstance(env, VectorEnv) else env.num_envs
    if size != rows:
        env.close()
        raise EnvError(
            "{name} has {size} rows, and {rows} are needed here: take their number from the argument "
            "num_envs, or from env_config.num_envs",
            name=name,
            size=size,
            rows=rows,
        )
    return env if isinstance(env, VectorEnv) else GymnasiumVector(mode_of(env), name, obey_masks=obey_masks)


def make_env(maker: Callable[[int], Any], name: str, index: int) -> Any:
    """Makes the environment of a row."""
    # what float32 cannot hold is infinite then, and refused in a sentence
    warnings.filterwarnings(
        "ignore", r".*overflow encountered in cast", RuntimeWarning, r"(envs|framework|gymnasium)\."
    )
    try:
        return maker(index)
    except (Exception, SystemExit) as error:
        raise EnvError("{name} could not be made: {error}", name=name, error=described(error)) from error


def _async(maker: Maker, name: str, rows: int, facts: EnvFacts, spaces: Spaces) -> VectorEnv:
    # of a process that has ended: the error that says so is reported
    warnings.filterwarnings("ignore", r".*WARN: Calling `close` while waiting", UserWarning)
    parent = os.getpid()
    makers = [partial(_row_of_process, maker, name, i, parent) for i in range(rows)]
    with _without_main():
        env = Processes(name, makers, spaces)
    return GymnasiumVector(Masked(env), name, facts, visit=partial(_visit, env))


class Processes(AsyncVectorEnv):
    """Rows that are processes."""

    def __init__(self, name: str, makers: Sequence[Callable[[], Any]], spaces: Spaces) -> None:
        """spaces: of each row. Raises EnvError if a row has others, or could not be made."""
        self._name, self._spaces = name, spaces
        self.processes: list[Any] = []
        try:
            super().__init__(makers, autoreset_mode=AutoresetMode.DISABLED, copy=False)
        except OSError as error:  # a limit of processes or of open files
            self.closed, self._state = True, AsyncState.DEFAULT
            for process in self.processes:
                if process.pid is not None:
                    process.kill()
                    process.join()
            raise EnvError(
                "{name}: the processes of {count} rows could not be started: {reason}; "
                "choose a smaller env_cfg.n_envs, or env_cfg.vectorization=sync",
                name=name,
                count=len(makers),
                reason=tr(error.strerror or str(error)),
            ) from error

    def _check_spaces(self) -> None:
        """Compares the spaces of all rows, at the end of the constructor: gymnasium's own comparison tells neither row
        nor space, and leaves the processes to wait for a parent that has given up."""
        for process in self.processes:
            _end_by_kill(process)
        _open.add(self)
        try:
            check_spaces(self._name, self.get_attr("spaces"), self._spaces)
        except BaseException as error:
            end_processes(self)
            if isinstance(error, OSError | EOFError):
                raise EnvError("{name} could not be made: the process of a row ended", name=self._name) from error
            raise

    def _raise_if_errors(self, successes: Any) -> None:
        """Raises the last error of the rows. Gymnasium logs each one before, and takes a % in it for a format."""
        level, gymnasium.logger.min_level = gymnasium.logger.min_level, gymnasium.logger.ERROR + 1
        try:
            super()._raise_if_errors(successes)
        finally:
            gymnasium.logger.min_level = level


class Unmade:
    """Row whose environment could not be made: the error, for whoever asks for anything of it."""

    observation_space = action_space = None

    def __init__(self, error: EnvError) -> None:
        self._error = str(error)

    def get_wrapper_attr(self, name: str) -> Any:
        raise EnvError(self._error)

    def close(self) -> None:
        """Does nothing."""


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Keeps the processes started meanwhile from running the program's main file again, as they do where they are not
    forked (macOS, Windows): a program without `if __name__ == "__main__"` would train once more in each of them. They
    have no use for it: what it defines is sent to them whole."""
    main = vars(sys.modules["__main__"])
    former: dict[str, Any] = {name: main[name] for name in ("__file__", "__spec__") if name in main}
    if multiprocessing.get_start_method() != "fork":
        main.pop("__file__", None)
        main["__spec__"] = None
    try:
        yield
    finally:
        main.update(former)


_open: "weakref.WeakSet[AsyncVectorEnv]" = weakref.WeakSet()
"""Environments of this process whose rows are processes."""


def _abandon() -> None:
    """Lets a forked child leave the processes of the rows to its parent. Otherwise its end would end them: gymnasium
    closes what is not closed, and multiprocessing terminates what it takes for children."""
    for env in list(_open):
        env.closed = True
        getattr(multiprocessing.process, "_children", set()).difference_update(env.processes)


at_fork(after_in_child=_abandon)


def _visit(env: AsyncVectorEnv, function: Callable[[Any, int], Any], mask: Array) -> list[Any]:
    """Calls a function in the processes of the masked rows, and returns the results."""
    try:
        sent = cloudpickle.dumps(function)
    except Exception as error:
        raise EnvError("the function cannot be sent to the processes of the rows: {error}", error=error) from error
    results = []
    for answer in env.call("visit", sent, mask):
        if answer is not None:
            result, raised = cloudpickle.loads(answer)
            if raised is not None:
                raise raised
            results.append(result)
    return results


def _end_by_kill(process: Any) -> None:
    """Makes `terminate` of a process, also that at the end of this program, one that it cannot leave to its parent."""
    process._popen.terminate = process._popen.kill


def _left_to_parent(number: int, frame: Any) -> None:
    """Does nothing."""


def _row_of_process(maker: Maker, name: str, number: int, parent: int) -> "Row | Unmade":
    if os.getpid() != parent:
        # a terminal and a batch system send them to all processes: the parent saves, and needs its rows until then
        for word in ("SIGINT", "SIGUSR1", "SIGUSR2", "SIGTERM", "SIGHUP"):
            if hasattr(signal, word):
                # programs that the environment starts take over SIG_IGN alone: they can be ended by the last two
                leave = _left_to_parent if word in ("SIGTERM", "SIGHUP") else signal.SIG_IGN
                signal.signal(getattr(signal, word), leave)
    try:
        return Row(make_env(maker, name, number), name, number)
    except EnvError as error:  # gymnasium would end the process without a word to its parent
        return Unmade(error)


def _async_pays(env: gymnasium.Env, rows: int, name: str) -> bool:
    """Returns True if a process per row is faster. Both ways give the same transitions, so timing may decide."""
    if rows == 1 or machine.cores() == 1 or multiprocessing.current_process().daemon:
        return False
    try:
        return step_seconds(env) > ASYNC_PAYS
    except EnvError:  # it names the step
        raise
    except (Exception, SystemExit) as error:
        raise EnvError("{name} failed in its first steps: {error}", name=name, error=described(error)) from error


def step_seconds(env: gymnasium.Env, steps: int = 20, budget: float = 0.1) -> float:
    """Returns the median seconds of a step, from at most `steps` steps and about `budget` seconds."""
    _, info = env.reset(seed=0)
    times: list[float] = []
    while len(times) < steps and sum(times) < budget:
        action = first_action(env.action_space, info.get(masks.KEY))
        begin = time.perf_counter()
        _, _, terminated, truncated, info = env.step(action)
        times.append(time.perf_counter() - begin)
        if terminated or truncated:
            _, info = env.reset(seed=0)
    return float(np.median(times))
