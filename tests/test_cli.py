"""The command line: every word is understood, or answered with the nearest one, before anything is created."""

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import main
from config import describe
from framework import catalog
from tests.config_fixtures import ENVS, QUICKSTART, preset_root, task_root

ROOT = Path(__file__).parent.parent

__all__ = ["preset_root", "task_root"]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[tuple]]:
    """Runs are recorded, not run; the working directory is empty and stays so."""
    recorded: list[tuple] = []
    session = ModuleType("framework.runs.entry")
    session.run = lambda config, argv: recorded.append(("run", config, argv)) or 0
    session.dry_run = lambda config: recorded.append(("dry_run", config)) or 0
    monkeypatch.setitem(sys.modules, "framework.runs.entry", session)
    monkeypatch.setattr(catalog, "ENVS", ENVS)
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    yield recorded
    assert list(folder.iterdir()) == []


def run(*argv: str) -> int:
    """The exit status, also where argparse ends the program."""
    try:
        return main.main(list(argv))
    except SystemExit as end:
        return int(end.code or 0)


def command(*argv: str, code: str = "import main; main.main()", **options: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code, *argv], cwd=ROOT, capture_output=True, timeout=60, check=False, **options
    )


def test_a_valid_configuration_is_handed_over(calls: list[tuple]) -> None:
    argv = ["--yaml", str(QUICKSTART), "algo_cfg.lr=3e-4"]
    assert run(*argv) == 0
    [(kind, config, command_line)] = calls
    assert (kind, config.algo.lr, command_line) == ("run", 3e-4, argv)


def test_without_a_word_the_defaults_run(calls: list[tuple]) -> None:
    """COMPAT 0"""
    assert run() == 0
    assert (calls[0][1].general.algo_name, calls[0][1].env.id) == ("DQN", "CartPole-v1")


def test_a_dry_run_is_handed_over_as_such(calls: list[tuple]) -> None:
    assert run("general_cfg.seed=4", "--dry-run") == 0
    assert (calls[0][0], calls[0][1].general.seed) == ("dry_run", 4)


@pytest.mark.parametrize("setting", ["algo_cfg.batch_sise=1", "general_cfg.lr=1", "algo_cfg.lr=fast", "lr=1"])
def test_a_wrong_configuration_ends_with_status_2_and_no_traceback(
    calls: list[tuple], capsys: pytest.CaptureFixture[str], setting: str
) -> None:
    """CFG-1, CFG-2, CFG-3: nothing is created; the fixture looks."""
    assert run(setting) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("command line: ")
    assert err.endswith("Nothing was started. Fix the problem above.\n")
    assert calls == []


def test_a_bare_setting_is_sent_to_its_section(calls: list[tuple], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("lr=3e-4") == 2
    assert "did you mean algo_cfg.lr=3e-4?" in capsys.readouterr().err


def test_the_configuration_can_be_printed_and_used(
    calls: list[tuple], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """CFG-9: only the YAML goes to stdout."""
    assert run("--yaml", str(QUICKSTART), "algo_cfg.lr=3e-4", "--print-config") == 0
    printed = capsys.readouterr().out
    (tmp_path / "printed.yaml").write_text(printed)
    assert run("--yaml", str(tmp_path / "printed.yaml"), "--print-config") == 0
    assert capsys.readouterr().out == printed
    assert calls == []


def test_flags_reach_the_configuration(
    calls: list[tuple], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, task_root: Path
) -> None:
    run("--algo", "ppo", "--env", "Nothing-v0")
    config = calls[0][1]
    assert (config.general.algo_name, config.env.id) == ("PPO", "Nothing-v0")
    assert any("preset" in note for note in config.notes)
    run("--resume", str(task_root / "Train_CartPole-v1_DQN_20260131-101500"))
    assert calls[1][1].algo.lr == 0.5
    run("--allow-import", "a", "--allow-import", "b.c", "env_cfg.id=b.c:X")
    assert calls[2][1].env.id == "b.c:X"


@pytest.mark.parametrize(
    ("argv", "answer"),
    [
        (["--ymal", "f"], "unknown flag --ymal; did you mean --yaml?"),
        (["--dryrun"], "unknown flag --dryrun; did you mean --dry-run?"),
        (["lst", "algos"], "'lst' is neither a command nor section.key=value; did you mean list?"),
        (["describ", "DQN"], "did you mean describe?"),
        (["list", "algo"], "nothing to list under 'algo'; did you mean algos?"),
        (["list", "presets", "foo", "bar"], "unexpected argument 'bar'"),
        (["describe", "DQNN"], "no topic 'DQNN'; did you mean DQN?"),
        (["describe", "zzzz"], "no topic 'zzzz'; known: general, all, "),
        (["--yaml"], "--yaml: expected one argument"),
        (["--resume", "x", "--algo", "PPO"], "leave out --algo and --env"),
        (["--algo", ""], "--algo: nothing was given"),
        (["--env", " "], "--env: nothing was given"),
        (["--yaml="], "--yaml: nothing was given"),
        (["--resume", "", "--algo", "PPO"], "--resume: nothing was given"),
        (["--into", ""], "--into: nothing was given"),
        (["--allow-import", ""], "--allow-import: nothing was given"),
        (["--algo", "PPO", "general_cfg.algo_name=DQN"], "--algo and general_cfg.algo_name both set the algorithm"),
        (["--env", "A-v0", "env_cfg.id=B-v0"], "--env and env_cfg.id both set the environment"),
    ],
)
def test_a_word_that_is_not_understood_is_answered_with_the_nearest(
    calls: list[tuple], capsys: pytest.CaptureFixture[str], argv: list[str], answer: str
) -> None:
    assert run(*argv) == 2
    assert answer in capsys.readouterr().err


def test_help_fits_in_80_columns_and_names_everything(calls: list[tuple], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) < 80
    words = (
        "--yaml --algo --env --resume --allow-import --print-config --dry-run --version list describe schema examples:"
    )
    for word in [*words.split(), "section.key=value", "# yaml-language-server: $schema="]:
        assert word in text


def test_names_and_settings_can_be_looked_up(calls: list[tuple], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "algos") == run("list", "envs") == run("list", "presets") == 0
    assert run("describe", "dqn") == run("describe", "gym") == run("describe", "general") == 0
    text = capsys.readouterr().out
    assert re.search("^DQN +Deep Q-network", text, re.MULTILINE)
    assert "- `lr` (a number above 0; default 0.0002): Learning rate." in text
    assert "- `mode` (train or test; default train): train, or test a saved model." in text
    assert "## env_cfg: gym" in text


def test_presets_are_listed_with_what_they_promise(preset_root: Path) -> None:
    text = describe.listing("presets", catalog.ALGOS, ENVS, preset_root)
    assert "Acrobot-v1/PPO   Return -85 in about 30 s: Acrobot-v1/PPO\n" in text
    assert describe.listing("presets", catalog.ALGOS, ENVS, preset_root / "none") == "no presets\n"


def test_a_comment_of_a_preset_is_a_whole_sentence_where_it_is_listed() -> None:
    for line in describe.listing("presets", catalog.ALGOS, catalog.ENVS).splitlines():
        assert line.endswith((".", ")")), line


def test_the_schema_is_json_and_says_how_to_use_it(calls: list[tuple], capsys: pytest.CaptureFixture[str]) -> None:
    """CFG-10"""
    assert run("schema") == 0
    schema = json.loads(capsys.readouterr().out)
    assert "# yaml-language-server: $schema=" in schema["$comment"]


def test_the_reference_page_is_current() -> None:
    page = ROOT / "docs" / "config.md"
    fresh = describe.reference(catalog.ALGOS, catalog.ENVS)
    assert page.read_text(encoding="utf-8") == fresh, "write it anew: python main.py describe all > docs/config.md"


def test_help_and_a_wrong_config_import_nothing_heavy() -> None:
    code = (
        "import sys, main; status = main.main(['nonsense=1']); heavy = {'torch', 'matplotlib', 'tensorboard', 'ray'};"
        "sys.exit(3 if heavy & set(sys.modules) else status)"
    )
    assert command(code=code).returncode == 2


@pytest.mark.parametrize("words", [["main.py", "describe", "general"], ["benchmarks/learning.py"]])
def test_a_closed_pipe_ends_quietly(words: list[str]) -> None:
    """OSX-6: the reader has gone before the first word."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, *words], cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_closed_stdout_is_no_reason_to_crash() -> None:
    """OSX-6"""
    done = command(
        code="import os, sys; os.close(1); sys.stdout = None; import main; sys.exit(main.main(['list', 'algos']))"
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_console_that_lacks_a_character_prints_another(tmp_path: Path) -> None:
    """OSX-3: an old Windows console."""
    path = tmp_path / "目录.yaml"
    path.write_text("general_cfg:\n  sead: é目\n", encoding="utf-8")
    done = command(
        "--yaml",
        str(path),
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
        code="import sys, main; sys.exit(main.main())",
    )
    assert done.returncode == 2
    assert b"??.yaml:2: general_cfg.sead: unknown setting; did you mean seed?" in done.stderr
    assert b"Traceback" not in done.stderr


def test_streams_that_cannot_be_reconfigured_are_left_alone(
    calls: list[tuple], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert run("list", "algos") == 0


@pytest.mark.parametrize(
    ("package", "words", "command_"),
    [
        ("Box2D", ["env_cfg.id=LunarLander-v3"], 'pip install "gymnasium[box2d]"'),
        ("pygame", ["env_cfg.id=LunarLander-v3"], 'pip install "gymnasium[box2d]"'),
        ("mujoco", ["--algo", "PPO", "--env", "Hopper-v5"], 'pip install "gymnasium[mujoco]"'),
        ("ale_py", ["--algo", "PPO", "--env", "ALE/Pong-v5"], "pip install ale-py"),
        ("pygame", ["env_cfg.render_mode=rgb_array"], 'pip install "gymnasium[classic-control]"'),
    ],
)
def test_a_missing_package_is_one_line_with_the_command_that_installs_it(
    package: str, words: list[str], command_: str, tmp_path: Path
) -> None:
    """In a process of its own, to which the package is not there; nothing is created."""
    code = (
        "import importlib.util, sys\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        f"sys.modules[{package!r}] = None\n"
        "found = importlib.util.find_spec\n"
        f"importlib.util.find_spec = lambda name, *more: None if name == {package!r} else found(name, *more)\n"
        "import main\n"
        "sys.exit(main.main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    problem = [line for line in done.stderr.splitlines() if line.startswith(("command line: ", "--env: "))]
    assert (done.returncode, len(problem), list(tmp_path.iterdir())) == (2, 1, []), done.stderr
    assert command_ in problem[0]
    assert "Traceback" not in done.stderr
