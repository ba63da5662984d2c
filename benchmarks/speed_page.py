"""Draws the picture of docs/speed.md, writes its table of ratios, and prints the other tables.

All of them come from benchmarks/results/speed.json.

python benchmarks/speed_page.py

benchmarks/speed.py --record adds what it measured to that file: a work measured again on the same kind of machine takes
the place of the earlier measurement.
"""

import json
import math
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "speed.json"
PICTURE = ROOT / "docs" / "images" / "speed.svg"
PAGE = ROOT / "docs" / "speed.md"
MARKS = ("<!-- ratios: python benchmarks/speed_page.py -->", "<!-- end of ratios -->")
"""Lines of the page before and after its table of ratios."""
SIDES = {
    "ours": "ours", "plain": "ours by autograd", "public": "with public functions alone",
    "lean": "lean loop", "sb3": "stable-baselines3", "tianshou": "Tianshou", "sbx": "sbx (JAX)",
    "rlox": "rlox (Rust)", "rllib": "RLlib", "floor": "floor",
    "fast": "our floor", "env": "environment alone",
}  # fmt: skip
"""Side -> its column. Ours are compiled, if their settings can be."""
BEFORE = ("ours", "sbx", "rlox", "rllib")
"""Sides whose seconds before steady training are told apart."""
DRAWN = ("sb3", "tianshou", "sbx", "rlox", "rllib")
COLOURS = {
    "ours": "#3b6fd4",
    "sb3": "#d98c2b",
    "tianshou": "#4d9a6a",
    "sbx": "#b35bb0",
    "rlox": "#c8544c",
    "rllib": "#7d8894",
}
LABELS, BAR, WIDTH, HEIGHT = 250, 330, 720, 15
"""Pixels of the picture: width of the names, of a bar of 1, of all, and height of a bar."""

MACHINES = {
    ("cpu", 1): "family 25", ("cpu", 0): "family 25, two threads", ("avx2", 1): "family 25 without AVX-512",
    ("family26", 1): "family 26", ("family26", 0): "family 26, two threads",
}  # fmt: skip
"""Kind of machine and threads -> their column in the table of ratios."""

Measured = Mapping[str, Any]
"""A measurement: work, threads, place, solving, goal, share; speeds and firsts by side, of each turn."""


def read() -> list[dict[str, Any]]:
    """Returns all measurements."""
    measured: list[dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    return measured


def record(new: list[dict[str, Any]]) -> None:
    """Stores measurements in the place of those of the same work, threads and kind of machine."""

    def key(one: Measured) -> tuple[Any, ...]:
        return one["work"], one["threads"], one["kind"]

    made = {key(one) for one in new}
    kept = [one for one in read() if key(one) not in made]
    RESULTS.write_text(json.dumps([*kept, *new], indent=1) + "\n", encoding="utf-8")


def ratio(one: Measured, side: str) -> float | None:
    """Returns the median ratio of our speed to that of a side in the same turn; None if it was not measured."""
    speeds = one["speeds"]
    if side not in speeds:
        return None
    pairs = zip(speeds["ours"], speeds[side], strict=True)
    return median(mine / theirs if theirs else math.inf if mine else 0.0 for mine, theirs in pairs)


def judged(one: Measured) -> list[tuple[float, float]]:
    """Returns the ratios of a measurement that have a goal, each with it: to stable-baselines3 and to our floor."""
    pairs = ((ratio(one, "sb3"), one["goal"]), (ratio(one, "fast"), one["share"]))
    return [(value, goal) for value, goal in pairs if value is not None and goal is not None]


def row(one: Measured) -> str:
    """Returns a line of the table: the speed of each side, and in brackets the ratio of ours to it."""

    def cell(side: str) -> str:
        if side not in one["speeds"]:
            return ""
        text = shown(one, median(one["speeds"][side]))
        return text if side == "ours" else f"{text} ({ratio(one, side):.2f})"

    goal = f"{one['goal']:.1f}" + ("" if one["share"] is None else f", {one['share']:g} of our floor")
    return f"| {' | '.join([one['work'], str(one['threads'] or 'own'), *map(cell, SIDES), goal])} |"


def before(one: Measured) -> str:
    """Returns a line of the table of what comes before steady training, in seconds of each turn."""
    cells = (", ".join(f"{first:.1f}" for first in one["firsts"].get(side, ())) for side in BEFORE)
    return f"| {' | '.join([one['work'], *cells])} |"


def shown(one: Measured, speed: float) -> str:
    """Returns a speed as text."""
    if one["solving"]:
        return f"{1 / speed:.1f} s" if speed else "not solved"
    return f"{speed:,.0f} /s"


COLUMNS = ("work", "threads", *SIDES.values(), "goal")
HEADER = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"
FIRSTS = f"| seconds before steady training | {' | '.join(SIDES[side] for side in BEFORE)} |\n{'|---' * 5}|"


def tables(measured: list[dict[str, Any]]) -> str:
    """Returns the tables of measurements, one pair for each place."""
    parts = []
    for place in dict.fromkeys(one["place"] for one in measured):
        here = [one for one in measured if one["place"] == place]
        firsts = [before(one) for one in here if any(one["firsts"].values())]
        parts += [place, "", HEADER, *map(row, here), "", *([FIRSTS, *firsts, ""] if firsts else ())]
    return "\n".join(parts)


def ratios(measured: list[dict[str, Any]]) -> str:
    """Returns the table of our speed beside stable-baselines3 and our floor, by work and machine; misses are bold."""
    by_work: dict[str, dict[tuple[str, int], Measured]] = {}
    for one in measured:
        by_work.setdefault(one["work"], {})[one["kind"], one["threads"]] = one
    # The works in the order of the machine on which all of them were measured.
    order = [one["work"] for one in measured if (one["kind"], one["threads"]) == ("cpu", 1)]
    header = ("work", "goal", *MACHINES.values())
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for work in order:
        cells = [_goals(by_work[work][one]) if one in by_work[work] else "" for one in MACHINES]
        goal = by_work[work]["cpu", 1]
        asked = f"{goal['goal']:.1f}" + ("" if goal["share"] is None else f"; {goal['share']:.2f}")
        lines.append(f"| {' | '.join((work, asked, *cells))} |")
    return "\n".join(lines)


def _goals(one: Measured) -> str:
    """Returns the ratios of a measurement that have a goal, those that miss it in bold."""
    return "; ".join(f"{value:.2f}" if value >= goal else f"**{value:.2f}**" for value, goal in judged(one))


def write_ratios(measured: list[dict[str, Any]]) -> None:
    """Writes the table of ratios into the page, in the place of the one that is there."""
    start, end = MARKS
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(start, 1)
    tail = rest.split(end, 1)[1]
    PAGE.write_text(f"{head}{start}\n\n{ratios(measured)}\n\n{end}{tail}", encoding="utf-8")


def picture(measured: list[dict[str, Any]]) -> str:
    """Returns an SVG with the speed of each framework as a share of ours, for light and dark pages."""
    bars: list[str] = []
    y = 14
    for one in measured:
        bars.append(f'<text class="work" x="0" y="{y + 11}">{escape(one["work"])}</text>')
        y += 20
        for side in ("ours", *(side for side in DRAWN if side in one["speeds"])):
            bars += _bar(one, side, y)
            y += HEIGHT + 3
        y += 10
    style = (
        "text{font:12px sans-serif;fill:#222}.work{font-weight:bold}.number{fill:#555}"
        "@media(prefers-color-scheme:dark){text{fill:#ddd}.number{fill:#aaa}}"
    )
    size = f'width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{style}</style>{"".join(bars)}</svg>\n'


def _bar(one: Measured, side: str, y: int) -> Iterator[str]:
    share = 1.0 if side == "ours" else 1.0 / (ratio(one, side) or math.inf)
    number = shown(one, median(one["speeds"][side]))
    text = number if side == "ours" else f"{number}, {share:.2f} of ours"
    length = max(1.0, min(share, 1.1) * BAR)
    yield f'<text x="{LABELS - 8}" y="{y + 12}" text-anchor="end">{escape(SIDES[side])}</text>'
    yield f'<rect x="{LABELS}" y="{y}" width="{length:.1f}" height="{HEIGHT}" rx="2" fill="{COLOURS[side]}"/>'
    yield f'<text class="number" x="{LABELS + length + 6:.1f}" y="{y + 12}">{text}</text>'


def main() -> None:
    """Draws the picture of the measurements on a CPU with one thread, writes the ratios, and prints all tables."""
    measured = read()
    drawn = [one for one in measured if one["kind"] == "cpu" and one["threads"] == 1]
    PICTURE.write_text(picture(drawn), encoding="utf-8")
    write_ratios(measured)
    print(tables(measured))


if __name__ == "__main__":
    main()
