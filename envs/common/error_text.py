"""Errors of environments in words: what was raised, at which line, and what a function should have returned."""

import traceback
from pathlib import Path
from typing import Any

import numpy as np

from config.own.lines import last_line
from config.tell.language import tr

_CHECKS = str(Path(__file__).parent)
"""Folder of the files that look at what an environment returns."""


def described(error: BaseException) -> str:
    """Returns type, text and code line of an error of the environment; no line if a check of this program raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    if frames and frames[-1].filename.startswith(_CHECKS):
        if mend := _unfit(frames, error):
            return mend
        frames.clear()
    place = ""
    if frames:  # in a function of a package, too, the user's line is the one to look at first
        file, number = last_line(error)
        place = f" at {Path(file).name}:{number}"
    text = str(error)
    if isinstance(error, NotImplementedError) and frames and not text:
        text = tr("the class has no method {name}", name=frames[-1].name)
    if isinstance(error, SystemExit):
        return tr("the environment called sys.exit({code})", code=error.code) + place
    return ": ".join(filter(None, (type(error).__name__, text))) + place


def _unfit(frames: traceback.StackSummary, error: BaseException) -> str:
    """Returns what reset or step has to return, if something else came; empty if that was not it. The line of this
    program that failed tells which part was missing: to look at each value of each step would cost time."""
    line = frames[-1].line or ""
    if isinstance(error, TypeError | OverflowError) and "isfinite(reward)" in line:
        return tr("the reward is no number ({error})", error=error)
    if isinstance(error, KeyError) and "getitem" in line:
        return tr("the observation has no part {part!r}", part=error.args[0])
    if isinstance(error, AttributeError) and error.obj is None and "info." in line:
        return tr("info is None; return {} when there is nothing to say")
    if not isinstance(error, TypeError | ValueError) or "unpack" not in str(error) or "self.env." not in line:
        return ""
    if ".reset(" in line:
        return tr("reset has to return two values, obs and info ({error})", error=error)
    return tr("step has to return five values, obs, reward, terminated, truncated and info ({error})", error=error)


def short(value: Any, limit: int = 200) -> str:
    with np.printoptions(legacy="1.21"):  # a number within a dict or a list is 1, not np.int64(1)
        text = " ".join(str(value).split())
    return text if len(text) <= limit else f"{text[:limit]}..."
