"""Arrays on the device that learns."""

import numpy as np
import pytest
import torch

from algos.common.fast import tensors


class Elsewhere:
    """Stands for a GPU, to which copies are made."""

    type = "elsewhere"


def test_columns_go_to_a_gpu_in_one_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    copies = []
    monkeypatch.setattr(torch.Tensor, "to", lambda self, device, non_blocking: copies.append(self) or self.clone())
    there = torch.ones(2)
    columns = {
        "obs": np.arange(6.0).reshape(2, 3).astype(np.float32),
        "done": np.array([True, False, True]),
        "action": np.arange(8)[::3],
        "image": np.arange(54, dtype=np.uint8).reshape(2, 3, 9)[:, ::2],
        "none": np.zeros((0, 4), np.float32),
        "frames": there,
    }
    found = tensors.columns_on_device(columns, Elsewhere())  # type: ignore[arg-type]
    assert len(copies) == 1
    assert list(found) == list(columns)
    assert found["frames"] is there
    for name, column in columns.items():
        np.testing.assert_array_equal(found[name].numpy(), column)
        assert found[name].dtype == torch.as_tensor(column).dtype
        if name != "frames" and column.size:
            assert (found[name].data_ptr() - found["obs"].data_ptr()) % tensors.ALIGNED == 0
