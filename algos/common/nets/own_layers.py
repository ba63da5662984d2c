"""Facts about layers, known without importing torch: which are recurrent, and what is wrong with custom ones."""

import sys
from collections.abc import Iterator
from typing import Any

from config.model.layers import Custom, Gru, Layer, Lstm
from config.own import objects as own
from config.tell.language import tr


def is_recurrent(layer: Layer) -> bool:
    """Returns True if the layer carries a state from step to step; a custom one does if its class has `run`."""
    if not isinstance(layer, Custom):
        return isinstance(layer, Lstm | Gru)
    try:
        return callable(getattr(own.find(layer.module), "run", None))
    except own.OwnError:
        return False


def state_size(layer: Layer) -> int:
    """Returns the numbers of state of a recurrent layer by its settings or its class; 0 for any other."""
    if isinstance(layer, Lstm | Gru):
        return sum(layer.layer_size) * (2 if isinstance(layer, Lstm) else 1)
    if not isinstance(layer, Custom) or not is_recurrent(layer):
        return 0
    size = getattr(own.find(layer.module), "state_size", 0)
    return size if isinstance(size, int) else 0


def problems(layer: Custom) -> Iterator[str]:
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
    for key, message, *_ in own.keyword_problems(kind, layer.options, skip=1):
        yield f"{layer.module}: options: {key}: {message}"
