"""Kills tunings and groups of runs at random moments, and compares what comes out with one that ran through. Takes
minutes.

python -m tests.stress.tuning_kills [NAME ...] [--rounds N] [--seed N]
"""

import argparse
import csv
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.stress.counts import record

ROOT = Path(__file__).resolve().parents[2]
MAIN = ROOT / "main.py"
GENERAL = "env_name: toy, seed: 3, save_fig: false, online_eval_episode: 2, model_save_fre: 100, iteration_steps: 30"
FILES = {
    "halving": f"""\
general_cfg: {{{GENERAL}, algo_name: QLearning, max_total_step: 270}}
env_cfg: {{id: shifted}}
algo_cfg: {{lr: {{log: [1.0e-3, 0.5]}}, gamma: {{grid: [0.9, 0.95, 0.99]}}}}
tune_cfg: {{samples: 3, scheduler: halving, score: return_mean}}
""",
    "pbt": f"""\
general_cfg: {{{GENERAL}, algo_name: DQN, max_total_step: 150}}
env_cfg: {{id: shifted}}
algo_cfg: {{lr: {{log: [1.0e-4, 0.1]}}, learning_starts: 20}}
tune_cfg: {{samples: 4, scheduler: pbt, rungs: 50, score: return_mean}}
""",
}
GROUPS = {
    "seeds": ["--algo", "DQN", "--env", "match", "--seeds", "1..3"],
    "experiments": ["--algo", "QLearning,Sarsa", "--env", "shifted", "--seeds", "1,2"],
}
SETTINGS = [f"general_cfg.{setting.replace(': ', '=')}" for setting in GENERAL.split(", ") if "seed" not in setting]
LONGEST = 12.0
"""Seconds that a session has at most before it is killed."""
FILES_OF = {"tune.json": ("trials.csv", "best"), "group.json": ("*s.csv", "finished")}
"""What is written first into a folder -> the table, and what is compared of that file, too."""


def outcome(folder: Path) -> Any:
    """The tables and rows that came out; durations are left out."""
    [(pattern, key)] = [found for name, found in FILES_OF.items() if (folder / name).exists()]
    [table] = folder.glob(pattern)
    with open(table, encoding="utf-8", newline="") as file:
        rows = [{**row, "seconds": ""} for row in csv.DictReader(file)]
    facts = [json.loads((folder / name).read_text()).get(key) for name in FILES_OF if (folder / name).exists()]
    return rows, facts, {path.relative_to(folder): path.read_bytes() for path in folder.rglob("train.csv")}


def start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, str(MAIN), *words], cwd=folder, stdout=subprocess.DEVNULL)


def killed(folder: Path, words: Sequence[str], into: str, moments: random.Random) -> int:
    """Runs a command in sessions that are killed; returns how many were."""
    count, words = 0, [*words, "--into", into]
    while True:
        session = start(folder, *words, "--jobs", str(moments.choice([1, 2])))
        try:
            status = session.wait(moments.uniform(1.0, LONGEST))
        except subprocess.TimeoutExpired:
            session.kill()
            session.wait()
            count += 1
            if (folder / into / "tune.json").exists():
                words = ["tune", "--resume", into]
            elif (folder / into / "group.json").exists():
                words = ["resume", into]
            elif (folder / into).exists():
                shutil.rmtree(folder / into)
            continue
        assert status == 0, f"{into}: status {status}"
        return count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="what to kill: " + ", ".join([*FILES, *GROUPS]), metavar="NAME")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    moments, failures = random.Random(given.seed), 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, text in FILES.items():
            (folder / f"{name}.yaml").write_text(text)
        commands = {name: ["tune", "--yaml", f"{name}.yaml"] for name in FILES}
        limit = [*SETTINGS, "general_cfg.max_total_step=400"]
        commands |= {name: [*words, *limit] for name, words in GROUPS.items()}
        for name in given.names or commands:
            words = commands[name]
            assert start(folder, *words, "--into", name).wait() == 0
            for number in range(given.rounds):
                into = f"{name}_{number}"
                count = killed(folder, words, into, moments)
                same = outcome(folder / into) == outcome(folder / name)
                failures += not same
                record("tuning_kills", count, int(not same))
                print(f"{name}: killed {count} times: {'the same' if same else 'DIFFERENT'}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
