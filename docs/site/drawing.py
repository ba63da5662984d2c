"""Draws docs/images/design.svg and design_zh.svg, the architecture on one picture: python docs/site/drawing.py"""

from html import escape
from pathlib import Path
from typing import NamedTuple

IMAGES = Path(__file__).parents[1] / "images"
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
        166,
        "box",
        "config/",
        (
            "config.py  a run's settings",
            "foreign/  words of others",
            "read/  files, words -> config",
            "tell/  help and messages",
            "own/  code of the user",
            "model/  what can be set",
            "system/  this machine",
        ),
    ),
    Box(
        40,
        482,
        210,
        116,
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
CHINESE = {
    "One round: collect, add, learn": "一轮训练：采集、加入、学习",
    "environment": "环境",
    "fragment [T, N]": "片段 [T, N]",
    "chunk [K, B] or [T, N]": "数据块 [K, B] 或 [T, N]",
    "chunk -> minibatches": "数据块 -> 小批量",
    "acts; loss": "选动作；损失",
    "config.py  a run's settings": "config.py  通用配置",
    "foreign/  words of others": "foreign/  其他库的写法",
    "read/  files, words -> config": "read/  文件、命令行 -> 配置",
    "tell/  help and messages": "tell/  帮助与报错",
    "own/  code of the user": "own/  用户自己的代码",
    "model/  what can be set": "model/  配置项的类型和范围",
    "system/  this machine": "system/  操作系统",
    "nets/  networks from layers": "nets/  由层组成的网络",
    "maths/  formulas": "maths/  公式",
    "parts/  parts of agents": "parts/  智能体的部件",
    "fast/  gradient steps, faster": "fast/  更快的梯度步",
    "framework/, imports lead downwards": "framework/，只能从上往下导入",
    "the command line, processes of Ray, the page of watch": "命令行、Ray 的进程、watch 的网页",
    "several runs: seeds, experiments, tunings": "多次运行：随机种子、实验组、调参",
    "a run: set-up, resume, end; joystick.Run": "一次运行：开始、恢复、结束；joystick.Run",
    "policies as files; parts for a program's own loop": "导出的策略；供程序自己的循环使用的部件",
    "config to environments, agents, memories; videos; hubs": "由配置建立环境、智能体和 Memory；录像；分享",
    "reports and figures; console, logs, callbacks": "报告和图；终端输出、日志、回调",
    "Trainer, rounds, save points; reading of runs": "Trainer、各轮、保存点；读取运行的记录",
    "who learns from what; experience in memory and files": "谁从什么数据学习；内存和文件中的经验",
    "steps; stores; text on a terminal; atomic files, checkpoints": "环境步；存储；终端文本；原子写入的文件、检查点",
}
"""Words of the picture in Chinese; all others are names in the code."""


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
        parts.append(f'<text class="text" x="{x + 240}" y="{top + 20}" font-size="12.5">{escape(what)}</text>')
    return parts


def picture() -> str:
    """Returns the whole picture, in English."""
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


def in_chinese(drawing: str) -> str:
    """Returns the picture with its words in Chinese."""
    for words, translation in CHINESE.items():
        drawing = drawing.replace(f">{escape(words)}<", f">{escape(translation)}<")
    return drawing.replace('aria-label="Architecture of Joystick"', 'aria-label="Joystick 的架构"')


def pictures() -> dict[str, str]:
    """Returns the picture by its file under docs/images."""
    return {"design.svg": picture(), "design_zh.svg": in_chinese(picture())}


if __name__ == "__main__":
    for name, drawing in pictures().items():
        (IMAGES / name).write_text(drawing, encoding="utf-8")
