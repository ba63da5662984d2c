"""Command doctor --compile: gradient steps of runs, compiled ahead."""

from pathlib import Path

import pytest

from algos.common.fast import compiled_steps
from config.read.loader import load
from framework.assemble import compiling
from framework.catalog import ALGOS, ENVS
from framework.commands.work import precompile
from main import main
from tests.tools.compiler import can_compile, programs

__all__ = ["can_compile", "programs"]
YAML = """
general_cfg: {algo_name: TD3, env_name: toy, max_total_step: %d, max_episode: -1}
algo_cfg: {batch_size: 16, learning_starts: 16, start_steps: 16, actor_layers: [{layer_type: linear, layer_size: [8]}],
           critic_layers: [{layer_type: linear, layer_size: [8]}]}
env_cfg: {id: target}
"""


def test_the_steps_of_a_file_are_compiled_and_nothing_is_kept_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("td3.yaml").write_text(YAML % 1_000_000)
    assert main(["doctor", "--compile", "--yaml", "td3.yaml"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[2][: len(" step 1 of 2")] for line in lines] == [" step 1 of 2", " step 2 of 2"]
    assert {line.split()[-1] for line in lines} == set(programs)
    assert [path.name for path in tmp_path.iterdir()] == ["td3.yaml"]


@pytest.mark.usefixtures("programs")
def test_a_run_that_is_not_compiled_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("short.yaml").write_text(YAML % 100)
    assert main(["doctor", "--compile", "--yaml", "short.yaml"]) == 0
    assert capsys.readouterr().out == "short.yaml: such a run is not compiled (general_cfg.compile)\n"


def test_without_a_compiler_that_is_what_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--compile"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(precompile.COMMON)
    assert all("steps are not compiled here" in line for line in lines)


def test_a_file_is_for_compiling(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["doctor", "--yaml", "a.yaml"])
    assert "doctor reads --yaml with --compile only" in capsys.readouterr().err


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize(("algo", "env"), precompile.COMMON)
def test_the_common_runs_compile(algo: str, env: str) -> None:
    config = load(None, [], algo=algo, env=env, find_algo=ALGOS, find_env=ENVS)
    assert compiling.with_compile(config).general.compile == "on"


@pytest.mark.usefixtures("programs")
def test_nothing_is_compiled_that_no_folder_keeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compiled_steps, "folder", lambda: compiled_steps.Folder(tmp_path, "/cache is full"))
    assert main(["doctor", "--compile"]) == 0
    assert "nothing would be kept: /cache is full" in capsys.readouterr().out
