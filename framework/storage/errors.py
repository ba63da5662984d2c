"""Faults of a store, each with one sentence."""

from framework.errors import JoystickError


class StorageError(JoystickError):
    """A store cannot be reached, read or written."""

    def __init__(self, sentence: str, /, lasting: bool = False, **values: object) -> None:
        """lasting: True for a fault that waiting does not mend, such as a bucket that does not exist."""
        super().__init__(sentence, **values)
        self.lasting = lasting


class MissingObject(StorageError):
    """An object is not in the store."""


class Changed(StorageError):
    """Another writer was first."""


class Claimed(StorageError):
    """Another session writes this run, or has changed it."""

    def __init__(self, sentence: str, /, **values: object) -> None:
        super().__init__(sentence, lasting=True, **values)


class Deleted(Claimed):
    """The copy that this session writes is not there any more."""
