"""Folders of the user."""

import contextlib
import os
import stat
from pathlib import Path

from config.system.files import is_private
from config.tell.language import tr


def user_cache() -> Path:
    """Returns the user's folder for what can be made again: joystick in ~/.cache, or where XDG_CACHE_HOME says."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or "")
    return (base if base.is_absolute() else Path.home() / ".cache") / "joystick"


def private_cache(name: str) -> Path:
    """Returns a folder of the user's cache that nobody else can look into, for what is trusted later; makes it if there
    is none. Raises OSError, with a sentence, if it cannot be had."""
    try:
        place = user_cache() / name
    except RuntimeError as error:  # a user without a folder
        raise OSError(str(error)) from error
    place.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        place.mkdir(0o700)
    status = os.lstat(place)
    if not stat.S_ISDIR(status.st_mode):
        raise OSError(tr("{folder} is not a folder", folder=place))
    if not is_private(status, 0o077):
        raise OSError(tr("{folder} is open to other users, or of another user", folder=place))
    if not os.access(place, os.W_OK):
        raise OSError(tr("{folder} cannot be written to", folder=place))
    return place
