"""The flags of ConvLab-2's training scripts."""

from typing import Any

import pytest

from config import cli
from main import main

RUN = ("--algo", "PPO", "--env", "CartPole-v1")


def test_the_flags_are_settings_and_a_note_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--batchsz", "256", "--epoch", "3", "--process_num", "2", "--print-config"]) == 0
    shown = capsys.readouterr()
    text = shown.out + shown.err
    for part in ("batch_size: 256", "max_total_step: 768", "mp_backend: ray", "n_workers: 2", "max_episode: -1"):
        assert part in shown.out
    assert "--batchsz sets algo_cfg.batch_size=256; --epoch sets general_cfg.max_total_step=768" in text


def test_one_process_needs_no_ray() -> None:
    assert cli.parse([*RUN, "--process_num", "1"]).abbreviated == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--epoch", "3"], "--epoch E is E windows of --batchsz B"),
        (["--batchsz", "8", "algo_cfg.batch_size=16"], "--batchsz sets algo_cfg.batch_size=8; leave out one"),
        (["--process_num", "2", "general_cfg.mp_backend=single"], "--process_num sets general_cfg.mp_backend=ray"),
        (["--batchsz", "many"], "invalid number 'many'"),
    ],
)
def test_what_contradicts_them_is_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[Any]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*RUN, *words])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
