"""Records a training on a terminal as docs/images/terminal.gif and terminal_dark.gif: python docs/site/recording.py

The command runs now, on a terminal of this script, in a copy of the program that is deleted afterwards. A run that
takes longer than SECONDS is shown so much faster. JOYSTICK_LANG is passed on, and Chinese is drawn if it answers so.
"""

import fcntl
import os
import pty
import re
import select
import shutil
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from unicodedata import east_asian_width

import numpy as np
from matplotlib import font_manager
from PIL import Image, ImageColor, ImageDraw, ImageFont

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
WORDS = ("--algo", "PPO", "--env", "CartPole-v1", "--into", "tasks/first")
COPIED = ("algos", "config", "envs", "framework", "presets")
COLUMNS, ROWS = 80, 17
SECONDS = 16.0
"""Seconds that the run takes in the picture, at most."""
STEP = 0.25
"""Seconds between two pictures."""
FIRST, LAST = 1.5, 6.0
"""Seconds for which the typed command and the last picture stay."""
FONT_SIZE, CELL, MARGIN = 16, (10, 21), 14
"""Points; width and height of a character, and the free edge, in pixels."""
SHADES = 12
"""Colors of a GIF for each color of a theme: the edges of letters are between two of them."""
CHINESE = ("Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Microsoft YaHei", "PingFang SC", "SimHei")


class Theme(NamedTuple):
    """Colors, as hexadecimal digits."""

    paper: str
    text: str
    dim: str
    colors: dict[int, str]
    """Number of a color in an escape sequence -> color."""


LIGHT = Theme(
    "#ffffff", "#1f2328", "#6e7781",
    {31: "#cf222e", 32: "#1a7f37", 33: "#9a6700", 36: "#0969da", 90: "#d0d7de"},
)  # fmt: skip
DARK = Theme(
    "#0d1117", "#e6edf3", "#8b949e",
    {31: "#ff7b72", 32: "#3fb950", 33: "#d29922", 36: "#58a6ff", 90: "#30363d"},
)  # fmt: skip
THEMES = {"terminal.gif": LIGHT, "terminal_dark.gif": DARK}


class Cell(NamedTuple):
    """A character on the screen, with its codes of color and weight."""

    character: str
    codes: tuple[int, ...] = ()


Line = list[Cell]
SEQUENCE = re.compile(r"\x1b\[([?0-9;]*)([a-zA-Z])|(\r)|(\n)|([^\x1b\r\n])", re.S)


class Terminal:
    """The part of a terminal that our output needs: lines that are rewritten, erased and colored."""

    def __init__(self) -> None:
        self.lines: list[Line] = [[]]
        self._row = self._column = 0
        self._codes: tuple[int, ...] = ()

    def feed(self, text: str) -> None:
        """Takes in what a program has written."""
        for match in SEQUENCE.finditer(text):
            numbers, kind, back, down, character = match.groups()
            if kind:
                self._obey(kind, [int(number) for number in re.findall(r"\d+", numbers)])
            elif back:
                self._column = 0
            elif down:
                self._down()
            else:
                self._put(character)

    def _obey(self, kind: str, numbers: list[int]) -> None:
        line = self.lines[self._row]
        if kind == "A":
            self._row = max(0, self._row - (numbers or [1])[0])
        elif kind == "K":
            del line[0 if 2 in numbers else self._column :]
        elif kind == "m":
            self._codes = tuple(self._color(numbers or [0]))

    def _color(self, numbers: list[int]) -> Iterator[int]:
        """Yields the codes that are on after these; of 256 colors, the grey ones that a bar has."""
        if numbers[0] == 38:
            yield 90
            return
        kept = () if 0 in numbers else self._codes
        yield from dict.fromkeys([*kept, *(number for number in numbers if number)])

    def _down(self) -> None:
        self._row += 1
        if self._row == len(self.lines):
            self.lines.append([])

    def _put(self, character: str) -> None:
        width = columns(character)
        if self._column + width > COLUMNS:
            self._down()
            self._column = 0
        line = self.lines[self._row]
        line.extend([Cell(" ")] * (self._column - len(line)))
        line[self._column : self._column + width] = [Cell(character, self._codes), *[Cell("")] * (width - 1)]
        self._column += width

    def screen(self) -> list[Line]:
        """Returns the lines that are visible."""
        lines = list(self.lines)
        while lines and not lines[-1]:
            lines.pop()
        return [list(line) for line in lines[-ROWS:]]


def columns(character: str) -> int:
    """Returns the width of a character in columns."""
    return 2 if east_asian_width(character) in "WF" else 1


def record(words: tuple[str, ...]) -> Iterator[tuple[float, str]]:
    """Runs the program, and yields what it writes, with the seconds since its beginning."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(ROOT / "main.py", folder)
        for name in COPIED:
            shutil.copytree(ROOT / name, Path(folder, name), ignore=shutil.ignore_patterns("__pycache__"))
        process, output = pty.fork()
        if not process:
            os.chdir(folder)
            variables = {**os.environ, "TERM": "xterm", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
            os.execve(sys.executable, [sys.executable, "main.py", *words], variables)
        fcntl.ioctl(output, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        began, left = time.monotonic(), b""
        while True:
            select.select([output], [], [])
            try:
                data = os.read(output, 65536)
            except OSError:  # the program has ended
                data = b""
            if not data:
                break
            text, left = _decoded(left + data)
            yield time.monotonic() - began, text
        if status := os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]):
            raise SystemExit(f"the command ended with status {status}")


def _decoded(data: bytes) -> tuple[str, bytes]:
    """Returns text, and the bytes behind it: a letter, or an escape sequence, that is not whole yet."""
    end = len(data)
    if unfinished := re.search(rb"\x1b(?:\[[?0-9;]*)?$", data):
        end = unfinished.start()
    for cut in range(end, max(-1, end - 4), -1):
        try:
            return data[:cut].decode(), data[cut:]
        except UnicodeDecodeError:
            continue
    return data.decode(errors="replace"), b""


def screens(written: list[tuple[float, str]]) -> list[tuple[list[Line], float]]:
    """Returns the screens of a recording, each with the seconds for which it stays."""
    terminal = Terminal()
    terminal.feed(f"\x1b[32m$\x1b[0m python main.py {' '.join(WORDS)}\r\n")
    shown: list[tuple[list[Line], float]] = [(terminal.screen(), FIRST)]
    speed, due = max(1.0, written[-1][0] / SECONDS), 0.0
    for moment, text in written:
        if moment / speed >= due:
            seconds = STEP * (int((moment / speed - due) / STEP) + 1)
            _show(shown, terminal.screen(), seconds)
            due += seconds
        terminal.feed(text)
    _show(shown, terminal.screen(), LAST)
    return shown


def _show(shown: list[tuple[list[Line], float]], screen: list[Line], seconds: float) -> None:
    """Adds a screen; one that equals the last one stays longer."""
    if shown[-1][0] == screen:
        shown[-1] = screen, shown[-1][1] + seconds
    else:
        shown.append((screen, seconds))


def fonts() -> dict[str, ImageFont.FreeTypeFont]:
    """Returns the fonts of usual, bold and Chinese text; no Chinese one if this machine has none."""
    mono = Path(font_manager.findfont("DejaVu Sans Mono"))
    found = {"usual": mono, "bold": mono.with_name("DejaVuSansMono-Bold.ttf")}
    for font in font_manager.fontManager.ttflist:
        if font.name in CHINESE:
            found.setdefault("chinese", Path(font.fname))
    return {name: ImageFont.truetype(path, FONT_SIZE) for name, path in found.items()}


def picture(screen: list[Line], theme: Theme, faces: dict[str, ImageFont.FreeTypeFont]) -> Image.Image:
    """Draws a screen."""
    width, height = CELL
    image = Image.new("RGB", (COLUMNS * width + 2 * MARGIN, ROWS * height + 2 * MARGIN), theme.paper)
    draw = ImageDraw.Draw(image)
    for row, line in enumerate(screen):
        for column, (character, codes) in enumerate(line):
            if not character.strip():
                continue
            color = next((theme.colors[code] for code in codes if code in theme.colors), theme.text)
            left, top = MARGIN + column * width, MARGIN + row * height
            if character in "━╸╺":  # a bar without gaps between its characters
                ends = {"━": (0, width), "╸": (0, width // 2), "╺": (width // 2, width)}[character]
                middle = top + height // 2
                draw.rectangle((left + ends[0], middle - 1, left + ends[1] - 1, middle + 1), color)
                continue
            face = faces["bold" if 1 in codes else "usual"]
            if columns(character) == 2:
                face = faces.get("chinese", face)
            draw.text((left, top + height - 5), character, theme.dim if 2 in codes else color, face, anchor="ls")
    return image


def palette(theme: Theme) -> np.ndarray:
    """Returns the colors [N, 3] of a GIF: those of the theme, and those between each and the paper."""
    names = [theme.text, theme.dim, *theme.colors.values()]
    paper, ends = (np.array([ImageColor.getrgb(name) for name in some], float) for some in ([theme.paper], names))
    part = np.linspace(0, 1, SHADES)[:, None, None]
    return (paper + part * (ends - paper)).reshape(-1, 3).round().astype(np.uint8)


def indexed(image: Image.Image, colors: np.ndarray) -> Image.Image:
    """Returns an image whose pixels have the nearest of these colors."""
    pixels, place = np.unique(np.asarray(image).reshape(-1, 3), axis=0, return_inverse=True)
    distance = ((pixels[:, None].astype(int) - colors) ** 2).sum(-1)
    numbers = distance.argmin(1).astype(np.uint8)[place.reshape(-1)]
    result = Image.fromarray(numbers.reshape(image.height, image.width), "P")
    result.putpalette(colors.reshape(-1).tolist())
    return result


def main() -> None:
    """Writes the pictures."""
    written = list(record(WORDS))
    shown, faces = screens(written), fonts()
    delays = [max(20, round(1000 * seconds)) for _, seconds in shown]
    for name, theme in THEMES.items():
        colors = palette(theme)
        frames = [indexed(picture(screen, theme, faces), colors) for screen, _ in shown]
        frames[0].save(
            IMAGES / name, save_all=True, append_images=frames[1:], duration=delays, loop=0, optimize=False, disposal=1
        )
        size = (IMAGES / name).stat().st_size
        print(f"{IMAGES / name}: {len(frames)} pictures, {sum(delays) / 1000:.0f} s, {size / 1000:,.0f} kB")
    print(f"The run took {written[-1][0]:.0f} s.")


if __name__ == "__main__":
    main()
