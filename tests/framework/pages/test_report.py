"""report.html of runs and tests."""

import json
import re
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

from config.config import GeneralConfig
from framework.archive.run import RecordedRun
from framework.disk.csv_log import CsvLog
from framework.pages import figures, html_page, html_report, svg

EVIL = "<script>alert(1)</script>\"'&"


@cache
def picture() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.png"
        figures.learning_curve([], [], path, title="x")
        return path.read_bytes()


def task_dir(path: Path, **changes: Any) -> Path:
    """A task directory as a run leaves it."""
    config = {
        "general_cfg": GeneralConfig(max_episode=77).model_dump(mode="json"),
        "algo_cfg": {"lr": 0.5, "batch_size": 64},
        "env_cfg": {"id": "CartPole-v1", "render_mode": None},
    }
    for folder in ("results", "models/500", "models/1000", "models/best", "videos"):
        (path / folder).mkdir(parents=True)
    (path / "config.yaml").write_text(yaml.safe_dump(changes.get("config", config)))
    (path / "run.json").write_text(changes.get("run", '{"seed": 7, "command_line": ["--yaml", "a b.yaml"]}'))
    log = CsvLog(path / "results" / "eval.csv", ["update", "step", "mean", "std", "episodes", "best"])
    log.append({"update": 500, "step": 510, "mean": 12.5, "std": 1.5, "episodes": 10, "best": True})
    log.append({"update": 1000, "step": 1010, "mean": 11.0, "std": 2.0, "episodes": 10, "best": False})
    log.close()
    (path / "results" / "learning_curve.png").write_bytes(picture())
    return path


def test_a_number_of_a_stranger_that_no_float_holds_costs_no_report(tmp_path: Path) -> None:
    run = task_dir(tmp_path / "x", run=json.dumps({"step": 10**400, "seconds": 5.0}))
    assert facts(html_report.content(RecordedRun(run)).decode())["duration"] == "0:05"


def cells(page: str, first: str) -> list[str]:
    """Text of the cells of the table row that begins with this cell."""
    rows = re.findall(r"<tr>(.*?)</tr>", page.replace("<wbr>", ""))
    found = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]
    return next(row for row in found if row[:1] == [first])


def facts(page: str) -> dict[str, str]:
    """The cards: label -> value."""
    return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))


def test_the_report_tells_what_was_run_and_how_it_came_out(tmp_path: Path) -> None:
    page = html_report.write(task_dir(tmp_path / "Train_X")).read_text(encoding="utf-8")
    assert "<h1>DQN on CartPole-v1</h1>" in page
    assert facts(page) == {"score": "11 ± 2", "best model": "12.5", "seed": "7"}
    assert cells(page, "general_cfg.max_episode") == ["general_cfg.max_episode", "77", "100"]
    assert cells(page, "algo_cfg.lr") == ["algo_cfg.lr", "0.5", "0.0005"]
    assert "algo_cfg" + ".<wbr>batch" not in page
    assert "python main.py --yaml &#x27;a b.yaml&#x27;" in page
    assert "data:image/png;base64," in page


def test_a_report_begins_with_links_to_its_sections_and_the_curves_follow_what_is_used(tmp_path: Path) -> None:
    """An evaluation, the commands and the checkpoints stand before the curves of every number."""
    page = html_report.write(task_dir(tmp_path / "x")).read_text(encoding="utf-8")
    links = re.findall(r"<a href=#(.*?)>(.*?)</a>", page[: page.index("<h2>")])
    sections = re.findall(r"<section id=(.*?)><h2>(.*?)</h2>", page)
    assert links == sections
    names = [name for _, name in sections]
    assert names[:4] == ["Learning curve", "Commands", "Evaluations", "Checkpoints"]
    assert names[4:] == ["Charts", "Settings", "System", "Exactness"][: len(names) - 4]


@pytest.mark.parametrize(("finished", "shown"), [(False, 2), (True, 1)])
def test_an_interrupted_run_has_its_command_where_its_end_is_told(tmp_path: Path, finished: bool, shown: int) -> None:
    folder = task_dir(tmp_path / "x", run=json.dumps({"outcome": "interrupted", "finished": finished}))
    page = html_report.write(folder).read_text(encoding="utf-8")
    command = f"<pre class=command>python main.py resume {folder}</pre>"
    assert page.count(command) == shown
    assert page.startswith(command, page.index("Ended: interrupted</p>") + len("Ended: interrupted</p>")) != finished
    assert ("Train it further, with a higher limit behind the command" in page) == finished
    assert ("Resume training" in page) != finished


def test_a_run_without_a_checkpoint_has_no_command_that_resumes_it(tmp_path: Path) -> None:
    folder = task_dir(tmp_path / "x", run=json.dumps({"outcome": "interrupted", "finished": False}))
    shutil.rmtree(folder / "models")
    (folder / "models").mkdir()
    page = html_report.write(folder).read_text(encoding="utf-8")
    assert "main.py resume" not in page
    assert "Repeat the run from its beginning" in page


def test_the_report_of_a_finished_run_says_what_trains_as_much_again(tmp_path: Path) -> None:
    folder = task_dir(tmp_path / "x", run=json.dumps({"finished": True, "episode": 80, "step": 900}))
    page = html_report.write(folder).read_text(encoding="utf-8")
    assert f"<pre class=command>python main.py resume {folder} general_cfg.max_episode=157</pre>" in page
    assert "Train as much again" in page


def test_what_a_run_chose_on_its_machine_is_no_difference_from_the_defaults(tmp_path: Path) -> None:
    general = GeneralConfig(compile="off", kernels={"tanh": 8192}, max_episode=77).model_dump(mode="json")
    table = html_report.settings_table({"general_cfg": general}).replace("<wbr>", "")
    assert "general_cfg.max_episode" in table
    assert "general_cfg.compile" not in table
    assert "general_cfg.kernels" not in table


def test_pages_have_chinese_fonts_where_the_usual_one_has_none() -> None:
    """In a text, in a command, and in a figure."""
    page = html_page.page("x", "", style=svg.STYLE)
    assert '--font: system-ui, "Noto Sans CJK SC", "Microsoft YaHei", "PingFang SC", sans-serif;' in page
    assert len(re.findall(r"font: [^;]*var\(--font\)", page)) == 3


def test_a_long_score_has_a_wide_card(tmp_path: Path) -> None:
    cards = html_page.cards([("score", "182.2 ± 36.39"), ("steps", 8192), ("commands", "about 300 of them")])
    assert re.findall("<div(.*?)>", cards) == [' class="first wide"', "", ' class="wide"']


def test_many_evaluations_are_folded_up_to_the_newest(tmp_path: Path) -> None:
    folder = task_dir(tmp_path / "x")
    log = CsvLog(folder / "results" / "eval.csv", ["update", "step", "mean", "std", "episodes", "best"])
    for n in range(2, 25):
        log.append({"update": 1000 * n, "step": n, "mean": n, "std": 0, "episodes": 10, "best": True})
    log.close()
    page = html_report.write(folder).read_text(encoding="utf-8")
    earlier, newest = page.split("<summary>15 earlier ones</summary>")[1].split("</details>", 1)
    assert (earlier.count("<tr><td"), newest.split("</section>")[0].count("<tr><td")) == (15, 10)


def test_a_run_of_a_group_names_it_and_leads_to_its_page(tmp_path: Path) -> None:
    group = tmp_path / "Seeds <b> 1"
    folder = task_dir(group / "seed_1")
    assert "One of the runs" not in html_report.write(folder).read_text()
    (group / "group.json").write_text("{}")
    assert "<p class=quiet>One of the runs of Seeds &lt;b&gt; 1</p>" in html_report.write(folder).read_text()
    (group / "report.html").write_text("")
    assert '<a href="../report.html">Seeds &lt;b&gt; 1</a>' in html_report.write(folder).read_text()


def test_a_test_leads_to_the_report_of_the_run_that_it_tested(tmp_path: Path) -> None:
    config = {"general_cfg": GeneralConfig(mode="test").model_dump(mode="json")}
    run = {"checkpoint": str(tmp_path / "a b" / "models" / "best")}
    folder = task_dir(tmp_path / "t", config=config, run=json.dumps(run))
    assert "<a href=" not in html_report.write(folder).read_text(), "a page that is not there"
    html_report.write(task_dir(tmp_path / "a b"))
    page = html_report.write(folder).read_text()
    assert cells(page, "report of its training")[1] == '<a href="../a%20b/report.html">a b</a>'
    for checkpoint in ("\0", "x" * 9999, "javascript:alert(1)/models/best", 7):
        (folder / "run.json").write_text(json.dumps({"checkpoint": checkpoint}))
        assert "<a href=" not in html_report.write(folder).read_text()


def test_a_run_lists_the_tests_beside_it_and_no_others(tmp_path: Path) -> None:
    """One of another run, and one whose checkpoint is no path, are not its own."""
    trained, score = task_dir(tmp_path / "a b"), {"mean": 9.5, "std": 0.5}
    for name, checkpoint in (("1", trained / "models" / "best"), ("2", tmp_path / "c" / "models" / "5"), ("3", "\0")):
        config = {"general_cfg": GeneralConfig(mode="test").model_dump(mode="json")}
        facts = {"checkpoint": str(checkpoint), "score": score, "started": "T"}
        html_report.write(task_dir(tmp_path / f"Test_<{name}>", config=config, run=json.dumps(facts)))
    page = html_report.write(trained).read_text(encoding="utf-8")
    assert re.findall('href="(.*?)"', page) == ["../Test_%3C1%3E/report.html"]
    link = '<a href="../Test_%3C1%3E/report.html">Test_&lt;1&gt;</a>'
    assert cells(page, link)[1:] == ["T", "9.5 ± 0.5", "models/best"]


def test_each_evaluation_and_its_checkpoint_are_named_once(tmp_path: Path) -> None:
    """Each passing best has best = 1 in eval.csv; models/best is the last of them."""
    folder = task_dir(tmp_path / "x")
    log = CsvLog(folder / "results" / "eval.csv", ["update", "step", "mean", "std", "episodes", "best"])
    log.append({"update": 1500, "step": 1510, "mean": 20, "std": 0, "episodes": 10, "best": True})
    log.close()
    page = html_report.write(folder).read_text(encoding="utf-8")
    assert [cells(page, update)[-1] for update in ("500", "1,000", "1,500")] == ["models/500", "models/1000", "best"]
    assert cells(page, "models/best") == ["models/best", "update 1,500: 20 ± 0 over 10 episodes"]
    assert cells(page, "models/1000") == ["models/1000", "newest: 11 ± 2 over 10 episodes"]
    assert "2 numbered checkpoints: 500, 1000" in page


def test_the_report_shows_speed_metrics_processes_and_warnings(tmp_path: Path) -> None:
    run = {"step": 3000, "seconds": 60.0, "random_return": 11.0, "processes_said": "workers 83% busy: more help",
           "cpu": "Some CPU", "gpu": "Some GPU"}  # fmt: skip
    folder = task_dir(tmp_path / "x", run=json.dumps(run))
    log = CsvLog(folder / "results" / "train.csv", ["episode", "step", "return", "loss"])
    for n, loss in enumerate((None, 3.0, 9.0, 2.0)):
        log.append({"episode": n + 1, "step": n, "return": 1.0, "loss": loss})
    log.close()
    (folder / "logs").mkdir()
    (folder / "logs" / "log.txt").write_text(
        "2026-01-01 10:00:00,123 WARNING the disk is <full>\nno date WARNING\n2026-01-01 10:00:00,123 INFO fine\n" * 2
    )
    page = html_report.write(folder).read_text(encoding="utf-8")
    assert (facts(page)["duration"], facts(page)["steps per second"]) == ("1:00", "50")
    assert cells(page, "loss") == ["loss", "3", "2", "2", "9"]
    assert "workers 83% busy: more help" in page
    assert page.count("the disk is &lt;full&gt;") == 1
    assert ">fine<" not in page
    assert "The score is not above that of the random policy. What to do: docs/" in page
    assert (cells(page, "CPU")[1], cells(page, "GPU")[1]) == ("Some CPU", "Some GPU")


def test_a_seed_is_shown_once_and_can_be_pasted(tmp_path: Path) -> None:
    """Drawn or written: it is no setting that differs, and has no separators."""
    config = {"general_cfg": {**GeneralConfig(seed=1178156718).model_dump(mode="json")}}
    page = html_report.write(task_dir(tmp_path / "x", config=config, run='{"seed": 1178156718}')).read_text()
    assert page.count("1178156718") == 1
    assert "1,178" not in page


def test_the_report_of_a_test_names_the_checkpoint_and_the_comparison(tmp_path: Path) -> None:
    general = GeneralConfig(mode="test", load_checkpoint=True, load_path="a", seed=5).model_dump(mode="json")
    run = {"checkpoint": "tasks/a/models/best", "checkpoint_facts": {"update": 3000, "step": 1, "episode": 60},
           "score": {"mean": 9.5, "std": 0.5, "min": 9, "max": 10, "median": 9.5, "episodes": 2},
           "compared": "the same", "seed": 5}  # fmt: skip
    folder = task_dir(
        tmp_path / "t", config={"general_cfg": general, "env_cfg": {"id": "CartPole-v1"}}, run=json.dumps(run)
    )
    log = CsvLog(folder / "results" / "test.csv", ["episode", "return", "length", "terminated", "seed"])
    for n in (1, 2):
        log.append({"episode": n, "return": 8.5 + n / 2, "length": 20, "terminated": True, "seed": 1178156718 + n})
    log.close()
    page = html_report.write(folder).read_text(encoding="utf-8")
    assert "<h1>Test of DQN on CartPole-v1</h1>" in page
    assert facts(page)["score"] == "9.5 ± 0.5"
    assert cells(page, "tested")[1] == "tasks/a/models/best"
    assert cells(page, "trained for")[1] == "3,000 updates, 1 step, 60 episodes"
    assert cells(page, "compared with the online evaluation")[1] == "the same"
    assert cells(page, "1") == ["1", "9", "20", "1", "1178156719"]
    headings = re.findall("<h2>(.*?)</h2>", page)
    assert headings == ["Checkpoint", "Episodes", "Settings"], "nothing of a training"
    assert "None differs from the defaults." in page, "no setting that is shown elsewhere"


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"exact": True}, "at T: exact to the byte, as if the run had never stopped."),
        (
            {"exact": False, "inexact_because": ["lr changed", "other threads"]},
            "at T: not exact: lr changed; other threads.",
        ),
        ({"exact": None, "inexact_because": ["no versions"]}, "at T: unknown whether it is exact: no versions."),
        ({"inexact_because": "lr changed"}, "at T: not exact: lr changed."),
        ({}, "at T."),
    ],
)
def test_a_resume_is_called_exact_only_if_it_was_found_to_be(
    tmp_path: Path, facts: dict[str, Any], sentence: str
) -> None:
    run = {"resumes": [{"from": "500", "started": "T", **facts}]}
    page = html_report.write(task_dir(tmp_path / "x", run=json.dumps(run))).read_text(encoding="utf-8")
    assert f"<p>Resumed from checkpoint 500 {sentence}</p>" in page


def test_a_branch_says_how_exact_it_is(tmp_path: Path) -> None:
    run = {"branched_from": "tasks/a/models/5", "exact": False, "inexact_because": ["lr changed"]}
    page = html_report.write(task_dir(tmp_path / "x", run=json.dumps(run))).read_text(encoding="utf-8")
    assert "<p>Started from tasks/a/models/5: not exact: lr changed.</p>" in page


def test_a_dark_page_has_a_dark_curve(tmp_path: Path) -> None:
    """It is the one of the file, inverted: what is white there shows the page."""
    folder = task_dir(tmp_path / "x")
    page = html_report.write(folder).read_text(encoding="utf-8")
    assert "{ img.drawn { filter: invert(1) hue-rotate(180deg);\n  mix-blend-mode: screen;" in page
    assert len(re.findall('<img class="drawn"', page)) == 1
    assert Image.open(folder / "results" / "learning_curve.png").convert("RGBA").getpixel((3, 3)) == (255,) * 4


def test_numbers_do_not_break_and_names_do() -> None:
    """Cells of numbers do not wrap, in any width; a long name wraps after its dots and underscores."""
    table = html_page.table(("a", "b", "c"), [[1234, html_page.Number("9 ± 1"), html_page.Name("a.b_c")]])
    assert "<td class=n>1,234</td><td class=n>9 ± 1</td><td>a.<wbr>b_<wbr>c</td>" in table
    assert "<th class=n>a</th><th class=n>b</th><th>c</th>" in table
    assert ".n { text-align: right; white-space: nowrap; }" in html_page.page("x", "")


def test_the_report_shows_every_text_as_text_and_loads_nothing(tmp_path: Path) -> None:
    """SEC-5: no script but ours, no address, no reference to another file, whatever the run is called."""
    config = {
        "general_cfg": {"algo_name": EVIL, "mode": "train", EVIL: EVIL},
        "algo_cfg": {EVIL: [EVIL]},
        "env_cfg": {"id": EVIL},
    }
    run = {"started": EVIL, "seed": EVIL, "outcome": EVIL, "command_line": [EVIL], "versions": {EVIL: EVIL},
           "preset": EVIL, "resumes": [{"from": EVIL, "inexact_because": EVIL}],
           "random_return": EVIL, "processes_said": EVIL, "cpu": EVIL, "altered_files": [EVIL]}  # fmt: skip
    folder = task_dir(tmp_path / EVIL.replace("/", "-"), config=config, run=json.dumps(run))
    page = html_report.write(folder).read_text(encoding="utf-8")
    assert 'src="data:image/png' in page
    assert all(source.startswith("data:") for source in re.findall(r'(?:src|srcset|href)="([^"]*)', page))
    page = re.sub(r"data:image/png;base64,[^\"]*", "", page)
    data, script = re.findall(r"<script([^>]*)>(.*?)</script>", page, re.DOTALL)
    assert data[0] == ' type="application/json" id="numbers"'
    assert "<" not in data[1]
    ours = html_page.scripts(page)
    assert script == ("", ours)
    page = page.replace(ours, "")
    assert ours.count("http") == ours.count('"http://www.w3.org/2000/svg"')
    assert not re.search(r"fetch|import\b|XMLHttp|innerHTML|eval\(", ours)
    assert "default-src 'none'" in page
    assert not re.search(r"https?:|//[a-z]|url\(|@import|<link|<iframe|<object|javascript:", page)
    assert not re.search(r"<[a-z]+[^>]* on\w+=", page)


def test_the_report_of_an_empty_or_damaged_directory_is_a_page_too(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("a: [b")
    (tmp_path / "run.json").write_text("[1")
    assert "</html>" in html_report.write(tmp_path).read_text()


def test_the_report_does_not_import_what_a_config_names(tmp_path: Path) -> None:
    """SEC-3: a dotted name in a directory that came from elsewhere is shown, not looked up."""
    config = {"general_cfg": {"algo_name": "antigravity.evil", "env_name": "os.path"}, "algo_cfg": {"lr": 1}}
    page = html_report.write(task_dir(tmp_path / "x", config=config)).read_text()
    assert "antigravity" not in sys.modules
    assert cells(page, "algo_cfg.lr") == ["algo_cfg.lr", "1", ""]
