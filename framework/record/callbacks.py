"""Callbacks: code of the user's own that sees episodes and results, counts its own numbers, and changes nothing."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from algos.base import Tree
from config.model.composite import Composite
from config.own.objects import described
from config.tell.language import tr
from config.tell.names import did_you_mean
from envs.base import Array, EnvError, Step, VectorEnv
from framework.collect.fragment import Episode, Recorder
from framework.disk.checkpoints import flatten
from framework.errors import CallbackError, CallbackInterrupt, JoystickError
from framework.loop import rllib_names
from framework.loop.evaluator import Evaluation
from framework.loop.iteration import Count, Result, spread_names
from framework.loop.observer import Observer
from framework.policies import views

EPISODE_EVENTS = ("on_episode_start", "on_episode_step", "on_episode_end")
RUN_EVENTS = ("on_train_result", "on_evaluation", "on_checkpoint")
EVENTS = (*EPISODE_EVENTS, *RUN_EVENTS)


_GIVEN = {event: ("episode", "env") for event in EPISODE_EVENTS} | {
    "on_train_result": ("run", "result"), "on_evaluation": ("run", "evaluation"), "on_checkpoint": ("run", "path"),
}  # fmt: skip
"""Event -> names of its arguments."""


class Callbacks:
    """Does nothing; a subclass overrides the events that it wants. Each process that collects episodes has an instance
    of its own for their events; the other events are called in the process that drives the run. After a resume,
    the events of the running episodes are called again."""

    METRICS: ClassVar[Sequence[str]] = ()
    """Names of the numbers that on_episode_end puts into episode.metrics: columns of train.csv."""
    IN_EVALUATION: ClassVar[bool] = False
    """True if the episodes of evaluations have events too; then METRICS are also columns of eval.csv."""

    def on_episode_start(self, *, episode: "RunningEpisode", env: Any) -> None:
        """Receives an episode that was reset."""

    def on_episode_step(self, *, episode: "RunningEpisode", env: Any) -> None:
        """Receives an episode that has made a step."""

    def on_episode_end(self, *, episode: "RunningEpisode", env: Any) -> None:
        """Receives an episode that has ended; its last step had its own event before."""

    def on_train_result(self, *, run: Any, result: Result) -> None:
        """Receives the result of an iteration, as joystick.Run.train returns it."""

    def on_evaluation(self, *, run: Any, evaluation: Mapping[str, float]) -> None:
        """Receives an evaluation: mean, std, min, max, median and number of episodes."""

    def on_checkpoint(self, *, run: Any, path: Any) -> None:
        """Receives the folder of a checkpoint that was saved."""

    def state(self) -> Tree:
        """Returns what checkpoints keep of the driving process's instance: numbers, text, arrays, dicts and lists."""
        return {}

    def load_state(self, state: Tree) -> None:
        """Restores `state`."""


def _own(action: Array, env: VectorEnv) -> Any:
    """Returns an action as callbacks get it: a Tuple or Dict where the environment's is one."""
    return env.decode(action[None])[0] if isinstance(env.action_space, Composite) else action.copy()


class RunningEpisode:
    """An episode while it is played, for callbacks. In a multi-agent environment, observations, actions and infos are
    dicts by agent, and `agent` asks for the dict of one agent: None if it has none."""

    def __init__(self, seed: int, worker: int, row: int, obs: Array, env: VectorEnv, in_evaluation: bool) -> None:
        self.episode_id = self.seed = seed
        """Seed of the episode, which is also its name in train.csv."""
        self.worker, self.row = worker, row
        self.in_evaluation = in_evaluation
        """True for an episode of an evaluation, which does not train."""
        self.length = 0
        self.total_reward = 0.0
        """Sum of rewards, over all agents."""
        self.user_data: dict[str, Any] = {}
        """Whatever the callbacks keep for this episode."""
        self.metrics: dict[str, float] = {}
        """Numbers of this episode, by the names in METRICS."""
        self._layout = env.joint
        self._names = env.agents(row)
        self._before, self._obs, self._action, self._reward = obs, obs, None, 0.0
        self._info: Mapping[str, Any] = {}

    @property
    def custom_metrics(self) -> dict[str, float]:
        """The same as metrics."""
        return self.metrics

    def last_observation(self, agent: str | None = None) -> Any:
        """Returns the newest observation, as the agent gets it: without normalization, Dict and Tuple flattened."""
        if self._layout is None:
            return self._obs
        return _of(views.observations(self._layout, self._obs, self._names), agent)

    def last_action(self, agent: str | None = None) -> Any:
        """Returns the newest action, and the actions of the agents that acted in the newest step; None before the first
        step."""
        if self._layout is None or self._action is None:
            return self._action
        return _of(views.actions(self._layout, self._before, self._action, self._names), agent)

    def last_reward(self, agent: str | None = None) -> Any:
        """Returns the reward of the newest step: the sum over all agents, or that of one agent."""
        if agent is None or self._layout is None:
            return self._reward
        return views.rewards(self._layout, self._obs, self._names).get(agent)

    def last_info(self, agent: str | None = None) -> Any:
        """Returns the environment's info of the newest step."""
        return _of(self._info, agent)

    last_observation_for, last_action_for = last_observation, last_action  # RLlib's names
    last_reward_for, last_info_for = last_reward, last_info

    def begin(self, obs: Array) -> None:
        """Replaces the first observation, where it becomes known after the end of the episode before."""
        self._before = self._obs = obs

    def advance(self, action: Any, step: Step, env: VectorEnv) -> None:
        """Notes a step of the row."""
        row = self.row
        self._before, self._obs, self._action = self._obs, step.obs[row].copy(), _own(action[row], env)
        self._reward, self._info, self._names = float(step.reward[row]), env.info(row), env.agents(row)
        self.length += 1
        self.total_reward += self._reward


def _of(values: Mapping[str, Any], agent: str | None) -> Any:
    return values if agent is None else values.get(agent)


class FunctionCallbacks(Callbacks):
    """Base of callbacks that are made of functions."""


def from_functions(functions: Mapping[str, Callable[[dict[str, Any]], Any]], metrics: Sequence[str] = ()) -> type:
    """Returns a class of callbacks made of functions of one dict, as older programs have them. Its keys are env,
    episode, policy (the name of the only one, default) and worker for episodes; trainer and result, evaluation or path
    for the run."""
    if unknown := [name for name in functions if name not in EVENTS]:
        raise JoystickError(
            "callbacks: there is no event {event!r}{hint}", event=unknown[0], hint=_events_like(unknown[0])
        )
    if wrong := [name for name, function in functions.items() if not callable(function)]:
        raise JoystickError(
            "callbacks: {event} is {value!r}; a function of one dict is needed",
            event=wrong[0],
            value=functions[wrong[0]],
        )

    def method(function: Callable[[dict[str, Any]], Any]) -> Callable[..., None]:
        def call(self: Callbacks, **facts: Any) -> None:
            if "episode" in facts:
                facts |= {"policy": {"default": None}, "worker": facts["episode"].worker}
            else:
                facts["trainer"] = facts.pop("run")
            function(facts)

        return call

    members: dict[str, Any] = {name: method(function) for name, function in functions.items()}
    return type("FunctionCallbacks", (FunctionCallbacks,), {**members, "METRICS": tuple(metrics)})


def _events_like(name: str) -> str:
    """Returns the end of a sentence about an unknown event: the nearest one, or all."""
    return did_you_mean(name, EVENTS) or tr("; there are {events}", events=", ".join(EVENTS))


_NEVER_CALLED = {
    "_init_callback", "_on_step", "_on_training_start", "_on_training_end", "_on_rollout_start", "_on_rollout_end",
    "_on_event",
}  # fmt: skip
"""Methods of callbacks of another library, which nothing here would call."""


def problem(cls: Any) -> str:
    """Returns what is wrong with a class of callbacks; empty if nothing is."""
    if not isinstance(cls, type) or not issubclass(cls, Callbacks):
        return tr(
            "{thing} is not a class that inherits from joystick.Callbacks",
            thing=getattr(cls, "__qualname__", repr(cls)),
        )
    for name in dir(cls):
        if name in _NEVER_CALLED or (name.startswith("on_") and name not in EVENTS):
            return tr(
                "{callbacks} has a method {name}, and there is no such event{hint}",
                callbacks=cls.__name__,
                name=name,
                hint=_events_like(name),
            )
    if fault := _signature_fault(cls):
        return fault
    if not isinstance(cls.METRICS, list | tuple):
        return tr(
            "{callbacks}.METRICS is {metrics!r}; a tuple of names is needed",
            callbacks=cls.__name__,
            metrics=cls.METRICS,
        )
    for name in cls.METRICS:
        if not isinstance(name, str) or not name.replace("/", "_").replace(".", "_").isidentifier():
            return tr(
                "{callbacks}.METRICS: {name!r} is not a valid name of a column", callbacks=cls.__name__, name=name
            )
    return ""


def _signature_fault(cls: type[Callbacks]) -> str:
    """Returns which event cannot be called with its arguments; empty if all can."""
    for event, arguments in _GIVEN.items():
        try:
            inspect.signature(getattr(cls, event)).bind(None, **dict.fromkeys(arguments))
        except TypeError as error:
            return tr(
                "{callbacks}.{event} is called with {arguments}, by keyword: {error}",
                callbacks=cls.__name__,
                event=event,
                arguments=tr(" and ").join(arguments),
                error=error,
            )
        except ValueError:  # a builtin, whose parameters Python cannot tell
            continue
    return ""


def taken(metrics: Sequence[str], columns: Sequence[str], where: str) -> str:
    """Returns why these names cannot be columns beside the others, and with _min and _max; empty if they can. where:
    what names them."""
    names = list(columns)
    for name in (column for metric in metrics for column in spread_names(metric)):
        if name in names:
            return tr("{where} gives a column {name!r}, and there is one of this name", where=where, name=name)
        names.append(name)
    return ""


def sees_episodes(callbacks: Callbacks) -> bool:
    """Returns True if a class overrides an event of episodes; a collector need not record anything for others."""
    return any(getattr(type(callbacks), event) is not getattr(Callbacks, event) for event in EPISODE_EVENTS)


def call(callbacks: Callbacks, event: str, *args: Any, **kwargs: Any) -> Any:
    """Calls a callback. An error in it ends the run, with the name of the event."""
    try:
        return getattr(callbacks, event)(*args, **kwargs)
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        if isinstance(error, EnvError) or (isinstance(error, JoystickError) and type(error) is not JoystickError):
            raise  # a failure of the run itself, which says what it is, and may forbid to save
        kind = CallbackInterrupt if isinstance(error, KeyboardInterrupt) else CallbackError
        what = tr(
            "{callbacks}.{event} has failed: {error}",
            callbacks=type(callbacks).__name__,
            event=event,
            error=described(error),
        )
        raise kind(what) from error


def _is_finite(value: Any) -> bool:
    """Returns True for a number that float64 can hold."""
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


class CallbackRecorder(Recorder):
    """Calls the events of the episodes of a collector."""

    def __init__(self, callbacks: Callbacks, rows: int, worker: int = 0, in_evaluation: bool = False) -> None:
        self.callbacks, self.worker, self.in_evaluation = callbacks, worker, in_evaluation
        self._running: list[RunningEpisode | None] = [None] * rows
        self._steps = type(callbacks).on_episode_step is not Callbacks.on_episode_step

    def begin(self, row: int, seed: int, obs: Array, env: VectorEnv) -> None:
        episode = RunningEpisode(seed, self.worker, row, obs[row].copy(), env, self.in_evaluation)
        self._running[row] = episode
        if env.pending is None or not env.pending[row]:
            call(self.callbacks, "on_episode_start", episode=episode, env=env.member(row))

    def step(self, obs: Array, action: Array, step: Step, env: VectorEnv) -> None:
        for row, episode in enumerate(self._running):
            if episode is None:
                continue
            if env.valid is not None and not env.valid[row]:
                if env.pending is not None:  # a dummy step: the episode begins here
                    episode.begin(step.obs[row].copy())
                    call(self.callbacks, "on_episode_start", episode=episode, env=env.member(row))
                continue
            episode.advance(action, step, env)
            if self._steps:
                call(self.callbacks, "on_episode_step", episode=episode, env=env.member(row))

    def end(self, episode: Episode, env: VectorEnv) -> dict[str, float]:
        running = self._running[episode.row]
        assert running is not None
        call(self.callbacks, "on_episode_end", episode=running, env=env.member(episode.row))
        self.drop(episode.row)
        return self._checked(running.metrics)

    def _checked(self, metrics: Mapping[str, Any]) -> dict[str, float]:
        cls = type(self.callbacks)
        for name, value in metrics.items():
            if name not in cls.METRICS:
                names = [*cls.METRICS, name]
                near = did_you_mean(str(name), cls.METRICS) or (
                    tr("; write joystick.Run(..., metrics={names})", names=names)
                    if issubclass(cls, FunctionCallbacks)
                    else tr("; write METRICS = {names} in the class", names=names)
                )
                raise CallbackError(
                    "{callbacks}: episode.metrics has {name!r}, which METRICS does not name{near}",
                    callbacks=cls.__name__,
                    name=name,
                    near=near,
                )
            if not np.isscalar(value) or isinstance(value, str | bytes | complex):
                raise CallbackError(
                    "{callbacks}: episode.metrics[{name!r}] is {value!r}; a number is needed",
                    callbacks=cls.__name__,
                    name=name,
                    value=value,
                )
            if not _is_finite(value):
                raise CallbackError(
                    "{callbacks}: episode.metrics[{name!r}] is {value}; a finite number is needed, or "
                    "none: an episode may leave a name out",
                    callbacks=cls.__name__,
                    name=name,
                    value=value,
                )
        return {name: float(value) for name, value in metrics.items()}

    def drop(self, row: int) -> None:
        self._running[row] = None


class CallbackObserver(Observer):
    """Calls the events of the run. run: the joystick.Run that the callbacks get."""

    KEY, BRANCHES = "CallbackObserver", True

    def __init__(self, callbacks: Callbacks, run: Any) -> None:
        self.callbacks, self.run = callbacks, run

    def evaluation(self, evaluation: Evaluation, count: Count, best: bool) -> None:
        call(self.callbacks, "on_evaluation", run=self.run, evaluation=evaluation.facts())

    def checkpoint(self, path: Any, count: Count) -> None:
        call(self.callbacks, "on_checkpoint", run=self.run, path=path)

    def result(self, result: Result) -> None:
        call(self.callbacks, "on_train_result", run=self.run, result=rllib_names.Figures(result))

    def state(self) -> Tree:
        tree: Tree = call(self.callbacks, "state")
        try:
            flatten(tree, {})
        except TypeError as error:
            raise CallbackError(f"{type(self.callbacks).__name__}.state: {error}") from error
        return tree

    def load_state(self, state: Tree) -> None:
        call(self.callbacks, "load_state", state)
