"""The end of a tuning: the best settings as a file, the curves, and the printed table."""

import math

from framework.output.formatting import begin_command, counted, short
from framework.runs.task_dir import TaskDir
from framework.tuning import results, stages
from framework.tuning.schedulers import Trial, ranked
from framework.tuning.tuner import Tuner

FAILED = 1
"""Exit status if no trial has come to its end with a score."""


def finish(tuner: Tuner) -> int:
    """Writes the best settings, draws and prints. Returns the exit status."""
    say, folder, cfg = tuner.screen.say, tuner.folder, tuner.cfg
    if tuner.best is None:
        tuner.write({"finished": True, "best": None})
        say("no trial has come to its end with a score; trials.csv and tune.json say why", "red")
        return FAILED
    best = tuner.known[tuner.best.name]
    tuner.write({"finished": True, "best": best.trial.name, "score": best.score})
    rows, order = {row.trial: row for row in tuner.rows()}, by_score(tuner)
    for line in results.table(tuner.paths, [rows[trial] for trial in order]):
        say(line)
    tasks = tuner.tasks(best.trial)
    evaluation = results.combined([stages.score(task, None, "evaluation", cfg.mode) for task in tasks])
    remark = f"trial {best.trial.name} of {folder}, after {counted(rows[best.trial].step or 0, 'step')}"
    file = results.write_best(folder, best.ready, evaluation, remark)
    runs = {str(task.relative_to(folder / "trials")): TaskDir(task) for each in order for task in tuner.tasks(each)}
    config = best.ready.config
    figure = results.draw(folder, config, runs, len(tasks), say) if config else None
    lines = [("best", f"trial {best.trial.name}, {cfg.score} {short(best.score)}")]
    lines += [("table", str(folder / "trials.csv")), *([("curves", str(figure))] if figure else [])]
    train = ("to train it", begin_command(file, (), folder, config.allow_import)) if config else ("settings", str(file))
    lines.append(train)
    for label, text in lines:
        say(f"{label:<11}  {text}", "bold" if label == "best" else "")
    return 0


def by_score(tuner: Tuner) -> list[Trial]:
    """Returns all trials: those that were trained to the end, best first; then those that came less far."""
    every = [known for known in tuner.known.values() if known.trial.name not in tuner.final]
    last = ranked([tuner.known[name].trial for name in tuner.final], tuner.final, tuner.cfg.mode)
    sign = -1 if tuner.cfg.mode == "max" else 1
    rows = {row.trial: row for row in tuner.rows()}
    every.sort(key=lambda each: (-(rows[each.trial].step or 0), math.isnan(each.score), sign * each.score))
    return [*last, *(each.trial for each in every)]
