"""Prints what users see and depend on, to compare two versions of the code: python -m tests.tools.goldens > before.txt

The help of each command, the names of `joystick`, the files of a short run, a group and a tuning, and the keys of
their JSON files. A change of rooms changes no line; run it on both commits and use diff.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
WORDS = (
    (), ("run",), ("test",), ("resume",), ("film",), ("evaluate",), ("export",), ("talk",), ("bench",), ("tune",),
    ("runs",), ("watch",), ("compare",), ("data",), ("convert",), ("list",), ("describe",), ("schema",), ("doctor",),
    ("trust",),
)  # fmt: skip
"""Commands whose help is printed."""
SHORT = [
    "general_cfg.max_episode=6", "general_cfg.seed=3", "general_cfg.device=cpu", "general_cfg.eval_per_episode=2",
    "general_cfg.traces=results/traces", "general_cfg.collect_traj=true",
]  # fmt: skip
TUNE = """\
general_cfg: {algo_name: QLearning, env_name: gym, max_episode: 4, max_total_step: 400}
env_cfg: {id: FrozenLake-v1}
algo_cfg: {lr: {choice: [0.1, 0.2]}}
"""


def ran(words: Sequence[str], folder: Path) -> str:
    """Returns the exit status of a command and what it printed to both streams."""
    command = [sys.executable, str(ROOT / "main.py"), *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return f"status {done.returncode}\n{done.stdout}{done.stderr}"


def helps(folder: Path) -> Iterator[str]:
    """Yields the help of each command."""
    for words in WORDS:
        yield f"## {' '.join(words)} --help"
        yield ran([*words, "--help"], folder)


def keys(value: Any, place: str = "") -> Iterator[str]:
    """Yields the path of each key of a JSON value; of a list, those of its first item."""
    if isinstance(value, list):
        yield from keys(value[0], place + "[]") if value else ()
    elif isinstance(value, dict):
        for key, part in value.items():
            yield f"{place}.{key}"
            yield from keys(part, f"{place}.{key}")


def files(task: Path) -> Iterator[str]:
    """Yields the files of a task directory, and the keys or the columns of those that are read by programs."""
    for path in sorted(task.rglob("*")):
        name = re.sub(r"\d[\d_-]{7,}|\d+(?=\.)", "N", str(path.relative_to(task)))
        yield name + ("/" if path.is_dir() else "")
        if path.suffix == ".json" and "models" not in path.parts:
            first = path.read_text(encoding="utf-8").splitlines()[0] if path.name == "result.json" else None
            yield from (f"    {key}" for key in keys(json.loads(first or path.read_text(encoding="utf-8"))))
        elif path.suffix == ".csv":
            yield "    " + path.read_text(encoding="utf-8").splitlines()[0]


def runs(folder: Path) -> Iterator[str]:
    """Yields the files of a run, of its test, of a group and of a tuning."""
    one, several, tuning = folder / "one", folder / "several", folder / "tuning"
    (folder / "tune.yaml").write_text(TUNE, encoding="utf-8")
    start = ["--algo", "DQN", "--env", "CartPole-v1", *SHORT]
    commands: list[tuple[list[str], Path]] = [
        (["--into", str(one), *start], one),
        (["--into", str(several), "--seeds", "1..2", *start], several),
        (["tune", "-f", "tune.yaml", "--into", str(tuning)], tuning),
    ]
    for words, task in commands:
        yield "## " + " ".join(word.replace(str(folder), "") for word in words)
        yield ran(words, folder).splitlines()[0]
        yield from files(task)


def main() -> None:
    """Prints everything in a fixed order."""
    sys.path.insert(0, str(ROOT))
    import joystick

    print("## joystick", *sorted(joystick.__all__), sep="\n")
    with tempfile.TemporaryDirectory() as name:
        for lines in (helps(Path(name)), runs(Path(name))):
            for line in lines:
                print(line.replace(name, ""), flush=True)


if __name__ == "__main__":
    main()
