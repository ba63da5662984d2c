"""A text of any depth is answered with a sentence. In processes of their own: a stack that overflows ends a process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from config.program import ROOT
from config.read import yaml_reader
from tests.stress import fuzz

DEEP = {
    "lists": "[" * 25_000, "blocks": "- " * 25_000, "mappings": "{" * 25_000, "pairs": "[a: " * 25_000,
    "mixed": "[{a: " * 25_000, "keys": "? " * 25_000, "closed": "[" * 25_000 + "]" * 25_000,
    "indented": "\n".join(" " * depth + "a:" for depth in range(1_000)),
    "dashes": "\n".join(" " * 2 * depth + "- a:" for depth in range(500)),
    "aliases": "\n".join(["a: &x0 [1]", *(f"a{n}: &x{n} [*x{n - 1}]" for n in range(1, 500))]),
    "itself": "a: &x [*x]", "anchors": "".join(f"&a{n} [" for n in range(9_000)),
    "tags": "!!seq [" * 25_000, "large": "[" * 2**20,
}  # fmt: skip
"""Texts that are nested too deep, as far as they are read."""
EACH = """
import sys
from config.read import yaml_reader
for line in sys.stdin:
    try:
        yaml_reader.parse(eval(line), "file")
    except yaml_reader.DocumentError as error:
        print(error)
"""

WATCH = """
import json, sys
from pathlib import Path
from framework.live.overview import Overview
overview = Overview(Path(sys.argv[1]))
print(json.dumps({run.name: overview.row(run)["algorithm"] for run in overview.runs()}))
"""


def run(*words: str, text: str = "", folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], input=text, capture_output=True, text=True, timeout=300, cwd=folder or ROOT,
    )  # fmt: skip


def test_each_is_answered_in_a_line():
    done = run("-c", EACH, text="".join(f"{text!r}\n" for text in DEEP.values()))
    assert (done.returncode, done.stderr) == (0, "")
    sentences = dict(zip(DEEP, done.stdout.splitlines(), strict=True))
    expected = dict.fromkeys(DEEP, "more than 50 levels of nesting")
    expected |= dict.fromkeys(("aliases", "itself"), "its aliases (*name) expand to too many values")
    assert {name: words for name, words in expected.items() if not sentences[name].endswith(words)} == {}


def test_a_file_of_settings_is_refused(tmp_path):
    (tmp_path / "deep.yaml").write_text(DEEP["lists"])
    done = run(str(ROOT / "main.py"), "--yaml", "deep.yaml", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("deep.yaml:1:")
    assert [path.name for path in tmp_path.iterdir()] == ["deep.yaml"]


def test_what_looks_at_runs_goes_on_beside_such_a_folder(tmp_path):
    for name, text in (
        ("bad", DEEP["mappings"]),
        ("good", "general_cfg: {algo_name: PPO}\nenv_cfg: {id: CartPole-v1}"),
    ):
        (tmp_path / "tasks" / name).mkdir(parents=True)
        (tmp_path / "tasks" / name / "config.yaml").write_text(text)
    done = run(str(ROOT / "main.py"), "runs", "--json", folder=tmp_path)
    assert done.returncode == 0
    assert {run["name"]: run["algorithm"] for run in json.loads(done.stdout)} == {"bad": "?", "good": "PPO"}
    done = run("-c", WATCH, str(tmp_path / "tasks"))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"bad": "?", "good": "PPO"}


def test_both_parsers_stop_at_the_same_depth():
    for depth, fine in ((50, True), (51, False)):
        text = "[" * (depth - 1) + "1" + "]" * (depth - 1)
        fast = yaml_reader._parse_fast(text, "file", "", True)
        assert (fast is not None) is fine
        if not fine:
            with pytest.raises(yaml_reader.DocumentError, match="more than 50 levels"):
                yaml_reader.parse(text, "file")


def test_strange_configurations_are_answered():
    """A share of those that tests/stress/fuzz.py reads."""
    report = fuzz.batch("YAML and presets", "structure", "2", 30)
    assert (report["counts"], report["tried"] > 0) == ({}, True), report["faults"]
