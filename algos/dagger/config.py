"""Defaults of DAgger: BC's, and an expert that is asked."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from algos.bc.config import Config as Family
from algos.common.settings import CollectingConfig
from config.model.fields import Decay, Fraction, Int, Problem
from config.model.memory_spec import ReplaySpec
from config.own import objects as own
from config.tell.language import tr


class Config(CollectingConfig, Family):
    """DAgger: dataset aggregation. A policy learns the actions that an expert would choose in the states that it visits
    itself."""

    OFFLINE = False
    IMITATES = True
    READ_WITH = {"beta_decay": ("beta", ())}

    expert: str | None = None
    """The expert: a task directory, whose best model is asked; a function of your own, module:name, from
    observations [N, ...] to actions [N, ...]; or environment, for the one that comes with the environment, such as the
    hand-written policy of dialog. It has to give the same answer to the same state."""
    beta: Fraction = 1.0
    """Probability that the expert's action is played, at the first step; the policy's own otherwise."""
    beta_decay: Decay = 500
    """Time constant of its exponential decay, in environment steps."""
    buffer_size = 1_000_000
    """Visited states that are learned from, with the expert's actions; the oldest are dropped first."""
    offline_updates: Annotated[Int, Field(ge=0)] = 0
    """Updates from the data alone, before the run collects."""

    def memory(self, rows: int) -> ReplaySpec:
        return replace(
            super().memory(rows),
            capacity=self.buffer_size,
            warmup=max(self.batch_size, self.learning_starts),
            updates_per_step=self.updates_per_train / self.train_fre,
            fragment=max(1, self.train_fre // rows),
            data=self.data_spec(self.data_share),
        )

    def offline_updates_of(self) -> int:
        return 0 if self.data is None else self.offline_updates

    @property
    def needs_data(self) -> bool:
        return False

    def asked_expert(self) -> str | None:
        return self.expert

    def own(self) -> Iterator[tuple[str, str]]:
        yield from super().own()
        if self.expert is not None and own.is_own(self.expert):
            yield "expert", self.expert

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.expert is None:
            message = tr("is required: a task directory, such as tasks/NAME, or a function of your own, module:name")
            yield Problem("expert", message)
