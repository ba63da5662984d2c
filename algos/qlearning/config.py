"""Defaults of Q-learning and of its variants, which differ in the value of the next state."""

from collections.abc import Iterator
from typing import Literal

from algos.common.settings import TableConfig
from config.model.fields import Fraction, PositiveInt, Problem
from config.model.memory_spec import RolloutSpec
from config.model.schedules import TableRate
from config.tell.language import tr


class Config(TableConfig):
    """Q-learning: a table of action values, updated after every step."""

    READ_WITH = {"traces": ("trace_lambda", ())}

    lr: TableRate = 0.5
    """Learning rate: share of the TD error by which a value changes."""
    next_value: Literal["greedy", "expected", "taken"] = "greedy"
    """Value of the next state: of its best action (greedy, Q-learning), the expectation under the exploring policy
    (expected, ExpectedSarsa), or of the action taken next (taken, Sarsa)."""
    n_step: PositiveInt = 1
    """Steps of the n-step return: rewards summed before the value of the state after them. Each step is learned from
    n_step - 1 steps later."""
    trace_lambda: Fraction = 0.0
    """Lambda of eligibility traces: 0 changes the value of the present pair alone, 1 those of all pairs of the episode.
    With next_value greedy, an exploratory action ends the traces (Watkins's Q(lambda))."""
    traces: Literal["accumulating", "replacing"] = "accumulating"
    """Trace of a pair that is visited again: accumulating adds 1 to what is left of it, replacing sets it to 1."""
    double: bool = False
    """Double learning: two tables, of which each step updates one, by the value that the other one has of the next
    action. Their mean acts."""

    def memory(self, rows: int) -> RolloutSpec:
        return RolloutSpec(length=1, overlap=self.n_step - (0 if self.next_value == "taken" else 1))

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.trace_lambda and self.n_step > 1:
            message = tr("traces of trace_lambda reach over all steps already; set it to 1")
            yield Problem("n_step", message, depends_on=("trace_lambda",))
        if self.trace_lambda and self.double:
            message = tr("traces are of one table; set double to false, or trace_lambda to 0")
            yield Problem("double", message, depends_on=("trace_lambda",))
