"""The page of a comparison, and what docs/compare.md says."""

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from config.foreign.experiments import load_all
from framework.catalog import ALGOS, ENVS
from framework.jobs import job
from framework.pages.charts import COLORS
from main import main
from tests.tools.charts import charts, kinds, lines, scripts
from tests.tools.compare import make_group, make_run
from tests.tools.tuning import forking

__all__ = ["forking"]
DOC = (Path(__file__).parents[3] / "docs" / "compare.md").read_text(encoding="utf-8")
START = DOC.partition("\n## ")[0]
"""The example at the beginning of the page."""
TASKS = Path("tasks")
VOID = {"meta", "wbr", "img"}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class Tags(HTMLParser):
    """Counts the elements of a page, and refuses one that is not closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: Counter[str] = Counter()
        self.classes: Counter[str] = Counter()
        self.text: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found[tag] += 1
        self.classes.update((dict(attrs).get("class") or "").split())
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def page(*words: str) -> str:
    assert main(["compare", *words, "--into", "out"]) == 0
    return Path("out/compare.html").read_text(encoding="utf-8")


def test_the_page_loads_nothing_and_shows_a_band_a_mean_and_the_runs_of_each_series() -> None:
    make_group(TASKS / "a", [1, 2, 3])
    make_group(TASKS / "b", [4, 5], algo="PPO")
    html = page("a", "b")
    tags = Tags(html)
    assert len([line for line in lines(html) if "low" in line]) == 1, "two seeds have no interval"
    assert (kinds(html).count("first"), kinds(html).count("pale")) == (2, 5)
    assert [[name for name, _ in chart["levels"]] for chart in charts(html)] == [["threshold"]]
    assert tags.found["link"] == tags.found["img"] == 0
    [script] = scripts(html)
    html = html.replace(script, "")
    assert "default-src 'none'" in html
    assert "http" not in re.sub(r'http-equiv="[^"]*"', "", html)
    said = " ".join(" ".join(tags.text).split())
    for words in (
        "DQN and PPO on CartPole-v1", "Learning curves", "Probability of improvement over DQN", "too few seeds",
        "Settings that differ", "general_cfg.algo_name".replace(".", ". ").replace("_", "_ "), "tasks/b/seed_2",
        "Fewer than 5 seeds (DQN 3, PPO 2)",
    ):  # fmt: skip
        assert words in said, words


def test_a_single_run_is_a_thick_line_and_more_series_than_colours_are_dashed() -> None:
    for number in range(COLORS + 1):
        make_run(TASKS / f"r{number}", learning={"lr": 0.1 + number})
    html = page("*")
    assert kinds(html) == ["first"] * (COLORS + 1)
    assert [line["color"] for line in lines(html)] == list(range(COLORS + 1)), "that of the last one is dashed"
    assert not any("low" in line for line in lines(html))


def test_every_name_is_shown_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "</p><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m"
    make_run(TASKS / "<script>a", env=evil, learning={"lr": "<script>2"}, general={evil: evil})
    make_run(
        TASKS / "b", env=evil, algo="<script>PPO", command_line=["</pre><script>"], git_commit="<script>", seed=evil
    )
    html = page("*")
    assert len(scripts(html)) == 1
    assert html.count("<script") == 2, "ours, and the numbers"
    assert "<img" not in html
    assert "\x1b[31m" not in capsys.readouterr().out
    Tags(html)


def test_the_commands_are_those_of_the_groups_and_of_single_runs_each_once() -> None:
    group = make_group(TASKS / "a", [1, 2, 3])
    (group / "group.json").write_text('{"command_line": ["--seeds", "1..3"]}')
    make_run(TASKS / "b", algo="PPO", command_line=["--algo", "a b"])
    commands = "python main.py --seeds 1..3\npython main.py --algo &#x27;a b&#x27;"
    assert f"<pre class=command>{commands}</pre>" in page("a", "b")


def test_the_mean_of_runs_with_one_evaluation_is_a_point() -> None:
    """As where only the end is evaluated; the figure had the runs alone, in the color of their series."""
    for seed, score in enumerate((1.0, 2.0, 9.0), start=1):
        make_run(TASKS / f"a{seed}", [(200, score)], seed=seed)
    make_run(TASKS / "b", [(200, 5)], algo="PPO")
    middle, *_ = lines(page("*"))
    assert (middle["kind"], middle["y"]) == ("first", [3.0])


def test_curves_without_common_steps_are_those_of_the_runs() -> None:
    make_run(TASKS / "a1", [(100, 1), (200, 2)], seed=1)
    make_run(TASKS / "a2", [(300, 1), (400, 2)], seed=2)
    make_run(TASKS / "b", [(0, 1)], algo="PPO")
    html = page("*", "--threshold", "99")
    assert sorted(kinds(html)) == ["", "", "first"]
    assert "levels" not in charts(html)[0]


@pytest.mark.usefixtures("forking")
def test_the_example_of_the_page_prints_what_the_page_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(job, "POLL_SECONDS", 0.01)
    files = dict(re.findall(r"```yaml\n# (\S+)\n(.*?)```", DOC, re.DOTALL))
    for name, settings in files.items():
        Path(name).write_text(settings)
    variants = load_all("ablation.yaml", find_algo=ALGOS, find_env=ENVS)
    assert list(variants) == ["DQN", "double", "three steps", "PPO"]
    assert [config.algorithms for config in variants.values()] == ["DQN", "DQN", "DQN", "PPO"]
    *trained, compared = [line.split()[2:] for line in re.findall(r"^python main\.py .*$", START, re.MULTILINE)]
    for words in trained:
        assert main([*words, "general_cfg.save_fig=false"]) == 0
    capsys.readouterr()
    assert main(compared) == 0
    [promised] = re.findall(r"```text\n(.*?)```", DOC, re.DOTALL)
    assert without_times(promised) in without_times(capsys.readouterr().out)
    [folder] = TASKS.glob("Compare_*")
    names = set(re.findall(r"^    (\w+\.\w+)", DOC, re.MULTILINE))
    assert {path.name for path in folder.iterdir()} == {*names, "learning_curves.png"}
    [example] = re.findall(r"```python\n(.*?)```", DOC, re.DOTALL)
    names: dict[str, Any] = {}
    exec(example, names)
    assert "DynaQ 1.0 5 probably better" in capsys.readouterr().out
    assert set(names) >= {"joystick", "row"}


def without_times(text: str) -> str:
    return re.sub(r"\d+:\d\d", "0:00", text)


def test_the_verdicts_of_the_page_are_those_of_the_code() -> None:
    from framework.archive.measure import BUDGETS, NOISE, Score, verdict

    [table] = re.findall(r"\| verdict \|.*?\n\n", DOC, re.DOTALL)
    named = {word.strip() for row in re.findall(r"^\| (.*?) \|", table, re.MULTILINE)[1:] for word in row.split(",")}
    scores = [Score(p, (p - 0.1, p + 0.1)) for p in (0.2, 0.5, 0.8)]
    finals = [Score(0.0, None), Score(0.0, (0, 1)), Score(0.0, (2, 3))]
    said = {verdict(better, final, Score(0.0, (0, 1)), 9) for better in scores for final in finals}
    assert {*said, BUDGETS} == named
    assert NOISE in said


def test_a_run_with_one_evaluation_has_a_point() -> None:
    for name, algo in (("a", "DQN"), ("b", "PPO")):
        make_run(TASKS / name, [(100, 1.0)], algo=algo)
    assert main(["compare", "a", "b", "--into", "out"]) == 0
    page = Path("out/compare.html").read_text()
    assert [line["y"] for line in lines(page)] == [[1], [1]]
