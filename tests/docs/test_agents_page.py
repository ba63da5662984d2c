"""The examples of docs/agents.md run."""

import re
from pathlib import Path

import numpy as np
import pytest

import joystick
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


def test_the_scripted_player_of_the_page_plays_by_its_rule(tmp_path, monkeypatch):
    """Relay's second agent is paid for action 1, and its rule plays it where the first number is above 0."""
    (tmp_path / "relay_of_page.py").write_text("import gymnasium\nimport numpy as np\n\n\n" + blocks("python")[0])
    files = [block for block in blocks("python") if block.startswith("# mine/scripted/")]
    assert len(files) == 3
    files = [re.sub(r"\bmine\b", "players_of_page", block) for block in files]  # other tests have a module mine
    for block in files:
        file = tmp_path / block.partition("\n")[0].removeprefix("# ")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    policies = {"first": {"agents": "first"}, "second": {"agents": "second", "algo_name": "players_of_page.scripted"}}
    general = {"max_total_step": 64, "online_eval": False, "save_fig": False, "seed": 1}
    allowed = ["players_of_page", "relay_of_page"]
    with joystick.Run(
        "PPO", "relay_of_page:Relay", env_name="python", general_cfg=general, policies_cfg=policies,
        algo_cfg={"batch_size": 32, "sgd_batch_size": 16}, into="run", allow_import=allowed,
    ) as run:  # fmt: skip
        run.train()
        seen = {"second": np.array([0.5, -0.5], np.float32)}, {"second": np.array([-0.5, 0.5], np.float32)}
    policies = joystick.load("run", "latest", allow_import=allowed)
    assert [policies.act(obs)["second"] for obs in seen] == [1, 0]
