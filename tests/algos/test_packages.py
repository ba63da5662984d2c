"""Packages of compiled gradient steps on disk (algos/common/fast/compiled_steps.py): whose they are, when they are
made, and what happens to damaged ones. Here nothing is compiled: test_compile.py does."""

import json
import os
import shutil
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from algos.common.fast import compiled_steps
from config import machine
from config.system.files import lock
from config.system.folders import private_cache


class Loader:
    """In place of torch's loader: reads a text."""

    def __init__(self, path: str, models: int) -> None:
        text = Path(path).read_text()
        if not text.startswith("code"):
            raise RuntimeError("cannot be opened\nmore")
        self.text = text

    def run(self, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        return [torch.tensor(float(len(self.text)))]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that were compiled, to the text of the program."""
    texts: list[str] = []

    def make(place: Path, text: str, circumstances: dict[str, Any]) -> None:
        texts.append(text)
        time.sleep(0.05)
        place.mkdir(mode=0o700)
        (place / compiled_steps.LIBRARY).write_text(f"code of {text}")
        (place / compiled_steps.FACTS).write_text(
            json.dumps({"sha256": compiled_steps._checksum(place), **circumstances})
        )

    monkeypatch.setattr(compiled_steps, "_make", make)
    monkeypatch.setattr(compiled_steps, "folder", lambda: compiled_steps.Folder(tmp_path))
    monkeypatch.setattr(compiled_steps, "compiler", lambda: "g++ 12")
    monkeypatch.setattr(torch._C._aoti, "AOTIModelContainerRunnerCpu", Loader)
    return texts


def test_a_package_is_made_once_and_loaded_then(made: list[str]) -> None:
    said: list[str] = []
    first, second = compiled_steps.load("a", said.append), compiled_steps.load("a", said.append)
    assert first.name == second.name
    assert [each.run([])[0].item() for each in (first, second)] == [len("code of a")] * 2
    assert second.seconds == 0 < first.seconds
    assert made == ["a"]
    assert ["once" in text for text in said] == [True, False]
    assert compiled_steps.load("b", said.append).name != first.name
    assert made == ["a", "b"]


@pytest.mark.parametrize("change", ["torch", "processor", "vectors", "compiler", "threads", "makers"])
def test_what_the_machine_code_depends_on_is_in_its_name(
    change: str, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = compiled_steps.load("a", print).name
    match change:
        case "torch":
            monkeypatch.setattr(torch.version, "__version__", "9.9")
        case "processor":
            monkeypatch.setattr(machine, "processor", lambda: "another one")
        case "vectors":  # ATEN_CPU_CAPABILITY
            monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "SSE2")
        case "compiler":
            monkeypatch.setattr(compiled_steps, "compiler", lambda: "g++ 13")
        case "threads":
            monkeypatch.setattr(torch, "get_num_threads", lambda: 7)
        case "makers":
            digest = compiled_steps.digest
            monkeypatch.setattr(compiled_steps, "digest", lambda path: "0" if path.suffix == ".py" else digest(path))
    assert compiled_steps.load("a", print).name != name


def harm(place: Path, how: str) -> None:
    match how:
        case "another content":
            (place / compiled_steps.LIBRARY).write_text("code of another one")
        case "cut":
            (place / compiled_steps.LIBRARY).write_text("")
        case "no package":
            (place / compiled_steps.LIBRARY).unlink()
        case "no facts":
            (place / compiled_steps.FACTS).unlink()
        case "facts of nothing":
            (place / compiled_steps.FACTS).write_text("[]")
        case "others may write":
            place.chmod(0o777)
        case "a file in its place":
            shutil.rmtree(place)
            place.touch()


@pytest.mark.parametrize(
    "how",
    ["another content", "cut", "no package", "no facts", "facts of nothing", "others may write", "a file in its place"],
)
def test_a_damaged_package_is_deleted_with_a_line_and_made_again(how: str, made: list[str], tmp_path: Path) -> None:
    said: list[str] = []
    name = compiled_steps.load("a", print).name
    harm(tmp_path / name, how)
    again = compiled_steps.load("a", said.append)
    assert again.name == name
    assert again.run([])[0].item() == len("code of a")
    assert made == ["a", "a"]
    assert sum("damaged" in text for text in said) == 1
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o700


def test_a_whole_package_that_cannot_be_loaded_is_kept(
    made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file may be on a disk without the right to execute, or the memory full."""
    name = compiled_steps.load("a", print).name

    class Never:
        def __init__(self, *how: Any) -> None:
            raise RuntimeError("undefined symbol")

    monkeypatch.setattr(torch._C._aoti, "AOTIModelContainerRunnerCpu", Never)
    with pytest.raises(compiled_steps.CompileError, match=r"cannot be loaded \(undefined symbol\)"):
        compiled_steps.load("a", print)
    assert (tmp_path / name / compiled_steps.LIBRARY).exists()
    assert made == ["a"]


def test_one_waits_for_another_process_and_says_so_but_not_for_ever(
    made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled_steps, "PATIENCE", 0.3)
    said: list[str] = []
    name = compiled_steps.load("a", print).name
    shutil.rmtree(tmp_path / name)
    with open(tmp_path / f"{name}{compiled_steps.LOCK}", "ab") as file:
        assert lock(file)
        assert compiled_steps.load("a", said.append).name == name
    assert ["another process" in text for text in said] == [True, False, False]
    assert made == ["a", "a"]


def test_two_that_need_the_same_package_at_once_make_it_once(made: list[str], tmp_path: Path) -> None:
    names: list[str] = []
    threads = [threading.Thread(target=lambda: names.append(compiled_steps.load("a", print).name)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == ["a"]
    assert len(set(names)) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(set(names))


@pytest.fixture
def no_folder_yet() -> Iterator[None]:
    """Looks for the folder anew, and after the test, too."""
    compiled_steps.folder.cache_clear()
    yield
    compiled_steps.folder.cache_clear()


def test_the_folder_is_the_users_own(no_folder_yet: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    own = compiled_steps.folder()
    assert own == compiled_steps.Folder(tmp_path / "cache" / "joystick" / "steps")
    assert stat.S_IMODE(own.path.stat().st_mode) == 0o700
    own.path.chmod(0o755)
    compiled_steps.folder.cache_clear()
    other = compiled_steps.folder()
    assert str(own.path) in other.refusal
    assert "open to other users" in other.refusal
    assert other.path.parent != own.path.parent
    assert stat.S_IMODE(other.path.stat().st_mode) == 0o700
    shutil.rmtree(other.path)


def test_a_run_says_if_it_compiles_for_itself_alone(made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = compiled_steps.folder().path
    monkeypatch.setattr(compiled_steps, "folder", lambda: compiled_steps.Folder(folder, "/cache is full"))
    said: list[str] = []
    compiled_steps.load("a", said.append)
    assert said[0] == "compiling a gradient step for this run alone, since /cache is full"


def test_only_a_folder_of_ones_own_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = tmp_path / "joystick" / "cache"
    assert private_cache("cache") == private_cache("cache") == path
    path.with_name("link").symlink_to(path)
    path.with_name("file").touch(0o600)
    for name in ("link", "file"):
        with pytest.raises(OSError, match=f"{name} is not a folder"):
            private_cache(name)
    path.chmod(0o770)
    with pytest.raises(OSError, match="open to other users"):
        private_cache("cache")
    path.chmod(0o700)
    monkeypatch.setattr(os, "getuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(OSError, match="of another user"):
        private_cache("cache")


def test_the_packages_that_were_used_least_recently_go(
    made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled_steps, "MOST", 2)
    names = [compiled_steps.load(text, print).name for text in "abc"]
    for age, name in ((1, names[0]), (300, names[1]), (200, names[2])):
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    abandoned, work = tmp_path / "making-old", tmp_path / "making-new"
    abandoned.mkdir()
    work.mkdir()
    others = [tmp_path / name for name in ("x.lock", "tmpfile", "compiler-1")]
    for path in others:
        path.touch()
    for path in (abandoned, *others):
        os.utime(path, (0, 0))
    compiled_steps._tidy()
    assert {path.name for path in tmp_path.iterdir()} == {names[0], names[2], work.name}


@pytest.fixture
def other_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes a program that takes the place of the C++ compiler."""
    monkeypatch.setattr(compiled_steps, "folder", lambda: compiled_steps.Folder(tmp_path))

    def write(code: str) -> None:
        path = tmp_path / "c++"
        path.write_text(f"#!/bin/sh\n{code}\n")
        path.chmod(0o755)
        monkeypatch.setenv("CXX", str(path))
        compiled_steps.compiler.cache_clear()

    yield write
    compiled_steps.compiler.cache_clear()


def test_the_compiler_is_tried_once_for_each_version(other_compiler: Any, tmp_path: Path) -> None:
    other_compiler('test "$1" = --version && echo version 1 || echo tried >> $(dirname $0)/tries')
    for _ in range(2):
        compiled_steps.compiler.cache_clear()
        assert compiled_steps.compiler().endswith(": version 1\n")
    assert (tmp_path / "tries").read_text() == "tried\n"
    other_compiler('test "$1" = --version && echo version 2 || echo tried >> $(dirname $0)/tries')
    compiled_steps.compiler()
    assert (tmp_path / "tries").read_text() == "tried\ntried\n"


def test_a_compiler_that_fails_or_is_missing_is_said_in_a_sentence(
    other_compiler: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_compiler('test "$1" = --version || { echo "in: header"; echo "x.h: error: no omp.h"; exit 1; } >&2')
    with pytest.raises(compiled_steps.CompileError, match=r"the C\+\+ compiler .* fails: x.h: error: no omp.h"):
        compiled_steps.compiler()
    monkeypatch.setenv("CXX", "nowhere-to-be-found")
    compiled_steps.compiler.cache_clear()
    with pytest.raises(compiled_steps.CompileError, match=r"there is no C\+\+ compiler \(nowhere-to-be-found\)"):
        compiled_steps.compiler()


def test_a_process_that_fails_leaves_nothing_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_steps, "folder", lambda: compiled_steps.Folder(tmp_path))
    monkeypatch.setattr(compiled_steps, "CODE", "raise SystemExit('first\\nstep.cpp:3: error: bad code\\nlast')")
    with pytest.raises(compiled_steps.CompileError, match="bad code"):
        compiled_steps._make(tmp_path / "name", "{}", {})
    assert not list(tmp_path.iterdir())
