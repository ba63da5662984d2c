"""The table of the page of the command watch, and what is done in it, in a real browser."""

import json
import os
import subprocess
import sys
from pathlib import Path

import imageio.v3 as imageio
import numpy as np
import pytest

from framework.disk.notes import Notes
from tests.tools.browser import PROGRAM, Browser
from tests.tools.browser import browser as browser
from tests.tools.browser import started as started
from tests.tools.watch import episode, episodes_of, run, served

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs Chromium")
ROOT = Path(__file__).parents[3]
HOSTILE = "<img src=x onerror=alert(1)>'\"..运行"
NAMES = "[...document.querySelectorAll('.overview tbody th a')].map(link => link.textContent)"
HOLDER = """
import sys, time
from pathlib import Path
from framework.disk.task_dir import held_lock
lock = held_lock(Path(sys.argv[1]))
print('held', flush=True)
time.sleep(100)
"""


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """Two runs with videos, one from a stranger, and a group of three seeds."""
    tasks = tmp_path / "tasks"
    for number, (name, algo) in enumerate((("one", "DQN"), ("two", "PPO"), (HOSTILE, "SAC"))):
        folder = run(tasks / name, algo=algo, best=10.0 * (2 - number), seed=number)
        settings = {"algo_cfg": {"lr": 0.1 * (number + 1)}, "env_cfg": {"id": "CartPole-v1"}}
        (folder / "params.json").write_text(json.dumps(settings))
        frames = np.zeros((5 + number, 8, 8, 3), np.uint8)
        frames[:, :, :, 0] = 50 * np.arange(5 + number)[:, None, None]
        imageio.imwrite(folder / "videos" / "video.gif", frames, duration=100)
        os.utime(folder, (1000 + number, 1000 + number))
    for seed in (1, 2, 3):
        folder = run(tasks / "Seeds" / f"seed_{seed}", episodes=0, best=15.0 + seed, seed=seed)
        with episodes_of(folder) as train:
            train.extend([episode(number, **{"return": float(seed * number)}) for number in range(1, 21)])
    (tasks / "Seeds" / "group.json").write_text("{}")
    return tasks


def tick(browser: Browser, *names: str) -> None:
    for name in names:
        browser.value(f"document.querySelector('[aria-label=\"Tick {name}\"]').click()")
    browser.until(f"document.querySelector('#ticked').innerText.startsWith('{len(names)} ticked')")


def test_runs_are_sorted_filtered_ticked_and_compared(browser: Browser, tasks: Path) -> None:
    with served(tasks, browser) as server:
        browser.go(server.address + "#view=table")
        browser.until("document.querySelectorAll('.overview tbody tr').length === 4")
        browser.value("document.querySelector('[data-sort=score]').focus()")
        browser.press("Enter")  # with keys alone
        assert browser.value(NAMES) == ["one", "Seeds", "two", HOSTILE]
        assert browser.value("document.querySelector('th[aria-sort]').innerText") == "score"
        assert browser.value("document.querySelector('th[aria-sort]').ariaSort") == "descending"
        browser.press("Enter")
        assert browser.value(NAMES) == [HOSTILE, "two", "Seeds", "one"]
        browser.value("document.querySelector('.fold').click()")
        assert browser.value(NAMES) == [HOSTILE, "two", "Seeds", "seed_1", "seed_2", "seed_3", "one"]
        assert browser.value("document.querySelector('.fold').ariaExpanded") == "true"
        browser.value("document.querySelector('#picker').open = true")
        browser.until("document.querySelector('[data-column=\"algo_cfg.lr\"]')")
        browser.value("document.querySelector('[data-column=\"algo_cfg.lr\"]').click()")
        browser.until("document.querySelector('.overview').innerText.includes('0.2')")
        browser.value("document.querySelector('[data-sort=\"algo_cfg.lr\"]').click()")
        assert browser.value(NAMES)[:3] == ["one", "two", HOSTILE], "what has no such setting comes last"
        browser.go(server.address + "#view=table")  # what was chosen is kept
        browser.until("document.querySelector('.overview')?.innerText.includes('0.2')")
        assert browser.value(NAMES)[:3] == ["one", "two", HOSTILE]
        browser.value("document.querySelector('#filter').focus()")
        browser("Input.insertText", text="运行 sac")
        browser.until(f"{NAMES}.length === 1")
        assert browser.value("document.querySelectorAll('img[src=x], [onerror]').length") == 0
        browser.value("document.querySelector('#filter').value = ''; draw()")
        tick(browser, "one", "two")
        browser.value("document.querySelector('#ticked [data-compare]').click()")
        browser.until("document.querySelector('h1')?.innerText === 'DQN and PPO on CartPole-v1'")


def test_a_run_gets_tags_and_a_note_and_is_stopped_after_a_question(browser: Browser, tasks: Path) -> None:
    words = [sys.executable, "-c", HOLDER, str(tasks / "one")]
    training = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert training.stdout is not None
    training.stdout.readline()
    try:
        with served(tasks, browser) as server:
            browser.go(server.address)
            browser.until("document.querySelector('[data-stop]')")
            browser.value("document.querySelector('details:has(.notes)').open = true")
            browser.value("document.querySelector('[name=tags]').focus()")
            browser("Input.insertText", text=f"good，{HOSTILE}")
            browser.value("ask()")  # an update takes nothing away that is being written
            browser.value("document.querySelector('[name=note]').focus()")
            browser("Input.insertText", text="why it is good")
            browser.value("document.querySelector('.notes button').click()")
            browser.until("document.querySelector('#list .tag')")
            assert Notes.read(tasks / "one") == Notes(tags=["good", HOSTILE], note="why it is good")
            browser.value("document.querySelector('#filter').focus()")
            browser("Input.insertText", text="good")
            browser.until("document.querySelectorAll('#list .run').length === 1")
            browser.value("document.querySelector('[data-stop]').click()")
            assert browser.value("document.activeElement.innerText") == "Let it run"
            browser.press("Escape")
            browser.until("!document.querySelector('#confirm').open")
            assert training.poll() is None
            assert browser.text("#said") == "Tags and note are saved."
            # the event that the dialog closes comes late: "no" and then "yes" is one request
            clicks = (
                f"document.querySelector('{button}').click()"
                for button in ("[data-stop]", "#no", "[data-stop]", "#yes")
            )
            browser.value("; ".join(clicks))
            browser.until("document.querySelector('#said').innerText.includes('was asked to stop')")
            assert training.wait(20) != 0
            browser.value("ask()")
            browser.until("!document.querySelector('[data-stop]')")
            requests = (event["params"]["request"] for event in browser.events if "request" in event.get("params", {}))
            assert sum(request["url"].endswith("/stop") for request in requests) == 1
    finally:
        training.kill()
        training.communicate()


def test_videos_play_in_step_and_a_group_has_its_mean(browser: Browser, tasks: Path) -> None:
    pictures = "[...document.querySelectorAll('.instep canvas')].map(film => Number(film.dataset.picture))"
    with served(tasks, browser) as server:
        browser.go(server.address + "#view=table")
        browser.until("document.querySelectorAll('.overview tbody tr').length === 4")
        tick(browser, "one", "two")
        browser.value("[...document.querySelectorAll('#ticked a')].find(link => link.href.includes('films')).click()")
        browser.until("document.querySelectorAll('.instep img').length === 2")
        browser.value("document.querySelector('[data-play=start]').click()")
        browser.until(f"{pictures}.length === 2")
        place = "const at = document.querySelector('[data-play=place]'); at.value = VALUE; " \
            "at.dispatchEvent(new Event('input', {bubbles: true}))"  # fmt: skip
        for value, expected in ((0.0, [0, 0]), (0.5, [3, 3]), (0.99, [5, 4])):  # of 6 and 5 pictures, 100 ms each
            browser.value(f"{{ {place.replace('VALUE', str(value))} }}")
            browser.until(f"{pictures}.sort().reverse().join() === '{','.join(map(str, expected))}'")
        browser.value("document.querySelector('[data-play=play]').click()")
        browser.until("document.querySelector('[data-play=play]').innerText === 'Pause all'")
        browser.until(f"{pictures}.join() !== '5,4' && {pictures}.join() !== '4,5'")
        browser.value("location.hash = `group=${[...page.data.groups.values()][0].id}`")
        browser.until("document.querySelector('#shown .chart path.band')")
        assert browser.text("#shown h2") == "Seeds"
        assert "Thick: the mean" in browser.text("#shown")
        browser.look(400)
        assert not browser.value("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        browser.value("location.hash = 'view=table'")
        browser.until("document.querySelector('.overview')")
        assert not browser.value("document.documentElement.scrollWidth > document.documentElement.clientWidth")
