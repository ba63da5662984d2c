"""The verdict on a resume in the language of the reader; run.json has its reasons in English."""

import os
import subprocess
import sys

from config.program import ROOT
from framework.archive import sentences
from framework.runs import exactness

FACTS = {**dict.fromkeys(sentences.CHANGES, "x"), "device": "cpu", "run_ahead": 0}


def test_reasons_are_english_in_the_file_and_translated_where_they_are_shown(chinese):
    now = {**FACTS, "run_ahead": 2, "torch": "2.9"}
    verdict = exactness.compare({**FACTS, "torch": "2.8"}, now, ["algo_cfg.lr: 0.1 -> 0.2"], ["0", "3"])
    assert verdict.to_json()["inexact_because"] == [
        "the running episodes of rows 0, 3 could not be repeated and start again",
        "workers run ahead of the learner (run_ahead 2)",
        "algo_cfg.lr: 0.1 -> 0.2",
        "torch version: 2.8 -> 2.9",
        "run_ahead: 0 -> 2",
    ]
    assert str(verdict) == (
        "恢复后不完全一致：并行环境 0, 3 中进行到一半的回合无法重放，将重新开始；"
        "worker 先于学习器采样（run_ahead 2）；algo_cfg.lr: 0.1 -> 0.2；torch 版本：2.8 -> 2.9；run_ahead: 0 -> 2"
    )


def test_rows_that_are_all_of_them_are_not_listed(chinese):
    verdict = exactness.compare(FACTS, FACTS, rows=["all"])
    assert verdict.to_json()["inexact_because"] == [
        "the running episodes of all rows could not be repeated and start again"
    ]
    assert str(verdict) == "恢复后不完全一致：所有并行环境中进行到一半的回合无法重放，将重新开始"


def test_facts_of_a_checkpoint_are_the_same_in_every_language():
    """English, also where every module was loaded in Chinese."""
    code = """if True:
        import torch
        from config.config import GeneralConfig
        from types import SimpleNamespace
        from framework.runs import exactness
        general = GeneralConfig.model_construct(mp_backend="single", compile="off")
        print(exactness.facts(SimpleNamespace(general=general), torch.device("cpu")))
        """
    env = {**os.environ, "JOYSTICK_LANG": "zh", "JOYSTICK_PLAIN": "1"}
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert told.stdout.isascii()
    assert "off: all parts because JOYSTICK_PLAIN is set" in told.stdout
