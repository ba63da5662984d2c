"""Drawing without a display: backends of SDL, MuJoCo and pyglet, which are chosen before these are imported."""

import ctypes.util
import functools
import os

from config.own.env_packages import EnvPackage
from config.system.name import has_display


def without_display() -> bool:
    """Returns True if no window can be opened."""
    return not has_display()


_chosen: dict[str, str] = {}
"""Variables of the process that were chosen here, and not by the user."""


def prepare(package: EnvPackage | None = None) -> None:
    """Selects headless backends, if there is no display. package: one that may need others."""
    if not without_display():
        return
    variables = {"SDL_VIDEODRIVER": "dummy"}
    if (backend := _of_mujoco()) is not None:
        variables["MUJOCO_GL"] = backend
    if backend == "egl":
        variables["PYGLET_HEADLESS"] = "true"
    for name, value in {**variables, **_chosen, **(package.headless if package else {})}.items():
        if os.environ.get(name) in (None, _chosen.get(name)):
            os.environ[name] = _chosen[name] = value


@functools.cache
def _of_mujoco() -> str | None:
    """Returns the backend with which MuJoCo draws without a display; None if there is none. The search starts other
    programs."""
    backends = {"egl": "EGL", "osmesa": "OSMesa"}
    return next((name for name, library in backends.items() if ctypes.util.find_library(library)), None)
