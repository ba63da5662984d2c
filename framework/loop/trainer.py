"""Trains in rounds, iteration by iteration, until a stop rule is met; evaluates and saves between rounds."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from algos.base import Progress, TrainableActor, Tree
from config.config import GeneralConfig
from config.tell.language import tr
from config.tell.system_errors import reason_of
from framework.collect.fragment import Accepted
from framework.disk.checkpoints import CheckpointStore, Saved
from framework.errors import Interrupted
from framework.loop import rllib_names
from framework.loop.backend import Backend
from framework.loop.counter import Counter
from framework.loop.curriculum import Phases
from framework.loop.evaluator import Evaluation, Evaluator
from framework.loop.iteration import Count, EpisodeRows, Iteration, Means, Result, validated_name
from framework.loop.learner import Learned
from framework.loop.observer import Narrator, Observer
from framework.loop.profile import Profile
from framework.loop.save_points import TIMED, SavePoints
from framework.loop.stop_rules import StopRules, Training
from framework.memory.chunk import Chunk
from framework.screen.stages import EVALUATING, stage


class Trainer:
    """Counts, stops, evaluates and saves one run. Its state is that of the last complete round."""

    def __init__(
        self,
        cfg: GeneralConfig,
        backend: Backend,
        evaluator: Evaluator,
        store: CheckpointStore,
        narrator: Narrator,
        rows: EpisodeRows,
        observers: Sequence[Observer] = (),
        facts: dict[str, Any] | None = None,
        stopping: Callable[[], bool] = lambda: False,
        phases: Phases | None = None,
        pause_at: int | None = None,
        offline: int = 0,
        asked_to_save: Callable[[], str | None] = lambda: None,
    ) -> None:
        """observers: told of events after the narrator. offline: number of updates from given data before the first
        step; -1: all of them. stopping, pause_at: see StopRules. asked_to_save: returns, once, who has asked for a
        checkpoint between two save points."""
        self.cfg, self.backend, self.evaluator = cfg, backend, evaluator
        self.narrator, self.rows = narrator, rows
        self.observers = (narrator, *observers)
        self.facts = facts or {}
        """Facts that every checkpoint is saved with."""
        self.points = SavePoints(cfg, store)
        self.phases = phases or Phases(None)
        self.rules = StopRules(cfg, stopping, pause_at)
        self.asked_to_save = asked_to_save
        self.counter = Counter(cfg.length, self.phases, offline)
        self.iteration = Iteration()
        self.updates = 0
        """Updates of this session."""
        self.last: Result | None = None
        """Result of the last complete iteration of this session."""
        self.last_return: float | None = None
        """Mean return of the last complete iteration."""
        self.profile: Profile | None = None
        """Times of the parts of this session, with general_cfg.profile."""
        self._warned = False
        """True once the agent's warning has been shown."""
        self.saving = False
        """True while observers are told of a checkpoint."""
        self.elapsed = 0.0
        """Seconds of training in earlier sessions and calls of run."""
        self._started: float | None = None
        """Time at which `run` began; None while it does not train."""

    @property
    def agent(self) -> TrainableActor:
        return self.backend.agent

    @property
    def count(self) -> Count:
        """Amount of training so far."""
        return self.counter.count

    # the loop ---------------------------------------------------------------------------------------------

    def run(self) -> str:
        """Trains until a stop rule is met. Returns the reason."""
        while (reason := self.iterate(self.cfg.iteration_steps)) is None:
            pass
        with self._clock():
            self.rest()
        return reason

    def iterate(self, steps: int) -> str | None:
        """Trains for an iteration: in rounds, until it has at least this number of environment steps, or a stop rule is
        met. Returns the stop rule, or None. An iteration that was broken off continues after a resume that asks for
        the same number of steps."""
        with self._clock():
            if self.points.due(self._done()):
                self.save_point()  # a session that ended during an evaluation has left it to this one
            if self._complete():
                self._end_iteration()  # one that ended after a save has left its result
            if self.stop_reason() is None:  # a run that has ended repeats its last checkpoint as it was
                self.iteration.ask(steps, self.counter.work)
                self.counter.place = self.iteration.place
            while not self._complete() and self.stop_reason() is None:
                self.round()
                if self.points.due(self._done()):
                    self.save_point()
                if (who := self.asked_to_save()) or self.points.overdue():
                    self.save_between(who)
        if self._complete():
            self._end_iteration()
        return self.stop_reason()

    def _complete(self) -> bool:
        return self.iteration.complete(self.counter.work)

    def _end_iteration(self) -> None:
        self._validate()
        result = self.result()
        policy = self.cfg.score_policy
        self.last_return = (result["policies"].get(policy, {}) if policy else result).get("return_mean")
        self.iteration = Iteration(self.iteration.number + 1, self.counter.work, self.seconds(), self.count.step)
        reason = self.stop_reason()
        self.last = {**result, "done": reason is not None, "reason": reason}
        for observer in self.observers:
            observer.result(self.last)
        if self.phases.follow(self.last):
            self.narrator.note(
                tr("phase {phase:g} begins after {step:,} steps", phase=self.phases.now, step=self.count.step)
            )

    def _validate(self) -> None:
        """Measures the losses on given data that are kept from learning, if there are any."""
        metrics = self.backend.validate(self.counter.progress)
        self.iteration.metrics.add({validated_name(name): [value] for name, value in metrics.items()})

    def result(self) -> Result:
        """Returns the figures of the running iteration so far."""
        result = self.iteration.result(self.count, self.seconds(), self.phases.shown, self.rows.policies)
        rllib = self.cfg.result_names == "rllib"
        return rllib_names.added(result, self.iteration.steps_before) if rllib else result

    @contextlib.contextmanager
    def _clock(self) -> Iterator[None]:
        """Counts the seconds of training."""
        self._started = time.monotonic()
        try:
            yield
        finally:
            self.elapsed, self._started = self.seconds(), None

    def rest(self) -> None:
        """Completes pending work, so that the agent has the latest weights."""
        self._account(self.backend.rest(self.counter.progress))

    def round(self) -> None:
        """Runs one round of the training loop, which is `SingleProcess.round` in framework/loop/single_process.py."""
        self._account(self.backend.round(self.counter.progress))
        processes = self.backend.processes
        self.narrator.round(self.counter.progress(), *([processes.load] if processes else []))
        for observer in self.observers:
            observer.settled()

    def learn_from(self, accepted: Accepted, chunks: Iterable[Chunk]) -> dict[str, float]:
        """Counts the steps of a sample, and learns from its windows. Returns the means of the metrics."""
        means = Means()
        with self._clock():
            self.rest()
            self._account([accepted])
            for chunk in chunks:
                for learned in self.backend.learn_from(chunk, self.counter.progress):
                    means.add(learned.metrics)
                    self._account([learned])
            self.rest()
        return means.means()

    def _account(self, events: Iterable[Accepted | Learned]) -> None:
        """Counts and logs the events of a round as they happen."""
        for event in events:
            if isinstance(event, Learned):
                self._learned(event)
            else:
                self._accepted(event)

    def _accepted(self, event: Accepted) -> None:
        before = self.count
        for record in event.records:
            for observer in self.observers:
                observer.recorded(*record)
        if event.episodes:
            made = [(episode.steps - event.first_step) * event.rows for episode in event.episodes]
            steps = [before.step + min(count, event.steps) for count in made]  # dummy steps are none
            rows = self.rows.of(event.episodes, steps, before, event.progress)
            if not self._warned and (text := self.agent.warning(self.rows.last, before.update)):
                self._warned = True
                self.narrator.warn(text)
            self.iteration.episodes(event.episodes)
            for observer in self.observers:
                observer.episodes(event.episodes, rows)
        self.counter.accepted(event.steps, len(event.episodes))

    def _learned(self, learned: Learned) -> None:
        first = self.count.update
        self.rows.learned(learned.metrics)
        self.iteration.metrics.add(learned.metrics)
        for observer in self.observers:
            observer.updates(learned, first)
        self.counter.learned(learned.updates)
        self.updates += learned.updates

    def seconds(self) -> float:
        """Returns the seconds of training over all sessions."""
        return self.elapsed + (0.0 if self._started is None else time.monotonic() - self._started)

    def compiling(self) -> float:
        """Returns the seconds of this session in which updates were compiled, or loaded."""
        return sum(step.seconds for step in self.agent.gradient_steps())

    def packages(self) -> list[str]:
        """Returns the names of the packages of compiled updates."""
        return [step.package for step in self.agent.gradient_steps() if step.package is not None]

    def stop_reason(self) -> str | None:
        """Returns why training does not continue, as a sentence; None to continue."""
        return self.rules.reason(self.training())

    def paused(self) -> bool:
        """Returns True at the step at which training pauses, unless a stop rule has ended the run by then."""
        return self.rules.paused(self.training())

    def training(self) -> Training:
        """Returns how far the run has come."""
        return Training(self.count, self.iterations(), self.seconds(), self.points.reached, self.last_return)

    def iterations(self) -> int:
        """Returns the number of complete iterations."""
        return self.iteration.number - (0 if self._complete() else 1)

    # evaluating and saving --------------------------------------------------------------------------------

    def _done(self) -> int:
        if self.cfg.model_save_unit == "iteration":
            return self.iterations()
        return self.count.update if self.cfg.model_save_unit == "update" else self.count.step

    def save_point(self) -> None:
        """Evaluates, if online_eval is set, and saves. Interrupted during the evaluation, it is still due afterwards,
        and the resumed run starts with it."""
        self.rest()
        try:
            evaluation = self.evaluate() if self.cfg.online_eval else None
        except Interrupted:
            return
        best = self.points.begin(self._done(), self.count.update, evaluation)
        if evaluation is not None:
            self.iteration.evaluated(evaluation)
            for observer in self.observers:
                observer.evaluation(evaluation, self.count, best)
        self.save()

    def evaluate(self) -> Evaluation:
        """Plays the evaluation episodes."""
        name = tr(EVALUATING, update=self.count.update)
        return self.evaluator.play(self.agent, self.cfg.online_eval_episode, name=name)

    def exploration(self, saved: Saved | None = None) -> Progress | None:
        """Returns how far training is, or was at a checkpoint, if evaluations explore."""
        if not self.cfg.explore:
            return None
        if saved is not None:
            return progress_at(saved, {**self.facts, **saved.facts}["config"]["general_cfg"], self.counter.offline)
        return _of_schedules(self.counter.progress(), self.counter.offline)

    def save(self, timed: bool = False) -> None:
        """Writes a checkpoint. A failed save is a warning; the earlier ones stay and training continues. timed: it is
        written because save_minutes are over."""
        self.points.unsaved = True
        self.rest()
        try:
            with stage(tr("saving a checkpoint")):
                facts = {**self.facts, TIMED: True} if timed else self.facts
                path = self.points.write(self.place(), self.state, self.backend.memory, facts)
            self.saving = True
            for observer in self.observers:
                observer.checkpoint(path, self.count)
        except OSError as error:
            others = True
            with contextlib.suppress(OSError):  # no descriptor may be left to list them with
                others = bool(self.points.store.numbers())
            earlier = tr("the earlier ones are untouched") if others else tr("there is no other yet")
            self.narrator.warn(
                tr(
                    "checkpoint {update} could not be saved ({reason}); {earlier}",
                    update=self.count.update,
                    reason=reason_of(error),
                    earlier=earlier,
                )
            )
        finally:
            self.saving = False

    def save_between(self, who: str | None) -> None:
        """Saves what has been trained since the last checkpoint. The checkpoint goes with the next one, as that of an
        interruption does, where keep_checkpoints bounds their number. who: what has asked for it, and is answered; None
        if save_minutes are over, and then it goes with the next one in any case."""
        self.rest()
        if self.points.unsaved or self.place() != self.points.last or (who and self.points.timed(self.count.update)):
            self.save(timed=who is None)
        self.points.note_interim(self.count.update, timed=who is None)
        if who and not self.points.unsaved:
            update = self.count.update
            self.narrator.note(tr("{who}: checkpoint {update} is saved; training goes on", who=who, update=update))

    def finish(self) -> None:
        """Saves the last checkpoint. Nothing is saved after it, whatever happens at the end of the run. The result of
        the iteration that a stop rule has broken off comes after the checkpoint: a resume removes it, and goes on with
        that iteration."""
        self.save()
        if self.iteration.work_before < self.counter.work:
            self._validate()
            self.last = {**self.result(), "done": True, "reason": self.stop_reason()}
            for observer in self.observers:
                observer.result(self.last)
        for observer in self.observers:  # run.json may soon say that the run has ended, and a tuning read its score
            observer.sync()

    def place(self) -> tuple[Count, int]:
        """Returns the amount of training and the number of the running iteration."""
        return self.count, self.iteration.number

    def state(self) -> Tree:
        """Returns everything that an exact resume needs, except for the journal of the memory."""
        return {
            "count": dict(self.count._asdict()),
            **self.backend.state(),
            "iteration": self.iteration.state(),
            "last_return": self.last_return,
            "phase": self.phases.shown,
            "rows": self.rows.state(),
            "observers": {observer.KEY: observer.state() for observer in self.observers},
            **self.points.state(),
            "elapsed": self.seconds(),
        }

    def load_state(self, saved: Saved, branch: bool) -> list[str]:
        """Restores a checkpoint. branch: the run continues in another directory, with new logs. Returns the rows whose
        running episodes could not be replayed."""
        tree = saved.tree
        _check_numbers(tree)
        self.counter.count = Count(**tree["count"])
        self.phases.load(tree.get("phase"))
        different = self.backend.load_state(tree, saved.journal or ())
        self.elapsed, self.last_return = tree["elapsed"], tree["last_return"]
        self.iteration.load_state(tree["iteration"])
        self.counter.place = self.iteration.place
        self.rows.load_state(tree["rows"])
        self.points.load_state(saved, self.place(), branch)
        for observer in self.observers:
            if observer.KEY in tree["observers"] and (observer.BRANCHES or not branch):
                observer.load_state(tree["observers"][observer.KEY])
        return different


def _check_numbers(tree: Tree) -> None:
    """Raises ValueError if a state has something else where training needs a number."""
    for part, names in (
        (tree, ("elapsed", "reached", "saved")),
        (tree["count"], Count._fields),
        (tree["iteration"], ("number", "first_step", "steps", "began", *({"steps_before"} & tree["iteration"].keys()))),
    ):
        for name in names:
            if type(part[name]) not in (int, float):
                raise ValueError(f"{name} is not a number: {part[name]!r}")
    for name in ("best", "last_return"):
        if tree[name] is not None and type(tree[name]) not in (int, float):
            raise ValueError(f"{name} is neither a number nor null: {tree[name]!r}")


def progress_at(saved: Saved, general: Mapping[str, Any], offline: int) -> Progress:
    """Returns how far training was at a checkpoint. general: section general_cfg that it was saved with, for its
    limits. offline: see Counter. May raise BAD_CONTENT."""
    _check_numbers(saved.tree)
    length = GeneralConfig.model_construct(**general).length
    counter, iteration = Counter(length, Phases(None), offline), Iteration()
    iteration.load_state(saved.tree["iteration"])
    counter.count, counter.place = Count(**saved.tree["count"]), iteration.place
    return _of_schedules(counter.progress(), offline)


def _of_schedules(progress: Progress, offline: int) -> Progress:
    """Returns the progress that exploration outside of training depends on: its schedules count environment steps, of
    which a run from data alone makes none, and are over there."""
    return progress._replace(step=sys.maxsize) if offline < 0 else progress
