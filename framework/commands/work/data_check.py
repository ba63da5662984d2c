"""Compares data with an environment: python main.py data DATA --env ID."""

from collections.abc import Sequence

from config.read.loader import load
from framework.assemble import build
from framework.catalog import ALGOS, ENVS
from framework.collect.env_calls import Watch
from framework.dataset import Dataset
from framework.dataset.fit import own_space, problems
from framework.errors import JoystickError


def unfit(data: Dataset, env_id: str, allow_import: Sequence[str] = ()) -> list[str]:
    """Returns a sentence for each way in which the data do not fit an environment."""
    config = load(None, [], find_algo=ALGOS, find_env=ENVS, env=env_id, allow_import=allow_import)
    with build.opened_env(config, 1, Watch()) as env:
        if env.joint is not None:
            raise JoystickError(f"{env_id} has several agents; data are compared with an environment of one")
        seen = own_space(env.observation_space, env.observation_start)
        return problems(data.summary, seen, own_space(env.action_space, env.action_start))
