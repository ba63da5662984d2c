"""Words that are no flags: the name of a run, and settings, which a flag may set too."""

import argparse
import re
from collections.abc import Iterator, Mapping

from config.foreign import flags as foreign_flags
from config.model import SECTIONS
from config.program import PROGRAM

TWICE = (
    ("seeds", "general_cfg.seed", "seed"),
    ("algo", "general_cfg.algo_name", "algorithm"),
    ("env", "env_cfg.id", "environment"),
    ("test", "general_cfg.load_path", "run"),
    ("video", "env_cfg.render_mode", "rendering"),
    ("episodes", "general_cfg.max_episode", "number of episodes"),
    ("model", "general_cfg.load_model_step", "model"),
    ("checkpoint_freq", "general_cfg.model_save_fre", "interval between checkpoints"),
)
"""Flag, the setting that means the same, and what both name."""

OF_FILM = {"--worst --grid --episode": f"--worst, --grid and --episode are for: {PROGRAM} film NAME"}
OF_ONE_RUN = {
    "--pause-at-step": "--pause-at-step is for training one run; leave out --test and --seeds, and bench",
    "--no-evaluation": "--no-evaluation is for training one run; leave out --test and --seeds, and bench",
}
OF_TEST = {
    "--resume --seeds --algo": "--test plays the model of one run; leave out --resume, --seeds and --algo",
    **OF_ONE_RUN,
}
OF_RESUME = {
    "--algo --run --env": "--resume keeps the run's own algorithm and environment; leave out --algo and --env",
    "--into": "--resume continues in the run's own folder; leave out --into",
    "--seeds": "--resume continues one run, and --seeds starts several; leave one of them out",
}
"""Flags that exclude another one, and why."""


def keys(request: argparse.Namespace) -> set[str]:
    """Returns the settings that are written as section.key=value."""
    return {word.partition("=")[0].strip() for word in request.overrides}


def twice(request: argparse.Namespace) -> Iterator[str]:
    """Yields flags and settings that mean the same."""
    for flag, key, noun in TWICE:
        if getattr(request, flag, None) and key in keys(request):
            yield f"--{flag.replace('_', '-')} and {key} both set the {noun}; leave one of them out"


def refusals(request: argparse.Namespace, sentences: Mapping[str, str]) -> Iterator[str]:
    """Yields the sentences of flags that are set."""
    for flags, sentence in sentences.items():
        if any(getattr(request, flag.lstrip("-").replace("-", "_"), None) for flag in flags.split()):
            yield sentence


def abbreviations(request: argparse.Namespace) -> Iterator[str]:
    """Stores the settings that flags stand for. Yields what is wrong with these flags."""
    yield from foreign_flags.problems(request)
    request.abbreviated = foreign_flags.settings(request)
    if request.profile:
        request.abbreviated.append(("--profile", "general_cfg.profile", True))


def take_name(request: argparse.Namespace, flag: str) -> Iterator[str]:
    """Reads `test NAME` as --test NAME, and so on: the name is the first word that is not a flag. Yields what is wrong
    with it. flag: test or resume."""
    name = next(iter(request.overrides), "")
    if not name.strip() or name.partition(".")[0] in SECTIONS:
        word = request.word
        yield f"{word} needs the name of a run: {PROGRAM} {word} NAME; {PROGRAM} runs lists them"
    del request.overrides[0]
    checkpoint = re.fullmatch(r"(.+)/models/(\d+|best|latest)/*", name)
    if checkpoint and flag != "resume":
        if request.model is not None:
            yield f"{name} names a model, and --model another one; leave out --model"
        request.model = int(checkpoint[2]) if checkpoint[2].isdecimal() else checkpoint[2]
        name = checkpoint[1]
    setattr(request, flag, name)
