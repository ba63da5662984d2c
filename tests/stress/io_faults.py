"""Lets the input and output calls of commands go wrong, each in its turn: a failed call (a full disk), a kill, a torn
write, a power cut. Continues as the printed command says, and compares the end with that of a command without a fault.

python tests/stress/io_faults.py [train | resume | seeds | tune | convert | export] [QLearning | DQN]
    [plain | traj | eval | board | all] [npz | ...] [error | kill | torn | power] [--every N] [--first N]

Words choose: without any, everything is tried, which takes hours; --every 20 takes minutes. The last lines are a table:
fault, tried, lost. The exit status is 1 if anything was lost.
"""

import argparse
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent.parent.parent)]

from tests.tools.io_faults import ALGORITHMS, KINDS, SCENARIOS, Counts, tried  # noqa: E402

COMMANDS = {name.split()[0] for name in SCENARIOS}
FORMS = {name.split()[-1] for name in SCENARIOS}


def chosen(words: set[str]) -> list[str]:
    """The scenarios with one of the chosen commands, algorithms and forms; without any, all of them."""
    wanted = [words & choices for choices in (COMMANDS, set(ALGORITHMS), FORMS) if words & choices]
    return [name for name in SCENARIOS if all(choice & set(name.split()) for choice in wanted)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="scenarios and kinds of fault", metavar="WORD")
    parser.add_argument("--every", type=int, default=1, help="try each N-th fault")
    parser.add_argument("--first", type=int, default=1, help="number of the first one to try")
    given = parser.parse_args()
    if unknown := set(given.words) - {*COMMANDS, *ALGORITHMS, *FORMS, *KINDS}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    kinds = [kind for kind in KINDS if kind in given.words] or list(KINDS)
    table: list[Counts] = []
    for name in chosen(set(given.words)):
        for line in tried(name, kinds, given.every, given.first):
            table += [line] if isinstance(line, Counts) else []
            print(line if isinstance(line, str) else f"{line.fault}: {line.tried} tried, {line.lost} lost", flush=True)
    print("\n| fault | tried | lost |\n|---|---|---|")
    for row in [*table, Counts("all", sum(row.tried for row in table), sum(row.lost for row in table))]:
        print(f"| {row.fault} | {row.tried:,} | {row.lost:,} |")
    return 1 if any(row.lost for row in table) else 0


if __name__ == "__main__":
    sys.exit(main())
