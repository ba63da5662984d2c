"""The numbers that an environment gives an episode, such as its success."""

from collections.abc import Mapping
from math import isfinite
from numbers import Real

import numpy as np

from envs.base import EnvError, VectorEnv
from framework.collect.fragment import Episode, Recorder


class EpisodeNumbers(Recorder):
    """Reads VectorEnv.metrics from the info of the last step of each episode."""

    def end(self, episode: Episode, env: VectorEnv) -> Mapping[str, float]:
        info = env.info(episode.row)
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
        return {name: float(value) for name, value in metrics.items()}
