"""Check of an environment before training: one reset and one step, each field compared with its space."""

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

from config.model.composite import Composite
from config.tell.language import tr
from envs.base import EnvError
from envs.common import masks
from envs.common.error_text import described
from envs.common.spaces import Actions, Observations


class Fault(NamedTuple):
    """One field that violates the API."""

    field: str
    expected: str
    got: str
    mend: str
    old: bool = False
    """True if it is the interface of gym before version 0.26."""

    def __str__(self) -> str:
        return tr(
            "{field}: expected {expected}, got {got}. {mend}",
            field=self.field,
            expected=self.expected,
            got=self.got,
            mend=self.mend,
        )


OLD = tr(" (its interface is the old one: joystick.OldGym(env) accepts it as it is)")

TIME_STEP = tr("a TimeStep of dm_env")


def probe(env: gymnasium.Env, name: str, obey: bool = True) -> bool:
    """Raises EnvError with all faults found in a reset and a step. Returns True if actions are masked."""
    faults = list(_space_faults(env))
    if signature := list(_signature_faults(env.unwrapped)):
        faults += [*signature, *_old_forms(env.unwrapped)]
    if not faults:
        _refuse_spaces(env, name)
        start = _reset(env, name)
        faults = _reset_faults(env, start, obey)
        faults += _step_faults(env, name, start, obey, faults)
    if faults:
        listed = "\n".join(f"  {fault}" for fault in faults)
        of_dm_env = any(fault.got == TIME_STEP for fault in faults)
        remedy = OLD if any(fault.old for fault in faults) and not of_dm_env else ""
        raise EnvError(
            "{name} does not follow the Gymnasium API{remedy}:\n{listed}", name=name, remedy=remedy, listed=listed
        )
    return obey and masks.mask_in(*start) is not None


def first_action(space: Space, mask: Any = None) -> Any:
    """Returns a deterministic action: the lowest legal number, or the point nearest to 0 within the bounds."""
    if isinstance(space, Dict | Tuple):
        composite = Composite(space)
        flat = composite.encode(_nearest_to_zero(space))
        if mask is not None:
            flat = composite.choices.amended(flat, masks.legal(mask, space))
        return composite.decode(flat[None])[0]
    if isinstance(space, Box):
        return np.clip(np.zeros(space.shape, space.dtype), space.low, space.high)
    if isinstance(space, Discrete):
        return np.int64(space.start + (0 if mask is None else np.argmax(mask)))
    lowest: Any = np.zeros(space.shape or (), space.dtype)
    if isinstance(space, MultiDiscrete):
        lowest = space.start.copy()
    if mask is None:
        return lowest
    first = masks.choices(space).amended((lowest - lowest).reshape(-1), masks.legal(mask, space))
    return lowest + first.reshape(lowest.shape)


def _nearest_to_zero(space: Space) -> Any:
    match space:
        case Dict():
            return {key: _nearest_to_zero(part) for key, part in space.spaces.items()}
        case Tuple():
            return tuple(map(_nearest_to_zero, space.spaces))
    return first_action(space)


def _space_faults(env: gymnasium.Env) -> Iterator[Fault]:
    for field in ("observation_space", "action_space"):
        space = getattr(env, field, None)
        if not isinstance(space, Space):
            value = tr("nothing") if space is None else f"{type(space).__module__}.{type(space).__name__}"
            remedy = (
                tr("Set self.{field} in __init__.", field=field)
                if space is None
                else tr("Import it from gymnasium, not from gym.")
            )
            yield Fault(field, tr("a space of gymnasium.spaces"), value, remedy)


def _refuse_spaces(env: gymnasium.Env, name: str) -> None:
    try:
        Observations(env.observation_space)
        Actions(env.action_space)
    except EnvError as error:
        raise EnvError(f"{name}: {error}") from None


def _signature_faults(core: Any) -> Iterator[Fault]:
    calls = {
        "reset": tr("Write def reset(self, *, seed=None, options=None); it returns obs, info."),
        "step": tr("Write def step(self, action); it returns obs, reward, terminated, truncated, info."),
    }
    for call, mend in calls.items():
        if getattr(type(core), call) is getattr(gymnasium.Env, call) and call not in vars(core):
            yield Fault(call, tr("a method of the class"), tr("none"), mend)
    parameters = inspect.signature(core.reset).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    missing = [key for key in ("seed", "options") if key not in parameters]
    if missing:
        yield Fault(
            "reset",
            tr("the arguments seed and options"),
            tr("no {missing}", missing=tr(" and no ").join(missing)),
            tr(
                "Since gym 0.26: def reset(self, *, seed=None, options=None), and super().reset(seed=seed) in its body."
            ),
            old=True,
        )


def _old_forms(core: Any) -> list[Fault]:
    """Returns what else is wrong with an environment whose reset takes no seed. Its values are not looked at: they are
    not those behind its wrappers, which give one."""
    faults: list[Fault] = []
    with contextlib.suppress(Exception):
        faults += _reset_form(core.reset())
        faults += _step_form(core.step(first_action(core.action_space)))
    return faults


def _reset(env: gymnasium.Env, name: str) -> Any:
    try:
        return env.reset(seed=0)
    except (Exception, SystemExit) as error:
        place = tr("{name} failed in its first reset", name=name)
        result = _again(lambda: env.unwrapped.reset(seed=0), error, place)
        if not list(_reset_form(result)):
            raise _failure(place, error) from error
        return result


def _reset_faults(env: gymnasium.Env, result: Any, obey: bool) -> list[Fault]:
    faults = list(_reset_form(result)) or list(
        value_faults(env.observation_space, result[0], tr("{field} of {call}", field="obs", call="reset"))
    )
    if obey and not faults:
        faults = list(_mask_faults(env.action_space, masks.mask_in(*result), "reset"))
    return faults


def _step_faults(env: gymnasium.Env, name: str, start: Any, obey: bool, before: list[Fault]) -> list[Fault]:
    """Returns the faults of a step, except those that the reset has too. before: faults of the reset, after which a
    step may fail for the same reasons."""
    try:
        faults = _faults_of_a_step(env, name, start, obey, not before)
    except EnvError:
        if not before:
            raise
        return []
    reported = {(fault.expected, fault.mend) for fault in before}
    return [fault for fault in faults if (fault.expected, fault.mend) not in reported]


def _faults_of_a_step(env: gymnasium.Env, name: str, start: Any, obey: bool, well_begun: bool) -> list[Fault]:
    mask = None if list(_reset_form(start)) else masks.mask_in(*start)
    action = first_action(env.action_space, None if list(_mask_faults(env.action_space, mask, "reset")) else mask)
    place = tr("{name} failed in its first step (action {action})", name=name, action=action)
    try:
        result = env.step(action)
    except (Exception, SystemExit) as error:
        result = _again(lambda: env.unwrapped.step(action), error, place)
        faults = list(_step_form(result))
        if not faults:
            raise _failure(place, error) from error
        return faults
    faults = list(_step_form(result))
    if faults:
        return faults
    obs, reward, terminated, truncated, info = result
    faults = [
        *value_faults(env.observation_space, obs, tr("{field} of {call}", field="obs", call="step")),
        *_reward_faults(reward),
    ]
    for field, flag in (("terminated", terminated), ("truncated", truncated)):
        if not isinstance(flag, bool | np.bool_):
            faults.append(Fault(field, tr("True or False"), _kind(flag), tr("Return bool({field}).", field=field)))
    if not isinstance(info, dict):
        faults.append(
            Fault(
                tr("{field} of {call}", field="info", call="step"),
                tr("a dict"),
                _kind(info),
                tr("Return {} when there is nothing to say."),
            )
        )
    elif obey and well_begun and not faults:
        faults += _later_mask_faults(env.action_space, mask, masks.mask_in(obs, info), bool(terminated or truncated))
    return faults


def _later_mask_faults(space: Space, first: Any, later: Any, over: bool) -> Iterator[Fault]:
    if first is None and later is not None:
        yield Fault(
            tr("{field} of {call}", field=masks.KEY, call="reset"),
            tr("one like that of step"),
            tr("none"),
            tr("The first action needs it too."),
        )
    elif not (over and later is not None and (not isinstance(space, Discrete) or not np.any(later))):
        yield from _mask_faults(space, later, "step")


def _mask_faults(space: Space, mask: Any, where: str) -> Iterator[Fault]:
    field, ignore = tr("{field} of {call}", field=masks.KEY, call=where), tr("env_cfg.action_mask: false ignores it.")
    if mask is None:
        return
    if not isinstance(space, Discrete):
        yield from _mask_faults_of_parts(space, mask, field, ignore)
        return
    numbers = _numbers(mask)
    if numbers.shape != (space.n,) or not np.isin(numbers, (0, 1)).all():
        expected = tr("{n} numbers 0 or 1, one for each action", n=space.n)
        yield Fault(field, expected, _kind(mask), tr("Say 1 where an action is legal; {ignore}", ignore=ignore))
    elif not numbers.any():
        yield _nothing_legal(field, tr("a legal action"), ignore)


def _mask_faults_of_parts(space: Space, mask: Any, field: str, ignore: str) -> Iterator[Fault]:
    if not masks.choices(space).entries:
        yield Fault(
            field,
            tr("actions that are chosen from a few"),
            str(space),
            tr("Masks are for numbered actions only; {ignore}", ignore=ignore),
        )
        return
    try:
        bools = masks.legal(mask, space)
    except EnvError as error:
        form = tr("Give it as space.sample(mask) of gymnasium takes it, or as one array; {ignore}", ignore=ignore)
        yield Fault(field, tr("a mask of {space}", space=space), str(error), form)
        return
    if masks.choices(space).stuck(bools).any():
        yield _nothing_legal(field, tr("a legal value of each number"), ignore)


def _nothing_legal(field: str, expected: str, ignore: str) -> Fault:
    mend = tr("Only after the end of an episode may all be 0; {ignore}", ignore=ignore)
    return Fault(field, expected, tr("0 everywhere"), mend)


def _numbers(value: Any) -> np.ndarray:
    """Returns the value as a float array; empty if it cannot be converted."""
    try:
        return np.asarray(value, float)
    except (TypeError, ValueError, OverflowError):
        return np.zeros(0)


def _again(call: Any, error: BaseException, place: str) -> Any:
    """Calls the unwrapped environment: a wrapper that unpacks a wrong result hides what was wrong."""
    try:
        return call()
    except (Exception, SystemExit):
        raise _failure(place, error) from error


def _failure(place: str, error: BaseException) -> EnvError:
    return EnvError(f"{place}: {described(error)}")


def _is_time_step(result: Any) -> bool:
    """Returns True for what reset and step of dm_env return."""
    return hasattr(result, "step_type") and hasattr(result, "observation")


def _reset_form(result: Any) -> Iterator[Fault]:
    if _is_time_step(result):
        yield Fault("reset", "(obs, info)", TIME_STEP, tr("Return time_step.observation, {}."))
    elif isinstance(result, tuple) and len(result) == 2 and result[1] is None:
        field = tr("{field} of {call}", field="info", call="reset")
        yield Fault(field, tr("a dict"), "None", tr("Return {} when there is nothing to say."))
    elif result is None:
        yield Fault("reset", "(obs, info)", "None", tr("End it with return obs, {}."))
    elif not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict)):
        yield Fault("reset", "(obs, info)", _kind(result), tr("Since gym 0.26: return obs, {}."), old=True)


def _step_form(result: Any) -> Iterator[Fault]:
    if isinstance(result, tuple) and len(result) == 5:
        return
    five = tr("5 values (obs, reward, terminated, truncated, info)")
    if _is_time_step(result):
        mend = tr(
            "Return obs, reward, terminated, truncated, info; its last() is a termination with a discount of 0, and a "
            "truncation with another one."
        )
        yield Fault("step", five, TIME_STEP, mend)
        return
    mend = tr("Return obs, reward, terminated, truncated, info.")
    if old := isinstance(result, tuple) and len(result) == 4:
        mend = tr(
            "This is the old gym step with done: return obs, reward, terminated, truncated, info, "
            "with terminated for the end of the task and truncated for a time limit."
        )
    yield Fault("step", five, _kind(result), mend, old)


def _reward_faults(reward: Any) -> Iterator[Fault]:
    """Yields a fault unless the reward is a finite Python or numpy number, or a zero-dimensional array."""
    number = isinstance(reward, bool | int | float | np.number | np.bool_)
    if not number and not (isinstance(reward, np.ndarray) and reward.ndim == 0):
        yield Fault(
            "reward", tr("a number"), _kind(reward), tr("Return float(reward), for an array of one float(reward[0]).")
        )
    elif not np.isfinite(_numbers(reward)).any():  # empty for one that float64 cannot hold
        yield Fault("reward", tr("a finite number"), str(reward), tr("Clip it, or leave the reason for it out."))


def value_faults(space: Space, value: Any, field: str) -> Iterator[Fault]:
    if isinstance(space, Dict | Tuple):
        yield from _nested_faults(space, value, field)
    elif isinstance(space, Discrete):
        if not space.contains(value):
            last = space.start + space.n - 1
            yield Fault(
                field,
                tr("a whole number {start} to {last}", start=space.start, last=last),
                _kind(value),
                tr("Return int(obs)."),
            )
    elif isinstance(space, Box | MultiDiscrete | MultiBinary):
        yield from _array_faults(space, value, field)


def _nested_faults(space: Any, value: Any, field: str) -> Iterator[Fault]:
    named = isinstance(space, Dict)
    keys: list[Any] = list(space.spaces) if named else list(range(len(space.spaces)))
    have = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, tuple) else None
    if isinstance(value, dict) is not named or have is None or set(have) != set(keys):
        expected = tr("a dict with the keys {keys}", keys=keys) if named else tr("a tuple of {count}", count=len(keys))
        got = tr("a dict with the keys {keys}", keys=have) if isinstance(value, dict) else _kind(value)
        yield Fault(field, expected, got, tr("Make the observation and observation_space agree."))
        return
    for key in keys:
        yield from value_faults(space.spaces[key], value[key], f"{field}[{key!r}]")


def _array_faults(space: Any, value: Any, field: str) -> Iterator[Fault]:
    expected = tr("an array of {dtype} with shape {shape}", dtype=space.dtype, shape=space.shape)
    if isinstance(value, dict):
        mend = tr("Several agents need possible_agents, observation_space(agent) and action_space(agent)")
        yield Fault(
            field,
            expected,
            tr("a dict with the keys {keys}", keys=[*value])[:80],
            tr("{mend}, or joystick.OldGym(env) around it.", mend=mend),
        )
        return
    is_array = isinstance(value, np.ndarray | np.number | np.bool_)
    array = np.asarray(value) if is_array else _numbers(value)
    if not is_array:
        yield Fault(field, expected, _kind(value), tr("Return np.asarray(obs, dtype=np.{dtype}).", dtype=space.dtype))
    elif array.shape != space.shape:
        yield Fault(
            field,
            expected,
            tr("shape {shape}", shape=value.shape),
            tr("Make the observation and observation_space agree."),
        )
    elif not np.can_cast(array.dtype, space.dtype, "same_kind"):
        yield Fault(field, expected, f"{array.dtype}", tr("Return obs.astype(np.{dtype}).", dtype=space.dtype))
    if array.shape == space.shape and array.dtype.kind in "biuf":
        yield from _number_faults(space, array, field)


def _number_faults(space: Any, array: np.ndarray, field: str) -> Iterator[Fault]:
    wrong = ~np.isfinite(array)
    if wrong.any():
        got = f"{array[wrong][0]}{_where(wrong)}"
        yield Fault(field, tr("finite values"), got, tr("Learning cannot go on from it: find where it comes from."))
    elif (large := np.abs(array) > np.finfo(np.float32).max).any():
        got = f"{array[large][0]}{_where(large)}"
        yield Fault(field, tr("values that float32 holds, up to 3.4e38"), got, tr("Scale or clip the observation."))
    elif isinstance(space, Box):
        yield from _bound_faults(space, array, field)


def _bound_faults(space: Box, value: np.ndarray, field: str) -> Iterator[Fault]:
    # rounding the bounds to float32 is not a fault
    slack = 1e-5 * np.maximum(1.0, np.abs(value.astype(np.float64)))
    outside = (value < space.low - slack) | (value > space.high + slack)
    if outside.any():
        low, high = space.low[outside][0], space.high[outside][0]
        yield Fault(
            field,
            tr("values from {low} to {high}", low=low, high=high),
            f"{value[outside][0]}{_where(outside)}",
            tr("Clip the observation, or widen observation_space to what it can be."),
        )


def _where(wrong: np.ndarray) -> str:
    return tr(" at index {index}", index=tuple(int(i) for i in np.argwhere(wrong)[0])) if wrong.ndim else ""


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return tr("an array of {dtype} with shape {shape}", dtype=value.dtype, shape=value.shape)
    if isinstance(value, tuple):
        return tr("a tuple of {count}", count=len(value))
    return f"{type(value).__name__} {value!r}"[:80]
