"""A training run from its first line to its last: set up or resume, train, score, draw, report."""

import os
import sys
from dataclasses import replace

import torch

from algos.base import Agent
from config.config import GeneralConfig
from config.loader import RunConfig
from envs.base import EnvError, VectorEnv
from framework import build
from framework.checkpoint import BAD_CONTENT
from framework.console import Console
from framework.errors import MISTAKE, CheckpointError, JoystickError
from framework.evaluator import MOST_ROWS, Evaluator, Interrupted
from framework.learner import Learner
from framework.memory import Memory
from framework.recorders import Tape, TrajectoryRecorder
from framework.resume import Start, identity, start, with_seed
from framework.run_log import RunLog
from framework.signals import StopSignals, Watchdog, Watched
from framework.story import film, tell
from framework.task_dir import circumstances
from framework.topology import Local
from framework.trainer import Score, Trainer
from framework.trajectories import TrajectoryWriter
from framework.words import resume_command

LOADING = ("load_checkpoint", "load_path", "load_model_step")


def run(config: RunConfig, command_line: list[str], signals: StopSignals) -> int:
    """Exit status of a training run."""
    env = build.make_env(config, config.env.n_envs)
    try:
        spec = build.env_spec(config, env)
        config = with_seed(config)
        seed = config.general.seed
        build.choose_threads(config, spec)  # before the agent: even its first weights depend on it, in the last bits
        # What may be refused is made before the task directory is.
        agent = build.make_agent(config, spec, seed, build.device_of(config))
        memory = build.make_memory(config, spec, seed, env.goal)
        begin = start(config, spec)
        try:
            return _Run(config, env, agent, memory, begin, command_line, signals).go()
        finally:
            begin.task.close()
    finally:
        env.close()


def _repeatable(config: RunConfig) -> RunConfig:
    """The config without what it was loaded from: a file for --yaml that begins the run anew."""
    defaults = {key: GeneralConfig.model_fields[key].default for key in LOADING}
    return replace(config, general=config.general.model_copy(update=defaults))


class _Run:
    """The parts of one training run."""

    def __init__(
        self,
        config: RunConfig,
        env: VectorEnv,
        agent: Agent,
        memory: Memory,
        begin: Start,
        command_line: list[str],
        signals: StopSignals,
    ) -> None:
        self.config, self.env, self.agent, self.start, self.signals = config, env, agent, begin, signals
        self.spec = spec = agent.spec
        self.task = task = begin.task
        cfg, seed = config.general, config.general.seed
        self.console = Console(task.logs / "log.txt", cfg)
        self.trajectories = None
        if cfg.collect_traj:
            self.trajectories = TrajectoryRecorder(TrajectoryWriter(task.results), env.rows)
        recorders = (self.trajectories,) if self.trajectories else ()
        self.store = begin.store
        self.log = RunLog(task, self.agent, self.console, cfg.interact_summary_fre, cfg.model_summary_fre)
        self.eval_env = build.make_env(config, min(cfg.online_eval_episode, MOST_ROWS))
        self.evaluator = Evaluator(self.eval_env, seed, cfg.max_step, self._check)
        collector = build.make_collector(config, env, self.agent, seed, recorders=recorders)
        self.topology = Local(collector, memory, Learner(self.agent, config.algo.memory(spec.rows)))
        self.trainer = Trainer(
            cfg,
            self.topology,
            self.evaluator,
            self.store,
            self.log,
            self.trajectories,
            facts=identity(config, spec),
        )
        self.trainer.stopping = lambda: self.signals.received is not None
        self.command_line = command_line

    def _check(self) -> None:
        if self.signals.received is not None:
            raise Interrupted

    def go(self) -> int:
        """Load, train, and close whatever happens."""
        watchdog = None
        try:
            self._write_down()
            self._load()
            watchdog = Watchdog(self.config.general.env_timeout, self._collectors, self._hangs)
            before = self.trainer.count
            self.console.start(before, self.trainer.elapsed)
            reason = self.trainer.run()
            if self.trainer.count == before:
                self.console.note(f"nothing was left to train: {reason}; a higher limit goes on")
            watchdog.close()
            return self._interrupted() if self.signals.received is not None else self._finished(reason)
        except (JoystickError, EnvError) as error:
            self._broken_off(error)
            raise
        finally:
            if watchdog is not None:
                watchdog.close()
            self.console.close()
            self.log.close()
            if self.trajectories is not None:
                self.trajectories.writer.close()
            self.eval_env.close()

    def _write_down(self) -> None:
        """The effective config and the circumstances are on disk before the first step."""
        facts = circumstances(self.command_line)
        if self.start.saved is not None and not self.start.branch:
            runs = self.task.read_run()
            earlier = runs.get("resumes")
            facts = {"from": self.start.saved.path.name, **facts}
            facts = {"resumes": [*(earlier if isinstance(earlier, list) else []), facts]}
        elif self.start.saved is not None:
            facts["branched_from"] = str(self.start.saved.path)
        facts |= {"changed": list(self.start.changed)} if self.start.changed else {}
        facts |= {"expected_return": self.config.expected_return, "preset": self.config.preset}
        facts |= {
            "allow_import": list(self.config.allow_import),
            "seed": self.config.general.seed,
            "torch_threads": torch.get_num_threads(),
        }
        self.task.config.write_text(_repeatable(self.config).to_yaml(), encoding="utf-8")
        self.task.write_run(facts)
        for note in self.config.notes:
            self.console.note(note)
        self.console.note(f"task directory: {self.task.path}   seed: {self.config.general.seed}")

    def _load(self) -> None:
        saved = self.start.saved
        if saved is None:
            return
        try:
            different = self.trainer.load_state(saved, self.start.branch)
        except (*BAD_CONTENT, RuntimeError, AttributeError) as error:
            raise CheckpointError(f"{saved.path} does not fit this run: {error}") from error
        if not self.start.branch:
            self.store.continue_from(saved)
        count = self.trainer.count
        self.console.note(f"going on from {saved.path}: {count.episode} episodes, {count.step} steps")
        if different or not self.env.replayable:
            rows = ", ".join(different) or "all"
            text = f"not exact: the running episodes of rows {rows} could not be repeated and begin anew"
            self.console.warn(text)
            self.task.write_run({"inexact_resume": text})

    def _collectors(self) -> list[Watched]:
        evaluating = self.evaluator.collector
        return [self.topology.collector, *([evaluating] if evaluating else [])]

    # the ways a run ends ----------------------------------------------------------------------------------

    def _finished(self, reason: str) -> int:
        try:
            score = self.trainer.finish()
        except Interrupted:
            return self._interrupted()
        tell(self.config, self.task, self.trainer, self.evaluator, score, reason, finished=True)
        if self.trainer.unsaved:
            self.console.warn("the last model could NOT be saved; models/ ends earlier")
            return MISTAKE
        if self.config.env.render_mode is not None and self.store.has_best():
            self._show()
        return 0

    def _show(self) -> None:
        """The best model's evaluation episodes, as a film or in a window."""
        self.agent.load_state(self.store.read("best", with_journal=False).tree["agent"])
        tape = Tape(self.eval_env.rows)
        evaluation = self.evaluator.play(self.agent, self.config.general.online_eval_episode, (tape,))
        film(self.config, evaluation, tape, self.task, self.console)

    def _interrupted(self) -> int:
        self.trainer.save()
        score = Score(self.trainer.best, self.trainer.best_update)
        tell(self.config, self.task, self.trainer, self.evaluator, score, "interrupted", finished=False)
        return self.signals.exit_status

    def _broken_off(self, error: Exception) -> None:
        """An environment failed, or a number went bad: keep what is whole, and say how to go on. After a bad number
        the agent itself is spoilt, and what was saved before it stands."""
        self.console.log_traceback(error)
        if isinstance(error, EnvError):
            self.trainer.save()
        self.log.flush()
        if self.store.numbers():
            self.console.note(f"to go on: {self._resume_command()}")

    def _resume_command(self) -> str:
        return resume_command(self.task.path, self.config.allow_import)

    def _hangs(self) -> None:
        """Called by the watchdog: the environment does not come back, so neither will the main thread."""
        cfg = self.config.general
        self.trainer.save()
        print(
            f"\nerror: {self.spec.id} has not answered for {cfg.env_timeout:g} s, after "
            f"{self.topology.collector.steps} steps, with action {self.topology.collector.last_action()}. The run was "
            f"saved; to go on: {self._resume_command()}",
            file=sys.stderr,
        )
        self.console.close()
        os._exit(2)
