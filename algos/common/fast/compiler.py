"""Prepares torch's compiler: the folder that it keeps compiled code in, which nobody else can write to. Torch itself is
imported only when a run compiles."""

import atexit
import contextlib
import os
import shutil
import stat
import tempfile

TORCH_CACHE = "TORCHINDUCTOR_CACHE_DIR"
"""Environment variable with the folder in which torch keeps compiled code between runs."""


def prepare() -> None:
    """Loads torch's compiler. It gets a folder of this user's own, unless the environment names one: its default is a
    name in the shared folder for temporary files, and it runs what it finds there, whoever made it."""
    if TORCH_CACHE not in os.environ and hasattr(os, "getuid"):
        path = os.path.join(tempfile.gettempdir(), f"joystick-torch-{os.getuid()}")
        os.environ[TORCH_CACHE] = path if _is_private(path) else _of_this_process()
    import torch._inductor.config  # which looks for the folder
    from torch._inductor import codecache

    torch._inductor.config.compile_threads = 1  # others would be processes that outlive the run
    codecache._HEADER_DIR = os.path.join(os.environ[TORCH_CACHE], "precompiled_headers")
    codecache._HEADER_LOCK_DIR = os.path.join(codecache._HEADER_DIR, "locks")


def _is_private(path: str) -> bool:
    """Makes a folder if there is none. Returns True if it is this user's, and nobody else may look into it."""
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        facts = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and not facts.st_mode & 0o077


def _of_this_process() -> str:
    """Returns a new private folder, which is removed when this process ends."""
    path = tempfile.mkdtemp(prefix="joystick-torch-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path
