"""docs/rllib.md names every key of RLlib's model and common config, only settings that exist, and what the program
does with each key."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import yaml
from pydantic import TypeAdapter

import algos
from config.config import GeneralConfig
from config.model.layers import Custom, Layer
from config.read.loader import load
from config.read.tuning import TuneConfig
from config.tell import language
from envs import python
from envs.common.wrappers import names, split
from envs.gym import Config as Gym
from framework.catalog import ALGOS, ENVS
from tests.tools import foreign_pages

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "rllib.md").read_text(encoding="utf-8")
TUNING = PAGE.partition("## Tuning")[2].partition("\n## ")[0]
ROWS = [
    [cell.strip() for cell in line.strip("| ").split(" | ")] for line in PAGE.splitlines() if line.startswith("| `")
]
KEYS = [key for key in (ROOT / "tests/data/rllib_keys.txt").read_text().split("\n") if key and key[0] != "#"]
"""Keys of MODEL_DEFAULTS and DefaultModelConfig (Ray 2.60), COMMON_CONFIG (Ray 1.2), public ones of AlgorithmConfig."""


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def test_every_key_is_in_one_row() -> None:
    found = [key for keys, *_ in ROWS for key in quoted(keys)]
    assert len(KEYS) > 350
    assert sorted(set(KEYS) - set(found)) == []
    assert [key for key in set(found) if found.count(key) > 1] == []


@pytest.mark.parametrize("letters", foreign_pages.FOLDERS)
def test_the_tables_of_the_page_are_those_of_the_program(letters: str) -> None:
    page = (foreign_pages.FOLDERS[letters] / foreign_pages.OF_RLLIB).read_text(encoding="utf-8")
    with language.chosen(letters):
        assert foreign_pages.rllib_written(page) == page, "write it anew: python -m tests.tools.foreign_pages"
    assert set(foreign_pages.of_rllib()) <= set(re.findall(r"^## (.*)$", PAGE, re.MULTILINE))


def test_a_row_without_a_setting_gives_the_reason() -> None:
    assert {len(row) for row in ROWS} <= {2, 3}
    for keys, here, *remark in ROWS:
        assert here == "-" or quoted(here) or "](" in here, keys
        assert here != "-" or (remark and remark[0] not in ("", "|")), keys


def test_every_setting_of_tuning_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`tune_cfg\.(\w+)", TUNING))
    assert {"samples", "score", "scheduler", "rungs"} <= named <= set(TuneConfig.model_fields)


def test_every_setting_that_a_row_names_exists() -> None:
    sections = {
        "general_cfg": set(GeneralConfig.model_fields),
        "env_cfg": {*Gym.model_fields, *python.Config.model_fields},
    }
    algo = {key for name in algos.available() for key in algos.get(name).Config.model_fields}
    layers = {"activation", "layer_size", *Custom.model_fields}
    for keys, here, *_ in ROWS:
        for text in () if keys in TUNING else quoted(here):
            path, colon, value = text.partition(": ")
            section, dot, key = path.rpartition(".")
            if text.startswith("{"):
                TypeAdapter(Layer).validate_python(filled(yaml.safe_load(text)))
            elif text not in sections:
                known = sections[section] if dot else algo | layers
                assert key in known, f"{keys}: {text}"
            if colon and key == "wrappers":
                assert all(split(one)[0] in {*names(), "my_module:MyWrapper"} for one in yaml.safe_load(value)), text


def filled(layer: dict) -> dict:
    """A layer as a row names it, with a size where it must have one."""
    return {**({"layer_size": 8} if layer["layer_type"] in ("lstm", "gru") else {}), **layer}


def test_the_wrapper_of_the_page_adds_the_previous_action_and_reward(tmp_path, monkeypatch) -> None:
    [(file, code)] = re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / file).write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    [command] = re.findall(r"^python main\.py (.*)$", PAGE, re.MULTILINE)
    words = shlex.split(command)
    overrides = ["general_cfg.algo_name=RecurrentPPO", words[-1]]
    config = load(None, overrides, find_algo=ALGOS, find_env=ENVS, allow_import=[words[1]])
    assert config.env.wrappers == ["previous:Previous"]
    import gymnasium
    import previous

    env = previous.Previous(gymnasium.make("CartPole-v1"))
    start, _ = env.reset(seed=1)
    assert (start.shape, start[4:].tolist()) == ((7,), [0, 0, 0])
    obs, reward, *_ = env.step(1)
    assert obs[4:].tolist() == [0, 1, reward]
    assert env.observation_space.contains(obs)
    assert np.array_equal(start[:4], gymnasium.make("CartPole-v1").reset(seed=1)[0])


@pytest.mark.parametrize("keys", ["num_workers", "env_config", "framestack", "custom_model", "use_lstm"])
def test_the_keys_of_the_first_programs_have_a_setting(keys: str) -> None:
    [row] = [row for row in ROWS if f"`{keys}`" in row[0]]
    assert row[1] != "-"
