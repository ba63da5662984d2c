"""docs/tuning.md says what happens."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from framework.jobs import job
from tests.tools.tuning import forking, run, table

__all__ = ["forking"]
PAGE = (Path(__file__).parents[3] / "docs" / "tuning.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.usefixtures("forking")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "POLL_SECONDS", 0.01)


def test_the_file_of_the_page_trains_nine_trials_to_the_steps_that_it_names() -> None:
    [(name, text)] = re.findall(r"```yaml\n# (\S+)\n(.*?)```", PAGE, re.DOTALL)
    Path(name).write_text(text)
    quick = ("general_cfg.save_fig=false", "general_cfg.online_eval_episode=1")
    assert run("tune", "--yaml", name, "--into", "found", *quick) == 0
    rows = table("found")
    assert Counter(row["step"] for row in rows) == {"300": 6, "900": 2, "2700": 1}
    assert len({row["algo_cfg.lr"] for row in rows}) == 9
    files = {path.name for path in Path("found").iterdir()}
    named = set(re.findall(r"^      (\w+\.\w+) ", PAGE, re.MULTILINE))
    assert named - files == {"learning_curves.png"}, "save_fig draws it"


def test_the_python_examples_of_the_page_run(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(first.replace('"seed": 1,', '"seed": 1, "save_fig": False,'), names)
    assert [each["state"] for each in names["found"].trials] == ["finished"] * 3
    exec(second, names)
    best = names["found"].best
    assert best["settings"]["rate"] == 0.5, "the highest rate comes nearest"
    again = exec_resume(names)
    assert again.best == best
    assert str(best["settings"]) in capsys.readouterr().out


def exec_resume(names: dict[str, Any]) -> Any:
    """What the last sentence of the page says."""
    assert "joystick.tune(distance, resume=found.folder)" in PAGE
    return eval("joystick.tune(distance, resume=found.folder)", names)
