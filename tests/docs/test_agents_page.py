"""The examples of docs/agents.md run."""

import re
from pathlib import Path

import pytest

from config.read.loader import load
from config.read.yaml_reader import parse
from framework.assemble import fit as compatibility
from framework.catalog import ALGOS, ENVS
from tests.tools.distributed import Run, local

PAGE = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("text", blocks("yaml"), ids=["tag", "self-play"])
def test_the_configurations_of_the_page_fit_their_environments(text):
    pytest.importorskip("pettingzoo")
    pytest.importorskip("mpe2")
    document = parse(text, "page.yaml")
    compatibility.check(load("page.yaml", (), find_algo=ALGOS, find_env=ENVS, file=document))


def test_the_environment_of_the_page_trains(tmp_path, monkeypatch):
    (tmp_path / "relay_of_page.py").write_text("import gymnasium\nimport numpy as np\n\n\n" + blocks("python")[0])
    monkeypatch.syspath_prepend(tmp_path)
    words = ["general_cfg.env_name=python", "env_cfg.id=relay_of_page:Relay", "general_cfg.max_total_step=200"]
    words += ["algo_cfg.batch_size=32", "algo_cfg.sgd_batch_size=16"]
    config = load(None, words, find_algo=ALGOS, find_env=ENVS, algo="PPO", allow_import=["relay_of_page"])
    run = Run(config, local(config)).until(100)
    assert [episode.length for accepted in run.accepted for episode in accepted.episodes][:3] == [6, 6, 6]
    assert "default/loss" in run.learned[0].metrics
