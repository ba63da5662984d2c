"""Loops that train a policy: collect, learn, and test after each epoch."""

import time
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

from config.tell.arguments import with_hints
from config.tell.language import tr
from framework.data.absent_names import ARGUMENTS
from framework.data.buffer import ReplayBuffer
from framework.data.collector import Collector
from framework.data.policy import Policy, means
from framework.data.settings import whole
from framework.errors import JoystickError

Hook = Callable[[int, int], Any]
"""Gets the number of the epoch, from 1, and the environment steps so far."""


@with_hints(ARGUMENTS)
def offpolicy_trainer(
    policy: Policy,
    train: Collector,
    test: Collector,
    max_epoch: int,
    step_per_epoch: int,
    step_per_collect: int,
    episode_per_test: int,
    batch_size: int,
    update_per_step: float = 1.0,
    train_fn: Hook | None = None,
    test_fn: Hook | None = None,
    stop_fn: Callable[[float], bool] | None = None,
    save_fn: Callable[[Policy], Any] | None = None,
    test_in_train: bool = False,
    show: bool = False,
) -> dict[str, Any]:
    """Trains from a replay buffer: update_per_step updates, each from batch_size samples, for each collected step.

    train_fn and test_fn are called before each collection and each test, save_fn with every policy that tests better
    than those before it. stop_fn gets the mean return of a test and ends the training if it gives True; with
    test_in_train, a collection whose episodes satisfy it leads to a test at once. show: print a line per epoch.
    """
    whole("batch_size", batch_size)
    if not isinstance(update_per_step, Real) or update_per_step < 0:
        raise JoystickError("update_per_step: got {value!r}; expected a number, at least 0", value=update_per_step)
    owed = 0.0

    def learn(steps: int) -> list[dict[str, float]]:
        nonlocal owed
        owed += steps * update_per_step
        count = int(owed + 1e-9)  # 10 * 0.1 is one update, however it is rounded
        owed -= count
        return [policy.update(batch_size, buffer) for _ in range(count)]

    buffer, amount = _buffer_of(train), {"n_step": step_per_collect}
    hooks = _Hooks(policy, test, episode_per_test, train_fn, test_fn, stop_fn, save_fn, test_in_train, show)
    return _train(policy, train, hooks, amount, learn, max_epoch, step_per_epoch)


@with_hints(ARGUMENTS)
def onpolicy_trainer(
    policy: Policy,
    train: Collector,
    test: Collector,
    max_epoch: int,
    step_per_epoch: int,
    repeat_per_collect: int,
    episode_per_test: int,
    batch_size: int | None,
    step_per_collect: int | None = None,
    episode_per_collect: int | None = None,
    train_fn: Hook | None = None,
    test_fn: Hook | None = None,
    stop_fn: Callable[[float], bool] | None = None,
    save_fn: Callable[[Policy], Any] | None = None,
    test_in_train: bool = False,
    show: bool = False,
) -> dict[str, Any]:
    """Trains from fresh transitions: after each collection, learns from all of them repeat_per_collect times in
    minibatches of at most batch_size (None: all at once), and empties the buffer. The hooks are those of
    offpolicy_trainer."""
    whole("repeat_per_collect", repeat_per_collect)
    if batch_size is not None:
        whole("batch_size", batch_size)

    def learn(steps: int) -> list[dict[str, float]]:
        result = policy.update(0, buffer, batch_size, repeat_per_collect)
        train.reset_buffer()
        return [result]

    buffer, amount = _buffer_of(train), {"n_step": step_per_collect, "n_episode": episode_per_collect}
    hooks = _Hooks(policy, test, episode_per_test, train_fn, test_fn, stop_fn, save_fn, test_in_train, show)
    return _train(policy, train, hooks, amount, learn, max_epoch, step_per_epoch)


def _buffer_of(train: Collector) -> ReplayBuffer:
    """Returns what is learned from. Raises JoystickError if there is none."""
    if not isinstance(train, Collector):
        raise JoystickError("train: got {value!r}; expected a Collector with a buffer", value=train)
    if train.buffer is None:
        raise JoystickError("the train collector has no buffer; give it one: Collector(policy, env, buffer)")
    return train.buffer


class _Hooks:
    """Tests the policy, and keeps the best result."""

    def __init__(
        self,
        policy: Policy,
        test: Collector,
        episodes: int,
        train_fn: Hook | None,
        test_fn: Hook | None,
        stop_fn: Callable[[float], bool] | None,
        save_fn: Callable[[Policy], Any] | None,
        test_in_train: bool,
        show: bool,
    ) -> None:
        if not isinstance(test, Collector):
            raise JoystickError("test: got {value!r}; expected a Collector, such as Collector(policy, env)", value=test)
        functions = {"train_fn": train_fn, "test_fn": test_fn, "stop_fn": stop_fn, "save_fn": save_fn}
        for name, function in functions.items():
            if not callable(function) and function is not None:
                raise JoystickError("{name}: got {value!r}; expected a function", name=name, value=function)
        self.policy, self.collector, self.episodes, self.show = policy, test, episodes, show
        self.before_collect = train_fn or (lambda epoch, step: None)
        self.before_test = test_fn or (lambda epoch, step: None)
        self.stops = stop_fn or (lambda mean: False)
        self.save = save_fn or (lambda policy: None)
        self.in_train = test_in_train
        self.tests: list[dict[str, Any]] = []
        self.best: dict[str, Any] | None = None
        self.stopped = False

    def test(self, epoch: int, step: int) -> bool:
        """Tests the policy on the same episodes as always. Returns True if the training is to end."""
        self.before_test(epoch, step)
        self.collector.reset_env()
        result = self.collector.collect(n_episode=self.episodes, testing=True)
        score = {"epoch": epoch, "step": step, "rew": result["rew"], "rew_std": float(result["rews"].std())}
        self.tests.append(score)
        if self.best is None or score["rew"] > self.best["rew"]:
            self.best = score
            self.save(self.policy)
        self.stopped = bool(self.stops(score["rew"]))
        return self.stopped

    def good_enough(self, collected: dict[str, Any], epoch: int, step: int) -> bool:
        """Returns True if the episodes of a collection, and then the episodes of a test, satisfy stop_fn."""
        if not (self.in_train and collected["n/ep"] and self.stops(collected["rew"])):
            return False
        return self.test(epoch, step)


def _train(
    policy: Policy,
    train: Collector,
    hooks: _Hooks,
    amount: Mapping[str, Any],
    learn: Callable[[int], list[dict[str, float]]],
    max_epoch: int,
    step_per_epoch: int,
) -> dict[str, Any]:
    """Collects, learns and tests until the last epoch, or until a test satisfies stop_fn. Returns what became of it."""
    whole("max_epoch", max_epoch), whole("step_per_epoch", step_per_epoch)
    begin, step, episode, learned, total = time.monotonic(), 0, 0, list[dict[str, float]](), max_epoch * step_per_epoch
    for epoch in range(1, max_epoch + 1):
        results = []
        while step < epoch * step_per_epoch and not hooks.stopped:
            hooks.before_collect(epoch, step)
            policy.fraction = min(1.0, step / total)
            collected = train.collect(**amount, testing=False)
            step, episode = step + collected["n/st"], episode + collected["n/ep"]
            if not hooks.good_enough(collected, epoch, step):
                results += learn(collected["n/st"])
        learned = results or learned
        stop = hooks.stopped or hooks.test(epoch, step)
        if hooks.show:
            test = hooks.tests[-1]
            print(
                tr(
                    "epoch {epoch}: step {step}, episode {episode}, test {mean:.2f} ± {deviation:.2f}",
                    epoch=epoch,
                    step=step,
                    episode=episode,
                    mean=test["rew"],
                    deviation=test["rew_std"],
                )
            )
        if stop:
            break
    best = hooks.best or {"rew": float("nan"), "rew_std": float("nan"), "epoch": 0}
    return _Result(
        train_step=step,
        train_episode=episode,
        updates=policy.updates,
        metrics=means(learned),
        tests=hooks.tests,
        best_reward=best["rew"],
        best_reward_std=best["rew_std"],
        best_epoch=best["epoch"],
        stopped=hooks.stopped,
        seconds=time.monotonic() - begin,
    )


class _Result(dict[str, Any]):
    """The result of a training. An entry that it lacks, such as one of Tianshou's, is answered with those it has."""

    def __missing__(self, name: str) -> Any:
        raise KeyError(tr("the result has no {name!r}; it has {names}", name=name, names=", ".join(self)))
