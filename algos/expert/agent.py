"""The actions of an expert."""

from algos import base
from algos.base import Act, Array
from algos.common.parts.acting import Weightless


class Agent(Weightless, base.Agent):
    """Asks the expert in each step; has no weights."""

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        assert self.expert is not None  # framework.assemble.build sets it
        return Act(self.expert(obs, mask))
