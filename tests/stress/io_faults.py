"""Lets the input and output calls of commands go wrong, each in its turn: a failed call (a full disk), a kill, a torn
write, a power cut. Continues as the printed command says, and compares the end with that of a command without a fault.

python -m tests.stress.io_faults [COMMAND ...] [ALGORITHM ...] [plain | traj | eval | board | all] [npz | ...]
    [error | kill | torn | power] [--every N] [--first N] [--seconds S --seed N]

COMMAND: train, resume, ray (train with it), seeds, tune, evaluate, test, film, compare, sync, pull, convert, export.

Words choose: without any, everything is tried, for every algorithm, which takes days; --every 20 takes hours. With
--seconds, faults of scenarios in an order of that seed are tried until that time has passed. The last lines are a
table: fault, tried, lost, and how many were continued, since equal remains are continued once. The exit status is 1 if
anything was lost.
"""

import argparse
import random
import sys
import time

from tests.stress.counts import record
from tests.tools.io_faults import ALGORITHMS, KINDS, SCENARIOS, Counts, others, tried

COMMANDS = {name.split()[0] for name in SCENARIOS}
FORMS = {name.split()[-1] for name in SCENARIOS}
NAMES = {*ALGORITHMS, *others()}


def chosen(words: set[str]) -> list[str]:
    """The scenarios with one of the chosen commands, algorithms and forms; without any, all of them."""
    wanted = [words & choices for choices in (COMMANDS, NAMES, FORMS) if words & choices]
    return [name for name in SCENARIOS if all(choice & set(name.split()) for choice in wanted)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="scenarios and kinds of fault", metavar="WORD")
    parser.add_argument("--every", type=int, default=1, help="try each N-th fault")
    parser.add_argument("--first", type=int, default=1, help="number of the first one to try")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time after which no other begins")
    parser.add_argument("--seed", type=int, default=0, help="of the order of scenarios; 0: as they are listed")
    request = parser.parse_args()
    if unknown := set(request.words) - {*COMMANDS, *NAMES, *FORMS, *KINDS}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    kinds = [kind for kind in KINDS if kind in request.words] or list(KINDS)
    names, until = chosen(set(request.words)), time.monotonic() + request.seconds
    if request.seed:
        random.Random(request.seed).shuffle(names)
    table: list[Counts] = []
    for name in names:
        if time.monotonic() > until:
            break
        for line in tried(name, kinds, request.every, request.first, until):
            if isinstance(line, Counts):
                table.append(line)
                scenario, _, kind = line.fault.rpartition(": ")
                key = f"io_faults {scenario.split()[0]} {kind}"
                record(key, line.tried, line.lost, continued=line.continued)
            print(line if isinstance(line, str) else f"{line.fault}: {line.tried} tried, {line.lost} lost", flush=True)
    print("\n| fault | tried | lost | continued |\n|---|---|---|---|")
    total = (sum(getattr(row, name) for row in table) for name in ("tried", "lost", "continued"))
    for row in [*table, Counts("all", *total)]:
        print(f"| {row.fault} | {row.tried:,} | {row.lost:,} | {row.continued:,} |")
    return 1 if any(row.lost for row in table) else 0


if __name__ == "__main__":
    sys.exit(main())
