"""Lets every input and output call of two runs and their resumes go wrong once, in four ways. Takes minutes.

python tests/stress/io_faults.py [QLearning | DQN] [error | kill | torn | power] [--every N] [--first N]
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent.parent.parent)]

from helpers_io_faults import ALGORITHMS, KINDS, Experiment  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="*", help="algorithms and kinds of fault; all without any")
    parser.add_argument("--every", type=int, default=1, help="try each N-th call")
    parser.add_argument("--first", type=int, default=1, help="number of the first call to try")
    given = parser.parse_args()
    found = 0
    for algorithm in [name for name in ALGORITHMS if name in given.which] or ALGORITHMS:
        with tempfile.TemporaryDirectory() as folder:
            experiment = Experiment(algorithm, Path(folder))
            for kind in [name for name in KINDS if name in given.which] or KINDS:
                for phase in (0, 1):
                    for failure in experiment.failures(kind, phase, given.every, given.first):
                        found += 1
                        print(f"{algorithm}: {failure}", flush=True)
                    print(f"{algorithm}: {kind}, phase {phase}: {experiment.total(kind, phase)} calls", flush=True)
    print(f"{found} failures")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
