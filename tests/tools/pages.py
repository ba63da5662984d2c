"""Pages of the documentation, as the blocks of code in them."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
NOT_RUN = "not run by a test: "
"""Begins the comment above a block that no test runs; the reason follows."""
BLOCK = re.compile(r"(?:<!-- (.*?) -->\n)?^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    language: str
    text: str
    mark: str
    """Comment in the line above it."""

    @property
    def file(self) -> str | None:
        """Name of the file in its first line, if it is one."""
        found = re.match(r"# (\S+\.(?:py|ya?ml))\n", self.text)
        return found[1] if found else None

    @property
    def runs(self) -> bool:
        """True for commands that can be run where the tests run."""
        return self.language == "sh" and not self.mark.startswith(NOT_RUN)


@cache
def anchors(page: Path) -> list[str]:
    """Returns the names of the headings, as GitHub makes them, in their order. A line of code that begins with # is
    none."""
    text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


def blocks(page: Path) -> Iterator[Block]:
    """Yields the blocks of code in their order."""
    for mark, language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        yield Block(language, text, mark)
