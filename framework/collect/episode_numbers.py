"""The numbers that an environment gives an episode, such as its success."""

from collections.abc import Mapping
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from config.tell.language import tr
from config.tell.names import nearest
from envs.base import EnvError, VectorEnv
from framework.collect.fragment import Episode, Recorder
from framework.log import LOGGER

_MISSED: set[str] = set()
"""Names that an info of this process has lacked, each of which is looked at once."""


class EpisodeNumbers(Recorder):
    """Reads VectorEnv.metrics from the info of the last step of each episode."""

    def end(self, episode: Episode, env: VectorEnv) -> Mapping[str, float]:
        info = env.info(episode.row)
        if env.joint is not None:
            info = _of_all_agents(info)
        metrics = {name: info[name] for name in env.metrics if info.get(name) is not None}
        for name, value in metrics.items():
            if not isinstance(value, Real | np.bool_) or not isfinite(value):
                raise EnvError(
                    "the environment declares metrics, and info[{name!r}] is {value!r} at the end of "
                    "an episode (seed {seed}); a finite number is needed, or none where it is "
                    "undefined",
                    name=name,
                    value=value,
                    seed=episode.seed,
                )
        for name in set(env.metrics) - info.keys() - _MISSED:
            _MISSED.add(name)
            if (near := nearest(name, [key for key in info if key not in env.metrics])) is not None:
                LOGGER.warning(
                    tr(
                        "the environment declares the metric %r, which info does not have at the end of an episode; "
                        "it has %r, which is written nowhere"
                    ),
                    name,
                    near,
                )
        return {name: float(value) for name, value in metrics.items()}


def _of_all_agents(infos: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what the infos of the agents have; of several, the first agent's that is not None counts."""
    merged: dict[str, Any] = {}
    for info in infos.values():
        for name, value in (info or {}).items():
            if merged.get(name) is None:
                merged[name] = value
    return merged
