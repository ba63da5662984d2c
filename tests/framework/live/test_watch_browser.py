"""The page of the command watch in a real browser."""

import json
import os
import re
import signal
from pathlib import Path

import pytest

from framework.disk.task_dir import held_lock
from framework.live.server import Server
from framework.pages.sentences import sentences
from tests.tools.browser import PROGRAM, Browser, awaited
from tests.tools.browser import browser as browser
from tests.tools.browser import started as started
from tests.tools.process import Forked
from tests.tools.watch import episode, episodes_of, iterations, run, served

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs Chromium")
LINE = "#shown .chart path:not(.raw)"
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    for number, name in enumerate(("Train_one", "Train_two")):
        folder = run(tmp_path / "tasks" / name, algo=("DQN", "PPO")[number])
        os.utime(folder, (number, number))
        os.utime(folder / "run.json", (number, number))
    return tmp_path / "tasks"


def opened(browser: Browser, server: Server, then: str = "#shown h2") -> None:
    browser.go(server.address)
    browser.until(f"document.querySelector({json.dumps(then)})")


def names(browser: Browser) -> list[str]:
    """The runs in the list, in its order."""
    return list(
        browser.value("[...document.querySelectorAll('#list .run a')].map(each => each.innerText.split('\\n')[2])")
    )


def focused(browser: Browser) -> str:
    """What has the focus."""
    element = "(document.activeElement === document.body ? {} : document.activeElement)"
    return str(browser.value(f"{element}.ariaLabel ?? {element}.innerText ?? ''"))


def tab_to(browser: Browser, text: str) -> None:
    """Presses the tab key until the focus is where this text is."""
    for _ in range(60):
        browser.press("Tab")
        if text in focused(browser):
            break
    else:
        pytest.fail(f"the tab key does not reach {text}")
    outline = "getComputedStyle(document.activeElement)"
    assert browser.value(f"{outline}.outlineStyle") == "solid", "who uses keys sees where the focus is"
    assert browser.value(f"parseFloat({outline}.outlineWidth)") >= 2


def test_the_newest_run_is_shown_with_its_curve(browser: Browser, tasks: Path) -> None:
    with served(tasks, browser) as server:
        opened(browser, server, "#shown svg.chart")
        assert names(browser) == ["Train_two", "Train_one"]
        shown = browser.value("[5000, 1e9, 0.12345, 12345.6, null].map(value => short(value))")
        assert shown == ["5,000", "1,000,000,000", "0.1235", "12,346", "–"], "a count is written as in the list"
        assert browser.text("#shown h2") == "PPO on CartPole-v1"
        assert "max_episode 20 reached" in browser.text("#shown")
        assert browser.value("document.querySelectorAll('#shown .chart circle').length") == 1
        path = browser.value("document.querySelector(LINE).getAttribute('d')".replace("LINE", json.dumps(LINE)))
        assert path.count("L") == 19


def test_a_chart_follows_a_run_while_it_trains(browser: Browser, tasks: Path) -> None:
    """A real one. Then it is stopped, and the page says that, too."""
    sleeping = ("general_cfg.env_name=toy", "env_cfg.id=sleep", "env_cfg.seconds=0.01")
    words = ("--algo", "DQN", *sleeping, "--into", str(tasks / "Train_live"))
    training = Forked(
        *words, "general_cfg.max_episode=1000000", "general_cfg.max_total_step=-1", "general_cfg.save_fig=false"
    )
    try:
        awaited(lambda: (tasks / "Train_live" / ".lock").exists() or training.poll() is not None)
        with served(tasks, browser) as server:
            opened(browser, server, "#list .running")
            assert names(browser)[0] == "Train_live"
            browser.until(f"document.querySelector('{LINE}')")
            assert browser.text("#shown h2") == "DQN on sleep"
            drawn, steps = browser.value(f"[document.querySelector('{LINE}').outerHTML, page.data.order[0].step]")
            browser.until(f"page.data.order[0].step > {steps}")  # it asks again by itself
            browser.until(f"document.querySelector('{LINE}').outerHTML !== {json.dumps(drawn)}")
            os.kill(training.pid, signal.SIGTERM)
            assert training.wait() == 143
            browser.value("ask()")
            browser.until("document.querySelector('#list .run .interrupted')")
    finally:
        if training.poll() is None:
            os.kill(training.pid, signal.SIGKILL)


def test_a_page_that_is_updated_keeps_the_focus_and_what_was_opened(browser: Browser, tasks: Path) -> None:
    folder = tasks / "Train_two"
    lock = held_lock(folder)
    assert lock is not None
    with served(tasks, browser) as server, lock:
        iterations(folder, (100, 1.0))
        opened(browser, server, "#shown details")
        browser.value("document.querySelector('#shown details:has(img)').open = true")
        browser.value("window.film = document.querySelector('#shown img')")
        browser.value("document.querySelectorAll('#list .run a')[1].focus()")
        with episodes_of(folder) as train:
            train.append(episode(33))
        browser.value("ask()")
        browser.until("document.querySelector('#shown dl').innerText.includes('330')")
        assert "Train_one" in focused(browser)
        assert browser.value("document.querySelector('#shown details:has(img)').open")
        assert browser.value("window.film === document.querySelector('#shown img')"), "a video plays on"
        run(tasks / "Train_three")  # comes before the one with the focus
        browser.value("ask()")
        browser.until("document.querySelectorAll('#list .run').length === 3")
        assert "Train_one" in focused(browser)


def test_two_runs_are_laid_over_one_another_with_keys_alone(browser: Browser, tasks: Path) -> None:
    with served(tasks, browser) as server:
        opened(browser, server, "#shown svg.chart")
        tab_to(browser, "Train_one in the chart")
        browser.press(" ")
        browser.until("document.querySelectorAll('#shown .chart g').length === 2")
        assert browser.text("#shown h2") == "2 runs in one chart"
        colours = browser.value("[...document.querySelectorAll('#shown .chart g')].map(g => getComputedStyle(g).color)")
        assert len(set(colours)) == 2
        assert "Train_one in the chart" in focused(browser)
        tab_to(browser, "the arrow keys read values")
        browser.press("End")
        browser.until("document.querySelector('#shown .readout').innerText.startsWith('200 environment steps: ')")
        assert browser.text("#shown .readout").count("on CartPole-v1") == 2
        browser.press("ArrowLeft")
        browser.until("document.querySelector('#shown .readout').innerText.startsWith('198 environment steps: ')")
        tab_to(browser, "Take Train_two out of the chart")
        browser.press("Enter")
        browser.until("document.querySelector('#shown h2')?.innerText === 'DQN on CartPole-v1'")
        tab_to(browser, "Train_two\n")
        browser.press("Enter")
        browser.until("document.querySelector('#shown h2')?.innerText === 'PPO on CartPole-v1'")


def test_a_curve_is_drawn_over_episodes_and_over_time(browser: Browser, tasks: Path) -> None:
    """20 episodes of 10 steps; 2 seconds after step 100, and 6 after step 200."""
    (tasks / "Train_two" / "logs").mkdir(exist_ok=True)
    (tasks / "Train_two" / "logs" / "system.csv").write_text("step,update,seconds\n100,20,2\n200,40,6\n")
    with served(tasks, browser) as server:
        opened(browser, server, "#shown svg.chart")
        offered = "[...document.querySelectorAll('#shown [data-keep=x] option')].map(each => each.innerText)"
        assert browser.value(offered) == ["environment steps", "updates", "episodes", "training time"]
        choice, chart = (f"document.querySelector('#shown {part}')" for part in ("[data-keep=x]", "figure svg.chart"))
        for axis, name, last in (("episodes", "episodes", 20), ("seconds", "seconds of training", 6)):
            browser.value(f"{choice}.value = '{axis}'")
            browser.value(f"{choice}.dispatchEvent(new Event('input', {{ bubbles: true }}))")
            browser.until(f"{chart}.textContent.includes('{name}')")
            browser.value(f"{chart}.focus()")
            browser.press("End")
            browser.until(f"document.querySelector('#shown .readout').innerText.startsWith('{last} {name}: ')")


def test_every_number_that_was_measured_can_be_drawn(browser: Browser, tasks: Path) -> None:
    with episodes_of(tasks / "Train_two") as train:
        train.append(episode(30, loss=0.5))
    with served(tasks, browser) as server:
        opened(browser, server, "#shown svg.chart")
        assert browser.value("[...document.querySelectorAll('#column option')].map(each => each.value)") == [
            "return",
            "length",
            "loss",
        ]
        browser.value("document.querySelector('#column').focus()")
        browser.press("End")
        browser.until("document.querySelector('#shown .chart text[x=\"0\"]')?.textContent === 'loss'")
        assert "column=loss" in browser.value("location.hash")


def test_a_report_opens_and_reaches_nothing_of_the_page(browser: Browser, tasks: Path) -> None:
    """Its script runs, and finds no token, no storage and no way to ask the server."""
    probe = """<!doctype html><h1>The report</h1><script>
      const found = {opener: window.opener, origin: self.origin, referrer: document.referrer, place: location.search};
      try { found.stored = String(sessionStorage) } catch (error) { found.stored = error.name }
      document.title = JSON.stringify(found);
      fetch('/now').catch(error => document.title += error.name)</script>"""
    (tasks / "Train_two" / "report.html").write_text(probe)
    with served(tasks, browser) as server:
        opened(browser, server, "#shown .button.first")
        address = browser.value("document.querySelector('#shown .button.first').href")
        assert browser.value("document.querySelector('#shown .button.first').rel") == "noopener noreferrer"
        assert server.answers.token not in address
        browser.go(address)
        browser.until("document.title.endsWith('TypeError')")
        found = json.loads(browser.value("document.title").removesuffix("TypeError"))
        assert found.pop("place").strip("?").isdecimal()
        assert found == {"opener": None, "origin": "null", "referrer": "", "stored": "SecurityError"}
        assert browser.text("h1") == "The report"
    browser.events.clear()  # the refused fetch


def test_a_tab_key_and_enter_open_a_report_in_a_tab_of_its_own(browser: Browser, tasks: Path) -> None:
    with served(tasks, browser) as server:
        opened(browser, server, "#shown .button.first")
        tab_to(browser, "Report")
        browser.press("Enter")
        session, browser._session = browser._session, None
        try:
            tabs = awaited(
                lambda: [tab for tab in browser("Target.getTargets")["targetInfos"] if "/report.html" in tab["url"]]
            )
            browser("Target.closeTarget", targetId=tabs[0]["targetId"])
        finally:
            browser._session = session


def test_names_from_a_stranger_are_text(browser: Browser, tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    folder = run(tasks / HOSTILE, algo=HOSTILE, env=HOSTILE, outcome=HOSTILE, started=HOSTILE)
    member = run(tasks / f"{HOSTILE}group" / HOSTILE)
    (member.parent / "group.json").write_text("{}")
    for name in (
        f"videos/{HOSTILE}.gif",
        f"results/{HOSTILE}.csv",
        f"results/{HOSTILE}'\" &%23?#\n.csv",
        "results/\u202egnp.csv",
    ):
        (folder / name).write_bytes((folder / "videos" / "video.gif").read_bytes())
    (folder / os.fsdecode(b"results/\xff.csv")).write_text("not a name in UTF-8")
    (folder / "logs" / "log.txt").write_text(f"{HOSTILE}\n")
    train = folder / "results" / "train.csv"
    train.write_text(train.read_text().replace("loss", HOSTILE))
    with served(tasks, browser) as server:
        opened(browser, server)
        browser.value("location.hash = `show=${page.data.order.find(run => !run.group).id}`")
        browser.until("document.querySelectorAll('#shown h2').length")
        browser.value("document.querySelectorAll('details').forEach(each => each.open = true)")
        browser.until(f"document.body.innerText.includes({json.dumps(HOSTILE)})")
        assert (
            browser.value("document.querySelectorAll('img[src=x], script:not(body > script), [onerror]').length") == 0
        )
        browser.until("[...document.querySelectorAll('#shown img')].every(each => each.complete && each.naturalWidth)")
        links = (
            "[...document.querySelectorAll('#shown details a')].map(link => fetch(link.href).then(got => got.status))"
        )
        assert set(browser.value(f"Promise.all({links})")) == {200}


def test_a_narrow_screen_shows_the_list_or_the_runs_and_never_scrolls_sideways(browser: Browser, tasks: Path) -> None:
    run(tasks / ("Train_" + "x" * 150), env="y" * 150)
    browser.look(400)
    sideways = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    visible = "document.querySelector('{}').checkVisibility()"
    with served(tasks, browser) as server:
        opened(browser, server, "#list .run")
        assert not browser.value(visible.format("#shown"))
        assert not browser.value(sideways)
        browser.value("document.querySelectorAll('#list input')[1].click()")
        browser.until("document.querySelector('#list > .narrow')")
        assert browser.value(visible.format("#list")), "a second one can be chosen"
        browser.value("document.querySelector('#list > .narrow').click()")
        browser.until("document.querySelectorAll('#shown .chart g').length === 2")
        assert not browser.value(visible.format("#list"))
        assert not browser.value(sideways)
        assert browser.value("document.querySelector('svg.chart').getBoundingClientRect().width") <= 400
        browser.value("document.querySelector('#shown .narrow').click()")
        browser.until(visible.format("#list"))
        browser.value("document.querySelectorAll('#list .run a')[0].click()")
        browser.until("document.querySelectorAll('#shown dl').length")
        browser.value("document.querySelectorAll('details').forEach(each => each.open = true)")
        assert not browser.value(sideways)


def contrast(browser: Browser, selector: str) -> float:
    """Ratio of the luminances of an element's text and of the page, as WCAG defines it."""
    script = """(() => { const light = text => { const parts = text.match(/[\\d.]+/g).map(part => part / 255);
        const [r, g, b] = parts.map(part => part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4);
        return .2126 * r + .7152 * g + .0722 * b };
      const one = light(getComputedStyle(document.querySelector(SELECTOR)).color);
      const other = light(getComputedStyle(document.body).backgroundColor);
      return (Math.max(one, other) + .05) / (Math.min(one, other) + .05) })()"""
    return float(browser.value(script.replace("SELECTOR", json.dumps(selector))))


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_follows_the_colours_of_the_browser_and_can_be_read_in_both(
    browser: Browser, tasks: Path, dark: bool
) -> None:
    for number in range(6):
        run(tasks / f"Train_{number}", outcome="broken", finished=None)
    browser.look(1280, dark=dark)
    with served(tasks) as server:
        opened(browser, server)
        browser.value("location.hash = `show=${page.data.order.slice(0, 6).map(run => run.id).join(',')}`")
        browser.until("document.querySelectorAll('#shown .chart g').length === 6")
        paper = browser.value("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(255, 255, 255)") != dark
        for selector in ("h1", ".title", ".small", ".state.failed", ".state.finished", "#place"):
            assert contrast(browser, selector) >= 4.5, selector
        for number in range(6):
            assert contrast(browser, f".chart .c{number}") >= 3


def test_a_server_that_has_ended_is_said_and_one_that_starts_anew_is_not_asked_in_vain(
    browser: Browser, tasks: Path
) -> None:
    first = Forked("watch", str(tasks))
    address = awaited(lambda: re.search(r"http\S+:(\d+)/\S+", first.stdout), lambda: first.stderr)
    browser.go(address[0])
    browser.until("document.querySelector('#shown h2')")
    os.kill(first.pid, signal.SIGTERM)
    assert first.wait() == 143
    browser.value("ask()")
    browser.until("document.querySelector('#trouble').innerText.includes('does not answer')")
    assert browser.text("#shown h2") == "PPO on CartPole-v1", "what is known stays"
    other = Forked("watch", str(tasks), "--port", address[1])
    try:
        awaited(lambda: "Ctrl-C" in other.stdout, lambda: other.stderr)
        browser.value("ask()")
        browser.until("document.querySelector('#trouble').innerText.includes('earlier start')")
    finally:
        os.kill(other.pid, signal.SIGINT)
    assert other.wait() == 130
    browser.events.clear()  # the browser itself complains about requests that fail


def test_runs_appear_as_they_start_and_words_choose_among_them(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path / "tasks", browser) as server:
        browser.go(server.address)
        browser.until("document.querySelector('#list')?.innerText.includes('No runs yet')")
        for number in range(3):
            run(tmp_path / "tasks" / "Seeds_x" / f"seed_{number}", algo="SAC")
        (tmp_path / "tasks" / "Seeds_x" / "group.json").write_text("{}")
        run(tmp_path / "tasks" / "Train_y", algo="PPO")
        browser.value("ask()")
        browser.until("document.querySelectorAll('#list .run').length === 4")
        browser.value("document.querySelector('#filter').focus()")
        browser("Input.insertText", text="sac seed")
        browser.until("document.querySelectorAll('#list .run').length === 3")
        browser.value("document.querySelector('#list details .button:last-child').click()")
        browser.until("document.querySelectorAll('#shown .chart g').length === 3")


def test_a_group_is_drawn_over_each_axis_and_its_table_stays_sorted(browser: Browser, tmp_path: Path) -> None:
    for seed, best in ((1, 7.0), (2, 5.0), (3, 9.0)):
        folder = run(tmp_path / "tasks" / "Seeds" / f"seed_{seed}", seed=seed, best=best)
        (folder / "logs" / "system.csv").write_text(f"step,update,seconds\n200,40,{60 * seed}\n")
    (tmp_path / "tasks" / "Seeds" / "group.json").write_text('{"seeds": [1, 2, 3]}')
    over = "document.querySelector('#shown .chart .over').textContent"
    order = "[...document.querySelectorAll('#shown tbody tr')].map(row => row.cells[3].innerText).join()"
    with served(tmp_path / "tasks", browser) as server:
        opened(browser, server)
        browser.value("location.hash = `group=${[...page.data.groups.values()][0].id}`")
        browser.until("document.querySelectorAll('#shown .chart g').length === 4")  # the mean, and the runs
        axes = "[...document.querySelectorAll('#shown [data-keep=x] option')].map(option => option.value).join()"
        assert browser.value(axes) == ",updates,episodes,seconds"
        browser.value("keepChoice('x', 'seconds')")
        browser.until(f"{over} === 'minutes of training'")
        assert browser.value("document.querySelectorAll('#shown .chart g').length") == 4
        tab_to(browser, "score")
        browser.press("Enter")
        browser.until(f"{order} === '9,7,5'")
        browser.press("Enter")
        browser.until(f"{order} === '5,7,9'")
        browser.value("ask()")
        asked = browser.value("page.asked")
        browser.until(f"page.asked > {asked}")
        assert browser.value(order) == "5,7,9", "what comes anew is sorted, too"
        assert browser.value("document.activeElement.closest('th').ariaSort") == "ascending"


def test_the_page_is_in_the_language_of_its_server(browser: Browser, tmp_path: Path, chinese: None) -> None:
    """Names from files stay as they are, even if they look like places of a sentence."""
    run(tmp_path / "tasks" / "Train_{count}_$&", env="'{algorithm}-v1'")
    with served(tmp_path / "tasks", browser) as server:
        opened(browser, server)
        browser.until("document.querySelector('#shown svg.chart')")
        assert browser.value("document.documentElement.lang") == "zh"
        assert browser.text("#shown h2") == "{algorithm}-v1 上的 DQN"
        browser.value("for (const part of document.querySelectorAll('details')) part.open = true")
        shown = browser.text()
        assert "Train_{count}_$&" in shown
        left = [text for text in sentences(server.page.decode()) if " " in text and text in shown]
        assert left == []
        browser.go(f"{server.address}#view=table")
        browser.until("document.querySelector('table.overview')")
        assert browser.text("table.overview thead").split() == [
            "运行", "状态", "标签", "算法", "环境", "得分", "步数", "步/秒", "用时", "最近变化",
        ]  # fmt: skip
