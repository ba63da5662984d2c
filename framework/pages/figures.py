"""Learning curves of one run and of several, drawn without a display."""

import contextlib
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from config.tell.language import english, tr
from framework.archive import statistics
from framework.archive.curves import (
    MOST_POINTS,
    STEPS,
    UPDATES,
    Array,
    Rows,
    column_of,
    common,
    finite,
    running_mean,
    shown,
    some_of,
    together,
    window_for,
)
from framework.archive.run import RecordedRun
from framework.disk.atomic import write_whole
from framework.log import LOGGER
from framework.pages import fonts, panel
from framework.pages.axes import LEGEND_POINTS, LIGHT, PRINT_POINTS, dress, fit_column, legend_columns, legend_inches
from framework.pages.panel import label_of, look_of
from framework.screen.formatting import counted

MOST_BARS = 60
"""Number of evaluations up to which each has an error bar; more have a band."""
MOST_NAMES = 12
"""Number of runs up to which each line has its name."""
BANDS = 400
"""Number of stretches in which many episodes are shown by their lowest and highest return."""
FORMATS = (".png", ".pdf", ".svg")
"""Endings of the files that a figure can be written to."""
LEVELS = {english("expected"): LIGHT.green, english("data"): LIGHT.ink, english("random policy"): LIGHT.gray}
"""Color of each return to compare with."""
NAME_GAP = 0.035
"""Smallest distance between two names of lines, as a share of the height of the axes."""


def curve_of(run: RecordedRun, path: Path, *, title: str, random_return: float | None, show: bool = False) -> None:
    """Draws the learning curve of a run, with the returns that its files compare it with."""
    policies, facts = list(run.settings.get("policies_cfg", ())), run.facts
    learning_curve(
        run.episodes, run.evaluations, path,
        title=title, random_return=random_return, expected_return=facts.expected_return, data_return=facts.data_return,
        policies=policies if len(policies) > 1 else [], score=run.general.get("score_policy"),
        numbers=facts.numbers or (), show=show,
    )  # fmt: skip


@fonts.language()
def learning_curve(
    train_rows: Rows,
    eval_rows: Rows,
    path: Path,
    *,
    title: str,
    random_return: float | None = None,
    expected_return: float | None = None,
    data_return: float | None = None,
    policies: Sequence[str] = (),
    score: str | None = None,
    numbers: Sequence[str] = (),
    show: bool = False,
) -> None:
    """Draws return over environment steps: episodes, their running mean, evaluations, and reference lines. policies: of
    a run with several; each has a line in a second panel. score: the one whose return is the score. numbers: those that
    the environment gives an episode; they have a second panel, too. A run that learned from given data before its first
    step is drawn over its updates."""
    figure = _figure(show)
    axes = figure.add_subplot(2 if policies or numbers else 1, 1, 1)
    # updates before the first step have no place on an axis of steps
    if offline := any(row.get("step") == 0 and row.get("update") for row in eval_rows):
        train_rows, eval_rows = ([{**row, "step": row["update"]} for row in rows] for rows in (train_rows, eval_rows))
    step, value = finite(column_of(train_rows, "step"), column_of(train_rows, f"return_{score}" if score else "return"))
    if len(value):
        _draw_episodes(axes, step, value)
    if len(eval_rows):
        _draw_evaluations(axes, eval_rows)
    for name, level in (("expected", expected_return), ("data", data_return), ("random policy", random_return)):
        _draw_reference(axes, level, name)
    if score:
        quantity = tr("return of {policy}", policy=score)
    else:
        quantity = tr("return of all agents") if policies else tr("return")
    dress(axes, title, counted(len(train_rows), "episode"), quantity, UPDATES if offline else STEPS)
    axes.set_xlim(0, 1.02 * max([1.0, *step[-1:], *finite(column_of(eval_rows, "step"))[0][-1:]]))
    if policies:
        panel.draw_policies(figure, axes, train_rows, eval_rows, policies, score)
    elif numbers:
        panel.draw_numbers(figure, axes, train_rows, eval_rows, numbers)
    _save(figure, path)
    if show:
        _open_window(path)


Line = tuple[Array, Array]
"""Steps [n] and returns [n] of a run."""


@contextlib.contextmanager
def _picture_of_runs(
    lines: Sequence[Line],
    path: Path,
    words: Sequence[str],
    levels: Mapping[str, float | None] = MappingProxyType({}),
    names: Sequence[str] = (),
    show: bool = False,
    width: float | None = None,
) -> Iterator[Any]:
    """Yields axes for the lines of several runs, and writes the figure once they are drawn. words: title, what stands
    beside it, labels of returns and steps; levels: returns to compare with, by their names; names: of the lines; width:
    of a column, in inches, in which the figure is printed."""
    figure = _figure(show)
    axes = figure.add_subplot()
    yield axes
    for name, level in levels.items():
        _draw_reference(axes, level, name)
    dress(axes, *words)
    axes.set_xlim(0, 1.02 * max(1.0, *(step[-1] for step, _ in lines)))
    if len(lines) <= MOST_NAMES:
        _name_lines(axes, lines, names)
    _save(figure, path, width)
    if show:
        _open_window(path)


def _draw_line(axes: Any, line: Line, **look: Any) -> None:
    """Draws a run; one of a single score is a dot."""
    some = some_of(len(line[0]))
    axes.plot(line[0][some], line[1][some], marker="o" if len(line[0]) == 1 else "", markersize=4, **look)


@fonts.language()
def seed_curves(
    curves: Sequence[Line],
    path: Path,
    *,
    title: str,
    quantity: str,
    over: str = STEPS,
    seeds: Sequence[int | str] = (),
    levels: Mapping[str, float | None] = MappingProxyType({}),
    show: bool = False,
) -> None:
    """Draws runs that differ in their seed: each as a thin line with its name, and their mean with its interval (of two
    runs: between them) where all of them have values. levels: returns to compare with, by their names."""
    words = (title, counted(len(curves), "seed"), shown(quantity), over)
    names = [tr("seed {seed}", seed=seed) for seed in seeds]
    with _picture_of_runs(curves, path, words, levels, names, show) as axes:
        for number, (step, value) in enumerate(curves):
            label = None if number or len(curves) == 1 else tr("one run")
            _draw_line(axes, (step, value), color=LIGHT.blue, alpha=0.4, linewidth=0.9, label=label)
            axes.plot(step[-1:], value[-1:], "o", color=LIGHT.blue, alpha=0.6, markersize=4, markeredgewidth=0)
        if len(curves) > 1:
            look = {"color": LIGHT.orange, "linewidth": 2.2, "label": tr("mean")}
            band = statistics.name_of_interval(len(curves))
            if len(curves) >= statistics.LEAST_SEEDS:
                band = tr("{interval} of the mean", interval=band)
            _draw_mean(axes, curves, look, band)


@fonts.language()
def trial_curves(
    lines: Mapping[str, Line], path: Path, *, title: str, quantity: str, best: int, over: str = STEPS
) -> None:
    """Draws runs that differ in their settings: each as a thin line with its name, the first `best` of them as thick
    ones."""
    words = (title, counted(len(lines), "run"), shown(quantity), over)
    with _picture_of_runs(list(lines.values()), path, words, names=list(lines)) as axes:
        for number, line in reversed(list(enumerate(lines.values()))):
            look = {"color": LIGHT.blue, "linewidth": 0.9, "alpha": 0.4}
            if number < best:
                look = {"color": LIGHT.orange, "linewidth": 2.0}
            label = tr("best trial") if number == 0 else tr("other trials") if number == len(lines) - 1 else None
            _draw_line(axes, line, label=label, **look)


@fonts.language()
def comparison(
    groups: Mapping[str, Sequence[Line]],
    path: Path,
    *,
    title: str,
    quantity: str,
    over: str,
    levels: Mapping[str, float | None] = MappingProxyType({}),
    show: bool = False,
    width: float | None = None,
) -> None:
    """Draws runs of several experiments: for each of them the mean of its seeds, with its interval. width: of a column,
    in inches, in which the figure is printed, without a title; None: the usual size."""
    most = max(len(curves) for curves in groups.values())
    beside = counted(len(groups), "run")
    if most > 1:
        interval = statistics.name_of_interval(most)
        beside = tr("mean of {seeds}, {interval}", seeds=counted(most, "seed"), interval=interval)
    words = (title, beside, shown(quantity), over)
    every = [line for curves in groups.values() for line in curves]
    with _picture_of_runs(every, path, words, levels, show=show, width=width) as axes:
        for number, (name, curves) in enumerate(groups.items()):
            look = {**look_of(number), "linewidth": 1.8, "label": label_of(name)}
            if len(curves) == 1 or not _draw_mean(axes, curves, look):
                for line in curves:
                    _draw_line(axes, line, **look)
                    look["label"] = None


def _name_lines(axes: Any, curves: Sequence[Line], names: Sequence[str]) -> None:
    low, high = axes.get_ylim()
    heights = spread_out([float(value[-1]) for _, value in curves], NAME_GAP * (high - low))
    for name, (step, _), height in zip(names, curves, heights, strict=False):
        axes.annotate(
            name, (step[-1], height), xytext=(5, 0), textcoords="offset points", va="center",
            fontsize=8, color=LIGHT.blue, annotation_clip=False,
        )  # fmt: skip


def spread_out(values: Sequence[float], gap: float) -> list[float]:
    """Returns the values moved apart, in their order, so that any two differ by the gap at least. Their mean stays."""
    order = np.argsort(values, kind="stable")
    placed = np.array(values, float)[order]
    for i in range(1, len(placed)):
        placed[i] = max(placed[i], placed[i - 1] + gap)
    placed += np.mean(values) - placed.mean() if len(placed) else 0.0
    result = np.empty_like(placed)
    result[order] = placed
    return result.tolist()


def _draw_mean(axes: Any, curves: Sequence[Line], look: dict[str, Any], band: str | None = None) -> bool:
    """Draws the mean of several lines where all of them have values; returns False if that is nowhere. band: name of
    its interval in the legend."""
    if (shared := common(curves)) is None or len(shared[0]) < 2:
        return False
    grid, values = shared
    between = np.array([statistics.interval(row, statistics.mean) for row in values])
    axes.fill_between(grid, between[:, 0], between[:, 1], color=look["color"], alpha=0.2, linewidth=0, label=band)
    axes.plot(grid, values.mean(1), **look)
    return True


def bands(x: Array, y: Array, count: int = BANDS) -> tuple[Array, Array, Array]:
    """Returns middle, lowest and highest of at most `count` stretches of x [n] and y [n], each of about equally many
    different x."""
    first, _ = together(x)
    edges = np.append(first, len(x))[np.linspace(0, len(first), min(count, len(first)) + 1).astype(int)]
    middle = x[(edges[:-1] + edges[1:]) // 2]
    return middle, np.minimum.reduceat(y, edges[:-1]), np.maximum.reduceat(y, edges[:-1])


def error_bars(rows: Rows) -> tuple[Array, Array, Array, Array]:
    """Returns steps, means, and the ends of the standard error of each mean. An end never lies beyond the lowest and
    the highest episode of its evaluation, so it never leaves the range of possible returns."""
    columns = [column_of(rows, name) for name in ("step", "mean", "std", "episodes", "min", "max")]
    keep = np.isfinite(columns[0]) & np.isfinite(columns[1])
    step, mean, std, episodes, low, high = (column[keep] for column in columns)
    error = np.nan_to_num(std / np.sqrt(episodes))
    lower = np.maximum(mean - error, np.where(np.isfinite(low), low, -np.inf))
    return step, mean, lower, np.minimum(mean + error, np.where(np.isfinite(high), high, np.inf))


def _figure(show: bool) -> Any:
    if show:
        from matplotlib import pyplot

        return pyplot.figure(figsize=(8, 4.6), layout="constrained")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _open_window(path: Path) -> None:
    """Opens the figure in a window, and waits until it is closed."""
    import matplotlib
    from matplotlib import pyplot
    from matplotlib.backends import BackendFilter, backend_registry

    if matplotlib.get_backend().lower() in backend_registry.list_builtin(BackendFilter.NON_INTERACTIVE):
        LOGGER.warning(tr("show_fig: no window can be opened here; the figure is in {path}", path=path))
        return
    pyplot.show()


def _draw_episodes(axes: Any, step: Array, value: Array) -> None:
    """Draws the episodes as dots, or many as a band, and their running mean as a line."""
    mean, window = running_mean(step, value), window_for(len(value))
    few = window == 1
    if len(value) > MOST_POINTS:
        axes.fill_between(*bands(step, value), color=LIGHT.blue, alpha=0.18, linewidth=0, label=tr("episodes"))
    else:
        look = {"markersize": 4} if few else {"markersize": 2.5, "alpha": 0.35, "markeredgewidth": 0}
        axes.plot(step, value, "o", color=LIGHT.blue, label=tr("episode"), **look)
    some, most = some_of(len(mean.step)), int(mean.episodes.max())
    if most == window:
        name = None if few else tr("mean of {count} episodes", count=window)
    else:
        name = tr("mean of those that end together") if few else tr("mean of {count} episodes or more", count=window)
    axes.plot(mean.step[some], mean.value[some], color=LIGHT.blue, linewidth=1 if few else 2, label=name)


def _draw_evaluations(axes: Any, rows: Rows) -> None:
    step, mean, lower, upper = error_bars(rows)
    if not len(step):
        return
    color, label = LIGHT.orange, tr("evaluation ± standard error")
    if len(step) <= MOST_BARS:
        axes.errorbar(
            step, mean, np.maximum([mean - lower, upper - mean], 0), color=color, fmt="o-", markersize=4,
            linewidth=1.2, elinewidth=0.9, capsize=2, label=label,
        )  # fmt: skip
        return
    axes.fill_between(step, lower, upper, color=color, alpha=0.15, linewidth=0)
    axes.plot(step, mean, color=color, linewidth=1.5, label=label)


def _draw_reference(axes: Any, value: float | None, name: str) -> None:
    if value is not None and np.isfinite(value):
        label, dashes = f"{tr(name)} {value:.4g}", (0, (4, 3))
        axes.axhline(value, color=LEVELS[name], linewidth=1, linestyle=dashes, zorder=1, label=label)


def _save(figure: Any, path: Path, width: float | None = None) -> None:
    """Adds the legend and writes the figure in the format of the file's ending; a file is replaced as a whole. width:
    of a column, in inches; None: the usual size."""
    from matplotlib import rc_context

    handles, labels = figure.axes[0].get_legend_handles_labels()
    if width is None:
        figure.set_figheight(figure.get_figheight() + legend_inches(labels))
        columns, points = legend_columns(labels), LEGEND_POINTS
    else:
        columns, points = fit_column(figure, width), PRINT_POINTS
    if handles:
        figure.legend(
            handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=points,
            columnspacing=1.4, labelcolor=LIGHT.ink,
        )  # fmt: skip
    fonts.fit(figure)
    picture = io.BytesIO()
    with rc_context({"pdf.fonttype": 42}):  # publishers refuse the fonts of type 3 that are matplotlib's default
        figure.savefig(picture, format=path.suffix[1:], dpi=150)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, picture.getvalue())
