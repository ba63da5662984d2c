"""Rows of envpool: environments of its own, written in C++, many of them under gymnasium's ids.

Their seeds are given when they are made. So each whole reset makes them anew, from the seeds of the rows' first
episodes, and later episodes of a row follow from its stream. The same run gives the same numbers, and a resume does
not, since an episode cannot be begun from a seed of its own.
"""

import warnings
from typing import Any

import numpy as np

from config.own import env_packages
from envs.base import Array
from envs.common.vector import Mode

INSTALL = "pip install envpool"


def name_of(env_id: str) -> str:
    """Returns envpool's id of an environment: Pong-v5 for ALE/Pong-v5, any other as it is."""
    return env_id.removeprefix("ALE/")


def ids() -> list[str]:
    """Returns the ids that envpool has."""
    names: list[str] = env_packages.load("envpool.registration").list_all_envs()
    return names


class Pool(Mode):
    """Rows are reset by a mask, before they would be reset by their next step."""

    replayable = False

    def __init__(self, env_id: str, rows: int, settings: dict[str, Any]) -> None:
        self._id, self._settings = name_of(env_id), settings
        super().__init__(self._made([0] * rows))

    def _made(self, seeds: list[int]) -> Any:
        make = env_packages.load("envpool").make
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the precision of bounds
            return make(self._id, env_type="gymnasium", num_envs=len(seeds), seed=seeds, **self._settings)

    def reset(self, mask: Array, seeds: Array) -> tuple[Any, dict[str, Any]]:
        if mask.all():
            self.env.close()
            self.env = self._made([int(seed) % (2**31 - 1) for seed in seeds])
            obs, infos = self.env.reset()
            return self.encode(obs), infos
        some, _ = self.env.reset(options={"reset_mask": np.array(mask, bool)})
        encoded = np.asarray(self.encode(some))
        obs = np.zeros((self.rows, *encoded.shape[1:]), encoded.dtype)
        obs[mask] = encoded
        return obs, {}
