"""joystick.tune: a file, a mapping, or a function of the user's own."""

import json
import os
import re
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import joystick
from config.read.loader import ConfigError
from framework.errors import JoystickError
from framework.jobs import job
from framework.jobs.functions import Functions
from framework.jobs.stages import Stage
from tests import own_callbacks, own_parts
from tests.tools.tuning import GENERAL, forking, run, table

__all__ = ["forking"]
pytestmark = pytest.mark.usefixtures("forking")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "POLL_SECONDS", 0.01)


def bowl(config: dict[str, Any], report: Any) -> None:
    """Lowest at 0.3; the first steps say less."""
    for step in range(1, 10):
        Path(f"calls_{config['x']}").touch()
        if not report(step=step, loss=(config["x"] - 0.3) ** 2 + 1 / step):
            Path(f"told_{config['x']}").touch()
            return


NINE = {"x": joystick.uniform(0, 1)}
HALVING: dict[str, Any] = {"samples": 9, "scheduler": "halving", "rungs": 3, "score": "loss", "mode": "min"}


def test_a_function_is_tried_by_halving_and_told_when_to_end() -> None:
    found = joystick.tune(bowl, space=NINE, **HALVING, into="bowl", jobs=2)
    x = [each["settings"]["x"] for each in found.trials]
    assert found.best == found.trials[0]
    assert x[0] == min(x, key=lambda value: abs(value - 0.3))
    assert [each["step"] for each in found.trials] == [9] + [6] * 2 + [3] * 6
    assert found.best["score"] == pytest.approx((x[0] - 0.3) ** 2 + 1 / 9)
    assert len(list(Path().glob("told_*"))) == 8
    lines = [json.loads(line) for line in (found.best["folder"] / "results/result.json").read_text().splitlines()]
    assert [line["step"] for line in lines] == list(range(1, 10))
    joystick.tune(bowl, space=NINE, **HALVING, into="again", jobs=1)
    assert table("again") == table("bowl")
    assert joystick.tune(bowl, resume="bowl").best == found.best, "nothing is called again"
    first = Path("bowl/config.yaml").read_text().splitlines()[0]
    assert first == "# Goes on with this tuning: joystick.tune(bowl, resume='bowl')"


def test_a_tuning_of_a_function_is_continued_by_its_program_alone(capsys: pytest.CaptureFixture[str]) -> None:
    joystick.tune(bowl, space={"x": joystick.grid(0.1)}, score="loss", into="bowl")
    answer = "bowl tries a function, which only a program has; to go on, there: joystick.tune(bowl, resume='bowl')"
    assert run("resume", "bowl") == 2
    assert answer in capsys.readouterr().err
    with pytest.raises(JoystickError, match=re.escape(answer)):
        joystick.tune(resume="bowl")
    with pytest.raises(ConfigError, match="give nothing else"):
        joystick.tune(bowl, resume="bowl", into="elsewhere")
    assert not Path("elsewhere").exists()


def test_a_tuning_of_which_one_call_was_stopped_has_no_result() -> None:
    def stopped(config: dict[str, Any], report: Any) -> None:
        report(step=1, loss=config["x"])
        if config["x"] == 2 and not Path("again").exists():
            os.kill(os.getpid(), signal.SIGTERM)

    space = {"x": joystick.grid(1, 2)}
    answer = "some is saved: joystick.tune(function, resume='some') goes on"
    with pytest.raises(KeyboardInterrupt, match=re.escape(answer)):
        joystick.tune(stopped, space=space, score="loss", into="some")
    Path("again").touch()
    found = joystick.tune(stopped, resume="some")
    assert found.best is not None
    assert found.best["settings"] == {"x": 2}


def test_a_call_that_fails_is_left_out() -> None:
    def fails(config: dict[str, Any], report: Any) -> None:
        if config["x"] == 2:
            raise ValueError("two is too much")
        report(step=1, score=config["x"])

    found = joystick.tune(fails, space={"x": joystick.grid(1, 2, 3)}, score="score", into="some")
    assert found.best is not None
    assert found.best["settings"] == {"x": 3}
    assert [each["state"] for each in found.trials] == ["finished", "finished", "failed"]
    assert [each["reason"] for each in found.trials] == [None, None, "ValueError: two is too much"]
    assert json.loads(Path("some/tune.json").read_text())["failed"]["001"]["reason"] == "ValueError: two is too much"


def test_a_tuning_of_which_all_calls_fail_comes_to_its_end() -> None:
    def fails(config: dict[str, Any], report: Any) -> None:
        raise ValueError("always")

    found = joystick.tune(fails, space=NINE, **HALVING, into="none")
    assert found.best is None
    assert {each["state"] for each in found.trials} == {"failed"}
    assert json.loads(Path("none/tune.json").read_text())["finished"] is True


@pytest.mark.parametrize("more", [{}, {"scheduler": "halving", "rungs": 2, "eta": 2}])
def test_who_ends_with_a_number_that_is_not_finite_has_no_score(
    more: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Also if its earlier numbers were the best of all."""

    def diverges(config: dict[str, Any], report: Any) -> None:
        for step in (1, 2, 3):
            if not report(step=step, loss=config["x"] if step == 1 else 10 * float(config["end"])):
                return

    space = {"x": joystick.grid(1, 2), "end": joystick.grid("1", "nan", "inf", "-inf")}
    found = joystick.tune(diverges, space=space, score="loss", mode="min", into="some", jobs=2, show=True, **more)
    assert found.best is not None
    assert found.best["settings"] == {"x": 1, "end": "1"}
    scores = {each["settings"]["end"]: each["score"] for each in found.trials}
    assert scores == {"1": 10, "nan": None, "inf": None, "-inf": None}
    assert "warning" not in capsys.readouterr().out


def test_who_fails_later_counts_at_earlier_comparisons_also_when_the_tuning_is_repeated() -> None:
    """The best of the first rung fails on its way to the second: nobody takes its place, then or later."""
    order = [each["settings"]["x"] for each in joystick.tune(bowl, space=NINE, **HALVING, into="all", jobs=2).trials]

    def fails(config: dict[str, Any], report: Any) -> None:
        for step in range(1, 10):
            if config["x"] == order[0] and step == 5:
                raise ValueError("too good")
            if not report(step=step, loss=(config["x"] - 0.3) ** 2 + 1 / step):
                return

    found = joystick.tune(fails, space=NINE, **HALVING, into="some", jobs=2)
    assert found.best is not None
    assert found.best["settings"]["x"] == order[1]
    before = table("some")
    assert sorted(row["step"] for row in before) == ["3"] * 7 + ["6", "9"]
    assert joystick.tune(fails, resume="some").best == found.best
    assert table("some") == before


def test_functions_survive_a_killed_tuner() -> None:
    whole = joystick.tune(bowl, space=NINE, **HALVING, into="whole", jobs=2)

    def slow(config: dict[str, Any], report: Any) -> None:
        time.sleep(0.05)
        bowl(config, report)

    pid = os.fork()
    if not pid:
        joystick.tune(slow, space=NINE, **HALVING, into="parts", jobs=2)
        os._exit(0)
    deadline = time.monotonic() + 60
    while len(list(Path("parts/trials").glob("*/run.json"))) < 4:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    found = joystick.tune(slow, resume="parts", jobs=1)
    assert found.best is not None
    assert whole.best is not None
    assert found.best["settings"] == whole.best["settings"]
    assert table("parts") == table("whole")


def ended(runner: Functions) -> list[Any]:
    """Returns the stages that end next."""
    until = time.monotonic() + 20
    while not (found := runner.poll()) and time.monotonic() < until:
        time.sleep(0.01)
    return found


def test_a_call_that_ends_between_two_looks_or_while_it_waits_is_no_error_of_the_tuner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("000.yaml").write_text("{x: 0.5}")
    runner = Functions(bowl, 1)
    runner.start(Stage("000", "000", Path("000.yaml"), Path("000")))
    [child] = runner._children.values()
    assert child.process is not None
    child.process.wait()
    with monkeypatch.context() as patched:
        patched.setattr(child, "ended", lambda: False)  # as if it had ended just afterwards
        assert runner.poll() == []
    assert [each.status for each in ended(runner)] == [0]

    stage = Stage("001", "001", Path("000.yaml"), Path("001"), until=3)
    runner.start(stage)
    assert [each.status for each in ended(runner)] == [0], "it has paused"
    [(_, child)] = runner._waiting.values()
    assert child.process is not None
    child.process.send_signal(signal.SIGKILL)
    child.process.wait()
    runner.start(replace(stage, until=6))
    assert [each.status for each in ended(runner)] == [128 + signal.SIGKILL]


def test_a_mapping_is_tuned_as_a_file_with_the_same_content() -> None:
    general = {"env_name": "toy", "algo_name": "QLearning", "seed": 3, "max_total_step": 60, "save_fig": False}
    found = joystick.tune(
        {"general_cfg": general, "env_cfg": {"id": "shifted"}},
        space={"algo_cfg.lr": joystick.grid(0.1, 0.5)},
        score="return_mean",
        words=["general_cfg.iteration_steps=30", "general_cfg.online_eval_episode=2"],
        into="mapping",
    )
    assert [each["settings"] for each in sorted(found.trials, key=lambda each: each["name"])] == [
        {"algo_cfg.lr": 0.1},
        {"algo_cfg.lr": 0.5},
    ]
    Path("a.yaml").write_text(
        f"general_cfg: {{{GENERAL}, algo_name: QLearning, max_total_step: 60}}\nenv_cfg: {{id: shifted}}\n"
        "algo_cfg: {lr: {grid: [0.1, 0.5]}}\ntune_cfg: {score: return_mean}\n"
    )
    other = joystick.tune("a.yaml", into="file")
    assert [each["score"] for each in other.trials] == [each["score"] for each in found.trials]


def test_a_mapping_may_have_classes_of_a_module() -> None:
    general = {"algo_name": "A2C", "max_total_step": 60, "callbacks": own_callbacks.Angle, "save_fig": False}
    found = joystick.tune(
        {"general_cfg": general | {"iteration_steps": 30}, "env_cfg": {"id": own_parts.Line, "size": 4}},
        space={"algo_cfg.lr": joystick.grid(0.1, 0.5)},
        score="return_mean",
        into="classes",
    )
    assert [each["state"] for each in found.trials] == ["finished"] * 2
    file = Path("classes/config.yaml").read_text()
    assert all(name in file for name in ("'tests.own_callbacks:Angle'", "'tests.own_parts:Line'", "env_name: python"))


def test_a_class_that_no_trial_can_import_is_named() -> None:
    local = type("Local", (own_parts.Line,), {})
    answer = "Local: a trial is a process of its own and cannot import it; name it as module:name, with allow_import"
    with pytest.raises(joystick.ConfigError, match=answer):
        joystick.tune({"env_cfg": {"id": local, "size": 4}}, space={"algo_cfg.lr": joystick.grid(0.1, 0.5)})


def test_a_module_that_may_not_be_imported_is_answered_with_the_argument() -> None:
    values = {"env_cfg": {"id": "my_corridor:Line"}}
    with pytest.raises(joystick.ConfigError, match=r'my_corridor; to allow it, add allow_import=\["my_corridor"\]'):
        joystick.tune(values, space={"algo_cfg.lr": joystick.grid(0.1, 0.5)})


def test_a_setting_may_be_of_any_kind_that_a_file_can_hold() -> None:
    def one(config: dict[str, Any], report: Any) -> None:
        report(step=1, size=len(config["x"]) + config["y"])

    values = ([1, 2], {"k": [1]}, "text")
    space = {"x": joystick.grid(*values), "y": joystick.grid(np.float64(0.5), np.int64(2))}
    found = joystick.tune(one, space=space, score="size", into="any")
    assert [each["settings"]["x"] for each in sorted(found.trials, key=lambda each: each["name"])[::2]] == list(values)
    assert found.best is not None
    assert found.best["settings"] == {"x": "text", "y": 2}
    assert "text" in Path("any/report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"what": 3}, "Python: got 3; expected a file, a mapping of settings, or a function"),
        ({"what": bowl}, "Python: nothing to try"),
        (
            {"what": bowl, "space": {"x": joystick.log(0, 1)}},
            "Python: x: log: got [0, 1]; expected two numbers above 0",
        ),
        ({"what": bowl, "space": NINE}, "Python: score: write the name of a number that the function reports"),
        ({"what": bowl, "space": NINE, "samples": 0}, "Python: tune_cfg.samples: got 0; expected"),
        ({"what": bowl, "space": NINE, "score": "loss", "scheduler": "pbt"}, "scheduler none or halving"),
        ({"what": bowl, "space": NINE, "score": "loss", "scheduler": "halving"}, "rungs: halving needs"),
        ({"what": {}, "space": {"algo_cfg.lr": joystick.grid("fast", 0.1)}}, "Python: algo_cfg.lr: got 'fast' (text)"),
        ({"what": {}, "space": {"algo_cfg.lr": joystick.choice(print, len)}}, "Python: algo_cfg.lr: got"),
        ({"what": bowl, "space": {"x": joystick.choice(print)}, "score": "loss"}, "which no file can hold"),
        ({"what": bowl, "space": [1]}, "Python: space: got [1]; expected values to try by section.key"),
        ({"what": bowl, "resume": "x", "samples": 3}, "give nothing else but jobs"),
    ],
)
def test_a_wrong_call_is_one_clear_answer_and_nothing_is_created(arguments: dict[str, Any], answer: str) -> None:
    with pytest.raises(joystick.ConfigError) as error:
        joystick.tune(**arguments)
    assert answer in str(error.value)
    assert not list(Path().iterdir())
