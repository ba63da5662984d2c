"""Fixtures of tests that need torch's compiler, which is tried when the first of them runs: that takes seconds."""

import pytest

from framework.assemble import compiling


@pytest.fixture(scope="module")
def compiler_fault() -> str | None:
    """Why torch compiles nothing on this machine, if it does not."""
    return compiling._without_compiler()


@pytest.fixture
def compiles(compiler_fault: str | None) -> None:
    """Skips a test where torch compiles nothing."""
    if compiler_fault is not None:
        pytest.skip(compiler_fault)
