"""Games of Procgen, by the ids of the package: procgen-coinrun-v0 and so on."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from config.own import env_packages
from envs.base import Array

GAMES = (
    "bigfish", "bossfight", "caveflyer", "chaser", "climber", "coinrun", "dodgeball", "fruitbot", "heist", "jumper",
    "leaper", "maze", "miner", "ninja", "plunder", "starpilot",
)  # fmt: skip


class Game(gymnasium.Env):
    """One game. The package draws levels from a seed that is given once, so each episode has a new game of its own.
    Its observation at the end of an episode belongs to the next one; the one before it is returned again."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}

    def __init__(
        self,
        env_name: str,
        num_levels: int = 0,
        start_level: int = 0,
        distribution_mode: str = "hard",
        use_backgrounds: bool = True,
        use_sequential_levels: bool = False,
        center_agent: bool = True,
        paint_vel_info: bool = False,
        use_generated_assets: bool = False,
        use_monochrome_assets: bool = False,
        restrict_themes: bool = False,
        render_mode: str | None = None,
    ) -> None:
        self.render_mode = render_mode
        self._settings = {
            "env_name": env_name,
            "num_levels": num_levels,
            "start_level": start_level,
            "distribution_mode": distribution_mode,
            "use_backgrounds": use_backgrounds,
            "use_sequential_levels": use_sequential_levels,
            "center_agent": center_agent,
            "paint_vel_info": paint_vel_info,
            "use_generated_assets": use_generated_assets,
            "use_monochrome_assets": use_monochrome_assets,
            "restrict_themes": restrict_themes,
            "render_mode": render_mode,
        }
        self._game: Any = None
        self._last = np.zeros((64, 64, 3), np.uint8)
        self.observation_space = Box(0, 255, (64, 64, 3), np.uint8)
        self.action_space = Discrete(15)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        self.close()
        level_seed = int(self.np_random.integers(2**31 - 1))
        self._game = env_packages.load("procgen").ProcgenGym3Env(num=1, rand_seed=level_seed, **self._settings)
        self._last = self._seen()[1]
        return self._last, {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        self._game.act(np.array([action], np.int32))
        reward, obs, first = self._seen()
        self._last = self._last if first else obs
        return self._last, reward, first, False, {}

    def _seen(self) -> tuple[float, Array, bool]:
        rewards, obs, first = self._game.observe()
        return float(rewards[0]), np.array(obs["rgb"][0]), bool(first[0])

    def render(self) -> Any:
        if self.render_mode is None:
            return None
        return np.array(self._game.get_info()[0]["rgb"])

    def close(self) -> None:
        if self._game is not None:
            self._game.close()
            self._game = None


def register() -> None:
    """Registers the sixteen games."""
    for game in GAMES:
        entry: Any = Game
        gymnasium.register(f"procgen-{game}-v0", entry, kwargs={"env_name": game})
