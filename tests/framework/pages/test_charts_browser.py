"""What a reader does with charts, tables and commands of a page, in a real browser."""

import csv
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from framework.pages import group_page, html_report
from framework.pages.html_page import NUMBERS
from main import main
from tests.framework.jobs.test_seeds import a_group
from tests.framework.pages.test_tuning_report import page as tuning_page
from tests.tools.browser import PROGRAM, Browser, awaited
from tests.tools.browser import browser as browser
from tests.tools.browser import started as started
from tests.tools.charts import charts
from tests.tools.compare import make_run
from tests.tools.watch import iterations, run

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs Chromium")
EVIL = "<script>alert(1)</script>\"'&"
LONG, CHINESE, FORMULA = "x" * 200, "回合奖励", "=1+1"
WIDE = CHINESE * 30
LOOKS = [(1280, False), (400, True)]
NOT_SIDEWAYS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


def a_run(folder: Path) -> Path:
    """A run with names of a stranger, 100 episodes of 10 steps in 50 s, and a column that is always 7."""
    folder = run(folder, algo="PPO", env=EVIL.replace("<", "&lt;"), episodes=0, outcome=EVIL, expected_return=60.0)
    names = ("episode", "step", "update", "return", f'"{EVIL}"', LONG, CHINESE, FORMULA, WIDE, "flat")
    rows = [(n, 10 * n, 2 * n, 50 + n % 7 * (-1) ** n, n, n % 3, n, -n, n, 7) for n in range(1, 101)]
    lines = [",".join(map(str, row)) for row in (names, *rows)]
    (folder / "results" / "train.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    evaluations = [f"{2 * n},{10 * n},{n},{n},0.5" for n in (5, 50, 100)]
    (folder / "results" / "eval.csv").write_text("\n".join(["update,step,episode,mean,std", *evaluations]) + "\n")
    iterations(folder, *((100 * n, 5.0 * n) for n in range(1, 11)))
    return folder


def opened(browser: Browser, page: Path, kept: str = "") -> None:
    browser.go(page.as_uri() + kept)
    browser.until("document.querySelector('.curve svg.chart')")
    assert browser.value(NOT_SIDEWAYS)


def found(selector: str) -> str:
    return f"document.querySelector({json.dumps(selector)})"


def focus(browser: Browser, selector: str) -> None:
    """Moves the focus, after a key, so that the page shows where it is."""
    browser.press("Tab")
    browser.value(f"{found(selector)}.focus()")
    assert browser.value("getComputedStyle(document.activeElement).outlineStyle") in ("solid", "auto"), selector


def kept(browser: Browser) -> str:
    return str(browser.value("location.hash"))


@pytest.mark.parametrize(("width", "dark"), LOOKS)
def test_a_reader_smooths_turns_and_saves_the_charts_of_a_report(
    browser: Browser, tmp_path: Path, width: int, dark: bool
) -> None:
    page = html_report.write(a_run(tmp_path / CHINESE))
    browser.look(width, dark=dark)
    opened(browser, page)
    line = f"{found('.curve g.c0 path:not(.raw)')}.getAttribute('d')"
    raw = f"{found('.curve path.raw')}?.getAttribute('d')"
    drawn = browser.value(line)
    assert browser.value(raw) != drawn, "the raw curve is behind its mean"
    focus(browser, "[data-keep=smooth]")
    browser.press("End")
    browser.until(f"{line} !== {json.dumps(drawn)}")
    assert browser.text(".tools output") == "50 %"
    focus(browser, "[data-keep=mean]")
    browser.press("End")
    focus(browser, "[data-keep=x]")
    browser.press("End")
    browser.until(f"{found('.chart .over')}.textContent === 'seconds of training'")
    focus(browser, "[data-keep=log]")
    browser.press(" ")
    assert kept(browser) == "#smooth=50&mean=exponential&x=seconds&log=1"
    assert browser.value("[...document.querySelectorAll('[data-keep=x]')].every(each => each.value === 'seconds')")
    browser.until("charts.values().next().value.drawn.scale.log")

    opened(browser, page, kept(browser))  # what is set survives
    assert browser.value("JSON.stringify([smoothingShare(), axisOfPage()])") == '[0.5,"seconds"]'
    browser.value("[...document.querySelectorAll('nav.contents a')].find(each => each.innerText === 'Charts').click()")
    browser.until("/^#part-\\d+&smooth=50/.test(location.hash)")
    browser.until("document.querySelector('nav.contents [aria-current]')?.innerText === 'Charts'")
    assert browser.value("Math.abs(document.querySelector('section:has(> details)').getBoundingClientRect().top) < 100")

    focus(browser, "svg.chart")
    browser.press("End")
    browser.until("document.querySelector('.readout').innerText.startsWith('50 seconds of training: ')")
    folds = "[...document.querySelectorAll('summary')].find(each => each.innerText.includes('1 flat chart'))"
    assert browser.value(f"{folds}.innerText") == "1 flat chart, always the same: flat 7"
    browser.value(f"{folds}.focus()")
    browser.press("Enter")
    browser.until("document.querySelector('[data-place=train-flat] svg.chart').getBoundingClientRect().height > 0")
    assert browser.value(NOT_SIDEWAYS)
    titles = browser.value("[...document.querySelectorAll('.chart')].map(each => each.getAttribute('aria-label'))")
    for name in (f'"{EVIL}"', LONG, CHINESE, FORMULA, WIDE):
        assert any(title.startswith(f"{name} over ") for title in titles), name
    beside = "each => each.getBBox().width < each.closest('svg').getBoundingClientRect().width - 40"
    assert browser.value(f"[...document.querySelectorAll('.chart .what')].every({beside})"), "room for the menu"
    assert browser.value("document.querySelectorAll('script').length") == 2
    sample(browser, tmp_path / f"{width}.png")


def sample(browser: Browser, path: Path) -> None:
    """Takes a picture of the page, which is neither empty nor of one color."""
    browser.picture(path)
    assert path.stat().st_size > 10_000


def test_a_chart_is_saved_as_a_picture_a_drawing_and_a_table(browser: Browser, tmp_path: Path) -> None:
    opened(browser, html_report.write(a_run(tmp_path / "x")))
    browser("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))

    def saved(selector: str, kind: str) -> Path:
        focus(browser, f"{selector} .save summary")
        browser.press("Enter")
        focus(browser, f"{selector} [data-save={kind}]")
        browser.press("Enter")
        path: Path = awaited(lambda: next(tmp_path.glob(f"*.{kind.lower()}"), None))
        awaited(lambda: path.stat().st_size)
        return path

    score = "[data-place=score] figure"
    picture = saved(score, "PNG").read_bytes()
    width, height = (int.from_bytes(picture[at : at + 4], "big") for at in (16, 20))
    assert picture.startswith(b"\x89PNG")
    assert [width - 48, height - 48] == browser.value(
        "(svg => [2 * svg[2], 2 * svg[3]])(document.querySelector('svg.chart').getAttribute('viewBox').split(' '))"
    )
    drawing = ElementTree.fromstring(saved(score, "SVG").read_text(encoding="utf-8"))
    tags = [element.tag.partition("}")[2] for element in drawing.iter()]
    assert {"path", "text", "circle", "rect"} <= set(tags)
    assert not any("class" in element.attrib or "var(" in str(element.attrib) for element in drawing.iter())
    head, *rows = csv.reader(saved(score, "CSV").open(encoding="utf-8", newline=""))
    assert head == ["line", "environment steps", "episodes", "updates", "seconds", "return", "lowest", "highest"]
    assert rows[0] == ["return", "10", "1", "2", "0.5", "49", "", ""]
    assert (len(rows), rows[-1][:6]) == (103, ["evaluation", "1000", "100", "200", "50", "100"])
    for path in tmp_path.glob("*.csv"):
        path.unlink()
    evil = "[data-place=train] figure:nth-child(4)"
    head, first, *_ = csv.reader(saved(evil, "CSV").open(encoding="utf-8", newline=""))
    assert (head[5], first[0]) == (f"'{FORMULA}", f"'{FORMULA}"), "a spreadsheet takes it as text"


@pytest.mark.parametrize(("width", "dark"), LOOKS)
def test_tables_are_sorted_and_commands_copied_by_mouse_and_keys(
    browser: Browser, tmp_path: Path, width: int, dark: bool
) -> None:
    browser.look(width, dark=dark)
    opened(browser, html_report.write(a_run(tmp_path / "x")))
    table = "[...document.querySelectorAll('section')].find(each => each.innerText.startsWith('Evaluations'))"
    cells = f"[...{table}.querySelectorAll('tbody tr')].map(row => row.cells[1].textContent)"
    head = f"{table}.querySelectorAll('th')[1]"
    assert browser.value(cells) == ["50", "500", "1,000"]
    browser.value(f"{head}.firstChild.focus()")
    browser.press("Enter")
    assert browser.value(f"{head}.ariaSort") == "ascending"
    browser.value(f"{head}.scrollIntoView({{ block: 'center' }})")
    x, y = browser.value(
        f"(box => [box.x + box.width / 2, box.y + box.height / 2])({head}.firstChild.getBoundingClientRect())"
    )
    for kind in ("mousePressed", "mouseReleased"):
        browser("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    assert browser.value(f"{head}.ariaSort") == "descending"
    assert browser.value(cells) == ["1,000", "500", "50"], "as numbers, not as text"
    focus(browser, ".copy")
    browser.press("Enter")
    assert browser.text(".copy") == "Copied"
    assert browser.value("String(getSelection())").startswith("python main.py ")


@pytest.mark.parametrize(("width", "dark"), LOOKS)
def test_every_page_has_the_same_charts(browser: Browser, tmp_path: Path, width: int, dark: bool) -> None:
    """A group with two experiments, and a tuning: an arrow key chooses the line that is read."""
    browser.look(width, dark=dark)
    shown = a_group(1.0, 3.0, 5.0, 7.0, experiments={f"A {EVIL}": [1, 2], CHINESE: [3, 4]}, title=EVIL)
    group = group_page.write(tmp_path, shown)
    opened(browser, group)
    assert browser.value("[...document.querySelectorAll('.legend span')].map(each => each.textContent)") == [
        f"A {EVIL}",
        CHINESE,
    ]
    assert browser.text("h1") == EVIL
    focus(browser, "svg.chart")
    browser.press("End")
    browser.until(f"document.querySelector('.readout').innerText.includes('100 environment steps: A {EVIL[:8]}')")
    picked = "document.querySelector('.picked').getAttribute('d')"
    first = browser.value(picked)
    browser.press("ArrowDown", 2)
    browser.until(f"{picked} !== {json.dumps(first)}")
    browser.press("Escape")
    (tmp_path / "tuning").mkdir()
    html = tuning_page(tmp_path / "tuning", title=EVIL)
    assert len(charts(html)) == 1
    opened(browser, tmp_path / "tuning" / "report.html")
    focus(browser, "svg.chart")
    browser.press("End")
    browser.until("document.querySelector('.readout').innerText.startsWith('100 environment steps: trial 002')")


def test_charts_of_the_machine_stand_below_its_table(browser: Browser, tmp_path: Path) -> None:
    folder = run(tmp_path / "run", command_line=["--algo", "PPO"])
    (folder / "logs" / "system.csv").write_text(
        "step,update,seconds,cpu_percent,memory_mb\n100,20,5,90,300\n200,40,10,95,310\n"
    )
    browser.look(1280)
    opened(browser, html_report.write(folder))
    save, table = found("[data-place=system] .save summary"), f"{found('[data-place=system]')}.previousElementSibling"
    browser.until(save)
    assert browser.value(f"{table}.localName") == "table"
    assert browser.value(f"{save}.getBoundingClientRect().top - {table}.getBoundingClientRect().bottom") > 4


def test_the_name_of_a_setting_stays_in_one_line_beside_a_long_value(browser: Browser, tmp_path: Path) -> None:
    folder = run(tmp_path / "run")
    kernels = "{products: 4194304, compiled_products: 2097152, tanh: 8192, acting_tanh: 2048, few_rows: 262144}"
    with (folder / "config.yaml").open("a") as config:
        config.write(f"algo_cfg:\n  exploration_of_a_long_name: 1\n  kernels: {kernels}\n")
    page = html_report.write(folder)
    browser.look(1280)
    opened(browser, page)
    name = "td => td.textContent.includes('of_a_long_name') && td.getBoundingClientRect().height"
    assert browser.value(f"[...document.querySelectorAll('td')].map({name}).find(Boolean)") < 40
    browser.look(400)
    opened(browser, page)


def test_the_mean_of_single_points_stands_out_from_those_of_the_runs(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, scores in (("a", (1.0, 2.0)), ("b", (5.0,))):
        for seed, score in enumerate(scores, start=1):
            make_run(tmp_path / f"tasks/{name}{seed}", [(200, score)], seed=seed, algo={"a": "DQN", "b": "PPO"}[name])
    assert main(["compare", "*", "--into", "out"]) == 0
    opened(browser, tmp_path / "out/compare.html")
    opacity = "[...document.querySelectorAll('.chart circle.lone')].map(dot => getComputedStyle(dot).opacity).join(' ')"
    pale, *others = sorted(browser.value(opacity).split())
    assert float(pale) < 1
    assert others == [pale, "1", "1"]


def test_no_two_scripts_of_a_page_give_a_name_twice() -> None:
    """All of a page are one script: a function would silently take the place of another."""
    from framework.live.server import page as watch
    from framework.pages.html_page import scripts

    body = f'{NUMBERS}<table class=sortable><nav class="contents"'
    for script in (scripts(body), watch()[0].decode().partition("<script>")[2]):
        names: list[Any] = re.findall(r"^(?:async )?(?:function|const|let|class) (\w+)", script, re.MULTILINE)
        assert len(names) > 30
        assert sorted(set(names)) == sorted(names)
