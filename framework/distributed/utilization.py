"""Measures how busy workers, learners and driver are, and names the part that limits the speed of a run."""

import math
import time

from config.tell.language import tr

MEMORY_SECONDS = 10.0
"""Time constant of the moving averages of busy shares, in seconds."""
NEWEST = 0.1
"""Weight of the newest value in the moving averages of the backlog and of the age of weights."""
FULL = 0.6
"""Least busy share at which a part is the limit."""


class BusyShare:
    """Exponential moving average of the share of its time that a process works: `with share:` around each task."""

    def __init__(self) -> None:
        self.share = self.seconds = 0.0
        """Present average, and duration of the last task in seconds."""
        self._weight = 0.0
        self._began = self._ended = time.perf_counter()

    def __enter__(self) -> None:
        self._began = time.perf_counter()
        if not self._weight:
            self._ended = self._began  # the wait before the first task does not count

    def __exit__(self, *error: object) -> None:
        now = time.perf_counter()
        self.seconds, past = now - self._began, now - self._ended
        self._ended = now
        if past <= 0:
            return
        new = 1 - math.exp(-past / MEMORY_SECONDS)
        self._weight += new * (1 - self._weight)
        self.share += new / self._weight * (self.seconds / past - self.share)


class Utilization:
    """Combines the busy shares that the processes report."""

    def __init__(self, workers: int, learners: int, lockstep: bool) -> None:
        self._lockstep = lockstep
        """True if workers and learners wait for one another, so that none of them can be busy all the time."""
        self._workers, self._learners = [0.0] * workers, [0.0] * learners
        self._begun = False
        self.rounds = BusyShare()
        """Share of the driver's time that is spent in rounds; the rest is evaluation and saving."""
        self._owed = self._late = 0.0

    def collected(self, worker: int, busy: float, late: int) -> None:
        """Records a fragment, collected with weights that were `late` versions old."""
        self._begun = True
        self._workers[worker] = busy
        self._late += NEWEST * (late - self._late)

    def learned(self, busy: list[float], owed: float) -> None:
        """Records a chunk; owed: number of chunks that wait."""
        self._learners = busy
        self._owed += NEWEST * (owed - self._owed)

    def text(self) -> tuple[str, str]:
        """Returns a line about all parts, and the limiting part with a short advice; both empty before the first
        fragment."""
        if not self._begun:
            return "", ""
        return (
            tr(
                "workers {workers} busy, learners {learners}; {owed:.1f} chunks wait, weights {late:.1f} versions old",
                workers=_percents(self._workers),
                learners=_percents(self._learners),
                owed=self._owed,
                late=self._late,
            ),
            self._limit(),
        )

    def _limit(self) -> str:
        collecting, learning = _mean(self._workers), _mean(self._learners)
        most = collecting + learning if self._lockstep else max(collecting, learning)
        if most >= FULL:
            learner = tr("learner; a GPU or n_learners may help")
            return learner if learning >= collecting else tr("workers; raise n_workers if there are free cores")
        if 1 - self.rounds.share >= (1 - most) / 2:
            return tr("evaluation and saving; fewer online_eval_episode may help")
        return tr("communication; raise env_cfg.n_envs or the batch size")


def _percents(shares: list[float]) -> str:
    """Returns all of up to four shares; of more, the smallest and the largest."""
    if len(shares) <= 4:
        return ", ".join(f"{share:.0%}" for share in shares)
    return tr("{low:.0%} to {high:.0%}", low=min(shares), high=max(shares))


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)
