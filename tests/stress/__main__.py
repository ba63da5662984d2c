"""Tries what is promised, and counts it in tests/stress/results.jsonl, which docs/reliability.md is made from.

python -m tests.stress all --hours 1      a share of each row; the next call goes on where this one has ended
    [--seed N]                            in an order by chance
python -m tests.stress ROW WORD ...       one row, such as: kills --kills 20, io_faults train error --every 29
python -m tests.stress pytest TEST ...    tests that are a row
python -m tests.stress defects            the tests of all defects that there were
python -m tests.stress mended ROW TEXT    counts a row from here on anew, because what it had lost is mended
python -m tests.stress page               writes the tables of docs/reliability.md
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

from tests.stress import page
from tests.stress.counts import ABSENT, RESULTS, VARIABLE, entries
from tests.stress.promises import DEFECTS, ROWS

ROOT = Path(__file__).resolve().parents[2]
INTERRUPTED = 128 + signal.SIGINT
"""Exit status after Ctrl-C."""
LEAST = 20.0
"""Seconds of the smallest share."""


def commit() -> str:
    """Returns the commit of the code, with a + if it was changed."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    others = (f":!{path.relative_to(ROOT)}" for path in (RESULTS, page.PAGE))  # earlier rows have written these
    return git("rev-parse", "--short=8", "HEAD") + ("+" if git("status", "--porcelain", "-uno", "--", *others) else "")


def row_of(words: list[str]) -> str:
    """Returns the key of the row that a command belongs to."""
    command = " ".join(words)
    return next((row.key for row in ROWS if row.command == command), words[0])


def harness(words: list[str], results: str) -> int:
    """Runs a module of this folder. Returns its exit status; that of an interrupt, if there was one: what it has
    counted until then is kept. results: file for its counts."""
    command = [sys.executable, "-m", f"tests.stress.{words[0]}", *words[1:]]
    child = subprocess.Popen(command, cwd=ROOT, env={**os.environ, VARIABLE: results}, start_new_session=True)
    try:
        return child.wait()
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        child.wait()
        return INTERRUPTED


def run(words: list[str], key: str) -> int:
    """Runs a harness, and appends its counts, unless it lacks what it needs. Returns its exit status."""
    began = time.monotonic()
    with tempfile.NamedTemporaryFile("r", suffix=".jsonl", encoding="utf-8") as file:
        if words[0] == "pytest":
            command = [sys.executable, "-m", "pytest", "-n", "0", *words[1:]]
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
            print(done.stdout, end="")
            tail = done.stdout.strip().splitlines()[-1:] or [""]
            found = {word: int(count) for count, word in re.findall(r"(\d+) (passed|failed|error)", tail[0])}
            lost = found.get("failed", 0) + found.get("error", 0)
            counts = {key: Counter(tried=sum(found.values()), lost=lost)}
            status = done.returncode
        else:
            status = harness(words, file.name)
            counts = {}
            for line in file.read().splitlines():
                entry = json.loads(line)
                name = entry.pop("row")
                counts.setdefault(name, Counter()).update(entry)
            if not counts and status in (ABSENT, INTERRUPTED):
                return status
            if not counts:  # a harness without counts of its own: one trial
                counts = {key: Counter(tried=1, lost=int(status != 0))}
            elif status not in (0, INTERRUPTED) and not any(sums["lost"] for sums in counts.values()):
                next(iter(counts.values()))["lost"] += 1  # it has broken down
    seconds = (time.monotonic() - began) / len(counts)
    facts = {"date": time.strftime("%Y-%m-%d", time.gmtime()), "commit": commit(), "seconds": round(seconds, 1)}
    with open(RESULTS, "a", encoding="utf-8") as results:
        for name, sums in counts.items():
            results.write(json.dumps({"row": name, **dict(sums), **facts}) + "\n")
    return status


def everything(hours: float, seed: int = 0) -> int:
    """Runs a share of each row; rows that were tried least, for their cost, come first. seed: of an order by chance in
    place of that one, and of other shares: for a machine that keeps no results from one call to the next."""
    until, status = time.monotonic() + 3600 * hours, 0
    done = entries()
    spent: dict[str, float] = defaultdict(float)
    for entry in done:
        row = next((row for row in ROWS if str(entry.get("row")).startswith(row.key)), None)
        if row:
            spent[row.key] += entry.get("seconds", 0)
    total = sum(row.cost for row in ROWS)
    rows = sorted(ROWS, key=lambda row: spent[row.key] / row.cost)
    if seed:
        random.Random(seed).shuffle(rows)
    for row in rows:
        left = until - time.monotonic()
        if left <= 0:
            break
        session = 1 + seed + sum(str(entry.get("row")).startswith(row.key) for entry in done)
        if row.share is None and any(entry.get("commit") == commit() and entry["row"] == row.key for entry in done):
            continue
        seconds = min(left, max(LEAST, 3600 * hours * row.cost / total))
        words = row.command.split() if row.share is None else row.share(session, seconds)
        print(f"== {row.key}: {' '.join(words)}", flush=True)
        ended = run(words, row.key)
        status = max(status, 0 if ended == ABSENT else ended)
        if ended == INTERRUPTED:
            break
    page.write()
    return status


def main() -> int:
    match sys.argv[1:]:
        case [] | ["-h"] | ["--help"]:
            print(__doc__)
            print("rows:", *(f"  {row.command}" for row in ROWS), sep="\n")
            return 0
        case ["all", "--hours", hours]:
            return everything(float(hours))
        case ["all", "--hours", hours, "--seed", seed]:
            return everything(float(hours), int(seed))
        case ["page"]:
            page.write()
            return 0
        case ["mended", row, text]:
            with open(RESULTS, "a", encoding="utf-8") as results:
                results.write(json.dumps({"row": row, "mended": text}) + "\n")
            return 0
        case ["defects"]:
            tests = [f"tests/{name}" for defect in DEFECTS for name in defect.tests]
            return run(["pytest", *dict.fromkeys(tests)], "defects")
        case words:
            return run(words, row_of(words))
    return 2


if __name__ == "__main__":
    sys.exit(main())
