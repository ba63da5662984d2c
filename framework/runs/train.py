"""A training run from its first line to its last: set up or resume, train, score, draw, report."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import torch

from config.general import GeneralConfig
from config.loader import RunConfig
from envs.base import EnvError, VectorEnv
from framework import build
from framework.backend import Backend, Lost, SingleProcess
from framework.checkpoint.store import BAD_CONTENT, Saved
from framework.errors import MISTAKE, CheckpointError, JoystickError
from framework.evaluator import MOST_ROWS, Evaluator, Interrupted
from framework.learner import Learner
from framework.output.console import Console
from framework.output.formatting import resume_command
from framework.output.recorders import Tape
from framework.output.run_log import Count, RunLog
from framework.output.trajectories import TrajectoryWriter
from framework.output.wrap_up import film, tell
from framework.runs.resume import Start, identity, start, with_seed
from framework.runs.signals import StopSignals, Watchdog, Watched
from framework.runs.task_dir import circumstances
from framework.trainer import Score, Trainer

MOST_LOSSES = 5
"""Times that a run brings lost processes back to the same checkpoint."""
FIRST_PAUSE = 0.5
"""Seconds before it does; twice as many after each further loss. A cluster may need a while to know what it lost."""
LOADING = ("load_checkpoint", "load_path", "load_model_step")


def run(config: RunConfig, command_line: list[str], signals: StopSignals) -> int:
    """Exit status of a training run."""
    config = with_seed(config)
    env = build.make_env(config, config.env.n_envs)
    with contextlib.closing(env), contextlib.ExitStack() as stack:
        # What may be refused is made before the task directory is.
        backend = stack.enter_context(_backend(config, env, lambda: signals.received is not None))
        begin = start(config, backend.agent.spec)
        try:
            return _Run(config, env, backend, begin, command_line, signals).go()
        finally:
            begin.task.close()


@contextlib.contextmanager
def _backend(config: RunConfig, env: VectorEnv, stopping: Callable[[], bool]) -> Iterator[Backend]:
    """One process, or many."""
    spec, seed = build.env_spec(config, env), config.general.seed
    build.choose_threads(config, spec)  # before the agent: even its first weights depend on it, in the last bits
    if config.general.mp_backend == "ray":
        from framework.distributed.launch import backend

        with backend(config, spec, stopping) as remote:
            yield remote
        return
    agent = build.make_agent(config, spec, seed, build.device_of(config))
    memory = build.make_memory(config, spec, seed, env.goal)
    collector = build.make_collector(config, env, agent, seed)
    yield SingleProcess(collector, memory, Learner(agent, config.algo.memory(spec.rows)))


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
        backend: Backend,
        begin: Start,
        command_line: list[str],
        signals: StopSignals,
    ) -> None:
        self.config, self.env, self.backend, self.start, self.signals = config, env, backend, begin, signals
        self.agent = backend.agent
        self.spec = spec = self.agent.spec
        self.task = task = begin.task
        self.command_line = command_line
        cfg, seed = config.general, config.general.seed
        self.console = Console(task.logs / "log.txt", cfg)
        self.trajectories = None
        if cfg.collect_traj:
            self.trajectories = TrajectoryWriter(task.results)
            backend.record(self.trajectories)
        self.store = begin.store
        self.log = RunLog(task, self.agent, self.console, cfg.interact_summary_fre, cfg.model_summary_fre)
        self.eval_env = build.make_env(config, min(cfg.online_eval_episode, MOST_ROWS))
        self.evaluator = Evaluator(self.eval_env, seed, cfg.max_step, self._check)
        facts = identity(config, spec)
        self.trainer = Trainer(
            cfg, backend, self.evaluator, self.store, self.log, self.trajectories, facts, self._asked_to_stop
        )
        backend.attend(self.console.warn)
        self.finishing = False
        """What an environment does now is a final evaluation, after the last checkpoint."""
        self.said = ""
        """What the processes say of the whole run."""
        self.losses = 0
        self.lost_at: Path | None = None
        """The checkpoint to which that many losses have brought it back."""

    def _asked_to_stop(self) -> bool:
        return self.signals.received is not None

    def _check(self) -> None:
        if self.signals.received is not None:
            raise Interrupted

    def go(self) -> int:
        """Load, train, and close whatever happens."""
        watchdog = None
        try:
            self._write_down()
            self._load()
            self.task.write_run({"processes": self.backend.processes()})
            watchdog = Watchdog(self.config.general.env_timeout, self._collectors, self._hangs)
            before = self.trainer.count
            self.console.start(before, self.trainer.elapsed, self.trainer.best)
            reason, score = self._train(before)
            watchdog.close()
            return self._interrupted() if score is None else self._finished(reason, score)
        except (JoystickError, EnvError) as error:
            self._broken_off(error)
            raise
        finally:
            if watchdog is not None:
                watchdog.close()
            self.console.close()
            self.log.close()
            if self.trajectories is not None:
                self.trajectories.close()
            self.eval_env.close()

    def _train(self, before: Count) -> tuple[str, Score | None]:
        """Until a stop rule is met: which, and the final score; None where the run was asked to stop. Lost processes
        are brought back, with what the latest checkpoint knows."""
        saved = None
        while True:
            try:
                if saved is not None:
                    self._bring_back(saved)
                reason = self.trainer.run()
                if self.trainer.count == before:
                    self.console.note(f"nothing was left to train: {reason}; a higher limit goes on")
                if self.signals.received is not None:
                    return reason, None
                self.finishing = True
                self.said = ": ".join(filter(None, self.backend.says(whole=True)))  # before what is no training
                return reason, self.trainer.finish()
            except Interrupted:
                return "interrupted", None
            except Lost as lost:
                self.finishing = False
                saved = self.store.newest(self.console.warn)
                self.losses = self.losses + 1 if saved.path == self.lost_at else 1
                self.lost_at = saved.path
                if self.losses > MOST_LOSSES:
                    raise
                self.console.warn(f"{lost}; all processes begin again at checkpoint {saved.path.name}")

    def _bring_back(self, saved: Saved) -> None:
        time.sleep(FIRST_PAUSE * 2 ** (self.losses - 1))
        self.backend.restart()
        self.trainer.load_state(saved, branch=False)
        self.store.continue_from(saved)
        self.task.write_run({"processes": self.backend.processes()})
        self.console.start(self.trainer.count, self.trainer.elapsed, self.trainer.best)

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
            "gpu": build.gpu_name(self.config),
        }
        self.task.config.write_text(_repeatable(self.config).to_yaml(), encoding="utf-8")
        self.task.write_run(facts)
        for note in self.config.notes:
            self.console.note(note)
        self.console.note(f"task directory: {self.task.path}")
        self.console.note(f"seed: {self.config.general.seed}")

    def _load(self) -> None:
        saved = self.start.saved
        if saved is None:
            if self.config.general.mp_backend == "ray":
                self.trainer.save()  # what a process that dies early is brought back from
            return
        try:
            different = self.trainer.load_state(saved, self.start.branch)
        except (*BAD_CONTENT, RuntimeError, AttributeError) as error:
            raise CheckpointError(f"{saved.path} does not fit this run: {error}") from error
        if not self.start.branch:
            self.store.continue_from(saved)
        elif self.config.general.mp_backend == "ray":
            self.trainer.save()  # a branch has no checkpoint of its own yet
        count = self.trainer.count
        self.console.note(f"going on from {saved.path}: {count.episode} episodes, {count.step} steps")
        if different or not self.env.replayable:
            rows = ", ".join(different) or "all"
            text = f"not exact: the running episodes of rows {rows} could not be repeated and begin anew"
            self.console.warn(text)
            self.task.write_run({"inexact_resume": text})

    def _collectors(self) -> list[Watched]:
        evaluating = self.evaluator.collector
        return [*self.backend.watched(), *([evaluating] if evaluating else [])]

    # the ways a run ends ----------------------------------------------------------------------------------

    def _finished(self, reason: str, score: Score) -> int:
        if self.said:
            self.console.note(f"processes: {self.said}")
            self.task.write_run({"processes_said": self.said})
        if self.config.env.render_mode is not None and self.store.has_best() and not self.trainer.unsaved:
            self._show()  # before the report and the last screen, which name the video
        tell(self.config, self.task, self.trainer, self.evaluator, score, reason, finished=True)
        if self.trainer.unsaved:
            self.console.warn("the last model could NOT be saved; models/ ends earlier")
            return MISTAKE
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
        if not self.finishing:
            self.trainer.save()
        hanging = next(collector for collector in self._collectors() if collector.inside)
        print(
            f"\nerror: {self.spec.id} has not answered for {cfg.env_timeout:g} s, after "
            f"{hanging.steps} steps, with action {hanging.last_action()}. The run was "
            f"saved; to go on: {self._resume_command()}",
            file=sys.stderr,
        )
        self.console.close()
        os._exit(2)
