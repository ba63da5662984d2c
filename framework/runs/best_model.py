"""Chooses the best model of a finished run, by evaluating its checkpoints as they are on disk."""

from algos.base import TrainableActor
from config.read.paths import as_written
from config.tell.language import tr
from envs.base import EnvError
from framework.disk.checkpoints import BAD_CONTENT, Saved
from framework.errors import CheckpointError
from framework.loop.iteration import Count, Score
from framework.loop.trainer import Trainer
from framework.record.run_log import RunLog
from framework.screen.stages import EVALUATING

MOST_COMPARED = 20
"""Number of save points that are compared at the end of a run without online evaluation, newest first."""


def choose_best(trainer: Trainer, agent: TrainableActor, log: RunLog) -> Score:
    """Evaluates the last checkpoint and the newest save points that online evaluation has not; marks the best one.

    `agent` is not the one that was trained: it is loaded with each checkpoint in turn. A damaged checkpoint is skipped
    with a warning. log: gets the evaluations."""
    best, warn, store = trainer.points.score, trainer.narrator.warn, trainer.points.store
    for number in _candidates(trainer):
        saved = _read(trainer, number)
        if saved is None:
            continue
        try:
            agent.load_state(saved.tree["agent"])
        except (*BAD_CONTENT, RuntimeError) as error:
            warn(tr("{path} does not fit this run: {error}", path=as_written(saved.path), error=error))
            continue
        try:
            name = tr(EVALUATING, update=number)
            progress = trainer.exploration(saved)
            evaluation = trainer.evaluator.play(agent, trainer.cfg.online_eval_episode, name=name, progress=progress)
        except EnvError as error:
            warn(tr("the last models could not all be evaluated: {error}", error=error))
            break
        better = best.mean is None or evaluation.mean >= best.mean
        if better:
            best = Score(evaluation.mean, number)
        for observer in (trainer.narrator, log):
            observer.evaluation(evaluation, Count(**saved.tree["count"]), better)
    if trainer.cfg.save_best_model and best.update in store.numbers():
        store.mark_best(best.update)
    log.sync()  # the score of a tuning is read from these rows once run.json says that the run has ended
    return best


def _candidates(trainer: Trainer) -> list[int]:
    """Returns the updates of the checkpoints to evaluate, oldest first. A checkpoint that an interruption left is not
    one of them, so that an interruption does not change the choice."""
    last, points = trainer.count.update, trainer.points
    numbers = points.store.numbers()
    if points.best_update is not None and points.evaluated is not None:
        numbers = [number for number in numbers if number > points.evaluated]
    candidates: list[int] = []
    for number in reversed(numbers):
        saved = _read(trainer, number, quiet=True)
        if saved is None or number == last or saved.facts.get("save_point", True):
            candidates.append(number)
        if len(candidates) == MOST_COMPARED:
            break
    return candidates[::-1]


def _read(trainer: Trainer, number: int, quiet: bool = False) -> Saved | None:
    try:
        return trainer.points.store.read(number, with_journal=False)
    except CheckpointError as error:
        if not quiet:
            trainer.narrator.warn(tr("{error}; it is left out of the comparison", error=error))
        return None
