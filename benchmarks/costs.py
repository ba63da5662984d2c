"""Measures what a run costs besides the learning: starting, the memory of a replay buffer, checkpoints.

python benchmarks/costs.py [--only start,memory,checkpoints] [--repeats 5]

Prints the tables of docs/speed.md.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

COMMANDS = {
    "`import torch`": ["-c", "import torch"],
    "`import joystick`": ["-c", "import joystick"],
    "`python main.py --print-config`": [str(ROOT / "main.py"), "--print-config"],
    "a wrong setting, and its message": [str(ROOT / "main.py"), "algo_cfg.lr=fast"],
    "a run of 60 steps with all its files": [
        str(ROOT / "main.py"), "general_cfg.algo_name=QLearning", "env_cfg.id=FrozenLake-v1",
        "general_cfg.max_total_step=60",
    ],
}  # fmt: skip
SAVED = re.compile(r"checkpoint \d+: .* in ([\d.]+) s")
BUFFERS = {
    "CartPole-v1, 4 numbers": ["env_cfg.id=CartPole-v1"],
    "Pendulum-v1, 3 numbers": ["env_cfg.id=Pendulum-v1", "general_cfg.algo_name=SAC"],
    "CarRacing-v3, images of 96x96x3": ["env_cfg.id=CarRacing-v3", "env_cfg.continuous=false"],
    "the same in gray, 84x84, four stacked": [
        "env_cfg.id=CarRacing-v3", "env_cfg.continuous=false",
        "env_cfg.wrappers=[GrayScale, {wrapper_name: Resize, shape: [84, 84]}, "
        "{wrapper_name: FrameStack, stack_size: 4}]",
    ],
}  # fmt: skip


def start(repeats: int) -> list[str]:
    """Returns the table of seconds from the start of a process to its end."""
    lines = ["| started | seconds |", "|---|---|"]
    for title, words in COMMANDS.items():
        seconds = []
        for _ in range(repeats):
            with tempfile.TemporaryDirectory() as folder:
                begin = time.perf_counter()
                env = {**os.environ, "PYTHONPATH": str(ROOT)}  # for `import joystick`
                done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, env=env)
                seconds.append(time.perf_counter() - begin)
            if done.returncode != (2 if "wrong" in title else 0):
                raise SystemExit(f"{title} ended with status {done.returncode}:\n{done.stderr}")
        lines.append(f"| {title} | {median(seconds):.2f} |")
    return lines


def memory(repeats: int) -> list[str]:
    """Returns the table of the sizes that a dry run gives for a replay buffer of a million transitions."""
    from config.read.loader import load
    from framework.assemble import build
    from framework.assemble.resources import memory_bytes
    from framework.catalog import ALGOS, ENVS
    from framework.policies.policy_plan import plan

    lines = ["| observations | GB for 1,000,000 transitions |", "|---|---|"]
    for title, words in BUFFERS.items():
        config = load(None, [*words, "algo_cfg.buffer_size=1000000"], find_algo=ALGOS, find_env=ENVS)
        env = build.make_env(config, 1)
        size = memory_bytes(config, plan(config, build.env_spec(config, env)))
        lines.append(f"| {title} | {size / 1e9:.2f} |")
        env.close()
    return lines


def checkpoints(repeats: int) -> list[str]:
    """Returns the table of the seconds of saves: the buffer is a journal, and a save writes what is new."""
    lines = ["| buffer | first save | a save after 1,000 more transitions |", "|---|---|---|"]
    for size in (10_000, 100_000, 1_000_000):
        words = [
            "env_cfg.n_envs=100", "general_cfg.env_name=toy", "env_cfg.id=shifted", "general_cfg.max_step=-1",
            "general_cfg.max_episode=-1", f"general_cfg.max_total_step={size + 3000}", "general_cfg.online_eval=false",
            f"algo_cfg.buffer_size={size + 5000}", f"algo_cfg.learning_starts={size + 4000}",
            "general_cfg.model_save_unit=step", "general_cfg.log_level=debug", "general_cfg.save_fig=false",
        ]  # fmt: skip
        saves = []
        for every in (size, 1000):
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, str(ROOT / "main.py"), *words, f"general_cfg.model_save_fre={every}"]
                subprocess.run(command, cwd=folder, capture_output=True, check=True)
                [log] = Path(folder).glob("tasks/*/logs/log.txt")
                saves.append([float(found) for found in SAVED.findall(log.read_text())])
        lines.append(f"| {size:,} transitions | {saves[0][0]:.3f} s | {median(saves[1][-3:]):.3f} s |")
    return lines


def main() -> None:
    """Prints the tables that the command line names."""
    tables = {"start": start, "memory": memory, "checkpoints": checkpoints}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(tables), help=f"some of {', '.join(tables)}, separated by commas")
    parser.add_argument("--repeats", type=int, default=5, help="times that a process is started")
    request = parser.parse_args()
    for name in request.only.split(","):
        print(*tables[name](request.repeats), "", sep="\n")


if __name__ == "__main__":
    main()
