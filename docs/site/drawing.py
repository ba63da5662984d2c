"""Draws docs/images/design.svg, the architecture on one picture: python docs/site/drawing.py"""

from html import escape
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).parents[1] / "images" / "design.svg"
WIDTH, HEIGHT = 960, 640
STYLE = """
  .paper { fill: #ffffff } .box { fill: #f4f6fb; stroke: #5b6bb5 } .loop { fill: #e8f4ec; stroke: #3b8a55 }
  .floor { fill: #faf8f2; stroke: #b08d3c } .name { fill: #1b1f2a; font-weight: 600 }
  .text { fill: #3d4455 }
  .arrow { stroke: #3b8a55; fill: none; stroke-width: 1.6 } .head { fill: #3b8a55 }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #14171f } .box { fill: #1f2433; stroke: #8090e0 } .loop { fill: #17291e; stroke: #63c285 }
    .floor { fill: #262218; stroke: #d3b062 } .name { fill: #eef1f8 } .text { fill: #b9c1d3 }
    .arrow { stroke: #63c285 } .head { fill: #63c285 }
  }
"""


class Box(NamedTuple):
    """A rectangle with a name and lines of text; kind is its class in STYLE."""

    x: int
    y: int
    width: int
    height: int
    kind: str
    name: str
    lines: tuple[str, ...] = ()


LOOP = (
    Box(40, 76, 160, 70, "loop", "environment", ("envs/base.py", "step, reset")),
    Box(270, 76, 170, 70, "loop", "Collector", ("framework/collect", "fragment [T, N]")),
    Box(510, 76, 170, 70, "loop", "Memory", ("framework/memory", "chunk [K, B] or [T, N]")),
    Box(750, 76, 170, 70, "loop", "Learner", ("framework/loop", "chunk -> minibatches")),
    Box(510, 196, 170, 70, "loop", "Agent", ("algos/<name>/agent.py", "acts; loss")),
)
SIDE = (
    Box(
        40,
        300,
        210,
        184,
        "box",
        "config/",
        (
            "config.py  a run's settings",
            "model/  what can be set",
            "read/  files, words -> config",
            "tell/  help and messages",
            "foreign/  words of others",
            "tune/  values to try",
            "own/  code of the user",
            "system/  this machine",
        ),
    ),
    Box(
        40,
        490,
        210,
        108,
        "box",
        "algos/common/",
        ("nets/  networks from layers", "maths/  formulas", "parts/  parts of agents", "fast/  gradient steps, faster"),
    ),
)
FLOORS = (
    ("commands, distributed, live", "the command line, processes of Ray, the page of watch"),
    ("jobs", "several runs: seeds, experiments, tunings"),
    ("runs", "a run: set-up, resume, end; joystick.Run"),
    ("export, dialog, data", "policies as files; parts for a program's own loop"),
    ("assemble, film, sharing", "config to environments, agents, memories; videos; hubs"),
    ("pages, record", "reports and figures; console, logs, callbacks"),
    ("loop, archive", "Trainer, rounds, save points; reading of runs"),
    ("policies, memory, dataset", "who learns from what; experience in memory and files"),
    ("collect, storage, screen, disk", "steps; stores; text on a terminal; atomic files, checkpoints"),
)
"""Rooms of framework/ from the roof to the ground, and what is in them."""


def drawn(box: Box) -> str:
    """Returns a box as SVG."""
    parts = [f'<rect class="{box.kind}" x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="7"/>']
    parts.append(f'<text class="name" x="{box.x + 12}" y="{box.y + 22}" font-size="15">{escape(box.name)}</text>')
    for at, line in enumerate(box.lines):
        place = f'x="{box.x + 12}" y="{box.y + 42 + 18 * at}"'
        parts.append(f'<text class="text" {place} font-size="12.5">{escape(line)}</text>')
    return "\n".join(parts)


def arrow(points: str, label: str, x: int, y: int) -> str:
    """Returns a line with a head at its end, and its label."""
    line = f'<polyline class="arrow" points="{points}" marker-end="url(#head)"/>'
    return f'{line}\n<text class="text" x="{x}" y="{y}" font-size="12" text-anchor="middle">{escape(label)}</text>'


def floors() -> list[str]:
    """Returns the rooms of framework/, one above the other."""
    x, y, width, height = 270, 300, 650, 30
    parts = [f'<text class="name" x="{x}" y="{y - 6}" font-size="15">framework/, imports lead downwards</text>']
    for at, (names, what) in enumerate(FLOORS):
        top = y + 6 + at * (height + 2.5)
        parts.append(f'<rect class="floor" x="{x}" y="{top}" width="{width}" height="{height}" rx="4"/>')
        parts.append(f'<text class="name" x="{x + 12}" y="{top + 20}" font-size="13">{names}</text>')
        parts.append(f'<text class="text" x="{x + 230}" y="{top + 20}" font-size="12.5">{what}</text>')
    return parts


def picture() -> str:
    """Returns the whole picture."""
    arrows = (
        arrow("200,111 264,111", "next_obs, reward", 234, 68),
        arrow("440,111 504,111", "add", 472, 103),
        arrow("680,111 744,111", "take", 712, 103),
        arrow("835,146 835,231 686,231", "update", 790, 222),
        arrow("510,231 355,231 355,152", "sample_action", 420, 222),
        arrow("270,132 206,132", "action", 236, 150),
    )
    head = (
        '<marker id="head" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="head" d="M0 0 L8 4 L0 8 z"/></marker>'
    )
    title = '<text class="name" x="40" y="44" font-size="18">One round: collect, add, learn</text>'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"',
            ' font-family="system-ui, Noto Sans, sans-serif" aria-label="Architecture of Joystick">',
            f"<style>{STYLE}</style><defs>{head}</defs>",
            f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>',
            title,
            *map(drawn, LOOP),
            *arrows,
            *map(drawn, SIDE),
            *floors(),
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    FILE.write_text(picture(), encoding="utf-8")
