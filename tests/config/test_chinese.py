"""Messages and pages in Chinese: where sentences are put together, taken apart or searched."""

import re
from pathlib import Path

import pytest

from config.foreign import convert
from config.foreign.dialect import NEEDLESS
from config.foreign.rllib_keys import TABLES, plain
from config.program import ROOT
from config.read import presets
from config.read.loader import ConfigError
from config.tell import describe, language, names
from envs.common import wrappers
from framework.archive import task_list
from framework.catalog import ALGOS, ENVS
from tests.tools.config_fixtures import loaded, preset_root, task_root

__all__ = ["preset_root", "task_root"]


@pytest.fixture(autouse=True)
def _chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constants that were made at import stay English, such as the place `command line`."""
    monkeypatch.setattr(language, "language", lambda: "zh")


def refused(*words: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        loaded(None, *words)
    return str(caught.value).splitlines()


def test_kinds_of_values_and_hints_make_one_sentence() -> None:
    assert refused("algo_cfg.lr=-1", "algo_cfg.batch_size=10k", "algo_cfg.gama=1", "algo_cfg.tau=0") == [
        "command line: algo_cfg.tau: 值为 0，应为大于 0 且不大于 1 的数",
        "command line: algo_cfg.batch_size: 值为 '10k'（文本），应为不小于 1 的整数；请写 10000",
        "command line: algo_cfg.lr: 值为 -1，应为大于 0 的数或调度",
        "command line: algo_cfg.gama: 未知配置项；是不是想写 gamma？",
    ]
    assert refused("algo_cfg.max_grad_norm=0") == [
        "command line: algo_cfg.max_grad_norm: 值为 0，应为大于 0 的数或 null"
    ]


def test_a_setting_of_other_algorithms_is_known_by_the_name_that_another_library_has() -> None:
    end = names.of_others("DQN, C51 等", "PPO")
    assert end == "；它是 DQN, C51 等的配置项，而 algo_name 为 PPO"
    assert names.of_others_by_name(end, "lr") == "；这里叫 lr，是 DQN, C51 等的配置项，而 algo_name 为 PPO"
    assert names.of_others_by_name("；是不是想写 lr？", "lr") == ""


def test_punctuation_of_the_sentence_is_not_taken_for_that_of_the_input() -> None:
    problem = "run.yaml:1: algo_cfg.x: 值为 A，B（C），应为：D"
    assert names.with_full_width_named(problem) == problem
    for typed in ("algo_cfg.x，y: 未知配置项", "algo_cfg.x: 值为 'a，b'（文本）"):
        problem = f"run.yaml:1: {typed}"
        assert names.with_full_width_named(problem).startswith(f"{problem}。，是全角")


def test_a_page_has_its_words_in_chinese_and_the_names_as_they_are() -> None:
    page = describe.describe("dqn.tau", ALGOS, ENVS)
    assert page.startswith("- `tau`（大于 0 且不大于 1 的数；默认 1.0）：")
    assert page.endswith("  见 algo_cfg：DQN。\n")
    assert max(map(describe._columns, describe.describe("ppo", ALGOS, ENVS).splitlines())) <= 100


@pytest.mark.parametrize("name", wrappers.OURS)
def test_the_help_of_a_wrapper_is_chinese(name: str) -> None:
    _, text, _ = describe.describe(name, ALGOS, ENVS).splitlines()
    assert re.search("[\u4e00-\u9fff]", text), text


def test_what_needs_nothing_is_known_in_a_converted_file(tmp_path: Path) -> None:
    path = tmp_path / "exp.yaml"
    path.write_text("a:\n  run: PPO\n  env: CartPole-v1\n  config: {framework: tf, lr: 0.1}\n", encoding="utf-8")
    text = convert.converted(str(path), ALGOS, ENVS)
    assert f"# {NEEDLESS}\n#   {path}:4: framework tf 在这里不需要设置：" in text
    assert "algo_name: PPO  # 原为 run\n" in text


def test_the_comment_of_a_preset_has_places_for_its_numbers() -> None:
    assert presets.template("Return -1.5 in 20,000 steps of Pole-v1 {x} (seed 3).") == (
        "Return {n1} in {n2} steps of Pole-v1 {{x}} (seed {n3}).",
        {"n1": "-1.5", "n2": "20,000", "n3": "3"},
    )
    assert presets.template("Not {measured}.") == ("Not {measured}.", {})
    assert "回报 500，约 " in describe.listing("presets", ALGOS, ENVS, part="CartPole-v1/PPO")


@pytest.mark.parametrize(
    ("seconds", "age"), [(59, "59 秒"), (60, "1 分钟"), (7_200, "2 小时"), (200_000, "2 天")]
)  # fmt: skip
def test_the_age_of_a_run_has_units_in_chinese(seconds: float, age: str) -> None:
    assert task_list._age(seconds) == age


def test_a_sentence_names_the_chinese_page_where_there_is_one() -> None:
    """Also one that is made of a row of the tables of RLlib's words, whose links are those of the page."""
    sentences = [text for part in ("zh", "zh_settings") for text in language._catalog(part).values()]
    rows = [row for table in TABLES.values() for row in table.values()]
    remarks = [plain(text) for row in rows for text in (row.remark, row.refused, row.needless)]
    named = {name for text in [*sentences, *remarks] for name in re.findall(r"docs/[\w/]+\.md", text)}
    assert len(named) > 15
    for name in named:
        assert (ROOT / name).is_file(), name
        assert name.startswith("docs/zh/") or not (ROOT / "docs/zh" / name.removeprefix("docs/")).exists(), name
