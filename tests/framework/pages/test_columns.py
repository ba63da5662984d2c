"""Names of charts."""

import pytest

import algos
from algos.dqn import distributional
from framework.pages.columns import WORDS, title


@pytest.mark.parametrize("name", algos.available())
def test_every_metric_of_an_algorithm_has_words(name: str) -> None:
    assert set(algos.agent_class(algos.get(name)).METRICS) <= set(WORDS)


def test_every_metric_of_a_head_has_words() -> None:
    assert set(distributional.Categorical.METRICS) <= set(WORDS)


def test_an_english_chart_is_called_as_its_column() -> None:
    assert [title(name) for name in ("return", "red/loss", "sold")] == ["return", "red/loss", "sold"]


def test_the_column_stands_behind_words_of_another_language(chinese: None) -> None:
    assert title("policy_loss") == "策略损失（policy_loss）"
    assert title("red/loss") == "损失（red/loss）", "of a policy"
    assert title("return_red") == "回报（return_red）"
    assert title("return_mean") == "平均回报（return_mean）"
    assert title("sold") == "sold", "a number of the user's own"
