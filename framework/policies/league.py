"""Self-play against earlier versions: weights that a policy had while it learned are opponents in some episodes."""

import copy
from typing import Any

import numpy as np

from algos.base import Actor, Agent, Array, Tree
from framework.policies.slots import Slots

PREFIX = "past/"
"""Beginning of the names of earlier weights among the weights of a policy."""


class League:
    """The newest of the versions of a policy that were kept. The first is the policy with its initial weights."""

    def __init__(self, agent: Agent, every: int, keep: int) -> None:
        """every: updates between two versions; keep: number of versions."""
        self.agent, self.every, self.keep = agent, every, keep
        self.updates = 0
        """Number of updates of the policy so far."""
        self._actors = [copy.deepcopy(agent) for _ in range(keep)]
        """Agents with the weights of the versions, to act with. Version n has place n modulo `keep`, so that a version
        keeps its place until it is replaced."""
        self._weights: list[dict[str, Array]] = []
        self.begin()

    def begin(self) -> None:
        """Forgets all versions but the present one."""
        self.versions = 0
        """Number of versions that were kept so far."""
        self._weights = []
        self._add(self.agent.weights())

    def _add(self, weights: dict[str, Array]) -> None:
        version = {name: np.array(value) for name, value in weights.items()}
        place = self.versions % self.keep
        self._weights[place : place + 1] = [version]
        self._actors[place].load_weights(version)
        self.versions += 1

    def learned(self, updates: int) -> None:
        """Keeps a version whenever `every` updates have been made."""
        before, self.updates = self.updates, self.updates + updates
        if self.updates // self.every > before // self.every:
            self._add(self.agent.weights())

    def opponents(self, slots: Slots, records: Array) -> list[tuple[Actor, Array]]:
        """Returns earlier versions, each with the slots [N, S] that it plays in these episodes."""
        past = slots.opponents(records, training=True)
        which = slots.version(records)[..., None] % np.uint64(self.keep) % np.uint64(len(self._weights))
        parts = [(self._actors[place], past & (which == place)) for place in range(len(self._weights))]
        return [(actor, theirs) for actor, theirs in parts if theirs.any()]

    # checkpoints ------------------------------------------------------------------------------------------

    def weights(self) -> dict[str, Array]:
        """Returns the weights of all versions, by names that begin with PREFIX."""
        return {
            f"{PREFIX}{n}/{key}": value for n, weights in enumerate(self._weights) for key, value in weights.items()
        }

    def load_weights(self, weights: dict[str, Array]) -> None:
        """Loads `weights`, if there are any: without them the policy was trained without a league."""
        versions: dict[int, dict[str, Array]] = {}
        for name, value in weights.items():
            if name.startswith(PREFIX):
                number, _, key = name.removeprefix(PREFIX).partition("/")
                versions.setdefault(int(number), {})[key] = np.array(value)
        if versions:
            self._weights = [versions[number] for number in sorted(versions)]
            for actor, version in zip(self._actors, self._weights, strict=False):
                actor.load_weights(version)

    def state(self) -> Tree:
        return {"updates": self.updates, "versions": self.versions, "weights": self.weights()}

    def load_state(self, state: dict[str, Any]) -> None:
        self.updates, self.versions = int(state["updates"]), int(state["versions"])
        self.load_weights(state["weights"])
