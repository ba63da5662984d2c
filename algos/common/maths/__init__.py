"""Formulas without networks: returns, distributions, targets, statistics."""
