"""Samples of whole dialogues, played in this process or in several."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from framework.data.batch import Batch
from framework.data.settings import whole
from framework.dialog.processes import run_in
from framework.errors import JoystickError
from framework.seeding import number, one_thread, stream

MOST_PROCESSES = 1024
GUESS = 5
"""Length of a dialogue in exchanges, before one was played."""
KEY = "action_mask"


class Steps(NamedTuple):
    """The steps of a dialogue as lists."""

    state: list[Any]
    action: list[Any]
    reward: list[float]
    mask: list[float]
    next_state: list[Any]
    legal: list[Any]
    """Masks of legal actions; empty without any."""


def sample(env: Any, policy: Any, batchsz: int, process_num: int = 1, *, seed: int | None = None) -> Batch:
    """Returns at least batchsz steps of whole dialogues: state [n, ...], action [n, ...], reward [n], mask [n] (0 where
    a dialogue ends), next_state and, where the environment has one, action_mask. process_num processes play, each with
    copies of environment and policy; the result does not depend on their number. seed: of the sample; None: another one
    in each call."""
    least, processes = whole("sample: batchsz", batchsz), whole("sample: process_num", process_num, most=MOST_PROCESSES)
    if not isinstance(env, gymnasium.Env):
        raise JoystickError(
            "sample: env: got {env!r}; expected an environment, such as joystick.dialog.Environment(...)", env=env
        )
    if not callable(getattr(policy, "act", getattr(policy, "predict", None))):
        raise JoystickError(
            "sample: policy: got {policy!r}; expected PPO(True), or an object with predict(state)", policy=policy
        )
    if hasattr(policy, "bind"):
        policy.bind(env)
    seed = _next_seed(env) if seed is None else whole("sample: seed", seed, least=0, most=2**63 - 1)
    return _joined(_enough(env, policy, least, processes, seed))


def _next_seed(env: Any) -> int:
    """Returns the number of the samples so far from an environment."""
    env.samples = getattr(env, "samples", -1) + 1
    return int(env.samples)


def _enough(env: Any, policy: Any, least: int, processes: int, seed: int) -> list[Steps]:
    """Returns the dialogues 0, 1, 2 ... of a sample, as few as have this many steps. So the dialogues are the same,
    however many processes play them."""
    played: list[Steps] = []
    count = 0
    while count < least:
        mean = count / len(played) if played else GUESS
        ahead = max(processes, int(np.ceil((least - count) / mean)))
        played += _play(env, policy, range(len(played), len(played) + ahead), processes, seed)
        lengths = np.cumsum([len(steps.reward) for steps in played])
        count = int(lengths[-1])
    return played[: int(np.searchsorted(lengths, least)) + 1]


def _play(env: Any, policy: Any, numbers: range, processes: int, seed: int) -> list[Steps]:
    """Returns the dialogues of these numbers, in their order."""
    if processes == 1:
        return dialogues(env, policy, numbers, seed)
    shares = [numbers[first::processes] for first in range(processes)]
    parts = run_in(processes, dialogues, [(env, policy, share, seed) for share in shares])
    by_number = {
        k: steps for share, part in zip(shares, parts, strict=True) for k, steps in zip(share, part, strict=True)
    }
    return [by_number[k] for k in numbers]


def dialogues(env: Any, policy: Any, numbers: Sequence[int], seed: int) -> list[Steps]:
    """Plays dialogues one after the other; each is a function of the seed and its number."""
    with one_thread():
        return [_dialogue(env, policy, seed, k) for k in numbers]


def _dialogue(env: Any, policy: Any, seed: int, k: int) -> Steps:
    steps, rng = Steps([], [], [], [], [], []), stream(seed, "dialogue actions", k)
    obs, info = env.reset(seed=number(seed, "dialogue", k))
    end = False
    while not end:
        legal = info.get(KEY)
        action = policy.act(obs, legal, rng) if hasattr(policy, "act") else policy.predict(obs)
        after, reward, terminated, truncated, info = env.step(action)
        end = bool(terminated or truncated)
        for column, value in zip(steps, (obs, action, float(reward), float(not end), after), strict=False):
            column.append(value)
        if legal is not None:
            steps.legal.append(legal)
        obs = after
    return steps


def _joined(played: list[Steps]) -> Batch:
    columns = {name: [value for steps in played for value in getattr(steps, name)] for name in Steps._fields}
    legal = columns.pop("legal")
    batch = Batch(
        {
            name: np.asarray(values, np.float32) if name in ("reward", "mask") else np.stack(values)
            for name, values in columns.items()
        }
    )
    if legal:
        batch[KEY] = np.stack(legal).astype(bool)
    return batch
