"""Values of any kind as tensors, and as arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from config.tell.language import tr
from framework.data.batch import Batch, converted
from framework.data.values import brief


def to_torch(value: Any, dtype: torch.dtype | None = None, device: str | torch.device = "cpu") -> Any:
    """Returns numbers, arrays and lists as a tensor; mappings and Batches with tensors in place of their values.

    TypeError for text, None and arrays of other shapes than one, which are no tensor.
    """
    if not isinstance(dtype, torch.dtype | None):
        raise TypeError(tr("to_torch: dtype: got {dtype!r}; expected one of torch, such as torch.float32", dtype=dtype))
    if isinstance(value, Batch | Mapping):
        return _mapped(value, lambda inner: to_torch(inner, dtype, device))
    array = converted(value) if isinstance(value, list | tuple) else value
    if isinstance(array, Batch):
        return to_torch(array, dtype, device)
    if not isinstance(array, Tensor):
        array = np.asarray(array)
        if array.dtype.kind not in "biufc":
            raise TypeError(
                tr("to_torch: {value} is not a number or an array of numbers of one shape", value=brief(value))
            )
    return torch.as_tensor(array, dtype=dtype, device=device)


def to_numpy(value: Any) -> Any:
    """Returns numbers, tensors and lists as an array; mappings and Batches with arrays in place of their values.

    Everything else becomes an array of one object. TypeError for tensors of several shapes.
    """
    if isinstance(value, Batch | Mapping):
        return _mapped(value, to_numpy)
    if isinstance(value, list | tuple):
        value = converted([item.detach().cpu().numpy() if isinstance(item, Tensor) else item for item in value])
        if isinstance(value, Batch):
            return to_numpy(value)
        if value.dtype == object and any(isinstance(item, np.ndarray) for item in value):
            shapes = ", ".join(str(np.shape(item)) for item in value)
            raise TypeError(tr("to_numpy: the shapes {shapes} make no array; pad them to one shape", shapes=shapes))
    return value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)


def _mapped(values: Any, function: Any) -> Any:
    """Returns a Batch or a dict with function(value) in place of each value."""
    changed = {key: function(inner) for key, inner in values.items()}
    return Batch(changed) if isinstance(values, Batch) else changed
