"""What a soak has shown: slopes by the hour, their table, and the picture of docs/reliability.md."""

import csv
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

Rows = list[dict[str, str]]
"""Samples: session, part, seconds since its start, what the part used, its steps and its MiB on the disk."""
TABLE = Path(__file__).with_name("soak.json")
PICTURE = Path(__file__).parents[2] / "docs" / "images" / "soak.svg"
WARM_SECONDS = 1200.0
"""Time after a start that no slope is fitted to: caches and replay memories fill."""
FEWEST = 10
"""Samples of a block of five minutes; the last one of a session may have fewer, and is left out."""
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


def samples(table: Path) -> Rows:
    """Returns the rows of all sessions."""
    if not table.exists():
        return []
    with open(table, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Slope(NamedTuple):
    """Change in an hour."""

    level: float
    """Mean."""
    change: float
    error: float
    """Half of its 95 % interval, from the means of blocks of five minutes, which depend little on one another."""


def slope(rows: Rows, name: str) -> Slope | None:
    """Fits one slope to all sessions, each of which has its own level. None: too few blocks."""
    blocks: dict[tuple[int, int], list[tuple[float, float]]] = {}
    last: dict[int, tuple[float, float]] = {}
    for row in rows:
        number, seconds = int(row["session"]), float(row["seconds"])
        if name == "rate":
            before, last[number] = last.get(number), (seconds, float(row["steps"]))
            if before is None or last[number][1] == before[1]:
                last[number] = before or last[number]  # the run writes its steps once in an iteration
                continue
            value = (float(row["steps"]) - before[1]) / (seconds - before[0])
        else:
            value = float(row[name])
        if seconds >= WARM_SECONDS:
            blocks.setdefault((number, int(seconds // 300)), []).append((seconds / 3600, value))
    points = [(number, *np.mean(block, axis=0)) for (number, _), block in blocks.items() if len(block) >= FEWEST]
    sessions = sorted({number for number, *_ in points})
    if len(points) < len(sessions) + 3:
        return None
    x, y = (np.array(values) for values in zip(*[(t, value) for _, t, value in points], strict=True))
    level = np.array([[number == each for each in sessions] for number, *_ in points], float)
    matrix = np.column_stack([level, x])
    weights, *_ = np.linalg.lstsq(matrix, y, rcond=None)
    rest = y - matrix @ weights
    variance = rest @ rest / (len(y) - matrix.shape[1]) * np.linalg.pinv(matrix.T @ matrix)[-1, -1]
    return Slope(float(np.mean(y)), float(weights[-1]), 1.96 * float(np.sqrt(variance)))


def summary(rows: Rows) -> tuple[list[str], int]:
    """Returns the lines of a table of slopes, and the number of those that are too large."""
    bad = 0
    ends: dict[str, float] = {}
    for row in rows:
        ends[row["session"]] = float(row["seconds"])
    lines = [f"| {sum(ends.values()) / 3600:.1f} hours, {len(ends)} sessions | | mean | change in an hour |"]
    lines.append("|---|---|---|---|")
    for part in dict.fromkeys(row["part"] for row in rows):
        of_part = [row for row in rows if row["part"] == part]
        for name, unit in UNITS.items():
            if (part == "watch" and name in ("rate", "disk")) or (its := slope(of_part, name)) is None:
                continue
            loss = -100 * its.change / max(its.level, 1e-9) if name == "rate" else its.change
            certain = abs(its.change) > its.error
            bad += name in ALLOWED and certain and loss > ALLOWED[name]
            text = f"{its.change:+.3f} ± {its.error:.3f} {unit}".strip()
            lines.append(f"| {part} | {name} | {f'{its.level:,.1f} {unit}'.strip()} | {text} |")
    return lines, bad


def picture(rows: Rows) -> str:
    """Returns an SVG with a panel for each measured number: sessions follow one another, a line for each part."""
    starts, hours = {}, 0.0
    for number in sorted({int(row["session"]) for row in rows}):
        starts[number] = hours
        hours += max(float(row["seconds"]) for row in rows if int(row["session"]) == number) / 3600
    panels = {"memory": "Memory, MiB", "descriptors": "Open files", "threads": "Threads"}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH * len(panels)} {HEIGHT}" role="img" '
        'font-family="system-ui, Noto Sans, sans-serif" aria-label="What a soak uses over hours">',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH * len(panels)}" height="{HEIGHT}"/>',
    ]
    for at, (name, title) in enumerate(panels.items()):
        top = 1.1 * max(float(row[name]) for row in rows)
        parts.append(f'<g transform="translate({at * WIDTH} 0)"><text class="title" x="{LEFT}" y="18">{title}</text>')
        for share in (0.0, 0.5, 1.0):
            y = HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)
            parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - 10}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{share * top:,.0f}</text>')
        for share in (0.0, 0.5, 1.0):
            x = LEFT + share * (WIDTH - 10 - LEFT)
            parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 12}" text-anchor="middle">{share * hours:.1f} h</text>')
        for part, color in COLORS.items():
            of_part = [row for row in rows if row["part"] == part]
            every = max(1, len(of_part) // 300)
            points = []
            for row in of_part[::every]:
                x = LEFT + (starts[int(row["session"])] + float(row["seconds"]) / 3600) / hours * (WIDTH - 10 - LEFT)
                y = HEIGHT - BOTTOM - float(row[name]) / top * (HEIGHT - BOTTOM - TOP)
                points.append(f"{x:.1f},{y:.1f}")
            parts.append(f'<polyline fill="none" stroke="{color}" stroke-width="1.5" points="{" ".join(points)}"/>')
            if at == 0 and of_part:
                label = HEIGHT - BOTTOM - float(of_part[-1][name]) / top * (HEIGHT - BOTTOM - TOP) - 6
                parts.append(f'<text x="{WIDTH - 12}" y="{label:.1f}" text-anchor="end">{part}</text>')
        parts.append("</g>")
    return "\n".join([*parts, "</svg>\n"])


def publish(rows: Rows) -> None:
    """Writes the table and the picture of the page."""
    TABLE.write_text(json.dumps(summary(rows)[0], indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PICTURE.write_text(picture(rows), encoding="utf-8")
