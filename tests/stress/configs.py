"""Reads thousands of strange configurations in each way in which commands read them; none may raise or take long.

python tests/stress/configs.py [--count N] [--seed S] [--first N]

Each hundred are read in a process of their own: one that a signal ends is a failure, too.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent.parent.parent)]

MOST_SECONDS = 20.0
"""Longest time of the processor for one configuration."""
AT_ONCE = 100


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--here", action="store_true", help="in this process, and with its traceback for a failure")
    request = parser.parse_args()
    if request.here:
        return read(request.seed, range(request.first, request.first + request.count))
    failures = 0
    for first in range(request.first, request.first + request.count, AT_ONCE):
        count = min(AT_ONCE, request.first + request.count - first)
        words = ["--here", "--seed", str(request.seed), "--first", str(first), "--count", str(count)]
        done = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True)
        lines = done.stdout.splitlines()
        failures += sum(line.startswith("failed") for line in lines)
        print("\n".join(line for line in lines if not line.startswith("reading")), flush=True)
        if done.returncode not in (0, 1):
            failures += 1
            print(f"failed: status {done.returncode} after: {lines[-1:]} {done.stderr[-2000:]}", flush=True)
    print(f"{request.count} configurations, {failures} failures")
    return 1 if failures else 0


def read(seed: int, numbers: range) -> int:
    """Reads some of the texts of a seed; returns 1 if one failed."""
    from tests.tools.fuzz import Texts, fault

    texts, failures = Texts(seed), 0
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            print(f"reading {number}", flush=True)
            began = time.process_time()
            said = fault(texts.draw(number), number, Path(folder))
            if (seconds := time.process_time() - began) > MOST_SECONDS:
                said = said or f"took {seconds:.0f} s"
            if said:
                failures += 1
                print(f"failed: {number}: {said[:300]}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
