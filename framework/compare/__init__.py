"""Comparison of runs: which belong together, what their scores say, and what is within noise."""
