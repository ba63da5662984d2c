"""The actions of an expert."""

import numpy as np

from algos import base
from algos.base import Act, Array, Progress
from algos.common.parts.weightless import Weightless


class Agent(Weightless, base.Agent):
    """Asks the expert in each step; has no weights."""

    def sample_action(
        self, obs: Array, state: Array | None, progress: Progress, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        """Returns the expert's actions: there is nothing to explore."""
        return self.predict_action(obs, state, mask)

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        assert self.expert is not None  # framework.assemble.build sets it
        return Act(self.expert(obs, mask))
