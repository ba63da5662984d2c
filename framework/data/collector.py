"""Collects transitions of a policy into a buffer, and tests policies: a face of the Collector of training."""

import copy
from collections.abc import Collection, Sequence
from typing import Any, NoReturn

import numpy as np
import torch
from gymnasium.spaces import Discrete, MultiBinary, MultiDiscrete, Space

import algos
import envs
from algos.base import Act, Actor, EnvSpec, Progress, Streams
from config.model.composite import Composite
from config.model.fields import is_whole
from config.tell.arguments import with_hints
from config.tell.language import tr
from envs.base import Array, Step, VectorEnv
from framework.collect import collector
from framework.collect.fragment import Episode, Recorder
from framework.data.absent_names import ARGUMENTS
from framework.data.batch import Batch
from framework.data.buffer import ReplayBuffer
from framework.data.policy import Policy
from framework.data.settings import whole
from framework.errors import JoystickError
from framework.seeding import number, stream

_LONGEST = 100_000
"""Steps of an episode that may wait for its end; a buffer with room for more takes longer ones."""


class Collector:
    """Steps environments with a policy. Every episode has its own seed, which follows from `seed`, row and number."""

    @with_hints(ARGUMENTS)
    def __init__(
        self,
        policy: Policy,
        env: Any,
        buffer: ReplayBuffer | None = None,
        seed: int = 0,
        store_info: bool = False,
        dict_obs: bool = False,
    ) -> None:
        """env: an environment, a vector environment, an id, or a list of environments. buffer: gets every transition; a
        buffer that has a part for each environment at once, another one an episode when that has ended (the only
        environment's transitions at once). store_info: also stores the info dict of each step as `info`, with the
        number of its environment as `env_id`. dict_obs: observations of a Dict or Tuple space are a Batch of their
        parts, for the policy and in the buffer; otherwise one array."""
        if not isinstance(policy, Policy):
            raise JoystickError(
                "policy: got {policy!r}; expected an object of a class that inherits from Policy", policy=policy
            )
        if not isinstance(buffer, ReplayBuffer | None):
            raise JoystickError(
                "buffer: got {buffer!r}; expected a buffer, such as VectorReplayBuffer(20000, 8)", buffer=buffer
            )
        if callable(seed):
            raise JoystickError(
                "seed: got {seed!r}; expected a whole number (a Collector has no preprocess_fn)", seed=seed
            )
        whole("seed", seed, least=0)
        self.policy, self.env, self.buffer, self.seed = policy, envs.vector_of(env), buffer, seed
        if self.env.joint is not None:
            raise JoystickError("a Collector is for one agent; several are trained with policies_cfg (docs/agents.md)")
        rows, parts = self.env.rows, 1 if buffer is None else buffer.buffer_num
        if 1 < parts < rows:
            raise JoystickError(
                "the buffer has {parts} parts for {rows} environments; give it {rows}", parts=parts, rows=rows
            )
        self._apart = parts >= rows
        """True if transitions are stored at once; otherwise an episode moves when it ends."""
        if dict_obs and policy.ONE_ARRAY:
            raise JoystickError("dict_obs: an algorithm takes observations as one array; leave it out")
        if dict_obs and not self.env.parts:
            raise JoystickError("dict_obs: the observations are no Dict or Tuple with several parts; leave it out")
        self._parts = self.env.parts if dict_obs else ()
        self._store_info, self._infos = store_info, _Infos()
        self.reset_env()

    def reset_env(self) -> None:
        """Starts the first episodes again, with the same seeds. Episodes that are running are broken off."""
        if self.buffer is not None and self._apart:
            self.buffer.break_off()
        self._actor = _Actor(self.policy, self.env, self._parts)

        def seed_of(row: int, episode: int) -> int:
            return number(self.seed, "episode", 0, row, episode)

        if hasattr(self.env, "only"):
            self.env.only(np.ones(self.env.rows, bool))
        rng, recorders = stream(self.seed, "act", 0), [self._infos] if self._store_info else []
        self._collector = collector.Collector(self.env, self._actor, rng, seed_of, recorders=recorders)
        self._waiting: list[list[dict[str, Any]]] = [[] for _ in range(self.env.rows)]
        """Transitions of each row's running episode, which are not in the buffer yet."""
        self._idled = False
        """True if a vector environment has stepped rows that had played all their episodes: all rows begin new ones."""

    def reset_buffer(self) -> None:
        """Empties the buffer."""
        if self.buffer is not None:
            self.buffer.reset()

    def reset(self) -> None:
        """Starts the first episodes again, and empties the buffer."""
        self.reset_env()
        self.reset_buffer()

    @with_hints(ARGUMENTS)
    def collect(
        self,
        n_step: int | None = None,
        n_episode: int | Sequence[int] | None = None,
        random: bool = False,
        testing: bool | None = None,
    ) -> dict[str, Any]:
        """Collects at least n_step transitions, or exactly n_episode episodes; a list gives the number for each
        environment. random: uniformly random actions. testing: True without exploration, which is the default without a
        buffer. Returns n/st, n/ep, and of the episodes that ended rew and len (means), rews and lens."""
        until = _until(self.env.rows, n_step, n_episode)
        testing = self.buffer is None if testing is None else testing
        if random and self.buffer is not None and self.policy.needs_own_actions:
            raise JoystickError("random=True: the policy learns from its own actions; collect without random")
        self._actor.random = random
        steps, episodes = 0, list[Episode]()
        with self.policy.phase(training=not testing):
            while until.active.any():
                stored, results = self._step(until.active)
                steps += stored
                episodes += results
                until.count(steps, results)
        if self._idled:
            self._collector.begin(np.ones(self.env.rows, bool))
            self._actor.begin(range(self.env.rows))
            self._idled = False
        self._collector.settle()
        return _result(steps, episodes)

    def _step(self, active: Array) -> tuple[int, list[Episode]]:
        """Steps the active environments once. Returns the number of transitions that were stored, and the episodes that
        ended."""
        if hasattr(self.env, "only"):
            self.env.only(active)
        else:
            self._idled |= not active.all()
        obs, act, step, episodes = self._collector.step(Progress())
        self._actor.tell(step.reward)
        played = active if self.env.valid is None else active & self.env.valid
        self._actor.begin({*(episode.row for episode in episodes), *np.flatnonzero(~played).tolist()})
        rows = np.flatnonzero(played)
        if len(rows) < self.env.rows and not self._actor.random:
            self.policy.rested(self.env.rows - len(rows))
        columns = self._columns(obs, act, step)
        if self.buffer is None:
            stored = len(rows)
        elif self._apart:
            self.buffer.add(Batch.of(columns) if len(rows) == self.env.rows else Batch(columns)[rows], rows)
            stored = len(rows)
        else:
            stored = self._move(self.buffer, Batch(columns), rows, step)
        return stored, [episode for episode in episodes if active[episode.row]]

    def _columns(self, obs: Array, act: Act, step: Step) -> dict[str, Any]:
        """Returns the columns [N, ...] of a transition of each row."""
        columns: dict[str, Any] = {
            "obs": by_part(obs, self._parts),
            "act": self._actor.act,
            "rew": step.reward,
            "terminated": step.terminated,
            "truncated": step.truncated,
            "obs_next": by_part(step.obs, self._parts),
            **act.columns,
        }
        if self._actor.columns is not None:
            columns["policy"] = self._actor.columns
        if self._store_info:
            columns["info"] = self._infos.latest
        return columns

    def _move(self, buffer: ReplayBuffer, columns: Batch, rows: Array, step: Step) -> int:
        """Keeps the transitions of these rows back, and adds those of the episodes that have ended to the buffer.
        Returns their number."""
        moved = 0
        for row in rows.tolist():
            self._waiting[row].append(copy.deepcopy(columns[row]))
            if len(self._waiting[row]) > max(buffer.maxsize, _LONGEST):
                raise JoystickError(
                    "an episode of more than {steps} steps has not ended, and moves to the buffer only then; use "
                    "VectorReplayBuffer({size}, {rows}), which gets its steps at once",
                    steps=len(self._waiting[row]) - 1,
                    size=buffer.maxsize,
                    rows=self.env.rows,
                )
            if step.terminated[row] or step.truncated[row]:
                for transition in self._waiting[row]:
                    buffer.add(transition)
                moved += len(self._waiting[row])
                self._waiting[row] = []
        return moved


class _UntilSteps:
    """Steps all environments until there are this many transitions."""

    def __init__(self, rows: int, steps: int) -> None:
        self.active, self._steps = np.ones(rows, bool), steps

    def count(self, steps: int, episodes: Sequence[Episode]) -> None:
        """steps: transitions stored so far. ended: episodes that have ended with this step."""
        self.active[:] = steps < self._steps


class _UntilEpisodes:
    """Plays exactly this many episodes: for each environment, or for all of them, shared out as they become free. All
    that begin are played to their end, since the first ones to finish would be the short ones."""

    def __init__(self, rows: int, episodes: int | Sequence[int]) -> None:
        shared = isinstance(episodes, int)
        self._left = np.arange(rows) < episodes if shared else np.array(episodes)
        self._left = self._left.astype(np.int64)
        """Number of episodes [N] that are left to each environment."""
        self._free = max(0, episodes - rows) if isinstance(episodes, int) else 0
        """Number of episodes that no environment has got yet."""
        self.active = self._left > 0

    def count(self, steps: int, episodes: Sequence[Episode]) -> None:
        for episode in episodes:
            if self._free:
                self._free -= 1
            else:
                self._left[episode.row] -= 1
        self.active = self._left > 0


def _until(rows: int, n_step: int | None, n_episode: int | Sequence[int] | None) -> _UntilSteps | _UntilEpisodes:
    """Returns what ends a collection. Raises JoystickError for counts that make no sense."""
    if (n_step is None) == (n_episode is None):
        raise JoystickError("collect needs n_step or n_episode, and not both")
    if n_step is not None:
        if not is_whole(n_step):
            raise JoystickError("n_step={n_step!r}: expected a whole number, at least 1", n_step=n_step)
        return _UntilSteps(rows, n_step)
    if isinstance(n_episode, Sequence):
        if len(n_episode) != rows or not all(is_whole(n, least=0) for n in n_episode) or not any(n_episode):
            raise JoystickError(
                "n_episode={n_episode!r}: expected a number of episodes for each of {rows} environments",
                n_episode=n_episode,
                rows=rows,
            )
        return _UntilEpisodes(rows, n_episode)
    if n_episode is None or not is_whole(n_episode):
        raise JoystickError("n_episode={n_episode!r}: expected a whole number, at least 1", n_episode=n_episode)
    return _UntilEpisodes(rows, int(n_episode))


def _result(steps: int, episodes: Sequence[Episode]) -> dict[str, Any]:
    """Returns the result of a collection; the means of no episodes are NaN."""
    rews = np.array([episode.total for episode in episodes])
    lens = np.array([episode.length for episode in episodes], np.int64)
    return {
        "n/st": steps,
        "n/ep": len(episodes),
        "rew": float(rews.mean()) if episodes else float("nan"),
        "len": float(lens.mean()) if episodes else float("nan"),
        "rews": rews,
        "lens": lens,
    }


def by_part(obs: Array, parts: Any) -> Any:
    """Returns observations [N, size] as a Batch of their parts [N, ...], nested as their names are; as they are without
    parts."""
    nested: dict[str, Any] = {}
    for name, start, stop, shape in parts:
        *outer, key = name.split(".")
        node = nested
        for level in outer:
            node = node.setdefault(level, {})
        node[key] = obs[:, start:stop].reshape(-1, *shape)
    return Batch(nested) if parts else obs


class _Infos(Recorder):
    """Keeps the info dicts of the latest step: the environment itself has the dicts of a reset afterwards."""

    latest: Array

    def step(self, obs: Array, action: Array, step: Step, env: VectorEnv) -> None:
        self.latest = np.array([{**env.info(row), "env_id": row} for row in range(env.rows)], object)


class _Actor(Actor):
    """Acts for the Collector of training; what the policy gives beside actions is kept here."""

    def __init__(self, policy: Policy, env: VectorEnv, parts: Any) -> None:
        self.policy, self.env, self.random, self._parts = policy, env, False, parts
        spec = EnvSpec("", env.observation_space, env.action_space, env.rows)
        self._random: Actor = algos.agent_class(algos.get("Random"))(None, spec, Streams(0), torch.device("cpu"))
        self.act: Array = np.zeros(0)
        """Latest actions [N, ...]."""
        self.columns: Batch | None = None
        """Latest further columns of the policy."""
        self._last = _last_of(env.action_space)
        self._state: Any = None
        """State of a recurrent policy after the latest step; None before the first one."""

    def sample_action(
        self, obs: Array, state: Array | None, progress: Progress, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        if not self.random:
            return self.predict_action(obs, state, mask)
        self.act, self.columns = self._random.sample_action(obs, None, progress, rng, mask).action, None
        return Act(self.act)

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        """Returns what the policy does in its present phase."""
        self.columns = None
        batch = Batch(obs=by_part(obs, self._parts))
        if mask is not None:
            batch.action_mask = mask
        with torch.no_grad():
            out = self.policy(batch, self._state)
        if not isinstance(out, Batch) or "act" not in out:
            self._refuse(tr("no act; return Batch(act=...)"))
        self.act, self._state, self.columns = _array(out.act), out.get("state"), out.get("policy")
        for name, value in (("act", self.act), ("state", self._state)):
            self._check_rows(name, value, len(obs))
        self._check_actions()
        return Act(self.act)

    def _check_actions(self) -> None:
        """Raises JoystickError for actions that are none of the environment's."""
        act, shape = self.act, self.env.action_space.shape or ()
        whole = act.dtype.kind != "f"
        if act.shape[1:] != shape:
            self._refuse(
                tr(
                    "act of the shape {shape}; expected {expected}: the environment's actions have the shape "
                    "{action_shape}",
                    shape=act.shape,
                    expected=(len(act), *shape),
                    action_shape=shape,
                )
            )
        if act.dtype.kind not in "biuf" or not (whole or np.isfinite(act).all()):
            self._refuse(tr("the actions {actions}; expected finite numbers", actions=act.tolist()))
        if isinstance(self.env.action_space, Composite):
            self._check_parts(self.env.action_space)
        last = self._last  # (count_nonzero is several times as fast as any)
        if last is not None and (np.count_nonzero((act < 0) | (act > last)) or not (whole or (act % 1 == 0).all())):
            self._refuse(
                tr(
                    "the actions {actions}; expected whole numbers from 0 to {last}",
                    actions=act.tolist(),
                    last=last.tolist(),
                )
            )

    def _check_parts(self, space: Composite) -> None:
        """Raises JoystickError for flat actions with a choice that is none."""
        column = space.choices.column
        chosen, last = self.act[:, column], space.high[column]
        if ((chosen < 0) | (chosen > last) | (chosen % 1 != 0)).any():
            self._refuse(
                tr(
                    "the actions {actions}; expected whole numbers from 0 to {last} at {places}",
                    actions=self.act.tolist(),
                    last=last.astype(int).tolist(),
                    places=column.tolist(),
                )
            )

    def _refuse(self, text: str) -> NoReturn:
        raise JoystickError("{kind}.forward gave {fault}", kind=type(self.policy).__name__, fault=text)

    def _check_rows(self, name: str, values: Any, rows: int) -> None:
        """Raises JoystickError unless all arrays of a value have this many rows."""
        for value in values.values() if isinstance(values, Batch) else () if values is None else (values,):
            if isinstance(value, Batch):
                self._check_rows(name, value, rows)
            elif value is not None and np.shape(value)[:1] != (rows,):
                self._refuse(
                    tr(
                        "{name} of the shape {shape} for {rows} rows; expected [{rows}, ...]",
                        name=name,
                        shape=tuple(np.shape(value)),
                        rows=rows,
                    )
                )

    def tell(self, reward: Array) -> None:
        """Tells a recurrent policy the rewards [N] of the step."""
        if self._state is not None:
            self._state = self.policy.rewarded(self._state, reward)

    def begin(self, rows: Collection[int]) -> None:
        """Sets the state of a recurrent policy to 0 in these rows, whose next episode begins. Its own arrays stay as
        they are: columns that it gives may be the same ones."""
        if self._state is not None and rows:
            self._state = Batch(state=self._state).empty(sorted(rows)).state


def _last_of(space: Space) -> Array | None:
    """Returns the largest number [] or [D] of the actions of a discrete space; None for another one."""
    if isinstance(space, MultiBinary):
        return np.asarray(1)
    if isinstance(space, Discrete | MultiDiscrete):
        return np.asarray(space.n if isinstance(space, Discrete) else space.nvec) - 1
    return None


def _array(act: Any) -> Array:
    return act.detach().cpu().numpy() if isinstance(act, torch.Tensor) else np.asarray(act)
