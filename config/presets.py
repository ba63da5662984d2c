"""Finds the preset for an algorithm and an environment. A preset holds differences from the defaults only."""

import re
from collections.abc import Iterator
from pathlib import Path

from config.yaml_reader import first_comment

PRESETS = Path(__file__).parent.parent / "presets"

_FAMILIES = {
    "_atari": re.compile(r"^ALE[/-]|NoFrameskip"),
    "_minatar": re.compile(r"^MinAtar[/-]"),
    "_mujoco": re.compile(
        r"^(HalfCheetah|Hopper|Walker2d|Ant|Humanoid|HumanoidStandup|Swimmer|Reacher|Pusher|InvertedPendulum"
        r"|InvertedDoublePendulum)-v\d+$",
        re.IGNORECASE,
    ),
}
"""Folder of presets that a family of environments shares -> their names."""


def find(algo: str, env: str, root: Path = PRESETS) -> Path | None:
    """presets/ENV/ALGO.yaml, else the same algorithm in the family of ENV, else in _default. Case is ignored."""
    presets = {(path.parent.name.lower(), path.stem.lower()): path for path in root.glob("*/*.yaml")}
    wanted = (folder_name(env), family(env), "_default")
    return next((presets[key] for folder in wanted if (key := (folder.lower(), algo.lower())) in presets), None)


def family(env: str) -> str:
    """The folder of the presets that it shares with others."""
    return next((folder for folder, names in _FAMILIES.items() if names.search(env)), "_default")


def folder_name(env: str) -> str:
    """The folder of an environment's presets."""
    return env.replace("/", "-")


def named(path: Path, env: str) -> bool:
    """Whether this preset stands in the folder of that name."""
    return path.parent.name.lower() == folder_name(env).lower()


def algos_with(folder: str, root: Path = PRESETS) -> list[str]:
    """Algorithms that have a preset in a folder."""
    return sorted(path.stem for path in root.glob("*/*.yaml") if path.parent.name.lower() == folder.lower())


def notes(path: Path | None, algo: str, env: str, root: Path = PRESETS) -> Iterator[str]:
    """What there is to say of the preset that was found for them, or of none."""
    yield f"preset: {path}" if path else f"no preset for {algo} on {env}: the Python defaults are used"
    shared = family(env)
    if shared != "_default" and (path is None or path.parent.name == "_default"):
        others = ", ".join(algos_with(shared, root))
        yield f"{env} may need what the presets of {root.name}/{shared} set under env_cfg; they are for {others}"


NOT_THE_TASK = ("n_envs", "vectorization", "render_mode")
"""Settings under env_cfg that change no return."""


def promised_return(comment: str) -> float | None:
    """Returns the return that a comment such as `# Return 500 in about 20 s: ...` promises."""
    found = re.match(r"#\s*Return\s+([-+]?\d+(?:\.\d+)?)", comment)
    return float(found[1]) if found else None


def available(root: Path = PRESETS) -> Iterator[tuple[str, str, str]]:
    """Environment folder, algorithm, and first comment of every preset."""
    for path in sorted(root.glob("*/*.yaml")):
        yield path.parent.name, path.stem, first_comment(path.read_text(encoding="utf-8")).lstrip("# ")
