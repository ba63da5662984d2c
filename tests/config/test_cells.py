"""Text in the cells of a terminal."""

import textwrap

import pytest

from config.tell.cells import cells, padded, wrapped


@pytest.mark.parametrize(
    ("text", "count"), [("abc", 3), ("回合", 4), ("3 个回合，", 10), ("±σ", 2), ("e\u0301", 1), ("", 0)]
)
def test_chinese_characters_and_their_punctuation_take_two_cells(text, count):
    assert cells(text) == count


def test_padding_goes_by_cells():
    assert padded("内存", 6) + "|" == "内存  |"
    assert padded("内存", 6, right=True) == "  内存"
    assert padded("内存", 3) == "内存"


def test_chinese_lines_break_between_characters_and_words_and_begin_with_no_mark():
    text = "录制视频（env_cfg.render_mode=rgb_array），然后停止。"
    assert wrapped(text, 20) == ["录制视频", "（env_cfg.render_mode=rgb_array），", "然后停止。"]
    assert wrapped("不能让标点在行首，对吧", 16) == ["不能让标点在行", "首，对吧"]
    assert wrapped("用 DQN 训练", 6) == ["用 DQN", "训练"]


def test_english_lines_break_as_those_of_textwrap():
    text = "algorithm; without --yaml, with the nearest preset. Several, as in PPO,DQN: a run for each"
    assert wrapped(text, 54) == textwrap.wrap(text, 54)
