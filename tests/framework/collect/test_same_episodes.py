"""An environment whose episodes do not follow from their seeds is told of, since its scores and its run cannot be
repeated."""

import json
import random
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from main import main


class Drawn(gymnasium.Env):
    """Twenty steps that begin at a number, and lead to others, with a reward at the end. source: what draws them."""

    observation_space = gymnasium.spaces.Box(0, 1, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, start: str = "seed", end: str = "seed", late: str = "seed") -> None:
        self._start, self._end, self._late, self._kept = start, end, late, 1.0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._steps = 0
        return self._drawn(self._start), {}

    def step(self, action: Any) -> Any:
        self._steps += 1
        reward = float(self._drawn(self._late)[0]) if self._steps == 20 else 1.0
        return self._drawn(self._end), reward, self._steps == 20, False, {}

    def _drawn(self, source: str) -> np.ndarray:
        if source == "kept":  # goes on from the episode before
            self._kept = self._kept * 0.9
            return np.array([self._kept], np.float32)
        number = {"seed": self.np_random.random, "program": random.random}[source]()
        return np.array([number], np.float32)


@pytest.mark.parametrize("source", ["start=program", "end=program", "late=program", "start=kept", ""])
def test_a_run_whose_seeds_do_not_decide_its_episodes_says_that_it_cannot_be_repeated(
    source: str, tmp_path: Path
) -> None:
    words = [f"general_cfg.{word}" for word in ("max_total_step=64", "online_eval_episode=3", "max_episode=-1")]
    words += ["algo_cfg.batch_size=64", *([f"env_cfg.{source}"] if source else [])]
    exact = not source
    folder = tmp_path / "x"
    env = f"{__name__}:Drawn"
    assert main(["--algo", "PPO", "--env", env, "--allow-import", "tests", "--into", str(folder), *words]) == 0
    verdict = json.loads((folder / "run.json").read_text(encoding="utf-8"))["repeatable"]
    assert verdict["exact"] == exact
    assert ("the environment draws random numbers" in "".join(verdict["inexact_because"])) != exact
    said = (folder / "logs" / "log.txt").read_text(encoding="utf-8")
    assert said.count("draw from self.np_random alone, and set all that changes in reset") == (not exact)
