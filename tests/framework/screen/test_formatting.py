"""Counts, intervals and tables in the language of the reader."""

from framework.screen import tables
from framework.screen.formatting import between, counted, scored


def test_english_has_a_plural():
    assert [counted(number, "episode") for number in (0, 1, 2000)] == ["0 episodes", "1 episode", "2,000 episodes"]


def test_chinese_has_a_measure_word_and_no_plural(chinese):
    assert [counted(number, "episode") for number in (0, 1, 2000)] == ["0 个回合", "1 个回合", "2,000 个回合"]
    assert counted(1, "run") == "1 次运行"
    assert between((1.0, 2.5)) == "1 到 2.5"
    assert scored({"mean": 9.5, "std": 0.25, "episodes": 20}) == "9.5 ± 0.25（20 个回合）"


def test_columns_of_a_table_are_aligned_by_cells(chinese):
    assert tables.aligned([["语言", "a"], ["torch", "bb"]]) == ["语言   a ", "torch  bb"]
    assert tables.aligned([["语言", "a"], ["torch", "bb"]], right=True) == [" 语言   a", "torch  bb"]
    assert tables.entry("磁盘", "x") == "磁盘" + 10 * " " + "x"


def test_heads_of_a_table_are_translated_and_names_of_settings_stay(chinese):
    assert tables.lines([{"trial": "000", "lr": "0.1"}]) == ["试验   lr", " 000  0.1"]
