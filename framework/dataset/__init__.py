"""Data files of collected experience: any of the formats in, pieces of transitions out. Never runs code."""

from framework.dataset.data import Dataset, open_data

__all__ = ["Dataset", "open_data"]
