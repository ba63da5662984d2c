"""joystick.Run: a training run in the hands of a Python program. The command line drives the same Experiment."""

import atexit
import contextlib
import signal
import sys
import threading
import traceback
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import Parameter
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from algos.base import Array, TrainableActor
from config.model.memory_spec import RolloutSpec
from config.own import objects as own
from config.read.loader import RunConfig
from config.read.paths import as_written
from config.read.tasks import find as find_task
from config.tell.arguments import with_hints
from config.tell.language import tr
from config.tell.names import nearest
from framework.data.batch import Batch
from framework.disk.atomic import remove_folder
from framework.disk.checkpoints import CheckpointStore
from framework.disk.task_dir import CLOSED, ROOT, circumstances
from framework.errors import CtrlC, Interrupted, JoystickError
from framework.loop import rllib_names
from framework.loop.iteration import Count, Result
from framework.pages.cell import Picture
from framework.pages.html_page import paragraph
from framework.record.console import Console
from framework.runs import notebook, other_words, sampling
from framework.runs.arguments import CallbackSource, Settings, check_count, config_of, loaded, with_setting_hints
from framework.runs.experiment import Experiment
from framework.runs.signals import tell_wait
from framework.screen import outcome, terminal
from framework.screen.formatting import counted


class Run:
    """A training run. `train` trains for an iteration and returns its result; `close`, or the end of a `with`, saves
    it and ends its processes. Settings that the command line would refuse raise a ConfigError."""

    @with_setting_hints
    def __init__(
        self,
        algo: str | None = None,
        env: str | Callable[..., Any] | None = None,
        *,
        seed: int | None = None,
        general_cfg: Settings | None = None,
        algo_cfg: Settings | None = None,
        env_cfg: Settings | None = None,
        policies_cfg: Mapping[str, Settings] | None = None,
        config: Settings | None = None,
        env_name: str | None = None,
        yaml: str | Path | None = None,
        words: Iterable[str] = (),
        into: str | Path | None = None,
        allow_import: Iterable[str] = (),
        callbacks: CallbackSource = None,
        metrics: Sequence[str] = (),
        preset: str | None = "auto",
        show: bool = False,
    ) -> None:
        """Starts a run in a new task directory. algo and env choose a preset, as --algo and --env do; env may also be a
        class or function that makes an environment, or a registered name. config: settings by RLlib's names, as
        --config takes them. preset: general_cfg.preset; None: only
        Python defaults below these settings. words: further settings as
        section.key=value; into: folder to create; callbacks: a class, or functions by event with the metrics that they
        give; show: print what the command line prints."""
        settings = config_of(
            algo, env,
            seed=seed, general_cfg=general_cfg, algo_cfg=algo_cfg, env_cfg=env_cfg, policies_cfg=policies_cfg,
            config=config, env_name=env_name, yaml=yaml, words=words, into=into, allow_import=allow_import,
            callbacks=callbacks, metrics=metrics, preset=preset,
        )  # fmt: skip
        self._begin(settings, show)

    @classmethod
    def resume(
        cls,
        name: str | Path,
        words: Iterable[str] = (),
        *,
        allow_import: Iterable[str] = (),
        callbacks: CallbackSource = None,
        metrics: Sequence[str] = (),
        take_over: bool = False,
        show: bool = False,
    ) -> "Run":
        """Continues a run in its own task directory, as the command resume does. take_over: with a copy in a store
        whose writer was killed."""
        run = cls.__new__(cls)
        flags = {"resume": str(name), "allow_import": allow_import, "take_over": take_over}
        config = loaded(None, words, {}, callbacks, metrics, **flags)
        run._begin(config, show)
        return run

    @classmethod
    def branch(
        cls,
        name: str | Path,
        step: int | str,
        words: Iterable[str] = (),
        *,
        into: str | Path | None = None,
        allow_import: Iterable[str] = (),
        callbacks: CallbackSource = None,
        metrics: Sequence[str] = (),
        show: bool = False,
    ) -> "Run":
        """Continues from a checkpoint of a run (its update, best or latest) in a new task directory."""
        run = cls.__new__(cls)
        if step == "latest":  # in the settings it means the run itself
            step = max(CheckpointStore(find_task(str(name), ROOT) / "models").numbers(), default=0)
        which = {"load_checkpoint": True, "load_path": str(name), "load_model_step": step}
        flags = {"into": into, "allow_import": allow_import}
        run._begin(loaded(None, words, {"general_cfg": which}, callbacks, metrics, **flags), show)
        return run

    def _begin(self, config: RunConfig, show: bool) -> None:
        self._show = show
        self._preset_to_name = "" if show or "general_cfg.preset" in config.explicit else config.preset or ""
        """Preset that was chosen without a word, and was not named yet."""
        self._open(config)

    def _open(self, config: RunConfig) -> None:
        _OPEN.discard(self)  # a restore whose environment cannot be made leaves a closed run
        self._broken = ""
        """Reason why this run can neither train nor save; empty while it can."""
        self._reason: str | None = None
        """Stop rule that has ended the training."""
        self._closed = True  # until its parts exist
        self._busy = ""
        """Reason why it must not be trained, restored or closed now; empty if it may."""
        self._call, self._thread = "", 0
        """Call that is under way, and the thread that makes it."""
        self._asked = False
        """True once Ctrl-C was pressed."""
        self._left = ""
        """Steps that Ctrl-C has left to train, and the call that does; empty if the latest iteration is whole."""
        self._cell: notebook.Cell | None = None
        """Output of a notebook that shows progress."""
        self._is_shown = False
        say: Callable[[str], None] = print if self._show else (lambda text: None)
        self._experiment = Experiment(
            config,
            lambda: self._asked,
            facts=circumstances([sys.executable, *sys.argv]),
            make_console=lambda log, cfg: Console(log, cfg, show=self._show),
            say=say,
            handle=lambda experiment: self,
        )
        self._experiment.__enter__()
        self._experiment.start_clock()
        self._closed = False
        _OPEN.add(self)

    @classmethod
    def of(cls, experiment: Experiment) -> "Run":
        """Returns a run for the callbacks of an experiment that the command line drives."""
        run = cls.__new__(cls)
        run._experiment, run._broken, run._reason, run._closed = experiment, "", None, False
        run._busy, run._preset_to_name = tr("the command line drives this run"), ""
        run._call, run._thread = "train", threading.get_ident()
        run._show = True
        return run

    # facts ------------------------------------------------------------------------------------------------

    @property
    def config(self) -> RunConfig:
        """All settings of the run."""
        return self._experiment.config

    @property
    def task(self) -> Path:
        """Task directory."""
        return self._experiment.task.path

    @property
    def preset(self) -> str | None:
        """File whose settings stand below those that were written; None: the Python defaults do."""
        return self.config.preset

    @property
    def count(self) -> Count:
        """Environment steps, episodes and updates so far."""
        return self._experiment.trainer.count

    @property
    def agent(self) -> TrainableActor:
        """Agent with the latest weights. With mp_backend ray it is a copy: use set_weights to change the learner's."""
        return self._rested().trainer.agent

    # training ---------------------------------------------------------------------------------------------

    @with_hints(other_words.OF_TRAIN, other_words.ABOUT_TRAIN)
    def train(self, steps: int | None = None, *, progress: bool | None = None) -> Result:
        """Trains for an iteration: in rounds, until at least `steps` more environment steps are made
        (general_cfg.iteration_steps if it is None). Evaluates and saves when that is due. Returns the result of the
        iteration. Once a stop rule is met, its entry `done` is True, and further calls train nothing. progress: show
        how far it is, in a notebook below the cell, elsewhere on the terminal; None: in a notebook only. Ctrl-C saves,
        and raises KeyboardInterrupt after the running round; the next call goes on."""
        check_count("train", steps)
        if self._preset_to_name:
            print(tr("preset: {path} (preset=None: none)", path=self._preset_to_name), file=sys.stderr)
            self._preset_to_name = ""
        with self._alone("train"), self._in_use() as experiment:
            if self._reason is None:
                with self._progress_shown(progress):
                    self._iterate(steps or self.config.general.iteration_steps, progress)
            trainer = experiment.trainer
            result = trainer.last or trainer.result()
        if self._asked:
            self._asked = False
            raise CtrlC(self._left)  # between two rounds: the run is whole
        return rllib_names.Figures(result, done=self._reason is not None, reason=self._reason)

    def _iterate(self, steps: int, progress: bool | None) -> None:
        """Trains for an iteration. Interrupted, it saves; the next one says that it goes on."""
        experiment, trainer = self._experiment, self._experiment.trainer
        before = trainer.iterations()
        if self._left and progress is not False:
            more = counted(steps, "more step")
            self._say(tr("goes on from step {step:,}: {steps}", step=self.count.step, steps=more))
        self._left = ""
        with _interrupts(self):
            reason = experiment.iterate(steps)
        self._reason = None if self._asked else reason
        trainer.iteration.broken_off = self._asked
        if self._asked:
            is_whole = trainer.iterations() > before
            rest = 0 if is_whole else trainer.iteration.counted_from + steps - trainer.counter.work
            unsaved = tr("NOT saved; logs/log.txt has the reason") if trainer.points.unsaved else tr("saved")
            values = {"path": as_written(self.task), "saved": unsaved, "step": self.count.step}
            if rest > 0:
                self._left = tr(
                    "{path} is {saved} at step {step:,}: the next train() goes on from there, and train({rest}) trains "
                    "the rest; close() ends the run",
                    **values,
                    rest=rest,
                )
            else:
                self._left = tr(
                    "{path} is {saved} at step {step:,}: the next train() goes on from there; close() ends the run",
                    **values,
                )

    def _say(self, text: str) -> None:
        """Shows a note with the progress; on stderr if none is shown."""
        if self._show or self._is_shown:
            self._experiment.console.note(text)
        else:
            print(text, file=sys.stderr)

    @contextlib.contextmanager
    def _progress_shown(self, progress: bool | None) -> Iterator[None]:
        """Shows progress, unless `show` shows it already: in a notebook below the cell, elsewhere on the terminal."""
        kernel = terminal.kernel()
        if self._show or not (kernel if progress is None else progress):
            yield
            return
        screen: terminal.Screen = terminal.choose(sys.stdout)
        if kernel:
            self._cell = self._cell or notebook.screen_of(self._experiment, self._next_words)
            screen = self._cell.begin()
        self._is_shown = True
        try:
            with self._experiment.console.shown_on(screen, self._experiment.trainer.counter.progress):
                yield
        finally:
            self._is_shown = False

    def _next_words(self) -> Iterator[str]:
        """Yields what a cell says at the end of an iteration: how it ended, and what comes next."""
        if self._reason is not None:
            sentence = tr(
                "Ended: {outcome}. close() compares the checkpoints and writes the report.",
                outcome=outcome.shown(self._reason),
            )
            yield paragraph(sentence, "quiet")

    def plot(self) -> Picture:
        """Draws the current learning curve: a picture that a notebook shows, and that save(path) writes."""
        return notebook.picture(self._experiment, self._is_live)

    @with_hints(other_words.OF_PLAYING, other_words.ABOUT_PLAYING)
    def film(self, episodes: int = 1) -> notebook.Film:
        """Plays evaluation episodes with the present weights, and films them into videos/ of the task directory. A
        notebook shows the film; its `path` is the file."""
        check_count("film", episodes)
        experiment = self._rested()
        experiment.task.check_there()
        path = experiment.task.videos / f"update_{self.count.update}"
        with self._interruptible(tr("the film was not made; the run is as it was before")):
            return notebook.film(
                experiment.config, experiment.evaluator, experiment.trainer.agent, episodes, path, experiment.check
            )

    @contextlib.contextmanager
    def _interruptible(self, result: str) -> Iterator[None]:
        """Lets Ctrl-C end what changes no training: between two steps of its episodes. result: what the exception says.
        Within train, the call ends with the round."""
        if self._busy:
            yield
            return
        with _interrupts(self), contextlib.suppress(Interrupted):
            yield
        if self._asked:
            self._asked = False
            raise CtrlC(result)

    @with_hints(other_words.OF_PLAYING, other_words.ABOUT_PLAYING)
    def evaluate(self, episodes: int | None = None) -> dict[str, Any]:
        """Plays evaluation episodes (general_cfg.online_eval_episode if it is None) as general_cfg.explore says, and
        returns mean, std, min, max, median, episodes and returns. Training is not changed by it."""
        check_count("evaluate", episodes)
        experiment = self._rested()
        with self._interruptible(tr("the evaluation was broken off; the run is as it was before")):
            evaluation = experiment.evaluator.play(
                experiment.trainer.agent, episodes or self.config.general.online_eval_episode
            )
            return {**evaluation.facts(), "returns": evaluation.returns.tolist()}

    def save(self) -> Path:
        """Saves a checkpoint now, and returns its folder."""
        with self._in_use() as experiment:
            trainer = experiment.trainer
            if self._reason is None and not trainer.saving:
                trainer.save()
            if trainer.points.unsaved:
                raise JoystickError(
                    "checkpoint {update} could not be saved; logs/log.txt has the reason", update=trainer.count.update
                )
            return experiment.store.folder / str(trainer.count.update)

    def restore(self, checkpoint: int | str | Path) -> None:
        """Goes back to a checkpoint of this run: its update, its folder, or best. Later checkpoints are deleted, and
        log files continue from there. Works also after an error has broken off a round."""
        self._experiment.check_own()
        self._check_free("restore")
        self._check_open()
        experiment = self._experiment
        saved = experiment.store.read(self._name(checkpoint))
        number = int(saved.facts["update"])
        experiment.store.read(number)  # best may have outlived its numbered checkpoint
        experiment.close()
        for later in experiment.store.numbers():
            if later > number:
                remove_folder(experiment.store.folder / str(later))
        config = experiment.config
        explicit = config.explicit - {"general_cfg.load_model_step"}
        self._open(replace(config, task=experiment.task.path, into=None, explicit=explicit, notes=()))

    def _name(self, checkpoint: int | str | Path) -> int | str:
        """Returns the name of a checkpoint in models/."""
        path = Path(str(checkpoint))
        if path.name != str(checkpoint) and path.resolve().parent != self._experiment.store.folder.resolve():
            raise JoystickError(
                "{path} is not a checkpoint of {run}; Run.branch continues from another run",
                path=path,
                run=as_written(self.task),
            )
        return path.name

    def sample(self, steps: int) -> Batch:
        """Returns whole episodes of at least this many steps, played with exploration in an environment of their own in
        this process: state, action, reward, mask (0 after a terminal state), next_state, and `window`, the columns that
        `update` learns from. Nothing is learned or counted yet."""
        check_count("sample", steps)
        experiment = self._rested()
        return experiment.sampler.sample(steps, experiment.trainer.counter.progress())

    def update(self, sample: Batch) -> dict[str, float]:
        """Learns from a sample as from a window of fresh steps, counts its steps and episodes, and returns the means of
        the metrics. For algorithms that learn from fresh steps."""
        experiment, algo = self._rested(), self.config.algo
        if self._reason is not None:
            raise JoystickError(
                "update: the run has ended, {reason}, and saves nothing more; close it, and {call} with a higher limit "
                "continues it",
                reason=outcome.shown(self._reason),
                call=self._continuation(),
            )
        memory = algo.memory(self.config.env.n_envs)
        if not isinstance(memory, RolloutSpec) or self.config.policies:
            name = self.config.algo_package.NAME
            raise JoystickError(
                "update is for algorithms that learn from fresh steps; {name} learns by train()", name=name
            )
        progress = experiment.trainer.counter.progress()
        windows = sampling.chunks(memory, sample, self.agent.spec, progress.fraction)
        with self._alone("update"), self._in_use():
            return experiment.trainer.learn_from(sampling.accepted(sample, progress), windows)

    # the agent --------------------------------------------------------------------------------------------

    def weights(self) -> dict[str, Array]:
        """Returns all arrays that acting depends on, by name."""
        return self.agent.weights()

    def set_weights(self, weights: Mapping[str, Array]) -> None:
        """Replaces them, at the learner, and so at all workers from their next fragment on. Target networks and the
        optimizer keep what they have."""
        experiment = self._rested()
        if not isinstance(weights, Mapping):
            raise JoystickError("set_weights: got {kind}; expected arrays by name", kind=type(weights).__name__)
        # what is computed from an array of one number is a number of numpy
        weights = {name: np.asarray(a) if isinstance(a, np.generic) else a for name, a in weights.items()}
        types = {name: array.dtype for name, array in self.agent.weights().items()}
        for name, array in weights.items():
            if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf":
                raise JoystickError(
                    "set_weights: {name} is {kind}; expected an array of numbers", name=name, kind=type(array).__name__
                )
            with np.errstate(over="ignore"):  # a large number of another type is infinite among the weights
                kept = array.astype(types.get(name, array.dtype), copy=False)
            if not np.isfinite(kept).all():
                raise JoystickError("set_weights: {name} has a value that is not a finite number", name=name)
        try:
            experiment.trainer.agent.load_weights(weights)  # a wrong shape fails here, before anything is sent
        except KeyError as error:
            raise JoystickError("set_weights: {error} is missing", error=error) from error
        except ValueError as error:
            raise JoystickError("set_weights: {error}", error=error) from error
        with self._in_use():
            experiment.backend.set_weights(weights)
            experiment.trainer.points.last = None  # they are in no checkpoint yet

    def foreach_worker(self, function: Callable[..., Any]) -> list[Any]:
        """Calls function(agent, index) here with index 0, and in each worker with index 1 and up, where the agent has
        the latest weights; function(agent) if it has one parameter. Returns the results in this order."""
        if not callable(function):
            raise JoystickError(
                "foreach_worker: got {function!r:.80}; expected a function of an agent and a number", function=function
            )
        experiment, function = self._rested(), _of_two(function)
        return [function(experiment.trainer.agent, 0), *experiment.backend.each_worker(function)]

    def set_phase(self, value: float) -> None:
        """Sets the phase of the curriculum: every row gets it with its next episode. Needs general_cfg.curriculum
        without phases; a callback may call it in on_train_result."""
        self._experiment.check_own()
        self._check_open()
        trainer = self._experiment.trainer
        if trainer.phases.set(value):
            trainer.points.last = None

    def foreach_env(self, function: Callable[..., Any], changes: bool = True) -> list[Any]:
        """Calls function(environment, context), or function(environment) if it has one parameter, for the innermost
        environment of each training row, in the process that has it, and returns the results in the order of workers
        and rows. changes: False if it only reads; otherwise a resume from a later checkpoint is not exact, and is
        reported so."""
        if not callable(function):
            raise JoystickError(
                "foreach_env: got {function!r:.80}; expected a function of an environment and its place",
                function=function,
            )
        experiment = self._rested()
        if changes:
            experiment.note_env_change()
        return experiment.backend.each_env(_of_two(function))

    # the end ----------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Saves what has been trained since the last checkpoint, writes figure and report, and ends all processes.
        Once a stop rule has ended the training, also compares the checkpoints and marks the best model. Does nothing in
        a forked child: the run is its parent's."""
        if self._experiment.is_own:
            self._check_free("close")
        self._close(complete=True)

    def _close(self, complete: bool) -> None:
        if self._closed or not self._experiment.is_own:
            return
        self._closed = True
        _OPEN.discard(self)
        self._experiment.console.listen()
        with _interrupts(self):
            try:
                if not self._broken:
                    self._leave(complete)
            finally:
                self._experiment.close()
        if self._asked:
            self._asked = False
            raise CtrlC(
                tr(
                    "{path} is saved and closed; {call} continues it",
                    path=as_written(self.task),
                    call=self._continuation(),
                )
            )

    def _leave(self, complete: bool) -> None:
        """Writes what a run leaves at its end."""
        experiment = self._experiment
        experiment.task.check_there()
        if self._reason is not None and complete:
            experiment.complete(self._reason)
            return
        if experiment.trainer.place() != experiment.trainer.points.last:
            experiment.trainer.save()
        experiment.log.flush()
        experiment.interrupted(CLOSED)

    def __fspath__(self) -> str:
        """Returns its task directory, with all rows of its logs written: for joystick.compare and joystick.load."""
        if self._is_live:
            self._experiment.log.flush()
        return str(self.task)

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._experiment.is_own:
            self._check_free("close")
        self._close(complete=error is None)

    def __getattr__(self, name: str) -> Any:
        """Says what to call in place of a method of another library."""
        if hasattr(type(self), name):  # an AttributeError inside of a property comes here, too
            return object.__getattribute__(self, name)
        instead = other_words.OF_A_RUN.get(name) or (nearest(name, dir(Run)) if name[:1] != "_" else None)
        raise other_words.absent(self, name, instead)

    @property
    def __name__(self) -> str:
        """Returns the name of the algorithm, as RLlib's trainers do."""
        return self._experiment.config.algorithms

    def __repr__(self) -> str:
        parts = [counted(self.count.step, "step")]
        if self._closed:
            parts.insert(0, tr("closed"))
        if self.preset:
            parts.append(tr("preset {name}", name=self.preset))
        return f"<joystick.Run {as_written(self.task)}: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        return notebook.summary(self._experiment, self._is_live)

    # inside -----------------------------------------------------------------------------------------------

    @property
    def _is_live(self) -> bool:
        """True if the run is open, and this thread may write the waiting rows of its logs."""
        return not self._closed and not self._is_elsewhere

    @property
    def _is_elsewhere(self) -> bool:
        """True while another thread is in a call of this run."""
        return bool(self._busy) and self._thread != threading.get_ident()

    @contextlib.contextmanager
    def _alone(self, method: str) -> Iterator[None]:
        """Refuses a call from within another one: a callback must not train, restore or close the run."""
        self._check_free(method)
        self._busy = tr("a callback of {method} calls it", method=method)
        self._call, self._thread = method, threading.get_ident()
        try:
            yield
        finally:
            self._busy = ""

    def _check_open(self) -> None:
        """Raises JoystickError if the run is closed."""
        if self._closed:
            raise JoystickError("the run is closed; {call} continues it", call=self._continuation())

    def _continuation(self) -> str:
        """Returns the call that continues this run once it is closed."""
        place = as_written(self.task)
        return f"Run.resume({place.name if place.parent == ROOT else str(place)!r})"

    def _check_free(self, method: str) -> None:
        """Raises JoystickError while another call is under way, in a callback of it or in another thread."""
        self._check_thread(
            tr(
                "{method} is not possible now: another thread is in {call}, and a run is used by one at a time",
                method=method,
                call=self._call,
            )
        )
        if self._busy:
            raise JoystickError("{method} is not possible now: {busy}", method=method, busy=self._busy)

    def _check_thread(self, refusal: str) -> None:
        """Raises JoystickError while another thread trains: only between two rounds is the state whole."""
        if self._is_elsewhere:
            raise JoystickError(refusal)

    @contextlib.contextmanager
    def _in_use(self) -> Iterator[Experiment]:
        """Gives the parts of the run to a call. An error in it leaves them in the middle of a round: after that, only
        restore and close are possible."""
        self._experiment.check_own()
        self._check_thread(
            tr("the run is in use: another thread is in {call}, and a run is used by one at a time", call=self._call)
        )
        self._check_open()
        if self._broken:
            raise JoystickError(
                "an error has broken off a round ({broken}); restore a checkpoint, or close", broken=self._broken
            )
        self._experiment.set_up_process()
        try:
            yield self._experiment
        except BaseException as error:
            self._broken = f"{type(error).__name__}: {error}"
            raise

    def _rested(self) -> Experiment:
        """Returns the parts of the run after all pending work is done, with the latest weights."""
        with self._in_use() as experiment:
            experiment.trainer.rest()
            return experiment


@contextlib.contextmanager
def _interrupts(run: Run) -> Iterator[None]:
    """Lets the first Ctrl-C end the round of a run; the second one breaks it off. Only the main thread gets signals."""

    def receive(number: int, frame: FrameType | None) -> None:
        if run._asked:
            raise KeyboardInterrupt
        run._asked = True
        if run._experiment.compiles:
            tell_wait()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = signal.signal(signal.SIGINT, receive)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


def _of_two(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """Returns a function of two arguments. One of a single parameter, as RLlib's programs have it, gets the first."""
    parameters = own.parameters_of(function) or ()
    one = [parameter.kind for parameter in parameters] in (
        [Parameter.POSITIONAL_OR_KEYWORD],
        [Parameter.POSITIONAL_ONLY],
    )
    return partial(_with_first, function) if one else function


def _with_first(function: Callable[[Any], Any], first: Any, second: Any) -> Any:
    return function(first)


_OPEN: "weakref.WeakSet[Run]" = weakref.WeakSet()
"""Runs that were not closed yet."""


@atexit.register
def _close_all() -> None:
    """Saves and closes the runs that the program has left open. Those that a forked child has copies of are its
    parent's."""
    for run in list(_OPEN):
        if run._experiment.is_own:
            print(
                tr("joystick: {path} was left open; it is saved and closed", path=as_written(run.task)),
                file=sys.stderr,
            )
            try:
                run._close(complete=False)
            except Exception:  # the other runs are saved all the same
                traceback.print_exc()
