"""Layers of a network, as they are listed in the configuration."""

import sys
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from config.model.fields import Int, NonNegative, Positive, PositiveInt, Strict, listed, lower
from config.own import objects as own
from config.tell.language import tr

Activation = Annotated[
    Literal["relu", "tanh", "sigmoid", "softmax", "leakyrelu", "gelu", "silu", "elu", "none"],
    BeforeValidator(lower),
]
_Sizes = Annotated[list[PositiveInt], BeforeValidator(listed), Field(min_length=1)]


def terse(layer: Any, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
    """Returns the settings of a layer as they are written: those that are in its RARE only if they are not the
    default."""
    fields, values = type(layer).model_fields, handler(layer)
    return {key: value for key, value in values.items() if key not in layer.RARE or value != fields[key].default}


class Shareable(BaseModel):
    """A layer with weights."""

    RARE: ClassVar[tuple[str, ...]] = ("shared", "frozen")

    @model_serializer(mode="wrap")
    def _terse(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return terse(self, handler)

    shared: Annotated[str, Field(min_length=1)] | None = None
    """Name under which networks share the weights of this layer: all layers of the run with this name are one. null:
    the layer has weights of its own."""
    frozen: bool = False
    """With shared: this network does not change the weights, and no gradient flows through the layer to those before
    it; other networks that share it do."""

    @model_validator(mode="after")
    def _frozen_is_shared(self) -> "Shareable":
        if self.frozen and not self.shared:
            raise ValueError(tr("frozen needs shared: no other network would change these weights"))
        return self


class Linear(Strict, Shareable):
    """A fully connected layer; several sizes in layer_size make several layers."""

    RARE = (*Shareable.RARE, "bias")
    ALIASES: ClassVar = {"layer_dim": "layer_size"}
    layer_type: Literal["linear"] = "linear"
    """linear"""
    layer_size: _Sizes
    """Number of outputs, as [256] or 256; [256, 128] makes two layers."""
    activation: Activation = "relu"
    """Function after each layer."""
    bias: bool = True
    """Add a learned number to each output; false where a normalization with a shift follows."""


class Conv2d(Strict, Shareable):
    """A convolution over images of shape channels x height x width."""

    RARE = (*Shareable.RARE, "spectral_norm")
    ALIASES: ClassVar = {"out_channels": "out_channel", "in_channels": "in_channel"}
    layer_type: Literal["conv2d"] = "conv2d"
    """conv2d"""
    out_channel: PositiveInt
    """Number of filters."""
    in_channel: PositiveInt | None = None
    """Number of input channels, which is checked; null: the number of output channels of the layer before."""
    kernel_size: PositiveInt = 4
    """Side of the square kernel, in pixels."""
    stride: PositiveInt = 4
    """Step of the kernel, in pixels."""
    padding: Annotated[Int, Field(ge=0)] = 0
    """Zeros added on each side, in pixels."""
    activation: Activation = "relu"
    """Function after the convolution."""
    spectral_norm: bool = False
    """Divide the weights by their largest singular value, which limits how much the layer can amplify a change."""


class Pooling(Strict):
    """The maximum or mean of each window of an image."""

    RARE: ClassVar[tuple[str, ...]] = ("padding", "output_size")

    @model_serializer(mode="wrap")
    def _terse(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return terse(self, handler)

    layer_type: Literal["pooling"] = "pooling"
    """pooling"""
    pooling_type: Annotated[Literal["max2d", "avg2d"], BeforeValidator(lower)] = "max2d"
    """max2d or avg2d."""
    kernel_size: PositiveInt = 2
    """Side of the window, in pixels."""
    stride: PositiveInt = 2
    """Step of the window, in pixels."""
    padding: Annotated[Int, Field(ge=0)] = 0
    """Rows added on each side, in pixels; at most half of kernel_size."""
    output_size: PositiveInt | None = None
    """Height and width of the result, for windows that divide images of any size evenly (adaptive pooling). null: by
    kernel_size, stride and padding."""

    @model_validator(mode="after")
    def _one_rule(self) -> "Pooling":
        fields = type(self).model_fields
        if self.output_size and any(
            getattr(self, key) != fields[key].default for key in ("kernel_size", "stride", "padding")
        ):
            raise ValueError(tr("output_size chooses the windows; leave kernel_size, stride and padding out"))
        return self


class Flatten(Strict):
    """Turns an image into a vector. Inserted automatically if a linear layer follows an image."""

    layer_type: Literal["flatten"] = "flatten"
    """flatten"""


class Embed(Strict, Shareable):
    """Embedding: a table of vectors for a Discrete observation. Only as the first layer."""

    layer_type: Literal["embed"] = "embed"
    """embed"""
    embedding_dim: PositiveInt
    """Length of each vector."""
    n_embeddings: PositiveInt | None = None
    """Number of rows; null takes the number of observations, a number is checked against it."""


class Parts(Strict):
    """The parts of a Dict or Tuple observation that this network sees, such as those that a robot can measure. Only as
    the first layer."""

    layer_type: Literal["parts"] = "parts"
    """parts"""
    names: Annotated[list[str], BeforeValidator(listed), Field(min_length=1)]
    """Names of the parts, as in branches."""


class LayerNorm(Strict, Shareable):
    """Layer normalization over the features."""

    layer_type: Literal["layernorm"] = "layernorm"
    """layernorm"""
    activation: Activation = "none"
    """Function after the normalization."""


class BatchRenorm(Strict, Shareable):
    """Batch renormalization: by minibatch statistics in training, by running statistics otherwise."""

    layer_type: Literal["batchrenorm"] = "batchrenorm"
    """batchrenorm"""
    momentum: Annotated[float, Field(gt=0.0, le=1.0)] = 0.01
    """Weight of the newest minibatch in the running mean and deviation."""
    warmup: Annotated[Int, Field(ge=0)] = 100_000
    """Number of minibatches of plain batch normalization before running statistics are used in training."""
    r_max: Annotated[float, Field(ge=1.0)] = 3.0
    """Maximum ratio of the minibatch's deviation to the running one that is corrected for."""
    d_max: NonNegative = 5.0
    """Maximum distance of the minibatch's mean from the running one, in running deviations, that is corrected for."""


class BatchNorm(Strict, Shareable):
    """Batch normalization: by minibatch statistics in training, by running statistics otherwise. Critics see an
    observation and its successor in one minibatch, so that both are normalized alike."""

    layer_type: Literal["batchnorm"] = "batchnorm"
    """batchnorm"""
    activation: Activation = "none"
    """Function after the normalization."""
    momentum: Annotated[float, Field(gt=0.0, le=1.0)] = 0.01
    """Weight of the newest minibatch in the running mean and variance."""


class RmsNorm(Strict, Shareable):
    """Division of the features by the root of their mean square (RMSNorm): layer normalization without a mean."""

    layer_type: Literal["rmsnorm"] = "rmsnorm"
    """rmsnorm"""
    activation: Activation = "none"
    """Function after the normalization."""


class Function(Strict):
    """An activation function alone, for one that comes before a layer."""

    layer_type: Literal["activation"] = "activation"
    """activation"""
    activation: Activation = "relu"
    """The function."""


class NoisyLinear(Strict, Shareable):
    """A fully connected layer with learned noise on its weights (NoisyNet): exploration for value networks."""

    RARE = (*Shareable.RARE, "bias")
    ALIASES: ClassVar = {"layer_dim": "layer_size"}
    layer_type: Literal["noisy_linear"] = "noisy_linear"
    """noisy_linear"""
    layer_size: _Sizes
    """Number of outputs, as [256] or 256; [256, 128] makes two layers."""
    activation: Activation = "relu"
    """Function after each layer."""
    std_init: Positive = 0.5
    """Initial size of the noise, divided by the square root of the number of inputs."""
    bias: bool = True
    """Add a learned number, with noise of its own, to each output."""


class Lstm(Strict, Shareable):
    """Long short-term memory: a recurrent layer with state over the steps of an episode."""

    ALIASES: ClassVar = {"layer_dim": "layer_size"}
    layer_type: Literal["lstm"] = "lstm"
    """lstm"""
    layer_size: _Sizes
    """Number of outputs, as [64] or 64; [64, 64] makes two layers."""


class Gru(Strict, Shareable):
    """Gated recurrent unit: a recurrent layer like lstm, with fewer weights."""

    ALIASES: ClassVar = {"layer_dim": "layer_size"}
    layer_type: Literal["gru"] = "gru"
    """gru"""
    layer_size: _Sizes
    """Number of outputs, as [64] or 64; [64, 64] makes two layers."""


class Attention(Strict, Shareable):
    """Attention over the last steps: a transformer layer whose recurrent state is the window of steps that it sees."""

    layer_type: Literal["attention"] = "attention"
    """attention"""
    layer_size: _Sizes
    """Number of outputs, as [64] or 64; [64, 64] makes two layers."""
    window: Annotated[Int, Field(ge=2)] = 16
    """Number of steps that each step sees, of its own episode, the last of which is itself."""
    heads: PositiveInt = 4
    """Number of places that a step looks at separately; divides layer_size."""

    @model_validator(mode="after")
    def _divisible(self) -> "Attention":
        if any(size % self.heads for size in self.layer_size):
            raise ValueError(tr("heads is {heads}, which does not divide layer_size", heads=self.heads))
        return self

    def state_of(self, size: int) -> int:
        """Returns the numbers of state of a layer of this size: the features of the steps before, and for each a 1 if
        it is of the same episode."""
        return (self.window - 1) * (size + 1)


class Custom(Strict, Shareable):
    """A layer of your own: a torch.nn.Module that is made as Class(in_shape, **options), from [B, *in_shape] to
    [B, width]. One with state_size and run is recurrent."""

    layer_type: Literal["custom"] = "custom"
    """custom"""
    module: Annotated[str, Field(min_length=1)]
    """Class as my_module:MyLayer, which needs --allow-import my_module."""
    options: dict[str, Any] = {}
    """Arguments of its constructor after the shape of its input."""


class Dropout(Strict):
    """Sets random values to zero in training; inactive while acting."""

    layer_type: Literal["dropout"] = "dropout"
    """dropout"""
    rate: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.1
    """Fraction of values set to zero."""


class Residual(Strict):
    """A residual block: its input plus what its layers make of it, x + layers(x). They keep the shape."""

    layer_type: Literal["residual"] = "residual"
    """residual"""
    layers: "Annotated[Layers, Field(min_length=1)]"
    """Layers of the block, which keep the shape; without lstm, gru, embed, parts and flatten ones."""


class ImpalaCnn(Strict, Shareable):
    """The residual network for images of IMPALA: for each number of channels a 3 x 3 convolution, a maximum over
    3 x 3 windows at half the resolution, and two residual blocks of two 3 x 3 convolutions."""

    layer_type: Literal["impala_cnn"] = "impala_cnn"
    """impala_cnn"""
    channels: _Sizes = [16, 32, 32]
    """Number of filters of each stage, every one of which halves height and width."""
    spectral_norm: bool = False
    """Divide the weights of the residual blocks' convolutions by their largest singular value."""


def _lower_layer_type(value: Any) -> Any:
    return (
        {**value, "layer_type": lower(value["layer_type"])}
        if isinstance(value, dict) and "layer_type" in value
        else value
    )


Layer = Annotated[
    Annotated[
        Linear
        | NoisyLinear
        | Conv2d
        | Pooling
        | Flatten
        | Embed
        | Parts
        | Lstm
        | Gru
        | Attention
        | LayerNorm
        | RmsNorm
        | BatchNorm
        | BatchRenorm
        | Function
        | Residual
        | ImpalaCnn
        | Dropout
        | Custom,
        Field(discriminator="layer_type"),
    ],
    BeforeValidator(_lower_layer_type),
]
Layers = list[Layer]
Residual.model_rebuild()


def mlp(*sizes: int, activation: Activation = "relu") -> Layers:
    """Returns fully connected layers of these sizes, as the default of a layer list."""
    return [Linear(layer_size=[size], activation=activation) for size in sizes]


def flat(layers: Layers) -> Iterator[Layer]:
    """Yields all layers of a list, a residual block followed by the layers within it."""
    for layer in layers:
        yield layer
        if isinstance(layer, Residual):
            yield from flat(layer.layers)


# facts about layers, known without importing torch ----------------------------------------------------------


def is_recurrent(layer: Layer) -> bool:
    """Returns True if the layer carries a state from step to step; a custom one does if its class has `run`."""
    if not isinstance(layer, Custom):
        return isinstance(layer, Lstm | Gru | Attention)
    try:
        return callable(getattr(own.find(layer.module), "run", None))
    except own.OwnError:
        return False


def state_size(layer: Layer) -> int:
    """Returns the numbers of state of a recurrent layer by its settings or its class; 0 for any other."""
    if isinstance(layer, Lstm | Gru):
        return sum(layer.layer_size) * (2 if isinstance(layer, Lstm) else 1)
    if isinstance(layer, Attention):
        return sum(map(layer.state_of, layer.layer_size))
    if not isinstance(layer, Custom) or not is_recurrent(layer):
        return 0
    size = getattr(own.find(layer.module), "state_size", 0)
    return size if isinstance(size, int) else 0


def custom_problems(layer: Custom) -> Iterator[str]:
    """Yields what is wrong with the class of a custom layer, and with its options."""
    try:
        kind: Any = own.find(layer.module)
    except own.OwnError as error:
        yield str(error)
        return
    torch = sys.modules.get("torch")  # loaded by the module of the class, if that is a torch.nn.Module
    if not isinstance(kind, type) or torch is None or not issubclass(kind, torch.nn.Module):
        yield tr("{module} is not a class that inherits from torch.nn.Module", module=layer.module)
        return
    if "num_outputs" in {parameter.name for parameter in own.parameters_of(kind) or ()}:
        yield tr(
            "{module} is made as a model of RLlib; a layer is made as Class(in_shape, **options), gives its features, "
            "and the output layer follows by itself (docs/networks.md, Custom layers)",
            module=layer.module,
        )
        return
    for key, message, *_ in own.keyword_problems(kind, layer.options, skip=1):
        yield f"{layer.module}: options: {key}: {message}"
