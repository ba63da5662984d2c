"""Stop rules: which limit of a run is reached, and where it pauses."""

from collections.abc import Callable, Mapping
from math import ceil
from typing import NamedTuple

from config.config import RUN_LIMITS, GeneralConfig
from framework.disk.task_dir import PAUSED
from framework.loop.iteration import Count


class Training(NamedTuple):
    """Progress of a run towards its limits."""

    amount: Count
    iterations: int
    """Number of complete iterations."""
    seconds: float
    """Seconds of training over all sessions."""
    good_evaluations: int
    """Number of consecutive evaluations at or above reward_threshold."""
    last_return: float | None
    """Mean return of the last complete iteration."""

    def towards(self, limit: str) -> float:
        """Returns how far training has come to a limit of this name, in its unit."""
        match limit:
            case "max_episode":
                return self.amount.episode
            case "max_total_step":
                return self.amount.step
            case "max_update":
                return self.amount.update
            case "max_iteration":
                return self.iterations
        return self.seconds


def as_much_again(limits: Mapping[str, float], reached: Mapping[str, float]) -> str:
    """Returns the settings that train as long again after the limits that are met; empty if none is."""
    met = [(name, limit + reached[name]) for name, limit in limits.items() if limit <= reached[name]]
    return " ".join(f"general_cfg.{name}={ceil(value)}" for name, value in met)


class StopRules:
    """The limits of a run, in the order in which they are looked at."""

    def __init__(self, cfg: GeneralConfig, interrupted: Callable[[], bool], pause_at: int | None) -> None:
        """interrupted: returns True if the run was asked to stop. pause_at: environment step at which training pauses,
        on which no schedule depends."""
        self.cfg, self.interrupted, self.pause_at = cfg, interrupted, pause_at
        self.limits = {name: value for name in RUN_LIMITS if (value := getattr(cfg, name)) > 0}

    def reason(self, training: Training) -> str | None:
        """Returns why training does not continue, as a sentence; None to continue."""
        if self.interrupted():
            return "interrupted"
        step = training.amount.step
        return self._rule_met(training) or (f"{PAUSED} {step}" if self._at_pause(training) else None)

    def paused(self, training: Training) -> bool:
        """Returns True at the step at which training pauses, unless a stop rule has ended the run by then."""
        return self._at_pause(training) and self._rule_met(training) is None

    def _at_pause(self, training: Training) -> bool:
        return self.pause_at is not None and training.amount.step >= self.pause_at

    def _rule_met(self, training: Training) -> str | None:
        """Returns the first stop rule that is met, as a sentence."""
        cfg, last_return = self.cfg, training.last_return
        for name, limit in self.limits.items():
            if limit <= training.towards(name):
                return f"{name} {f'{limit:g} s' if name == 'max_time' else limit} reached"
        if cfg.reward_threshold is not None and training.good_evaluations >= cfg.reward_threshold_limit:
            return f"reward_threshold {cfg.reward_threshold:g} reached"
        if cfg.stop_return is not None and last_return is not None and last_return >= cfg.stop_return:
            return f"stop_return {cfg.stop_return:g} reached"
        return None

    def as_much_again(self, training: Training) -> str:
        """Returns the settings that train as long again after the limits that are met; empty if none is."""
        return as_much_again(self.limits, {name: training.towards(name) for name in self.limits})
