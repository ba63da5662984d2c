"""Figures of training: the row of an episode, and the result of an iteration."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from algos.base import Progress, TrainableActor, Tree
from framework.collect.fragment import RETURN, Episode
from framework.loop.evaluator import Evaluation

Row = dict[str, Any]
"""Column -> value of a CSV file."""
Result = dict[str, Any]
"""Result of an iteration; docs/python.md describes its entries."""
EPISODE_COLUMNS = ("episode", "step", "update", "return", "length", "terminated", "seed", "worker", "row")
COUNTED = (
    "iteration", "step", "episode", "update", "episodes_this_iteration", "return_mean", "return_min", "return_max",
    "length_mean", "evaluation",
)  # fmt: skip
"""Entries of a result that are a column of results/progress.csv each; metrics and custom numbers follow."""

MOST_NUMBERS = 4
"""Number of the environment's numbers that the console shows of an evaluation."""
MOST_SHOWN = 8
"""Number of columns that the console shows beside the return if there are several policies."""


class Count(NamedTuple):
    """Amount of training."""

    step: int = 0
    episode: int = 0
    update: int = 0


class Place(NamedTuple):
    """Place of an iteration in the run."""

    before: int = 0
    """Number of iterations before it."""
    first: int = 0
    last: int = 0
    """Amount of work (Counter.work) at which it begins, and at which it is complete; the same before it starts."""


class Score(NamedTuple):
    """Mean evaluation return of the best model, and the update that it was saved at."""

    mean: float | None
    update: int | None


class Means:
    """Sums and numbers of values, by name."""

    def __init__(self) -> None:
        self.sums: dict[str, list[float]] = {}
        """Name -> [sum, number of values]."""

    def add(self, values: Mapping[str, Sequence[float]]) -> None:
        for name, added in values.items():
            pair = self.sums.setdefault(name, [0.0, 0])
            pair[0] += sum(added)
            pair[1] += len(added)

    def means(self) -> dict[str, float]:
        return {name: total / count for name, (total, count) in self.sums.items() if count}


class EpisodeRows:
    """Makes the rows of train.csv: an episode, the means of the metrics since the last one, and the exploration."""

    def __init__(
        self,
        agent: TrainableActor,
        custom: Sequence[str] = (),
        phased: bool = False,
        policies: Sequence[str] = (),
        validated: bool = False,
        numbers: Sequence[str] = (),
    ) -> None:
        """phased: True with a curriculum, which adds a column. policies: names, in a multi-agent environment.
        validated: True if the metrics are measured on given data that are kept from learning, too. numbers: those of
        `custom` that the environment gives."""
        self.agent, self.policies = agent, tuple(policies)
        phase = ("phase",) if phased else ()
        self.custom = tuple(custom)
        """Names of the numbers that the environment and callbacks give an episode."""
        exploration = tuple(agent.exploration(Progress()))
        self.columns = (*EPISODE_COLUMNS, *phase, *agent.metric_names(), *exploration, *self.custom)
        held_out = tuple(validated_name(name) for name in agent.METRICS) if validated else ()
        measured = (*agent.metric_names(), *held_out, *(c for name in self.custom for c in spread_names(name)))
        self.progress_columns = (*COUNTED, *phase, *measured)
        self.metrics = (*COUNTED, *measured)
        """Entries of a result that may decide on the phase of a curriculum."""
        self.shown = _shown((*agent.METRICS, *exploration), self.policies)
        """Columns that the console shows beside the return."""
        self.evaluated = (*numbers[:MOST_NUMBERS], *(name for name in self.shown if name in self.custom))
        """Numbers that it shows of an evaluation."""
        self._since = Means()
        """Metrics since the last episode."""
        self.last: dict[str, float] = {}
        """Metric -> mean before the last episode that followed an update."""

    def learned(self, metrics: Mapping[str, Sequence[float]]) -> None:
        """Adds the metrics of updates."""
        self._since.add(metrics)

    def of(self, episodes: Sequence[Episode], steps: Sequence[int], before: Count, progress: Progress) -> list[Row]:
        """Returns the rows of the episodes that ended in a fragment. steps: environment step at which each ended.
        before: the amount of training before the fragment."""
        if self._since.sums:
            self.last, self._since = self._in_order(self.last | self._since.means()), Means()
        same = {**self.last, **self.agent.exploration(progress)}
        return [
            {
                "episode": number,
                "step": step,
                "update": before.update,
                "return": episode.total,
                "length": episode.length,
                "terminated": int(episode.terminated),
                "seed": episode.seed,
                "worker": episode.worker,
                "row": episode.row,
                **({} if episode.phase is None else {"phase": episode.phase}),
                **same,
                **episode.metrics,
            }
            for number, (episode, step) in enumerate(zip(episodes, steps, strict=True), start=before.episode + 1)
        ]

    def state(self) -> Tree:
        return {"sums": self._since.sums, "last": self.last}

    def load_state(self, state: Tree) -> None:
        self._since.sums, self.last = state["sums"], self._in_order(state["last"])

    def _in_order(self, means: dict[str, float]) -> dict[str, float]:
        """Returns means in the order of the agent's metrics: a checkpoint sorts names, and a person sees one order."""
        return {name: means[name] for name in self.agent.metric_names() if name in means} | means


def _shown(measured: Sequence[str], policies: Sequence[str]) -> tuple[str, ...]:
    """Returns the columns for one line: all that is measured, or with several policies the return of each and the
    first metric of those that learn, while there is room."""
    if not policies:
        return tuple(measured)
    firsts = [next((name for name in measured if name.startswith(f"{policy}/")), None) for policy in policies]
    pairs = zip((f"{RETURN}{policy}" for policy in policies), firsts, strict=True)
    return tuple(name for pair in pairs for name in pair if name is not None)[:MOST_SHOWN]


class Spread:
    """Number, sum, lowest and highest of some values."""

    def __init__(self, count: int = 0, total: float = 0.0, low: float = 0.0, high: float = 0.0) -> None:
        self.count, self.total, self.low, self.high = count, total, low, high

    def add(self, values: Sequence[float]) -> None:
        all_of_them = (self.low, self.high, *values) if self.count else values
        self.low, self.high = min(all_of_them), max(all_of_them)
        self.count += len(values)
        for value in values:  # sum() rounds otherwise from Python 3.12 on
            self.total += value

    @property
    def mean(self) -> float:
        return self.total / self.count

    def state(self) -> list[float]:
        return [self.count, self.total, self.low, self.high]


class Iteration:
    """Collects the figures of the running iteration."""

    def __init__(self, number: int = 1, work_before: int = 0, began: float = 0.0, steps_before: int = 0) -> None:
        self.number = number
        """Running number, from 1."""
        self.work_before, self.steps_before = work_before, steps_before
        """Amount before it that iterations are measured by (Counter.work), and environment steps before it. They differ
        where something is learned from given data."""
        self.steps = 0
        """Amount that it needs at least; 0 before it starts."""
        self.counted_from = work_before
        """Amount at which it begins to count."""
        self.broken_off = False
        """True once a call for these steps has ended before; a resume does not know it."""
        self.began = began
        """Seconds of training before it."""
        self.metrics = Means()
        self.returns, self.lengths = Spread(), Spread()
        """Returns and lengths of the episodes that ended in it."""
        self.custom: dict[str, Spread] = {}
        """Numbers that callbacks and the environment gave these episodes, by name."""
        self.evaluation: float | None = None
        """Mean return of its latest evaluation."""

    def ask(self, steps: int, work: int) -> None:
        """Sets how much it needs. After a resume, the amount that it was started with counts from its beginning, as in
        a run without a break; otherwise from the present one."""
        if steps != self.steps or self.broken_off:
            self.steps, self.counted_from, self.broken_off = steps, work, False

    def complete(self, work: int) -> bool:
        """Returns True if it has all its steps. It is still the running one while it is evaluated and saved, so that
        its result includes the evaluation."""
        return 0 < self.steps <= work - self.counted_from

    @property
    def place(self) -> Place:
        return Place(self.number - 1, self.work_before, self.counted_from + self.steps)

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """Adds episodes that have ended."""
        self.returns.add([episode.total for episode in episodes])
        self.lengths.add([episode.length for episode in episodes])
        for name in dict.fromkeys(name for episode in episodes for name in episode.metrics):
            values = [episode.metrics[name] for episode in episodes if name in episode.metrics]
            self.custom.setdefault(name, Spread()).add(values)

    def evaluated(self, evaluation: Evaluation) -> None:
        """Notes an evaluation."""
        self.evaluation = evaluation.mean

    def result(self, count: Count, seconds: float, phase: float | None = None, policies: Sequence[str] = ()) -> Result:
        """Returns its figures so far. seconds: duration of training so far. phase: that of the curriculum in this
        iteration. policies: names, in a multi-agent environment."""
        returns, lengths = self.returns, self.lengths
        some, of_policies = returns.count > 0, {f"{RETURN}{policy}" for policy in policies}
        return {
            "iteration": self.number,
            **count._asdict(),
            "episodes_this_iteration": returns.count,
            "return_mean": returns.mean if some else None,
            "return_min": returns.low if some else None,
            "return_max": returns.high if some else None,
            "length_mean": lengths.mean if some else None,
            "evaluation": self.evaluation,
            "phase": phase,
            "metrics": self.metrics.means(),
            "policies": {policy: self._returns_of(policy) for policy in policies},
            "custom": {
                name: value
                for metric, spread in self.custom.items()
                if metric not in of_policies
                for name, value in zip(spread_names(metric), (spread.mean, spread.low, spread.high), strict=True)
            },
            "seconds": seconds - self.began,
            "seconds_total": seconds,
        }

    def _returns_of(self, policy: str) -> dict[str, float | None]:
        """Returns mean, minimum and maximum over episodes of the mean return of a policy's agents."""
        spread = self.custom.get(f"{RETURN}{policy}")
        values = (spread.mean, spread.low, spread.high) if spread else (None, None, None)
        return dict(zip(("return_mean", "return_min", "return_max"), values, strict=True))

    def state(self) -> Tree:
        return {
            "number": self.number,
            "first_step": self.work_before,
            "steps_before": self.steps_before,
            "steps": self.steps,
            "counted_from": self.counted_from,
            "began": self.began,
            "metrics": self.metrics.sums,
            "returns": self.returns.state(),
            "lengths": self.lengths.state(),
            "custom": {name: spread.state() for name, spread in self.custom.items()},
            "evaluation": self.evaluation,
        }

    def load_state(self, state: Tree) -> None:
        self.number, self.work_before = state["number"], state["first_step"]
        self.steps_before = state.get("steps_before", self.work_before)
        self.steps, self.began = state["steps"], state["began"]
        self.counted_from = state.get("counted_from", self.work_before)
        self.metrics.sums, self.evaluation = state["metrics"], state["evaluation"]
        self.returns, self.lengths = Spread(*state["returns"]), Spread(*state["lengths"])
        self.custom = {name: Spread(*values) for name, values in state["custom"].items()}


def progress_row(result: Result) -> Row:
    """Returns the row of results/progress.csv. It holds no time, so that equal runs write equal bytes."""
    phase = {} if result["phase"] is None else {"phase": result["phase"]}
    return {**{name: result[name] for name in COUNTED}, **phase, **measured(result)}


def measured(result: Result) -> dict[str, Any]:
    """Returns the metrics, the returns of the policies and the custom numbers of a result by the names of their
    columns."""
    returns = {
        name: value
        for policy, its in result["policies"].items()
        for name, value in zip(spread_names(f"{RETURN}{policy}"), its.values(), strict=True)
    }
    return {**result["metrics"], **returns, **result["custom"]}


def validated_name(metric: str) -> str:
    """Returns the name of a metric that is measured on given data that are kept from learning."""
    return f"validation_{metric}"


def spread_names(name: str) -> tuple[str, str, str]:
    """Returns the names of the mean, the minimum and the maximum of a number in a result."""
    return name, f"{name}_min", f"{name}_max"
