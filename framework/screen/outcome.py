"""States of runs, and how they have ended, as they are shown: files and results in Python have them in English."""

from config.tell.language import english, reworded

STATES = (
    english("waiting"),
    english("running"),
    english("finished"),
    english("stopped"),
    english("interrupted"),
    english("paused"),
    english("replaced"),
    english("failed"),
    english("not started"),
    english("failed (status {status})"),
)
"""States of runs and trials, in a table and on a page."""
OUTCOMES = (
    english("{limit} {value} reached"),
    english("paused at step {step}"),
    english("closed by the program"),
    english("failed: {error}"),
    english("filmed episode {number} of {run}"),
    english("the function has returned"),
    english("trained; the environment hung at the end"),
)
"""Ends of runs, in run.json and in results."""


def shown(outcome: str) -> str:
    """Returns a state or an outcome in the language of this process."""
    return reworded(outcome, (*STATES, *OUTCOMES))
