"""Former place of framework/record/tensorboard.py."""

from framework.record.tensorboard import TensorBoard

__all__ = ["TensorBoard"]
