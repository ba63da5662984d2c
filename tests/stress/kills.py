"""Kills runs of every algorithm at random moments, or suspends them for a while, resumes them as the printed command
says, and compares the end with that of a run that was left alone: rows, weights, optimizer, streams, the best model.

python -m tests.stress.kills [ALGORITHM ...] [--kills N] [--seconds S] [--seed N] [--clock]

Runs are forked from one process that has imported everything, so a life is a second.
"""

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from framework.loop.save_points import SavePoints
from tests.stress.counts import record
from tests.tools.io_faults import ALGORITHMS, SCENARIOS, Scenario, _in_child, others, played
from tests.tools.process import become

SUSPENDED = 0.15
"""Share of the lives in which the process is stopped and continued before anything else happens to it."""


def life(words: list[str], folder: Path, seconds: float, suspend: bool, timed: bool) -> int | None:
    """Runs a command and kills it after some seconds. Returns its exit status if it had ended before; None if not.
    timed: it saves after each round, as if save_minutes were over."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.setsid()
        if timed:
            SavePoints.overdue = lambda points: True  # type: ignore[method-assign]
        said = folder / "said.txt"
        out, err = (os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for path in (said.with_suffix(".out"), said))
        become(lambda: _in_child(words, None), out, err, failed=99)
    until = time.monotonic() + seconds
    if suspend:
        time.sleep(seconds / 2)
        os.kill(child, signal.SIGSTOP)
        time.sleep(0.2)
        os.kill(child, signal.SIGCONT)
    while time.monotonic() < until:
        ended, code = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(code)
        time.sleep(0.005)
    with contextlib.suppress(ProcessLookupError):  # it has just ended, or has no group of its own yet
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return None if code == -signal.SIGKILL else code


class Clock:
    """The time that a run takes at present: other work on the machine changes it tenfold."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def ended(self, seconds: float) -> None:
        """Notes how long a life has lasted that came to its end."""
        self.seconds = (self.seconds + seconds) / 2


def run(
    scenario: Scenario, base: Path, folder: Path, clock: Clock, most: int, rng: random.Random, timed: bool
) -> Counter[str]:
    """Brings a run to its end over several lives. Returns the number of kills and of pauses."""
    counts: Counter[str] = Counter()
    while counts["kills"] < most:
        [words] = scenario.commands(base)
        suspend = rng.random() < SUSPENDED
        counts["suspended"] += suspend
        began = time.monotonic()
        status = life(words, folder, rng.uniform(0.02, clock.seconds), suspend, timed)
        if status is not None:
            clock.ended(time.monotonic() - began)
            assert status == 0, (folder / "said.txt").read_text()
            return counts
        counts["kills"] += 1
    status, said = played(scenario.commands(base), folder)
    assert status == 0, said
    return counts


def main() -> int:
    every = [*ALGORITHMS, *others()]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("algorithms", nargs="*", default=every, metavar="ALGORITHM")
    parser.add_argument("--kills", type=int, default=20, help="of each algorithm, at least")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time after which no other run begins")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clock", action="store_true", help="save after each round, as if save_minutes were over")
    request = parser.parse_args()
    rng, until = random.Random(request.seed), time.monotonic() + request.seconds
    totals: Counter[str] = Counter()
    names = list(request.algorithms)
    rng.shuffle(names)
    for name in names:
        if time.monotonic() > until:
            break
        with tempfile.TemporaryDirectory() as place:
            folder, counts = Path(place), Counter[str]()
            (folder / "own").mkdir()
            kind, *arguments = SCENARIOS[f"train {name} all"]
            scenario = kind(folder / "own", *arguments)
            straight = folder / "straight"
            began = time.monotonic()
            status, said = played(scenario.commands(straight), folder)
            assert status == 0, said
            clock, expected = Clock(time.monotonic() - began), scenario.end(straight)
            while counts["kills"] < request.kills and time.monotonic() < until:
                base = folder / f"run{counts['runs']}"
                try:
                    counts += run(scenario, base, folder, clock, 6, rng, request.clock)
                    end = scenario.end(base)
                    different = sorted(part for part in expected if end.get(part) != expected[part])
                except Exception:
                    different = [traceback.format_exc()]
                counts["runs"] += 1
                if different:
                    counts["lost"] += 1
                    print(f"{name}: DIFFERENT: {', '.join(different)}", flush=True)
            key = "clock_kills" if request.clock else "kills"
            record(key, counts["kills"], counts["lost"], runs=counts["runs"], suspended=counts["suspended"])
            print(f"{name}: {counts['kills']} kills in {counts['runs']} runs, {counts['lost']} lost", flush=True)
            totals += counts
    print(f"\n{totals['kills']} kills, {totals['suspended']} suspended, {totals['runs']} runs, {totals['lost']} lost")
    return 1 if totals["lost"] else 0


if __name__ == "__main__":
    sys.exit(main())
