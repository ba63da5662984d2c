"""The program that runs Tianshou's own tests, on small tests with known results."""

from pathlib import Path

import pytest

from tests.tools import tianshou

ENVIRONMENTS = "class MyTestEnv:\n    observation_space = None\n"
TESTS = """
import numpy as np
import pytest
from tianshou.data import Batch, NoSuchName, ReplayBuffer
from test.base.env import MyTestEnv

@pytest.mark.parametrize("size", [1, 2])
def test_batch(size, rows=3):
    batch = Batch(a=[1, 2])
    batch.missing.more = 1
    assert batch.a.tolist() == [1, 2]
    assert batch.a.tolist() == [2, 1]
    for number in range(rows):
        assert number < 2
        assert number < 3
    for number in NoSuchName:
        assert number
    for number in []:
        assert number
    if rows == 3:
        assert isinstance(MyTestEnv, type)
    with pytest.raises(TypeError):
        Batch(5)
    with pytest.raises(TypeError):
        Batch(a=5)
    batch.to_torch()
    assert batch.a.dtype.is_floating_point is False
    assert len(Batch.cat([Batch(a=[1]), Batch(b=[1])])) == 2
    assert ReplayBuffer(3).sample_indices(-1).tolist() == []
"""


def test_each_assertion_counts_on_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "env.py").write_text(ENVIRONMENTS)
    (tmp_path / "test_batch.py").write_text(TESTS)
    monkeypatch.setattr("sys.argv", ["tianshou", str(tmp_path)])
    assert tianshou.main() == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "| file | passed | failed | different on purpose |",
        "|---|---|---|---|",
        "| test_batch.py | 6 | 4 | 1 |",
    ]
    assert [line.split(": ")[0] for line in lines[3:]] == [
        f"test_batch.py:{line} test_batch" for line in (10, 12, 14, 16, 17, 24)
    ]
    assert lines[4].endswith("assert batch.a.tolist() == [2, 1] -- AssertionError:")
    assert lines[-1].endswith("with pytest.raises(TypeError): -- Failed: DID NOT RAISE TypeError")
    monkeypatch.setattr("sys.argv", ["tianshou", str(tmp_path), "--all"])
    tianshou.main()
    assert "a negative number of samples is an error" in capsys.readouterr().out


def test_another_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["tianshou", str(tmp_path)])
    with pytest.raises(SystemExit, match="2"):
        tianshou.main()
    assert "has no env.py with MyTestEnv; give test/base of a checkout of Tianshou 0.5" in capsys.readouterr().err
