"""Command doctor: looks at what a run needs on this machine, and says how to mend what is missing.

Imports no other part of ours but config, the screen and, with torch, the list of its faster parts: it works where a
package is missing.
"""

import importlib.util
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal, NamedTuple

from packaging.requirements import InvalidRequirement, Requirement

from config import machine
from config.own import env_packages
from config.own.env_packages import EnvPackage
from config.own.extras import EXTRAS
from config.program import ROOT
from config.program import version as own_version
from config.system.folders import private_cache
from config.system.name import has_display, is_windows
from config.system.terminal import variable
from config.tell.cells import cells, padded
from config.tell.language import VARIABLE, available, encoded, english, language, reworded, tr, wanted
from config.tell.system_errors import reason_of
from framework.screen.formatting import counted
from framework.screen.terminal import fitted

TASKS = Path("tasks")
OLDEST_PYTHON = (3, 11)
LEAST_MEMORY, LEAST_DISK, LEAST_SHARED = 2**30, 2**30, 2**27
"""Bytes of free memory, disk and shared memory below which runs fail before long."""
LONGEST_SOCKET = 60
"""Characters of the temporary folder up to which Ray's sockets have names that the system takes (107 in all)."""
STATES = english("ok"), english("note"), english("fault")


class Finding(NamedTuple):
    """A line of the answer."""

    state: Literal["ok", "note", "fault"]
    """One of STATES."""
    subject: str
    text: str
    mend: str = ""
    """Command to type, or setting to change."""


def show(entries: list[Finding]) -> int:
    """Prints all findings. Returns 1 if a fault is among them, otherwise 0."""
    width = max(cells(finding.subject) for finding in entries)
    for finding in entries:
        print(fitted(f"{padded(tr(finding.state), 5)}  {padded(finding.subject, width)}  {finding.text}"))
        if finding.mend:
            print(f"{'':<5}  {'':<{width}}  -> {finding.mend}")
    faults = sum(finding.state == "fault" for finding in entries)
    print("\n" + (counted(faults, "fault") if faults else tr("no faults: a run can start here")))
    return 1 if faults else 0


def findings() -> Iterator[Finding]:
    """Yields what is found, from the program to the machine."""
    yield Finding("ok", "Joystick", own_version())
    yield _language()
    yield _python()
    yield from (_package(requirement) for requirement in requirements())
    yield _processor()
    yield _threads()
    yield _memory()
    yield _cuda()
    yield from _fast()
    yield from _kernels()
    yield from _compiled()
    yield from _ray()
    yield _display()
    yield from _folder()
    yield from _extras()
    yield from map(_environment, env_packages.PACKAGES)


def requirements() -> list[Requirement]:
    """Returns the packages that a run needs: the packages of requirements.txt, or of an installed copy."""
    file = ROOT / "requirements.txt"
    try:
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else requires("joystick") or []
    except (OSError, PackageNotFoundError):
        return []
    packages = []
    for line in lines:
        try:
            packages.append(Requirement(line.partition("#")[0].strip()))
        except InvalidRequirement:  # an empty line, a comment, an option of pip
            continue
    return [package for package in packages if package.marker is None]


def _python() -> Finding:
    text = f"{platform.python_version()}, {platform.platform(terse=True)}"
    if sys.version_info < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        return Finding("fault", "Python", text, tr("use Python {oldest} or newer", oldest=oldest))
    return Finding("ok", "Python", text)


def _package(package: Requirement) -> Finding:
    try:
        present = version(package.name)
    except PackageNotFoundError:
        return Finding("fault", package.name, tr("is not installed"), f'pip install "{package}"')
    if not package.specifier.contains(present.partition("+")[0], prereleases=True):
        return Finding(
            "fault",
            package.name,
            tr("{present}; {specifier} is needed", present=present, specifier=package.specifier),
            f'pip install "{package}"',
        )
    return Finding("ok", package.name, present)


def _language() -> Finding:
    """Returns the language of what is shown, and how to change it."""
    if (letters := wanted()) in available() and not encoded(letters):
        encoding = sys.stdout.encoding
        text = tr(
            "English; {variable}={letters} cannot be shown in {encoding}",
            variable=VARIABLE,
            letters=letters,
            encoding=encoding,
        )
        return Finding("note", tr("language"), text, variable("PYTHONIOENCODING", "utf-8"))
    others = tr(" or ").join(f"{VARIABLE}={letters}" for letters in available() if letters != language())
    return Finding("ok", tr("language"), tr("English; {others} changes it", others=others))


def _processor() -> Finding:
    usable, there = machine.cores(), os.cpu_count() or 1
    text = counted(usable, "core")
    if usable < there:
        text = tr("{cores} of {there} may be used", cores=text, there=there)
    return Finding("ok", tr("processor"), ", ".join(filter(None, [text, machine.processor_name(), _vectors()])))


def _vectors() -> str:
    """Returns the vector instructions that torch uses, such as AVX512; empty if it uses none."""
    if importlib.util.find_spec("torch") is None:
        return ""
    import torch

    capability = torch.backends.cpu.get_cpu_capability()
    return "" if capability in {"DEFAULT", "NO AVX"} else capability


def _threads() -> Finding:
    set_ = {name: os.environ[name] for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS") if name in os.environ}
    text = ", ".join(f"{name}={value}" for name, value in set_.items()) or tr("not limited by the environment")
    many = [value for value in set_.values() if value.isdecimal() and int(value) > machine.cores()]
    if many:
        return Finding(
            "note",
            tr("threads"),
            tr("{text}: more than there are cores", text=text),
            tr("unset it; a run chooses by itself"),
        )
    return Finding("ok", tr("threads"), text)


def _memory() -> Finding:
    free = machine.available_bytes()
    if free is None:
        return Finding("note", tr("memory"), tr("the system does not say how much is free"))
    if free < LEAST_MEMORY:
        return Finding(
            "fault", tr("memory"), tr("{size} free", size=_gib(free)), tr("end other programs, or use a larger machine")
        )
    return Finding("ok", tr("memory"), tr("{size} free", size=_gib(free)))


def _cuda() -> Finding:
    if importlib.util.find_spec("torch") is None:
        return Finding("note", "CUDA", tr("unknown without torch"))
    import torch

    if not torch.cuda.is_available():
        return Finding("ok", "CUDA", tr("no device; runs use the CPU"))
    names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return Finding("ok", "CUDA", f"{', '.join(names)}; general_cfg.device=cuda")


def _fast() -> Iterator[Finding]:
    """Yields which faster ways to the same numbers are off, and why."""
    if importlib.util.find_spec("torch") is None:
        yield Finding("note", tr("fast"), tr("unknown without torch"))
        return
    from algos.common.fast import switch

    if switch.PLAIN or not switch.OFF:
        state = reworded(switch.state(), switch.STATES)
        yield Finding("note" if switch.PLAIN else "ok", tr("fast"), state)
        return
    for part, why in switch.OFF.items():
        text = tr(
            "{part} is off, torch's public functions take its place: {why}",
            part=part,
            why=reworded(why, switch.REASONS),
        )
        yield Finding("note", tr("fast"), text)


def _kernels() -> Iterator[Finding]:
    """Yields which kernels take the place of torch's own here, with the times that decide."""
    if importlib.util.find_spec("torch") is None:
        return
    from algos.common.fast import kernels, measuring, switch

    if switch.PLAIN:  # which has a line of its own
        return
    choice = measuring.chosen()
    if choice.folder is None:
        used = kernels.state(choice.kernels)
        if kernels.are_fixed():
            text = tr("the same on every machine ({variable}): {kernels}", variable=kernels.VARIABLE, kernels=used)
            yield Finding("note", tr("kernels"), text)
        else:
            text = tr("not measured, since no folder of this user's own keeps the answer: {kernels}", kernels=used)
            yield Finding("note", tr("kernels"), text, variable("XDG_CACHE_HOME", "FOLDER"))
        return
    for row in measuring.rows(choice):
        values = {"name": row.name, "library": row.library, "own": _time(row.own), "other": _time(row.other)}
        if row.amount is None:
            text = tr("{name}: torch, {own}; {library} {other}", **values)
        elif row.is_most:
            text = tr("{name}: {library} up to {amount:,}, {other}; torch {own}", **values, amount=row.amount)
        else:
            text = tr("{name}: {library} from {amount:,} on, {other}; torch {own}", **values, amount=row.amount)
        yield Finding("ok", tr("kernels"), text)


def _compiled() -> Iterator[Finding]:
    """Yields why compiled gradient steps are not kept, if they are not."""
    try:
        private_cache("steps")
    except OSError as error:
        text = tr("kept by no folder of this user's own: {reason}; each run compiles anew", reason=error)
        yield Finding("note", tr("compiled steps"), text, variable("XDG_CACHE_HOME", "FOLDER"))


def _time(seconds: float) -> str:
    return f"{1e6 * seconds:,.0f} us"


def _ray() -> Iterator[Finding]:
    """Yields what stands in the way of general_cfg.mp_backend=ray."""
    folder = tempfile.gettempdir()
    if len(folder) > LONGEST_SOCKET and not is_windows():  # whose Ray has no sockets with names
        text = tr("the temporary folder has a long name: {folder}", folder=folder)
        yield Finding("note", "Ray", text, variable("TMPDIR", "/tmp"))  # noqa: S108  # shown
    if not machine.SHARED.is_dir():
        yield Finding("note", "Ray", tr("there is no shared memory (/dev/shm); Ray keeps its objects on the disk"))
        return
    free = shutil.disk_usage(machine.SHARED).free
    if free < LEAST_SHARED:
        mend = tr("a larger one, as docker run --shm-size=2g")
        yield Finding("note", tr("shared memory"), tr("{size} free for the processes of Ray", size=_gib(free)), mend)
    else:
        yield Finding("ok", tr("shared memory"), tr("{size} free", size=_gib(free)))


def _display() -> Finding:
    if has_display():
        return Finding("ok", tr("display"), tr("windows can be opened"))
    return Finding(
        "ok", tr("display"), tr("none: videos are drawn without one, and env_cfg.render_mode=human is refused")
    )


def _folder() -> Iterator[Finding]:
    """Yields whether task directories can be written here."""
    place = TASKS if TASKS.is_dir() else Path.cwd()
    try:
        with tempfile.TemporaryFile(dir=place):
            yield Finding("ok", tr("task folder"), tr("{tasks}/ can be written", tasks=TASKS))
    except OSError as error:
        text = tr("{place} cannot be written: {reason}", place=place, reason=reason_of(error))
        yield Finding("fault", tr("task folder"), text, tr("change to another folder, or give --into FOLDER"))
    free = shutil.disk_usage(place).free
    small = free < LEAST_DISK
    mend = tr("delete old runs; general_cfg.keep_checkpoints=2 keeps fewer checkpoints") if small else ""
    yield Finding("fault" if small else "ok", tr("disk"), tr("{size} free", size=_gib(free)), mend)


def _extras() -> Iterator[Finding]:
    """Yields the packages that only some parts need."""
    for modules, (use, pip) in EXTRAS.items():
        for module in modules.split():
            if importlib.util.find_spec(module) is None:
                yield Finding("note", module, tr("not installed; it is for {use}", use=use), f"pip install {pip}")
            else:
                yield Finding("ok", module, _version_of(module))


def _environment(package: EnvPackage) -> Finding:
    """Returns whether the environments of a package can be made."""
    if not env_packages.is_installed(package.module):
        use = tr("environments such as {id}", id=package.example)
        text = tr("not installed; it is for {use}", use=use)
        return Finding("note", package.name, text, f"pip install {package.pip}")
    present = package.version() or tr("installed")
    if others := package.other_versions():
        wanted = ", ".join(package.requires)
        text = tr(
            "{present}; tried with {wanted}, and {others} is here",
            present=present,
            wanted=wanted,
            others=", ".join(others),
        )
        return Finding("note", package.name, text, f"pip install {package.pip}")
    return Finding("ok", package.name, present)


def _version_of(module: str) -> str:
    try:
        return version(re.sub("_", "-", module))
    except PackageNotFoundError:
        return tr("installed")


def _gib(size: int) -> str:
    return f"{size / 2**30:,.1f} GiB"
