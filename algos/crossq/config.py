"""Defaults of CrossQ."""

from collections.abc import Iterator
from typing import Any

from pydantic import field_validator

from algos.common.settings import Betas, SoftPolicyConfig, StateNoiseConfig
from config.model.fields import Problem
from config.model.layers import BatchNorm, BatchRenorm, Layers, Linear, flat
from config.tell.language import tr

FIRST_BETA = 0.5
"""Decay rate of the average of the gradient in Adam, of actor and critics."""


def renormalized(*sizes: int) -> Layers:
    """Returns linear layers with batch renormalization before each, and before the output."""
    blocks: list[Layers] = [[BatchRenorm(), Linear(layer_size=[size])] for size in sizes]
    return [*(layer for block in blocks for layer in block), BatchRenorm()]


class Config(SoftPolicyConfig, StateNoiseConfig):
    """CrossQ: SAC with batch renormalization in place of target networks."""

    SPECIAL_LAYERS = ("lstm", "gru", "batchnorm", "batchrenorm")
    ALIASES = {"adam_beta1": "adam_betas"}

    actor_layers = renormalized(256, 256)
    critic_layers = renormalized(256, 256)
    actor_lr = 1e-3
    alpha_lr = 1e-3
    policy_freq = 3
    adam_betas: Betas = None
    """Decay rates of the averages of the gradient and of its square, with adam, adamw and radam. null: [0.5, 0.999],
    and for alpha [0.9, 0.999]."""

    @field_validator("adam_betas", mode="before")
    @classmethod
    def _of_first(cls, value: Any) -> Any:
        """Reads the value of the former setting adam_beta1: the first rate, which was not that of alpha."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        return None if value == FIRST_BETA else [value, 0.999]

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.architecture == "simba":
            yield Problem("architecture", tr("simba has norms of its own, and CrossQ needs batchrenorm in their place"))
        elif not any(isinstance(layer, BatchNorm | BatchRenorm) for layer in flat(self.critic_layers)):
            yield Problem("critic_layers", tr("has no batchrenorm, which takes the place of target networks"))
        if self.batch_size < 2:
            yield Problem("batch_size", tr("is 1, and batch normalization needs more than one transition"))

    def advice(self, steps: int, updates: int) -> Iterator[str]:
        warmup = min((layer.warmup for _, layer in self.all_layers() if isinstance(layer, BatchRenorm)), default=0)
        planned = min((n for n in (updates, steps * self.updates_per_train // self.train_fre) if n > 0), default=warmup)
        if planned < warmup:
            yield (
                tr(
                    "the run makes at most {planned:,} updates, and the warmup of batchrenorm is {warmup:,}: "
                    "all of them use batch normalization without the running statistics",
                    planned=planned,
                    warmup=warmup,
                )
            )
