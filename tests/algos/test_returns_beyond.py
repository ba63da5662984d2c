"""A distribution whose support is too small for the returns: the user hears of it, once."""

from pathlib import Path

import pytest

from algos.dqn import agent
from main import main

SMALL = "[{layer_type: linear, layer_size: 16}]"


@pytest.fixture(autouse=True)
def _early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "UPDATES_BEFORE_WARNING", 250)


def warnings(tmp_path: Path, *words: str) -> list[str]:
    """Trains C51 where every step can give 1, so that returns reach 1 / (1 - 0.95) = 20."""
    into = tmp_path / "run"
    command = [
        "general_cfg.algo_name=C51", "general_cfg.env_name=toy", "env_cfg.id=match", "env_cfg.steps=100",
        "general_cfg.max_episode=-1", "general_cfg.max_total_step=500", "general_cfg.max_step=-1",
        "general_cfg.save_fig=false", "general_cfg.online_eval=false", "general_cfg.seed=1",
        f"algo_cfg.value_layers={SMALL}", "algo_cfg.lr=0.01", "algo_cfg.batch_size=16", "algo_cfg.n_atoms=21",
    ]  # fmt: skip
    assert main([*command, *words, "--into", str(into)]) == 0
    header = (into / "results" / "train.csv").read_text().splitlines()[0]
    assert "at_v_min,at_v_max,outside" in header
    return [line for line in (into / "logs" / "log.txt").read_text().splitlines() if "for the returns seen" in line]


def test_returns_of_20_on_a_support_to_10_are_said_once(tmp_path: Path) -> None:
    (line,) = warnings(tmp_path)
    assert "WARNING v_max 10 is too low for the returns seen: " in line
    assert "set algo_cfg.v_max beyond the discounted returns" in line


def test_a_support_that_holds_the_returns_is_not_warned_of(tmp_path: Path) -> None:
    assert warnings(tmp_path, "algo_cfg.v_min=0", "algo_cfg.v_max=20") == []
