"""A Ray that runs every actor in this process, one call at a time: orders of arrival and deaths are what a test says.

Arguments and results are pickled on their way, and arrays come out read-only and 8 bytes off a 16-byte boundary, since
nobody promises more. A call is run when somebody waits for it, never before.
"""

import io
import pickle
from collections import Counter, deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import cloudpickle
import numpy as np


class RayError(Exception):
    """Whatever goes wrong."""


class RayActorError(RayError):
    """The actor has died."""

    actor_init_failed = False


class ObjectLostError(RayError):
    """What a call has made was on a node that is gone."""


class GetTimeoutError(RayError, TimeoutError):
    """Nothing has come in time."""


class RayTaskError(RayError):
    """A method of an actor raised `cause`."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Call(NamedTuple):
    """A call of an actor, for who decides whether it dies of it."""

    kind: str
    """Name of the actor's class."""
    number: int
    """Of the actors of this class, from 0 in the order of their birth."""
    method: str
    count: int
    """Calls of this method by this actor before."""


Fate = Callable[[Call], str | None]
"""None, or whether the actor dies `before` the method runs or `after` it, its result with it; or whether what it was
given is `lost`."""


# ------------------------------------------------------------------------------------------------- on the way


class Parcel:
    """A value as bytes."""

    def __init__(self, value: Any) -> None:
        file, buffers = io.BytesIO(), []
        cloudpickle.Pickler(file, 5, buffer_callback=buffers.append).dump(value)  # as Ray does
        self.body = file.getvalue()
        self.buffers = [buffer.raw().tobytes() for buffer in buffers]

    def opened(self) -> Any:
        """A new copy."""
        return pickle.loads(self.body, buffers=[_off_the_boundary(data) for data in self.buffers])


def _off_the_boundary(data: bytes) -> memoryview:
    whole = np.empty(len(data) + 32, np.uint8)
    start = (8 - whole.ctypes.data) % 16
    whole[start : start + len(data)] = np.frombuffer(data, np.uint8)
    return memoryview(whole)[start : start + len(data)].toreadonly()


class Ref:
    """A reference to what a call will give: a parcel, or an error."""

    def __init__(self, actor: "_Actor | None" = None, parcel: Parcel | None = None) -> None:
        self.actor, self.parcel = actor, parcel
        self.error: RayError | None = None

    @property
    def ready(self) -> bool:
        return self.parcel is not None or self.error is not None

    def value(self) -> Any:
        if self.error is not None:
            raise self.error
        assert self.parcel is not None
        return self.parcel.opened()


# ----------------------------------------------------------------------------------------------------- actors


class _Task(NamedTuple):
    """A call that waits for its turn."""

    method: str
    given: list[Parcel | Ref]
    """Arguments: references among them are exchanged for what they refer to."""
    results: list[Ref]

    def can_run(self) -> bool:
        return all(given.ready for given in self.given if isinstance(given, Ref))


class _Actor:
    """An object that runs its calls in their order."""

    def __init__(self, ray: "FakeRay", kind: type, number: int) -> None:
        self.ray, self.kind, self.number = ray, kind, number
        self.tasks: deque[_Task] = deque()
        self.counts: Counter[str] = Counter()
        self.object: Any = None
        self.dead: RayActorError | None = None

    def submit(self, method: str, arguments: tuple, count: int = 1) -> list[Ref]:
        refs = [Ref(self) for _ in range(count)]
        given = [argument if isinstance(argument, Ref) else Parcel(argument) for argument in arguments]
        self.tasks.append(_Task(method, given, refs))
        if self.dead:
            self.die(self.dead)
        return refs

    def die(self, error: RayActorError) -> None:
        """What it was asked for never comes."""
        self.dead, self.object = error, None
        for task in self.tasks:
            for ref in task.results:
                ref.error = error
        self.tasks.clear()

    def step(self) -> None:
        """Run one call."""
        task = self.tasks[0]
        fate = self.ray.fate(Call(self.kind.__name__, self.number, task.method, self.counts[task.method]))
        self.counts[task.method] += 1
        if fate == "before":
            return self.die(self._killed(f"before {task.method}"))
        parcels, error = ([], RayTaskError(ObjectLostError())) if fate == "lost" else self._run(task)
        if fate == "after":
            return self.die(self._killed(f"after {task.method}"))
        if error is not None and task.method == "__init__":
            failed = RayActorError(f"could not be made: {error}")
            failed.actor_init_failed = True
            return self.die(failed)
        self.tasks.popleft()
        for ref, parcel in zip(task.results, parcels or task.results, strict=True):
            ref.parcel, ref.error = (parcel, None) if isinstance(parcel, Parcel) else (None, error)
        return None

    def _killed(self, when: str) -> RayActorError:
        return RayActorError(f"killed {when}\n\tclass_name: {self.kind.__name__}")

    def _run(self, task: _Task) -> tuple[list[Parcel], RayError | None]:
        try:
            arguments = [given.value() if isinstance(given, Ref) else given.opened() for given in task.given]
            if task.method == "__init__":
                self.object = self.kind(*arguments)
                return [Parcel(None)], None
            result = getattr(self.object, task.method)(*arguments)
        except RayTaskError as error:  # of an argument
            return [], error
        except Exception as error:
            return [], RayTaskError(error)
        if len(task.results) == 1:
            return [Parcel(result)], None
        assert len(result) == len(task.results)
        return [Parcel(part) for part in result], None


class _Method:
    """handle.method"""

    def __init__(self, actor: _Actor, name: str, count: int = 1) -> None:
        self._actor, self._name, self._count = actor, name, count

    def options(self, num_returns: int) -> "_Method":
        return _Method(self._actor, self._name, num_returns)

    def remote(self, *arguments: Any) -> Any:
        refs = self._actor.submit(self._name, arguments, self._count)
        return refs[0] if self._count == 1 else refs


class Handle:
    """What a driver knows of an actor."""

    def __init__(self, actor: _Actor) -> None:
        self._actor = actor

    def __getattr__(self, name: str) -> _Method:
        return _Method(self._actor, name)


# -------------------------------------------------------------------------------------------------------- ray


class FakeRay:
    """The parts of the package ray that the driver uses. seed: chooses whose turn it is; None: who is asked for."""

    exceptions = SimpleNamespace(
        RayError=RayError,
        RayActorError=RayActorError,
        RayTaskError=RayTaskError,
        GetTimeoutError=GetTimeoutError,
        ObjectLostError=ObjectLostError,
    )

    def __init__(self, seed: int | None = None, fate: Fate = lambda call: None) -> None:
        self.fate = fate
        self.actors: list[_Actor] = []
        self._rng = None if seed is None else np.random.default_rng(seed)
        self._born: Counter[str] = Counter()
        self.no_room: set[tuple[str, int]] = set()
        """Actors, by class and number, for which the cluster has no place."""

    def remote(self, **options: Any) -> Callable[[type], Any]:
        """ray.remote(num_cpus=1)(Class).remote(...)"""
        return lambda kind: SimpleNamespace(remote=lambda *arguments: self._new(kind, arguments))

    def _new(self, kind: type, arguments: tuple) -> Handle:
        actor = _Actor(self, kind, self._born[kind.__name__])
        self._born[kind.__name__] += 1
        self.actors.append(actor)
        actor.submit("__init__", arguments)
        return Handle(actor)

    def put(self, value: Any) -> Ref:
        return Ref(parcel=Parcel(value))

    def get(self, refs: Any, timeout: float | None = None) -> Any:
        if isinstance(refs, Ref):
            while not refs.ready:
                self._advance([refs])
            return refs.value()
        return [self.get(ref, timeout) for ref in refs]

    def wait(
        self, refs: list[Ref], num_returns: int = 1, timeout: float | None = None, fetch_local: bool = True
    ) -> tuple[list[Ref], list[Ref]]:
        assert len(set(refs)) == len(refs) >= num_returns
        while timeout != 0 and sum(ref.ready for ref in refs) < num_returns:
            self._advance(refs)
        done = [ref for ref in refs if ref.ready][:num_returns]
        return done, [ref for ref in refs if ref not in done]

    def kill(self, handle: Handle) -> None:
        handle._actor.die(RayActorError("killed by ray.kill"))

    def alive(self, kind: str) -> list[Handle]:
        """Actors of this class that have not died."""
        return [Handle(actor) for actor in self.actors if actor.kind.__name__ == kind and not actor.dead]

    def _advance(self, wanted: list[Ref]) -> None:
        """One call of one actor."""
        able = [actor for actor in self.actors if actor.tasks and actor.tasks[0].can_run() and self._has_room(actor)]
        if self._rng is not None:
            able[self._rng.integers(len(able))].step()
        else:
            self._needed(next(ref for ref in wanted if not ref.ready)).step()

    def _has_room(self, actor: _Actor) -> bool:
        return (actor.kind.__name__, actor.number) not in self.no_room

    def _needed(self, ref: Ref) -> _Actor:
        """Whose turn it is, so that this comes."""
        assert ref.actor is not None
        missing = [given for given in ref.actor.tasks[0].given if isinstance(given, Ref) and not given.ready]
        return self._needed(missing[0]) if missing else ref.actor
