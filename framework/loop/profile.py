"""The profile of a run (general_cfg.profile): the time in each of its parts, measured around their methods.

The parts know nothing of it, and a run without it has no cost: their methods are replaced by timed ones when it begins.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NamedTuple

import torch

from config.tell.language import english, tr

REST = english("everything else")


class Part(NamedTuple):
    """A line of the table."""

    name: str
    seconds: float
    """Time in this part, without the parts that it calls."""
    calls: int


class Profile:
    """Time and number of calls by part. A call within another one counts for its own part alone."""

    def __init__(self) -> None:
        self._began = perf_counter()
        self.seconds: dict[str, float] = {}
        self.calls: dict[str, int] = {}
        self._inner: list[float] = []
        """Seconds that parts within each running call have taken."""
        self._replaced: list[tuple[Any, str, Any]] = []

    def watch(self, owner: Any, name: str, part: str) -> None:
        """Times a method of an object, or of all objects of a class, until `close`."""
        timed = self._timed(getattr(owner, name), part)
        self._replaced.append((owner, name, vars(owner).get(name)))
        setattr(owner, name, timed)

    def _timed(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        self.seconds.setdefault(part, 0.0)
        self.calls.setdefault(part, 0)
        inner = self._inner

        def timed(*args: Any, **kwargs: Any) -> Any:
            inner.append(0.0)
            begin = perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                spent = perf_counter() - begin
                self.seconds[part] += spent - inner.pop()
                self.calls[part] += 1
                if inner:
                    inner[-1] += spent

        return timed

    def close(self) -> None:
        """Puts the methods back."""
        while self._replaced:
            owner, name, before = self._replaced.pop()
            if before is None:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

    def parts(self) -> list[Part]:
        """Returns the parts that took time since the beginning, longest first, and what is left."""
        parts = [Part(name, self.seconds[name], count) for name, count in self.calls.items() if count]
        left = perf_counter() - self._began - sum(part.seconds for part in parts)
        return sorted([*parts, Part(REST, max(0.0, left), 0)], key=lambda part: -part.seconds)


def lines(parts: Sequence[Part]) -> list[tuple[str, str]]:
    """Returns a label and a text for each part."""
    total = sum(part.seconds for part in parts)
    rows = []
    for part in parts:
        calls = tr("  {count:,} calls", count=part.calls) if part.calls else ""
        rows.append((tr(part.name), f"{part.seconds:8.2f} s {100 * part.seconds / total:5.1f} %{calls}"))
    return rows


@contextmanager
def profiling(trainer: Any, log: Any) -> Iterator[Profile]:
    """Times the parts of a training. trainer: a Trainer. log: its RunLog."""
    profile, backend = Profile(), trainer.backend
    if (collector := getattr(backend, "collector", None)) is not None:
        _watch_collector(profile, collector)
        for name, part in (
            ("add", english("storing")),
            ("take", english("sampling")),
            ("feedback", english("sampling")),
        ):
            profile.watch(backend.memory, name, part)
        profile.watch(backend.learner, "learn", english("learning: forward pass, loss, targets"))
        profile.watch(torch.Tensor, "backward", english("learning: backward pass"))
        for optimizer in backend.agent.optimizers():
            profile.watch(optimizer, "step", english("learning: optimizer"))
        for step in backend.agent.gradient_steps():
            profile.watch(step, "by_compiled", english("learning: compiled steps"))
            profile.watch(step, "make_compiled", english("learning: compiling, or loading what was compiled"))
    profile.watch(trainer.evaluator, "play", english("evaluation"))
    profile.watch(trainer.points.store, "save", english("saving"))
    for name in ("episodes", "updates", "evaluation", "result", "recorded", "flush"):
        profile.watch(log, name, english("logging"))
    for name in ("episodes", "evaluation", "round"):
        profile.watch(trainer.narrator, name, english("console"))
    try:
        yield profile
    finally:
        profile.close()


def _watch_collector(profile: Profile, collector: Any) -> None:
    for name in ("step", "reset"):
        profile.watch(collector.env, name, english("environment"))
    profile.watch(collector.agent, "sample_action", english("acting"))
    profile.watch(collector, "collect", english("collecting: episodes, fragments"))
