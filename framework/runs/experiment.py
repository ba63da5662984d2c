"""A training run: setup, training, end. It knows no signal, no command line and no exit status.

The command line trains it to its end (framework/commands/work/train.py), and joystick.Run by iterations (session.py).
"""

import contextlib
import functools
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from algos.base import OwnLossError, TrainableActor, UnfitError
from config.config import GeneralConfig
from config.own import source_files
from config.read.loader import RunConfig
from config.read.paths import as_written
from config.read.task_files import COPIED_TO
from config.tell.language import tr
from envs.base import EnvError
from framework.archive import sentences
from framework.archive.run import RecordedRun
from framework.assemble import build, offline, resources
from framework.assemble.compiling import with_compile
from framework.assemble.identity import identity, with_seed
from framework.assemble.kernels import use_kernels, with_kernels
from framework.collect.env_calls import Watch
from framework.collect.fragment import Recorder
from framework.collect.same_episodes import SameEpisodes
from framework.dataset.store import StepStore
from framework.dataset.writers import episode_writer
from framework.disk.atomic import remove_folder
from framework.disk.checkpoints import BAD_CONTENT, Saved
from framework.disk.spare import spare_descriptors
from framework.disk.task_dir import check_new
from framework.errors import CallbackError, CheckpointError, Interrupted, JoystickError, Stopped
from framework.film.film import TrainingVideos
from framework.loop.backend import Backend, Lost, WorkerLost
from framework.loop.curriculum import Phases
from framework.loop.evaluator import MOST_ROWS
from framework.loop.iteration import Count, EpisodeRows
from framework.loop.observer import Observer
from framework.loop.profile import profiling
from framework.loop.single_process import SingleProcess
from framework.loop.trainer import Trainer
from framework.policies.assignment import moved_by_others
from framework.policies.policy_plan import plan
from framework.record.callbacks import CallbackObserver, CallbackRecorder, taken
from framework.record.console import Console
from framework.record.recorders import TRAJECTORIES, Tape
from framework.record.redraw import Redraw
from framework.record.run_log import EVAL_COLUMNS, RunLog
from framework.record.system_log import Gpu, SystemLog
from framework.record.traces import TRACES, TraceWriter
from framework.runs import exactness, initial_weights, run_files, supervisor_pipe
from framework.runs.best_model import choose_best
from framework.runs.final_output import Ending, FinalOutput
from framework.runs.remarks import OVERSHOOT, beforehand
from framework.runs.resume import plain, start
from framework.runs.sampling import Sampler
from framework.screen import outcome
from framework.screen.formatting import counted, play_command, resume_command, short
from framework.screen.stages import stage

if TYPE_CHECKING:
    from framework.storage.mirror import Mirror

T = TypeVar("T")
LEAST_NOTED = 2**19
"""Bytes on the disk that are worth a line: those that round to a MiB."""
MOST_LOSSES = 5
"""Number of times that lost processes are restarted at the same checkpoint."""
FIRST_PAUSE = 0.5
"""Seconds before the first restart; doubled after each further loss, since a cluster may notice a loss late."""


class Experiment:
    """One training run, from the environment to the report. A context manager: closes everything that it opened."""

    def __init__(
        self,
        config: RunConfig,
        stopping: Callable[[], bool] = lambda: False,
        facts: Mapping[str, Any] | None = None,
        make_console: Callable[[Path, GeneralConfig], Console] = Console,
        say: Callable[[str], None] = lambda text: print(text, flush=True),
        handle: Callable[["Experiment"], Any] = lambda experiment: None,
        asked_to_save: Callable[[], str | None] = lambda: None,
    ) -> None:
        self.process = os.getpid()
        """The process that this run belongs to. A forked child has copies of all its parts, and may use none."""
        self.config = offline.with_updates(with_seed(config))
        self.stopping = stopping
        """True if the run was asked to stop."""
        self.facts = dict(facts or {})
        """Entries of run.json about this session, such as its command line."""
        self.code: Mapping[str, bytes] = {}
        """Files of the user's own code."""
        self.make_console = make_console
        self.say = say
        """Prints a line before there is a console."""
        self.handle = handle
        """Returns the joystick.Run that the callbacks of an experiment get."""
        self.asked_to_save = asked_to_save
        """Returns, once, who has asked for a checkpoint, such as the name of a signal."""
        self.watch = Watch()
        """Records each call into an environment of this process, for the watchdog."""
        self.opened = False
        """True after setup: the task directory, the log and the Trainer exist."""
        self.loaded = False
        """True while the state of the Trainer is whole, so that it may be saved: not before a checkpoint is loaded."""
        self.trained = False
        """True after the last save: whatever fails later costs a warning."""
        self.mirror: Mirror | None = None
        """Copy of the task directory in a store; None without one."""
        self.load = ""
        """Load of the processes over the whole training."""
        self._asked: dict[int, int] = {}
        """Number of an iteration of this session -> environment steps that it was asked for."""
        self._telling = False
        """True while the console is open."""
        self._env_changes = 0
        self._left_best: float | None = None
        """Score of a better model that a run that goes on leaves behind."""
        self._pids: Sequence[int] = ()
        """Processes of Ray on this machine that train."""
        self._stack = contextlib.ExitStack()
        self._training = contextlib.ExitStack()
        """Parts that only training needs: the processes of Ray, and Ray itself."""

    # setup ------------------------------------------------------------------------------------------------

    def __enter__(self) -> "Experiment":
        try:
            self._open()
            self.opened = True
            with self._saving():
                run_files.write_start(self.task, self.config, self.start, self.facts)
                if self.start.saved is None or self.start.branch:
                    run_files.write_code(self.task, self.code)
                self.task.write_run({"repeatable": exactness.compare(self.numbers, self.numbers).to_json()})
                for note in self._notes():
                    self.console.note(note)
                continues = self.start.saved is not None and not self.start.branch
                begun = self.start.saved.facts if self.start.saved else {}
                self._load()
                if continues:
                    run_files.write_settings(self.task, self.config)
                    run_files.write_code(self.task, self.code)
                    if self.trainer.stop_reason() is None:  # it may be killed before its higher limit
                        self._tell_of_the_best(begun)
                        self.task.write_run({"finished": False, "outcome": None})
        except BaseException:
            self.close()
            raise
        return self

    def _tell_of_the_best(self, begun: Mapping[str, Any]) -> None:
        """Tells of a best model that a finished run goes on without: a checkpoint that was evaluated because the run
        ended there, which one that had gone on would not have. begun: facts of the checkpoint that it goes on from."""
        facts = self.task.facts()
        if not facts.finished or facts.best is None or begun.get("save_point", True):
            return
        if facts.best_update is None or facts.best_update != begun.get("update"):
            return
        self._left_best = facts.best
        command = play_command(self.task.path, self.config.allow_import)
        self.console.note(
            tr(
                "the best model so far, {score} at update {update:,}, was evaluated because the run ended there; that "
                "does not count in a run that goes on. To play it: {command}",
                update=facts.best_update,
                score=short(facts.best),
                command=f"{command} general_cfg.load_model_step={facts.best_update}",
            )
        )

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes logs, environments, processes and the lock of the task directory; nothing in a forked child."""
        if self.is_own:
            self._stack.close()

    @property
    def is_own(self) -> bool:
        """True in the process that began this run; False in a child that was forked later."""
        return os.getpid() == self.process

    def check_own(self) -> None:
        """Raises JoystickError in a forked child."""
        if not self.is_own:
            raise JoystickError(
                "process {child} is forked from process {process}, which trains {path}, and "
                "cannot use its run; Run.branch continues from a checkpoint of it in a new folder",
                child=os.getpid(),
                process=self.process,
                path=as_written(self.task.path),
            )

    def _open(self) -> None:
        """Creates all parts. Those that can be refused come before the task directory."""
        config, cfg, enter = self.config, self.config.general, self._stack.enter_context
        check_new(config.into, config.start)  # before Ray is started, which takes long
        self.callbacks = build.make_callbacks(config)
        loggers = build.make_loggers(config)
        self.env = enter(build.opened_env(config, config.env.n_envs, self.watch))
        self.config = config = with_kernels(with_compile(config))
        use_kernels(config)
        self.backend = backend = enter(self._training).enter_context(self._make_backend())
        self.spec = backend.agent.spec
        user = self.callbacks
        its = plan(config, self.spec)
        numbers = build.numbers_of_episodes(its, self.env)
        rows = build.make_rows(config, backend.agent, its, self.env, user)
        phases = Phases(cfg.curriculum, rows.metrics)
        self._check_columns(numbers)
        self._weights = initial_weights.named(config, backend.agent)
        self._fitting = initial_weights.fitting(config, backend.agent)
        self.start = start(config, self.spec)
        if self.start.saved is not None:
            build.keep_threads(config, (self.start.saved.facts.get("exactness") or {}).get("torch_threads"))
        self._threads = torch.get_num_threads()
        self.task, self.store = self.start.task, self.start.store
        self._stack.callback(self.task.close)
        self._open_mirror()
        supervisor_pipe.tell_folder(self.task.path)
        if self.env.metrics:
            self.task.write_run({"numbers": list(self.env.metrics)})
        evaluated_in = config.of_evaluation()
        eval_env = enter(build.opened_env(evaluated_in, min(cfg.online_eval_episode, MOST_ROWS), self.watch))
        self.console = self.make_console(self.task.logs / "log.txt", cfg)
        self._stack.callback(self.console.close)  # after the log, of which a logger may fail at its end
        self.output = FinalOutput(evaluated_in, self.task, self.console)
        evaluated = (*numbers, *(user.METRICS if user and user.IN_EVALUATION else ()))
        self.log = log = RunLog(
            self.task, rows, self.console, cfg.interact_summary_fre, cfg.model_summary_fre, evaluated, self._writers(),
            loggers, run_files.repeatable(config).as_dict(),
        )  # fmt: skip
        self._stack.callback(log.close)
        self._telling = True
        self._stack.callback(setattr, self, "_telling", False)
        self.numbers = exactness.facts(config, backend.agent.device)
        if drawing := {layer for agent in backend.agent.by_policy().values() for layer in agent.drawing_layers()}:
            self.numbers[exactness.DRAWN] = sentences.DRAWN.format(layers=", ".join(sorted(drawing)))
        self.code = source_files.of(config.own_modules)
        if self.code:
            self.numbers[exactness.CODE] = source_files.digests(self.code)
            self.facts = {**self.facts, exactness.CODE: self.numbers[exactness.CODE]}
        for step in backend.agent.gradient_steps():
            step.tell, step.give_up = self.console.note, self._without_compiling
        facts = {
            **identity(config, self.spec),
            "config": plain(run_files.repeatable(config)),
            "expected_return": config.expected_return,
            "exactness": self.numbers,
        }
        recorders: list[Recorder] = [SameEpisodes(phases.evaluation, self._note_unseeded)]
        if user and user.IN_EVALUATION:
            recorders.append(CallbackRecorder(user, eval_env.rows, in_evaluation=True))
        self.evaluator = build.make_evaluator(
            evaluated_in, eval_env, self.check, self.watch, phases.evaluation, recorders,
            lambda: self.trainer.exploration(),
        )  # fmt: skip
        observers: list[Observer] = [log, *([CallbackObserver(user, self.handle(self))] if user else [])]
        if cfg.video_fre:
            opens = build.open_drawing(build.drawing(config), self.watch)
            observers.append(TrainingVideos(config, self.env, self.task, self.console, opens, self.check, self.watch))
        device = build.device_of(config)
        system = SystemLog(
            self.task.system,
            lambda: (self.trainer.count, self.trainer.seconds()),
            Gpu(str(device)) if device.type == "cuda" else None,
            lambda: self._pids,
        )
        observers.append(system)
        observers.append(Redraw(lambda: self.output.draw_so_far(self.trainer, log), self.console))
        self.trainer = Trainer(
            cfg, backend, self.evaluator, self.store, self.console, rows, observers, facts,
            self.stopping, phases, config.pause_at_step, config.algo.offline_updates_of(), self.asked_to_save,
        )  # fmt: skip
        self._stack.callback(system.close)  # its last row has the counters of the trainer
        if cfg.profile:
            self.trainer.profile = enter(profiling(self.trainer, log))

    def set_up_process(self) -> None:
        """Lets this process compute and log as the run does: another run may have used it since."""
        torch.set_num_threads(self._threads)
        use_kernels(self.config)
        self.console.listen()

    def _open_mirror(self) -> None:
        """Takes the claim on the copy in a store. What waiting does not mend is refused before the run begins, and
        leaves no folder behind."""
        if self.config.general.storage is None and not (self.task.path / COPIED_TO).exists():
            return
        from framework.storage.mirror import mirror_of  # only a run that is copied needs it

        config, is_new = self.config, self.start.saved is None or self.start.branch
        explicit = "general_cfg.storage" in config.explicit
        self.mirror = mirror_of(self.task.path, config.general.storage, explicit, config.take_over, self._say_of_mirror)
        if self.mirror is None:
            return
        try:
            self.mirror.begin()
        except BaseException:
            if is_new:
                self.task.close()
                remove_folder(self.task.path)
            raise
        close = self.mirror.close
        self._stack.callback(lambda: close(self.stopping()))

    def _say_of_mirror(self, text: str, is_warning: bool) -> None:
        """Tells of the copy in a store; called by its thread, too."""
        if self._telling:
            (self.console.warn if is_warning else self.console.note)(text)
        elif is_warning:
            print(tr("warning: {text}", text=text), file=sys.stderr, flush=True)
        else:
            self.say(text)

    def _check_columns(self, numbers: Sequence[str]) -> None:
        """Raises JoystickError if a metric of the algorithm, or a number of the environment or of the callbacks, has
        the name of another column."""
        agent, user = self.backend.agent, self.callbacks.METRICS if self.callbacks else ()
        standard, whole = EpisodeRows(agent), EpisodeRows(agent, numbers)
        for columns in (standard.columns, standard.progress_columns):
            for at, name in enumerate(columns):
                if name in ("phase", *columns[:at]):
                    where = f"{self.config.general.algo_name}: METRICS"
                    raise JoystickError(
                        "{where} gives a column {name!r}, and there is one of this name", where=where, name=name
                    )
        for names, rows, where in (
            (numbers, standard, f"{self.spec.id}: metrics"),
            (user, whole, "general_cfg.callbacks: METRICS"),
        ):
            if fault := taken(names, (*rows.columns, *rows.progress_columns, *EVAL_COLUMNS, "phase"), where):
                raise JoystickError(fault)

    @functools.cached_property
    def sampler(self) -> Sampler:
        """The collector of Run.sample, with an environment of its own."""
        if self.env.joint is not None:
            raise JoystickError("sample is for a run of one agent; train() trains several policies")
        env = self._stack.enter_context(build.opened_env(self.config, self.config.env.n_envs, self.watch))
        return Sampler(self.config, env, self.trainer.agent, lambda: self.trainer.phases.shown)

    def _writers(self) -> dict[str, StepStore]:
        """Returns what writes the records of training, by their kind."""
        cfg = self.config.general
        writers: dict[str, StepStore] = {}
        if cfg.collect_traj:
            writers[TRAJECTORIES] = episode_writer(cfg.collect_format, self.task.results)
        if cfg.traces:
            writers[TRACES] = TraceWriter(self.task.path, cfg.traces, cfg.traces_file_mb)
        return writers

    @contextlib.contextmanager
    def _make_backend(self) -> Iterator[Backend]:
        config, env, seed = self.config, self.env, self.config.general.seed
        spec = build.env_spec(config, env)
        if config.general.mp_backend == "ray":
            from framework.distributed.launch import backend

            with backend(config, spec, self.stopping, self.say) as remote:
                yield remote
            return
        agent = build.make_agent(config, spec, seed, build.device_of(config))
        build.choose_threads(config, agent)
        memory = build.make_memory(config, spec, seed, env.goal)
        recorders = build.make_recorders(config, env, self.callbacks)
        collector = build.make_collector(config, env, agent, seed, recorders=recorders, watch=self.watch)
        yield SingleProcess(collector, memory, build.make_learner(config, spec, agent), plan(config, spec).fragment)

    def _notes(self) -> Iterator[str]:
        """Yields the lines before the first step."""
        yield from self.config.notes
        planned = plan(self.config, self.spec)
        for policy in planned.policies:
            if policy.slots is not None and policy.slots.meets_random:
                yield tr("evaluations play one agent of {policy} against random ones", policy=policy.name)
        if self.start.saved is None:
            yield from beforehand(self.config, planned, self.spec.rows)
        size = resources.journal_bytes(self.config, planned)
        if size >= LEAST_NOTED and (self.start.saved is None or self.start.branch):  # a run that goes on has said it
            yield tr("disk space for the replay buffer: up to {size:,.0f} MiB (models/journal)", size=size / 2**20)
        yield tr("task directory: {path}", path=as_written(self.task.path))
        if not self.task.has_locks:
            yield tr(
                "its file system has no locks: nothing keeps a second process from writing there, and lists show the "
                "run as failed until it has ended"
            )
        yield tr("seed: {seed}", seed=self.config.general.seed)
        if self.config.general.compile == "on":
            yield tr("gradient steps are compiled (general_cfg.compile)")
        yield from offline.data_notes(self.config)
        yield from offline.mask_notes(self.config, self.env, self.watch if self.backend.processes else None)

    @property
    def compiles(self) -> bool:
        """True while a gradient step is compiled, in this process."""
        return self.opened and any(step.compiles for step in self.backend.agent.gradient_steps())

    def _without_compiling(self, why: str) -> None:
        """Makes all gradient steps by autograd from here on, also in later sessions, since one cannot be compiled."""
        self.console.warn(tr("gradient steps are not compiled, but made by autograd: {why}", why=why))
        for step in self.backend.agent.gradient_steps():
            step.compile(None)
        self.config = self.config.with_general(compile="off")
        self.numbers |= exactness.facts(self.config, self.backend.agent.device)
        run_files.write_settings(self.task, self.config)

    def _load(self) -> None:
        """Restores the checkpoint that the run starts from, if there is one."""
        saved, ray = self.start.saved, self.backend.processes is not None
        if saved is not None:
            try:
                different = self._restore(saved, self.start.branch)
            except EnvError as error:
                error.add_note(
                    tr(
                        "It failed while the running episodes of {path} were repeated.",
                        path=as_written(saved.path),
                    )
                )
                raise
            except (*BAD_CONTENT, RuntimeError, AttributeError) as error:
                raise CheckpointError(
                    "{path} does not fit this run: {error}", path=as_written(saved.path), error=error
                ) from error
            if not self.start.branch:
                self.store.continue_from(saved)
            self._note_exactness(saved, different)
            self.start = replace(self.start, saved=None)  # its journal may be as large as the memory
        if self._weights:
            initial_weights.install(self.backend, self._weights)
        if self._fitting:
            initial_weights.start_with(self.backend, self._fitting)
            self.console.note(self._fitting.text)
        for text in moved_by_others(self.config):
            self.console.warn(text)
        self.loaded = True
        if self.mirror is not None:  # the files of a resume are cut back to its checkpoint
            self.mirror.start()
        self.log.loggers.begin()
        if ray and (saved is None or self.start.branch):
            self.trainer.save()  # lost processes are restarted from a checkpoint, and there is none yet
        self._write_processes()

    def _restore(self, saved: Saved, branch: bool) -> list[str]:
        """Restores a checkpoint, as Trainer.load_state does. Nothing is saved meanwhile: an environment that fails or
        hangs while its episodes are repeated must not leave half of a state in the place of a whole one."""
        self.loaded = False
        journal = saved.journal.journal.progress if saved.journal else lambda: ""
        with stage(tr("restoring the checkpoint"), lambda: self.backend.doing() or journal()):
            different = self.trainer.load_state(saved, branch)
        self.loaded = True
        return different

    def _note_exactness(self, saved: Saved, different: list[str]) -> None:
        count = self.trainer.count
        self.console.note(
            tr(
                "resuming from {path}: {episodes}, {steps}",
                path=as_written(saved.path),
                episodes=counted(count.episode, "episode"),
                steps=counted(count.step, "step"),
            )
        )
        rows = different if self.env.replayable else ["all"]
        verdict = exactness.compare(saved.facts.get("exactness"), self.numbers, self.start.changed, rows)
        (self.console.warn if rows else self.console.note)(str(verdict))
        for note in exactness.of_limits(self.config, self.start.changed):
            self.console.note(note)
        run_files.write_verdict(self.task, self.start.branch, verdict)

    def _write_processes(self) -> None:
        if self.backend.processes is not None:
            pids = self.backend.processes.pids()
            self.task.write_run({"processes": pids})
            if self.config.general.ray_address is None:  # those of a cluster may be on other machines
                self._pids = [*pids["workers"], pids["data_server"], *pids["learners"]]

    # training ---------------------------------------------------------------------------------------------

    def train(self) -> str | None:
        """Trains until a stop rule is met or the run pauses, and saves the last checkpoint. Returns why it ended, or
        None if the run was asked to stop."""
        self.start_clock()
        before = self.trainer.count
        return self._survive(lambda: self._train(before))

    def _train(self, before: Count) -> str | None:
        with spare_descriptors():
            reason = self.trainer.run()
        if self.trainer.count == before and not self.stopping():
            self.console.note(
                tr(
                    "nothing was left to train: {reason}; {continuation}",
                    reason=outcome.shown(reason),
                    continuation=self._continuation(),
                )
            )
        elif 0 < (limit := self.config.general.max_episode) < self.trainer.count.episode:
            say = self.console.warn if self.trainer.count.episode > OVERSHOOT * limit else self.console.note
            say(
                tr(
                    "{played} for max_episode {limit}: the last round, of {every:,} steps, was played to its end",
                    played=counted(self.trainer.count.episode, "episode"),
                    limit=limit,
                    every=plan(self.config, self.spec).fragment * self.spec.rows,
                )
            )
        if self.stopping():
            self.trainer.save()
            return None
        if self.trainer.paused():
            self.trainer.save()
        else:
            self._finish()
        return reason

    def _continuation(self) -> str:
        """Describes how to train a run further whose limit is reached."""
        settings = self.trainer.rules.as_much_again(self.trainer.training())
        if not settings:
            return tr("a higher limit continues")
        return tr(
            "to train as much again: {command} {settings}",
            command=resume_command(self.task.path, self.config.allow_import),
            settings=settings,
        )

    def iterate(self, steps: int) -> str | None:
        """Trains for an iteration of at least this number of environment steps. Returns the stop rule if one is met;
        then the last checkpoint is saved, and also if the run was asked to stop."""
        number = self.trainer.iterations() + 1
        if self.backend.processes is None:
            self._asked.clear()
        self._asked[number] = steps
        return self._survive(lambda: self._iterate(number))

    def _iterate(self, last: int) -> str | None:
        """last: number of the iteration. Lost processes have begun again at a checkpoint that may lie before it."""
        reason = None
        while reason is None and (number := self.trainer.iterations() + 1) <= last:
            with spare_descriptors():
                reason = self.trainer.iterate(self._asked.get(number, self._asked[last]))
        if self.stopping():
            if self.trainer.place() != self.trainer.points.last:
                self.trainer.save()
        elif reason is not None:
            self._finish()
        return reason

    def note_env_change(self) -> None:
        """Records that the program changes the environments: those of a resume begin without the change."""
        self._env_changes += 1
        sentence = sentences.CHANGED if self._env_changes > 1 else sentences.CHANGED_ONCE
        text = sentence.format(count=self._env_changes, step=self.trainer.count.step)
        self.numbers[exactness.ENVS_CHANGED] = text
        self.trainer.points.last = None
        self.task.write_run({exactness.ENVS_CHANGED: text})

    def _note_unseeded(self) -> None:
        """Records that an episode does not follow from its seed and its actions, and says so."""
        if exactness.ENVS_CHANGED in self.numbers:
            return
        self.numbers[exactness.UNSEEDED] = sentences.UNSEEDED
        self.task.write_run({"repeatable": exactness.compare(self.numbers, self.numbers).to_json()})
        self.console.warn(
            tr(
                "two evaluations began episodes of one seed differently: the environment draws random numbers that its "
                "seed does not decide, or keeps something from one episode to the next, so that scores vary by chance "
                "and the run cannot be repeated; an environment of your own should draw from self.np_random alone, and "
                "set all that changes in reset"
            )
        )

    def start_clock(self) -> None:
        """Starts the console's clock of training."""
        trainer = self.trainer
        rows = trainer.rows
        progress, doing = trainer.counter.progress(), self.backend.doing
        best = max((mean for mean in (trainer.points.best, self._left_best) if mean is not None), default=None)
        self.console.start(progress, trainer.elapsed, best, rows.shown, rows.evaluated, doing)

    def _survive(self, work: Callable[[], T]) -> T:
        """Runs a part of the training. Lost processes are restarted from the newest checkpoint, and the part is run
        again."""
        self.check_own()
        losses, lost_at, saved = 0, None, None
        while True:
            try:
                with self._saving():
                    if saved is not None:
                        self._restart(saved, losses)
                        saved = None  # its journal may be as large as the memory
                    return work()
            except Lost as lost:
                saved = self.store.newest(self.console.warn)
                if self.stopping():  # a batch system ends all processes of a job at once
                    raise Stopped(self._stopped_without(lost, saved)) from lost
                losses = losses + 1 if saved.path == lost_at else 1
                lost_at = saved.path
                if losses > MOST_LOSSES:
                    raise
                self.console.warn(
                    tr("{lost}; all processes begin again at checkpoint {name}", lost=lost, name=saved.path.name)
                )

    def _stopped_without(self, lost: Lost, saved: Saved) -> str:
        """Returns what is told of a run that was to stop, and whose processes are gone."""
        return tr(
            "{lost}. The run was to stop, so no process begins again: its newest checkpoint is {name}. To resume: "
            "{command}",
            lost=lost,
            name=saved.path.name,
            command=resume_command(self.task.path, self.config.allow_import),
        )

    def _finish(self) -> None:
        """Saves the last checkpoint."""
        if self.backend.processes is not None:  # before the last save, which is no training
            self.load = tr("; limit: ").join(filter(None, self.backend.processes.load(whole=True)))
        self.trainer.finish()
        self.trained = True

    def _restart(self, saved: Saved, losses: int) -> None:
        """Starts all processes again from a checkpoint."""
        assert self.backend.processes is not None
        time.sleep(FIRST_PAUSE * 2 ** (losses - 1))
        self.backend.processes.restart()
        self._restore(saved, branch=False)
        self.log.loggers.begin()
        self.store.continue_from(saved)
        self._write_processes()
        self.start_clock()

    @contextlib.contextmanager
    def _saving(self) -> Iterator[None]:
        """Saves the last complete round when an environment or a callback fails, or a worker cannot be replaced. After
        a bad number the agent itself is spoilt, and the earlier checkpoints count. A stop is no failure."""
        try:
            yield
        except (Lost, Interrupted):
            raise
        except Stopped:
            with contextlib.suppress(OSError):
                self.task.write_run({"outcome": "interrupted", "finished": False})
            raise
        except Exception as error:
            if not self.is_own:  # a child that an environment or a callback has forked ends here
                raise
            self.console.log_traceback(error)
            if isinstance(error, EnvError | CallbackError | WorkerLost) and self.loaded:
                with contextlib.suppress(CallbackError):  # on_checkpoint, maybe once more: what came first is told
                    self.trainer.save()
            with contextlib.suppress(OSError):  # the disk may be full
                self.log.flush()
                if self.loaded or self.start.saved is None:  # a run that could not be gone on with is what it was
                    run_files.write_failure(self.task, run_files.text_of(error))
            if isinstance(error, OwnLossError | UnfitError):  # in acting, or at the first call of an agent's function
                raise JoystickError(str(error)) from error
            raise

    def check(self) -> None:
        """Raises Interrupted if the run was asked to stop, and Lost if Ray ends while this process evaluates."""
        if self.stopping():
            raise Interrupted
        if self.backend.processes is not None:
            self.backend.processes.look()

    # the end ----------------------------------------------------------------------------------------------

    def complete(self, reason: str) -> bool:
        """Chooses the best model, measures the random policy, draws, films and reports. Nothing here changes the agent
        or writes a checkpoint, and a failure costs a warning. Returns False if the run was asked to stop meanwhile; a
        resume then does all of it again."""
        trainer, cfg, console, output = self.trainer, self.config.general, self.console, self.output
        console.trained(trainer.counter.progress())
        if cfg.compile == "on" and self.backend.processes is None and trainer.updates and not trainer.compiling():
            console.warn(tr("no update was compiled: none had as many samples as the settings name (missing steps?)"))
        if self.load:
            console.note(tr("processes: {load}", load=self.load))
            output.write_run({"processes_said": self.load})
        self._training.close()  # a Ray that ends now cannot end this process, too
        score, random_return, figure = trainer.points.score, None, None
        chosen = True
        try:
            # checkpoints are evaluated with a second agent, so that the trained one stays as it is
            second = partial(build.make_agent, self.config, self.spec, cfg.seed, trainer.agent.device)
            agent = output.guarded(tr("no second agent could be made"), second)
            if agent is not None and not self.config.no_evaluation:
                choose = partial(choose_best, trainer, agent, self.log)
                choice = output.guarded(tr("the best model could not be chosen"), choose)
                chosen, score = choice is not None, choice or score
            failure = tr("the random policy's return could not be measured")
            random_return = output.guarded(failure, partial(self.evaluator.random_return, agent=trainer.agent))
            self.check()
            if cfg.save_fig:
                figure = output.draw_curve(random_return)
            self.check()
            if agent is not None and self.config.env.render_mode is not None and self.store.has_best():
                output.guarded(tr("the best model could not be filmed"), partial(self._film, agent))
            self.check()
            output.tell(trainer, self.log, Ending(reason, True, score, random_return, figure, chosen), self.check)
        except Interrupted:
            output.tell(trainer, self.log, Ending("interrupted", False, score, random_return, figure))
            return False
        command = resume_command(self.task.path, self.config.allow_import)
        if trainer.points.unsaved and not self.store.numbers():
            console.warn(tr("NO model could be saved, and none is left of this run: make room, and start it again"))
        elif trainer.points.unsaved:
            console.warn(tr("the last model could NOT be saved; once there is room: {command}", command=command))
        elif not chosen:
            console.warn(tr("the best model could NOT be chosen; to choose it: {command}", command=command))
        return True

    def pause(self, reason: str) -> bool:
        """Reports a run that has paused, and notes its score there in run.json: neither changes what a resume does.
        Returns False if the run was asked to stop meanwhile."""
        trainer, limit = self.trainer, str(self.trainer.rules.pause_at)
        try:
            evaluation: dict[str, Any] | None = None if trainer.points.unsaved else {}
            if evaluation is not None and not self.config.no_evaluation:
                evaluation = trainer.evaluate().facts()
        except Interrupted:
            self.interrupted()
            return False
        self.interrupted(reason)
        if evaluation is not None:
            run = RecordedRun(self.task.path)
            pause = {**trainer.count._asdict(), **evaluation, "evaluations": len(run.evaluations)}
            self.task.write_run({"pauses": {**(run.facts.pauses or {}), limit: pause}})
        return True

    def interrupted(self, reason: str = "interrupted") -> None:
        """Reports a run that can be resumed."""
        trainer = self.trainer
        random_return, figure = self.task.facts().random_return, None
        if self.config.general.save_fig:
            figure = self.output.draw_curve(random_return)
        self.output.tell(trainer, self.log, Ending(reason, False, trainer.points.score, random_return, figure))

    def _film(self, agent: TrainableActor) -> None:
        """Films the evaluation episodes of the best model, or shows them in a window."""
        saved = self.store.read("best", with_journal=False)
        agent.load_state(saved.tree["agent"])
        tape, progress = Tape(self.evaluator.env.rows), self.trainer.exploration(saved)
        evaluation = self.evaluator.play(agent, self.config.general.online_eval_episode, (tape,), progress=progress)
        self.output.film(evaluation, tape, self.check, self.watch)
