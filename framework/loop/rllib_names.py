"""The result of an iteration under RLlib's names, beside ours (general_cfg.result_names: rllib)."""

from typing import Any

from config.tell.language import tr
from framework.loop.iteration import Result

NAMES = {
    "training_iteration": "iteration",
    "timesteps_total": "step",
    "episodes_total": "episode",
    "episodes_this_iter": "episodes_this_iteration",
    "episode_reward_mean": "return_mean",
    "episode_reward_min": "return_min",
    "episode_reward_max": "return_max",
    "episode_len_mean": "length_mean",
    "time_this_iter_s": "seconds",
    "time_total_s": "seconds_total",
    "custom_metrics": "custom",
}
"""RLlib's name -> ours."""
_OF_POLICIES = ("mean", "min", "max")


class Figures(dict[str, Any]):
    """The result of an iteration. A figure of RLlib's name that it lacks is answered with the setting that adds it."""

    def __missing__(self, name: str) -> Any:
        if name in _ADDED:
            sentence = tr(
                "the result has no {name!r}; with general_cfg={{'result_names': 'rllib'}} it has RLlib's names, too",
                name=name,
            )
            raise KeyError(sentence)
        raise KeyError(name)


def added(result: Result, steps_before: int) -> Result:
    """Returns a result with its entries under RLlib's names too. steps_before: environment steps before the
    iteration."""
    return {
        **result,
        **{theirs: result[ours] for theirs, ours in NAMES.items()},
        "timesteps_this_iter": result["step"] - steps_before,
        **{f"policy_reward_{word}": _returns(result, word) for word in _OF_POLICIES},
        "info": {"learner": _by_policy(result), "num_steps_sampled": result["step"], "num_updates": result["update"]},
    }


def _returns(result: Result, word: str) -> dict[str, float]:
    """Returns a figure of the returns of each policy, of those that have one."""
    returns = {policy: its[f"return_{word}"] for policy, its in result["policies"].items()}
    return {policy: value for policy, value in returns.items() if value is not None}


def _by_policy(result: Result) -> dict[str, dict[str, float]]:
    """Returns the metrics of each policy; of default_policy without several."""
    if not result["policies"]:
        return {"default_policy": dict(result["metrics"])}
    return {
        policy: {
            name.removeprefix(f"{policy}/"): value
            for name, value in result["metrics"].items()
            if name.startswith(f"{policy}/")
        }
        for policy in result["policies"]
    }


_EMPTY: Result = {**dict.fromkeys((*NAMES.values(), "update"), 0), "policies": {}, "metrics": {}}
_ADDED = added(_EMPTY, 0).keys() - _EMPTY.keys()
"""All names that `added` adds."""
