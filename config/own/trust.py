"""Folders whose own code the user lets settings name: asked for once on a terminal, and remembered in a file of the
user's. Also says which modules lie in a task directory, whose code is never imported."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from importlib.machinery import PathFinder, all_suffixes
from pathlib import Path

from config.program import PROGRAM
from config.read.opening import named
from config.read.task_files import RUN
from config.system.files import is_private, patiently
from config.tell.language import UserError, tr

_OTHERS_MAY_WRITE = 0o022
_ANYBODY_MAY_WRITE = 0o002
MOST_BYTES = 1 << 20
"""Bytes of the file that are read."""
_answers: dict[Path, bool] = {}
"""Answers of this process, by folder: what could not be remembered still holds for this command."""
_asking = False
"""True if somebody at a terminal can answer."""
_quiet: Callable[[], AbstractContextManager[None]] = nullcontext
"""Returns a context in which nothing else is written to the terminal."""


class TrustError(UserError):
    """The file of trusted folders cannot be used; the message says why."""


def ask_on_terminal(quiet: Callable[[], AbstractContextManager[None]]) -> None:
    """Lets `covers` ask from now on, if somebody can answer: the command line of a person, and no script or CI. quiet:
    returns a context in which nothing else is written to the terminal."""
    global _asking, _quiet
    _quiet = quiet
    _asking = all(stream and stream.isatty() for stream in (sys.stdin, sys.stderr)) and not os.environ.get("CI")


def file() -> Path:
    """Returns the file in which the folders are remembered."""
    base = Path(os.environ.get("XDG_CONFIG_HOME") or "")
    return (base if base.is_absolute() else Path.home() / ".config") / "joystick" / "trusted.json"


def folders() -> list[Path]:
    """Returns the folders that are remembered. Raises TrustError for a file that others may have written."""
    try:
        with open(file(), "rb", opener=named) as stream:
            if not is_private(os.fstat(stream.fileno()), _OTHERS_MAY_WRITE):
                raise TrustError(
                    "{file} is not used: it belongs to another user, or others may write it; delete it", file=file()
                )
            entries = json.loads(stream.read(MOST_BYTES))["folders"]
        return [Path(folder) for folder in entries if isinstance(folder, str)]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise TrustError("{file} cannot be read: {error}", file=file(), error=error) from None


def remember(folder: Path) -> None:
    """Adds a folder to the file."""
    _write([*folders(), folder.resolve()])


def forget(folder: Path) -> bool:
    """Removes a folder from the file; returns False if it was not there."""
    paths = folders()
    _write([other for other in paths if other != folder.resolve()])
    return folder.resolve() in paths


def _write(paths: Iterable[Path]) -> None:
    """Replaces the file by one that only its user may read and write."""
    place, text = file(), json.dumps({"folders": sorted({str(folder) for folder in paths})}, indent=1)
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = place.with_name(f"{place.name}.{os.getpid()}")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
            stream.write(text + "\n")
        patiently(os.replace, fresh, place)
    except OSError as error:
        raise TrustError("{place} cannot be written: {reason}", place=place, reason=error.strerror or error) from None


# -------------------------------------------------------------------------------------------------- modules


def places(module: str) -> Iterator[Path]:
    """Yields the files and folders that an import of a module would read, without importing anything. The current
    folder is searched last, as the command line does."""
    top, *parts = module.split(".")
    spec = getattr(sys.modules.get(top), "__spec__", None) or (
        PathFinder.find_spec(top, [*sys.path, os.getcwd()]) if top.isidentifier() else None
    )
    if spec is None:
        return
    level = [Path(folder) for folder in spec.submodule_search_locations or ()]
    yield from [Path(spec.origin)] if spec.has_location and spec.origin else []
    yield from level
    for part in parts:
        names = (part, *(f"{part}{suffix}" for suffix in all_suffixes()))
        level = [folder / name for folder in level for name in names if (folder / name).exists()]
        yield from level
        level = [place for place in level if place.is_dir()]


def covers(module: str) -> bool:
    """Returns True if a module lies in the current folder, and the user trusts it; asks if that is possible. Python
    then finds it there."""
    folder = Path.cwd().resolve()
    if not _lies_in(module, folder) or not is_private(folder.stat(), _ANYBODY_MAY_WRITE):
        return False
    if not _is_trusted(folder, module):
        return False
    if not {"", str(folder), os.getcwd()} & set(sys.path):
        sys.path.append(os.getcwd())
    return True


def _lies_in(module: str, folder: Path) -> bool:
    """Returns True if a module would be read from a folder itself: not from what is installed below it."""
    top = module.partition(".")[0]
    files = [place.resolve() for place in places(module)]
    first = (folder / f"{top}.py", folder / top / "__init__.py", folder / top)
    inside = all(place == first[0] or place.is_relative_to(first[2]) for place in files)
    return bool(files) and files[0] in first and inside


def _is_trusted(folder: Path, module: str) -> bool:
    if folder not in _answers:
        try:
            trusted = folder in folders()
        except TrustError as error:
            print(error, file=sys.stderr)
            trusted = False
        if not trusted and not _asking:
            return False
        with _quiet():
            _answers[folder] = trusted or _ask(folder, module)
    return _answers[folder]


def _ask(folder: Path, module: str) -> bool:
    """Asks whether code of a folder may be imported, and remembers a yes."""
    question = tr(
        "Import code of this folder, now and later ({PROGRAM} trust --forget ends it)? [y/N]", PROGRAM=PROGRAM
    )
    print(tr("The settings name {module}, which is code in {folder}.", module=module, folder=folder), file=sys.stderr)
    try:
        print(question, end=" ", file=sys.stderr, flush=True)
        answer = sys.stdin.readline().strip().lower()
    except KeyboardInterrupt:
        answer = ""
    if answer not in ("y", "yes"):
        return False
    try:
        remember(folder)
    except TrustError as error:
        print(tr("{error}; the answer holds for this command", error=error), file=sys.stderr)
    return True


def task_of(module: str, loaded: Path | None = None) -> Path | None:
    """Returns the task directory that a module would be imported from; None if it lies elsewhere. loaded: a folder that
    counts as one, whatever it contains."""
    for place in places(module):
        for folder in (*place.absolute().parents, *place.resolve().parents):
            if _is_task(folder) or (loaded is not None and folder == loaded.resolve()):
                return folder
    return None


def _is_task(folder: Path) -> bool:
    """Returns True for the folder of a run, of a group or of a tuning. A folder below tasks/ is a run without run.json,
    too."""
    from config.read.task_config import has_config  # reads YAML, which most commands need anyway, but not all
    from config.read.tasks import is_group

    if (folder / "models").is_dir() and ((folder / RUN).is_file() or folder.parent.name == "tasks"):
        return has_config(folder)
    return is_group(folder) and (has_config(folder) or any(folder.glob(f"*/{RUN}")))


def listing() -> str:
    """Returns the lines of the command trust."""
    lines = [f"{folder}\n" for folder in folders()] or [tr("no folder is trusted") + "\n"]
    return "".join([*lines, tr("(remembered in {file})", file=file()) + "\n"])
