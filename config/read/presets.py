"""Finds the preset for an algorithm and an environment, and where an unknown environment id may be found.

A preset holds differences from the Python defaults only, for an environment or a family of them.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from config.own import env_packages
from config.program import ROOT
from config.read.finder import Finder
from config.read.yaml_reader import first_comment
from config.tell.language import either, tr
from config.tell.names import did_you_mean

PRESETS = ROOT / "presets"

_MUJOCO = re.compile(
    r"^(HalfCheetah|Hopper|Walker2d|Ant|Humanoid|HumanoidStandup|Swimmer|Reacher|Pusher|InvertedPendulum"
    r"|InvertedDoublePendulum)-v\d+$",
    re.IGNORECASE,
)
"""Pattern of the ids of gymnasium itself that share a folder of presets."""


def find(
    algo: str, env: str, root: Path = PRESETS, is_for_kind: Callable[[Path], bool] = lambda path: True
) -> Path | None:
    """Returns presets/ENV/ALGO.yaml, else the algorithm's preset for the family of ENV; None if there is none.

    Case is ignored. A path below the current folder is relative to it. is_for_kind: whether a preset of this name, or
    of this family, is for the kind of the environment.
    """
    presets = {(path.parent.name.lower(), path.stem.lower()): path for path in root.glob("*/*.yaml")}
    keys = ((folder.lower(), algo.lower()) for folder in (folder_name(env), family(env)))
    fitting = (path for key in keys if (path := presets.get(key)) and is_for_kind(path))
    return _from_here(next(fitting, None))


def of_variants(algo: str, env: str, root: Path = PRESETS) -> Iterator[Path]:
    """Yields presets/ENV-VARIANT/ALGO.yaml for each variant of an environment."""
    start = f"{folder_name(env)}-".lower()
    for path in sorted(root.glob("*/*.yaml")):
        if path.parent.name.lower().startswith(start) and path.stem.lower() == algo.lower():
            yield _from_here(path) or path


def by_name(name: str, root: Path = PRESETS) -> Path | None:
    """Returns the preset of a name such as CartPole-v1/PPO, in any case, with or without .yaml."""
    stem = name.lower().removesuffix(".yaml")
    return _from_here(next((path for path in root.glob("*/*.yaml") if _name(path).lower() == stem), None))


def _from_here(path: Path | None) -> Path | None:
    """Returns a path, relative to the current folder if it is below that."""
    return path.relative_to(Path.cwd()) if path and path.is_relative_to(Path.cwd()) else path


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def unknown(name: str, root: Path = PRESETS) -> str:
    """Returns a sentence about the name of a preset that there is not."""
    near = did_you_mean(name, [_name(path) for path in root.glob("*/*.yaml")])
    near = near or tr("; write default, or a name such as CartPole-v1/PPO")
    return tr("there is no preset {name!r}{near}", name=name, near=near)


def family(env: str) -> str:
    """Returns the folder of the presets that an environment shares with others; empty if it shares none."""
    return "_mujoco" if _MUJOCO.search(env) else env_packages.family_of(env)


def folder_name(env: str) -> str:
    """Returns the folder of an environment's presets."""
    return env.replace("/", "-")


def named(path: Path, env: str) -> bool:
    """Returns True if a preset is in the folder of this environment."""
    return path.parent.name.lower() == folder_name(env).lower()


def algos_with(folder: str, root: Path = PRESETS) -> list[str]:
    """Returns the algorithms that have a preset in a folder."""
    return sorted(path.stem for path in root.glob("*/*.yaml") if path.parent.name.lower() == folder.lower())


def notes(
    path: Path | None, algo: str, env: str, run: Mapping[str, Mapping[str, Any]], root: Path = PRESETS
) -> Iterator[str]:
    """Yields notes on the preset that was found, or on its absence. run: settings that take its place."""
    if path:
        yield tr("preset: {path}", path=path)
    elif run:
        yield tr(
            "no preset for {algo} on {env}: the Python defaults are used, and for the run those of {algo}: {settings}",
            algo=algo,
            env=env,
            settings=run_words(run),
        )
    else:
        yield tr("no preset for {algo} on {env}: the Python defaults are used", algo=algo, env=env)
    shared = family(env)
    if path is None and (others := ", ".join(algos_with(shared, root))):
        yield tr(
            "{env} may need the env_cfg of the presets in {folder}, which are for {algos}",
            env=env,
            folder=f"{root.name}/{shared}",
            algos=others,
        )


def run_words(run: Mapping[str, Mapping[str, Any]]) -> str:
    """Returns the settings of an algorithm's RUN in a line."""
    settings = (item for section in run.values() for item in section.items())
    return ", ".join(f"{key} {value if isinstance(value, str) else json.dumps(value)}" for key, value in settings)


_NUMBER = re.compile(r"(?<![\w.-])-?\d[\d,.]*(?<=\d)")
"""A number in a sentence, and no version such as that of LunarLander-v3."""
NOT_THE_TASK = ("n_envs", "vectorization", "render_mode")
"""Settings under env_cfg that change no return."""


def promised_return(comment: str) -> float | None:
    """Returns the return that a comment such as `# Return 500 in about 20 s: ...` promises."""
    match = re.match(r"#\s*Return\s+([-+]?\d+(?:\.\d+)?)", comment)
    return float(match[1]) if match else None


def template(comment: str) -> tuple[str, dict[str, str]]:
    """Returns the first comment of a preset with places in place of its numbers, and these: presets differ in their
    numbers, and few sentences say them all."""
    numbers: dict[str, str] = {}

    def place(match: re.Match[str]) -> str:
        name = f"n{len(numbers) + 1}"
        numbers[name] = match[0]
        return f"{{{name}}}"

    sentence = _NUMBER.sub(place, comment.replace("{", "{{").replace("}", "}}"))
    return (sentence, numbers) if numbers else (comment, numbers)


def available(root: Path = PRESETS) -> Iterator[tuple[str, str, str]]:
    """Yields environment folder, algorithm and first comment of every preset."""
    for path in sorted(root.glob("*/*.yaml")):
        yield path.parent.name, path.stem, first_comment(path.read_text(encoding="utf-8")).lstrip("# ")


def kinds_with(env_id: str, find_env: Finder) -> Iterator[tuple[str, ModuleType]]:
    """Yields name and package of each kind of environment that has this id."""
    for name in find_env.available():
        package = find_env.get(name)
        if hasattr(package, "knows") and package.knows(env_id):
            yield name, package


def kind_of(env_id: str, find_env: Finder) -> str:
    """Returns the kind of environment that has an id which gymnasium does not have; empty if none has it."""
    kinds = [name for name, _ in kinds_with(env_id, find_env)] if env_id else []
    return "" if env_packages.GYM in kinds else next(iter(kinds), "")


def elsewhere(env_id: str, but: ModuleType, find_env: Finder, root: Path = PRESETS) -> str:
    """Returns the end of a sentence that says where an unknown id may be found; empty if nowhere."""
    kind = next((name for name, package in kinds_with(env_id, find_env) if package is not but), None)
    if kind:
        return tr(" (it exists with general_cfg.env_name={kind} env_cfg.id={env_id})", kind=kind, env_id=env_id)
    if env_id.lower() in find_env.available():
        kind = env_id.lower()
        return tr(" ({env_id} is a kind of environment: general_cfg.env_name={kind})", env_id=env_id, kind=kind)
    if not (algos := algos_with(folder_name(env_id), root)):
        return ""
    return tr(" (presets of this name: --algo {algos} --env {env_id})", algos=either(algos), env_id=env_id)
