"""A new command is one file: it is listed, parsed, answered and refused without a change elsewhere."""

import sys
from pathlib import Path

import pytest

from framework import commands
from main import main

GREET = '''\
"""Greets somebody."""

HELP = {"greet NAME [--times N]": "say hello"}


def flags(parser):
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--times", metavar="N", type=int, default=1, help="how often")


def check(request):
    if request.times > 3:
        yield f"--times {request.times} is too often"


def run(request):
    print("\\n".join([f"hello {request.name}"] * request.times))
    return 0
'''


@pytest.fixture(autouse=True)
def greet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file stands in a second folder of the package."""
    (tmp_path / "greet.py").write_text(GREET)
    monkeypatch.setattr(commands, "__path__", [*commands.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "framework.commands.greet", raising=False)


def refused(*words: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as end:
        main([*words])
    assert end.value.code == 2
    return capsys.readouterr().err


def shown(*words: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as end:
        main([*words, "--help"])
    assert end.value.code == 0
    return capsys.readouterr().out


def test_it_is_listed_and_shows_its_own_flags(capsys: pytest.CaptureFixture[str]) -> None:
    assert "  python main.py greet NAME [--times N]           say hello\n" in shown(capsys=capsys)
    own = shown("greet", capsys=capsys)
    assert own.startswith("usage: python main.py greet ")
    assert "--times N" in own
    assert "--yaml" not in own


def test_it_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["greet", "you", "--times", "2"]) == 0
    assert capsys.readouterr().out == "hello you\nhello you\n"


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["greet", "you", "--tims", "2"], "unknown flag --tims; did you mean --times?"),
        (["greet", "you", "--times", "4"], "--times 4 is too often"),
        (["greet", "you", "--worst"], "unknown flag --worst; it is for: python main.py film NAME"),
        (["--times", "2"], "--times is for: python main.py greet NAME"),
        (["gret", "you"], "did you mean greet?"),
        (["--algo", "PPO", "greet"], "'greet' comes first: python main.py greet ..."),
    ],
)
def test_a_wrong_word_is_refused(words: list[str], answer: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer in refused(*words, capsys=capsys)


@pytest.mark.parametrize(("word", "flag"), [("film", "--grid"), ("talk", "--record"), ("bench", "--workers")])
def test_a_word_shows_its_own_flags_and_no_others(word: str, flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(word, capsys=capsys)
    assert flag in text
    assert "--seeds" not in text
    assert flag not in shown(capsys=capsys).partition("examples:")[0]
