"""Strict models of the sections that can be set, and their types. Imports nothing heavy."""

SECTIONS = ("general_cfg", "algo_cfg", "env_cfg")
"""Sections of a file; policies are a section of their own each, policies_cfg.NAME."""
