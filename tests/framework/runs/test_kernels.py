"""general_cfg.kernels: a run records the kernels that it computes with, and a resumed run keeps them, whatever this
machine would choose by then."""

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import joystick
from algos.common.fast import kernels, measuring
from algos.common.fast.measuring import Choice
from config.model.kernels import Kernels
from config.read.loader import ConfigError
from framework.assemble.kernels import with_kernels
from main import main
from tests.tools.config_fixtures import loaded

THIS = Kernels(products=1, tanh=1)
OTHER = Kernels(few_rows=1 << 18, narrow_gradients=1)
"""Kernels whose numbers differ in their last bits from the first lines of a run on."""
RUN = [
    "general_cfg.env_name=toy", "env_cfg.id=target", "env_cfg.n_envs=2", "general_cfg.algo_name=PPO",
    "algo_cfg.batch_size=32", "algo_cfg.sgd_batch_size=16", "general_cfg.max_total_step=96", "general_cfg.seed=1",
    "general_cfg.save_fig=false", "general_cfg.loggers=[csv]", "general_cfg.online_eval=false",
    "general_cfg.online_eval_episode=2", "general_cfg.save_best_model=false",
]  # fmt: skip


def machine_says(monkeypatch: pytest.MonkeyPatch, kernels: Kernels) -> None:
    """The user's cache has this answer from now on."""
    monkeypatch.setattr(measuring, "chosen", lambda: Choice(kernels, {}))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with two runs of a machine that chooses THIS: whole and parts, which has paused in the middle."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        machine_says(patch, THIS)
        assert main([*RUN, "--into", "whole"]) == 0
        assert main([*RUN, "--into", "parts", "--pause-at-step", "64"]) == 0
    return folder


@pytest.fixture
def whole(trained: Path) -> Path:
    return trained / "whole"


@pytest.fixture(autouse=True)
def parts(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the run that has paused, on a machine that chooses OTHER."""
    monkeypatch.chdir(tmp_path)
    machine_says(monkeypatch, OTHER)
    shutil.copytree(trained / "parts", tmp_path / "tasks/parts")
    return tmp_path / "tasks/parts"


def files_of(task: Path) -> list[bytes]:
    """Returns what depends on the last bits."""
    newest = max(task.glob("models/[0-9]*/state.safetensors"), key=lambda path: int(path.parent.name))
    return [(task / "results/train.csv").read_bytes(), newest.read_bytes()]


def recorded(task: Path) -> Any:
    return yaml.safe_load((task / "config.yaml").read_text())["general_cfg"]["kernels"]


def facts(task: Path) -> Any:
    return json.loads((task / "run.json").read_text())


def test_a_resumed_run_keeps_its_kernels_where_the_cache_says_others(whole: Path, parts: Path) -> None:
    assert main(["--resume", "parts"]) == 0
    assert files_of(parts) == files_of(whole)
    assert facts(parts)["resumes"][-1]["exact"] is True
    assert recorded(parts) == recorded(whole) == THIS.model_dump()
    assert facts(parts)["kernels"] == facts(whole)["kernels"] == "products 1, tanh 1"


def test_the_kernels_decide_the_last_bits(whole: Path) -> None:
    assert main([*RUN, "--into", "tasks/other"]) == 0
    assert files_of(Path("tasks/other"))[1] != files_of(whole)[1]
    assert recorded(Path("tasks/other")) == OTHER.model_dump()


def test_the_settings_of_a_run_are_the_same_run_on_another_machine(whole: Path) -> None:
    assert main(["--yaml", str(whole / "config.yaml"), "--into", "tasks/again"]) == 0
    assert files_of(Path("tasks/again")) == files_of(whole)


def test_a_resume_that_asks_for_others_gets_them_and_is_not_exact(parts: Path) -> None:
    assert main(["--resume", "parts", "general_cfg.kernels={few_rows: 262144}"]) == 0
    entry = facts(parts)["resumes"][-1]
    assert entry["inexact_because"] == ["kernels: products 1, tanh 1 -> few_rows 262144"]
    assert recorded(parts)["few_rows"] == 262144
    assert kernels.now == Kernels(few_rows=1 << 18)


def test_null_on_a_resume_means_those_of_the_run(parts: Path) -> None:
    assert main(["--resume", "parts", "general_cfg.kernels=null"]) == 0
    assert recorded(parts) == THIS.model_dump()
    assert facts(parts)["resumes"][-1]["exact"] is True


@pytest.mark.parametrize(("library", "amount"), [("oneDNN", 2_000_000), ("torch", None)])
def test_a_run_that_is_older_than_the_record_goes_on_with_the_fixed_kernels(
    library: str, amount: int | None, parts: Path
) -> None:
    """Its checkpoints name the library of its products."""
    config = parts / "config.yaml"
    config.write_text("".join(line for line in config.read_text().splitlines(True) if "kernels:" not in line))
    for manifest in parts.glob("models/[0-9]*/manifest.json"):
        content = json.loads(manifest.read_bytes().splitlines()[0])
        del content["facts"]["config"]["general_cfg"]["kernels"], content["facts"]["exactness"]["kernels"]
        content["facts"]["exactness"]["matrix_products"] = library
        text = json.dumps(content, sort_keys=True).encode()
        manifest.write_bytes(text + b"\n" + hashlib.sha256(text).hexdigest().encode() + b"\n")
    assert main(["--resume", "parts"]) == 0
    before = kernels.FIXED.model_copy(update={"products": amount, "compiled_products": amount})
    assert recorded(parts) == before.model_dump()
    assert facts(parts)["resumes"][-1]["exact"] is True


def test_two_runs_in_one_process_compute_each_with_its_own(whole: Path, parts: Path) -> None:
    general = {"env_name": "toy", "save_fig": False, "max_total_step": 100}
    with joystick.Run.resume("parts") as first, joystick.Run("DQN", "match", seed=2, general_cfg=general) as second:
        used = []
        for _ in range(2):
            second.train(16)
            used.append(kernels.now)
            first.train(16)
            used.append(kernels.now)
    assert used == [OTHER, THIS] * 2
    assert files_of(parts)[1] == files_of(whole)[1]


def test_a_model_plays_with_the_kernels_of_its_run(whole: Path) -> None:
    assert main(["evaluate", str(whole)]) == 0
    assert kernels.now == THIS


def test_a_record_that_was_edited_to_nonsense_is_refused(parts: Path) -> None:
    config = parts / "config.yaml"
    config.write_text(config.read_text().replace("tanh: 1,", "tanh: fast,"))
    with pytest.raises(ConfigError, match=r"general_cfg.kernels: Input should be a valid integer"):
        with_kernels(replace(loaded(None, "general_cfg.seed=1"), task=parts))
