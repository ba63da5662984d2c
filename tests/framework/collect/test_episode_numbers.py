"""The numbers that an environment gives an episode: where they appear, and what is refused."""

import itertools
import re
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import joystick
from framework.disk.csv_table import read_csv
from framework.errors import JoystickError
from framework.pages import figures, panel
from main import main
from tests.tools.paths import in_the_suite


class Lights(gymnasium.Env):
    """Four steps. Success is 1 if action 1 was chosen twice at least; the number of switches is undefined without."""

    metrics = ("success", "switches")
    observation_space = Box(0, 1, (2,))
    action_space = Discrete(2)

    def __init__(self, last: Any = None) -> None:
        self.last = last

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._chosen: list[int] = []
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._chosen.append(int(action))
        over = len(self._chosen) == 4
        info: dict[str, Any] = {}
        if over:
            ones = sum(self._chosen)
            info = {"success": self.last or float(ones >= 2), "switches": np.float32(ones) if ones else None}
        return np.full(2, len(self._chosen) / 4, np.float32), float(action), over, False, info


SETTINGS = ("general_cfg.seed=3", "general_cfg.max_episode=12", "general_cfg.online_eval=true",
            "general_cfg.online_eval_episode=4", "general_cfg.model_save_fre=4", "general_cfg.env_name=python",
            f"env_cfg.id={__name__}:Lights")  # fmt: skip


def command(*words: str) -> int:
    return main(["--allow-import", __name__, "--algo", "REINFORCE", *SETTINGS, *words])


@pytest.mark.parametrize("how", in_the_suite(["sync", "async"], "async"))
def test_the_numbers_of_an_environment_are_columns_of_all_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    monkeypatch.chdir(tmp_path)
    words = (f"env_cfg.vectorization={how}", "env_cfg.n_envs=2")
    assert command("--into", "tasks/a", *words) == 0
    results = Path("tasks/a/results")
    rows = read_csv(results / "train.csv")
    assert len(rows) >= 12
    for row in rows:
        assert row["success"] == (row["return"] >= 2)
        assert row["switches"] == row["return"] or (row["return"] == 0 and np.isnan(row["switches"]))
    (first, *_) = read_csv(results / "eval.csv")
    assert first["switches"] == pytest.approx(first["mean"]) or first["mean"] == 0
    assert {"success", "success_min", "switches_max"} <= read_csv(results / "progress.csv")[0].keys()
    assert (results / "learning_curve.png").is_file()
    assert "(success " in capsys.readouterr().out
    page = Path("tasks/a/report.html").read_text()
    assert re.search(r"<th[^>]*>success</th>", page)
    assert main(["test", "a", "--allow-import", __name__]) == 0
    (tested,) = Path("tasks").glob("Test_*")
    (row, *_) = read_csv(tested / "results" / "test.csv")
    assert row["success"] == (row["return"] >= 2)


def test_a_number_that_is_none_is_an_error_with_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for wrong in ("inf", "text"):
        with pytest.raises(joystick.EnvError, match=r"info\['success'\] is .*; a finite number is needed"):
            train(lambda wrong=wrong: Lights(float("inf") if wrong == "inf" else wrong))


class Truths(Lights):
    """The success of an episode is a truth or a number, in turn."""

    values = itertools.cycle([True, np.True_, np.int64(1)])

    def reset(self, **given: Any) -> tuple[Any, dict[str, Any]]:
        self.last = next(self.values)
        return super().reset(**given)


def test_success_can_be_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    train(Truths)
    (task,) = Path("tasks").iterdir()
    assert [row["success"] for row in read_csv(task / "results" / "train.csv")][:3] == [1.0, 1.0, 1.0]


class Misspelled(Lights):
    metrics = ("success", "swiches", "steps")


def test_a_name_that_info_spells_otherwise_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    train(Misspelled)
    said = "".join(capsys.readouterr()).replace("\n  ", " ")
    assert said.count("declares the metric") == 1
    assert "declares the metric 'swiches', which info does not have at the end of an episode; it has 'switches'" in said


class Duel:
    """One step of two agents; the second one alone says whether it was a draw, and both say who is first."""

    metrics = ("draw", "first")
    possible_agents = ("a", "b")

    def observation_space(self, agent: str) -> Box:
        return Box(0, 1, (1,))

    def action_space(self, agent: str) -> Discrete:
        return Discrete(2)

    def reset(self, seed: Any, options: Any) -> tuple[Any, Any]:
        return {agent: np.zeros(1, np.float32) for agent in "ab"}, {}

    def step(self, actions: Any) -> tuple[Any, ...]:
        obs, reward = self.reset(0, None)[0], {agent: float(actions[agent]) for agent in "ab"}
        infos = {"a": {"first": 1, "draw": None}, "b": {"first": 2, "draw": actions["a"] == actions["b"]}}
        return obs, reward, {"__all__": True}, {}, infos


def test_the_infos_of_several_agents_have_numbers_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    train(Duel)
    (task,) = Path("tasks").iterdir()
    rows = read_csv(task / "results" / "train.csv")
    assert rows
    assert all(row["draw"] == (row["return"] != 1) and row["first"] == 1 for row in rows)


class Text(Lights):
    metrics = "success"  # type: ignore[assignment]


class Listed(Lights):
    metrics = ["success", "switches"]  # type: ignore[assignment]


@pytest.mark.parametrize(("env", "form"), [(Text, "('success',)"), (Listed, "('success', 'switches')")])
def test_names_that_are_no_tuple_are_told_once(
    env: Any, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    train(env)
    told = f"{env.__name__}.metrics is {env.metrics!r} and makes no columns; a tuple does: metrics = {form}"
    assert [record.getMessage() for record in caplog.records].count(told) == 1


def train(env: Any) -> None:
    with joystick.Run("REINFORCE", env, general_cfg={"max_episode": 3, "seed": 1}) as run:
        run.train()


class Loss(Lights):
    metrics = ("loss",)


class Other(Lights):
    metrics = {"success": 1}  # type: ignore[assignment]


def test_a_number_cannot_have_the_name_of_another_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(JoystickError, match="metrics gives a column 'loss', and there is one"):
        train(Loss)
    assert not Path("tasks").exists()
    train(Other)  # an attribute of this name that is no tuple of names is the environment's own business
    (task,) = Path("tasks").iterdir()
    assert "success" not in read_csv(task / "results" / "train.csv")[0]


def test_numbers_beyond_shares_have_an_axis_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(figures, "_save", lambda figure, *rest: drawn.append(figure))
    rows = [{"step": n, "return": 9.0, "success": n / 10, "exchanges": 3.0 + n} for n in range(10)]
    figures.learning_curve(rows, rows[:2], tmp_path / "x.png", title="x", numbers=["success", "exchanges"])
    _, left, right = drawn.pop().axes
    assert left.lines[0].get_ydata() == pytest.approx([n / 10 for n in range(10)])
    assert right.lines[0].get_ydata()[-1] == 12.0
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["success", "exchanges (right)"]
    assert left.get_zorder() > right.get_zorder(), "a count hides no share"
    assert panel.HEIGHT > 7


def test_the_first_number_is_drawn_in_front(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(figures, "_save", lambda figure, *rest: drawn.append(figure))
    rows = [{"step": n, "return": 9.0, "success": 1.0, "recall": 1.0} for n in range(10)]
    figures.learning_curve(rows, rows[:2], tmp_path / "x.png", title="x", numbers=["success", "recall"])
    _, axes = drawn.pop().axes
    *_, front = sorted(axes.lines, key=lambda line: line.get_zorder())
    assert front.get_color() == panel.COLORS[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["success", "recall"]
