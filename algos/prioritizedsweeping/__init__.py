"""Prioritized sweeping with a table (Moore and Atkeson, 1993): planning where values change most."""

from algos.prioritizedsweeping.config import Config as Config

NAME = "PrioritizedSweeping"
ALIASES = ("Prioritized_sweeping",)
