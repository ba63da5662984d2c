"""Every file in a folder of runs is opened without following a link and without waiting."""

import ast
import os
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.read import yaml_reader
from config.read.opening import named, regular
from framework.disk.task_dir import TaskDir
from main import main
from tests.tools.io_faults import ALGORITHMS, COMMON, LIMITS

ROOT = Path(__file__).resolve().parents[2]
RAW = {"read_text", "write_text", "read_bytes", "write_bytes", "open", "touch", "truncate"}
"""Methods of paths that follow links, and wait for the other end of a pipe."""
NOT_FILES = {"self", "task", "files", "webbrowser", "archive", "tarfile"}
"""Objects with an `open` of their own."""
EXCEPTIONS = {
    ("config/foreign/sb3.py", "defaults"): "a file of the program",
    ("config/foreign/table.py", "tables"): "a file of the program",
    ("config/machine.py", "_text"): "/proc and /sys",
    ("config/read/opening.py", "_opened"): "the opener",
    ("config/read/opening.py", "named"): "what the shell has opened",
    ("config/read/presets.py", "available"): "a file of the program",
    ("config/program.py", "version"): "a file of the program",
    ("config/own/env_packages.py", "_lines"): "a file of Python's own",
    ("config/system/processes.py", "survives"): "the null device",
    ("config/system/terminal.py", "at_terminal"): "the terminal",
    ("config/own/trust.py", "_write"): "a new file, which nobody else may read",
    ("framework/disk/atomic.py", "sync_folder"): "a folder, which is only synced",
    ("framework/distributed/reaper.py", "workers_of"): "/proc",
    ("framework/errors.py", "silence"): "/dev/null",
    ("framework/disk/spare.py", "spare_descriptors"): "/dev/null",
    ("framework/commands/watch.py", "_leading_to"): "a new file in a new folder",
    ("framework/live/server.py", "page"): "a file of the program",
    ("framework/pages/html_page.py", "asset"): "a file of the program",
    ("framework/pages/cell.py", "file_of"): "a file in a new folder",
    ("framework/live/lock_holders.py", "_flags"): "/proc",
    ("config/tell/language.py", "_catalog"): "a file of the program",
    ("framework/commands/work/doctor.py", "requirements"): "a file of the program",
    ("framework/runs/supervisor_pipe.py", "facts"): "a pipe of this process",
    ("framework/sharing/model_scope.py", "upload"): "a file in a new folder",
    ("framework/storage/index.py", "_boot"): "/proc",
    ("framework/jobs/functions.py", "_call"): "stderr of this process",
}
"""Calls that do not go through the opener: file and function, and why."""


def raw_calls(path: Path) -> Iterator[str]:
    """Yields the function around each call that opens a file by itself; <module> outside of all."""

    def visit(node: ast.AST, around: str) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            inner = child.name if isinstance(child, ast.FunctionDef) else around
            if isinstance(child, ast.Call) and is_raw(child):
                yield around
            yield from visit(child, inner)

    yield from visit(ast.parse(path.read_text()), "<module>")


def is_raw(call: ast.Call) -> bool:
    called = call.func
    if isinstance(called, ast.Name):
        return called.id == "open" and "opener" not in {word.arg for word in call.keywords}
    if not isinstance(called, ast.Attribute) or called.attr not in RAW:
        return False
    of = called.value.id if isinstance(called.value, ast.Name) else ""
    if called.attr == "truncate":  # of an open file too
        return of == "os"
    return not (called.attr == "open" and (of in NOT_FILES or isinstance(called.value, ast.Attribute)))


def test_no_file_is_opened_but_by_the_opener() -> None:
    found = {
        (str(path.relative_to(ROOT)), where)
        for package in ("config", "framework")
        for path in sorted((ROOT / package).rglob("*.py"))
        for where in raw_calls(path)
    }
    assert found == set(EXCEPTIONS)


@pytest.mark.parametrize(
    ("source", "raw"),
    [
        ("open(path)", True), ("open(path, 'w')", True), ("path.open('rb')", True), ("(a / 'b').read_text()", True),
        ("path.write_bytes(b'')", True), ("os.open(path, 0)", True), ("os.truncate(path, 1)", True),
        ("open(path, 'rb', opener=regular)", False), ("self.files.open(key)", False), ("task.open()", False),
    ],
)  # fmt: skip
def test_a_raw_call_is_seen(tmp_path: Path, source: str, raw: bool) -> None:
    (tmp_path / "a.py").write_text(f"def f():\n    {source}\n")
    assert list(raw_calls(tmp_path / "a.py")) == (["f"] if raw else [])


# ------------------------------------------------------------------------------------------------------- the openers


def bound(path: Path) -> None:
    """Makes a socket; its name may be no longer than 100 characters."""
    here = Path.cwd()
    os.chdir(path.parent)
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(path.name)
    os.chdir(here)


IN_THE_WAY = {
    "link": lambda path: path.symlink_to(path.with_name("target")),
    "dangling": lambda path: path.symlink_to(path.with_name("nothing")),
    "pipe": os.mkfifo,
    "socket": bound,
    "folder": os.mkdir,
    "device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("mode", ["rb", "ab", "wb", "r+b"])
@pytest.mark.parametrize("kind", IN_THE_WAY)
def test_a_file_of_ours_is_opened_only_where_it_is_one(tmp_path: Path, kind: str, mode: str, impatient: None) -> None:
    (tmp_path / "target").write_text("kept")
    IN_THE_WAY[kind](tmp_path / "file")
    with pytest.raises(OSError, match="file"), open(tmp_path / "file", mode, opener=regular):
        pytest.fail("it is open")
    assert (tmp_path / "target").read_text() == "kept"
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("kind", IN_THE_WAY)
def test_a_file_that_the_user_has_named_may_be_behind_a_link(tmp_path: Path, kind: str, impatient: None) -> None:
    (tmp_path / "target").write_text("kept")
    IN_THE_WAY[kind](tmp_path / "file")
    if kind == "link":
        with open(tmp_path / "file", opener=named) as file:
            assert file.read() == "kept"
    else:
        with pytest.raises(OSError, match="file"), open(tmp_path / "file", opener=named):
            pytest.fail("it is open")


def test_what_the_shell_has_opened_is_read_to_its_end(impatient: None) -> None:
    """--yaml <(command): the command may take its time."""
    ours, theirs = os.pipe()

    def write() -> None:
        for line in ("general_cfg:\n", "  seed: 3\n"):
            os.write(theirs, line.encode())
        os.close(theirs)

    writer = threading.Timer(0.2, write)
    writer.start()
    assert yaml_reader.read(f"/dev/fd/{ours}", named).value == {"general_cfg": {"seed": 3}}
    writer.join()
    os.close(ours)


# ---------------------------------------------------------------------------------------------------------- commands


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("trained") / "run"
    assert main(["--into", str(run), *COMMON, *ALGORITHMS["QLearning"], LIMITS[0]]) == 0
    return run


@pytest.fixture
def run(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run, which may be spoilt."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(trained, "tasks/run"))


OPENING = {
    "resume": ("resume", "run", LIMITS[1]),
    "test": ("test", "run"),
    "film": ("film", "run"),
    "film of an episode": ("film", "run", "--episode", "1"),
    "evaluate": ("evaluate", "run"),
    "export": ("export", "run", "--to", "safetensors"),
    "talk": ("talk", "run"),
    "branch": ("general_cfg.load_checkpoint=true", "general_cfg.load_path=run", "general_cfg.load_model_step=60"),
    "compare": ("compare", "run", "other"),
    "data": ("data", "tasks/run"),
    "print": ("resume", "run", "--print-config"),
}  # fmt: skip
"""Commands that open the folder of a run."""


@pytest.mark.parametrize("command", OPENING)
@pytest.mark.parametrize("kind", ["link", "pipe", "socket"])
@pytest.mark.parametrize("name", ["config.yaml", "results/new.csv"])
def test_every_command_looks_at_the_whole_folder_before_it_reads(
    run: Path, command: str, kind: str, name: str, capsys: pytest.CaptureFixture[str], impatient: None
) -> None:
    (run / name).with_name("target").write_text("general_cfg: {}")
    (run / name).unlink(missing_ok=True)
    IN_THE_WAY[kind](run / name)
    shutil.copytree(run, "tasks/other", symlinks=True, ignore=lambda *_: [Path(name).name])
    before = sorted(Path().rglob("*"))
    capsys.readouterr()
    assert main(list(OPENING[command])) == 2
    what = "a link" if kind == "link" else "a pipe or a device"
    err = capsys.readouterr().err
    assert f"tasks/run/{name} is {what}; a task directory holds files and folders only" in err, command
    assert sorted(Path().rglob("*")) == before


def test_a_pipe_as_a_file_of_settings_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], impatient: None
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("a.yaml")
    for words in (["--yaml", "a.yaml"], ["tune", "--yaml", "a.yaml"], ["convert", "a.yaml"]):
        assert main(words) == 2
        assert "a.yaml: cannot be read: is not a regular file" in capsys.readouterr().err
    assert [path.name for path in Path().iterdir()] == ["a.yaml"]


def test_a_folder_that_a_training_deletes_meanwhile_is_no_fault(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints are written, renamed and pruned while `test` and `compare` look."""
    scan = os.scandir

    def late(path: str) -> object:
        if path == str(doomed):
            doomed.rename("gone")
        return scan(path)

    doomed = run.absolute() / "models" / "60"
    monkeypatch.setattr(os, "scandir", late)
    TaskDir(run.absolute()).check()
    assert not doomed.exists()
