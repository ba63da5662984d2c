"""Errors in an algorithm of the user's own, as the command line tells them."""

import json
from pathlib import Path

import pytest

from main import main

CONFIG = """from algos.dqn.config import Config as Family


class Config(Family):
    pass
"""
AGENT = """from algos.dqn.agent import Agent as Family


class Agent(Family):
    def update(self, batch):
        return super().update({**batch, "reward": batch["reward"].absolut()})
"""
COMMAND = "--allow-import {name} env_cfg.id=CartPole-v1 general_cfg.device=cpu general_cfg.max_total_step=40"


@pytest.fixture
def run(tmp_path: Path, monkeypatch, capsys, request):
    """Returns a function that trains with these files of an algorithm, and returns status and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    numbered = f"own_{abs(hash(request.node.name))}"

    def train(*, config: str = CONFIG, agent: str = AGENT) -> tuple[int, str]:
        folder = tmp_path / numbered / "small"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(f'from {numbered}.small.config import Config\n\nNAME = "Small"\n')
        (folder / "config.py").write_text(config)
        (folder / "agent.py").write_text(agent)
        words = [*COMMAND.format(name=numbered).split(), f"general_cfg.algo_name={numbered}.small"]
        status = main([*words, "algo_cfg.batch_size=8", "algo_cfg.learning_starts=8", "--into", "tasks/own"])
        return status, capsys.readouterr().err.replace(numbered, "mine")

    return train


def test_an_error_in_an_agent_is_told_with_the_lines_of_the_user_and_the_rest_is_in_the_log(run) -> None:
    status, said = run()
    assert status == 2
    told = said[said.index("error: ") :].splitlines()
    kind = "AttributeError: 'Tensor' object has no attribute 'absolut'"
    assert told == [
        f"error: {kind}; did you mean absolute?",
        f'  File "{Path("mine/small/agent.py")}", line 6, in update',
        '    return super().update({**batch, "reward": batch["reward"].absolut()})',
        f"whole traceback: {Path('tasks/own/logs/log.txt')}",
    ]
    log = Path("tasks/own/logs/log.txt").read_text()
    assert "learner.py" in log
    assert kind in log.splitlines()[-1]  # Python 3.12 adds what was meant
    assert json.loads(Path("tasks/own/run.json").read_text())["outcome"] == f"failed: {kind}"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            "def memory(self, rows):\n        super().memory(rows)",
            r"memory of mine.small.config.Config returned None; exp",
        ),
        (
            "memory = AlgoConfig.memory",
            "mine.small.config.Config has no function memory(rows), which returns a Rollout",
        ),
        (
            "def problems(self):\n        yield 'lr is bad'",
            "problems of mine.small.config.Config yields 'lr is bad'; expec",
        ),
        ("def problems(self):\n        yield self.rl", "AttributeError: 'Config' object has no attribute 'rl'"),
    ],
)
def test_a_fault_in_a_config_is_one_sentence(run, function: str, message: str) -> None:
    imports = "from config.model.schema import AlgoConfig\n"
    status, said = run(config=imports + CONFIG.replace("pass", function))
    assert status == 2
    assert f"error: {message}" in said
    assert "Traceback" not in said
