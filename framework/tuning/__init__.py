"""Tuning: draws of settings, trials, schedulers, and what they leave. Repeatable, whatever was killed in between."""
