"""Runs the commands of the how-to pages, one after the other, with trainings that are cut short.

    python -m pytest -n 0 -o addopts="" tests/stress/how_to_pages.py      (minutes)

A command that cannot be run here, or that another test runs, is in NOT_RUN with the reason.
"""

import os
import re
import shutil
from pathlib import Path

import pytest

from tests.docs.test_tutorials import follow
from tests.tools.pages import ROOT, blocks
from tests.tools.process import forked, forking

__all__ = ["forking"]
PAGES = [path for path in sorted(ROOT.glob("docs/*.md")) if path.name not in ("README.md", "commands.md")]
COMMAND = re.compile(r"^(?:    )?(python main\.py .*)$", re.MULTILINE)
NOT_RUN = {
    "watch": "it does not end; tests/framework/live/test_watch_page.py opens it in a browser",
    "tune_cfg.ray_address=auto": "needs a Ray cluster; tests/stress/ray_clusters.py starts one",
    "wandb": "needs a package that is installed by hand; tests/framework/record/test_loggers.py",
    "minari:mujoco/hopper": "needs a data set from elsewhere",
    "presets/multiwoz": "needs the MultiWOZ databases",
    "load_model_step=1500": "needs a run of so many updates",
    "talk": "a person talks; tests/framework/commands/test_talk.py",
    "--yaml FILE": "a file of the reader",
    "--samples 32": "tests/framework/jobs/test_tuning_optuna.py searches with tpe",
    "mine.actor_critic": "tests/docs/test_docs.py trains it",
    "previous:Previous": "tests/docs/test_docs.py",
    "my_module:MyEnv": "a module of the reader",
}
READERS = {
    "NAME": ["--algo", "DQN", "--env", "CartPole-v1"],
    "Train_CartPole-v1_DQN_20260131-101500": ["--algo", "DQN", "--env", "CartPole-v1"],
}
"""Runs that a page takes for granted."""
SHORT = ["general_cfg.max_total_step=300", "general_cfg.max_episode=-1", "general_cfg.online_eval_episode=2"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
@pytest.mark.usefixtures("forking")
def test_the_commands_of_a_page_end_well(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path.cwd())
    lines = [line for line in COMMAND.findall(page.read_text("utf-8")) if not any(word in line for word in NOT_RUN)]
    if not lines:
        pytest.skip("no command to run")
    shutil.copytree(ROOT / "presets", "presets")
    shutil.copy(ROOT / "tests/data/quickstart.yaml", "my.yaml")
    os.symlink("my.yaml", "tune.yaml")
    for name, words in READERS.items():
        if any(name in line for line in lines):
            assert forked(*words, *SHORT, "--into", f"tasks/{name}").returncode == 0
    for block in blocks(page):
        if block.file:
            Path(block.file).unlink(missing_ok=True)
            Path(block.file).write_text(block.text, encoding="utf-8")
    for line in lines:
        print(line, flush=True)
        follow(line.partition("  # ")[0])
