"""run.json: what is written has the keys and types of RunFacts; what is read may be of any version and origin."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from framework.disk.facts import Circumstances, RunFacts
from framework.disk.task_dir import TaskDir, circumstances, new_folder
from framework.errors import TaskDirError
from tests.tools import facts_page

EARLIER: dict[str, Any] = {
    "command_line": ["--algo", "DQN"],
    "started": "2026-01-31 10:15:00 +0000",
    "python": "3.11.2",
    "platform": "Linux-6.1",
    "cores": 2,
    "cpu": None,
    "versions": {"torch": "2.5.0", "gymnasium": "1.1.0", "numpy": "2.1.0", "pydantic": "2.11.0", "ray": None},
    "git_commit": "0123456789abcdef+",
    "expected_return": 480.0,
    "preset": "CartPole-v1/DQN",
    "allow_import": [],
    "seed": 3,
    "data_return": None,
    "torch_threads": 1,
    "gpu": None,
    "repeatable": {"exact": True, "inexact_because": []},
    "outcome": "max_episode 6 reached",
    "finished": True,
    "step": 131,
    "episode": 6,
    "update": 4,
    "seconds": 0.5,
    "peak_memory": {"own": 1, "children": 0, "processes": 0},
    "best": 9.4,
    "best_update": 4,
    "random_return": 22.1,
    "worse_than_random": True,
    "can_film": True,
    "pauses": {"100": {"step": 104, "episode": 5, "update": 3, "mean": 9.4, "evaluations": 1}},
    "resumes": [{"from": "3", "started": "2026-01-31 10:15:00 +0000", "exact": None, "inexact_because": ["a"]}],
}
"""Content of a run.json, with the keys that runs had before RunFacts."""


def test_a_file_of_an_earlier_version_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(EARLIER))
    facts = TaskDir(tmp_path).facts()
    assert facts.model_dump(exclude_unset=True) == EARLIER
    assert (facts.has("gpu"), facts.has("score"), facts.score) == (True, False, None)
    RunFacts.model_validate(EARLIER)


def test_a_missing_or_damaged_file_has_no_facts(tmp_path: Path) -> None:
    assert TaskDir(tmp_path).facts() == RunFacts()
    for content in ("", "[1]", "{torn", "[" * 200_000):
        (tmp_path / "run.json").write_text(content)
        assert TaskDir(tmp_path).facts() == RunFacts()


@pytest.mark.parametrize(
    ("content", "known"),
    [
        ('{"step": NaN, "best": 2, "more": 1}', {"step": None, "best": 2}),
        ('{"step": true, "seconds": 1, "finished": "yes"}', {"step": None, "seconds": 1, "finished": None}),
        ('{"outcome": ["x"], "resumes": [1], "policies": {"a": 1}}', {"outcome": None, "resumes": None}),
        ('{"step": 1' + "0" * 4000 + ', "best": 1e999, "score": 3}', {"step": 10**4000, "best": float("inf")}),
    ],
)
def test_what_a_stranger_has_written_is_as_if_it_was_missing(
    tmp_path: Path, content: str, known: dict[str, Any]
) -> None:
    (tmp_path / "run.json").write_text(content)
    facts = TaskDir(tmp_path).facts()
    assert {key: getattr(facts, key) for key in known} == known
    assert type(facts.seconds) in (int, type(None)), "a whole number stays one"


@pytest.mark.parametrize("facts", [{"steps": 1}, {"step": 1.0}, {"finished": 1}, {"numbers": ("a",)}])
def test_a_key_or_a_type_that_is_not_that_of_a_field_is_not_written(tmp_path: Path, facts: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TaskDir(tmp_path).write_run(facts)
    assert not list(tmp_path.iterdir())


def test_keys_that_this_version_does_not_know_stay_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"of_a_later_version": [1], "step": 3}')
    TaskDir(tmp_path).write_run({"step": 4, "finished": False})
    assert json.loads((tmp_path / "run.json").read_text()) == {"of_a_later_version": [1], "step": 4, "finished": False}


def test_the_circumstances_of_a_run_are_those_of_the_model() -> None:
    assert circumstances(["--algo", "DQN"]).keys() <= Circumstances.model_fields.keys()
    Circumstances.model_validate(circumstances([]))


def test_the_page_has_a_row_for_each_key() -> None:
    text = facts_page.PAGE.read_text(encoding="utf-8")
    assert facts_page.table() in text, "write it anew: python -m tests.tools.facts_page"
    assert facts_page.written(text) == text
    assert "|  |" not in facts_page.table().partition("\n")[2], "each key has a help text"


def test_the_page_in_chinese_has_a_row_for_each_key() -> None:
    text = (facts_page.PAGE.parent / "zh" / facts_page.PAGE.name).read_text(encoding="utf-8")
    [rows] = re.findall(r"(?m)^\| run\.json 的键 \| \|\n\|---\|---\|\n((?:\|.*\n)*)", text)
    assert re.findall(r"(?m)^\| (\w+) \|", rows) == list(RunFacts.model_fields)


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        ("tb_logs", Path.touch, "in the place of a folder of the run; move it away"),
        ("results", Path.touch, "in the place of a folder of the run; move it away"),
        (".lock", Path.mkdir, "cannot write to"),
    ],
)
def test_what_is_in_the_place_of_a_folder_or_a_file_of_a_run_is_named(
    tmp_path: Path, name: str, make: Any, message: str
) -> None:
    make(tmp_path / name)
    with pytest.raises(TaskDirError, match=re.escape(message)) as error:
        TaskDir(tmp_path).open()
    assert str(tmp_path / name) in str(error.value)


def test_a_url_in_the_place_of_a_folder_is_shown_as_it_was_written() -> None:
    with pytest.raises(TaskDirError, match=r"^s3://a/b: only what trains is copied to a store"):
        new_folder("compare", "CartPole-v1", "PPO", Path("s3://a/b"))
