"""Tags and a note that a user gives a run or a group of runs: a small file, which no training reads."""

import json
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from config.read.opening import read_regular
from config.read.task_files import TaskFiles
from framework.disk.atomic import write_whole

MOST_BYTES = 2**18
"""Size of the largest file that is read: all characters of the longest note may be escaped."""
MOST_TAGS, LONGEST_TAG, LONGEST_NOTE = 20, 40, 10_000
"""Number of tags, and characters of a tag and of a note."""


def _tag(text: str) -> str:
    if text != text.strip() or not text.isprintable() or "," in text:
        raise ValueError("a tag is a line without a comma, and without blanks around it")
    return text


class Notes(BaseModel):
    """Tags and a note, with their limits."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    tags: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=LONGEST_TAG), AfterValidator(_tag)]],
        Field(max_length=MOST_TAGS),
    ] = Field(default_factory=list)
    note: Annotated[str, Field(max_length=LONGEST_NOTE)] = ""

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Returns the notes of a run or a group; empty ones if there are none, or a file of another content."""
        try:
            return cls.model_validate_json(read_regular(TaskFiles(folder).notes, MOST_BYTES))
        except (OSError, ValidationError):
            return cls()

    def write(self, folder: Path) -> None:
        """Writes the notes of a run or a group; empty ones remove the file."""
        path = TaskFiles(folder).notes
        if self == type(self)():
            path.unlink(missing_ok=True)
        else:
            tags = list(dict.fromkeys(self.tags))
            write_whole(path, (json.dumps({"tags": tags, "note": self.note}, indent=1) + "\n").encode())
