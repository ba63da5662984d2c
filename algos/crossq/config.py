"""Defaults of CrossQ."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from algos.common.settings import SoftPolicyConfig, StateNoiseConfig
from config.model.fields import Problem
from config.model.layers import BatchNorm, BatchRenorm, Layers, Linear, flat
from config.tell.language import tr


def renormalized(*sizes: int) -> Layers:
    """Returns linear layers with batch renormalization before each, and before the output."""
    blocks: list[Layers] = [[BatchRenorm(), Linear(layer_size=[size])] for size in sizes]
    return [*(layer for block in blocks for layer in block), BatchRenorm()]


class Config(SoftPolicyConfig, StateNoiseConfig):
    """CrossQ: SAC with batch renormalization in place of target networks."""

    SPECIAL_LAYERS = ("lstm", "gru", "batchnorm", "batchrenorm")
    READ_WITH = {"adam_beta1": ("optimizer", ("adam", "adamw"))}

    actor_layers = renormalized(256, 256)
    critic_layers = renormalized(256, 256)
    actor_lr = 1e-3
    alpha_lr = 1e-3
    policy_freq = 3
    adam_beta1: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.5
    """Beta1 of Adam (decay rate of the first moment), with optimizer adam or adamw."""

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
