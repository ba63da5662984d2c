"""Defaults of DecisionTransformer: the paper's for continuous control, where it has one."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from algos.common.settings import GivenData, NetworkConfig
from config.model.fields import Int, Positive, PositiveInt, Problem
from config.model.inherit import unread
from config.model.layers import Layers
from config.model.memory_spec import ReplaySpec
from config.model.schedules import Rate
from config.tell.language import tr

UNCHANGED_REWARDS = unread(tr("no rewards to change"))  # returns are undiscounted sums of the rewards as they are


class Config(GivenData, NetworkConfig):
    """DecisionTransformer: a transformer that learns from given data which actions earn which return."""

    ALIASES = {
        "max_len": "context_length",
        "embed_dim": "embed_size",
        "n_layer": "n_blocks",
        "n_layers": "n_blocks",
        "n_head": "n_heads",
    }
    ACTION_SPACES = ("Discrete", "Box")
    ADJUSTABLE = {"target_return"}
    OFFLINE = True
    HAS_GRADIENTS = True
    READ_WITH = {"reward_clip": UNCHANGED_REWARDS, "gamma": UNCHANGED_REWARDS}

    context_length: Annotated[Int, Field(ge=2)] = 20
    """Latest steps of an episode that an action is chosen from; the length of the sequences that are learned from."""
    target_return: float | None = None
    """Return that the policy is asked for when it acts; null: the highest one of the data."""
    return_scale: Positive | None = None
    """Returns are divided by it before the network sees them; null: the largest absolute return of the data."""

    obs_layers: Layers = []
    """Layers that turn an observation into the input of the transformer; a linear layer of embed_size is added
    automatically."""
    embed_size: PositiveInt = 128
    """Width of the transformer."""
    n_blocks: PositiveInt = 3
    """Number of blocks of attention."""
    n_heads: PositiveInt = 1
    """Number of heads of attention; divides embed_size."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Share of the activations that are set to zero while it learns."""

    optimizer = "adamw"
    weight_decay = 1e-4
    lr: Rate = 1e-4
    """Learning rate."""
    max_grad_norm = 0.25
    batch_size: PositiveInt = 64
    """Sequences per minibatch."""

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.embed_size % self.n_heads:
            message = tr("{heads} does not divide embed_size, {size}", heads=self.n_heads, size=self.embed_size)
            yield Problem("n_heads", message, depends_on=("embed_size",))

    def memory(self, rows: int) -> ReplaySpec:
        data = self.data_spec()
        return ReplaySpec(
            capacity=self.context_length * rows,
            batch_size=self.batch_size,
            warmup=0,
            updates_per_step=0.0,
            sequence=self.context_length,
            reward_clip=self.reward_clip,
            statistics=self.normalize_obs,
            data=None if data is None else replace(data, returns=True),
        )
