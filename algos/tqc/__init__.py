"""Truncated quantile critics (Kuznetsov et al., 2020)."""

from algos.tqc.config import Config

NAME = "TQC"
ALIASES = ()

__all__ = ["ALIASES", "NAME", "Config"]
