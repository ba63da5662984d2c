"""Faster ways to compute the same numbers, up to rounding."""
