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
from typing import Any

import pytest

import main
from config.tell import describe
from framework import catalog
from framework.commands import work
from framework.commands.line import parser, start
from tests.tools.config_fixtures import ENVS, QUICKSTART, preset_root, task_root
from tests.tools.paths import in_the_suite
from tests.tools.process import forked_program

ROOT = Path(__file__).parents[3]

__all__ = ["preset_root", "task_root"]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[tuple]]:
    """Runs are recorded, not run; the working directory is empty and stays so."""
    recorded: list[tuple] = []
    session = ModuleType("framework.commands.work.entry")
    session.run = lambda config, argv: recorded.append(("run", config, argv)) or 0
    session.dry_run = lambda config: recorded.append(("dry_run", config)) or 0
    monkeypatch.setitem(sys.modules, "framework.commands.work.entry", session)
    monkeypatch.setattr(work, "entry", session, raising=False)
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
        (["describe", "clip"], "no topic 'clip'; with clip in their names: "),
        (["--yaml"], "--yaml/-f: expected one argument"),
        (["--resume", "x", "--algo", "PPO"], "leave out --algo and --env"),
        (["--algo", ""], "--algo/--run: nothing was given"),
        (["--env", " "], "--env: nothing was given"),
        (["--yaml="], "--yaml/-f: nothing was given"),
        (["--resume", "", "--algo", "PPO"], "--resume: nothing was given"),
        (["--into", ""], "--into: nothing was given"),
        (["--allow-import", ""], "--allow-import: nothing was given"),
        (["--allow-import", "a,b.c"], "each has a flag of its own: --allow-import a --allow-import b.c"),
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
    assert "- `lr` (a number above 0 or a schedule; default 0.0005): Learning rate." in text
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


@pytest.mark.parametrize("word", ["runs", "list"])
def test_an_output_that_is_full_is_answered_in_a_line(word: str) -> None:
    with open("/dev/full", "wb") as full:
        words = [sys.executable, "main.py", *([word, "algos"] if word == "list" else [word])]
        done = subprocess.run(words, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stderr) == (2, b"error: writing: No space left on device\n")


def test_runs_are_listed_although_stdout_is_closed() -> None:
    done = command(code="import sys; sys.stdout = None; import main; sys.exit(main.main(['runs']))")
    assert (done.returncode, done.stderr) == (0, b"")


def test_ctrl_c_while_a_command_is_looked_up_is_a_line() -> None:
    code = "import main, sys; main.commands.answer = lambda argv: (_ for _ in ()).throw(KeyboardInterrupt()); "
    done = command(code=code + "sys.exit(main.main([]))")
    assert (done.returncode, done.stderr) == (130, b"stopped\n")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_that_what_it_interrupts_wraps_is_a_line() -> None:
    """pydantic does, while it builds a class."""
    code = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
import main
def answer(argv):
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt as error:
        raise RuntimeError("building a class") from error
main.commands.answer = answer
sys.exit(main.main([]))"""
    done = command(code=code)
    assert (done.returncode, done.stderr) == (130, b"stopped\n")


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


MISSING = [
    ("Box2D", ["env_cfg.id=LunarLander-v3"], 'pip install "gymnasium[box2d]"'),
    ("pygame", ["env_cfg.id=LunarLander-v3"], 'pip install "gymnasium[box2d]"'),
    ("mujoco", ["--algo", "PPO", "--env", "Hopper-v5"], 'pip install "gymnasium[mujoco]"'),
    ("ale_py", ["--algo", "PPO", "--env", "ALE/Pong-v5"], "pip install ale-py"),
    ("pygame", ["env_cfg.render_mode=rgb_array"], 'pip install "gymnasium[classic-control]"'),
]


@pytest.mark.parametrize(("package", "words", "command_"), in_the_suite(MISSING, *MISSING[2:]))
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


@pytest.mark.parametrize("frozen", [True, False])
def test_a_run_leaves_torch_to_no_garbage_collector(frozen: bool, tmp_path: Path, monkeypatch: Any) -> None:
    """Unless torch was there before, with what a program has made of it, as in a forked process. What was garbage is
    collected first, and what becomes garbage is collected later."""
    monkeypatch.chdir(tmp_path)
    words = ["--algo=QLearning", "--env=FrozenLake-v1", "general_cfg.max_total_step=20", "general_cfg.save_fig=false"]
    code = (
        "import gc, sys, weakref\n"
        "gc.unfreeze()\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "import main\n"
        "from framework.assemble import fit\n"
        "class Loop:\n"
        "    def __init__(self): self.me = self\n"
        "loops = [Loop()]\n"
        "found = [weakref.ref(loops[0])]\n"
        "check = fit.check\n"
        "fit.check = lambda config: (check(config), loops.clear())\n"
        f"print(main.main({words}), file=sys.stderr)\n"
        "print(gc.isenabled(), gc.get_freeze_count() > 100_000, found[0]() is None, file=sys.stderr)\n"
    )
    done = (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
        if frozen
        else forked_program(code)
    )
    status, facts = done.stderr.splitlines()[-2:]
    assert (status, facts.split()[:2]) == ("0", ["True", str(frozen)])
    assert not frozen or facts.endswith("True")


# ------------------------------------------------------------------------------- words of newcomers, and D11 to D16


@pytest.mark.parametrize(
    ("argv", "answer"),
    [
        (["--lr", "0.1"], "unknown flag --lr; a setting is written algo_cfg.lr=0.1"),
        (["--seed", "1"], "unknown flag --seed; a setting is written general_cfg.seed=1"),
        (["--total-timesteps=5"], "a setting is written general_cfg.max_total_step=5"),
        (["my.yaml"], "'my.yaml': a file is given as --yaml my.yaml"),
        (["--algo", "PPO", "train"], "'train' comes first: python main.py train ..."),
        (["algo_cfg.lr", "=", "0.1"], "no blanks around the =; write algo_cfg.lr=0.1"),
        (["algo_cfg.lr=", "0.1"], "no blanks around the =; write algo_cfg.lr=0.1"),
        (["algo_cfg.lr", "=0.1"], "no blanks around the =; write algo_cfg.lr=0.1"),
        (["algo_cfg.lr", "0.1"], "'algo_cfg.lr' has no =; write algo_cfg.lr=0.1"),
        (["algo_cfg.lr:", "0.1"], "'algo_cfg.lr:' has no =; write algo_cfg.lr=0.1"),
        (["algo_cfg.lr:0.1"], "'algo_cfg.lr:0.1' has no =; write algo_cfg.lr=0.1"),
        (["algo_cfg.lr"], "'algo_cfg.lr' has no =; write algo_cfg.lr=VALUE"),
        (["--algo", "DNQ"], "unknown name 'DNQ'; did you mean DQN?"),
        (["--play", "x"], "unknown flag --play; use python main.py film NAME"),
        (["--eval"], "unknown flag --eval; use python main.py test NAME"),
        (["general_cfg.mode=eval"], "expected train or test; did you mean test?"),
        (["--yaml", "a", "--yaml", "b"], "--yaml is given twice; give it once"),
        (["algo_cfg.lr="], "algo_cfg.lr: no value after =; write null for the default"),
        (["algo_cfg.learning_rate=1"], "unknown setting; it is called lr here"),
        (
            ["--algo", "SAC", "--env", "Pendulum-v1", "algo_cfg.learning_rate=1"],
            "it is called actor_lr, critic_lr, alpha_lr here",
        ),
        (["--algo", "TRPO", "algo_cfg.learning_rate=1"], "it is called critic_lr here"),
        (["algo_cfg.lr=lin_0.001"], "lin_ of rl-baselines3-zoo is 0.001 with lr_schedule: linear"),
        (["--algo", "SAC", "--env", "Pendulum-v1", "algo_cfg.policy_lr=1"], "it is called actor_lr here"),
        (["--algo", "SAC", "--env", "Pendulum-v1", "algo_cfg.Q_model=1"], "it is called critic_layers here"),
        (["--algo", "TD3", "--env", "Pendulum-v1", "algo_cfg.noise_type=normal"], "it is called exploration_type here"),
        (["--algo", "CQL", "--env", "Pendulum-v1", "algo_cfg.min_q_weight=1"], "it is called cql_alpha here"),
        (
            ["algo_cfg.clip_range=1"],
            "it is called eps_clip here, a setting of AIRL, APPO, GAIL, HAPPO and others, and algo_name is DQN",
        ),
        (["--algo", "PPO", "algo_cfg.n_steps=1"], "it is called batch_size here (on-policy: batch_size is n_steps"),
        (["algo_cfg.total_timesteps=1"], "it is called general_cfg.max_total_step here"),
        (["--test", "x", "--resume", "y"], "--test plays the model of one run"),
        (["--test", "x", "general_cfg.load_path=y"], "--test and general_cfg.load_path both set the run"),
        (["describe", "ppo.zzzzzz"], "no topic 'ppo.zzzzzz'; known: gamma, optimizer, "),
        (["algo_cfg.policy_kwargs.net_arch=[64,64]"], "unknown setting; it is called value_layers here"),
        (["general_cfg.seed=9223372036854775808"], "got 9223372036854775808; expected a whole number below 2**63"),
        (["resume", "x", "--algo", "PPO"], "a resume keeps the run's own algorithm and environment"),
        (["describe", "ppo.lrr"], "no topic 'ppo.lrr'; did you mean ppo.lr?"),
        (["describe", "ppo.learning_rate"], "no topic 'ppo.learning_rate'; it is called algo_cfg.lr here"),
        (["describe", "my_package.agent"], "a package of your own needs --allow-import my_package"),
        (["describe", "learning_rate"], "no topic 'learning_rate'; it is called algo_cfg.lr here"),
    ],
)
def test_a_newcomers_word_gets_the_right_hint(
    calls: list[tuple], capsys: pytest.CaptureFixture[str], argv: list[str], answer: str
) -> None:
    assert run(*argv) == 2
    assert answer in capsys.readouterr().err


@pytest.mark.parametrize("topic", ["Cartpole-v1", "CartPole"])
def test_describe_names_the_environment_that_is_near(topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("describe", topic) == 2
    assert capsys.readouterr().err == f"no topic '{topic}'; did you mean CartPole-v1?\n"


@pytest.mark.parametrize(
    ("argv", "part"),
    [
        (["describe"], "python main.py describe CartPole-v1"),
        (["describe", "ppo.lr"], "In algo_cfg of PPO."),
        (["describe", "lr"], "In algo_cfg of C51, "),
        (["describe", "seed"], "In general_cfg."),
        (["describe", "linear"], "A fully connected layer"),
        (["list"], "python main.py list presets [TEXT]"),
        (["list", "presets", "cartpole-v1/dq"], "CartPole-v1/DQN"),
        (["--allow-import", "algos", "describe", "algos.dqn"], "## algo_cfg: DQN"),
    ],
)
def test_lookups_answer(calls: list[tuple], capsys: pytest.CaptureFixture[str], argv: list[str], part: str) -> None:
    assert run(*argv) == 0
    assert part in capsys.readouterr().out


def test_environments_are_listed_and_described_by_id(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["list", "envs", "cart"]) == 0
    assert "CartPole-v1  gym   presets: A2C" in capsys.readouterr().out
    assert main.main(["describe", "CartPole-v1"]) == 0
    assert "step limit    500\n" in capsys.readouterr().out
    assert main.main(["describe", "FrameStack"]) == 0
    assert "settings: stack_size: int = 4\n" in capsys.readouterr().out


def test_describe_never_imports_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evilpkg").mkdir()
    (tmp_path / "evilpkg" / "__init__.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    monkeypatch.syspath_prepend(tmp_path)
    for argv in (["describe", "evilpkg.algo"], ["--allow-import", "evil", "describe", "evilpkg.algo"]):
        assert main.main(argv) == 2
    assert not (tmp_path / "ran").exists()
    assert main.main(["--allow-import", "evilpkg", "describe", "evilpkg.algo"]) == 2  # imported, and has no algo
    assert (tmp_path / "ran").exists()


def test_the_flags_for_a_test_set_what_the_four_settings_set(calls: list[tuple], task_root: Path) -> None:
    path = str(task_root / "Train_CartPole-v1_DQN_20260131-101500")
    assert run("--test", path, "--video") == 0
    config = calls[0][1]
    assert (config.general.mode, config.general.load_checkpoint, config.general.load_path) == ("test", True, path)
    assert (config.env.render_mode, config.general.load_model_step) == ("rgb_array", "best")


def test_wishes_that_would_be_ignored_are_noted(calls: list[tuple], tmp_path: Path) -> None:
    file = tmp_path / "my.yaml"
    file.write_text("general_cfg: {algo_name: PPO}\nalgo_cfg: {lr: 0.1}\n")
    assert run("--yaml", str(file), "--algo", "DQN", "general_cfg.load_path=x") == 0
    notes = calls[0][1].notes
    assert f"{file} is for PPO; these of its settings are used for DQN: lr" in notes
    assert any(note.startswith("load_path is not used (load_checkpoint is false)") for note in notes)


def test_the_version_is_read_only_when_asked_for(monkeypatch: pytest.MonkeyPatch, calls: list[tuple]) -> None:
    monkeypatch.setattr(parser, "version", lambda: pytest.fail("read"))
    assert run("--print-config") == 0


def test_the_lines_of_a_file_stay_as_they_are_on_any_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(start, "fitted", lambda text: f"words of {text}")
    assert start.printed(lambda: "a: 1  # a long comment\n", file=True) == 0
    assert start.printed(lambda: "a text\n") == 0
    assert capsys.readouterr().out == "a: 1  # a long comment\nwords of a text\n"
