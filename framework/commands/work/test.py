"""Mode test: plays a saved model, scores it and films it, in a task directory of its own."""

import contextlib
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from config.read.loader import RunConfig
from config.read.paths import as_written
from config.tell.language import tr
from framework.archive import sentences
from framework.archive.run import RecordedRun
from framework.assemble import build
from framework.assemble.identity import with_seed
from framework.collect.fragment import Recorder
from framework.dataset.writers import episode_writer
from framework.disk.atomic import write_whole
from framework.disk.csv_log import CsvLog
from framework.disk.task_dir import TaskDir, circumstances
from framework.errors import Interrupted, JoystickError
from framework.loop.evaluator import Evaluation
from framework.policies.policy_plan import plan
from framework.record.console import Console
from framework.record.recorders import FirstEpisodes, Tape
from framework.runs.final_output import ALL_PLAYED, FilmSelection, FinalOutput
from framework.runs.model import Model, opened
from framework.runs.run_files import text_of, write_failure
from framework.runs.signals import StopSignals
from framework.screen.formatting import counted, number

COLUMNS = ("episode", "return", "length", "terminated", "seed")
OF_EVALUATION: dict[str, Any] = {"explore": False, "eval_env": {}}
"""Settings of general_cfg that scores on the same seeds depend on, and what runs that do not name them had."""


@contextlib.contextmanager
def recorded(
    config: RunConfig, env_id: str, command_line: list[str], facts: Mapping[str, Any], stopped: str
) -> Iterator[tuple[TaskDir, Console]]:
    """Makes a task directory with the settings and facts of what is played meanwhile, and its console. stopped: the
    note after a signal."""
    task = TaskDir.create("test", env_id, config.algorithms, config.into, config.start)
    with contextlib.closing(task), contextlib.closing(Console(task.logs / "log.txt", config.general)) as console:
        write_whole(task.config, config.to_yaml().encode())
        task.write_run({**circumstances(command_line), **facts})
        try:
            yield task, console
        except Interrupted:
            console.note(stopped)
            with contextlib.suppress(OSError):  # the disk may be full
                task.write_run({"outcome": "interrupted", "finished": False})
            raise
        except Exception as error:
            console.log_traceback(error)
            with contextlib.suppress(OSError):
                write_failure(task, text_of(error))
            raise


def run(config: RunConfig, command_line: list[str], signals: StopSignals, selection: FilmSelection = ALL_PLAYED) -> int:
    """Tests a model, and returns the exit status. selection: what a video shows."""
    config = with_seed(config).of_evaluation()
    if fault := selection.fault(config):
        raise JoystickError(fault)
    with opened(config) as model:
        facts = {
            "checkpoint": str(as_written(model.saved.path)),
            "checkpoint_facts": model.saved.facts,
            "seed": config.general.seed,
            "gpu": build.gpu_name(config),
        }
        stopped = tr("stopped; the model was not changed")
        with recorded(config, model.agent.spec.id, command_line, facts, stopped) as (task, console):
            _Test(config, model, task, console, signals).go(selection)
    return 0


class _Test:
    """One test: plays, writes, films and reports."""

    def __init__(self, config: RunConfig, model: Model, task: TaskDir, console: Console, signals: StopSignals) -> None:
        self.config, self.model, self.task, self.console, self.signals = config, model, task, console, signals
        self.saved, self.agent, self.env, self.watch = model.saved, model.agent, model.env, model.watch

    def go(self, selection: FilmSelection) -> None:
        cfg, output = self.config.general, FinalOutput(self.config, self.task, self.console)
        for line in filter(
            None, (*self.config.notes, self.model.note, tr("testing {path}", path=as_written(self.saved.path)))
        ):
            self.console.note(line)
        evaluation, tape = self._play(cfg.max_episode)
        if endless := evaluation.endless():
            self.console.warn(endless)
        self._write(evaluation)
        compared = self._online(evaluation)
        told = compared and sentences.shown(compared)
        self.task.write_run({"score": evaluation.facts(), "compared": compared})
        video = None
        if self.config.env.render_mode is not None:
            film = partial(output.film, evaluation, tape, self.signals.check, self.watch, selection)
            video = output.guarded(tr("the episodes could not be filmed"), film)
        output.write_report()
        self.console.tested(self.task.path, self.saved.path, evaluation, told, video)

    def _play(self, episodes: int) -> tuple[Evaluation, Tape]:
        cfg = self.config.general
        tape, writer = Tape(self.env.rows), episode_writer(cfg.collect_format, self.task.results)
        recorders: list[Recorder] = [tape]
        if cfg.collect_traj:
            trajectories = build.trajectories(self.config, self.env, writer)
            recorders.append(FirstEpisodes(trajectories, episodes, self.env.rows))
        evaluator = self.model.evaluator(self.config, self.signals.check)
        with contextlib.closing(writer):
            name = tr("playing {episodes}", episodes=counted(episodes, "episode"))
            return evaluator.play(self.agent, episodes, recorders, name=name), tape

    def _write(self, evaluation: Evaluation) -> None:
        """Writes results/test.csv, with a row for each episode."""
        numbers = build.numbers_of_episodes(plan(self.config, self.agent.spec), self.env)
        rows = CsvLog(self.task.test, [*COLUMNS, *numbers])
        for place, episode in enumerate(evaluation.episodes, start=1):
            values = (place, episode.total, episode.length, int(episode.terminated), episode.seed)
            rows.append({**dict(zip(COLUMNS, values, strict=True)), **episode.metrics})
        rows.close()

    def _online(self, evaluation: Evaluation) -> str | None:
        """Compares the score with that of the online evaluation of this model on the same seeds; None without one."""
        facts, source = self.saved.facts, RecordedRun(self.saved.path.parent.parent)
        rows = [
            row for row in source.evaluations if row.get("update") == facts["update"] and number(row.get("episodes"))
        ]
        general = self.config.general
        if not rows or facts["seed"] != general.seed:
            return None
        if any(source.general.get(key, usual) != getattr(general, key) for key, usual in OF_EVALUATION.items()):
            return None
        count, mean, returns = int(rows[-1]["episodes"]), rows[-1]["mean"], evaluation.returns
        if len(returns) < count:
            return None
        same = float(returns[:count].mean())
        numbers = {"count": count, "same": f"{same:.6g}", "mean": f"{mean:.6g}"}
        return (sentences.COMPARED_SAME if same == mean else sentences.COMPARED_OTHER).format(**numbers)
