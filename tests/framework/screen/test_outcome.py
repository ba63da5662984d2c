"""States and outcomes of runs in the language of the reader."""

import pytest

from config.config import GeneralConfig
from framework.disk.task_dir import CLOSED, FAILED
from framework.loop.iteration import Count
from framework.loop.stop_rules import StopRules, Training
from framework.screen.outcome import shown


@pytest.mark.parametrize(
    ("outcome", "sentence"),
    [
        ("interrupted", "已中断"),
        ("failed (status 2)", "失败（状态 2）"),
        (CLOSED, "已由程序关闭"),
        (f"{FAILED} no space: left", "失败：no space: left"),
        ("max_time 30 s reached", "已达到 max_time 30 s"),
        ("a sentence of a file", "a sentence of a file"),
        ("", ""),
    ],
)
def test_outcomes_are_translated_with_their_values(chinese, outcome, sentence):
    assert shown(outcome) == sentence


def test_in_english_they_stay_as_they_are():
    assert shown("max_time 30 s reached") == "max_time 30 s reached"


@pytest.mark.parametrize(
    ("settings", "interrupted", "pause_at"),
    [
        ({"max_episode": 6}, False, None),
        ({"max_time": 30}, False, None),
        ({"reward_threshold": 200.0}, False, None),
        ({"stop_return": 9.0}, False, None),
        ({}, False, 100),
        ({}, True, None),
    ],
)
def test_every_reason_to_stop_is_translated(chinese, settings, interrupted, pause_at):
    none = dict.fromkeys(("max_episode", "max_total_step", "max_update", "max_iteration", "max_time"), -1)
    cfg = GeneralConfig.model_construct(**{**none, **settings})
    training = Training(Count(episode=6, step=100, update=1), 1, 31.0, 99, 10.0)
    reason = StopRules(cfg, lambda: interrupted, pause_at).reason(training)
    assert shown(reason) != reason
