"""Truncated quantile critics (Kuznetsov et al., 2020)."""

from algos.tqc.config import Config as Config

NAME = "TQC"
