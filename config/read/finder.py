"""The functions by which config finds algorithms and environments without importing them itself."""

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

from config.tell.language import tr


class Finder(NamedTuple):
    """Functions that find packages; get raises LookupError for an unknown name."""

    get: Callable[[str], ModuleType]
    available: Callable[[], list[str]]

    def with_setting(self, *keys: str, most: int = 4) -> str:
        """Returns the names of some packages that have one of these settings; empty if none has."""
        names = [name for name in self.available() if set(keys) & self.get(name).Config.spellings()]
        listed = ", ".join(names[:most])
        return tr("{names} and others", names=listed) if len(names) > most else listed
