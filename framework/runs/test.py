"""mode test: plays a saved model, scores it, and films it. Writes its own task directory."""

from typing import Any

from config.loader import RunConfig
from envs.base import EnvError
from framework import build
from framework.checkpoint.store import BAD_CONTENT, CheckpointStore, Saved
from framework.errors import CheckpointError, JoystickError, TaskDirError
from framework.evaluator import MOST_ROWS, Evaluation, Evaluator, Interrupted
from framework.output import wrap_up
from framework.output.console import Console
from framework.output.csv_log import CsvLog, read_csv
from framework.output.formatting import counted
from framework.output.recorders import Tape, TrajectoryRecorder
from framework.output.trajectories import TrajectoryWriter
from framework.runs.resume import check_identity, with_seed
from framework.runs.signals import StopSignals
from framework.runs.task_dir import TaskDir, circumstances

COLUMNS = ("episode", "return", "length", "terminated", "seed")


def run(config: RunConfig, command_line: list[str], signals: StopSignals) -> int:
    """Exit status of a test."""
    cfg, source = config.general, config.task
    if source is None:
        raise TaskDirError("mode test needs load_checkpoint: true and load_path: NAME")
    config = with_seed(config)
    saved, note = _model(CheckpointStore(source / "models"), cfg.load_model_step)
    env = build.make_env(config, min(cfg.online_eval_episode, MOST_ROWS))
    try:
        spec = build.env_spec(config, env)
        check_identity(saved, config, spec)
        build.choose_threads(config, spec)
        agent = build.make_agent(config, spec, config.general.seed, build.device_of(config))
        try:
            agent.load_state(saved.tree["agent"])
        except (*BAD_CONTENT, RuntimeError, AttributeError) as error:
            raise CheckpointError(f"{saved.path} does not fit this config: {error}") from error
        task = TaskDir.create("test", spec.id, config.algo_package.NAME, config.into)
        try:
            return _Test(config, saved, agent, env, task, signals).go(command_line, note)
        finally:
            task.close()
    finally:
        env.close()


def _model(store: CheckpointStore, step: str | int) -> tuple[Saved, str]:
    """The checkpoint to test, and what to say of the choice."""
    if step == "best" and not store.has_best():
        saved = store.newest(print)
        return saved, f"there is no best model yet; testing the newest, {saved.path.name}"
    if step == "latest":
        return store.newest(print), ""
    return store.read(step, with_journal=False), ""


class _Test:
    """One test: play, write, film, tell."""

    def __init__(
        self, config: RunConfig, saved: Saved, agent: Any, env: Any, task: TaskDir, signals: StopSignals
    ) -> None:
        self.config, self.saved, self.agent, self.env, self.task, self.signals = (
            config,
            saved,
            agent,
            env,
            task,
            signals,
        )
        self.console = Console(task.logs / "log.txt", config.general)

    def go(self, command_line: list[str], note: str) -> int:
        cfg = self.config.general
        facts: dict[str, Any] = {
            **circumstances(command_line),
            "checkpoint": str(self.saved.path),
            "checkpoint_facts": self.saved.facts,
            "seed": cfg.seed,
            "gpu": build.gpu_name(self.config),
        }
        self.task.config.write_text(self.config.to_yaml(), encoding="utf-8")
        self.task.write_run(facts)
        for line in filter(None, (*self.config.notes, note, f"testing {self.saved.path}")):
            self.console.note(line)
        try:
            asked = "general_cfg.max_episode" in self.config.explicit and cfg.max_episode > 0
            episodes = cfg.max_episode if asked else cfg.online_eval_episode
            with self.console.during(f"playing {counted(episodes, 'episode')}"):
                evaluation, tape = self._play(episodes)
            self._write(evaluation)
            compared = self._online(evaluation)
            video = None
            if self.config.env.render_mode is not None:
                video = wrap_up.film(self.config, evaluation, tape, self.task, self.console)
            self.task.write_run({"score": evaluation.facts(), "compared": compared})
            wrap_up.write_report(self.task, self.console)
            self.console.tested(self.task.path, self.saved.path, evaluation.facts(), compared, video)
        except Interrupted:
            self.console.note("stopped before the last episode; nothing was changed")
            return self.signals.exit_status
        except (JoystickError, EnvError) as error:
            self.console.log_traceback(error)
            raise
        finally:
            self.console.close()
        return 0

    def _check(self) -> None:
        if self.signals.received is not None:
            raise Interrupted

    def _play(self, episodes: int) -> tuple[Evaluation, Tape]:
        cfg = self.config.general
        tape = Tape(self.env.rows)
        recorders: list[Any] = [tape]
        if cfg.collect_traj:
            recorders.append(TrajectoryRecorder(TrajectoryWriter(self.task.results), self.env.rows))
        evaluator = Evaluator(self.env, cfg.seed, cfg.max_step, self._check)
        try:
            return evaluator.play(self.agent, episodes, recorders), tape
        finally:
            for recorder in recorders[1:]:
                recorder.writer.close()

    def _write(self, evaluation: Evaluation) -> None:
        """results/test.csv, a row per episode."""
        rows = CsvLog(self.task.results / "test.csv", list(COLUMNS))
        for number, episode in enumerate(evaluation.episodes, start=1):
            values = (number, episode.total, episode.length, int(episode.terminated), episode.seed)
            rows.append(dict(zip(COLUMNS, values, strict=True)))
        rows.close()

    def _online(self, evaluation: Evaluation) -> str | None:
        """How the score compares with the one that online evaluation gave this model on the same seeds."""
        facts, source = self.saved.facts, TaskDir(self.saved.path.parent.parent)
        rows = [row for row in read_csv(source.results / "eval.csv") if row["update"] == facts["update"]]
        if not rows or facts["seed"] != self.config.general.seed:
            return None
        count, mean = int(rows[-1]["episodes"]), rows[-1]["mean"]
        if len(evaluation.episodes) < count:
            return None
        same = Evaluation(evaluation.episodes[:count]).mean
        verdict = "the same" if same == mean else "not the same"
        return f"first {count} episodes: {same:.6g}; online evaluation gave {mean:.6g}, {verdict}"
