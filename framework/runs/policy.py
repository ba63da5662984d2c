"""joystick.load: the trained policy of a run, to act with, without memory, learner and task directory."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from algos.base import Agent, Array
from config.loader import load as load_config
from envs.base import VectorEnv
from framework.catalog import ALGOS, ENVS
from framework.output import LOGGER
from framework.runs.resume import with_seed
from framework.runs.test import opened


class Policy:
    """Chooses actions as a trained model does, one observation at a time."""

    def __init__(self, agent: Agent, env: VectorEnv) -> None:
        self.agent, self._env = agent, env
        self.reset()

    def reset(self) -> None:
        """Starts an episode; only a recurrent policy notices it."""
        self._state = self.agent.initial_state(1)

    def act(self, obs: Any, mask: Array | None = None) -> Any:
        """Returns the best action for an observation, both as the environment itself has them. mask [A]: True for legal
        actions."""
        row = self._env.encode(obs)[None]
        act = self.agent.predict_action(row, self._state, None if mask is None else mask[None])
        self._state = act.state
        return self._env.decode(act.action)[0]


def load(task: str | Path, model: str | int = "best", *, allow_import: Iterable[str] = ()) -> Policy:
    """Returns the policy of a run, by its name or folder. model: best, latest, or the update of a checkpoint."""
    values = {
        "general_cfg": {"mode": "test", "load_checkpoint": True, "load_path": str(task), "load_model_step": model}
    }
    config = load_config(None, find_algo=ALGOS, find_env=ENVS, values=values, allow_import=allow_import)
    with opened(with_seed(config)) as found:
        if found.note:
            LOGGER.warning(found.note)
        return Policy(found.agent, found.env)
