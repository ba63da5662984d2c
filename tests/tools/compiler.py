"""Fixtures of tests about compiled gradient steps. Compiling takes many seconds of a core: most tests compute the
program of a step in place of its package, and those that need packages share one folder of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from algos.common.fast import compiled_steps, program, switch
from framework.assemble import compiling


@pytest.fixture
def can_compile() -> None:
    """Skips a test in a version of torch that lacks what compiling needs, where no run asks torch to compile."""
    if why := switch.OFF.get("compile"):
        pytest.skip(why)


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch, can_compile: None) -> list[str]:
    """The names of programs, at each call of one. They are computed operation by operation, without machine code."""
    calls: list[str] = []

    def load(text: str, tell: compiled_steps.Tell) -> compiled_steps.Package:
        step, _ = program.module(text)
        name = f"{len(text)}-{hash(text)}"

        def run(inputs: list[torch.Tensor]) -> list[torch.Tensor]:
            calls.append(name)
            with torch.no_grad():
                return list(step(*inputs))

        return compiled_steps.Package(name, run, 0.0)

    monkeypatch.setattr(compiled_steps, "load", load)
    monkeypatch.setattr(compiled_steps, "compiler", lambda: "a compiler")
    return calls


@pytest.fixture(scope="module")
def compiler_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for packages, which the tests of a module share, with the C++ compiler of this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CXX", raising=False)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        _forget()
        yield compiled_steps.folder().path
    _forget()


def _forget() -> None:
    compiled_steps.folder.cache_clear()
    compiled_steps.compiler.cache_clear()


@pytest.fixture
def compiles(compiler_cache: Path) -> Path:
    """The folder with compiled_steps. Skips a test where nothing is compiled."""
    if (why := compiling._without_compiler()) is not None:
        pytest.skip(why)
    return compiler_cache


def nothing(text: Any) -> None:
    """Hears what one waits for."""
