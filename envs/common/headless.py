"""Drawing without a display: the backends of SDL, MuJoCo and pyglet, which are chosen before these are imported."""

import ctypes.util
import functools
import os
import sys


def without_display() -> bool:
    """Returns True if no window can be opened."""
    return sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def prepare() -> None:
    """Selects headless backends, if there is no display."""
    if not without_display():
        return
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    if (backend := _of_mujoco()) is not None:
        os.environ.setdefault("MUJOCO_GL", backend)
    if backend == "egl":
        os.environ.setdefault("PYGLET_HEADLESS", "true")


@functools.cache
def _of_mujoco() -> str | None:
    """Returns the backend with which MuJoCo draws without a display; None if there is none. The search starts other
    programs."""
    backends = {"egl": "EGL", "osmesa": "OSMesa"}
    return next((name for name, library in backends.items() if ctypes.util.find_library(library)), None)
