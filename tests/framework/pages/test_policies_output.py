"""What a run with several policies writes and shows: figure, report, console, TensorBoard and results."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import joystick
from config.config import GeneralConfig
from framework.archive.curves import STEPS, running_mean
from framework.archive.run import RecordedRun
from framework.dataset.trajectories import read
from framework.disk.csv_table import read_csv
from framework.disk.task_dir import TaskDir
from framework.jobs.job import progress
from framework.live.answers import Answers
from framework.loop.iteration import EpisodeRows
from framework.pages import figures
from framework.screen.formatting import short
from main import main
from tests.framework.record.test_agent_records import DQN, PPO, words

TWO = {"car": ["agents=car_*", *PPO], "light": ["agents=light_*", *DQN]}


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    more = ["general_cfg.save_fig=true", "general_cfg.iteration_steps=200", "general_cfg.score_policy=light"]
    assert main([*words("traffic", TWO, 500, *more), "--into", str(folder)]) == 0
    return folder


def test_the_results_have_the_returns_of_the_policies(task: Path) -> None:
    rows, train = read_csv(task / "results/progress.csv"), read_csv(task / "results/train.csv")
    results = [json.loads(line) for line in (task / "results/result.json").read_text().splitlines()]
    assert len(rows) == len(results) == 3
    first = [row for row in train if row["step"] <= rows[0]["step"]]
    for policy in TWO:
        known = [row[f"return_{policy}"] for row in first]
        expected = {"return_mean": sum(known) / len(known), "return_min": min(known), "return_max": max(known)}
        assert results[0]["policies"][policy] == pytest.approx(expected)
        assert [row[f"return_{policy}_max"] for row in rows] == [
            result["policies"][policy]["return_max"] for result in results
        ]
    assert results[0]["custom"] == {}
    text = joystick.pretty(results[-1])
    assert re.search(r"^car +return [\d.]+, loss .*, lr ", text, re.MULTILINE)
    assert "metrics " not in text


def test_a_test_is_compared_over_the_episodes_that_the_policy_of_the_score_plays_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rivals = {"one": ["agents=*", *PPO], "other": ["agents=*", *PPO]}
    more = [
        "general_cfg.score_policy=one",
        "general_cfg.online_eval=true",
        "general_cfg.online_eval_episode=8",
        "general_cfg.seed=2",
    ]
    assert main([*words("poles", rivals, 300, *more), "--into", "run"]) == 0
    assert main(["test", "./run", "--into", "test"]) == 0
    played = [not math.isnan(row["return_one"]) for row in read_csv(Path("test/results/test.csv"))]
    assert len(played) == 8
    assert not all(played[: sum(played)]), "an episode without the policy comes before the last one with it"
    compared = json.loads(Path("test/run.json").read_text())["compared"]
    assert re.fullmatch(rf"first {sum(played)} episodes: .* gave [\d.]+, the same", compared)


def test_a_line_of_the_console_shows_two_numbers_for_each_policy(task: Path) -> None:
    log = (task / "logs/log.txt").read_text()
    last = [line for line in log.splitlines() if " episode " in line][-1]
    shown = last.partition("length ")[2].split(", ")[1:]
    assert [text.split(" ")[0] for text in shown] == ["return_car", "car/loss", "return_light", "light/loss"]
    assert re.search(r"evaluation: .* of light at update \d+ \(return_car [\d.]+, return_light [\d.]+\)", log)


def test_many_policies_do_not_make_a_line_endless() -> None:
    class Many:
        METRICS = tuple(f"p{n}/{name}" for n in range(30) for name in ("loss", "entropy"))

        def metric_names(self) -> tuple[str, ...]:
            return self.METRICS

        def exploration(self, progress: object) -> dict[str, float]:
            return {}

    names = [f"p{n}" for n in range(30)]
    shown = EpisodeRows(Many(), [f"return_{name}" for name in names], policies=names).shown  # type: ignore[arg-type]
    assert shown == tuple(name for n in range(4) for name in (f"return_p{n}", f"p{n}/loss"))


def test_the_figure_has_a_panel_for_the_policies_and_shows_the_one_that_is_scored(
    task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Image.open(task / "results/learning_curve.png") as picture:
        assert picture.size == (1200, 1140)
    drawn = []
    monkeypatch.setattr(figures, "_save", lambda figure, *rest: drawn.append(figure))
    rows = [{"step": n, "return": 9.0, "return_a": float(n), "return_b": -1.0} for n in range(10)]
    for score, label, upper in (("a", "return of a", list(range(10))), (None, "return of all agents", [9] * 10)):
        figures.learning_curve(rows, [], tmp_path / "x.png", title="x", policies=["a", "b"], score=score)
        above, below = drawn.pop().axes
        assert above.get_ylabel() == label
        assert above.lines[0].get_ydata().tolist() == upper
        found = {line.get_label(): line.get_ydata().tolist() for line in below.lines if line.get_label()[0] != "_"}
        assert found.keys() == {"a", "b", *(["sum of all agents"] if score else [])}
        assert found["b"] == [-1] * 10


def test_the_report_has_a_table_of_the_policies_and_metrics_for_each(task: Path) -> None:
    page = (task / "report.html").read_text()
    cells = re.search(r"<tr><td>light \(its return is the score\)</td>(.*?)</tr>", page)
    assert cells
    assert "<td>DQN</td><td>light_0, light_1</td>" in cells[1]
    assert "<h3>car</h3>" in page
    metrics = page.partition("<h3>light</h3>")[2].partition("</table>")[0]
    assert [re.sub("<.*?>", "", name) for name in re.findall(r"<tr><td>(.*?)</td>", metrics)][:2] == ["loss", "q_mean"]
    assert "<td>return</td>" in metrics


def test_the_policy_of_the_score_counts_wherever_training_is_shown(task: Path) -> None:
    """In comparisons, groups and the page of watch, also while the run trains and run.json does not name it yet."""
    run, rows = RecordedRun(task), read_csv(task / "results/train.csv")
    assert run.return_column == "return_light"
    returns = [[row[name] for row in rows] for name in ("step", "return_light")]
    assert (run.training_curve(STEPS)[1] == running_mean(*np.array(returns)).value).all()
    assert f"return {short(rows[-1]['return_light'])}" in progress(TaskDir(task), GeneralConfig())[1]
    answers = Answers(task.parent)
    [row] = answers.now([], "return")["runs"]
    details = answers.now([row["id"]], "return")["shown"][row["id"]]
    assert details["titles"]["return"] == "return of light"
    assert details["line"] == answers.now([row["id"]], "return_light")["shown"][row["id"]]["line"]
    assert details["line"] != answers.now([row["id"]], "return_car")["shown"][row["id"]]["line"]
    assert details["evaluations"]
    assert not answers.now([row["id"]], "return_car")["shown"][row["id"]]["evaluations"]


def test_a_return_to_stop_at_is_that_of_the_policy_of_the_score(task: Path, tmp_path: Path) -> None:
    first = json.loads((task / "results/result.json").read_text().splitlines()[0])
    total, light = first["return_mean"], first["policies"]["light"]["return_mean"]
    assert abs(total - light) > 1
    between = f"general_cfg.stop_return={(total + light) / 2}"
    more = ["general_cfg.iteration_steps=200", "general_cfg.score_policy=light", between]
    assert main([*words("traffic", TWO, 200, *more), "--into", str(tmp_path / "run")]) == 0
    outcome = json.loads((tmp_path / "run/run.json").read_text())["outcome"]
    assert outcome.startswith("stop_return" if light > total else "max_total_step")


def test_tensorboard_groups_curves_by_policy(task: Path) -> None:
    for group, curves in (
        ("interact", ("train_car/ep_return", "train_light/online_eval_return")),
        ("model", ("train_car/loss", "train_light/q_mean")),
    ):
        data = b"".join(path.read_bytes() for path in (task / "tb_logs" / group).iterdir())
        assert all(curve.encode() in data for curve in curves)


def test_a_test_shows_the_policies_and_scores_the_same_one(task: Path, tmp_path: Path, capsys) -> None:
    assert main(["test", str(task), "--episodes", "2", "--into", str(tmp_path / "test")]) == 0
    rows = read_csv(tmp_path / "test/results/test.csv")
    mean = sum(row["return_light"] for row in rows) / 2
    said = capsys.readouterr().out
    assert re.search(rf"^score +{mean:.4g} ", said, re.MULTILINE)
    assert f"return_light {mean:.4g}" in said
    assert ", the same" in said
    assert "return_car</th>" in (tmp_path / "test/report.html").read_text()


def test_sums_that_are_always_0_are_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policies = {"a": ["agents=player_1", *PPO], "b": ["agents=player_2", *PPO]}
    given = [word for word in words("x", policies, 100) if not word.startswith(("env_cfg.id", "general_cfg.env_name"))]
    game = ["general_cfg.env_name=pettingzoo", "env_cfg.id=classic/tictactoe_v3"]
    pytest.importorskip("pettingzoo")
    for number, more in enumerate(([], ["general_cfg.score_policy=b"])):
        assert main([*given, *game, *more, "--into", str(tmp_path / str(number))]) == 0
        said = capsys.readouterr()
        assert ("added up to 0" in said.out + said.err) == (not more)


def test_self_play_is_scored_against_random_agents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A policy that plays itself has no score, and is told what gives it one; with opponents it has one."""
    pytest.importorskip("pettingzoo")
    game = ["general_cfg.env_name=pettingzoo", "env_cfg.id=classic/tictactoe_v3"]
    assert main(["--algo=A2C", *game, "general_cfg.max_total_step=100", "--into", str(tmp_path / "none")]) == 0
    pasted = (
        """general_cfg.score_policy=default 'policies_cfg={default: {agents: "*", evaluate_against: random}}' in a"""
    )
    assert pasted in "".join(capsys.readouterr())
    settings = {
        "itself": ["policies_cfg.a.evaluate_against=itself", "policies_cfg.a.opponents={past: 0.5}"],
        "random": ["policies_cfg.a.opponents={past: 0.5}", "general_cfg.score_policy=a"],
    }
    instead = ("env_cfg.id", "general_cfg.env_name", "general_cfg.online_eval_episode")
    given = [word for word in words("x", {"a": ["agents='*'", *PPO]}, 100) if not word.startswith(instead)]
    for name, more in settings.items():
        assert main([*given, *game, "general_cfg.online_eval_episode=20", *more, "--into", str(tmp_path / name)]) == 0
        said = "".join(capsys.readouterr())
        told = "general_cfg.score_policy=a policies_cfg.a.evaluate_against=random in a new run" in said
        assert told == (name == "itself")
        assert ("added up to 0" in said) == told
    rows = read_csv(tmp_path / "random/results/eval.csv")
    assert "added up to 0" not in said
    assert any(row["min"] < row["max"] for row in rows)
    assert all(row["mean"] == row["return_a"] for row in rows)
    more = ["--episodes", "20", "general_cfg.collect_traj=true", "--into", str(tmp_path / "test")]
    assert main(["test", str(tmp_path / "random"), *more]) == 0
    returns = [row["return_a"] for row in read_csv(tmp_path / "test/results/test.csv")]
    assert {-1, 1} <= {*returns}
    played = read(tmp_path / "test/results/trajs.pkl")  # by the policy, and not by what acts at random
    assert sorted(sum(rewards) for rewards in played["reward"]) == sorted(returns)
