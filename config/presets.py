"""Finds the preset for an algorithm and an environment. A preset holds differences from the defaults only."""

import re
from collections.abc import Iterator
from pathlib import Path

from config.document import first_comment

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
    family = next((folder for folder, names in _FAMILIES.items() if names.search(env)), "_default")
    presets = {(path.parent.name.lower(), path.stem.lower()): path for path in root.glob("*/*.yaml")}
    wanted = (folder_name(env), family, "_default")
    return next((presets[key] for folder in wanted if (key := (folder.lower(), algo.lower())) in presets), None)


def folder_name(env: str) -> str:
    """The folder of an environment's presets."""
    return env.replace("/", "-")


def promised_return(comment: str) -> float | None:
    """The return that a comment such as `# Return 500 in about 20 s: ...` promises."""
    found = re.match(r"#\s*Return\s+([-+]?\d+(?:\.\d+)?)", comment)
    return float(found[1]) if found else None


def available(root: Path = PRESETS) -> Iterator[tuple[str, str, str]]:
    """Environment folder, algorithm, and first comment of every preset."""
    for path in sorted(root.glob("*/*.yaml")):
        yield path.parent.name, path.stem, first_comment(path.read_text(encoding="utf-8")).lstrip("# ")
