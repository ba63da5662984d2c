"""Contract of a hub: list a repository, upload files, download files. Each failure is one sentence."""

import errno
import os
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol

from config.read.stores import HUBS
from framework.errors import JoystickError
from framework.sharing.address import Address

HOMES = {
    "hf": "framework.sharing.hugging_face:HuggingFace",
    "ms": "framework.sharing.model_scope:ModelScope",
}
"""Beginning of an address -> class of the hub."""
_TOKEN = re.compile(r"\b(hf_|ms-|api_org_)[\w-]{6,}|(?i:bearer\s+)[\w.-]+")
_OF_THE_DISK = (
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.EACCES, errno.EMFILE, errno.ENAMETOOLONG,
)  # fmt: skip
MOST_LETTERS = 300
"""Letters of what a server says that are shown."""


class Upload(NamedTuple):
    """A change of a repository."""

    files: Mapping[str, Path | bytes]
    """Path in the repository -> content."""
    deleted: Sequence[str]
    """Paths that are deleted."""
    message: str
    private: bool | None
    """True or False for a new repository; None: the default of the hub."""
    revision: str | None
    """Branch; None: the default one."""


class Hub(Protocol):
    """A hub of models."""

    def listing(self, address: Address, revision: str | None) -> dict[str, int] | None:
        """Returns the files of a repository, with their bytes; None if there is no such repository or branch."""

    def upload(self, address: Address, change: Upload) -> str:
        """Changes a repository, which is made if there is none. Returns where it can be seen."""

    def download(self, address: Address, path: str, folder: Path, revision: str | None) -> None:
        """Writes a file of a repository into a folder, under the same path."""


def hub_of(address: Address) -> Hub:
    """Returns the hub of an address. Raises JoystickError if its package is missing."""
    module, _, name = HOMES[address.hub].partition(":")
    hub: Hub = getattr(import_module(module), name)()
    return hub


def said(error: BaseException) -> str:
    """Returns what an error says in one line, without tokens."""
    text = " ".join(str(error).split()) or type(error).__name__
    for variable in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "MODELSCOPE_API_TOKEN"):
        if len(value := os.environ.get(variable, "")) > 5:
            text = text.replace(value, "***")
    return _TOKEN.sub("***", text)[:MOST_LETTERS].rstrip(".")


def is_of_the_disk(error: BaseException) -> bool:
    """Returns True for an error of this machine's disk, which is not an answer of the hub."""
    return isinstance(error, OSError) and error.errno in _OF_THE_DISK


def no_token(address: Address, login: str) -> JoystickError:
    """Returns the error of a token that is missing or not valid."""
    return JoystickError(
        "{address}: there is no valid token for {hub}; {login}", address=address, hub=HUBS[address.hub], login=login
    )


def no_right(address: Address, writes: bool) -> JoystickError:
    """Returns the error of a token that may not do it."""
    if writes:
        return JoystickError(
            "{address}: the token may not write there; make one with write permission", address=address
        )
    return JoystickError("{address}: the token may not read it", address=address)


def missing(address: Address, revision: str | None) -> JoystickError:
    """Returns the error of a repository that is not there."""
    if revision:
        return JoystickError(
            "{address}: there is no revision {revision!r}, or no such repository", address=address, revision=revision
        )
    return JoystickError("{address}: there is no such repository, or the token may not see it", address=address)


def no_answer(address: Address, endpoint: str) -> JoystickError:
    """Returns the error of a server that does not answer."""
    return JoystickError(
        "{address}: no answer from {endpoint}; nothing was changed", address=address, endpoint=endpoint
    )


def refused(address: Address, error: BaseException) -> JoystickError:
    """Returns the error of a server that says no for another reason, such as a quota."""
    return JoystickError(
        "{address}: {hub} refuses: {reason}", address=address, hub=HUBS[address.hub], reason=said(error)
    )
