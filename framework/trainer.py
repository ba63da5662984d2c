"""Training: round after round, until a stop rule is met; evaluate and save between rounds."""

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from algos.base import Agent, Progress, Tree
from config.general import GeneralConfig
from framework.backend import Accepted, Backend
from framework.checkpoint.store import CheckpointStore, Saved
from framework.evaluator import Evaluation, Evaluator, Interrupted
from framework.learner import Learned
from framework.output.run_log import Count, RunLog
from framework.output.trajectories import TrajectoryWriter

MOST_CHOSEN_FROM = 20
"""Checkpoints that are compared at the end of a run without online evaluation."""


class Score(NamedTuple):
    """How good the best model is."""

    mean: float | None
    update: int | None


class Trainer:
    """One run. Its state is that of the last complete round."""

    def __init__(
        self,
        cfg: GeneralConfig,
        backend: Backend,
        evaluator: Evaluator,
        store: CheckpointStore,
        log: RunLog,
        trajectories: TrajectoryWriter | None = None,
        facts: dict[str, Any] | None = None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self.cfg, self.backend, self.evaluator = cfg, backend, evaluator
        self.store, self.log, self.trajectories = store, log, trajectories
        self.facts = facts or {}
        self.count = Count()
        self.best: float | None = None
        self.best_update: int | None = None
        self.unsaved = False
        """The last save failed."""
        self.evaluated: int | None = None
        """Update of the last evaluation."""
        self.reached = 0
        """Consecutive evaluations at or above reward_threshold."""
        self.saved = 0
        """Updates (or steps, see model_save_unit) at the last save point."""
        self.elapsed = 0.0
        self.stopping = stopping
        """True when the run was asked to stop (a signal)."""
        self._started: float | None = None
        """When this part of the run began; None while it does not train."""

    @property
    def agent(self) -> Agent:
        return self.backend.agent

    # the loop ---------------------------------------------------------------------------------------------

    def run(self) -> str:
        """Train until a stop rule is met. Returns the reason."""
        self._started = time.monotonic()
        try:
            while (reason := self.stop_reason()) is None:
                self.round()
                if self._save_is_due():
                    self.save_point()
            return reason
        finally:
            self.elapsed, self._started = self.seconds(), None

    def round(self) -> None:
        """Collect, add, learn."""
        self._account(self.backend.round(self.progress))
        self.log.console.round(self.count, self.backend.says)

    def _account(self, events: Iterable[Accepted | Learned]) -> None:
        """Count and write down what has happened."""
        for event in events:
            before = self.count
            if isinstance(event, Learned):
                self.log.updates(event, before.update)
                self.count = before._replace(update=before.update + event.updates)
                continue
            for number, episode in enumerate(event.episodes, start=1):
                step = before.step + (episode.steps - event.first_step) * event.rows
                self.log.episode(episode, Count(step, before.episode + number, before.update), event.progress)
            self.count = Count(before.step + event.steps, before.episode + len(event.episodes), before.update)

    def progress(self) -> Progress:
        """How far the run is, for schedules: by whichever limit is nearest. Never by the clock."""
        return Progress(*self.count, self.cfg.share(*self.count))

    def seconds(self) -> float:
        """Time spent training, over all resumes."""
        return self.elapsed + (0.0 if self._started is None else time.monotonic() - self._started)

    def stop_reason(self) -> str | None:
        """The first stop rule that is met, as a person would say it."""
        cfg, count = self.cfg, self.count
        if self.stopping():
            return "interrupted"
        if 0 < cfg.max_episode <= count.episode:
            return f"max_episode {cfg.max_episode} reached"
        if 0 < cfg.max_total_step <= count.step:
            return f"max_total_step {cfg.max_total_step} reached"
        if 0 < cfg.max_update <= count.update:
            return f"max_update {cfg.max_update} reached"
        if 0 < cfg.max_time <= self.seconds():
            return f"max_time {cfg.max_time:g} s reached"
        if cfg.reward_threshold is not None and self.reached >= cfg.reward_threshold_limit:
            return f"reward_threshold {cfg.reward_threshold:g} reached"
        return None

    # evaluating and saving --------------------------------------------------------------------------------

    def _done(self) -> int:
        return self.count.update if self.cfg.model_save_unit == "update" else self.count.step

    def _save_is_due(self) -> bool:
        """A multiple of model_save_fre has been passed since the last save point."""
        return self._done() // self.cfg.model_save_fre > self.saved // self.cfg.model_save_fre

    def save_point(self) -> None:
        """Evaluate, if asked to, and save. Broken off in the evaluation, it comes again after the resume."""
        self._account(self.backend.rest(self.progress))
        try:
            evaluation = self.evaluate() if self.cfg.online_eval else None
        except Interrupted:
            return
        self.saved = self._done()
        if evaluation is not None and self.cfg.reward_threshold is not None:
            self.reached = self.reached + 1 if evaluation.mean >= self.cfg.reward_threshold else 0
        self.save(evaluation)

    def evaluate(self) -> Evaluation:
        """Play the evaluation episodes and write down how they went."""
        with self.log.console.during(f"evaluating the model of update {self.count.update:,}"):
            evaluation = self.evaluator.play(self.agent, self.cfg.online_eval_episode)
        best = self.best is None or evaluation.mean >= self.best
        if best:
            self.best, self.best_update = evaluation.mean, self.count.update
        self.log.evaluation(evaluation, self.count, best)
        self.evaluated = self.count.update
        return evaluation

    def save(self, evaluation: Evaluation | None = None) -> None:
        """Write a checkpoint. A failed save is loud; the earlier ones stand, and training goes on."""
        self._account(self.backend.rest(self.progress))
        facts = {**self.facts, **self.count._asdict()}
        self.unsaved = True
        try:
            self.store.save(self.count.update, self.state(), self.backend.memory, facts)
            if evaluation is not None and self.best_update == self.count.update and self.cfg.save_best_model:
                self.store.mark_best(self.count.update)
            self.unsaved = False
            self.store.prune(self.cfg.keep_checkpoints)
        except OSError as error:
            self.log.console.warn(
                f"checkpoint {self.count.update} could not be saved ({error.strerror or error}); "
                "the earlier ones are untouched and training goes on"
            )

    def finish(self) -> Score:
        """The last checkpoint, and then the final score. The checkpoint stands before the evaluation, so that going
        on from it equals never having stopped."""
        self.save()
        kept = self.best, self.best_update
        if self.best_update is None:
            self._choose_best()
        elif self.evaluated != self.count.update:
            self.evaluate()
        if self.cfg.save_best_model and self.best_update in self.store.numbers():
            self.store.mark_best(self.best_update)
        self.log.flush()
        score = Score(self.best, self.best_update)
        self.best, self.best_update = kept
        return score

    def _choose_best(self) -> None:
        """Nothing was evaluated on the way: the last checkpoints are now, and the best of them is kept."""
        kept, now = self.agent.state(), self.count
        try:
            for number in [n for n in self.store.numbers() if n or not now.update][-MOST_CHOSEN_FROM:]:
                saved = self.store.read(number, with_journal=False)
                self.agent.load_state(saved.tree["agent"])
                self.count = Count(**saved.tree["count"])
                self.evaluate()
        finally:  # also where it is broken off: what is saved then is the newest agent
            self.agent.load_state(kept)
            self.count = now

    def state(self) -> Tree:
        """Everything that is needed to go on exactly, but for what the memory's journal holds."""
        return {
            "count": dict(self.count._asdict()),
            **self.backend.state(),
            "evaluated": self.evaluated,
            "log": self.log.state(),
            "trajectories": self.trajectories.state() if self.trajectories else None,
            "best": self.best,
            "best_update": self.best_update,
            "reached": self.reached,
            "saved": self.saved,
            "elapsed": self.seconds(),
        }

    def load_state(self, saved: Saved, branch: bool) -> list[str]:
        """Stand where the checkpoint was taken. branch: the run goes on in another directory, with logs of its own.
        Returns the rows whose running episode could not be repeated."""
        tree = saved.tree
        self.count = Count(**tree["count"])
        different = self.backend.load_state(tree, saved.journal)
        self.best, self.best_update, self.evaluated = tree["best"], tree["best_update"], tree["evaluated"]
        self.reached, self.saved, self.elapsed = tree["reached"], tree["saved"], tree["elapsed"]
        if not branch:
            self.backend.memory.journalled()
            self.store.realign_best(self.best_update)
            self.log.load_state(tree["log"])
            if self.trajectories and tree["trajectories"]:
                self.trajectories.restore(tree["trajectories"])
        return different
