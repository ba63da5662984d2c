"""What a configuration is made of: the sections that algorithms and environments share, and, from config/fields.py,
config/layers.py and config/memory_spec.py, the strict base, the layers of networks and what memory is wanted.

Every model here is typed, bounded, and documented field by field. The docstrings are the help text, the
reference page and the JSON Schema. Nothing heavy is imported: a wrong config is answered before torch loads.
"""

import json
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from config.fields import (
    Fraction,
    Int,
    NonNegative,
    Positive,
    PositiveFraction,
    PositiveInt,
    Problem,
    Strict,
    listed,
    lower,
    upper,
)
from config.layers import (
    Activation,
    BatchRenorm,
    Conv2d,
    Dropout,
    Embed,
    Flatten,
    Gru,
    Layer,
    LayerNorm,
    Layers,
    Linear,
    Lstm,
    NoisyLinear,
    Pooling,
    mlp,
)
from config.memory_spec import MemorySpec, ReplaySpec, RewardClip, RolloutSpec

__all__ = [
    "Activation",
    "AlgoConfig",
    "BatchRenorm",
    "Conv2d",
    "Dropout",
    "Embed",
    "EnvConfig",
    "Flatten",
    "Fraction",
    "Gru",
    "Int",
    "Layer",
    "LayerNorm",
    "Layers",
    "Linear",
    "Lstm",
    "MemorySpec",
    "NoisyLinear",
    "NonNegative",
    "Pooling",
    "Positive",
    "PositiveFraction",
    "PositiveInt",
    "Problem",
    "ReplaySpec",
    "RewardClip",
    "RolloutSpec",
    "Strict",
    "listed",
    "lower",
    "mlp",
    "upper",
]

# ------------------------------------------------------------------------------------ sections of algo and env


class AlgoConfig(Strict):
    """What every algorithm's section has."""

    ACTION_SPACES: ClassVar[tuple[str, ...]]
    """Names of the gymnasium action spaces that the algorithm can act in."""
    OBSERVATION_SPACES: ClassVar[tuple[str, ...]] = ("Box", "Discrete", "MultiDiscrete", "MultiBinary")

    MAY_LAG: ClassVar[bool] = False
    """Learns from what an earlier version of the policy has done too, so that processes need not wait."""
    RUN_AHEAD: ClassVar[int] = 0
    """general_cfg.run_ahead where it is null."""
    NEEDS_BOUNDS: ClassVar[bool] = False
    """Acts in a Box whose sides are finite."""
    NEEDS_MODEL: ClassVar[bool] = False
    """Plans with the rules of the environment (EnvSpec.model), which only some environments tell."""

    HAS_GRADIENTS: ClassVar[bool] = False
    """Several learners can share the work of an update."""

    ADJUSTABLE: ClassVar[frozenset[str]] = frozenset(
        {"lr", "actor_lr", "critic_lr", "lr_schedule", "max_grad_norm", "weight_decay", "entropy_coef", "eps_clip",
         "target_kl", "epsilon_start", "epsilon_end", "epsilon_decay", "epsilon_schedule"}
    )  # fmt: skip
    """Settings that may be changed when a run goes on; the others would make it another run."""

    FIXED: ClassVar[dict[str, Any]] = {}
    """Settings that make this algorithm what its name says; with another value it is another one of its family."""

    gamma: Fraction = 0.99
    """Discount factor."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """A default that is set anew keeps the help of the family."""
        for parent in cls.__mro__[1:]:
            for name, field in getattr(parent, "model_fields", {}).items():
                cls.model_fields[name].description = cls.model_fields[name].description or field.description

    def memory(self, rows: int) -> MemorySpec:
        """The memory that this algorithm wants for so many environment rows."""
        raise NotImplementedError

    def state_size(self) -> int:
        """Returns the size of the recurrent state: the numbers that layers carry from one step to the next."""
        return 0

    def schedule(self) -> str:
        """Returns the course of the learning rate over the planned run."""
        return "constant"

    def changed(self, key: str) -> bool:
        """Whether it is not at its default."""
        return bool(getattr(self, key) != type(self).model_fields[key].default)

    def unread(self, reader: str, there: bool, *keys: str) -> Iterator[Problem]:
        """The settings of a reader, where it is not there and they were changed in vain."""
        for key in keys:
            if not there and self.changed(key):
                yield Problem(key, f"is a setting of {reader}; null leaves it out", unread=True)

    def only_with(self, setting: str, values: tuple[Any, ...], *keys: str) -> Iterator[Problem]:
        """The same, of settings that are read while another one has one of these values."""
        value, named = getattr(self, setting), " or ".join(map(str, values))
        yield from self.unread(f"{setting} {named}, and {setting} is {value}", value in values, *keys)

    def advice(self, steps: int, updates: int) -> Iterator[str]:
        """Yields remarks on settings that are allowed but do nothing in a training run of at most so many environment
        steps and updates; -1 is no limit."""
        yield from ()

    def must_wait(self) -> str | None:
        """With MAY_LAG: which settings need steps of the newest policy all the same, and why."""
        return None

    def checks(self) -> Iterator[Problem]:
        yield from super().checks()
        for key, value in self.FIXED.items():
            if getattr(self, key) != value:
                shown = value if isinstance(value, str) else json.dumps(value)  # true, as YAML has it
                yield Problem(key, f"is {shown} in this algorithm; another value makes it another one of its family")


class EnvConfig(Strict):
    """What every environment's section has. Other keys are passed to the environment's constructor."""

    render_mode: Literal["human", "rgb_array"] | None = None
    """null: nothing; human: a window; rgb_array: videos/video.gif, without a display."""
    n_envs: PositiveInt = 1
    """Environments stepped together (rows); under ray, per worker."""
    action_mask: bool = True
    """Obey `action_mask`, where the environment gives one in its info or in a Dict observation; false ignores it."""
