"""Adapter from gymnasium's vector environments to our contract: the only place that deals with autoreset modes.

Each mode defines how rows are reset and where the true successor of a step is found.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode

from config.tell.language import english, tr
from envs.base import Array, EnvError, Step, StepError, VectorEnv
from envs.common import masks
from envs.common.facts import Codec, EnvFacts, frame_rate, frames_of, metrics_of
from envs.common.spaces import Actions, Observations, empty_step, finite

Visit = Callable[[Callable[[Any, int], Any], Array], list[Any]]
Outcome = tuple[Any, Array, Array, Array, dict[str, Any]]
"""Observations as one array of N rows, rewards, terminated, truncated, infos."""

_UNREACHABLE = tr(
    "a vector environment whose rows cannot be reached one by one; env_cfg.vectorization: sync makes single ones"
)


class Mode(ABC):
    """Defines how one kind of vector environment ends and starts episodes."""

    replayable = True
    valid: Array | None = None
    pending: Array | None = None

    def __init__(self, env: Any) -> None:
        self.env = env
        self.rows: int = env.num_envs
        self.encode = Observations(env.single_observation_space).encode
        self.frames = frames_of(env)
        """Number of frames that an observation is a stack of."""
        self.mask_inside = isinstance(env, masks.LegalRows)
        """True if the environment's own observations have the mask as a part."""

    @abstractmethod
    def reset(self, mask: Array, seeds: Array) -> tuple[Any, dict[str, Any]]:
        """Resets the masked rows. Returns observations of all rows (only masked ones are read) and infos."""

    def step(self, action: Array) -> Outcome:
        obs, reward, terminated, truncated, infos = self.env.step(action)
        return self.encode(obs), reward, terminated, truncated, infos


class Masked(Mode):
    """DISABLED: the environment resets the masked rows, each from its own seed."""

    def reset(self, mask: Array, seeds: Array) -> tuple[Any, dict[str, Any]]:
        row_seeds = [int(seed) if chosen else None for seed, chosen in zip(seeds, mask, strict=True)]
        # the environment clears the options dict
        obs, infos = self.env.reset(seed=row_seeds, options={"reset_mask": np.array(mask, bool)})
        return self.encode(obs), infos


class Atari(Mode):
    """ale-py: a masked reset cancels the pending autoreset. Its seeds have 32 bits, one per masked row. The first axis
    of an observation is that of its frames."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.frames = int(env.single_observation_space.shape[0])

    def reset(self, mask: Array, seeds: Array) -> tuple[Any, dict[str, Any]]:
        masked_seeds = (np.asarray(seeds)[mask] % 2**31).astype(np.int64)
        return self.env.reset(seed=masked_seeds, options={"reset_mask": np.array(mask, bool)})


class SameStep(Mode):
    """SAME_STEP: a step returns after the reset; its start observation is kept until the row is reset."""

    replayable = False

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._starts: Any = None
        self._start_infos: dict[str, Any] = {}
        self._started = np.zeros(self.rows, bool)

    def reset(self, mask: Array, seeds: Array) -> tuple[Any, dict[str, Any]]:
        if mask.all() and not self._started.all():
            obs, infos = self.env.reset(seed=int(seeds[0]))
            self._starts, self._started[:] = self.encode(obs), False
            return self._starts, infos
        _refuse_others(mask & ~self._started)
        self._started[mask] = False
        return self._starts, {key: value for key, value in self._start_infos.items() if "final_" not in key}

    def step(self, action: Array) -> Outcome:
        obs, reward, terminated, truncated, infos = self.env.step(action)
        self._starts, self._start_infos = np.array(self.encode(obs)), infos
        self._started = np.logical_or(terminated, truncated)
        successor = self._starts.copy()
        for i in np.flatnonzero(self._started):
            successor[i] = self._final(infos["final_obs"], int(i))
        return successor, reward, terminated, truncated, infos

    def _final(self, final: Any, row: int) -> Any:
        """Returns the final observation of a row, from an array of observations or from arrays per part."""
        return self.encode(row_of(final, row) if isinstance(final, dict) else final[row])


class NextStep(Mode):
    """NEXT_STEP: the step after an end only resets; it is a dummy step, marked in `valid`."""

    replayable = False

    def __init__(self, env: Any, assumed: bool = False) -> None:
        """assumed: the environment says no mode; steps that belong to another one are refused."""
        super().__init__(env)
        self._assumed = assumed
        self._last: Any = None
        self.pending: Array = np.zeros(self.rows, bool)
        self.valid = np.ones(self.rows, bool)

    def reset(self, mask: Array, seeds: Array) -> tuple[Any, dict[str, Any]]:
        if mask.all():
            obs, infos = self.env.reset(seed=int(seeds[0]))
            self._last, self.pending = self.encode(obs), np.zeros(self.rows, bool)
            return self._last, infos
        _refuse_others(mask & ~self.pending)
        return self._last, {}

    def step(self, action: Array) -> Outcome:
        obs, reward, terminated, truncated, infos = self.env.step(action)
        if self._assumed:
            _refuse_other_mode(self.pending & ((np.asarray(reward) != 0) | terminated | truncated))
        self.valid = ~self.pending
        self._last, self.pending = self.encode(obs), np.logical_or(terminated, truncated)
        return self._last, reward, terminated, truncated, infos


class GymnasiumVector(Codec, VectorEnv):
    """A gymnasium vector environment in its autoreset mode."""

    def __init__(
        self, mode: Mode, name: str, facts: EnvFacts | None = None, obey_masks: bool = True, visit: Visit | None = None
    ) -> None:
        """visit: calls a function in the processes of the masked rows."""
        codec = Observations(mode.env.single_observation_space)
        self._actions = Actions(mode.env.single_action_space)
        self.rows, self.replayable = mode.rows, mode.replayable
        self.observation_space, self.action_space = codec.space, self._actions.space
        self._facts = facts or EnvFacts(
            codec.parts,
            masked=None if obey_masks else False,
            start=codec.start,
            mask_inside=mode.mask_inside,
            encode=masks.encoder(codec.encode, mode.mask_inside),
            metrics=metrics_of(mode.env),
            frames=mode.frames,
        )
        self.metrics, self.expert, self.frames = self._facts.metrics, self._facts.expert, self._facts.frames
        self.observation_start, self.action_start = self._facts.start, self._actions.start
        self.parts, self.goal, self._masked = self._facts.parts, self._facts.goal, self._facts.masked
        self.render_fps = frame_rate(mode.env)
        self._mode, self._name, self._floating, self._visit = mode, name, codec.floating, visit
        self._step = empty_step(self.observation_space, self.rows)
        self._obs = self._step.obs.copy()
        self._infos: dict[str, Any] = {}
        self._seeds = np.zeros(self.rows, object)
        self._ended = np.ones(self.rows, bool)
        self._looked = False
        """True once the shapes of a step were looked at."""

    @property
    def pending(self) -> Array | None:
        return self._mode.pending

    def reset(self, mask: Array, seeds: Array) -> Array:
        mask = np.asarray(mask, bool)
        obs = self._obs.copy()  # the arrays of the last step stay unchanged
        if mask.any():
            self._seeds[mask] = [int(seed) for seed in np.asarray(seeds)[mask]]
            try:
                start, self._infos = self._mode.reset(mask, seeds)
                _check_shapes({"observation": start}, self._obs)
            except Exception as error:
                raise self._failed("reset", error) from error
            obs[mask] = np.asarray(start)[mask]
            self._ended[mask] = False
        if self._masked is None:
            self._masked = masks.KEY in self._infos
        if self._masked:
            self._update_masks(self.action_mask, mask, over=self._ended)
        self._obs = obs
        return obs.copy()

    def step(self, action: Array) -> Step:
        if np.count_nonzero(self._ended):
            raise RuntimeError(tr("row {row} has ended: reset it before the next step", row=self._ended.argmax()))
        decoded = self._actions.decode_batch(action)
        try:
            obs, reward, terminated, truncated, self._infos = self._mode.step(decoded)
            if not self._looked:  # a look at each step would slow small environments
                values = {"observation": obs, "reward": reward, "terminated": terminated, "truncated": truncated}
                _check_shapes(values, self._obs)
                self._looked = True
        except Exception as error:
            actions = self._actions.decode(action).tolist()
            raise self._failed("step", error, tr("; actions {actions}", actions=actions)) from error
        out = self._step
        out.obs[...], out.reward[...], out.terminated[...], out.truncated[...] = obs, reward, terminated, truncated
        if self._visit is None:  # otherwise each row has looked in its process
            self._check_finite(out)
        np.logical_or(terminated, truncated, out=self._ended)
        if self.action_mask is not None:
            self._update_masks(None, np.ones(self.rows, bool), over=self._ended)
        self._obs, self.valid = out.obs, self._mode.valid
        return out

    def _update_masks(self, before: Array | None, rows: Array, over: Array) -> None:
        """Updates the masks of these rows from the infos; rows without one keep the previous mask (None: all legal).
        After the end of an episode all actions count as legal if none is."""
        mask = np.ones((self.rows, masks.count(self.action_space)), bool) if before is None else before.copy()
        for infos in (self._infos, self._infos.get("final_info", {})):
            reported = rows & infos.get(f"_{masks.KEY}", masks.KEY in infos)
            if reported.any():
                mask[reported] = self._legal(infos[masks.KEY], reported)
        if (stuck := masks.stuck(mask, over, self.action_space)).any():
            row = int(stuck.argmax())
            raise EnvError(
                "{name} reports in row {row} that no action is legal (seed of the episode {seed})",
                name=self._name,
                row=row,
                seed=self._seeds[row],
            )
        self.action_mask = mask

    def _legal(self, told: Any, rows: Array) -> Array:
        """Returns the masks [R, entries] of these rows as bools."""
        if isinstance(self.action_space, Discrete):
            return masks.legal(list(told[rows]), self.action_space)
        each = (row_of(told, row) if isinstance(told, dict) else told[row] for row in np.flatnonzero(rows).tolist())
        return np.stack([masks.legal(mask, self.action_space) for mask in each])

    def set_phase(self, mask: Array, phases: Sequence[float]) -> None:
        if not self.replayable:
            raise EnvError(
                "{name} begins the next episode by itself (autoreset), before it can get a phase; "
                "set env_cfg.vectorization: sync, or autoreset_mode DISABLED in a vector environment "
                "of your own",
                name=self._name,
            )
        if (whole := getattr(self._mode.env.unwrapped, self.phase_method, None)) is not None:
            try:
                whole(mask, phases)
            except Exception as error:
                raise self._failed(self.phase_method, error) from error
        elif self._visit is None and self._members() is None:
            raise EnvError(
                "{name} has no method {method}(mask, phases), and is {unreachable}",
                name=self._name,
                method=self.phase_method,
                unreachable=_UNREACHABLE,
            )
        else:
            super().set_phase(mask, phases)

    def each(self, function: Callable[[Any, int], Any], mask: Array) -> list[Any]:
        if self._visit is not None:
            return self._visit(function, mask)
        if (members := self._members()) is None:
            raise EnvError("{name} is {unreachable}", name=self._name, unreachable=_UNREACHABLE)
        return [function(members[row].unwrapped, row) for row in np.flatnonzero(mask).tolist()]

    def _members(self) -> Any:
        """Returns the environments of the rows; None if they are not objects in this process."""
        return getattr(self._mode.env.unwrapped, "envs", None)

    def info(self, row: int) -> dict[str, Any]:
        """Returns the info of the latest step; after an end, that of the end and not of the new start."""
        info = row_of(self._infos, row)
        return info.pop("final_info", info)

    def render(self, row: int = 0) -> Array | None:
        if self._mode.env.render_mode != "rgb_array":
            return None
        try:
            return np.asarray(self._mode.env.render()[row])
        except Exception as error:
            raise self._failed("render", error) from error

    def close(self) -> None:
        env = self._mode.env
        if not isinstance(env, gymnasium.vector.AsyncVectorEnv):
            env.close()
            return
        try:
            env.close(timeout=5)
        except (OSError, EOFError):  # a process has already ended
            end_processes(env)

    def _check_finite(self, out: Step) -> None:
        for name, values in (
            (english("reward"), out.reward),
            (english("observation"), out.obs if self._floating else out.reward),
        ):
            if not finite(values):
                row = int(np.flatnonzero(~np.isfinite(values.reshape(self.rows, -1)).all(axis=1))[0])
                reason = tr("the {name} is not finite: {values}", name=tr(name), values=values[row])
                raise StepError.of(self._name, tr("a step"), reason, self._seeds[row], row)

    def _failed(self, where: str, error: Exception, more: str = "") -> EnvError:
        if isinstance(error, EnvError):
            return EnvError(str(error))
        lost = isinstance(error, EOFError | ConnectionError)
        reason = self._lost() if lost else ": ".join(filter(None, (type(error).__name__, str(error))))
        return StepError.of(self._name, where, reason, self._seeds.tolist(), more=more)

    def _lost(self) -> str:
        """Returns which process of the rows has ended, with its status: negative, the signal that killed it."""
        processes = getattr(self._mode.env.unwrapped, "processes", [])
        wait([process.sentinel for process in processes], 1.0)  # its pipe is closed before it has ended
        status = next(((row, one.exitcode) for row, one in enumerate(processes) if one.exitcode is not None), None)
        if status is None:
            return tr("a process of the environment ended")
        return tr("the process of row {row} ended with status {status}", row=status[0], status=status[1])


def _check_shapes(values: dict[str, Any], obs: Array) -> None:
    """Raises ValueError for a value of another shape than its array of all rows, which would be broadcast to them.
    obs: observations of the step before."""
    for name, value in values.items():
        expected = obs.shape if name == "observation" else obs.shape[:1]
        if np.shape(value) != expected:
            raise ValueError(
                tr(
                    "the {key} has shape {shape}; expected {expected}",
                    key=name,
                    shape=np.shape(value),
                    expected=expected,
                )
            )


def end_processes(env: gymnasium.vector.AsyncVectorEnv) -> None:
    """Ends the processes of the rows, whatever they do."""
    env.closed = True
    for process in env.processes:
        process.terminate()
        process.join()


def mode_of(env: Any) -> Mode:
    """Returns the mode of a foreign vector environment."""
    if masks.in_observation(env.single_observation_space):
        env = masks.LegalRows(env)
    if type(env.unwrapped).__module__.startswith("ale_py"):
        return Atari(env)
    modes: dict[AutoresetMode, Callable[[Any], Mode]] = {
        AutoresetMode.DISABLED: Masked,
        AutoresetMode.SAME_STEP: SameStep,
        AutoresetMode.NEXT_STEP: NextStep,
    }
    told = env.metadata.get("autoreset_mode")
    return NextStep(env, assumed=True) if told is None else modes[AutoresetMode(told)](env)


def row_of(infos: dict[str, Any], row: int) -> dict[str, Any]:
    """Returns the info of one row from a joined dict. `_key` marks the rows that have `key`."""
    info = {}
    for key, values in infos.items():
        mask = infos.get(f"_{key}")
        if (key.startswith("_") and key[1:] in infos) or (mask is not None and not mask[row]):
            continue
        info[key] = row_of(values, row) if isinstance(values, dict) else values[row]
    return info


def _refuse_others(rows: Array) -> None:
    if rows.any():
        raise EnvError(
            "row {row} has not ended, and this vector environment cannot restart a single row; "
            "set general_cfg.max_step: -1, or vectorization: sync",
            row=rows.argmax(),
        )


def _refuse_other_mode(rows: Array) -> None:
    """Raises EnvError if a row did more than a reset in its step after an end."""
    if rows.any():
        raise EnvError(
            "row {row} has a reward or an end in the step after the end of its episode, which only resets in the "
            "mode that is assumed, since the environment says none; write metadata = "
            '{{"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}} in its class, or the mode that it has',
            row=rows.argmax(),
        )
