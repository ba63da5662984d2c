"""An algorithm whose updates take a known time, for benchmarks/ray_topology.py: algo_name benchmarks.slow_learning."""

from benchmarks.slow_learning.config import Config

NAME = "SlowLearning"
ALIASES = ()

__all__ = ["ALIASES", "NAME", "Config"]
