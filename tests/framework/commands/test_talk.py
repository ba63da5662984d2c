"""A person talks to a saved policy, and dialogues are filmed as text."""

import io
import re
from pathlib import Path
from typing import Any

import pytest

from envs.dialog import templates
from envs.dialog.acts import ANY, BYE, Act
from envs.dialog.config import Config
from envs.dialog.env import single
from envs.dialog.person import Person, parts
from main import main

EXPERT = ["--algo", "Expert", "--env", "mini", "general_cfg.env_name=dialog", "general_cfg.max_episode=4",
          "general_cfg.online_eval_episode=2", "general_cfg.seed=1", "general_cfg.save_fig=false",
          "--into", "tasks/expert"]  # fmt: skip


@pytest.fixture
def expert(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert main(EXPERT) == 0
    return tmp_path / "tasks" / "expert"


def talking(lines: str, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    return main(["talk", "expert", *words])


def test_a_person_talks_in_acts_and_in_sentences_and_the_dialogue_is_kept(
    expert: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {path: path.stat().st_mtime_ns for path in expert.rglob("*")}
    capsys.readouterr()
    lines = "restaurant\nThe food is indian. What is the phone?\nnonsense here\nhelp\nbye\n"
    assert talking(lines, monkeypatch, "--record", "said.txt") == 0
    shown = capsys.readouterr().out
    assert "it knows of the restaurant: food indian;" in shown
    assert re.search(r"system: .*The phone of the restaurant is \d{11}\.", shown)
    assert "'nonsense' is not a slot of restaurant; there are: address, area" in shown
    assert shown.count("You are the user.") == 2, "at the start and after help; no second dialogue begins"
    assert "strict 0, complete 0" in shown, "who leaves with an open question has not completed the dialogue"
    said = Path("said.txt").read_text()
    assert "user:   The food is indian. What is the phone?" in said
    assert "user:   Thank you, goodbye." in said
    assert files == {path: path.stat().st_mtime_ns for path in expert.rglob("*")}


def test_the_end_of_the_input_ends_the_dialogue(expert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert talking("", monkeypatch) == 0


def test_the_score_has_a_line_of_its_own_after_the_end_of_the_input(
    expert: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def ended(prompt: str) -> str:
        print(prompt, end="")
        asked.append(prompt)
        raise EOFError

    monkeypatch.setattr("builtins.input", ended)
    assert main(["talk", "expert"]) == 0
    assert f"{asked[0]}\n" in capsys.readouterr().out


def test_what_was_said_before_ctrl_c_is_kept(
    expert: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = iter(["restaurant; food indian"])

    def typing(prompt: str) -> str:
        for line in typed:
            return line
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", typing)
    assert main(["talk", "expert", "--record", "said.txt"]) == 130
    assert "user:   It is about a restaurant. The food is indian." in Path("said.txt").read_text()
    page = (Path(__file__).parents[3] / "docs" / "dialog.md").read_text()
    for line in [line for line in capsys.readouterr().out.splitlines() if line.startswith(("  (it knows", "system:"))]:
        assert line in page, "the page shows what is printed"


def test_what_cannot_be_talked_to_is_refused(
    expert: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cart = ["--algo", "REINFORCE", "--env", "CartPole-v1", "general_cfg.max_episode=1", "general_cfg.save_fig=false"]
    assert main([*cart, "--into", "tasks/cart"]) == 0
    assert main(["talk", "cart"]) == 2
    assert "CartPole-v1 has nobody to talk to" in capsys.readouterr().err
    several = ["--algo", "PPO", "general_cfg.env_name=toy", "env_cfg.id=poles", "general_cfg.max_total_step=64"]
    assert main([*several, "algo_cfg.batch_size=64", "general_cfg.save_fig=false", "--into", "tasks/poles"]) == 0
    assert main(["talk", "poles"]) == 2
    assert "poles has nobody to talk to" in capsys.readouterr().err
    assert talking("bye\n", monkeypatch, "--record", "tasks/expert/said.txt") == 2
    assert "--record: tasks/expert/said.txt is inside the task directory" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["test", "expert", "--record", "said.txt"])
    assert "--record is for" in capsys.readouterr().err


def test_film_writes_dialogues_as_text_and_as_a_page(expert: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["film", "expert", "--episodes", "2", "--into", "tasks/film"]) == 0
    videos = Path("tasks/film/videos")
    text = (videos / "dialogue.txt").read_text()
    assert text.startswith("Episode 1 (seed ")
    assert text.count("strict 1") == 2
    assert text.count("user:   Thank you, goodbye.") == 2
    page = (videos / "dialogue.html").read_text()
    assert page.count('<p class="says user">Thank you, goodbye.</p>') == 2
    assert "Dialogues" in Path("tasks/film/report.html").read_text()
    assert "dialogue.html" in capsys.readouterr().out


def test_pictures_of_dialogues_are_refused_with_what_there_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*EXPERT[:-1], str(tmp_path / "x"), "env_cfg.render_mode=rgb_array"]) == 2
    assert "dialogues have no picture; text writes them" in capsys.readouterr().err


SPOKEN = [
    Act("inform", "train"),
    Act("inform", "train", "leaveAt", "10:30"),
    Act("inform", "hotel", "area", ANY),
    Act("inform", "restaurant", "people", "3"),
    Act("inform", "hotel", "stay", "2"),
    Act("request", "taxi", "car type"),
    Act("inform", "hotel", "name", "old mill"),
    BYE,
]


@pytest.mark.parametrize("act", SPOKEN, ids=str)
def test_what_a_template_says_is_understood(act: Act) -> None:
    assert templates.understood(templates.user_says([act]), act.domain) == act


def test_a_line_is_split_at_semicolons_and_at_the_ends_of_sentences() -> None:
    assert parts("hotel; stars 4;; phone?") == ["hotel", "stars 4", "phone?"]
    assert parts("The area is east. What is the phone?") == ["The area is east.", "What is the phone?"]


def test_words_are_completed_from_domains_slots_and_values() -> None:
    env: Any = single(Config(id="mini"))
    env.reset(seed=0)
    person = Person(env.goal, env.tracker, input, print, 40, bool)
    assert person.candidates("re") == ["request", "restaurant"]
    assert person.candidates("restaurant pri") == ["pricerange"]
    assert person.candidates("inform restaurant pricerange c") == ["cheap"]
    assert person.candidates("restaurant; request restaurant ph") == ["phone"]
    assert person.candidates("restaurant; fo") == ["food"], "the domain is that of the act before"
    assert person.candidates("restaurant name amber k") == ["kitchen"], "what is missing of two words"
    assert person.candidates("restaurant name amber ") == ["kitchen", "pantry"]
    assert person.candidates("hotel ") == [], "this system knows restaurants alone"


def test_a_slot_of_two_words_is_completed() -> None:
    env: Any = single(Config(id="town"))
    env.reset(seed=0)
    person = Person(env.goal, env.tracker, input, print, 40, bool)
    assert person.candidates("request attraction entrance f") == ["fee"]
    assert person.candidates("train leaveat 05:1")[0].startswith("05:1"), "whatever the case"


def test_only_domains_that_the_system_knows_are_named() -> None:
    typed, shown = iter(["request", "It is about a hotel.", "bye"]), list[str]()
    env: Any = single(Config(id="mini"))
    env.talk(lambda prompt: next(typed), shown.append)
    env.reset(seed=0)
    assert "  a domain is missing: request DOMAIN; there are: restaurant" in shown
    assert "  this system does not know hotel; it knows restaurant" in shown
