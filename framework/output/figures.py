"""Learning curves of a run and of several. Drawn without a display, for three episodes or for two hundred thousand."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from framework.checkpoint.atomic import write_whole
from framework.output import statistics

BLUE, ORANGE, GREY, GREEN = "#0072b2", "#d55e00", "#6b7280", "#007a5e"
"""Of the Okabe-Ito palette, which the colour-blind can tell apart; green a little darker, for thin lines."""
MOST_POINTS = 1500
"""More than this on one line cannot be told apart on paper."""
BANDS = 400
GRID = 150
"""Points of the mean of several runs."""
Rows = Sequence[Mapping[str, Any]]
Array = np.ndarray


def learning_curve(
    train_rows: Rows,
    eval_rows: Rows,
    path: Path,
    *,
    title: str,
    random_return: float | None = None,
    expected_return: float | None = None,
    show: bool = False,
) -> None:
    """Draw return over environment steps: every episode, their running mean, the evaluations, and reference lines."""
    figure = _figure(show)
    axes = figure.add_subplot()
    step, value = _finite(_column(train_rows, "step"), _column(train_rows, "return"))
    if len(value):
        _draw_episodes(axes, step, value)
    if len(eval_rows):
        _draw_evaluations(axes, eval_rows)
    _draw_reference(axes, expected_return, "expected", GREEN)
    _draw_reference(axes, random_return, "random policy", GREY)
    count = len(train_rows)
    _dress(axes, title, f"{count:,} episode{'' if count == 1 else 's'}", "return")
    axes.set_xlim(0, 1.02 * max([1.0, *step[-1:], *_finite(_column(eval_rows, "step"))[0][-1:]]))
    _save(figure, path)
    if show:
        from matplotlib import pyplot

        pyplot.show()


def seed_curves(
    curves: Sequence[tuple[Array, Array]],
    path: Path,
    *,
    title: str,
    what: str,
    random_return: float | None = None,
    expected_return: float | None = None,
    show: bool = False,
) -> None:
    """Draw runs that differ in their seed: each as a thin line (steps [n], returns [n]), and their mean with its 95 %
    bootstrap interval where all of them have values."""
    figure = _figure(show)
    axes = figure.add_subplot()
    for number, (step, value) in enumerate(curves):
        some = _some(len(step))
        label = None if number or len(curves) == 1 else "one run"
        axes.plot(step[some], value[some], color=BLUE, alpha=0.4, linewidth=0.9, label=label)
        axes.plot(step[-1:], value[-1:], "o", color=BLUE, alpha=0.6, markersize=4, markeredgewidth=0)
    if len(curves) > 1:
        _draw_mean(axes, curves)
    _draw_reference(axes, expected_return, "expected", GREEN)
    _draw_reference(axes, random_return, "random policy", GREY)
    _dress(axes, title, f"{len(curves)} seed{'' if len(curves) == 1 else 's'}", what)
    axes.set_xlim(0, 1.02 * max(1.0, *(step[-1] for step, _ in curves)))
    _save(figure, path)
    if show:
        from matplotlib import pyplot

        pyplot.show()


def _draw_mean(axes: Any, curves: Sequence[tuple[Array, Array]]) -> None:
    first, last = max(step[0] for step, _ in curves), min(step[-1] for step, _ in curves)
    if first >= last:
        return
    grid = np.linspace(first, last, GRID)
    values = np.stack([np.interp(grid, step, value) for step, value in curves], axis=1)
    between = np.array([statistics.interval(row, statistics.mean) for row in values])
    label = "95 % interval of the mean"
    axes.fill_between(grid, between[:, 0], between[:, 1], color=ORANGE, alpha=0.2, linewidth=0, label=label)
    axes.plot(grid, values.mean(1), color=ORANGE, linewidth=2.2, label="mean")


def smooth(value: Array, window: int) -> Array:
    """Mean of the last `window` values, of fewer at the start."""
    total = np.concatenate([[0.0], np.cumsum(value)])
    end = np.arange(1, len(value) + 1)
    start = np.maximum(end - window, 0)
    return (total[end] - total[start]) / (end - start)


def window_for(episodes: int) -> int:
    """Episodes of the running mean: none below 20, then at least 5, a twentieth up to 100, and a 200th of long runs."""
    return 1 if episodes < 20 else max(5, min(episodes // 20, 100), episodes // 200)


def bands(x: Array, y: Array, count: int = BANDS) -> tuple[Array, Array, Array]:
    """x [n] and y [n] in `count` stretches of equal length: middle, lowest and highest of each."""
    edges = np.linspace(0, len(x), count + 1).astype(int)
    middle = x[(edges[:-1] + edges[1:]) // 2]
    return middle, np.minimum.reduceat(y, edges[:-1]), np.maximum.reduceat(y, edges[:-1])


def _column(rows: Rows, name: str) -> Array:
    values = [row.get(name) for row in rows]
    return np.array([value if isinstance(value, int | float) else np.nan for value in values], float)


def _finite(*columns: Array) -> list[Array]:
    """The places where all columns are finite numbers."""
    keep = np.logical_and.reduce([np.isfinite(column) for column in columns])
    return [column[keep] for column in columns]


def _figure(show: bool) -> Any:
    if show:
        from matplotlib import pyplot

        return pyplot.figure(figsize=(8, 4.6), layout="constrained")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _draw_episodes(axes: Any, step: Array, value: Array) -> None:
    window = window_for(len(value))
    if len(value) > MOST_POINTS:
        axes.fill_between(*bands(step, value), color=BLUE, alpha=0.18, linewidth=0, label="episodes")
    elif window > 1:
        axes.plot(step, value, color=BLUE, alpha=0.35, linewidth=0.7, label="episode")
    else:
        axes.plot(step, value, "o-", color=BLUE, linewidth=1, markersize=4, label="episode")
    if window > 1:
        some = _some(len(value))
        mean = smooth(value, window)
        axes.plot(step[some], mean[some], color=BLUE, linewidth=2, label=f"mean of {window} episodes")


def _some(count: int) -> Array:
    """Places of at most MOST_POINTS values, with the first and the last."""
    return np.linspace(0, count - 1, min(count, MOST_POINTS)).astype(int)


def _draw_evaluations(axes: Any, rows: Rows) -> None:
    step, mean, std = _column(rows, "step"), _column(rows, "mean"), np.nan_to_num(_column(rows, "std"))
    step, mean, std = _finite(step, mean, std)
    if not len(step):
        return
    if len(step) <= 60:
        axes.errorbar(
            step,
            mean,
            std,
            color=ORANGE,
            fmt="o-",
            markersize=4,
            linewidth=1.2,
            elinewidth=0.9,
            capsize=2,
            label="evaluation ± std",
        )
        return
    axes.fill_between(step, mean - std, mean + std, color=ORANGE, alpha=0.15, linewidth=0)
    axes.plot(step, mean, color=ORANGE, linewidth=1.5, label="evaluation ± std")


def _draw_reference(axes: Any, value: float | None, name: str, colour: str) -> None:
    if value is not None and np.isfinite(value):
        axes.axhline(value, color=colour, linewidth=1, linestyle=(0, (4, 3)), zorder=1, label=f"{name} {value:.4g}")


def _dress(axes: Any, title: str, beside: str, what: str) -> None:
    from matplotlib.ticker import EngFormatter

    axes.figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    axes.set_title(_drawable(title), loc="left", fontsize=12, fontweight="bold")
    axes.set_title(beside, loc="right", fontsize=10, color=GREY)
    axes.set_xlabel("environment steps")
    axes.set_ylabel(what)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.margins(y=0.08)
    axes.grid(color="#e5e7eb", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        axes.figure.legend(loc="outside lower center", ncols=5, frameon=False, fontsize=9, columnspacing=1.4)


def _drawable(text: str) -> str:
    """What the font lacks is shown as a question mark, and a dollar sign is no formula."""
    return "".join(c if ord(c) < 0x2000 else "?" for c in text).replace("$", r"\$")


def _save(figure: Any, path: Path) -> None:
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=150)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, picture.getvalue())
