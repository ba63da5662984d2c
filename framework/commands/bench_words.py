"""Flags of `python main.py bench`, and what excludes them."""

import argparse
from collections.abc import Iterator

REFUSED = (
    "resume", "test", "video", "seeds", "jobs", "into", "print_config", "dry_run", "model", "episodes", "steps", "out",
    "stop", "checkpoint_freq",
)  # fmt: skip
"""Flags of a run that measuring cannot follow."""
MOST = 64
"""Largest number of workers or rows in a list; more can only be a typing mistake of this one machine."""
SETTINGS = {
    "general_cfg.mp_backend": "--workers (0 is one process)",
    "general_cfg.n_workers": "--workers",
    "env_cfg.n_envs": "--envs",
}
"""Setting that is varied -> the flag that lists its values."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Adds the flags of bench to those of a run."""
    parser.set_defaults(command="bench")
    parser.add_argument(
        "--workers", metavar="0,1,2", type=_workers, default=(0, 1, 2), help="bench: numbers of workers"
    )
    parser.add_argument("--envs", metavar="1,4", type=_rows, default=(1, 4), help="bench: numbers of rows (n_envs)")
    parser.add_argument("--seconds", metavar="S", type=_seconds, default=5.0, help="bench: seconds for each (5)")


def problems(request: argparse.Namespace) -> Iterator[str]:
    """Yields what is wrong with flags and settings that bench decides itself."""
    for name in REFUSED:
        if getattr(request, name, None):
            yield f"bench trains for a few seconds and keeps nothing; leave out --{name.replace('_', '-')}"
    for word in request.overrides:
        key = word.partition("=")[0].strip()
        if flag := SETTINGS.get(key):
            yield f"bench varies {key}: leave it out, and list the values in {flag}"


def _workers(text: str) -> tuple[int, ...]:
    return _numbers(text, 0)


def _rows(text: str) -> tuple[int, ...]:
    return _numbers(text, 1)


def _numbers(text: str, least: int) -> tuple[int, ...]:
    """Returns the numbers of a list such as 1,2,4, without repetitions."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdecimal() and least <= int(word) <= MOST for word in words):
        raise argparse.ArgumentTypeError(f"invalid list {text!r}: use numbers from {least} to {MOST}, such as 1,2,4")
    return tuple(dict.fromkeys(map(int, words)))


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise argparse.ArgumentTypeError(f"invalid number of seconds {text!r}: use more than 0, and at most 3600")
    return seconds
