"""What a configuration is made of: the sections that algorithms and environments share, and, from config/strict.py,
config/layers.py and config/memory_spec.py, the strict base, the layers of networks and what memory is wanted.

Every model here is typed, bounded, and documented field by field. The docstrings are the help text, the
reference page and the JSON Schema. Nothing heavy is imported: a wrong config is answered before torch loads.
"""

import json
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator

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
from config.memory_spec import MemorySpec, ReplaySpec, RolloutSpec
from config.strict import (
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

__all__ = [
    "USERS_OF_SPECIAL_LAYERS",
    "Activation",
    "AlgoConfig",
    "BatchRenorm",
    "Conv2d",
    "Dropout",
    "Embed",
    "EnvConfig",
    "Exploration",
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
    "NetworkConfig",
    "NoisyLinear",
    "NonNegative",
    "Pooling",
    "Positive",
    "PositiveFraction",
    "PositiveInt",
    "Problem",
    "ReplayKind",
    "ReplaySpec",
    "RolloutSpec",
    "Strict",
    "TableConfig",
    "exploration",
    "listed",
    "lower",
    "mlp",
    "problems_of_epsilon",
    "upper",
]

EXPLORATION_SPELLINGS = {"epsilon-greedy": "e-greedy", "epsilon_greedy": "e-greedy", "egreedy": "e-greedy",
                         "boltzmann": "softmax"}  # fmt: skip


def exploration(value: Any) -> Any:
    """Other spellings of exploration_type."""
    return EXPLORATION_SPELLINGS.get(value.lower(), value.lower()) if isinstance(value, str) else value


def _not_noisy(value: Any) -> Any:
    """Noise on the weights is a setting of its own."""
    if isinstance(value, str) and value.lower() == "noisy":
        raise ValueError("expected e-greedy, softmax or none; for noise on the weights set noisy: true, and none here")
    return value


Exploration = Annotated[
    Literal["e-greedy", "softmax", "none"], BeforeValidator(exploration), BeforeValidator(_not_noisy)
]
ReplayKind = Annotated[Literal["REPLAY_QUE", "REPLAY", "PER", "PER_QUE"], BeforeValidator(upper)]

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

    ADJUSTABLE: ClassVar[frozenset[str]] = frozenset(
        {"lr", "actor_lr", "critic_lr", "lr_schedule", "max_grad_norm", "weight_decay", "entropy_coef", "eps_clip",
         "target_kl", "epsilon_start", "epsilon_end", "epsilon_decay", "epsilon_schedule"}
    )  # fmt: skip
    """Settings that may be changed when a run goes on; the others would make it another run."""

    FIXED: ClassVar[dict[str, Any]] = {}
    """Settings that make this algorithm what its name says; with another value it is another one of its family."""

    gamma: Fraction = 0.99
    """Discount of the reward one step later."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """A default that is set anew keeps the help of the family."""
        for parent in cls.__mro__[1:]:
            for name, field in getattr(parent, "model_fields", {}).items():
                cls.model_fields[name].description = cls.model_fields[name].description or field.description

    def memory(self, rows: int) -> MemorySpec:
        """The memory that this algorithm wants for so many environment rows."""
        raise NotImplementedError

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

    def must_wait(self) -> str | None:
        """With MAY_LAG: which settings need steps of the newest policy all the same, and why."""
        return None

    def checks(self) -> Iterator[Problem]:
        yield from super().checks()
        for key, value in self.FIXED.items():
            if getattr(self, key) != value:
                shown = value if isinstance(value, str) else json.dumps(value)  # true, as YAML has it
                yield Problem(key, f"is {shown} in this algorithm; another value makes it another one of its family")


OF_SEQUENCES = {"lookup_step", "burn_in"}
"""Settings that nothing reads without a memory."""


def problems_of_epsilon(cfg: Any) -> Iterator[Problem]:
    """Of the settings of exploration_type e-greedy."""
    keys = ("epsilon_start", "epsilon_end", "epsilon_decay", "epsilon_schedule")
    yield from cfg.only_with("exploration_type", ("e-greedy",), *keys)
    if cfg.exploration_type == "e-greedy" and cfg.epsilon_end > cfg.epsilon_start:
        yield Problem("epsilon_end", f"{cfg.epsilon_end} is more than epsilon_start, {cfg.epsilon_start}")


class NetworkConfig(AlgoConfig):
    """What every algorithm with a neural network has."""

    ALIASES: ClassVar = {"max_norm": "max_grad_norm"}
    SPECIAL_LAYERS: ClassVar[tuple[str, ...]] = ()
    """Those of SPECIAL_LAYERS below that the algorithm knows how to use."""

    optimizer: Literal["adam", "adamw", "rmsprop", "sgd"] = "adam"
    """Rule that turns gradients into steps."""
    weight_decay: NonNegative = 0.0
    """Pull of the weights towards zero (adamw: decoupled)."""
    lr_schedule: Literal["constant", "linear", "cosine"] = "constant"
    """Course of the learning rate over the planned run: linear and cosine end at 0 and need max_episode,
    max_total_step or max_update."""
    max_grad_norm: Positive | None = None
    """Longest gradient, as its norm over all parameters; null does not clip."""
    init: Literal["default", "orthogonal", "xavier", "kaiming"] = "default"
    """Distribution of the first weights; default is the algorithm's own choice."""
    architecture: Literal["mlp", "simba"] = "mlp"
    """mlp builds the layer lists as written; simba puts residual blocks with layer normalisation in their place."""
    branches: dict[str, Layers] | None = None
    """Layers for each named part of a Dict or Tuple observation; the results are joined before the layer list.
    null flattens the whole observation into one vector."""
    normalize_obs: bool = False
    """Subtract the running mean of the observations and divide by their deviation: of those that are learned from,
    fresh or drawn from the memory. Saved with the weights, frozen in evaluation and test. Observations that are choices
    (Discrete) stay as they are."""

    def checks(self) -> Iterator[Problem]:
        yield from super().checks()
        for key, layer in self._layers():
            kind = layer.layer_type
            if kind in USERS_OF_SPECIAL_LAYERS and kind not in self.SPECIAL_LAYERS:
                yield Problem(
                    key, f"{kind} is nothing that this algorithm can use; {USERS_OF_SPECIAL_LAYERS[kind]} can"
                )
            elif key == "branches" and isinstance(layer, Lstm | Gru):
                yield Problem(key, f"{kind} has no place in a branch; put it in the layer list, behind all of them")
        of_sequences = sorted(OF_SEQUENCES & type(self).model_fields.keys())
        yield from self.unread("lstm and gru layers, and there are none", self.remembers(), *of_sequences)

    def _layers(self) -> Iterator[tuple[str, Layer]]:
        """Every layer of every list, and the setting where it stands."""
        for key in type(self).model_fields:
            value = getattr(self, key)
            lists = value.values() if isinstance(value, dict) else [value]
            yield from ((key, layer) for one in lists if isinstance(one, list) for layer in one)

    def carried(self) -> int:
        """How many numbers layers carry from one step to the next."""
        remembering = [layer for _, layer in self._layers() if isinstance(layer, Lstm | Gru)]
        return sum(sum(layer.layer_size) * (2 if isinstance(layer, Lstm) else 1) for layer in remembering)

    def remembers(self) -> bool:
        """Whether a layer carries something from one step to the next."""
        return self.carried() > 0


USERS_OF_SPECIAL_LAYERS = {
    "lstm": "DRQN, RecurrentPPO, A2C and others",
    "gru": "DRQN, RecurrentPPO, A2C and others",
    "noisy_linear": "NoisyDQN, RainbowDQN and others",
    "batchrenorm": "CrossQ",
}
"""Layers that need something of the algorithm, and algorithms that have it."""


class TableConfig(AlgoConfig):
    """What every algorithm has that learns a table of action values by trying."""

    ACTION_SPACES: ClassVar = ("Discrete",)
    OBSERVATION_SPACES: ClassVar = ("Discrete", "MultiDiscrete", "MultiBinary")
    ADJUSTABLE: ClassVar = AlgoConfig.ADJUSTABLE | {"temperature", "ucb_c"}

    exploration_type: Annotated[Literal["e-greedy", "softmax", "ucb", "none"], BeforeValidator(exploration)] = (
        "e-greedy"
    )
    """e-greedy: the best action, or any with probability epsilon; softmax: by the values at the temperature; ucb: the
    highest upper bound, which favours what was seldom tried; none: the best action."""
    epsilon_start: Fraction = 0.95
    """Share of random actions at the start."""
    epsilon_end: Fraction = 0.01
    """Share of random actions that remains."""
    epsilon_decay: Positive = 300
    """Environment steps: of the exponential's time constant, or until epsilon_end with epsilon_schedule linear."""
    epsilon_schedule: Literal["exponential", "linear"] = "exponential"
    """exponential: end + (start - end) exp(-step / decay); linear: a straight line."""
    temperature: Positive = 1.0
    """With exploration_type softmax: how much worse an action may be and still be taken often."""
    ucb_c: NonNegative = 1.0
    """With exploration_type ucb: weight of the bound's width against the value."""
    initial_value: float = 0.0
    """Value of every action before anything is learned; high values make the agent curious."""

    def checks(self) -> Iterator[Problem]:
        yield from super().checks()
        yield from problems_of_epsilon(self)
        yield from self.only_with("exploration_type", ("softmax",), "temperature")
        yield from self.only_with("exploration_type", ("ucb",), "ucb_c")


class EnvConfig(Strict):
    """What every environment's section has. Other keys are passed to the environment's constructor."""

    render_mode: Literal["human", "rgb_array"] | None = None
    """null: nothing; human: a window; rgb_array: videos/video.gif, without a display."""
    n_envs: PositiveInt = 1
    """Environments stepped together (rows); under ray, per worker."""
    action_mask: bool = True
    """Obey `action_mask`, where the environment gives one in its info or in a Dict observation; false ignores it."""
