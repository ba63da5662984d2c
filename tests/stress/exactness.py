"""Trains presets under other circumstances, and says which files stay equal to the byte: another number of torch's
threads, an older processor, other versions of torch, each as usual and with JOYSTICK_PLAIN=1.

python -m tests.stress.exactness [PRESET ...] [--torch PYTHON ...] [--only NAME ...] [--steps N]

PRESET is FOLDER/ALGO, as benchmarks/same_bits.py names them. PYTHON is the interpreter of an environment with another
version of torch. An older processor is this one with torch, oneDNN, OpenBLAS and numpy held to AVX2. The last lines are
the table of docs/reliability.md: e if CSV files and weights are equal, c if the CSV files alone are, w if the weights
alone are, - if neither.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRESETS = (
    "FrozenLake-v1/QLearning", "CartPole-v1/DQN", "CartPole-v1/RainbowDQN", "CartPole-v1/DRQN", "CartPole-v1/PPO",
    "CartPole-v1/RecurrentPPO", "CartPole-v1/TRPO", "Pendulum-v1/SAC", "Pendulum-v1/TD3", "Pendulum-v1/CrossQ",
)  # fmt: skip
"""A preset of each family that computes in a way of its own."""
OLDER = {
    "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "OPENBLAS_CORETYPE": "Haswell",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2", "MKL_CBWR": "AVX2",
    "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR",
}  # fmt: skip
PLAIN = {"JOYSTICK_PLAIN": "1"}
KINDS = {(True, True): "e", (True, False): "c", (False, True): "w", (False, False): "-"}
"""Equal CSV files, equal weights -> cell of the table."""


def digests(
    presets: list[str], steps: int, python: str, threads: int, more: dict[str, str]
) -> dict[str, tuple[str, str]]:
    """Returns the digests of the CSV files and of the weights of each preset; empty ones of a run that failed."""
    code = (
        "import sys; sys.path.insert(0, 'benchmarks'); import same_bits; "
        f"same_bits.SHORT += ['general_cfg.torch_threads={threads}', 'general_cfg.max_total_step={steps}']; "
        "same_bits.main()"
    )
    # numpy reads a list of features that a processor lacks with a warning, and goes on
    command = [python, "-c", code, *presets, "--jobs", "1"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **more}, text=True, stdout=subprocess.PIPE, check=True)
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    print(done.stdout, end="", flush=True)

    def parts(line: str) -> tuple[str, str]:
        match = re.search(r"(train=\S+ eval=\S+) weights=(\S+)", line)
        return (match[1], match[2]) if match else ("", "")

    return {name: parts(lines.get(name, "")) for name in presets}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("presets", nargs="*", default=list(PRESETS), metavar="PRESET")
    parser.add_argument("--torch", nargs="*", default=[], metavar="PYTHON")
    parser.add_argument("--steps", type=int, default=3000, help="environment steps of each run")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="columns of the table")
    request = parser.parse_args()
    others: dict[str, tuple[str, int, dict[str, str]]] = {
        "the same again": (sys.executable, 1, {}),
        "2 threads": (sys.executable, 2, {}),
        "AVX2": (sys.executable, 1, OLDER),
    }
    for python in request.torch:
        asked = [python, "-c", "import torch; print(torch.__version__.partition('+')[0])"]
        version = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        others[f"torch {version}"] = python, 1, {}
    others = {name: how for name, how in others.items() if not request.only or name in request.only}
    rows: dict[str, list[str]] = {name: [] for name in request.presets}
    for more in ({}, PLAIN):
        print(f"first, {more}", flush=True)
        first = digests(request.presets, request.steps, sys.executable, 1, more)
        for name, (python, threads, circumstances) in others.items():
            print(f"{name}, {more}", flush=True)
            found = digests(request.presets, request.steps, python, threads, {**circumstances, **more})
            for preset, (tables, weights) in found.items():
                same = tables == first[preset][0], weights == first[preset][1]
                rows[preset].append("?" if not tables else KINDS[same])
    print(f"\n| preset | {' | '.join([*others, *(f'{name}, plain' for name in others)])} |")
    print(f"|---|{'---|' * 2 * len(others)}")
    for preset, cells in rows.items():
        print(f"| {preset} | {' | '.join(cells)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
