"""The contract of a vector environment. No code outside of envs/ deals with autoreset modes.

N rows are stepped together. `step` never resets and returns the true successor, also where an episode ends;
`reset` starts new episodes in the masked rows, each from its own seed. The collector decides when.
"""

import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Space

from config.model.arrays import Array, Model, Part
from config.tell.language import UserError, tr
from config.tell.traceback import concise


class EnvError(UserError, RuntimeError):
    """An environment failed or violates its API; the message names the environment, the place and the remedy."""

    _render_traceback_ = concise


class StepError(EnvError):
    """An environment failed in a call, at a place that is known: name, row, seed of the episode, number of the step."""

    name: str
    row: int | None = None
    """None if all rows are one call."""
    seed: Any = None
    """Seed of the episode; those of all rows without a row."""
    step: int | None = None
    """Number of the step in its episode; None if it is not counted, or no step failed."""

    @classmethod
    def of(
        cls,
        name: str,
        where: str,
        reason: str,
        seed: Any,
        row: int | None = None,
        step: int | None = None,
        more: str = "",
    ) -> "StepError":
        """Returns the error of a call. where: the call; more: what follows the seed."""
        seeds = tr("seeds of the episodes") if row is None else tr("seed of the episode")
        place = where if row is None else tr("{call} of row {row}", call=where, row=row)
        error = cls(
            tr(
                "{name} failed in {place}: {reason} ({seeds} {seed}{more})",
                name=name,
                place=place,
                reason=reason,
                seeds=seeds,
                seed=seed,
                more=more,
            )
        )
        error.name, error.row, error.seed, error.step = name, row, seed, step
        return error


class EnvContext(dict[str, Any]):
    """Settings of one environment, and its place in the run."""

    def __init__(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        worker_index: int = 0,
        vector_index: int = 0,
        num_workers: int = 0,
        recreated: bool = False,
        num_envs: int = 1,
        global_state: bool = False,
    ) -> None:
        super().__init__(settings or {})
        self.worker_index = worker_index
        """0 in the process of the command and in every evaluation, from 1 in Ray workers."""
        self.vector_index = vector_index
        """Row of the environment, from 0."""
        self.num_workers = num_workers
        """Number of Ray workers; 0 without Ray."""
        self.recreated = recreated
        """True in a worker that replaces a lost one."""
        self.num_envs = num_envs
        """Number of rows that are stepped together."""
        self.global_state = global_state
        """True if joint observations need the global state, since a policy learns from it."""

    def row(self, settings: Mapping[str, Any], vector_index: int, num_envs: int) -> "EnvContext":
        """Returns the context of one row in the same place of the run, with settings of its own to change."""
        place = {**vars(self), "vector_index": vector_index, "num_envs": num_envs}
        return EnvContext(copy.deepcopy(dict(settings)), **place)


class Goal(NamedTuple):
    """The goal interface of a goal-conditioned environment, for hindsight relabeling."""

    achieved: slice
    """Position of the achieved goal in the flattened observation."""
    desired: slice
    """Position of the desired goal in the flattened observation."""
    judge: Callable[[Array, Array], tuple[Array, Array]]
    """(achieved [B, G], desired [B, G]) -> reward [B], terminated [B]."""


class Step(NamedTuple):
    """One step of N rows."""

    obs: Array
    """[N, ...] true successor, also at the end of an episode."""
    reward: Array
    """[N] float32."""
    terminated: Array
    """[N] bool."""
    truncated: Array
    """[N] bool."""


class Recipe(NamedTuple):
    """Recipe by which a program makes one row of the environment by itself."""

    imports: tuple[str, ...]
    lines: tuple[str, ...]
    """Statements that end with env = ...: a gymnasium.Env."""

    def in_phase(self, method: str, value: float) -> "Recipe":
        """Returns the recipe with a call of the method of a curriculum."""
        return self._replace(lines=(*self.lines, f"env.unwrapped.{method}({value!r})"))

    def cut_after(self, steps: int) -> "Recipe":
        """Returns the recipe with episodes of so many steps at most; -1: as the environment itself ends them."""
        if steps < 0:
            return self
        limit = f"env = gymnasium.wrappers.TimeLimit(env, {steps})"
        return Recipe(tuple(dict.fromkeys((*self.imports, "import gymnasium"))), (*self.lines, limit))


def literal(value: Any) -> str:
    """Returns a value as it is written in a program, texts in double quotes."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


class VectorEnv(ABC):
    """N environments of one kind. Observations are one array [N, ...]; Dict and Tuple spaces are flattened."""

    rows: int
    observation_space: Space
    """Space of one row: Box, Discrete, MultiDiscrete or MultiBinary."""
    action_space: Space
    """Space of one row: Box, Discrete, MultiDiscrete, MultiBinary, or the Composite of a Tuple or Dict, whose actions
    are one flat array."""
    source_space: Space | None = None
    """Space of the observations of one row as the environment of `recipe` gives them: a mask of actions may be in them,
    and Dict and Tuple are not flattened."""
    recipe: Recipe | None = None
    """None for environments that no program makes by itself, such as several agents."""
    parts: tuple[Part, ...] = ()
    """Parts of a flattened Dict or Tuple observation."""
    observation_start: Any = 0
    """First value of the environment's own Discrete or MultiDiscrete observations; the encoded ones start at 0."""
    action_start: Any = 0
    """First value of the environment's own Discrete or MultiDiscrete actions; the agent's start at 0. Of flat actions
    [W], one for each number."""
    render_fps: float = 30.0
    """Frames per second of a video."""
    replayable: bool = True
    """True if an episode is a function of its seed and its actions; if not, a resume is not exact."""
    valid: Array | None = None
    """[N] bool, False for a dummy step after the end of an episode; None if the environment has no dummy steps."""

    @property
    def pending(self) -> Array | None:
        """[N] bool, True where the next step is a dummy step, which gives the first observation of the episode; None
        if the environment has no dummy steps."""
        return None

    frames: int = 1
    """Number of frames that an observation is a stack of, along its first axis, the newest one last; each step adds
    one. A replay memory stores each frame once."""
    action_mask: Array | None = None
    """[N, A] bool, True for actions that are legal in the latest observation; a new array after every call. With
    several choices in an action it has the values of each in turn. None if all actions are always legal."""
    goal: Goal | None = None
    """Goal interface; None if the environment has no goals."""
    metrics: tuple[str, ...] = ()
    """Names of the numbers that `info(row)` may have in the step that ends an episode: columns of train.csv, eval.csv
    and test.csv."""
    expert: Callable[[Array, Array | None], Array] | None = None
    """Returns the actions [N, ...] of a good policy for observations [N, ...] and masks of legal actions [N, A] or
    None; None if the environment has no such policy."""
    joint: Any = None
    """JointLayout of the observations and actions of a multi-agent environment; None for one agent."""

    context: EnvContext = EnvContext()
    """Settings and place in the run; set by envs.make."""
    phase_method: str = "set_phase"
    """Method of an environment that gets the phase of a curriculum; set by the factory."""

    @property
    def model(self) -> Model | None:
        """Transition model of a finite environment, built on first use; None if it is unknown."""
        return None

    @abstractmethod
    def reset(self, mask: Array, seeds: Array) -> Array:
        """Starts new episodes in the rows where mask [N] bool is True, row i from seeds[i]. Returns the current
        observations of all rows in a new array."""

    @abstractmethod
    def step(self, action: Array) -> Step:
        """Steps all rows with action [N, ...]. The next step may reuse the returned arrays: copy what you keep."""

    def set_phase(self, mask: Array, phases: Sequence[float]) -> None:
        """Sets the phase of the next episode in the masked rows; called before their reset, if there is a curriculum.
        phases: of all rows."""
        if type(self).each is VectorEnv.each:
            raise EnvError(
                "{kind} has no method set_phase(mask, phases), which a curriculum needs", kind=type(self).__name__
            )
        self.each(partial(_set_phase, self.phase_method, phases), mask)

    def each(self, function: Callable[[Any, int], Any], mask: Array) -> list[Any]:
        """Returns function(environment, row) for the masked rows, with the innermost environment of each, called in the
        process that has it."""
        raise EnvError(
            "{kind} has no method each(function, mask), so its rows cannot be reached", kind=type(self).__name__
        )

    def visit(self, function: Callable[[Any, EnvContext], Any]) -> list[Any]:
        """Returns function(environment, context) for each row."""
        return self.each(partial(_with_context, function, self.context), np.ones(self.rows, bool))

    def encode(self, obs: Any) -> Array:
        """Returns an observation of the environment itself as the agent gets it."""
        return np.asarray(obs)

    def mask_of(self, obs: Any) -> Array | None:
        """Returns the action mask in an observation of the environment itself; None if it has none."""
        return None

    def legal(self, mask: Any, agent: str = "") -> Array:
        """Returns a mask of the environment itself as bools [entries]. agent: name of a slot; empty for a single
        agent."""
        return np.asarray(mask, bool)

    def decode(self, action: Array) -> Array:
        """Returns actions [N, ...] of the agent as the environment itself takes them, in a new array; for a Tuple or
        Dict an array [N] of them."""
        return np.array(action)

    def member(self, row: int) -> Any:
        """Returns the environment of a row, if it is an object in this process; otherwise this vector environment."""
        return self

    def agents(self, row: int) -> Sequence[str]:
        """Returns the name of the agent in each slot of the latest joint observation of a row; a slot without an agent
        has its own name. Empty for a single agent."""
        return ()

    def slots_of(self, agent: str) -> Sequence[str]:
        """Returns the names of the slots that an agent can have. Raises EnvError for an unknown agent."""
        raise EnvError("the environment has a single agent")

    def info(self, row: int) -> dict[str, Any]:
        """Returns the info dict of the latest step of a row."""
        return {}

    def render(self, row: int = 0) -> Array | None:
        """Returns the frame [height, width, 3] uint8 of a row; None if it does not render."""
        return None

    def text(self, row: int = 0) -> str | None:
        """Returns the running episode of a row as text; None if it is not rendered as text."""
        return None

    def close(self) -> None:
        """Closes windows and ends processes."""


def _set_phase(method: str, phases: Sequence[float], env: Any, row: int) -> None:
    """Gives an environment its phase."""
    setter = getattr(env, method, None)
    if not callable(setter):
        raise EnvError(
            "{kind} has no method {method}(value), which general_cfg.curriculum.method names",
            kind=type(env).__name__,
            method=method,
        )
    try:
        setter(phases[row])
    except Exception as error:
        name = f"{type(env).__name__}.{method}({phases[row]})"
        raise EnvError(
            "{name} failed in row {row}: {kind}: {error}", name=name, row=row, kind=type(error).__name__, error=error
        ) from error


def _with_context(function: Callable[[Any, EnvContext], Any], context: EnvContext, env: Any, row: int) -> Any:
    return function(env, context.row(context, row, context.num_envs))
