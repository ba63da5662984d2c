"""Flags of other libraries' training scripts: those of ConvLab-2, --batchsz B --epoch E --process_num P. Imports
nothing heavy, since the help shows them."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from config.read import arguments
from config.tell.language import tr

Abbreviated = tuple[str, str, Any]
"""Flag, the setting section.key that it stands for, and its value."""

HELP = {
    "batchsz": ("B", tr("as in ConvLab-2: algo_cfg.batch_size")),
    "epoch": ("E", tr("as in ConvLab-2: general_cfg.max_total_step, E times B")),
    "process_num": ("P", tr("as in ConvLab-2: above 1, as many workers of Ray")),
}


DATABASES = Path("multiwoz")
"""Folder in which the databases of MultiWOZ are looked for."""
SMALL = "mini"
"""Dialogues without them."""


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the flags to those of a run."""
    for name, (metavar, text) in HELP.items():
        parser.add_argument(f"--{name}", metavar=metavar, type=arguments.count, help=text)


def problems(request: argparse.Namespace) -> Iterator[str]:
    """Yields what is wrong with the flags beside the other words."""
    if request.epoch and not request.batchsz:
        yield tr(
            "--epoch E is E windows of --batchsz B; give both, or general_cfg.max_total_step=STEPS or "
            "general_cfg.max_iteration=N"
        )
    keys = keys_of(request)
    for flag, path, value in _of_flags(request):
        if path in keys:
            yield tr("{flag} sets {path}={value}; leave out one of the two", flag=flag, path=path, value=value)
        elif request.test:
            yield tr("{flag} is for training; a test has the settings of its run", flag=flag)


def keys_of(request: argparse.Namespace) -> set[str]:
    """Returns the settings that are written as section.key=value."""
    return {word.partition("=")[0].strip() for word in request.overrides}


def settings(request: argparse.Namespace) -> list[Abbreviated]:
    """Returns what the flags and a config.json stand for. Where no algorithm is named, it is that of the config.json;
    where no environment is named either, both are those of ConvLab-2's example."""
    flags = _of_flags(request)
    if request.word or not (flags or request.process_num or request.config):
        return flags
    from config.foreign import convlab  # heavy

    kind = convlab.kind_in(request.config) if request.config else None
    keys, loads = keys_of(request), request.yaml or request.resume or request.test or (request.config and not kind)
    if loads or request.algo or keys & {"general_cfg.algo_name", "general_cfg.preset", "general_cfg.load_path"}:
        return flags
    if request.env or keys & {"general_cfg.env_name", "env_cfg.id"}:
        request.algo = convlab.POLICIES.get(kind or "")
        return flags
    request.algo = convlab.POLICIES.get(kind or "", "PPO")
    flag = next((f"--{name}" for name in HELP if getattr(request, name)), "--config")
    return [*((flag, path, value) for path, value in example(request.algo).items() if path not in keys), *flags]


def _of_flags(request: argparse.Namespace) -> list[Abbreviated]:
    """Returns what the flags stand for by themselves."""
    abbreviations: list[Abbreviated] = []
    if request.batchsz:
        abbreviations.append(("--batchsz", "algo_cfg.batch_size", request.batchsz))
    if request.batchsz and request.epoch:
        abbreviations.append(("--epoch", "general_cfg.max_total_step", request.batchsz * request.epoch))
    if (request.process_num or 1) > 1:
        abbreviations.append(("--process_num", "general_cfg.mp_backend", "ray"))
        abbreviations.append(("--process_num", "general_cfg.n_workers", request.process_num))
    return abbreviations


def note(abbreviations: Sequence[Abbreviated]) -> str:
    """Returns a line that lists what the flags set; empty without any."""
    values = {path: value for _, path, value in abbreviations}
    text = "; ".join(f"{flag} sets {path}={value}" for flag, path, value in abbreviations)
    if "general_cfg.env_name" not in values:
        return text
    if "env_cfg.data_dir" in values:
        return tr(
            "no algorithm and no environment are named: the example of ConvLab-2, dialogues in the databases of "
            "MultiWOZ ({settings})",
            settings=text,
        )
    return tr(
        "no algorithm and no environment are named: the example of ConvLab-2, dialogues in mini, the domain of "
        "restaurants ({settings})",
        settings=text,
    )


def databases() -> dict[str, str]:
    """Returns the settings of dialogues in MultiWOZ if its databases are there, otherwise those of the small domain."""
    if (DATABASES / "restaurant_db.json").is_file():
        return {"id": "full", "data_dir": str(DATABASES)}
    return {"id": SMALL}


def example(algo: str) -> dict[str, Any]:
    """Returns the settings of ConvLab-2's example."""
    named = {f"env_cfg.{key}": value for key, value in databases().items()}
    large = "env_cfg.data_dir" in named and algo == "PPO"
    preset = {"general_cfg.preset": "multiwoz/PPO", "general_cfg.start_from": None} if large else {}
    return {"general_cfg.env_name": "dialog", **named, **preset}
