"""Decides how far workers run ahead of the learners, and how much is done at once."""

from algos.base import Progress
from config.read.loader import RunConfig
from config.tell.language import tr
from framework.policies.policy_plan import Plan

EARLY_SHARE = 0.02
"""Largest backlog of a run with a replay memory, as a share of what was collected so far. Early episodes are short: a
larger backlog would be many episodes of a policy that has hardly learned."""
SHORT_SECONDS, LONG_SECONDS = 0.03, 0.1
"""Durations of a task below and above which the next one is twice or half as large."""
TOLERANCE = 0.02
"""Share of the updates that may be missing at the end of a run without a message."""


def adapted(size: int, seconds: float, least: int, most: int) -> int:
    """Doubles or halves the size of a task to keep its duration between SHORT_SECONDS and LONG_SECONDS."""
    size = 2 * size if seconds < SHORT_SECONDS else size // 2 if seconds > LONG_SECONDS else size
    return max(least, min(most, size))


class Throttle:
    """Counts work in what a memory owes: minibatches of a replay memory, or windows of fresh steps.

    With run_ahead, no more than run_ahead chunks are between the workers and the learners at any time: being collected,
    being added, owed, or queued. A chunk is what the learners take at once, or one fragment of each worker where that
    is more. run_ahead 0 is lockstep."""

    def __init__(self, config: RunConfig, plan: Plan, ahead: int, most: int) -> None:
        """most: largest number of minibatches in a chunk."""
        self.ahead, self._rows, workers = ahead, config.env.n_envs, config.general.n_workers
        self.most = most
        self.ratio = plan.ratio()
        """Updates per transition that the settings ask for; None for windows of fresh steps and several policies."""
        self.counts_minibatches = plan.counts_minibatches
        self._adapts = ahead > 0 and self.ratio is not None
        self.per_step = plan.work(self._rows)
        """Work that each step of a worker allows."""
        self._round = plan.fragment * self.per_step * workers
        """Work that the shortest fragments of all workers allow together."""
        self._affordable = self._most = most if self.counts_minibatches else 1
        """Number of minibatches that take the learners between SHORT_SECONDS and LONG_SECONDS."""
        self.chunk = self._affordable
        """Work that the learners take at once."""

    def taken(self, owed: int) -> int:
        """Returns the part of the owed work that the learners take at once."""
        return min(owed, self.chunk) if self.counts_minibatches else 1

    def resize(self, progress: Progress) -> None:
        """Limits chunks so that run_ahead of them are no more than EARLY_SHARE of what was collected so far."""
        if self._adapts:
            collected = progress.step / self._rows * self.per_step
            self.chunk = max(1, min(self._affordable, int(EARLY_SHARE * collected / self.ahead)))

    def learned(self, seconds: float) -> None:
        """Adapts the size of chunks to the time that the last one took."""
        if self._adapts:
            self._affordable = adapted(self.chunk, seconds, 1, self._most)

    def limit(self) -> float:
        """Returns the largest backlog."""
        return self.ahead * max(float(self.chunk), self._round)

    def shortfall(self, updates: int, due: int) -> str:
        """Returns a sentence if clearly fewer updates were made than the settings ask for."""
        if self.ratio is None or updates >= (1 - TOLERANCE) * due:
            return ""
        return tr(
            "{reached:.2g} updates per step, {ratio:g} was asked for",
            reached=self.ratio * updates / due,
            ratio=self.ratio,
        )
