"""Former place of framework/dataset/trajectories.py."""

from framework.dataset.trajectories import read

__all__ = ["read"]
