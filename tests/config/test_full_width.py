"""Punctuation of Chinese input in place of what a setting needs is named; in names, quotes and comments it is meant."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import main
from config.read import yaml_reader
from config.read.loader import ConfigError
from config.tell import names
from framework import commands
from tests.tools.config_fixtures import loaded, preset_root, task_root

__all__ = ["preset_root", "task_root"]


@pytest.fixture
def refused(tmp_path: Path) -> Callable[..., str]:
    """The message about a file, or about words behind it."""

    def message(text: str | None, *words: str) -> str:
        path = tmp_path / "run.yaml" if text else None
        if path:
            path.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError) as caught:
            loaded(path, *words)
        return str(caught.value).replace(f"{tmp_path}/", "")

    return message


def named(mark: str, noun: str, instead: str) -> str:
    return f"{mark} is a full-width {noun} (Chinese input); write {instead}"


COLON, COMMA = named("：", "colon", ": and a blank"), named("，", "comma", ",")
BLANK = named("U+3000", "blank", "a blank")
LAYER = "algo_cfg:\n  value_layers:\n    - "


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"{LAYER}{{layer_type: linear，layer_size: 64}}", f"run.yaml:3:26: {COMMA}"),
        ("general_cfg:\n  max_total_step： 2000\n  seed: 1", f"run.yaml:2:17: {COLON}"),
        ("general_cfg:\n  # 步数：多\n  max_total_step： 2000 # 步数，多\n\n  seed: 1", f"run.yaml:3:17: {COLON}"),
        ("algo_cfg：\n  lr: 1", f"run.yaml:1:9: {COLON}"),
        (f"{LAYER}｛layer_type: linear, layer_size: 64}}", "run.yaml:3:7: " + named("｛", "brace", '{')),
        (f"{LAYER}{{layer_type: linear, layer_size: 64｝\n", "write }"),
        (f"{LAYER}{{layer_type: linear, layer_size: [64］}}", named("］", "bracket", "]")),
        ("algo_cfg:\n  lr: 0.3e－4", "run.yaml:2:7: " + named("－", "minus", '-')),
    ],
)  # fmt: skip
def test_text_that_is_not_yaml_for_it_is_answered_by_its_place_alone(refused, text, sentence):
    assert refused(text).endswith(sentence)
    assert refused(text).count("\n") == 0


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("algo_cfg:\n  lr：0.0003", "run.yaml:1: algo_cfg: got 'lr：0.0003' (text)", COLON),
        ("algo_cfg:\n　　lr: 0.1", "run.yaml:2: 　　lr: not inside a section (general_cfg, algo_cfg", BLANK),
        ("algo_cfg:\n  　lr: 0.1", "run.yaml:2: algo_cfg.　lr: unknown setting; did you mean lr? ", BLANK),
        ("algo_cfg:\n  lr: 0.1　# 学习率", "run.yaml:2: algo_cfg.lr: got '0.1　# 学习率' (text)", BLANK),
        ("algo_cfg:\n  lr: （0.1）", "run.yaml:2: algo_cfg.lr: got", named("（", "parenthesis", '(')),
        ("algo_cfg:\n  lr＝0.1", "run.yaml:1: algo_cfg: got", named("＝", "equals sign", '=')),
        ("general_cfg:\n  device: ‘cpu’", "run.yaml:2:", named("‘", "quotation mark", "'")),
        ("general_cfg:\n  algo_name: “PPO”", "run.yaml:2:", named("“", "quotation mark", '"')),
        ("general_cfg:\n  seed: ［1］", "run.yaml:2:", named("［", "bracket", '[')),
    ],
)  # fmt: skip
def test_a_value_that_is_wrong_for_it_has_a_sentence_on_it(refused, text, begin, end):
    message = refused(text)
    assert message.startswith(begin)
    assert message.endswith(end)
    assert message.count("full-width") == 1


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("algo_cfg.lr＝0.001", "＝ is a full-width equals sign (Chinese input); write algo_cfg.lr=0.001"),
        ("algo_cfg.lr：0.001", "： is a full-width colon (Chinese input); write algo_cfg.lr=0.001"),
        ("－－video", "－ is a full-width minus (Chinese input); write --video"),
        ("实验（一）", "'实验（一）' is neither a command nor section.key=value"),
    ],
)
def test_a_word_is_answered_with_what_to_type(word, sentence, capsys):
    with pytest.raises(SystemExit) as caught:
        commands.parse([word])
    assert caught.value.code == 2
    assert capsys.readouterr().err.splitlines()[0] == sentence


def test_the_value_of_a_word_is_read_as_in_a_file(refused):
    assert refused(None, "algo_cfg.value_layers=[{layer_type: linear，layer_size: 64}]").endswith(
        f"value_layers: {COMMA}"
    )
    assert refused(None, "algo_cfg.lr=1e－4").endswith(named("－", "minus", "-"))
    assert refused(None, "general_cfg.algo_name=PPO，DQN").endswith(COMMA)


def test_a_name_in_chinese_quotation_marks_is_answered_by_the_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["main.py", "env_cfg.id=“CartPole-v1”"])
    assert main.main() == 2
    assert "did you mean CartPole-v1" in (said := capsys.readouterr().err)
    assert '? “ is a full-width quotation mark (Chinese input); write "' in said


@pytest.mark.parametrize("mark", names.FULL_WIDTH)
def test_each_has_a_name_and_is_fine_between_quotes_in_comments_and_in_chinese_text(mark):
    assert "is a full-width" in names.full_width(mark)
    text = f"a: '{mark}'  # {mark}\nb: \"x{mark}1\"\nc: 实验{mark}一{mark}好 # 学习{mark}\nd: 好{mark}"
    assert yaml_reader.parse(text, "file").value == {
        "a": mark, "b": f"x{mark}1", "c": f"实验{mark}一{mark}好", "d": f"好{mark}",
    }  # fmt: skip
    problem = f"file:1: general_cfg.x: got '实验{mark}一' (text); expected a number"
    assert names.with_full_width_named(problem) == problem


def test_what_is_meant_is_not_named_in_other_faults(refused):
    text = "general_cfg:\n  device: '：'\n  # 学习率：0.1，（高）\n  seed 1\nalgo_cfg:\n"
    assert "full-width" not in refused(text)
    assert "full-width" not in refused("general_cfg:\n  algo_name: 强化（学习）\n  # 1，2")


def test_digits_of_chinese_input_are_digits():
    assert yaml_reader.parse("[０.０００３, １２, -１e-2]", "file").value == [0.0003, 12, -0.01]
