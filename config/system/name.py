"""Which system this is, who uses it, and whether windows can be opened.

The modules of this room know what differs between operating systems: no other one asks which system this is, or for
what only some of them have. (`config/machine.py` reads what Linux and macOS say of cores and memory.) Linux is what
Joystick is developed on; elsewhere each function does the same in another way, or says that it cannot be done.
"""

import os
import sys

NAME = sys.platform
"""Name of the system as Python has it: linux, darwin, win32."""


def is_windows() -> bool:
    """Returns True on Windows."""
    return NAME == "win32"


def has_display() -> bool:
    """Returns True if windows can be opened, as far as the system tells."""
    return NAME != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def user() -> int | None:
    """Returns the number of the user; None on Windows, where files have no owner that Python could compare."""
    return os.getuid() if hasattr(os, "getuid") else None
