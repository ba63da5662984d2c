"""The programs of docs/data.md run, and solve CartPole's 200-step task.

The first one takes longest: the suite sees that it learns, and `python -m tests.stress.every_case` that it solves
the task."""

import re
from pathlib import Path

import pytest

from tests.tools.paths import EVERY
from tests.tools.process import forked_program

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


LENGTH = "max_epoch=15,\n    step_per_epoch=4000,"
"""The longest training of the page."""
SHORT = "max_epoch=4,\n    step_per_epoch=2000,"


def best_of(program: str) -> float:
    """Runs a program; returns the best mean return of its tests, which it prints last."""
    done = forked_program(program)
    assert done.returncode == 0, done.stderr
    return float(done.stdout.splitlines()[-1])


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(PROGRAMS[0], marks=pytest.mark.skipif(not EVERY, reason="by tests.stress.every_case")),
        *PROGRAMS[1:],
    ],
    ids=["two-step DQN", "policy gradient", "PPO"],
)
def test_the_programs_of_the_page_solve_the_task(program: str) -> None:
    assert best_of(program) >= 195


def test_the_first_program_learns() -> None:
    """Without a step of the optimizer (lr=0) the same program ends with 54.6."""
    assert PROGRAMS[0].count(LENGTH) == 1
    assert best_of(PROGRAMS[0].replace(LENGTH, SHORT)) > 80
