"""The table of run.json in docs/task_directory.md: python -m tests.tools.facts_page writes it anew."""

import re
from pathlib import Path

from config.tell.help_texts import help_text
from framework.disk.facts import RunFacts

PAGE = Path(__file__).parents[2] / "docs" / "task_directory.md"
TABLE = re.compile(r"(?m)^\| key of run\.json \| \|\n\|(?:.*\n\|)*.*\n")


def table() -> str:
    """Returns a row for each key."""
    rows = (f"| {key} | {help_text(RunFacts, key).replace('|', chr(92) + '|')} |\n" for key in RunFacts.model_fields)
    return "".join(["| key of run.json | |\n", "|---|---|\n", *rows])


def written(text: str) -> str:
    """Returns the text of the page with its table made anew."""
    return TABLE.sub(lambda _: table(), text, count=1)


def main() -> None:
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
