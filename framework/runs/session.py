"""joystick.Run: a training run in the hands of a Python program. The command line drives the same Experiment."""

import atexit
import contextlib
import inspect
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, ParamSpec

import numpy as np

from algos.base import Array, TrainableActor
from config.model.memory_spec import RolloutSpec
from config.own import objects as own
from config.read.loader import ConfigError, RunConfig, load
from config.read.paths import as_written
from config.read.tasks import find as find_task
from config.tell.hints import setting_of
from config.tell.names import did_you_mean, nearest
from envs.base import EnvContext
from framework.assemble import fit as compatibility
from framework.catalog import ALGOS, ENVS
from framework.data.batch import Batch
from framework.disk.atomic import remove_folder
from framework.disk.checkpoints import CheckpointStore
from framework.disk.task_dir import CLOSED, ROOT, circumstances
from framework.errors import JoystickError
from framework.loop.iteration import Count, Result
from framework.record.callbacks import from_functions
from framework.record.console import Console
from framework.runs import notebook, other_words, sampling
from framework.runs.experiment import Experiment
from framework.screen import terminal
from framework.screen.formatting import counted

Settings = Mapping[str, Any]
Arguments = ParamSpec("Arguments")
Given = type | str | Mapping[str, Callable[[dict[str, Any]], Any]] | None
"""Callbacks from Python: a class, module:name, or functions by event."""


def _with_hints(init: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Returns a constructor that says, for an argument that it does not have, what to write in its place."""
    names = inspect.signature(init).parameters

    @wraps(init)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        if len(args) > 3:
            raise TypeError(f"Run takes algo and env by position, and settings by name: config={args[3]!r:.80}")
        for name in kwargs:
            if name not in names:
                algo = str(kwargs.get("algo") or next(iter(args[1:2]), ""))
                raise TypeError(f"Run has no argument {name!r}{_setting_for(name, kwargs[name], names, algo)}")
        init(*args, **kwargs)

    return call


def _copy(name: str, settings: Settings | None, names: str = "name") -> dict[str, Any]:
    """Returns settings; none for None. Raises ConfigError for what is not a mapping. names: whose they are."""
    if not isinstance(settings, Mapping | None) or not all(isinstance(key, str) for key in settings or ()):
        raise ConfigError([f"Python: {name}: got {settings!r}; expected a mapping of settings by {names}"])
    return dict(settings or {})


def _setting_for(name: str, value: Any, arguments: Iterable[str], algo: str) -> str:
    """Returns the end of a sentence about an unknown argument: the setting of this name, or the nearest argument."""
    if name in ("verbose", "progress_bar"):
        return "; use show=True"
    if name in other_words.OF_THE_CONSTRUCTOR:
        return f"; {other_words.OF_THE_CONSTRUCTOR[name]}"
    path, remark = setting_of(name, ALGOS, ENVS, algo) or ("", "")
    if not path:
        return f"; {remark}" if remark else did_you_mean(name, arguments)
    section, _, key = path.partition(".")
    spelling = f"{section}={{{key!r}: {'VALUE' if remark else repr(value)}}}"
    return f"; a setting is written {spelling}{remark and f' ({remark})'}"


class Run:
    """A training run. `train` trains for an iteration and returns its result; `close`, or the end of a `with`, saves
    it and ends its processes. Settings that the command line would refuse raise a ConfigError."""

    @_with_hints
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
        callbacks: Given = None,
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
        if config is not None:
            config = _copy("config", config, "RLlib's names")
            env = config.pop("env", None) if env is None else env
            callbacks = config.pop("callbacks", None) if callbacks is None else callbacks
        maker = env if env is not None else (env_cfg or {}).get("id") if isinstance(env_cfg, Mapping | None) else None
        if env_name is None and "env_name" not in (general_cfg or {}) and (callable(maker) or own.is_registered(maker)):
            env_name = "python"
        sections = {"general_cfg": general_cfg, "algo_cfg": algo_cfg, "env_cfg": env_cfg, "policies_cfg": policies_cfg}
        values = {name: _copy(name, settings) for name, settings in sections.items()}
        if preset != "auto":
            values["general_cfg"].setdefault("preset", preset)
        values["general_cfg"] |= {k: v for k, v in (("env_name", env_name), ("seed", seed)) if v is not None}
        if not (env is None or isinstance(env, str) or callable(env)):
            raise ConfigError([f"Python: env: got {env!r}; expected an id, or the class or function that makes it"])
        flags = {"algo": algo, "env": env, "into": into, "allow_import": allow_import, "config": config}
        self._begin(show, yaml, words, values, callbacks, metrics, **flags)

    @classmethod
    def resume(
        cls,
        name: str | Path,
        words: Iterable[str] = (),
        *,
        allow_import: Iterable[str] = (),
        callbacks: Given = None,
        metrics: Sequence[str] = (),
        show: bool = False,
    ) -> "Run":
        """Continues a run in its own task directory, as the command resume does."""
        run = cls.__new__(cls)
        run._begin(show, None, words, {}, callbacks, metrics, resume=str(name), allow_import=allow_import)
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
        callbacks: Given = None,
        metrics: Sequence[str] = (),
        show: bool = False,
    ) -> "Run":
        """Continues from a checkpoint of a run (its update, best or latest) in a new task directory."""
        run = cls.__new__(cls)
        if step == "latest":  # in the settings it means the run itself
            step = max(CheckpointStore(find_task(str(name), ROOT) / "models").numbers(), default=0)
        which = {"load_checkpoint": True, "load_path": str(name), "load_model_step": step}
        flags = {"into": into, "allow_import": allow_import}
        run._begin(show, None, words, {"general_cfg": which}, callbacks, metrics, **flags)
        return run

    def _begin(
        self,
        show: bool,
        yaml: str | Path | None,
        words: Iterable[str],
        values: Mapping[str, Settings],
        callbacks: Given,
        metrics: Sequence[str],
        **flags: Any,
    ) -> None:
        if flags.get("into") is not None:
            flags["into"] = str(flags["into"])
        for name, value in (("words", words), ("allow_import", flags["allow_import"]), ("metrics", metrics)):
            if isinstance(value, str) or not isinstance(value, Iterable):
                text = " (text)" if isinstance(value, str) else ""
                raise ConfigError([f"Python: {name}: got {value!r}{text}; expected a list"])
        if metrics and not isinstance(callbacks, Mapping):
            raise ConfigError(["Python: metrics: only callbacks that are functions need it; a class has METRICS"])
        if isinstance(callbacks, Mapping):
            callbacks = from_functions(callbacks, metrics)
        if callbacks is not None:
            if not isinstance(callbacks, str | type):
                raise ConfigError([f"Python: callbacks: got {callbacks!r}; expected a class, or functions by event"])
            values = {**values, "general_cfg": {**values.get("general_cfg", {}), "callbacks": callbacks}}
        flags, values = own.by_name(flags), own.by_name(values)
        config = load(yaml, words, find_algo=ALGOS, find_env=ENVS, values=values, **flags)
        if config.general.mode != "train":
            raise ConfigError(["Python: general_cfg.mode: a Run trains; joystick.load(NAME) gives a trained model"])
        compatibility.check(config)
        self._show = show
        self._preset_to_name = "" if show or "general_cfg.preset" in config.explicit else config.preset or ""
        """Preset that was chosen without a word, and was not named yet."""
        self._open(config)

    def _open(self, config: RunConfig) -> None:
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
        run._busy, run._preset_to_name = "the command line drives this run", ""
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

    def train(self, steps: int | None = None, *, progress: bool | None = None) -> Result:
        """Trains for an iteration: in rounds, until at least `steps` more environment steps are made
        (general_cfg.iteration_steps if it is None). Evaluates and saves when that is due. Returns the result of the
        iteration. Once a stop rule is met, its entry `done` is True, and further calls train nothing. progress: show a
        line that is rewritten; None: in a notebook."""
        _check_count("train", steps)
        if self._preset_to_name:
            print(f"preset: {self._preset_to_name} (preset=None: none)", file=sys.stderr)
            self._preset_to_name = ""
        with self._alone("train"), self._in_use() as experiment:
            if self._reason is None:
                with _interrupts(self), self._progress_shown(progress):
                    reason = experiment.iterate(steps or self.config.general.iteration_steps)
                self._reason = None if self._asked else reason
                experiment.trainer.iteration.broken_off = self._asked
            trainer = experiment.trainer
            result = trainer.last or trainer.result()
        if self._asked:
            self._asked = False
            raise KeyboardInterrupt  # between two rounds: the run is whole
        return {**result, "done": self._reason is not None, "reason": self._reason}

    def _progress_shown(self, progress: bool | None) -> contextlib.AbstractContextManager[None]:
        """Shows a line of progress, unless `show` shows more."""
        if self._show or not (notebook.is_running() if progress is None else progress):
            return contextlib.nullcontext()
        screen = terminal.OneLine(terminal.Steady(sys.stdout))
        return self._experiment.console.shown_on(screen, lambda: self.count)

    def plot(self) -> notebook.Picture:
        """Draws the current learning curve: a picture that a notebook shows, and that save(path) writes."""
        return notebook.picture(self._experiment, self._is_live)

    def film(self, episodes: int = 1) -> notebook.Film:
        """Plays evaluation episodes with the present weights, and films them into videos/ of the task directory. A
        notebook shows the film; its `path` is the file."""
        _check_count("film", episodes)
        return notebook.film(self._rested(), episodes)

    def evaluate(self, episodes: int | None = None) -> dict[str, Any]:
        """Plays evaluation episodes (general_cfg.online_eval_episode if it is None) without exploration, and returns
        mean, std, min, max, median, episodes and returns. Training is not changed by it."""
        _check_count("evaluate", episodes)
        experiment = self._rested()
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
                    f"checkpoint {trainer.count.update} could not be saved; logs/log.txt has the reason"
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
                f"{path} is not a checkpoint of {as_written(self.task)}; Run.branch continues from another run"
            )
        return path.name

    def sample(self, steps: int) -> Batch:
        """Returns whole episodes of at least this many steps, played with exploration in an environment of their own in
        this process: state, action, reward, mask (0 after a terminal state), next_state, and `window`, the columns that
        `update` learns from. Nothing is learned or counted yet."""
        _check_count("sample", steps)
        experiment = self._rested()
        return experiment.sampler.sample(steps, experiment.trainer.counter.progress())

    def update(self, sample: Batch) -> dict[str, float]:
        """Learns from a sample as from a window of fresh steps, counts its steps and episodes, and returns the means of
        the metrics. For algorithms that learn from fresh steps."""
        experiment, algo = self._rested(), self.config.algo
        memory = algo.memory(self.config.env.n_envs)
        if not isinstance(memory, RolloutSpec) or self.config.policies:
            name = self.config.algo_package.NAME
            raise JoystickError(f"update is for algorithms that learn from fresh steps; {name} learns by train()")
        progress = experiment.trainer.counter.progress()
        windows = sampling.chunks(memory, sample, self.config.env.n_envs, progress.fraction)
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
            raise JoystickError(f"set_weights: got {type(weights).__name__}; expected arrays by name")
        for name, array in weights.items():
            if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf":
                raise JoystickError(f"set_weights: {name} is {type(array).__name__}; expected an array of numbers")
            if not np.isfinite(array).all():
                raise JoystickError(f"set_weights: {name} has a value that is not a finite number")
        try:
            experiment.trainer.agent.load_weights(dict(weights))  # a wrong shape fails here, before anything is sent
        except KeyError as error:
            raise JoystickError(f"set_weights: {error} is missing") from error
        except ValueError as error:
            raise JoystickError(f"set_weights: {error}") from error
        with self._in_use():
            experiment.backend.set_weights(dict(weights))

    def foreach_worker(self, function: Callable[[TrainableActor, int], Any]) -> list[Any]:
        """Calls function(agent, index) here with index 0, and in each worker with index 1 and up, where the agent has
        the latest weights. Returns the results in this order."""
        if not callable(function):
            raise JoystickError(f"foreach_worker: got {function!r:.80}; expected a function of an agent and a number")
        experiment = self._rested()
        return [function(experiment.trainer.agent, 0), *experiment.backend.each_worker(function)]

    def set_phase(self, value: float) -> None:
        """Sets the phase of the curriculum: every row gets it with its next episode. Needs general_cfg.curriculum
        without phases; a callback may call it in on_train_result."""
        self._experiment.check_own()
        self._check_open()
        trainer = self._experiment.trainer
        if trainer.phases.set(value):
            trainer.points.last = None

    def foreach_env(self, function: Callable[[Any, EnvContext], Any], changes: bool = True) -> list[Any]:
        """Calls function(environment, context) for the innermost environment of each training row, in the process that
        has it, and returns the results in the order of workers and rows. changes: False if it only reads; otherwise a
        resume from a later checkpoint is not exact, and is reported so."""
        experiment = self._rested()
        if changes:
            experiment.note_env_change()
        return experiment.backend.each_env(function)

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
        experiment = self._experiment
        try:
            if self._broken:
                return
            if self._reason is not None and complete:
                experiment.complete(self._reason)
            else:
                if experiment.trainer.place() != experiment.trainer.points.last:
                    experiment.trainer.save()
                experiment.log.flush()
                experiment.interrupted(CLOSED)
        finally:
            experiment.close()

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._close(complete=error is None)

    def __getattr__(self, name: str) -> Any:
        """Says what to call in place of a method of another library."""
        instead = other_words.OF_A_RUN.get(name) or (nearest(name, dir(Run)) if name[:1] != "_" else None)
        raise AttributeError(f"a Run has no {name!r}" + (f"; use {instead}" if instead else ""))

    def __repr__(self) -> str:
        state = "closed, " if self._closed else ""
        preset = f", preset {self.preset}" if self.preset else ""
        return f"<joystick.Run {as_written(self.task)}: {state}{counted(self.count.step, 'step')}{preset}>"

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
        self._busy = f"a callback of {method} calls it"
        self._call, self._thread = method, threading.get_ident()
        try:
            yield
        finally:
            self._busy = ""

    def _check_open(self) -> None:
        """Raises JoystickError if the run is closed."""
        if self._closed:
            place = as_written(self.task)
            name = place.name if place.parent == ROOT else str(place)
            raise JoystickError(f"the run is closed; Run.resume({name!r}) continues it")

    def _check_free(self, method: str) -> None:
        """Raises JoystickError while another call is under way, in a callback of it or in another thread."""
        self._check_thread(f"{method} is not possible now")
        if self._busy:
            raise JoystickError(f"{method} is not possible now: {self._busy}")

    def _check_thread(self, refusal: str) -> None:
        """Raises JoystickError while another thread trains: only between two rounds is the state whole."""
        if self._is_elsewhere:
            raise JoystickError(f"{refusal}: another thread is in {self._call}, and a run is used by one at a time")

    @contextlib.contextmanager
    def _in_use(self) -> Iterator[Experiment]:
        """Gives the parts of the run to a call. An error in it leaves them in the middle of a round: after that, only
        restore and close are possible."""
        self._experiment.check_own()
        self._check_thread("the run is in use")
        self._check_open()
        if self._broken:
            raise JoystickError(f"an error has broken off a round ({self._broken}); restore a checkpoint, or close")
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

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = signal.signal(signal.SIGINT, receive)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


def _check_count(call: str, count: int | None) -> None:
    """Raises JoystickError for a number of steps or episodes that is not a whole number from 1 on."""
    if count is not None and (isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1):
        raise JoystickError(f"{call}({count!r}): expected a whole number, at least 1")


_OPEN: "weakref.WeakSet[Run]" = weakref.WeakSet()
"""Runs that were not closed yet."""


@atexit.register
def _close_all() -> None:
    """Saves and closes the runs that the program has left open. Those that a forked child has copies of are its
    parent's."""
    for run in list(_OPEN):
        if run._experiment.is_own:
            print(f"joystick: {as_written(run.task)} was left open; it is saved and closed", file=sys.stderr)
            run._close(complete=False)
