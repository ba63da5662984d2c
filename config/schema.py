"""The strict base model, and the parts of a configuration that several algorithms and environments share.

Every model here is typed, bounded, and documented field by field. The docstrings are the help text, the
reference page and the JSON Schema. Nothing heavy is imported: a wrong config is answered before torch loads.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator


class Problem(NamedTuple):
    """One thing that is wrong with a section: the key it is about, and a sentence."""

    key: str
    message: str


def _accepts_null(annotation: Any) -> bool:
    return type(None) in getattr(annotation, "__args__", ())


class Strict(BaseModel):
    """Unknown keys fail, types are not guessed, a null means the default where null is not a value."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        validate_default=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )
    ALIASES: ClassVar[dict[str, str]] = {}
    """Other spellings that are accepted silently: spelling -> field."""

    @model_validator(mode="before")
    @classmethod
    def _aliases_and_nulls(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        known: dict[str, Any] = {}
        written: dict[str, str] = {}
        for key, value in values.items():
            name = cls.field_name(key)
            if name in written:
                raise ValueError(f"{key} and {written[name]} are two spellings of one setting; keep one")
            written[name] = key
            field = cls.model_fields.get(name)
            if value is None and field is not None and not _accepts_null(field.annotation):
                continue
            known[name] = value
        return known

    @classmethod
    def field_name(cls, key: str) -> str:
        """The field that a spelling means."""
        return cls.ALIASES.get(key, key)

    def problems(self) -> Iterator[Problem]:
        """Settings of this section that contradict one another. All are reported, not only the first."""
        return iter(())

    def checks(self) -> Iterator[Problem]:
        """The problems, and what is wrong by rules that all sections of this kind share."""
        yield from self.problems()


def _whole(value: Any) -> Any:
    """1e5 is a whole number to a person; 64.5 is not."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def upper(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


EXPLORATION_SPELLINGS = {"epsilon-greedy": "e-greedy", "epsilon_greedy": "e-greedy", "egreedy": "e-greedy",
                         "boltzmann": "softmax"}  # fmt: skip


def exploration(value: Any) -> Any:
    """Other spellings of exploration_type."""
    return EXPLORATION_SPELLINGS.get(value.lower(), value.lower()) if isinstance(value, str) else value


Exploration = Annotated[Literal["e-greedy", "softmax", "none"], BeforeValidator(exploration)]
ReplayKind = Annotated[Literal["REPLAY_QUE", "REPLAY", "PER", "PER_QUE"], BeforeValidator(upper)]


def listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Int = Annotated[int, BeforeValidator(_whole)]
PositiveInt = Annotated[Int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[float, Field(gt=0.0)]
NonNegative = Annotated[float, Field(ge=0.0)]

# ---------------------------------------------------------------------------------------------- layers

Activation = Annotated[
    Literal["relu", "tanh", "sigmoid", "softmax", "leakyrelu", "gelu", "silu", "elu", "none"],
    BeforeValidator(lower),
]
_Sizes = Annotated[list[PositiveInt], BeforeValidator(listed), Field(min_length=1)]


class Linear(Strict):
    """A fully connected layer; several sizes in layer_size make several layers."""

    ALIASES: ClassVar = {"layer_dim": "layer_size"}
    layer_type: Literal["linear"] = "linear"
    """linear"""
    layer_size: _Sizes
    """Number of outputs, as [256] or 256; [256, 128] makes two layers."""
    activation: Activation = "relu"
    """Function after each layer."""


class Conv2d(Strict):
    """A convolution over images of shape channels x height x width."""

    ALIASES: ClassVar = {"out_channels": "out_channel", "in_channels": "in_channel"}
    layer_type: Literal["conv2d"] = "conv2d"
    """conv2d"""
    out_channel: PositiveInt
    """Number of filters."""
    in_channel: PositiveInt | None = None
    """Number of input channels; null takes what the layer before gives, a number is checked against it."""
    kernel_size: PositiveInt = 4
    """Side of the square kernel, in pixels."""
    stride: PositiveInt = 4
    """Step of the kernel, in pixels."""
    padding: Annotated[Int, Field(ge=0)] = 0
    """Zeros added on each side, in pixels."""
    activation: Activation = "relu"
    """Function after the convolution."""


class Pooling(Strict):
    """The maximum or mean of each window of an image."""

    layer_type: Literal["pooling"] = "pooling"
    """pooling"""
    pooling_type: Annotated[Literal["max2d", "avg2d"], BeforeValidator(lower)] = "max2d"
    """max2d or avg2d."""
    kernel_size: PositiveInt = 2
    """Side of the window, in pixels."""
    stride: PositiveInt = 2
    """Step of the window, in pixels."""


class Flatten(Strict):
    """Makes a vector of an image. Inserted by itself where a linear layer follows an image."""

    layer_type: Literal["flatten"] = "flatten"
    """flatten"""


class Embed(Strict):
    """A table of vectors, for a Discrete observation. Only as the first layer."""

    layer_type: Literal["embed"] = "embed"
    """embed"""
    embedding_dim: PositiveInt
    """Length of each vector."""
    n_embeddings: PositiveInt | None = None
    """Number of rows; null takes the number of observations, a number is checked against it."""


class LayerNorm(Strict):
    """Layer normalisation over the features."""

    layer_type: Literal["layernorm"] = "layernorm"
    """layernorm"""
    activation: Activation = "none"
    """Function after the normalisation."""


class BatchRenorm(Strict):
    """Batch renormalisation: by the minibatch while learning from it, by running statistics otherwise."""

    layer_type: Literal["batchrenorm"] = "batchrenorm"
    """batchrenorm"""
    momentum: Annotated[float, Field(gt=0.0, le=1.0)] = 0.01
    """Share of the newest minibatch in the running mean and deviation."""
    warmup: Annotated[Int, Field(ge=0)] = 100_000
    """Minibatches before the running statistics count while learning; until then it is batch normalisation."""
    r_max: Annotated[float, Field(ge=1.0)] = 3.0
    """Largest ratio of the minibatch's deviation to the running one that is corrected for."""
    d_max: NonNegative = 5.0
    """Largest distance of the minibatch's mean from the running one, in running deviations, that is corrected for."""


class NoisyLinear(Strict):
    """A fully connected layer with noise of learned size on its weights: exploration for value networks."""

    ALIASES: ClassVar = {"layer_dim": "layer_size"}
    layer_type: Literal["noisy_linear"] = "noisy_linear"
    """noisy_linear"""
    layer_size: _Sizes
    """Number of outputs, as [256] or 256; [256, 128] makes two layers."""
    activation: Activation = "relu"
    """Function after each layer."""
    std_init: Positive = 0.5
    """Size of the noise at the start, divided by the root of the number of inputs."""


class Lstm(Strict):
    """A long short-term memory: remembers over the steps of an episode."""

    ALIASES: ClassVar = {"layer_dim": "layer_size"}
    layer_type: Literal["lstm"] = "lstm"
    """lstm"""
    layer_size: _Sizes
    """Number of outputs, as [64] or 64; [64, 64] makes two layers."""


class Gru(Strict):
    """A gated recurrent unit: remembers over the steps of an episode, with fewer weights than an lstm."""

    ALIASES: ClassVar = {"layer_dim": "layer_size"}
    layer_type: Literal["gru"] = "gru"
    """gru"""
    layer_size: _Sizes
    """Number of outputs, as [64] or 64; [64, 64] makes two layers."""


class Dropout(Strict):
    """Random zeros while learning; inactive while acting."""

    layer_type: Literal["dropout"] = "dropout"
    """dropout"""
    rate: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.1
    """Share of values set to zero."""


def _lower_layer_type(value: Any) -> Any:
    return (
        {**value, "layer_type": lower(value["layer_type"])}
        if isinstance(value, dict) and "layer_type" in value
        else value
    )


Layer = Annotated[
    Annotated[
        Linear | NoisyLinear | Conv2d | Pooling | Flatten | Embed | Lstm | Gru | LayerNorm | BatchRenorm | Dropout,
        Field(discriminator="layer_type"),
    ],
    BeforeValidator(_lower_layer_type),
]
Layers = list[Layer]


def mlp(*sizes: int, activation: Activation = "relu") -> Layers:
    """The default of a layer list: fully connected layers of these sizes."""
    return [Linear(layer_size=[size], activation=activation) for size in sizes]


# ------------------------------------------------------------------------------------- what memory is wanted


@dataclass(frozen=True)
class ReplaySpec:
    """A ring of transitions, from which minibatches are drawn as often as the ratio says."""

    capacity: int
    """Transitions kept, over all rows."""
    batch_size: int
    warmup: int
    """Transitions collected before the first update."""
    updates_per_step: float
    """Gradient updates per collected transition: one process and a cluster learn at this same ratio."""
    n_step: int = 1
    gamma: float = 0.99
    fragment: int = 1
    """Steps of the vector environment between two looks at the memory."""
    priority_alpha: float = 0.0
    """0 draws uniformly; above 0, in proportion to priority ** alpha."""
    priority_beta: float = 0.4
    """Exponent of the importance weights at the start; it rises to 1 with the run's progress."""
    priority_epsilon: float = 1e-6
    sequence: int = 1
    """Steps of a sample. Above 1, a sample is a piece of one row's history, [L, B, ...], with the policy's `state`
    [B, S] before it and `first` [L, B], true where an episode begins inside of it."""
    relabel: float = 0.0
    """Share of the samples whose goal is replaced by one that was reached later in the same episode; for an
    environment with goals, with n_step 1 and sequence 1."""


@dataclass(frozen=True)
class RolloutSpec:
    """A window of fresh steps, learned from for some epochs and then dropped."""

    length: int
    """Steps of the vector environment in a window; with unit episodes, complete episodes in it."""
    epochs: int = 1
    minibatch: int | None = None
    """Samples of a minibatch; None is the whole window at once."""
    unit: Literal["steps", "episodes"] = "steps"
    """episodes: each row's part of the window ends where its last complete episode does; `valid` marks it."""
    overlap: int = 0
    """Steps at the end of a window that are also the beginning of the next."""
    sequence: int = 1
    """Steps of a sample. Above 1, it divides length; a sample is a piece of one row, [L, B, ...], with the policy's
    `state` [B, S] before it and `first` [L, B], true where an episode begins inside of it. 0 is the whole window."""

    @property
    def fragment(self) -> int:
        return self.length if self.unit == "steps" else 1

    @classmethod
    def of_transitions(
        cls, count: int, rows: int, epochs: int = 1, minibatch: int | None = None, sequence: int = 1
    ) -> "RolloutSpec":
        """A window of so many transitions over all rows, in whole sequences; minibatch counts transitions too."""
        length = max(1, count // rows // sequence) * sequence
        return cls(length, epochs, minibatch and max(1, minibatch // sequence), sequence=sequence)


MemorySpec = ReplaySpec | RolloutSpec

# ------------------------------------------------------------------------------------ sections of algo and env


class AlgoConfig(Strict):
    """What every algorithm's section has."""

    ACTION_SPACES: ClassVar[tuple[str, ...]]
    """Names of the gymnasium action spaces that the algorithm can act in."""
    OBSERVATION_SPACES: ClassVar[tuple[str, ...]] = ("Box", "Discrete", "MultiDiscrete", "MultiBinary")

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

    def checks(self) -> Iterator[Problem]:
        yield from super().checks()
        for key, value in self.FIXED.items():
            if getattr(self, key) != value:
                yield Problem(key, f"is {value} in this algorithm; another value makes it another one of its family")


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
    """Subtract the running mean of the observations and divide by their deviation. Learned from all rows, saved
    with the weights, frozen in evaluation and test. Observations that are choices (Discrete) stay as they are."""

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

    def _layers(self) -> Iterator[tuple[str, Layer]]:
        """Every layer of every list, and the setting where it stands."""
        for key in type(self).model_fields:
            value = getattr(self, key)
            lists = value.values() if isinstance(value, dict) else [value]
            yield from ((key, layer) for one in lists if isinstance(one, list) for layer in one)

    def remembers(self) -> bool:
        """Whether a layer carries something from one step to the next."""
        return any(isinstance(layer, Lstm | Gru) for _, layer in self._layers())


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
        if self.epsilon_end > self.epsilon_start:
            yield Problem("epsilon_end", f"{self.epsilon_end} is more than epsilon_start, {self.epsilon_start}")


class EnvConfig(Strict):
    """What every environment's section has. Other keys are passed to the environment's constructor."""

    render_mode: Literal["human", "rgb_array"] | None = None
    """null: nothing; human: a window; rgb_array: videos/video.gif, without a display."""
    n_envs: PositiveInt = 1
    """Environments stepped together (rows); under ray, per worker."""
    action_mask: bool = True
    """Obey `action_mask`, where the environment gives one in its info or in a Dict observation; false ignores it."""
