"""Words that are no flags: the name of a run, and settings, which a flag may set too."""

import argparse
from collections.abc import Iterator, Mapping

from config.foreign import flags as foreign_flags
from config.model import SECTIONS
from config.program import PROGRAM
from config.read.stores import MODEL
from config.tell.language import tr

TWICE = (
    ("seeds", "general_cfg.seed", tr("the seed")),
    ("algo", "general_cfg.algo_name", tr("the algorithm")),
    ("env", "env_cfg.id", tr("the environment")),
    ("test", "general_cfg.load_path", tr("the run")),
    ("resume", "general_cfg.load_path", tr("the run")),
    ("test", "general_cfg.load_checkpoint", tr("whether a run is loaded")),
    ("resume", "general_cfg.load_checkpoint", tr("whether a run is loaded")),
    ("test", "general_cfg.mode", tr("the mode")),
    ("resume", "general_cfg.mode", tr("the mode")),
    ("video", "env_cfg.render_mode", tr("the rendering")),
    ("episodes", "general_cfg.max_episode", tr("the number of episodes")),
    ("model", "general_cfg.load_model_step", tr("the model")),
    ("checkpoint_freq", "general_cfg.model_save_fre", tr("the interval between checkpoints")),
)
"""Flag, the setting that means the same, and what both name."""

OF_FILM = {
    "--worst --grid --episode": tr("--worst, --grid and --episode are for: {program} film NAME", program=PROGRAM)
}
OF_ONE_RUN = {
    "--pause-at-step": tr("--pause-at-step is for training one run; leave out --test and --seeds, and bench"),
    "--no-evaluation": tr("--no-evaluation is for training one run; leave out --test and --seeds, and bench"),
}
OF_TRAINING = {"--keep-alive": tr("--keep-alive is for training; leave out --test")}
OF_TEST = {
    "--resume --seeds --algo": tr("--test plays the model of one run; leave out --resume, --seeds and --algo"),
    **OF_ONE_RUN,
    **OF_TRAINING,
}
OF_RESUME = {
    "--algo --run --env": tr("a resume keeps the run's own algorithm and environment; leave out --algo and --env"),
    "--into": tr("--resume continues in the run's own folder; leave out --into"),
    "--seeds": tr(
        "--resume continues runs that have begun, or a group that has its own seeds, and --seeds starts others; leave "
        "--seeds out, or train further seeds as a new group, and take both as one: {program} compare GROUP+NEW OTHER",
        program=PROGRAM,
    ),
}
OF_GROUP = {
    "--yaml --env --config --stop --video --checkpoint-freq --profile": tr(
        "a group keeps its own settings; leave out --yaml, --env, --config, --stop, --video, --checkpoint-freq and "
        "--profile"
    ),
    "--pause-at-step --no-evaluation": tr("--pause-at-step and --no-evaluation are for training one run"),
}
"""Flags that exclude another one, and why."""


keys = foreign_flags.keys_of


def twice(request: argparse.Namespace) -> Iterator[str]:
    """Yields flags and settings that mean the same."""
    for flag, key, what in TWICE:
        if getattr(request, flag, None) and key in keys(request):
            yield tr(
                "--{flag} and {key} both set {what}; leave one of them out",
                flag=flag.replace("_", "-"),
                key=key,
                what=what,
            )


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
        yield tr(
            "{word} needs the name of a run: {program} {word} NAME; {program} runs lists them",
            word=word,
            program=PROGRAM,
        )
    del request.overrides[0]
    checkpoint = MODEL.fullmatch(name.rstrip("/"))
    if checkpoint and flag != "resume":
        if request.model is not None:
            yield tr("{name} names a model, and --model another one; leave out --model", name=name)
        request.model = int(checkpoint[2]) if checkpoint[2].isdecimal() else checkpoint[2]
        name = checkpoint[1]
    setattr(request, flag, name)
