"""Packages of environments as they are, where they are installed: an episode follows from its seed and the actions.
Those that the suite lacks are skipped; requirements-envs.txt and requirements-robotics.txt install them."""

from contextlib import closing

import numpy as np
import pytest

from config.own import env_packages
from config.own.env_packages import PACKAGES
from envs.gym import Config, check
from envs.gym import env as gym_env
from tests.tools.envs import everyone, sample

IDS = [
    *(row.example for row in PACKAGES if row.kind == env_packages.GYM),
    "BabyAI-GoToObj-v0",
    "parking-v0",
    "racetrack-v1",
    "vmas/navigation",
    "PointMaze_UMaze-v3",
    "dm_control/walker-walk-v0",
]
SLOW = ("highway-fast-v0", "parking-v0", "Meta-World/reach-v3", "ALE/Pong-v5")
"""Ids of which few steps are played."""


@pytest.mark.long
@pytest.mark.parametrize("env_id", IDS)
def test_an_episode_follows_from_its_seed_and_the_actions_and_writes_no_file(env_id, tmp_path, monkeypatch):
    row = env_packages.of_id(env_id)
    if not env_packages.is_installed(row.module):
        pytest.skip(f"needs {row.name}: pip install {row.pip}")
    if row.other_versions():
        pytest.skip(f"needs {row.requires}, and there is {row.other_versions()}")
    monkeypatch.chdir(tmp_path)
    settings = {key: value for key, value, _ in env_packages.settings_of(env_id)}
    cfg = Config(id=env_id, vectorization="sync", **settings)
    assert not check(cfg)
    with closing(gym_env.make(cfg, 1)) as env:
        steps = zip(range(4 if env_id in SLOW else 20), sample(env.action_space, 1, 7), strict=False)
        actions = [action for _, action in steps]

        def episode(seed, actions):
            seen = [np.array(env.reset(everyone(env), np.array([seed])))]
            for action in actions:
                step = env.step(action)
                seen += [np.array(step.obs), np.array(step.reward)]
                if step.terminated[0] or step.truncated[0]:
                    break
            return [part.tolist() for part in seen]

        first = episode(11, actions)
        episode(5, actions[::-1])
        assert episode(11, actions) == first
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == [], "in the current folder"
