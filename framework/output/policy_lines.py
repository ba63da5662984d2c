"""The lower panel of a learning curve with several policies: a line for each of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from framework.output.curves import Palette, Rows, column_of, dress, finite, smooth, some_of, window_for

HEIGHT = 7.6
"""Height of the figure in inches."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe-Ito palette; further policies have the same colours with other dashes."""
STYLES = ("-", "--", ":", "-.")


def draw(
    figure: Any,
    above: Any,
    train: Rows,
    evaluations: Rows,
    policies: Sequence[str],
    score: str | None,
    palette: Palette,
) -> None:
    """Draws the running mean of the return of each policy's agents, and dots for the evaluations. The sum over all
    agents is a line here if `above` shows the return of one policy."""
    figure.set_figheight(HEIGHT)
    axes = figure.add_subplot(2, 1, 2, sharex=above)
    for number, policy in enumerate(policies):
        colour, style = COLOURS[number % len(COLOURS)], STYLES[number // len(COLOURS) % len(STYLES)]
        _line(axes, train, f"return_{policy}", color=colour, linestyle=style, label=label_of(policy))
        step, mean = finite(column_of(evaluations, "step"), column_of(evaluations, f"return_{policy}"))
        axes.plot(step, mean, "o", color=colour, markersize=4)
    if score:
        _line(axes, train, "return", color=palette.grey, linestyle="--", label="sum of all agents")
    dress(axes, "", "mean of each policy's agents; dots: evaluations", "return", palette)
    axes.legend(
        loc="best", ncols=3, fontsize=9, labelcolor=palette.ink, facecolor=palette.paper, edgecolor=palette.grid
    )
    above.set_xlabel("")


def _line(axes: Any, rows: Rows, name: str, **look: Any) -> None:
    """Draws the running mean of a column, with one point for episodes that end at the same step."""
    step, value = finite(column_of(rows, "step"), column_of(rows, name))
    mean = smooth(value, window_for(len(value)))
    last = np.append(step[1:] != step[:-1], True)[: len(step)]
    step, mean = step[last], mean[last]
    some = some_of(len(step))
    axes.plot(step[some], mean[some], linewidth=1.6, **look)


def label_of(policy: str) -> str:
    """Returns a name that starts with no underscore, which matplotlib would hide."""
    return policy if not policy.startswith("_") else f" {policy}"
