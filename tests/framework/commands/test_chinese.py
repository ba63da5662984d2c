"""The command line in Chinese."""

import argparse
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from config.program import ROOT
from config.tell import language
from config.tell.cells import cells
from framework.commands.line import words
from framework.commands.line.parser import HEADINGS
from framework.jobs.children import Child
from main import main
from tests.tools.catalog import ARGPARSE
from tests.tools.process import Forked

WIDTH = 80


def started(*line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "main.py"), *line]
    env = {**os.environ, "JOYSTICK_LANG": "zh", "COLUMNS": "80", **environment}
    return subprocess.run(command, capture_output=True, env=env, check=False, text=True, encoding="utf-8")


def shown(*line: str, letters: str = "zh") -> Forked:
    """The same in a forked process, whose modules are those of an English one."""

    def work() -> int:
        os.environ |= {"JOYSTICK_LANG": letters, "COLUMNS": "80"}
        language.language.cache_clear()
        return main(list(line))

    process = Forked(work=work)
    process.wait()
    return process


def test_sentences_of_argparse_are_those_that_it_has():
    source = inspect.getsource(argparse)
    for sentence in (*ARGPARSE, *HEADINGS, "usage: "):
        assert re.search(rf"""_\(['"]{re.escape(sentence)}['"]\)""", source), sentence


def test_help_is_chinese_and_fits_a_terminal():
    done = started("--help")
    assert done.returncode == 0
    assert done.stdout.startswith("用法：python main.py [命令]")
    assert all(cells(line) <= WIDTH for line in done.stdout.splitlines())
    for english in ("usage", "options", "show this help", "examples", "other commands", "Train or test"):
        assert english not in done.stdout


def test_help_of_every_word_is_chinese_and_fits_a_terminal():
    code = """if True:
        from framework.commands.line import words
        from framework.commands.line.parser import Parser
        for name in words.names():
            print(Parser(name, words.module(name)).format_help(), end=chr(0))
        """
    env = {**os.environ, "JOYSTICK_LANG": "zh", "COLUMNS": "80"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    *pages, _ = done.stdout.split(chr(0))
    for word, page in zip(words.names(), pages, strict=True):
        assert page.startswith("用法：python main.py " + ("[命令]" if word == words.DEFAULT else word))
        assert all(cells(line) <= WIDTH for line in page.splitlines()), word
        assert not re.search(r"^(usage|options|positional)", page, re.MULTILINE)


def test_usage_that_argparse_makes_is_whole():
    assert shown("compare", "--help").stdout.startswith("用法：python main.py compare [-h]")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (("--algo",), "参数 --algo/--run：需要一个值"),
        (("compare",), "缺少参数：RUN"),
        (("compare", "--at", "x", "a"), "参数 --at：无效的选择 'x'（可选：'common', 'last'）"),
        (("film",), "film 需要运行的名字"),
        (("--foo",), "未知选项 --foo"),
    ],
)
def test_mistakes_are_answered_in_chinese(line, sentence):
    done = shown(*line)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr


def test_an_output_without_chinese_letters_is_in_english_and_doctor_says_so():
    done = started("doctor", PYTHONIOENCODING="ascii")
    assert "note   language" in done.stdout
    assert "English; JOYSTICK_LANG=zh cannot be shown in ascii" in done.stdout
    assert "?" not in done.stdout


def test_doctor_says_how_to_change_the_language():
    assert re.search("^正常   语言 +中文；JOYSTICK_LANG=en 可切换$", shown("doctor").stdout, re.MULTILINE)
    assert "JOYSTICK_LANG=zh changes it" in shown("doctor", letters="en").stdout


def test_a_job_finds_the_error_of_a_chinese_child(tmp_path):
    errors = tmp_path / "errors.txt"
    done = started("--algo", "DQN", "--env", "Pendulum-v1")
    errors.write_text(f"a warning\n{done.stderr}", encoding="utf-8")
    code = f"""if True:
        from pathlib import Path
        from framework.jobs.children import Child
        print(Child(Path({str(errors)!r}), status=2).complaint().splitlines()[0])
        """
    env = {**os.environ, "JOYSTICK_LANG": "zh"}
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert told.stdout.startswith("错误：")
    assert Child(errors, status=2).complaint() == done.stderr.strip().splitlines()[-1]  # this process speaks English


def test_the_reference_page_in_chinese_is_current():
    page = (ROOT / "docs" / "zh" / "config.md").read_text(encoding="utf-8")
    write = "write it anew: JOYSTICK_LANG=zh python main.py describe all > docs/zh/config.md"
    assert page == started("describe", "all").stdout, write


def test_a_test_says_in_chinese_what_it_plays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], chinese: None
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["--algo", "QLearning", "--env", "FrozenLake-v1", "general_cfg.max_episode=2", "--into", "x"]) == 0
    capsys.readouterr()
    assert main(["test", "./x", "--episodes", "2"]) == 0
    assert "正在运行 2 个回合" in capsys.readouterr().out.splitlines()
