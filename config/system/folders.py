"""Folders of the user."""

import os
from pathlib import Path


def user_cache() -> Path:
    """Returns the user's folder for what can be made again: joystick in ~/.cache, or where XDG_CACHE_HOME says."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or "")
    return (base if base.is_absolute() else Path.home() / ".cache") / "joystick"
