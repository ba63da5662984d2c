"""Finds flags that exclude or need one another."""

import argparse
from collections.abc import Iterator

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

FORMATS = ("onnx", "safetensors")
"""Formats that export writes."""


def found(request: argparse.Namespace) -> Iterator[str]:
    """Yields what is wrong with flags that exclude or need one another."""
    if request.resume and (request.algo or request.env):
        yield "--resume keeps the run's own algorithm and environment; leave out --algo and --env"
    if request.resume and request.into:
        yield "--resume continues in the run's own folder; leave out --into"
    if request.resume and request.seeds:
        yield "--resume continues one run, and --seeds starts several; leave one of them out"
    if request.pause_at_step and (request.test or request.seeds or request.command == "bench"):
        yield "--pause-at-step is for training one run; leave out --test and --seeds, and bench"
    if request.no_evaluation and (request.test or request.seeds or request.command == "bench"):
        yield "--no-evaluation is for training one run; leave out --test and --seeds, and bench"
    played = request.command == "evaluate"
    if request.test and (request.resume or request.seeds or (request.algo and not played)):
        yield "--test plays the model of one run; leave out --resume, --seeds and --algo"
    keys = {word.partition("=")[0].strip() for word in request.overrides}
    for flag, key, what in TWICE:
        if getattr(request, flag) and key in keys:
            yield f"--{flag.replace('_', '-')} and {key} both set the {what}; leave one of them out"
    if request.no_render and request.word != "rollout":
        yield f"--no-render is for: {PROGRAM} rollout CHECKPOINT; env_cfg.render_mode=null renders nothing"
    yield from _of_playing(request)


def _of_playing(request: argparse.Namespace) -> Iterator[str]:
    """Yields what is wrong with the flags of test, film and evaluate."""
    if request.episodes and not request.test:
        yield f"--episodes is for test, film and evaluate; training ends at general_cfg.max_episode={request.episodes}"
    if request.model is not None and not request.test:
        yield "--model is for test, film and evaluate; another start of training is general_cfg.load_model_step"
    if request.steps and not request.test:
        rllib = f"after {request.steps} iterations of RLlib with --stop '{{\"training_iteration\": {request.steps}}}'"
        yield f"--steps is for evaluate; training ends at general_cfg.max_total_step={request.steps}, or {rllib}"
    if request.command != "evaluate" and request.steps:
        yield f"--steps is for: {PROGRAM} evaluate NAME"
    if request.command not in ("evaluate", "export") and request.out:
        yield f"--out is for: {PROGRAM} evaluate NAME, and {PROGRAM} export NAME"
    if request.command == "evaluate" and (request.video or request.into):
        yield "evaluate writes no task directory; leave out --video and --into, or use test or film"
    if request.record and request.command != "talk":
        yield f"--record is for: {PROGRAM} talk NAME"
    if request.command == "talk" and (request.video or request.into or request.episodes):
        yield "talk plays one dialogue and writes no task directory; leave out --video, --into and --episodes"
    yield from _of_filming(request)
    yield from _of_exporting(request)
    if request.steps and request.episodes:
        yield "--steps and --episodes both set how much is played; leave one of them out"


def _of_filming(request: argparse.Namespace) -> Iterator[str]:
    """Yields what is wrong with the flags of film."""
    if request.word != "film":
        if request.worst or request.grid or request.episode:
            yield f"--worst, --grid and --episode are for: {PROGRAM} film NAME"
    elif request.episode and (request.worst or request.grid or request.episodes or request.model is not None):
        yield "--episode films one episode of the training; leave out --worst, --grid, --episodes and --model"
    elif request.grid and request.episodes and request.episodes < (places := request.grid[0] * request.grid[1]):
        yield f"--grid shows {places} episodes; --episodes {request.episodes} plays fewer"


def _of_exporting(request: argparse.Namespace) -> Iterator[str]:
    """Yields what is wrong with the flags of export."""
    if request.command != "export":
        if request.to:
            yield f"--to is for: {PROGRAM} export NAME"
        if request.policy:
            where = "in training, algo_cfg.actor_layers describes the network, and policies_cfg several policies"
            yield f"--policy is for: {PROGRAM} export NAME; {where}"
    elif request.to not in FORMATS:
        given = f"--to {request.to} is not known" if request.to else "export needs --to"
        yield f"{given}: write --to {' or --to '.join(FORMATS)}"
    elif request.video or request.into or request.episodes:
        yield "export writes a file, and no task directory; leave out --video, --into and --episodes"
