"""What is left at the end of a run for a person: figure, video, report, and a short summary."""

from pathlib import Path
from typing import Any

from config.loader import RunConfig
from envs.base import EnvError, VectorEnv
from framework import build
from framework.evaluator import Evaluation, Evaluator, replay
from framework.output import figures, html_report
from framework.output.console import Console, Outcome
from framework.output.csv_log import read_csv
from framework.output.formatting import counted
from framework.output.gif import Camera, GifWriter
from framework.output.recorders import Tape
from framework.runs.task_dir import TaskDir
from framework.trainer import Score, Trainer


def tell(
    config: RunConfig, task: TaskDir, trainer: Trainer, evaluator: Evaluator, score: Score, reason: str, finished: bool
) -> None:
    """Figure, report and summary of a training run."""
    console, cfg = trainer.log.console, config.general
    figure, known = None, None
    if cfg.save_fig:
        known = _random_return(evaluator, console) if finished else task.read_run().get("random_return")
        figure = _draw_curve(config, task, known, console)
    last: list[dict[str, Any]] = list(read_csv(task.results / "eval.csv")[-1:])
    best = task.models / "best"
    outcome = Outcome(
        task=task.path,
        reason=reason,
        finished=finished,
        count=trainer.count,
        seconds=trainer.seconds(),
        score=last[0] if last and score.update is not None else None,
        best=score.mean,
        best_update=score.update,
        random_return=known,
        expected_return=config.expected_return,
        figure=figure,
        best_model=best if best.is_dir() else None,
        can_film=can_film(config),
        allowed=config.allow_import,
    )
    task.write_run(
        {
            "outcome": reason,
            "finished": finished,
            **trainer.count._asdict(),
            "seconds": round(trainer.seconds(), 3),
            "best": score.mean,
            "best_update": score.update,
            "random_return": known,
            "can_film": can_film(config),
        }
    )
    write_report(task, console)
    console.summary(outcome)


def _draw_curve(config: RunConfig, task: TaskDir, random_return: float | None, console: Console) -> Path | None:
    """results/learning_curve.png; a figure that cannot be drawn costs a warning, not the run."""
    path = task.results / "learning_curve.png"
    try:
        figures.learning_curve(
            read_csv(task.results / "train.csv"),
            read_csv(task.results / "eval.csv"),
            path,
            title=f"{config.algo_package.NAME} on {getattr(config.env, 'id', config.general.env_name)}",
            random_return=random_return,
            expected_return=config.expected_return,
            show=config.general.show_fig,
        )
    except Exception as error:  # matplotlib raises what it likes; the run is worth more than its picture
        console.warn(f"the learning curve could not be drawn: {error}")
        return None
    return path


def _random_return(evaluator: Evaluator, console: Console) -> float | None:
    """The score of knowing nothing, to compare with."""
    try:
        with console.during("measuring the random policy"):
            return evaluator.random_return()
    except EnvError as error:
        console.warn(f"the random policy's return could not be measured: {error}")
        return None


def film(config: RunConfig, evaluation: Evaluation, tape: Tape, task: TaskDir, console: Console) -> Path | None:
    """Replays the episodes in one environment that draws: into videos/video.gif, or in a window. Returns the video."""
    env = build.make_env(config, 1, draw=True)
    try:
        with console.during(f"filming {counted(len(evaluation.episodes), 'episode')}"):
            return _filmed(config, env, evaluation, tape, task, console)
    finally:
        env.close()


def _filmed(
    config: RunConfig, env: VectorEnv, evaluation: Evaluation, tape: Tape, task: TaskDir, console: Console
) -> Path | None:
    writer = GifWriter(task.videos / "video.gif", env.render_fps)
    camera = Camera(writer, len(evaluation.episodes))
    for episode in evaluation.episodes:
        total = replay(env, episode, tape.episodes[episode.row, episode.number], camera)
        if abs(total - episode.total) > 1e-6 * max(1.0, abs(episode.total)):
            console.warn(f"the filmed episode with seed {episode.seed} went differently: {total} for {episode.total}")
        if writer.full:
            break
    made = camera.close()
    if config.env.render_mode == "rgb_array":
        console.note(made.text)
    return made.path


def can_film(config: RunConfig) -> bool:
    """True if the environment offers rgb_array."""
    check = getattr(config.env_package, "check", None)
    return not (check and check(config.env.model_copy(update={"render_mode": "rgb_array"})))


def write_report(task: TaskDir, console: Console) -> None:
    """report.html."""
    try:
        html_report.write(task.path)
    except Exception as error:  # as with the figure
        console.warn(f"report.html could not be written: {error}")
