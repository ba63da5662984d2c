"""Sentences in run.json, which has them in English, and how they are shown."""

from config.tell.language import english, reworded

COMPARED_SAME = english("first {count} episodes: {same}; online evaluation gave {mean}, the same")
COMPARED_OTHER = english("first {count} episodes: {same}; online evaluation gave {mean}, not the same")
"""Score of a test beside that of the training."""
CHANGES = {
    "device": english("device"),
    "torch_threads": english("torch threads: {before} -> {now}"),
    "torch": english("torch version: {before} -> {now}"),
    "numpy": english("numpy version: {before} -> {now}"),
    "gymnasium": english("gymnasium version: {before} -> {now}"),
    "machine": english("processor architecture: {before} -> {now}"),
    "cpu_capability": english("vector instructions: {before} -> {now}"),
    "kernels": english("kernels: {before} -> {now}"),
    "fast": english("faster parts: {before} -> {now}"),
    "mp_backend": "mp_backend: {before} -> {now}",
    "n_workers": "n_workers: {before} -> {now}",
    "n_learners": "n_learners: {before} -> {now}",
    "run_ahead": "run_ahead: {before} -> {now}",
    "compile": english("compiled updates: {before} -> {now}"),
    "compiler": english("C++ compiler: {before} -> {now}"),
}
"""Fact that the last bits of a result depend on -> what is said of a change."""
ROWS = english("the running episodes of rows {rows} could not be repeated and start again")
ALL_ROWS = english("the running episodes of all rows could not be repeated and start again")
SUMS = english("sums on {device} differ in their last bits")
AHEAD = english("workers run ahead of the learner (run_ahead {run_ahead})")
UNRECORDED = english("the checkpoint does not record the versions and the device that it was made with")
CHANGED_ONCE = english("environments were changed by foreach_env at step {step}")
CHANGED = english("environments were changed by foreach_env {count} times, the last time at step {step}")
UNSEEDED = english("the environment draws random numbers that the seeds of its episodes do not decide")
DRAWN = english("custom layers draw random numbers while they act, which no seed of the run decides: {layers}")
CODE = english("code of your own has changed: {files}")
INEXACT = (ROWS, ALL_ROWS, SUMS, AHEAD, UNRECORDED, CHANGED_ONCE, CHANGED, UNSEEDED, DRAWN, CODE, *CHANGES.values())
"""Reasons why a resume is not exact."""


def shown(sentence: str) -> str:
    """Returns one of these sentences, with its values, in the language of the reader; any other as it is."""
    return reworded(sentence, (COMPARED_SAME, COMPARED_OTHER, *INEXACT))
