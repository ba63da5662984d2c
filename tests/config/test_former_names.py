"""Modules that a user's own code imports answer to the names that they had before they moved."""

import importlib
import sys
from pathlib import Path

import pytest

from config.own import former, objects


@pytest.mark.parametrize("name", sorted(former.FORMER))
def test_a_former_name_has_what_the_module_has(name: str) -> None:
    former.answer()
    module = importlib.import_module(name)
    for home in former.FORMER[name]:
        public = {key: value for key, value in vars(importlib.import_module(home)).items() if not key.startswith("_")}
        public = {key: value for key, value in public.items() if f"{home}.{key}" not in sys.modules}
        assert public
        assert {key: vars(module)[key] for key in public} == public


def test_code_of_the_users_own_imports_former_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "from config.schema import PositiveInt, AlgoConfig, mlp\nfrom algos.common import networks\n"
    (tmp_path / "own_of_before.py").write_text(source + "from algos.common.returns import gae\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "algos.common.networks", raising=False)
    assert objects.find("own_of_before:gae") is importlib.import_module("algos.common.maths.returns").gae


def test_no_module_has_a_former_name() -> None:
    root = Path(former.__file__).parents[2]
    for name in former.FORMER:
        path = root.joinpath(*name.split("."))
        assert not path.with_suffix(".py").exists(), name
        assert not (path / "__init__.py").exists(), name


def test_names_that_programs_and_settings_contain_lead_to_the_same_objects() -> None:
    for former_place, place, name in (
        ("framework.output.trajectories", "framework.dataset.trajectories", "read"),
        ("framework.output.tensorboard", "framework.record.tensorboard", "TensorBoard"),
    ):
        assert getattr(importlib.import_module(former_place), name) is getattr(importlib.import_module(place), name)
