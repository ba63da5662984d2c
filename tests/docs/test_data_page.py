"""The programs of docs/data.md run, and solve CartPole's 200-step task."""

import re
from pathlib import Path

import pytest

from tests.tools.process import forked_program

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS, ids=["two-step DQN", "policy gradient", "PPO"])
def test_the_programs_of_the_page_solve_the_task(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = forked_program(program)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.splitlines()[-1]) >= 195
