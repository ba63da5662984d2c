"""The tables of docs/reliability.md, from tests/stress/results.jsonl: python -m tests.stress page writes them anew."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.stress import soak_page
from tests.stress.counts import entries, sums
from tests.stress.promises import DEFECTS, DISK, MORE, README, SECURITY, Row

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
HEAD = "| promise | fault | `python -m tests.stress` | tried | lost | last |\n|---|---|---|---|---|---|\n"
DISK_HEAD = HEAD.replace("| lost ", "| continued | lost ").replace("|---|\n", "|---|---|\n")


def cells(row: Row, lines: list[dict[str, Any]], names: Sequence[str] = ("tried", "lost")) -> str:
    """Returns the row of the page; empty cells for what was not tried. names: of the counts that it shows."""
    counts, date = sums(row.key, lines)
    numbers = [*(f"{counts[name]:,}" for name in names), date] if counts["tried"] else [""] * (len(names) + 1)
    return f"| {row.promise} | {row.fault} | `{row.command}` | {' | '.join(numbers)} |\n"


def of_rows(rows: list[Row]) -> str:
    lines = entries()
    return HEAD + "".join(cells(row, lines) for row in rows)


def of_disk() -> str:
    """Returns the faults of the disk, and their sums."""
    lines, names = entries(), ("tried", "continued", "lost")
    total = [sums(row.key, lines)[0] for row in DISK]
    last = f"| all | | | {' | '.join(f'{sum(t[name] for t in total):,}' for name in names)} | |\n"
    return DISK_HEAD + "".join(cells(row, lines, names) for row in DISK) + last


def of_readers() -> str:
    """Returns a row for each reader that was fuzzed."""
    lines = entries()
    names = list(dict.fromkeys(line["row"] for line in lines if line["row"].startswith("fuzz ")))
    rows = [(name.removeprefix("fuzz "), *sums(name, lines)) for name in sorted(names)]
    body = "".join(
        f"| {name} | {counts['tried']:,} | {counts['lost']:,} | {date} |\n"
        for name, counts, date in rows
        if counts["tried"]
    )
    return "| reader | inputs | faults | last |\n|---|---|---|---|\n" + body


def of_defects() -> str:
    body = "".join(f"| {defect.what} | `{defect.command}` |\n" for defect in DEFECTS)
    return "| what was wrong | the command that would show it |\n|---|---|\n" + body


def of_mended() -> str:
    """Returns what these harnesses have shown, and what became of it."""
    rows = [(line["row"], line["mended"]) for line in entries() if "mended" in line]
    return "| row | what it lost, and how that was mended |\n|---|---|\n" + "".join(f"| {a} | {b} |\n" for a, b in rows)


def of_soak() -> str:
    """Returns the slopes of the sessions that were published; a line without numbers before the first of them."""
    blocks = soak_page.published()
    lines = soak_page.summary(blocks)[0] if blocks else ["| not tried yet |", "|---|"]
    return "".join(f"{line}\n" for line in lines)


TABLES = {
    "disk": of_disk,
    "readme": lambda: of_rows(README), "more": lambda: of_rows(MORE),
    "security": lambda: of_rows(SECURITY), "readers": of_readers, "defects": of_defects, "mended": of_mended,
    "soak": of_soak,
}  # fmt: skip
"""Name of a table, which stands before it in a comment of the page -> what makes it."""


def written(text: str) -> str:
    """Returns the text of the page with its tables made anew."""
    for name, make in TABLES.items():
        mark = f"<!-- {name} -->\n"
        pattern = re.compile(rf"{re.escape(mark)}(?:\|.*\n)*")
        if not pattern.search(text):
            raise ValueError(f"{PAGE} has no mark {mark}")
        table = mark + make()
        text = pattern.sub(lambda _, table=table: table, text, count=1)
    return re.sub(r"\|  \|", "| |", re.sub(r"\|  \|", "| |", text))


def write() -> None:
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
