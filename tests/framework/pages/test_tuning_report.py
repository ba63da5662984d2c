"""report.html of a tuning: one page without network, sortable, with every trial in its figures."""

import base64
import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from config.read.search_space import Domain
from config.read.tuning import TuneConfig
from framework.archive.curves import Curves
from framework.archive.run import RecordedRun
from framework.archive.trials import Trial, TrialResult
from framework.disk.facts import Circumstances
from framework.jobs import job
from framework.jobs.optuna_search import importance_of
from framework.pages import charts, svg
from framework.pages import tuning_page as report
from framework.pages.svg import Axis
from framework.pages.tuning_page import TuningContents
from tests.tools import browser as chromium
from tests.tools.charts import lines, scripts
from tests.tools.tuning import GENERAL, forking, run, table, written

__all__ = ["forking"]

EVIL = "<script>alert(1)</script>\"'&"


def domain(path: str, kind: str, *values: Any) -> Domain:
    return Domain(path, tuple(path.split(".")), kind, values, "here")


LR, KIND = domain("algo_cfg.lr", "log", 1e-4, 1e-2), domain("env_cfg.kind", "choice", "a", "b")


def row(name: str, settings: tuple[Any, ...], state: str, score: float | None) -> TrialResult:
    return TrialResult(Trial(name, settings), state, score, score, 100, 1.5, 0, Path("x"))


ROWS = [
    row("002", (1e-3, "a"), "finished", 30.0),
    row("000", (1e-4, "b"), "finished", 20.0),
    row("003", (1e-2, "b"), "paused", 10.0),
    row("001", (1e-3, "b"), "failed", None),
]


def found(
    folder: Path, rows: list[TrialResult] = ROWS, domains: tuple[Domain, ...] = (LR, KIND), **changes: Any
) -> TuningContents:
    curves = {name: (np.array([0.0, 50.0, 100.0]), np.array([0.0, 10.0, 30.0])) for name in ("002", "003")}
    values: dict[str, Any] = {
        "title": "Tuning: X", "domains": domains, "cfg": TuneConfig(), "rows": rows, "best": rows[0],
        "reasons": {"001": "killed"}, "curves": Curves(curves, "return"),
        "runs": {row.trial.name: RecordedRun(row.folder) for row in rows}, "commands": [("Train", "python main.py")],
        "begun": Circumstances(command_line=["tune", "--yaml", "a b.yaml"]), "importance": importance_of(domains, rows),
    }  # fmt: skip
    return TuningContents(folder=folder, **(values | changes))


def page(*given: Any, **changes: Any) -> str:
    return report.write(found(*given, **changes)).read_text(encoding="utf-8")


def cells(html: str) -> list[list[str]]:
    """Cells of the table of trials."""
    inside = html[html.index('<div class="trials">') :].split("</table>")[0]
    return [re.findall(r"<td[^>]*>(.*?)</td>", part) for part in re.findall(r"<tr[^>]*>(.*?)</tr>", inside)[1:]]


def test_the_page_has_every_trial_and_what_was_searched(tmp_path: Path) -> None:
    html = page(tmp_path)
    assert cells(html)[0] == ["002", "30", "30", "0.001", "a", "100", "", "1.5", "finished"]
    assert [line[0] for line in cells(html)] == ["002", "000", "003", "001"]
    text = html.replace("<wbr>", "")
    assert "<td>algo_cfg.lr</td><td>log from 0.0001 to 0.01</td>" in text
    assert "<td>env_cfg.kind</td><td>choice of a, b</td>" in text
    assert "tune --yaml &#x27;a b.yaml&#x27;" in html
    assert "<td>001</td><td>killed</td>" in html


def test_a_page_of_a_tuning_that_goes_on_says_so(tmp_path: Path) -> None:
    html = page(tmp_path, best=None, session="running")
    assert re.search(r">running, as of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", html)
    assert "<div hidden><section><h2>Commands</h2>" in html, "it cannot be continued while it runs"
    assert "best score so far" in html
    assert "Best settings" not in html
    html = page(tmp_path, best=None, session="interrupted")
    assert "·  interrupted</p>" in html
    assert "<div><section><h2>Commands</h2>" in html
    assert "·  ended</p>" in page(tmp_path)


def test_empty_cells_of_columns_of_numbers_are_aligned_like_numbers(tmp_path: Path) -> None:
    nothing = row("000", (1e-3, "a"), "waiting", None)._replace(step=None, seconds=None)
    html = page(tmp_path, [nothing], best=None, curves=Curves({}, ""))
    inside = html[html.index('<div class="trials">') :].split("</table>")[0]
    heads, values = re.findall(r"<th( class=n)?>", inside), re.findall(r"<td( class=n)?>", inside)
    assert heads == values == [*[" class=n"] * 4, "", *[" class=n"] * 3, ""]


@pytest.mark.skipif(chromium.PROGRAM is None, reason="needs Chromium")
def test_a_page_that_was_not_written_again_says_that_its_tuning_may_have_been_killed(tmp_path: Path) -> None:
    browser = chromium.Browser()
    try:
        for patience, said, shown in ((60, "running, as of", False), (-60, "it was killed", True)):
            page(tmp_path, best=None, session="running", patience=patience)
            browser.go((tmp_path / "report.html").as_uri())
            browser.until("document.querySelector('.alive')")
            browser.until("document.readyState == 'complete'")
            assert said in browser.text(".alive")
            assert ("Commands" in browser.text("main")) is shown
            assert not browser.complaints()
    finally:
        browser.close()


def test_the_browser_runs_the_script_that_sorts_and_no_other(tmp_path: Path) -> None:
    rows = [row("000", (1e-3, EVIL), "finished", 1.0), row("001", (1e-3, "a"), "finished", 0.5)]
    kinds = domain(f"env_cfg.{EVIL}", "choice", EVIL, "a")
    html = page(
        tmp_path, rows, (LR, kinds), title=EVIL, reasons={EVIL: EVIL}, commands=[(EVIL, EVIL)], curves=Curves({}, EVIL)
    )
    [script] = scripts(html)
    assert script.endswith(report.SCRIPT)
    assert html.count("<script") == 1
    policy = html.split('http-equiv="Content-Security-Policy" content="')[1].split('"')[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    loads = "default-src 'none'; img-src data:; media-src data:; style-src 'unsafe-inline'"
    assert policy == f"{loads}; script-src 'sha256-{digest}'"


def test_a_run_s_own_page_still_runs_no_script() -> None:
    from framework.pages.html_page import page as plain_page

    assert "script" not in plain_page("x", "y")


# ------------------------------------------------------------------------------------------------------- figures


def test_values_are_placed_by_their_scale() -> None:
    assert Axis("", "log", (1e-4, 1e-2)).place(1e-3) == pytest.approx(0.5)
    assert Axis("", "linear", (10, 20)).place(12.5) == 0.25
    assert [Axis("", "list", ("a", "b")).place(each) for each in "ab"] == [0.25, 0.75]
    assert Axis("", "linear", (7, 7)).place(7) == 0.5


def test_axes_have_their_ends_and_round_numbers() -> None:
    assert [label for _, label in Axis("", "log", (2e-4, 1e-1)).ticks()] == ["0.0002", "0.1", "0.001", "0.01"]
    assert [label for _, label in Axis("", "linear", (0, 1)).ticks()] == ["0", "1", "0.2", "0.4", "0.6", "0.8"]
    assert [label for _, label in Axis("", "linear", (5, 5)).ticks()] == ["5"]
    many = list(Axis("", "list", [str(n) for n in range(30)]).ticks())
    assert len(many) <= svg.MOST_LABELS


def test_round_numbers_are_about_as_many_as_fit() -> None:
    assert svg.round_numbers(5, 5) == pytest.approx([4.4, 4.6, 4.8, 5.0, 5.2, 5.4, 5.6])
    assert [svg.brief(value) for value in (0, -1200, 1.5e6, 2.5e9, 0.25)] == ["0", "-1.2k", "1.5M", "2.5G", "0.25"]


def test_a_line_crosses_the_axes_at_its_values_and_one_without_a_score_ends_before(tmp_path: Path) -> None:
    """Axes at 56, 480 and 904 pixels; 52 is the top, 358 the bottom of 306 pixels."""
    html = page(tmp_path)
    figure = html[html.index("Settings and scores") :].split("</svg>")[0]
    found_paths = re.findall(r'<path(.*?) d="(.*?)"><title>trial (\d+)', figure)
    paths = {name: (attributes, way) for attributes, way, name in found_paths}
    assert list(paths) == ["001", "003", "000", "002"], "the best one on top"
    assert paths["002"] == (f' class="first" stroke="{svg.color(1)}"', "M56.0 205.0L480.0 281.5L904.0 52.0")
    assert paths["000"] == (f' stroke="{svg.color(0.5)}"', "M56.0 358.0L480.0 128.5L904.0 205.0")
    assert paths["003"] == (f' class="pale" stroke="{svg.color(0)}"', "M56.0 52.0L480.0 128.5L904.0 358.0")
    assert paths["001"] == (' class="failed"', "M56.0 205.0L480.0 128.5")


def test_colours_go_from_blue_to_orange() -> None:
    assert [svg.color(share) for share in (0, 1 / 3, 1, 2)] == ["#3b7dd8", "#8a6fc0", "#e8743b", "#e8743b"]


def test_long_names_take_two_lines_and_equal_ones_are_whole() -> None:
    assert svg.wrapped("lr", 15) == ["lr"]
    assert svg.wrapped("exploration_final_epsilon", 18) == ["exploration_final_", "epsilon"]
    assert svg.wrapped("exploration_final_epsilon_of_the_whole", 18)[1] == "epsilon_of_the_wh…"
    names = report.short_names(["algo_cfg.lr", "algo_cfg.gamma", "policies_cfg.a.lr"])
    assert names == ["algo_cfg.lr", "gamma", "policies_cfg.a.lr"]


def test_curves_show_the_trials_that_have_one(tmp_path: Path) -> None:
    found = lines(page(tmp_path))
    assert [(line["x"]["environment steps"], line["y"]) for line in found] == [([0, 50, 100], [0, 10, 30])] * 2
    assert [(line["color"], line.get("kind")) for line in found] == [
        (svg.color(1), "first"),
        (svg.color(0), "pale"),
    ], "the best one first, and one that is paused"
    assert found[0]["name"].startswith("trial 002: lr 0.001, kind a; score 30")


def test_many_points_are_thinned(tmp_path: Path) -> None:
    line = (np.arange(5000.0), np.arange(5000.0))
    html = page(tmp_path, curves=Curves({"002": line}, "return"))
    [found] = lines(html)
    assert len(found["y"]) == charts.MOST_POINTS
    assert (found["y"][0], found["y"][-1]) == (0, 4999)


# ---------------------------------------------------------------------------------------------------- importance


def twelve() -> list[TrialResult]:
    """The higher lr, the better; the kind does not matter."""
    values = [(float(f"{10 ** (-2 - place / 6):.4g}"), "ab"[place % 2]) for place in range(12)]
    return [row(f"{place:03}", value, "finished", float(-place)) for place, value in enumerate(values)]


def test_the_setting_that_matters_has_the_longest_bar(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    bars = re.findall(r"<span>(\S+)</span><i style", page(tmp_path, twelve(), curves=Curves({}, "")))
    assert bars == ["algo_cfg.lr", "env_cfg.kind"]


def test_without_optuna_the_page_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    html = page(tmp_path, twelve(), curves=Curves({}, ""))
    assert "the importance of settings needs the package optuna, which is not installed: pip install" in html


# ---------------------------------------------------------------------------------------------------- in a tuning


@pytest.mark.usefixtures("forking")
def test_a_tuning_leaves_its_page_and_a_page_that_fails_costs_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(job, "POLL_SECONDS", 0.01)
    written(f"general_cfg: {{{GENERAL}, algo_name: QLearning, max_total_step: 60}}\nenv_cfg: {{id: shifted}}\n"
            "algo_cfg: {lr: {grid: [0.1, 0.5]}}\n")  # fmt: skip
    states: list[list[str]] = []
    whole = report.write
    monkeypatch.setattr(report, "write", lambda found: states.append([r.state for r in found.rows]) or whole(found))
    assert run("tune", "--yaml", "tune.yaml", "--into", "x") == 0
    html = Path("x/report.html").read_text(encoding="utf-8")
    rows = {each["name"]: each for each in table("x", ())}
    assert {line[0]: line[3] for line in cells(html)} == {name: each["algo_cfg.lr"] for name, each in rows.items()}
    assert "python main.py --yaml x/best.yaml" in html
    assert "with a higher limit behind it</p><pre class=command>python main.py resume x/trials/" in html
    can_film = json.loads(Path("x/trials/000/run.json").read_text())["can_film"]
    assert (can_film, "python main.py film" in html) == (False, False)
    assert "<h1>Tuning: QLearning on shifted</h1>" in html
    assert states[0] == ["running", "running"], "there is a page from the beginning"
    assert states[-1] == ["finished", "finished"]
    monkeypatch.setattr(report, "write", lambda found: 1 / 0)
    Path("x/report.html").unlink()
    capsys.readouterr()
    assert run("tune", "--resume", "x") == 0
    assert "warning: cannot write the report: division by zero" in capsys.readouterr().out
