"""The tables of docs/rllib.md: python -m config.foreign.rllib_page writes them anew."""

import re
from collections.abc import Iterator
from pathlib import Path

from config.foreign.rllib_keys import MAPPINGS, TABLES, Key
from config.foreign.rllib_values import ALGORITHMS
from config.program import ROOT

PAGE = ROOT / "docs" / "rllib.md"
HEAD = "| RLlib | here | remark |\n|---|---|---|\n"


def tables() -> dict[str, str]:
    """Returns the table below each heading of the page."""
    made = {title: _table(keys) for title, keys in TABLES.items()}
    nested = "".join(_rows(key, f"{name}.") for name, keys in MAPPINGS.items() for key in keys)
    return {**made, "Mappings": HEAD + nested, "Algorithms": _algorithms()}


def _table(keys: tuple[Key, ...]) -> str:
    return HEAD + "".join(_rows(key) for key in keys)


def _rows(key: Key, above: str = "") -> str:
    names = ", ".join(f"`{above}{word}`" for word in key.words())
    remark = key.row.remark or key.row.needless.replace("it is off", "") or key.row.refused
    if key.row.refused and key.row.values and not key.row.remark:
        remark = key.row.refused
    return f"| {names} | {key.here or _settings(key)} | {remark} |\n".replace("|  |", "| |")


def _settings(key: Key) -> str:
    """Returns the settings of a row as the page has them: those of algo_cfg without their section."""
    paths = [f"{section}.{name}" if section != "algo_cfg" else name for section, name in key.row.paths()]
    return ", ".join(f"`{path}`" for path in paths) or "-"


def _algorithms() -> str:
    """Returns the table of the algorithms that have another name here."""
    rows = []
    for name, (ours, settings, remark) in ALGORITHMS.items():
        with_them = "".join(f", `{path}: {str(value).lower()}`" for path, value in settings.items())
        rows.append(f"| {name} | {ours}{with_them.replace(': per', ': PER')} | {remark} |\n")
    return HEAD + "".join(rows)


def written(text: str) -> str:
    """Returns the text of the page with its tables made anew."""
    return "".join(_parts(text))


def _parts(text: str) -> Iterator[str]:
    made = tables()
    for part in re.split(r"(?m)^(?=## )", text):
        title = part.partition("\n")[0].removeprefix("## ")
        yield re.sub(r"(?m)(?:^\|.*\n)+", lambda _, title=title: made[title], part, count=1) if title in made else part


def main(path: Path = PAGE) -> None:
    path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
