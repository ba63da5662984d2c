"""The functions by which config finds algorithms and environments without importing them itself."""

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple


class Finder(NamedTuple):
    """Functions that find packages; get raises LookupError for an unknown name."""

    get: Callable[[str], ModuleType]
    available: Callable[[], list[str]]
