"""Command doctor: what a run needs on this machine."""

import shutil
import subprocess
import sys
import tempfile
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
import torch
from packaging.requirements import Requirement

from algos.common.fast import switch
from config import machine
from config.program import ROOT
from framework.commands.work import doctor
from main import main

Usage = namedtuple("Usage", "total used free")


def test_here_everything_is_found_and_the_status_is_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    for subject in ("Joystick", "Python", "torch", "gymnasium", "processor", "memory", "CUDA", "display", "disk"):
        assert any(line.split()[1] == subject for line in shown.splitlines() if len(line.split()) > 1), subject
    assert "no faults: a run can start here" in shown


def test_it_works_without_the_packages_that_it_looks_for() -> None:
    code = (
        "import sys; missing = ('torch', 'gymnasium', 'ray', 'pydantic', 'numpy');"
        "sys.modules.update(dict.fromkeys(missing));"
        "from main import main; main(['doctor'])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "unknown without torch" in done.stdout
    assert done.stderr == ""


def one(subject: str) -> doctor.Finding:
    return next(finding for finding in doctor.findings() if finding.subject == subject)


def test_a_package_that_is_missing_or_has_another_version_is_a_fault_with_what_to_type(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = [Requirement("nowhere-to-be-found>=1"), Requirement("numpy>=99"), Requirement("torch")]
    monkeypatch.setattr(doctor, "requirements", lambda: wanted)
    assert one("nowhere-to-be-found") == (
        "fault", "nowhere-to-be-found", "is not installed", 'pip install "nowhere-to-be-found>=1"',
    )  # fmt: skip
    assert one("numpy").text.endswith("; >=99 is needed")
    assert one("torch").state == "ok"
    assert doctor.show(list(doctor.findings())) == 1
    assert "2 faults" in capsys.readouterr().out


def test_the_requirements_are_those_of_the_file() -> None:
    names = {requirement.name for requirement in doctor.requirements()}
    assert {"torch", "gymnasium", "numpy", "ray", "packaging"} <= names


def test_the_processor_is_named_with_the_vector_instructions_that_torch_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are chosen for it."""
    monkeypatch.setattr(machine, "processor_name", lambda: "AMD EPYC 9R14")
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    assert one("processor").text.endswith(", AMD EPYC 9R14, AVX2")
    monkeypatch.setattr(machine, "processor_name", lambda: None)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "DEFAULT")
    assert one("processor").text.endswith(("core", "cores", "may be used"))


def test_each_faster_part_that_is_off_is_a_note_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "PLAIN", False)
    monkeypatch.setattr(
        switch, "OFF", {"Adam": "torch has no _fused_adam_", "lists": "a trial call fails: TypeError: x"}
    )
    assert [finding for finding in doctor.findings() if finding.subject == "fast"] == [
        ("note", "fast", "Adam is off, torch's public functions take its place: torch has no _fused_adam_", ""),
        ("note", "fast", "lists is off, torch's public functions take its place: a trial call fails: TypeError: x", ""),
    ]
    monkeypatch.setattr(switch, "OFF", {})
    assert one("fast") == ("ok", "fast", "on", "")
    monkeypatch.setattr(switch, "PLAIN", True)
    assert one("fast") == ("note", "fast", "off: all parts because JOYSTICK_PLAIN is set", "")


def test_little_room_is_a_fault_or_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machine, "available_bytes", lambda: 2**20)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(2**30, 2**30, 2**20))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/tmp/" + "x" * 80)
    monkeypatch.setenv("OMP_NUM_THREADS", "999")
    states = {finding.subject: finding.state for finding in doctor.findings()}
    assert states["memory"] == states["disk"] == "fault"
    assert states["Ray"] == states["shared memory"] == states["threads"] == "note"
    monkeypatch.setattr(machine, "available_bytes", lambda: None)
    assert one("memory").state == "note"


def test_a_folder_that_cannot_be_written_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: Any, **given: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refused)
    finding = one("task folder")
    assert finding.state == "fault"
    assert "Permission denied" in finding.text
    assert "--into FOLDER" in finding.mend


def test_an_extra_package_that_is_missing_is_a_note_with_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(doctor.EXTRAS, "no_such_module_at_all", ("nothing", "no-such-module"))
    assert one("no_such_module_at_all") == (
        "note", "no_such_module_at_all", "not installed; it is for nothing", "pip install no-such-module",
    )  # fmt: skip


def test_compiled_steps_that_no_folder_keeps_are_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert not list(doctor._compiled())
    (tmp_path / "joystick" / "steps").chmod(0o755)
    [note] = doctor._compiled()
    assert note.state == "note"
    assert "open to other users" in note.text
