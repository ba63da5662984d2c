"""The expert that an algorithm asks what to do: the policy of another run, a function of the user's own, or
one that comes with the environment."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space

from algos.base import Array, EnvSpec, TrainableActor
from config.model.composite import Composite, choices_of
from config.model.schema import OF_THE_ENVIRONMENT
from config.own import objects as own
from config.read import tasks
from config.read.loader import RunConfig
from config.read.loader import load as load_config
from config.read.paths import as_written
from config.tell.language import tr
from framework.assemble.identity import check_identity, with_seed
from framework.catalog import ALGOS, ENVS
from framework.dataset.fit import own_space
from framework.disk.checkpoints import BAD_CONTENT, CheckpointStore
from framework.disk.task_dir import ROOT, TaskDir
from framework.errors import JoystickError

Ask = Callable[[Array, Array | None], Any]
"""Returns actions [N, ...] for observations [N, ...] and masks [N, A] of legal actions, if there are any."""
MakeAgent = Callable[[RunConfig, EnvSpec, int, torch.device], TrainableActor]


def expert_of(config: RunConfig, spec: EnvSpec, make_agent: MakeAgent) -> "Expert | None":
    """Returns the expert that the settings name; None if there is none. spec: the environment that the run collects in.
    Raises JoystickError if it cannot be found, or acts in another environment."""
    name = config.algo.asked_expert()
    if name is None:
        return None
    try:
        if name == OF_THE_ENVIRONMENT:
            ask, starts = _given(spec), spec.starts
        elif own.is_own(name):
            ask, starts = _function(name), spec.starts
        else:
            ask, starts = _policy(name, config, spec, make_agent), (0, 0)
    except (tasks.TaskError, own.OwnError, JoystickError) as error:
        raise JoystickError(f"algo_cfg.expert: {error}") from error
    expert = Expert(name, ask, spec.action_space, starts)
    expert(_observations(spec.observation_space), _everything(spec.action_space))
    return expert


class Expert:
    """Answers with the actions that an expert would choose, and checks each answer."""

    def __init__(self, name: str, ask: Ask, space: Space, starts: tuple[Any, Any] = (0, 0)) -> None:
        """starts: first values of the whole numbers that the expert sees and answers, which are from 0 elsewhere."""
        self.name, self._ask, self._space = name, ask, space
        self._obs_start, self._start = starts

    def __call__(self, obs: Array, mask: Array | None) -> Array:
        """Returns actions [N, ...] for observations [N, ...]; the actions of a Box are clipped to its bounds."""
        if np.any(self._obs_start):
            obs = obs + self._obs_start
        space, shape = self._space, (len(obs), *(self._space.shape or ()))
        try:
            action = self._flat(self._ask(obs, mask))
        except Exception as error:  # the user's own function may raise anything
            raise JoystickError(
                "algo_cfg.expert: {name} failed: {fault}", name=self.name, fault=own.described(error)
            ) from error
        if action.shape != shape or action.dtype.kind not in "biuf":
            raise self._unfit(
                tr("an array of shape {shape} and type {dtype}", shape=action.shape, dtype=action.dtype), shape
            )
        if isinstance(space, Box | Composite) and not np.isfinite(action).all():
            raise self._unfit(tr("a number that is not finite"), shape)
        if isinstance(space, Box):
            return np.clip(action, space.low, space.high).astype(space.dtype)
        if isinstance(space, Composite):
            numbers = space.box_columns
            action = action.astype(space.dtype)
            action[:, numbers] = np.clip(action[:, numbers], space.low[numbers], space.high[numbers])
        if not (_whole(action, space) & _within(action, space)).all():
            raise self._unfit(f"{np.unique(action + np.asarray(self._start))[:5].tolist()}", shape)
        return action.astype(space.dtype)

    def _flat(self, answer: Any) -> Array:
        """Returns an answer as an array: for a Tuple or Dict of actions it may be one of arrays [N, ...], or an array
        of N of them."""
        if not isinstance(self._space, Composite):
            return self._from_zero(np.asarray(answer))
        if isinstance(answer, dict | tuple):
            return self._space.encode(answer)
        if isinstance(answer, np.ndarray) and answer.dtype != object:
            return self._from_zero(answer)
        return np.stack([self._space.encode(action) for action in answer])

    def _from_zero(self, action: Array) -> Array:
        return action - np.asarray(self._start) if np.any(self._start) else action

    def _unfit(self, result: str, shape: tuple[int, ...]) -> JoystickError:
        return JoystickError(
            "algo_cfg.expert: {name} returned {result}; expected {count} actions of {space}, as an "
            "array of shape {shape}",
            name=self.name,
            result=result,
            count=shape[0],
            space=own_space(self._space, self._start),
            shape=shape,
        )


def _whole(action: Array, space: Space) -> Array:
    """Returns True where a part of an action is a whole number, or need not be one."""
    whole = np.equal(action, np.round(action))
    if isinstance(space, Composite):
        whole[:, space.box_columns] = True
    return whole


def _within(action: Array, space: Space) -> Array:
    """Returns True where a part of an action is one of the values of its space."""
    match space:
        case Discrete():
            return (action >= space.start) & (action < space.start + space.n)
        case MultiDiscrete():
            return (action >= space.start) & (action < space.start + space.nvec)
        case MultiBinary():
            return (action == 0) | (action == 1)
        case Composite():
            whole = np.isin(np.arange(len(space.low)), space.choices.column)
            return ~whole | ((action >= space.low) & (action <= space.high))
    raise TypeError(f"{space} has no values")


def _observations(space: Space) -> Array:
    """Returns two observations of this space, always the same ones."""
    space = deepcopy(space)  # the environment may draw from its own
    space.seed(0)
    return np.stack([np.asarray(space.sample()) for _ in range(2)])


def _everything(space: Space) -> Array | None:
    """Returns a mask [2, A] that allows all actions; None if a mask does not suit the space."""
    return np.ones((2, choices_of(space).entries), bool) if isinstance(space, Discrete | Composite) else None


def _given(spec: EnvSpec) -> Ask:
    """Returns the expert that comes with the environment."""
    if spec.expert is None:
        raise JoystickError("{id} has no expert of its own; name a task directory or module:function", id=spec.id)
    return spec.expert


def _function(name: str) -> Ask:
    """Returns a function of the user's own, which does not see the masks."""
    function = own.find(name)
    if not callable(function):
        raise JoystickError("{name} is a {kind}, and no function", name=name, kind=type(function).__name__)
    return lambda obs, mask: function(obs.copy())


def _policy(name: str, config: RunConfig, spec: EnvSpec, make_agent: MakeAgent) -> Ask:
    """Returns the best model of a run, or its newest one."""
    folder = tasks.find(name, ROOT, config.start)
    TaskDir(folder).check()
    values = {"general_cfg": {"mode": "test", "load_checkpoint": True, "load_path": str(folder), "device": "cpu"}}
    its = with_seed(load_config(None, find_algo=ALGOS, find_env=ENVS, values=values, allow_import=config.allow_import))
    store = CheckpointStore(folder / "models")
    saved = store.best_or_newest()
    check_identity(saved, its, spec)
    agent = make_agent(its, replace(spec, shared={}), its.general.seed, torch.device("cpu"))
    try:
        agent.load_state(saved.tree["agent"])
    except (*BAD_CONTENT, RuntimeError, AttributeError) as error:
        raise JoystickError(
            "{path} does not fit its settings: {error}", path=as_written(saved.path), error=error
        ) from error
    if agent.initial_state(1) is not None:
        raise JoystickError(
            "{path} has a recurrent policy, which cannot be asked about single states", path=as_written(folder)
        )
    return lambda obs, mask: agent.predict_action(obs, None, mask).action
