"""The end of a tuning: the best settings as a file, the curves, the report, and the printed table."""

import math
from collections.abc import Sequence
from pathlib import Path

from config.read.loader import RunConfig
from config.read.paths import as_written
from framework.archive.run import RecordedRun
from framework.archive.trials import combined
from framework.disk.task_dir import TaskDir, read_facts
from framework.jobs import results
from framework.jobs.schedulers import Trial, ranked
from framework.jobs.tuner import Tuner
from framework.pages import tuning_page as report
from framework.screen.formatting import begin_command, counted, play_command, resume_command, short, video_command

FAILED = 1
"""Exit status if no trial has come to its end with a score."""


def finish(tuner: Tuner) -> int:
    """Writes the best settings, draws and prints. Returns the exit status."""
    say, folder, cfg = tuner.screen.say, tuner.folder, tuner.cfg
    tuner.session = "ended"
    if tuner.best is None:
        tuner.write({"finished": True, "best": None})
        write_report(tuner)
        say("no trial has come to its end with a score; trials.csv and tune.json say why", "red")
        return FAILED
    best = tuner.known[tuner.best.name]
    tuner.write({"finished": True, "best": best.trial.name, "score": best.score})
    rows, order = {row.trial: row for row in tuner.rows()}, by_score(tuner)
    for line in results.table(tuner.paths, [rows[trial] for trial in order]):
        say(line)
    tasks = tuner.tasks(best.trial)
    evaluation = combined([RecordedRun(task).score_at(None, "evaluation", cfg.mode) for task in tasks])
    remark = f"trial {best.trial.name} of {as_written(folder)}, after {counted(rows[best.trial].step or 0, 'step')}"
    file = results.write_best(folder, best.ready, evaluation, remark)
    runs = {str(task.relative_to(tuner.files.trials)): TaskDir(task) for each in order for task in tuner.tasks(each)}
    config = best.ready.config
    figure = results.draw(folder, config, runs, len(tasks), say) if config else None
    files = {"table": tuner.files.table("trial"), "curves": figure, "report": write_report(tuner)}
    if config is None:
        files["settings"] = file
    say(f"{'best':<11}  trial {best.trial.name}, {cfg.score} {short(best.score)}", "bold")
    for label, path in files.items():
        if path is not None:
            say(f"{label:<11}  {as_written(path)}")
    if config is not None:
        say(f"{'to train it':<11}  {begin_command(file, (), folder, config.allow_import)}")
    return 0


def by_score(tuner: Tuner) -> list[Trial]:
    """Returns all trials: those that were trained to the end, best first; then those that came less far."""
    every = [known for known in tuner.known.values() if known.trial.name not in tuner.final]
    last = ranked([tuner.known[name].trial for name in tuner.final], tuner.final, tuner.cfg.mode)
    sign = -1 if tuner.cfg.mode == "max" else 1
    rows = {row.trial: row for row in tuner.rows()}
    every.sort(key=lambda each: (-(rows[each.trial].step or 0), math.isnan(each.score), sign * each.score))
    return [*last, *(each.trial for each in every)]


def write_report(tuner: Tuner) -> Path | None:
    """Writes report.html, of a tuning that may go on; a page that cannot be written costs a warning."""
    try:
        return report.write(_found(tuner))
    except Exception as error:  # a page is no reason to end a tuning of hours
        tuner.screen.say(f"warning: cannot write the report: {error}")
        return None


def _found(tuner: Tuner) -> report.Found:
    rows, order = {row.trial: row for row in tuner.rows()}, by_score(tuner)
    configs = [config for known in tuner.known.values() if (config := known.ready.config)]
    tasks = {trial.name: tuner.tasks(trial)[0] for trial in order}
    curves = results.curves(tasks, configs, tuner.cfg.score)
    best = rows[tuner.best] if tuner.best else None
    return report.Found(
        folder=tuner.folder,
        title=f"Tuning: {results.title(configs[0])}" if configs else tuner.folder.name,
        domains=tuner.plan.domains,
        cfg=tuner.cfg,
        rows=[rows[trial] for trial in order],
        best=best,
        reasons={name: str(failure.get("reason", "")) for name, failure in tuner.failures.items()},
        curves=curves,
        commands=_commands(tuner, configs),
        session=tuner.session,
        patience=tuner.patience,
        facts=read_facts(tuner.files.tuning),
        importance=results.importance(tuner.plan.domains, [rows[trial] for trial in order]),
    )


def _commands(tuner: Tuner, configs: Sequence[RunConfig]) -> list[tuple[str, str]]:
    """Returns what can be done next; nothing with the best trial of a function of the user's own. The page of a tuning
    that runs shows its command only if the tuning turns out to have been killed."""
    if tuner.session != "ended":
        return [("Continue the tuning", tuner.plan.resume_command(tuner.folder))]
    if tuner.best is None or not configs:
        return []
    task, allowed = tuner.tasks(tuner.best)[0], configs[0].allow_import
    return [
        ("Train with the best settings", begin_command(tuner.files.best, (), tuner.folder, allowed)),
        ("Train the best trial further", resume_command(task, allowed)),
        ("Play and score its best model", play_command(task, allowed)),
        ("Film its best model", video_command(task, allowed)),
    ]
