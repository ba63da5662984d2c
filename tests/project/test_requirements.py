"""What the package needs is declared once, completely, and nothing besides."""

import ast
import re
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import main
from config.own import env_packages
from framework.commands.work import doctor
from framework.distributed import ray_cluster
from framework.jobs import optuna_search
from tests.tools import house, requirements

ROOT = Path(__file__).parents[2]
MODULES = {"pyyaml": "yaml", "pillow": "PIL", "mlflow-skinny": "mlflow"}
"""Package -> the module that it brings, where it has another name."""
OF_ANOTHER = {
    "pydantic_core": "pydantic",  # its other half, of which it names the version
    "annotationlib": "",  # of Python 3.14
    "pygame": "gymnasium",  # of its extra classic-control
    "fsspec": "torch",
    "IPython": "",  # there wherever it is asked for: in a notebook
}
"""Module -> the declared package that it comes with; empty: it is not installed for us."""
NOT_IMPORTED = {
    "envpool": "envs/gym/pool.py imports it as a package that is installed",
    "tensorboard": "the viewer of tb_logs/",
    **dict.fromkeys(("s3fs", "gcsfs", "ossfs"), "fsspec finds it"),
}
"""Packages of extras that no module of ours imports -> why they are declared."""


def module_of(package: str) -> str:
    return MODULES.get(package.lower(), package.replace("-", "_"))


def packages(lines: list[str]) -> set[str]:
    return {Requirement(line).name for line in lines}


DEPENDENCIES = packages(requirements.project()["dependencies"])
EXTRAS = {name for needed in requirements.extras().values() for name in packages(needed)}
OF_ENVIRONMENTS = packages(
    [word for row in env_packages.PACKAGES for word in row.pip.replace('"', "").split() if word[0] != "-"]
) - {"mujoco", "gymnasium"}
"""Packages that doctor lists, and gymnasium's ids import, by the table of packages of environments."""
LOADERS = ("import_module", "find_spec", "optional")


@cache
def imported() -> dict[str, set[str]]:
    """Module of another project -> "top" and "inside": whether it is imported when a module of ours is, or later."""
    places = defaultdict(set)
    known = {*house.PACKAGES, "main", "joystick", *sys.stdlib_module_names}
    for path in house.modules().values():
        waiting: list[tuple[ast.AST, bool]] = [(house.tree_of(path), False)]
        while waiting:
            node, late = waiting.pop()
            for name in {name.split(".")[0] for name in names_of(node)} - known:
                places[name].add("inside" if late else "top")
            late = late or is_late(node)
            waiting += [(child, late) for child in ast.iter_child_nodes(node)]
    return places


def is_late(node: ast.AST) -> bool:
    """True for a function, and for what type checkers read."""
    checked = isinstance(node, ast.If) and "TYPE_CHECKING" in house.written(node.test)
    return checked or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def names_of(node: ast.AST) -> list[str]:
    """The modules that a statement, or a call of importlib with a name in quotes, imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [str(node.module)]
    match node:
        case ast.Call(func=called, args=[ast.Constant(value=str(name)), *_]) if house.written(called).endswith(LOADERS):
            return [name]
    return []


def test_the_files_are_made_of_the_metadata() -> None:
    assert (ROOT / "requirements.txt").read_text(encoding="utf-8") == requirements.of_a_run()
    assert (ROOT / "requirements-extra.txt").read_text(encoding="utf-8") == requirements.of_all_extras()
    for name in requirements.ENVIRONMENTS:
        assert (ROOT / f"requirements-{name}.txt").read_text(encoding="utf-8") == requirements.of_an_extra(name)


def test_everything_that_is_imported_is_declared() -> None:
    declared = {module_of(name) for name in DEPENDENCIES | EXTRAS} | OF_ANOTHER.keys()
    assert not imported().keys() - declared
    needed = {module_of(name) for name in DEPENDENCIES}
    always = {OF_ANOTHER.get(name, name) for name, places in imported().items() if "top" in places}
    assert always <= needed, "an extra is imported inside a function"


def test_everything_that_is_declared_is_imported() -> None:
    assert not {name for name in DEPENDENCIES if module_of(name) not in imported()}
    unused = {name for name in EXTRAS - OF_ENVIRONMENTS if module_of(name) not in imported()}
    assert unused <= NOT_IMPORTED.keys()


@pytest.mark.parametrize("name", sorted(main.REQUIRED))
def test_a_missing_package_is_answered_with_a_sentence_if_every_run_needs_it(name: str) -> None:
    """But Ray, whose absence is answered where it is started."""
    assert name in {module_of(package) for package in DEPENDENCIES}


def test_the_sentence_covers_all_packages() -> None:
    assert {module_of(package) for package in DEPENDENCIES} - main.REQUIRED == {"ray"}


def test_every_extra_has_a_line_in_doctor_with_its_versions() -> None:
    named = {word.strip('"') for _, pip in doctor.EXTRAS.values() for word in pip.split()}
    ranges = {str(each.name): each for needed in requirements.extras().values() for each in map(Requirement, needed)}
    ranges = {name: needed for name, needed in ranges.items() if name not in OF_ENVIRONMENTS}
    assert {Requirement(word).name for word in named} | {"mujoco"} == ranges.keys()
    for word in map(Requirement, named):
        floor = str(ranges[word.name].specifier).split(",")
        assert not word.specifier or str(word.specifier) in floor, word
    modules = {module for words in doctor.EXTRAS for module in words.split()}
    assert modules == {module_of(name) for name in ranges.keys() - {"gymnasium"}}


def test_versions_that_the_code_asks_for_are_those_that_are_declared() -> None:
    oldest = {"ray": ray_cluster.OLDEST, "optuna": optuna_search.OLDEST}
    lines = [*requirements.project()["dependencies"], *requirements.extras()["tune"]]
    floors = dict(map(requirements.parsed, lines))
    assert {name: floors[name] for name in oldest} == {name: ".".join(map(str, v)) for name, v in oldest.items()}
    pythons = str(requirements.project()["requires-python"])
    assert pythons == f">={'.'.join(map(str, doctor.OLDEST_PYTHON))}"


def test_the_tested_versions_are_of_the_declared_ranges() -> None:
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)$", text, re.MULTILINE))
    checks = list(requirements.of_checks())
    for needed in map(Requirement, [*requirements.declared(), *checks]):
        if needed.name in pins:
            assert needed.specifier.contains(pins[needed.name], prereleases=True), needed
    assert pins.keys() >= DEPENDENCIES | packages(checks)


def test_a_package_is_declared_with_one_range() -> None:
    """In requirements-dev.txt, too."""
    ranges = defaultdict(set)
    for needed in map(Requirement, [*requirements.declared(), *requirements.of_checks()]):
        ranges[needed.name].add(str(needed.specifier))
    assert not {name: found for name, found in ranges.items() if len(found) > 1}


def test_the_lowest_versions_are_constraints() -> None:
    lines = requirements.lowest().splitlines()
    assert "torch==2.9" in lines
    assert len(lines) == len(DEPENDENCIES)
    with pytest.raises(ValueError, match="has another form"):
        requirements.parsed("torch~=2.9")


def test_all_extras_are_one_but_for_the_loggers_that_send() -> None:
    table = requirements.extras()
    assert table.keys() - set(requirements.parts_of_all()) == {
        "wandb",
        "mlflow",
        "swanlab",
        "trackio",
        "storage",
        "envs",
        "robotics",
    }


def test_the_hashed_packages_are_the_tested_versions_of_all_that_a_run_needs() -> None:
    """But torch, which has builds in indexes of its own."""
    text = (ROOT / "requirements-hashed.txt").read_text(encoding="utf-8")
    blocks = [block for block in re.split(r"\n(?=\S)", text) if not block.startswith("#")]
    hashed = {Requirement(block.split(" ")[0]).name.lower(): block for block in blocks}
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", block) for block in blocks)
    tested = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    for name in DEPENDENCIES - {"torch"}:
        assert hashed[name.lower()].startswith(f"{name.lower()}=={tested[name]} "), name
