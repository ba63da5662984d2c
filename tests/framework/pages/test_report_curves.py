"""Curves of report.html: what they are made of, how they look in a browser, and when they are drawn anew."""

import json
import math
import re
import warnings
from pathlib import Path
from typing import Any

import imageio.v3 as imageio
import numpy as np
import pytest

from config import machine
from framework.archive.run import RecordedRun
from framework.disk.csv_table import read_csv
from framework.pages import figures, html_curves, html_report
from framework.pages.axes import legend_columns
from framework.pages.charts import rounded
from framework.record import redraw
from framework.record.redraw import Redraw
from tests.framework.pages.test_report import task_dir
from tests.framework.runs.test_run_end import outcome, train
from tests.tools.browser import PROGRAM, Browser
from tests.tools.browser import browser as browser
from tests.tools.browser import started as started
from tests.tools.charts import charts
from tests.tools.watch import episodes_of, iterations, run, served

HOSTILE = "</script><img src=x onerror=alert(1)>"


def curves(page: str, place: str) -> dict[str, list[float | None]]:
    """The values of the charts in one place of a page, by their names."""
    return {chart["name"]: chart["lines"][0]["y"] for chart in charts(page) if chart["place"] == place}


def line(page: str, name: str = "return") -> dict[str, Any]:
    """The line of the first chart with a name."""
    [first] = next(chart["lines"] for chart in charts(page) if chart["name"] == name)
    return dict(first)


def report(folder: Path) -> str:
    return html_report.write(folder).read_text(encoding="utf-8")


# ------------------------------------------------------------------------------------------------ their numbers


STEPS, UPDATES, EPISODES, SECONDS = "environment steps", "updates", "episodes", "seconds"


def test_every_number_of_every_file_is_a_curve_and_counters_are_not(tmp_path: Path) -> None:
    folder = run(tmp_path / "x", episodes=3)
    iterations(folder, (100, 2.0), (300, 3.0))
    page = report(folder)
    assert {chart["place"] for chart in charts(page)} == {"score", "speed", "eval"}
    assert curves(page, "score") == {"return": [1, 2, 3]}, "length and loss have no value in any row"
    assert (line(page)["dots"]["x"][STEPS], line(page)["dots"]["y"]) == ([200], [19])
    assert curves(page, "eval") == {"mean": [19], "std": [0.5]}


def test_a_curve_has_its_places_on_every_axis_that_its_file_knows(tmp_path: Path) -> None:
    """100 steps after 2 s and 300 after 3 s: 10, 20 and 30 steps are after 0.2, 0.4 and 0.6 s."""
    folder = run(tmp_path / "x", episodes=3)
    iterations(folder, (100, 2.0), (300, 3.0))
    axes = line(report(folder))["x"]
    assert axes == {STEPS: [10, 20, 30], EPISODES: [1, 2, 3], UPDATES: [2, 4, 6], SECONDS: [0.2, 0.4, 0.6]}


def test_the_speed_is_that_of_each_iteration(tmp_path: Path) -> None:
    """100 steps in 2 s, then 200 steps in 1 s; the updates stay at 2."""
    folder = run(tmp_path / "x")
    iterations(folder, (100, 2.0), (300, 3.0))
    with open(folder / "results" / "result.json", "a") as file:
        file.write('[]\n{"step": 400, "seconds_to')
    found = curves(report(folder), "speed")
    assert found == {"environment steps per second": [50, 200], "updates per second": [1, 0]}
    rows = [{"step": 0.0, "episode": 0.0, "update": 1000.0, "seconds_total": 10.0}]
    assert "environment steps per second" not in html_curves._speeds(rows)[0], "from data alone"


def test_a_point_of_many_rows_is_the_mean_of_those_that_have_a_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five rows in points of two: (1 + 2) / 2, nothing, 5; at the step of the last row of each."""
    monkeypatch.setattr(html_curves, "MOST_POINTS", 3)
    values = (1.0, 2.0, math.nan, 1e300, 5.0)
    rows = [{"step": 10 * n, "loss": v} for n, v in enumerate(values)]
    found = html_curves.curves_of(RecordedRun(tmp_path), "train", "", rows, STEPS)
    assert (found.axes[STEPS].tolist(), found.rows) == ([10, 30, 40], 2)
    assert rounded(found.values["loss"]) == [1.5, None, 5]


def ends_of_eight(folder: Path, ends: int, rise: float = 0.0) -> Path:
    """A run of eight rows whose episodes end together: returns 0 to 7 at each end, higher by `rise` with every one."""
    folder = run(folder, episodes=0)
    with episodes_of(folder) as train:
        for n in range(8 * ends):
            end = n // 8
            train.append(
                {"step": 224 * (end + 1), "update": end, "return": n % 8 + rise * end, "length": 28, "terminated": 1,
                 "loss": end / 10}
            )  # fmt: skip
    return folder


def test_episodes_that_end_together_are_one_point_with_their_lowest_and_highest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loss is equal in the rows of an end: it needs no band. Of two ends in a point, the band holds both."""
    page = report(ends_of_eight(tmp_path / "x", 4, rise=1.0))
    found = line(page)
    assert (found["x"][STEPS], found["x"]["counts"]) == ([224, 448, 672, 896], [8, 8, 8, 8])
    assert (found["y"], found["low"], found["high"]) == ([3.5, 4.5, 5.5, 6.5], [0, 1, 2, 3], [7, 8, 9, 10])
    assert (line(page, "loss")["y"], "low" in line(page, "loss")) == ([0, 0.1, 0.2, 0.3], False)
    assert "Episodes that end together are one point" in page
    monkeypatch.setattr(html_curves, "MOST_POINTS", 2)
    page = report(tmp_path / "x")
    found = line(page)
    assert (found["x"][STEPS], found["x"]["counts"], found["y"]) == ([448, 896], [16, 16], [4, 6])
    assert (found["low"], found["high"]) == ([0, 2], [8, 10])
    assert "Each point is the mean of the rows of 2 steps." in page


def test_few_episodes_that_happen_to_end_together_make_no_band(tmp_path: Path) -> None:
    folder = run(tmp_path / "x", episodes=20)
    with episodes_of(folder) as train:
        train.append({"step": 200, "update": 40, "return": 40.0})
    found = line(report(folder))
    assert ("low" in found, found["y"][-2:], found["x"]["counts"][-2:]) == (False, [19, 30], [1, 2])


def test_charts_that_are_flat_are_folded_and_say_their_value(tmp_path: Path) -> None:
    folder = ends_of_eight(tmp_path / "x", 4)
    page = report(folder)
    assert "<summary>2 flat charts, always the same: length 28, terminated 1</summary>" in page
    assert curves(page, "train-flat") == {"length": [28] * 4, "terminated": [1] * 4}
    assert set(curves(page, "train")) == {"loss"}
    (folder / "results" / "train.csv").write_text("step,return\n1,2\n2,2\n")
    assert curves(report(folder), "score") == {"return": [2, 2]}, "that every episode is alike says something"


def test_the_return_is_shown_beside_what_it_is_compared_with(tmp_path: Path) -> None:
    facts = {"expected_return": 500.0, "random_return": 22.5, "data_return": "high"}
    [found, *_] = charts(report(run(tmp_path / "x", **facts)))
    assert (found["name"], found["levels"]) == ("return", [["expected", 500], ["random policy", 22.5]])


def test_the_evaluations_stand_on_the_return_that_is_the_score(tmp_path: Path) -> None:
    folder = run(tmp_path / "x", episodes=0, score_policy="a", random_return=1.0)
    (folder / "results" / "train.csv").write_text("step,update,return,return_a\n1,1,2,3\n2,1,3,4\n")
    [found, *others] = charts(report(folder))
    assert (found["name"], "levels" in found, "dots" in found["lines"][0]) == ("return_a", True, True)
    assert not any("levels" in chart or "dots" in chart["lines"][0] for chart in others)


def test_a_run_that_learned_from_given_data_is_drawn_over_its_updates(tmp_path: Path) -> None:
    folder = run(tmp_path / "x", episodes=0)
    (folder / "results" / "eval.csv").write_text("update,step,episode,mean,std\n100,0,0,1,0\n200,0,0,2,0\n")
    found = line(report(folder), "mean")
    assert (found["x"], found["y"]) == ({UPDATES: [100, 200]}, [1, 2]), "steps and episodes are always 0"


def test_the_section_of_the_machine_has_what_it_was_busy_with(tmp_path: Path) -> None:
    """Columns without a number, such as those of a GPU that is not there, have no chart."""
    folder = run(tmp_path / "x")
    (folder / "logs" / "system.csv").write_text(
        "step,update,seconds,cpu_percent,memory_mb,gpu_memory_mb\n100,20,5,90,300,\n200,40,10,95,310,\n"
    )
    page = report(folder)
    assert curves(page, "system") == {"processor [% of a core]": [90, 95], "memory [MB]": [300, 310]}
    assert line(page, "memory [MB]")["x"][SECONDS] == [5, 10]
    assert page.index("<h2>System</h2>") < page.index('data-place="system"')


def test_a_page_without_numbers_has_nothing_of_charts(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    page = report(tmp_path)
    assert "data-tools" not in page.partition("<script>")[0]
    assert "logScale" not in page


# ------------------------------------------------------------------------------------------------- in a browser


in_browser = pytest.mark.skipif(PROGRAM is None, reason="needs Chromium")


def opened(browser: Browser, folder: Path) -> None:
    browser.go(html_report.write(folder).as_uri())
    browser.until("document.querySelector('.curve svg')")
    browser.value("document.querySelector('.curve').scrollIntoView()")


def mouse(browser: Browser, kind: str, share: float) -> None:
    """Moves or presses the mouse over the first curve, at a share of its axis."""
    x, y, width = browser.value(
        "(b => [b.left, b.top, b.width])(document.querySelector('.curve svg').getBoundingClientRect())"
    )
    pressed = {"button": "left", "buttons": 1, "clickCount": 1} if kind != "mouseMoved" else {}
    browser("Input.dispatchMouseEvent", type=kind, x=x + 52 + share * (width - 64), y=y + 90, **pressed)


@in_browser
@pytest.mark.parametrize("width", [1280, 400])
def test_the_number_of_a_card_stays_in_one_line(browser: Browser, tmp_path: Path, width: int) -> None:
    folder = run(tmp_path / "x", seed=1888355852, step=10_000_000)
    browser.look(width)
    opened(browser, folder)
    lines = "[...document.querySelectorAll('.facts dd')].map(d => [d.innerText, d.getClientRects()[0].height])"
    heights = dict(browser.value(lines))
    assert {"1888355852", "10,000,000"} <= {*heights}
    assert {text: height for text, height in heights.items() if height > 1.5 * min(heights.values())} == {}


@in_browser
@pytest.mark.parametrize("width", [1280, 400])
def test_the_pointer_reads_values_and_a_drag_zooms_all_curves(browser: Browser, tmp_path: Path, width: int) -> None:
    folder = run(tmp_path / "x", episodes=100)
    iterations(folder, *((100 * n, n) for n in range(1, 11)))
    browser.look(width)
    opened(browser, folder)
    assert browser.value("document.documentElement.scrollWidth <= innerWidth")
    mouse(browser, "mouseMoved", 0.5)
    browser.until("document.querySelector('.readout').innerText.includes('500 environment steps: 50')")
    line = "document.querySelector('[data-place=speed] .curve path:not(.raw)').getAttribute('d')"
    before = browser.value(line)
    mouse(browser, "mousePressed", 0.25)
    mouse(browser, "mouseMoved", 0.75)
    browser.until("document.querySelector('.selected')")
    mouse(browser, "mouseReleased", 0.75)
    browser.until("!document.querySelector('.whole').hidden")
    assert browser.value("JSON.stringify(view.span.map(Math.round))") == "[250,750]"
    assert browser.value(line) != before, "the curve of the speed shows the same part"
    browser.value("document.querySelector('.whole').click()")
    browser.until("document.querySelector('.whole').hidden")
    assert browser.value(line) == before


@in_browser
def test_a_curve_can_be_read_and_zoomed_with_the_keyboard(browser: Browser, tmp_path: Path) -> None:
    opened(browser, run(tmp_path / "x", episodes=100))
    browser.value("document.querySelector('.curve svg').focus()")
    browser.press("ArrowRight", 3)
    browser.until("document.querySelector('.readout').innerText.startsWith('30 environment steps: 3')")
    browser.value("document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: '+', bubbles: true }))")
    browser.until("view.span !== null")
    assert browser.value("document.activeElement.nodeName") == "svg"
    browser.press("Escape")
    browser.until("view.span === null")


@in_browser
def test_the_name_of_a_column_stays_text(browser: Browser, tmp_path: Path) -> None:
    folder = run(tmp_path / "x", episodes=0)
    (folder / "results" / "train.csv").write_text(f"step,update,{HOSTILE},__proto__\n1,1,2,3\n2,1,3,4\n")
    opened(browser, folder)
    names = browser.value("[...document.querySelectorAll('.chart .what')].map(each => each.textContent)")
    assert {HOSTILE, "__proto__", "mean"} <= set(names)
    assert browser.value("[...document.images].map(each => each.alt)") == ["Video"]


@in_browser
@pytest.mark.parametrize("live", [False, True], ids=["report", "watch"])
def test_the_line_of_episodes_that_end_together_is_no_comb(browser: Browser, tmp_path: Path, live: bool) -> None:
    """Each end has the mean 3.5: the line is level, no two of its points are at one place, and the band holds all."""
    folder = ends_of_eight(tmp_path / "x", 36)
    if live:
        with served(tmp_path, browser) as server:
            browser.go(server.address)
            browser.until("document.querySelector('.chart path.band')")
            level_and_banded(browser)
    else:
        opened(browser, folder)
        level_and_banded(browser)


def level_and_banded(browser: Browser) -> None:
    line = browser.value("document.querySelector('.chart path:not(.raw, .band)').getAttribute('d')")
    points = [tuple(map(float, point.split())) for point in line.removeprefix("M").removesuffix("h.01").split("L")]
    assert len(points) == len({x for x, _ in points}) == 36
    assert len({y for _, y in points}) == 1
    assert browser.value("document.querySelector('.chart').querySelector('path.raw') === null")


@in_browser
def test_the_axis_of_a_curve_ends_at_ticks_and_has_the_levels(browser: Browser, tmp_path: Path) -> None:
    """Returns of 1 to 20, an evaluation at 19, and 480 to be reached: ticks from 0 to 500."""
    opened(browser, run(tmp_path / "x", expected_return=480.0))
    marks = "document.querySelectorAll('[data-place=score] .curve svg [text-anchor=end]')"
    found = browser.value(f"[...{marks}].map(each => each.textContent)")
    assert found == ["0", "100", "200", "300", "400", "500", "environment steps", "expected 480"]
    browser.value("zoom(0, 100)")
    browser.until("!document.querySelector('.curve').textContent.includes('expected')")


@in_browser
def test_the_rules_of_a_running_mean_are_those_of_the_figures(browser: Browser, tmp_path: Path) -> None:
    opened(browser, run(tmp_path / "x"))
    assert browser.value("JSON.stringify(together([[1, 2], [1, 4], [1, 6], [2, 9, 3, 1, 20], [2, 5]]))") == json.dumps(
        [[1, 4, 3, 2, 6], [2, 8, 4, 1, 20]], separators=(",", ":")
    )
    weighted = "JSON.stringify(smooth(Array.from({ length: 40 }, (_, n) => [n, n, n % 2 ? 3 : 1]), 2).slice(0, 3))"
    assert [point[:2] for point in json.loads(browser.value(weighted))] == [[0, 0], [1, 0.75], [2, 1.25]]


@in_browser
def test_an_exponential_mean_counts_the_numbers_of_rows_and_is_not_drawn_to_its_start(
    browser: Browser, tmp_path: Path
) -> None:
    """Over 3 points each has half the weight of the next: (0 + 2 * 4) / 3, and (0 + 2 * 3 * 4) / (1 + 2 * 3) where the
    second one is the mean of three rows."""
    opened(browser, run(tmp_path / "x"))
    for points, second in (("[0, 0], [1, 4]", 8 / 3), ("[0, 0], [1, 4, 3]", 24 / 7)):
        [first, last] = json.loads(browser.value(f"JSON.stringify(smooth([{points}], 3, true))"))
        assert (first[1], last[1]) == (0, pytest.approx(second))


@in_browser
def test_a_logarithmic_axis_ends_at_round_numbers(browser: Browser, tmp_path: Path) -> None:
    """0.003 to 0.7 is from 0.002 to 1, and 0.1 is 1.7 of 2.7 decades above its begin."""
    opened(browser, run(tmp_path / "x"))
    scale = json.loads(browser.value("JSON.stringify((s => ({ ...s, tenth: s.share(.1) }))(logScale(.003, .7, 6)))"))
    assert (scale["low"], scale["high"]) == (pytest.approx(0.002), 1)
    assert scale["ticks"] == pytest.approx([0.01, 0.1, 1])
    assert scale["tenth"] == pytest.approx(1.69897 / 2.69897)
    assert json.loads(browser.value("JSON.stringify(logScale(3, 40, 6).ticks)")) == [2, 5, 10, 20, 50]


def test_a_legend_is_no_wider_than_its_figure() -> None:
    """105 letters fit: five names of 15 letters with their marks of six."""
    assert (legend_columns(["x" * 15] * 5), legend_columns(["x" * 15] * 4 + ["x" * 16])) == (5, 3)
    assert [legend_columns([letter * 29] * 4) for letter in "x对"] == [3, 1]
    assert (legend_columns(["x" * 46] * 4), legend_columns(["x" * 47] * 4)) == (2, 1)


def test_a_legend_of_many_experiments_covers_no_line(tmp_path: Path) -> None:
    """matplotlib warns, and draws it over the axes, if a figure has no room for both."""
    lines = {f"experiment number {number}": [(np.arange(1.0, 9), np.arange(8.0))] for number in range(60)}
    words: Any = {"title": "T", "quantity": "return", "over": "environment steps"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figures.comparison(lines, tmp_path / "many.png", **words)
        figures.comparison(dict(list(lines.items())[:2]), tmp_path / "few.png", **words)
    many, few = (imageio.imread(tmp_path / name).shape[0] for name in ("many.png", "few.png"))
    assert few == 690
    assert many == pytest.approx(few + 150 * 16 * 0.1875, abs=1)  # 20 lines of 60 names, 16 more than usual


# -------------------------------------------------------------------------------------------- while a run trains


class Clock:
    """A clock that a drawing advances, and a console."""

    def __init__(self, takes: float) -> None:
        self.now, self.takes = 0.0, takes
        self.drawn: list[float] = []
        self.warnings: list[str] = []

    def draw(self) -> None:
        self.drawn.append(self.now)
        self.now += self.takes

    def log_traceback(self, error: Exception) -> None:
        pass

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def observer(self, draw: Any = None) -> Redraw:
        return Redraw(draw or self.draw, self, lambda: self.now)  # type: ignore[arg-type]

    def train(self, observer: Redraw, seconds: int, every: int = 1) -> None:
        """A round each second; a checkpoint after each `every` of them."""
        for n in range(seconds):
            if n % every == 0:
                observer.checkpoint(Path(), None)  # type: ignore[arg-type]
            observer.settled()
            self.now += 1


@pytest.mark.parametrize("takes", [0.01, 0.5, 30.0])
def test_drawing_takes_no_more_than_its_share_of_the_time(takes: float) -> None:
    """After the first one, whose time is not known before it: that comes after 2 s / 0.02 = 100 s."""
    clock = Clock(takes)
    clock.train(clock.observer(), 10_000)
    assert clock.drawn[0] == 100
    assert all(b - a >= redraw.LEAST for a, b in zip(clock.drawn, clock.drawn[1:], strict=False))
    for number, at in enumerate(clock.drawn[1:], start=2):
        assert number * takes <= redraw.SHARE * at
    assert len(clock.drawn) >= (5 if takes > 1 else 300)


def test_nothing_is_drawn_where_nothing_is_new_and_in_a_short_run() -> None:
    clock = Clock(0.1)
    clock.train(clock.observer(), 99)
    assert clock.drawn == []
    clock.train(clock.observer(), 1000, every=500)
    assert len(clock.drawn) == 2


def test_a_drawing_that_fails_is_one_warning() -> None:
    clock = Clock(0)
    clock.train(clock.observer(lambda: 1 / 0), 1000)
    assert len(clock.warnings) == 1
    assert "training goes on" in clock.warnings[0]


@pytest.fixture
def eager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in {"SHARE": 1e9, "LEAST": 0.0}.items():
        monkeypatch.setattr(redraw, name, value)
    monkeypatch.setattr(figures, "learning_curve", lambda *args, **options: None)


ONLINE = "general_cfg.online_eval=true"


@pytest.mark.usefixtures("eager")
def test_a_report_of_a_run_that_trains_shows_how_it_stands_and_changes_no_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pages: list[str] = []
    rows: list[int] = []
    write = html_report.write

    def kept(task: Path, now: Any = None) -> Path:
        path = write(task, now)
        if now is not None:
            pages.append(path.read_text())
            rows.append(len(read_csv(task / "results" / "eval.csv")))
        return path

    with monkeypatch.context() as patch:
        patch.setattr(redraw, "SHARE", 0.0)
        straight = outcome(train("straight", ONLINE))
    monkeypatch.setattr(html_report, "write", kept)
    task = train("drawn", ONLINE)
    assert outcome(task) == straight
    assert rows == [1, 2, 3, 4, 5, 6], "after each evaluation but the last, which the end of the run draws"
    assert all("Drawn while the run trained, as it stood at" in page and "Ended:" not in page for page in pages)
    steps = [int(re.findall("<dt>steps</dt><dd>(.*?)</dd>", page)[0]) for page in pages]
    assert steps == [51, 101, 151, 201, 251, 301], "the first round after each evaluation"
    page = (task / "report.html").read_text()
    assert "Drawn while" not in page
    assert "Ended: max_total_step 330 reached" in page


@pytest.mark.usefixtures("eager")
def test_a_report_that_cannot_be_drawn_does_not_end_a_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write = html_report.write
    monkeypatch.setattr(html_report, "write", lambda task, now=None: write(task) if now is None else 1 / 0)
    task = train("run", ONLINE)
    assert capsys.readouterr().out.count("the report could not be drawn while the run trains: division by zero") == 1
    assert json.loads((task / "run.json").read_text())["finished"]


# ------------------------------------------------------------------------------------------- memory and exactness


def test_the_report_names_the_peak_of_the_memory_and_how_exact_a_repetition_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process with 3 MiB, whose child has 5 MiB and a child of its own with 7 MiB."""
    for pid, size, children in (("self", 3, "10"), ("10", 5, "11"), ("11", 7, "")):
        (tmp_path / "proc" / pid / "task" / "1").mkdir(parents=True)
        (tmp_path / "proc" / pid / "status").write_text(f"Name:\tx\nVmHWM:\t{size * 1024} kB\n")
        (tmp_path / "proc" / pid / "task" / "1" / "children").write_text(children)
    monkeypatch.setattr(machine, "PROC", tmp_path / "proc")
    assert machine.peak_memory() == (3 * 2**20, 12 * 2**20, 2)
    memory = machine.peak_memory()._asdict()
    page = report(run(tmp_path / "a", peak_memory=memory, repeatable={"exact": True, "inexact_because": []}))
    assert "3 MiB; 2 child processes 12 MiB" in page
    assert "can be repeated to the byte" in page
    page = report(run(tmp_path / "b", repeatable={"exact": False, "inexact_because": ["sums on cuda differ"]}))
    assert "It cannot be repeated to the byte: sums on cuda differ." in page
    page = report(run(tmp_path / "c", repeatable={"exact": True}, outcome="max_time 3 s reached", peak_memory=EVIL))
    assert "It cannot be repeated to the byte: the clock ended it." in page


EVIL = {"own": "<b>", "children": [], "processes": {}}


def test_where_there_is_no_proc_the_peak_is_that_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = machine.peak_memory().own
    monkeypatch.setattr(machine, "PROC", tmp_path)
    found = machine.peak_memory()
    assert found.own == pytest.approx(real, rel=0.2)
    assert (found.children, found.processes) == (0, 0)


def test_a_report_is_in_the_language_of_the_reader(tmp_path: Path, chinese: None) -> None:
    """Its sentences, and those of run.json, which are English there."""
    run = {"outcome": "max_update 9 reached", "resumes": [{"from": "500", "started": "now", "exact": False,
           "inexact_because": ["torch version: 1 -> 2"]}]}  # fmt: skip
    page = report(task_dir(tmp_path / "x", run=json.dumps(run)))
    assert '<html lang="zh">' in page
    words = {
        "结束：已达到 max_update 9",
        "now 从检查点 500 恢复，不完全一致：torch 版本：1 -&gt; 2。",
        "最新：11 ± 2（10 个回合）",
    }
    assert {word for word in words if word not in page} == set()
    heads = re.findall("<h2>(.*?)</h2>|<dt>(.*?)</dt>|<th.*?>(.*?)</th>", page.replace("<wbr>", ""))
    assert {head for head in map("".join, heads) if re.fullmatch("[A-Za-z ]+", head)} == set()
