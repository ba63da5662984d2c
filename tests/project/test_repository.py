"""The files for those who join, cite, or package the project agree with it."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = PROJECT["version"]
FILES = [
    ROOT / "CITATION.cff",
    ROOT / ".pre-commit-config.yaml",
    *ROOT.glob(".github/**/*.yml"),
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_each_file_is_yaml_with_a_mapping(file: Path) -> None:
    assert isinstance(yaml.safe_load(file.read_text(encoding="utf-8")), dict)


def test_the_citation_and_the_changes_name_the_version() -> None:
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == VERSION
    newest = re.findall(r"^## (\S+?)[,\s]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    assert newest == VERSION


def test_the_hosted_check_of_other_systems_runs_tests_that_exist() -> None:
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "check.yml").read_text())["jobs"]["systems"]
    assert {system.partition("-")[0] for system in job["strategy"]["matrix"]["system"]} == {"macos", "windows"}
    *_, files = (step["run"].partition("-n 0 ")[2].split() for step in job["steps"] if "run" in step)
    assert files
    assert all((ROOT / file).is_file() for file in files)


def test_the_hosted_check_is_make_check_with_every_python_that_the_package_names() -> None:
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "check.yml").read_text())["jobs"]["check"]
    assert [step["run"].split()[:2] for step in job["steps"] if "run" in step] == [["make", "check"]]
    named = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if name.startswith("Programming Language")]
    pythons = [name for name in named if "." in name]
    assert job["strategy"]["matrix"]["python"] == pythons
    assert PROJECT["requires-python"] == f">={pythons[0]}"


def test_the_lowest_and_the_newest_versions_are_tested_every_week() -> None:
    """`on` is true in YAML 1.1."""
    page = yaml.safe_load((ROOT / ".github" / "workflows" / "check.yml").read_text())
    assert page[True]["schedule"]
    job = page["jobs"]["versions"]
    assert [one["constraints"] for one in job["strategy"]["matrix"]["include"]] == ["lowest.txt", ""]
    assert [step["run"] for step in job["steps"] if "run" in step] == [
        "python -m tests.tools.requirements lowest > lowest.txt",
        "make test PYTHON=python CONSTRAINTS=${{ matrix.constraints }} ARGS=tests",
    ]


def test_the_container_installs_what_a_run_needs_and_starts_the_command() -> None:
    lines = (ROOT / "Containerfile").read_text().splitlines()
    assert "RUN pip install --no-cache-dir -r requirements.txt -c constraints.txt" in lines
    assert lines[-1] == 'ENTRYPOINT ["python", "main.py"]'
    ignored = (ROOT / ".dockerignore").read_text().split()
    for needed in ("main.py", "config", "algos", "envs", "framework", "presets", "requirements.txt", "constraints.txt"):
        assert (ROOT / needed).exists()
        assert needed not in ignored


def test_the_page_for_contributors_names_targets_and_files_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"make (\w+)", text)) <= targets
    for path in re.findall(r"\b((?:benchmarks|tests|docs)/[\w.]+)", text):
        assert (ROOT / path.rstrip(".")).exists(), path


def test_each_night_everything_that_is_promised_is_tried() -> None:
    text = (ROOT / ".github" / "workflows" / "stress.yml").read_text(encoding="utf-8")
    assert "schedule" in text
    commands = [step["run"] for step in yaml.safe_load(text)["jobs"]["stress"]["steps"] if "run" in step]
    assert "python -m tests.stress all --hours 1 --seed ${{ github.run_number }}" in commands
    for command in commands:
        if command.startswith("python -m tests.stress "):
            name = command.split()[3]
            assert name == "all" or (ROOT / "tests" / "stress" / f"{name}.py").exists()
