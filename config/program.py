"""The program as it is installed: its folder, its version, and the command that starts it."""

import os
import sys
from pathlib import Path

from config.tell.language import tr

ROOT = Path(__file__).resolve().parent.parent
"""Folder with main.py: a clone, or the folder `joystick` that pip installs. Both have the same layout."""
MAIN = ROOT / "main.py"


ENVIRONMENT = "JOYSTICK_COMMAND"
"""Environment variable with PROGRAM, for the processes that this one starts: they cannot see what the user typed."""


def _command() -> str:
    """Returns what starts this program in a shell. Only an installed folder is a package."""
    installed = (ROOT / "__init__.py").exists() or Path(*sys.argv[:1]).name in ("joystick", "joystick.exe")
    return "joystick" if installed else "python main.py"


PROGRAM = os.environ.get(ENVIRONMENT) or _command()
"""First words of every command that is printed."""


def version() -> str:
    """Returns the version: that in pyproject.toml, or the copy that pip makes when it installs."""
    import tomllib
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    project = ROOT / "pyproject.toml"
    try:
        if not project.exists():
            return installed("joystick")
        return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])
    except (OSError, KeyError, ValueError):
        return tr("(unknown version: pyproject.toml cannot be read)")
    except PackageNotFoundError:
        return tr("(unknown version: pyproject.toml is missing)")
