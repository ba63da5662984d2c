"""Digests short runs of presets, to compare two versions of the code: python benchmarks/same_bits.py > before.txt

Each line names a preset and the SHA-256 of its CSV files and of its newest weights. A refactoring changes no line; a
change of behavior changes the lines of the presets that it affects. Run it on both commits and use diff.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

ROOT = Path(__file__).parent.parent
FOLDERS = ("CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "FrozenLake-v1-notslippery")
SHORT = [
    "general_cfg.max_episode=-1",
    "general_cfg.max_update=-1",
    "general_cfg.max_total_step=3000",
    "general_cfg.seed=7",
    "general_cfg.save_fig=false",
]


def digest(preset: Path, task: Path) -> str:
    """Trains a preset for a few thousand steps, and returns one line."""
    algo = preset.stem
    env_id = preset.parent.name
    command = [sys.executable, "main.py", "--algo", algo, "--env", env_id, "--into", str(task), *SHORT]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if ran.returncode:
        return f"{env_id}/{algo} failed: {(ran.stderr.strip().splitlines() or [''])[-1]}"
    parts = {name: (task / "results" / f"{name}.csv").read_bytes() for name in ("train", "eval")}
    newest = max((path for path in (task / "models").iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    tree = json.loads((newest / "manifest.json").read_text(encoding="utf-8").splitlines()[0])["tree"]
    arrays = load_file(newest / "state.safetensors")
    learned = [arrays[key] for key in array_keys(tree["$dict"]["agent"])]
    # sorted, so that renaming the parts of a state changes nothing
    weights = hashlib.sha256(b"".join(sorted(hashlib.sha256(array.tobytes()).digest() for array in learned)))
    sums = " ".join(f"{name}={hashlib.sha256(data).hexdigest()[:12]}" for name, data in parts.items())
    return f"{env_id}/{algo} {sums} weights={weights.hexdigest()[:12]} ({len(learned)} arrays, update {newest.name})"


def array_keys(tree: Any) -> list[str]:
    """Returns the names of all arrays in a part of a manifest's tree."""
    if isinstance(tree, list):
        return [key for value in tree for key in array_keys(value)]
    if not isinstance(tree, dict):
        return []
    if "$array" in tree:
        return [tree["$array"]]
    return array_keys(list(tree.values()))


def main() -> None:
    """Prints a line for each preset, in order."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("only", nargs="*", help="presets as FOLDER/ALGO (default: all presets of the classic tasks)")
    parser.add_argument("--jobs", type=int, default=2)
    request = parser.parse_args()
    every = [path for name in FOLDERS for path in sorted((ROOT / "presets" / name).glob("*.yaml"))]
    names = request.only or [f"{path.parent.name}/{path.stem}" for path in every]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(request.jobs) as pool:
        presets = [ROOT / "presets" / f"{name}.yaml" for name in names]
        for line in pool.map(digest, presets, [Path(folder) / name.replace("/", "_") for name in names]):
            print(line, flush=True)


if __name__ == "__main__":
    main()
