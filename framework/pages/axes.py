"""Colors, axes and legends of all figures."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from config.tell.cells import cells
from config.tell.language import tr
from framework.archive.curves import STEPS


class Palette(NamedTuple):
    """Colors of a figure. The lines are from the Okabe-Ito palette, which is safe for color-blind readers."""

    blue: str
    orange: str
    green: str
    gray: str
    ink: str
    grid: str
    paper: str


LIGHT = Palette("#0072b2", "#d55e00", "#007a5e", "#6b7280", "#1c2430", "#e5e7eb", "#ffffff")


def dress(axes: Any, title: str, beside: str, quantity: str, over: str = STEPS) -> None:
    from matplotlib.ticker import EngFormatter

    figure = axes.figure
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    figure.set_facecolor(LIGHT.paper)
    axes.set_facecolor(LIGHT.paper)
    axes.set_title(title, loc="left", fontsize=12, fontweight="bold", color=LIGHT.ink)
    axes.set_title(beside, loc="right", fontsize=10, color=LIGHT.gray)
    axes.set_xlabel(tr(over), color=LIGHT.ink)
    axes.set_ylabel(quantity, color=LIGHT.ink)
    axes.tick_params(colors=LIGHT.ink)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.margins(y=0.08)
    axes.grid(color=LIGHT.grid, linewidth=0.6)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side not in ("top", "right"))
        spine.set_edgecolor(LIGHT.ink)


LEGEND_LETTERS = 105
"""Room of a line of a legend, in letters; a mark takes six."""
LEGEND_LINES, LEGEND_INCHES, LEGEND_POINTS = 4, 0.1875, 9
"""Lines of a legend for which a figure has room, the height of each further one, and the size of its letters."""


def legend_columns(labels: Sequence[str], letters: float = LEGEND_LETTERS) -> int:
    """Returns the number of columns of a legend that is no wider than the figure; a long label has a line alone.
    letters: room of a line."""
    widths = [cells(label) + 6 for label in labels]
    if sum(widths) <= letters:
        return 5
    return next((n for n in (3, 2) if sum(map(max, _columns(widths, n))) <= letters), 1)


def _columns(values: Sequence[int], count: int) -> list[list[int]]:
    """Returns what stands in each column, as matplotlib fills them."""
    return [part.tolist() for part in np.array_split(np.array(values), count) if len(part)]


def legend_inches(labels: Sequence[str]) -> float:
    """Returns the height that a figure needs in addition for a legend of many lines, which would cover the lines."""
    return LEGEND_INCHES * max(0, math.ceil(len(labels) / legend_columns(labels)) - LEGEND_LINES)


PRINT_POINTS, PRINT_HEIGHT = 7, 0.62
"""Size of the letters of a figure in a paper, and height of its axes as a share of the width."""


def fit_column(figure: Any, width: float) -> int:
    """Gives a figure the width of a column of a paper, in inches, and letters as those of a caption, which says what
    its title would. Returns the number of columns of its legend."""
    [axes] = figure.axes
    labels = axes.get_legend_handles_labels()[1]
    share = PRINT_POINTS / LEGEND_POINTS
    columns = legend_columns(labels, LEGEND_LETTERS * width / figure.get_figwidth() / share)
    lines = math.ceil(len(labels) / columns)
    figure.set_size_inches(width, PRINT_HEIGHT * width + share * LEGEND_INCHES * lines)
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.02)
    for place in ("left", "right"):
        axes.set_title("", loc=place)
    for text in (axes.xaxis.label, axes.yaxis.label, axes.xaxis.get_offset_text(), axes.yaxis.get_offset_text()):
        text.set_fontsize(PRINT_POINTS)
    axes.tick_params(labelsize=PRINT_POINTS, width=0.6, length=2.5)
    for line in (*axes.lines, *axes.spines.values(), *axes.xaxis.get_gridlines(), *axes.yaxis.get_gridlines()):
        line.set_linewidth(share * line.get_linewidth())
    return columns
