"""What a soak has shown: slopes by the hour, their table, and the picture of docs/reliability.md."""

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np

Rows = list[dict[str, str]]
"""Samples: session, part, seconds since its start, what the part used, its steps and its MiB on the disk."""
MEANS = Path(__file__).with_name("soak.csv")
"""Means of all published sessions, from whatever machine."""
PICTURE = Path(__file__).parents[2] / "docs" / "images" / "soak.svg"
EVERY = 10.0
"""Seconds between two samples."""
BLOCK_SECONDS = 300.0
WARM_SECONDS = 1200.0
"""Time after a start that no slope is fitted to: caches and replay memories fill."""
FEWEST = 10
"""Samples of a block; the last one of a session may have fewer, and is left out."""
UNITS = {"memory": "MiB", "descriptors": "", "threads": "", "rate": "steps/s", "disk": "MiB"}
ALLOWED = {"memory": 4.0, "descriptors": 1.0, "threads": 1.0, "rate": 2.0}
"""Largest change in an hour; of the rate, the largest loss in percent. Disk grows with the rows that a run writes."""
COLORS = {"train": "#2f6fb5", "ray": "#c2572b", "watch": "#3a8a5f"}
STYLE = """
text { fill: #444; font-size: 11px } .title { fill: #111; font-size: 13px } .paper { fill: #fff } .axis { stroke: #ccc }
@media (prefers-color-scheme: dark) {
text { fill: #aaa } .title { fill: #eee } .paper { fill: #181a1d } .axis { stroke: #444 } }
"""
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 320, 210, 52, 30, 30


class Block(NamedTuple):
    """Means of five minutes of a part of a session: blocks depend little on one another, samples do."""

    session: str
    """Date and time of its start."""
    part: str
    seconds: float
    """Time of its last sample since the start of the session."""
    memory: float
    descriptors: float
    threads: float
    rate: float
    """Steps per second since the block before."""
    disk: float


def samples(table: Path) -> Rows:
    """Returns the rows of a table; none if there is no such file."""
    if not table.exists():
        return []
    with open(table, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def means(rows: Rows) -> list[Block]:
    """Returns the blocks of samples."""
    groups: dict[tuple[str, str, int], Rows] = {}
    for row in rows:
        groups.setdefault((row["session"], row["part"], int(float(row["seconds"]) // BLOCK_SECONDS)), []).append(row)
    blocks = []
    before: dict[tuple[str, str], tuple[float, float]] = {}
    for (session, part, _), group in groups.items():
        seconds, steps = float(group[-1]["seconds"]), float(group[-1]["steps"])
        began, done = before.get((session, part), (float(group[0]["seconds"]), float(group[0]["steps"])))
        before[session, part] = seconds, steps
        rate = (steps - done) / max(seconds - began, EVERY)
        used = {name: float(np.mean([float(row[name]) for row in group])) for name in UNITS if name != "rate"}
        if len(group) >= FEWEST:
            blocks.append(Block(session, part, seconds, rate=rate, **used))
    return blocks


def published() -> list[Block]:
    """Returns the blocks of all published sessions."""
    return [
        Block(row.pop("session"), row.pop("part"), **{name: float(value) for name, value in row.items()})
        for row in samples(MEANS)
    ]


class Slope(NamedTuple):
    """Change in an hour."""

    level: float
    """Mean."""
    change: float
    error: float
    """Half of its 95 % interval."""


def slope(blocks: list[Block], name: str) -> Slope | None:
    """Fits one slope to all sessions, each of which has its own level. None: too few blocks."""
    warm = [block for block in blocks if block.seconds >= WARM_SECONDS]
    sessions = sorted({block.session for block in warm})
    if len(warm) < len(sessions) + 3:
        return None
    x = np.array([block.seconds / 3600 for block in warm])
    y = np.array([getattr(block, name) for block in warm])
    level = np.array([[block.session == session for session in sessions] for block in warm], float)
    matrix = np.column_stack([level, x])
    weights, *_ = np.linalg.lstsq(matrix, y, rcond=None)
    rest = y - matrix @ weights
    variance = rest @ rest / (len(y) - matrix.shape[1]) * np.linalg.pinv(matrix.T @ matrix)[-1, -1]
    return Slope(float(np.mean(y)), float(weights[-1]), 1.96 * float(np.sqrt(variance)))


def hours_of(blocks: list[Block]) -> dict[str, float]:
    """Returns the length of each session in hours."""
    ends: dict[str, float] = {}
    for block in blocks:
        ends[block.session] = max(ends.get(block.session, 0.0), block.seconds / 3600)
    return ends


def summary(blocks: list[Block]) -> tuple[list[str], int]:
    """Returns the lines of a table of slopes, and the number of those that are too large."""
    bad = 0
    hours = hours_of(blocks)
    lines = [f"| {sum(hours.values()):.1f} hours, {len(hours)} sessions | | mean | change in an hour |"]
    lines.append("|---|---|---|---|")
    for part in dict.fromkeys(block.part for block in blocks):
        of_part = [block for block in blocks if block.part == part]
        for name, unit in UNITS.items():
            if (part == "watch" and name in ("rate", "disk")) or (its := slope(of_part, name)) is None:
                continue
            loss = -100 * its.change / max(its.level, 1e-9) if name == "rate" else its.change
            certain = abs(its.change) > its.error
            bad += name in ALLOWED and certain and loss > ALLOWED[name]
            text = f"{its.change:+.3f} ± {its.error:.3f} {unit}".replace("-0.000", "0.000").strip()
            lines.append(f"| {part} | {name} | {f'{its.level:,.1f} {unit}'.strip()} | {text} |")
    return lines, bad


def picture(blocks: list[Block]) -> str:
    """Returns an SVG with a panel for each measured number: sessions follow one another, a line for each part."""
    starts, hours = {}, 0.0
    for session, length in hours_of(blocks).items():
        starts[session] = hours
        hours += length
    panels = {"memory": "Memory, MiB", "descriptors": "Open files", "threads": "Threads"}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH * len(panels)} {HEIGHT}" role="img" '
        'font-family="system-ui, Noto Sans, sans-serif" aria-label="What a soak uses over hours">',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH * len(panels)}" height="{HEIGHT}"/>',
    ]
    for at, (name, title) in enumerate(panels.items()):
        top = 1.1 * max(getattr(block, name) for block in blocks)
        parts.append(f'<g transform="translate({at * WIDTH} 0)"><text class="title" x="{LEFT}" y="18">{title}</text>')
        for share in (0.0, 0.5, 1.0):
            y = HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)
            parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - 10}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{share * top:,.0f}</text>')
        for share in (0.0, 0.5, 1.0):
            x = LEFT + share * (WIDTH - 10 - LEFT)
            anchor = "end" if share == 1.0 else "middle"
            parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 12}" text-anchor="{anchor}">{share * hours:.1f} h</text>')
        for part, color in COLORS.items():
            of_part = [block for block in blocks if block.part == part]
            points = []
            for block in of_part:
                x = LEFT + (starts[block.session] + block.seconds / 3600) / hours * (WIDTH - 10 - LEFT)
                y = HEIGHT - BOTTOM - getattr(block, name) / top * (HEIGHT - BOTTOM - TOP)
                points.append(f"{x:.1f},{y:.1f}")
            parts.append(f'<polyline fill="none" stroke="{color}" stroke-width="1.5" points="{" ".join(points)}"/>')
            if at == 0 and of_part:
                label = HEIGHT - BOTTOM - getattr(of_part[-1], name) / top * (HEIGHT - BOTTOM - TOP) - 6
                parts.append(f'<text x="{WIDTH - 12}" y="{label:.1f}" text-anchor="end">{part}</text>')
        parts.append("</g>")
    return "\n".join([*parts, "</svg>\n"])


def publish(blocks: list[Block]) -> None:
    """Adds blocks to those of other sessions, and draws the picture of the page anew."""
    new = {block.session for block in blocks}
    every = sorted(
        [*(block for block in published() if block.session not in new), *blocks], key=lambda one: one.session
    )
    with open(MEANS, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(Block._fields)
        rows.writerows([f"{value:.2f}" if isinstance(value, float) else value for value in block] for block in every)
    PICTURE.write_text(picture(every), encoding="utf-8")
