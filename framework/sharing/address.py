"""Addresses of repositories: hf://user/name for the Hugging Face hub, ms://user/name for ModelScope."""

import re
from typing import NamedTuple

from config.program import PROGRAM
from framework.errors import JoystickError

_ADDRESS = re.compile(r"(hf|ms)://([\w][\w.-]{0,95})/([\w][\w.-]{0,95})/?")


class Address(NamedTuple):
    """A repository of a hub."""

    hub: str
    """One of stores.HUBS."""
    user: str
    name: str

    @property
    def repository(self) -> str:
        """Its name for the hub."""
        return f"{self.user}/{self.name}"

    def __str__(self) -> str:
        return f"{self.hub}://{self.repository}"


def parse(text: str) -> Address:
    """Returns the repository that an address names, or raises JoystickError."""
    match = _ADDRESS.fullmatch(text)
    if match is None or ".." in text:
        raise JoystickError(
            "{text!r} is no address of a repository; write hf://user/name, or ms://user/name (a folder or a bucket: "
            "{program} sync NAME file:///FOLDER/NAME)",
            text=text,
            program=PROGRAM,
        )
    return Address(*match.groups())
