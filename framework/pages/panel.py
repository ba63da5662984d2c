"""The lower panel of a learning curve: a line for each of several policies, or for each number of the environment."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from config.tell.language import tr
from framework.archive.curves import Rows, column_of, finite, running_mean, some_of
from framework.pages.axes import LIGHT, dress

HEIGHT = 7.6
"""Height of the figure in inches."""
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe-Ito palette; further lines have the same colors with other dashes."""
STYLES = ("-", "--", ":", "-.")


def draw_policies(
    figure: Any,
    above: Any,
    train: Rows,
    evaluations: Rows,
    policies: Sequence[str],
    score: str | None,
) -> None:
    """Draws the running mean of the return of each policy's agents, and dots for the evaluations. The sum over all
    agents is a line here if `above` shows the return of one policy."""
    axes = _panel(figure, above)
    for number, policy in enumerate(policies):
        _draw(axes, train, evaluations, f"return_{policy}", label=label_of(policy), **look_of(number))
    if score:
        _line(axes, train, "return", color=LIGHT.gray, linestyle="--", label=tr("sum of all agents"))
    dress(axes, "", tr("mean of each policy's agents; dots: evaluations"), tr("return"))
    _legend(axes)


def draw_numbers(figure: Any, above: Any, train: Rows, evaluations: Rows, names: Sequence[str]) -> None:
    """Draws the running mean of each number of the environment, and dots for the evaluations. The first number is in
    front. Numbers that leave 0..1, such as a count beside shares, are gray, behind the others, and have the axis at the
    right."""
    axes = _panel(figure, above)
    shares = [name for name in names if _is_share(train, evaluations, name)]
    for place, name in enumerate(shares):
        _draw(axes, train, evaluations, name, label=name, zorder=3 - place / len(shares), **look_of(place))
    dress(axes, "", tr("mean over episodes; dots: evaluations"), tr("share"))
    if others := [name for name in names if name not in shares]:
        _draw_behind(axes, train, evaluations, others)
    _legend(axes)


def _draw_behind(axes: Any, train: Rows, evaluations: Rows, names: Sequence[str]) -> None:
    """Draws numbers with an axis of their own at the right, and names them in the legend of `axes`."""
    right = axes.twinx()
    for place, name in enumerate(names):
        look = {"color": LIGHT.gray, "linestyle": STYLES[place % len(STYLES)], "linewidth": 0.9}
        _draw(right, train, evaluations, name, **look)
        axes.plot([], [], label=tr("{name} (right)", name=name), **look)
    axes.set_zorder(right.get_zorder() + 1)
    axes.patch.set_visible(False)
    right.tick_params(colors=LIGHT.gray)
    right.spines["top"].set_visible(False)
    right.spines["right"].set_edgecolor(LIGHT.gray)
    right.set_ylabel(tr("number"), color=LIGHT.gray)


def _panel(figure: Any, above: Any) -> Any:
    figure.set_figheight(HEIGHT)
    above.set_xlabel("")
    return figure.add_subplot(2, 1, 2, sharex=above)


def look_of(number: int) -> dict[str, str]:
    """Returns color and dashes of a line by its number."""
    return {"color": COLORS[number % len(COLORS)], "linestyle": STYLES[number // len(COLORS) % len(STYLES)]}


def _is_share(train: Rows, evaluations: Rows, name: str) -> bool:
    values = np.concatenate([*finite(column_of(train, name)), *finite(column_of(evaluations, name))])
    return bool((values >= 0).all() and (values <= 1).all())


def _draw(axes: Any, train: Rows, evaluations: Rows, name: str, **look: Any) -> None:
    """Draws a line for the episodes of training and dots for the evaluations; a line through the dots if training has
    no values."""
    step, mean = finite(column_of(evaluations, "step"), column_of(evaluations, name))
    if len(finite(column_of(train, name))[0]):
        _line(axes, train, name, **look)
        axes.plot(step, mean, "o", color=look["color"], markersize=4, zorder=look.get("zorder"))
    else:
        axes.plot(step, mean, marker="o", markersize=4, **{"linewidth": 1.6, **look})


def _line(axes: Any, rows: Rows, name: str, **look: Any) -> None:
    """Draws the running mean of a column."""
    steps, value = finite(column_of(rows, "step"), column_of(rows, name))
    step, mean, _ = running_mean(steps, value)
    some = some_of(len(step))
    axes.plot(step[some], mean[some], **{"linewidth": 1.6, **look})


def _legend(axes: Any) -> None:
    axes.legend(loc="best", ncols=3, fontsize=9, labelcolor=LIGHT.ink, facecolor=LIGHT.paper, edgecolor=LIGHT.grid)


def label_of(policy: str) -> str:
    """Returns a name that starts with no underscore, which matplotlib would hide."""
    return policy if not policy.startswith("_") else f" {policy}"
