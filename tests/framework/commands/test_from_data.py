"""evaluate --from-data: saved models compared by given data."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framework.commands.work import from_data
from framework.commands.work.from_data import returns
from main import main

pytestmark = pytest.mark.run

RUN = ["--algo", "SAC", "general_cfg.env_name=toy", "env_cfg.id=target", "general_cfg.max_total_step=96",
       "general_cfg.model_save_fre=48", "general_cfg.model_save_unit=step", "general_cfg.seed=3",
       "algo_cfg.learning_starts=32", "algo_cfg.start_steps=32", "algo_cfg.batch_size=16",
       "algo_cfg.actor_layers=[{layer_type: linear, layer_size: 8}]",
       "algo_cfg.critic_layers=[{layer_type: linear, layer_size: 8}]", "general_cfg.collect_traj=true",
       "general_cfg.save_fig=false"]  # fmt: skip


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tasks") / "run"
    assert main([*RUN, "--into", str(folder)]) == 0
    return folder


def test_all_models_are_compared_and_the_best_one_is_named(
    task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "values.jsonl"
    words = ["evaluate", str(task), "--from-data", str(task), "--updates", "20", "--out", str(out)]
    assert main(words) == 0
    text = capsys.readouterr().out
    values = [json.loads(line) for line in out.read_text().splitlines()]
    assert [value["model"] for value in values] == [path.name for path in sorted_models(task)]
    assert re.search(r"^the data +\S+, undiscounted \S+, \d+ episodes$", text, re.MULTILINE)
    best = max(values, key=lambda value: value["mean"])["model"]
    assert f"best by these data: {best} (--model {best})" in text
    assert main(words[:-2]) == 0
    assert capsys.readouterr().out == text, "the same numbers again"


def sorted_models(task: Path) -> list[Path]:
    return sorted((path for path in (task / "models").iterdir() if path.name.isdigit()), key=lambda p: int(p.name))


def test_one_model_is_named_by_its_folder(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(task), "--from-data", str(task), "--updates", "2", "--model", "latest"]) == 0
    text = capsys.readouterr().out
    assert f"models/{sorted_models(task)[-1].name}" in text
    assert "best by" not in text


def test_an_error_of_the_data_names_the_flag(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(task), "--from-data", "/nowhere.pkl"]) == 2
    assert "error: --from-data: /nowhere.pkl does not exist" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--from-data", "x", "--steps", "5"], "--from-data plays no episode"),
        (["--updates", "5"], "--updates is for --from-data"),
    ],
)
def test_what_does_not_go_together_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate", "x", *words])
    assert said in capsys.readouterr().err


def test_recurrent_policies_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    cells = "algo_cfg.actor_layers=[{layer_type: gru, layer_size: 4}]"
    assert main([*RUN, cells, "algo_cfg.lookup_step=4", "algo_cfg.burn_in=2", "--into", str(folder)]) == 0
    assert main(["evaluate", str(folder), "--from-data", str(folder)]) == 2
    said = "the actions of SAC depend on more than the observation: its network is recurrent"
    assert said in capsys.readouterr().err


def test_policies_that_act_by_a_wanted_return_are_refused_with_this_reason(
    task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "wanting"
    words = ["--algo", "DecisionTransformer", "general_cfg.env_name=toy", "env_cfg.id=target", "general_cfg.seed=1"]
    small = ["algo_cfg.embed_size=4", "algo_cfg.n_blocks=1", "algo_cfg.n_heads=1", "algo_cfg.batch_size=4"]
    length = ["general_cfg.max_update=2", "general_cfg.save_fig=false", "general_cfg.online_eval_episode=1"]
    assert main([*words, *small, *length, f"algo_cfg.data={task}", "--into", str(folder)]) == 0
    assert main(["evaluate", str(folder), "--from-data", str(task)]) == 2
    said = "the actions of DecisionTransformer depend on more than the observation: it acts by the return that is "
    assert said + "still wanted" in capsys.readouterr().err


def test_the_policy_chooses_among_the_actions_that_are_legal_in_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--algo", "DQN", "general_cfg.env_name=toy", "env_cfg.id=masked", "env_cfg.steps=3",
             "general_cfg.max_total_step=200", "general_cfg.seed=1", "algo_cfg.learning_starts=190",
             "general_cfg.collect_traj=true", "general_cfg.save_fig=false"]  # fmt: skip
    assert main([*words, "--into", str(tmp_path / "run")]) == 0
    legal = []

    choose = from_data.chosen

    def chosen(agent: Any, states: np.ndarray, masks: np.ndarray | None) -> Iterator[np.ndarray]:
        for actions in choose(agent, states, masks):
            legal.append(masks is not None and masks[np.arange(len(masks)), actions].all() and not masks.all())
            yield actions

    monkeypatch.setattr(from_data, "chosen", chosen)
    assert main(["evaluate", str(tmp_path / "run"), "--from-data", str(tmp_path / "run"), "--updates", "2"]) == 0
    assert legal
    assert all(legal)


def test_returns_of_the_data_are_discounted_from_each_start() -> None:
    reward, start = np.array([1.0, 2.0, 4.0]), np.array([True, False, True])
    assert returns({"reward": reward, "start": start}, 0.5) == ((1 + 1 + 4) / 2, 7 / 2)
