"""The tables of words of other libraries in docs/: python -m tests.tools.foreign_pages writes those of docs/rllib.md
anew."""

import re
from collections.abc import Iterator
from pathlib import Path

from config.foreign import convlab, joyrl
from config.foreign.rllib_keys import ALGORITHMS, MAPPINGS, TABLES, implied
from config.foreign.table import OFF, Row, Table, lines
from config.program import PROGRAM, ROOT

PAGE = ROOT / "docs" / "rllib.md"
HEAD = "| RLlib | here | remark |\n|---|---|---|\n"


def of_names(name: str, row: Row) -> str:
    """Returns the line of docs/names.md for a word."""
    settings = ", ".join(f"`{path}`" for path in row.settings.split())
    return f"| `{name}` | {settings} | {row.remark or row.refused or row.needless} |"


# -------------------------------------------------------------------------------------------------------- RLlib


def of_rllib() -> dict[str, str]:
    """Returns the table below each heading of docs/rllib.md."""
    made = {title: _table(table) for title, table in TABLES.items()}
    nested = "".join(_rows(table, f"{name}.") for name, table in MAPPINGS.items())
    return {**made, "Mappings": HEAD + nested, "Algorithms": _algorithms()}


def _table(table: Table) -> str:
    return HEAD + _rows(table)


def _rows(table: Table, above: str = "") -> str:
    return "".join(_row([f"`{above}{word}`" for word in words], row) for words, row in lines(table))


def _row(names: list[str], row: Row) -> str:
    refused = row.refused if row.values else ""
    needless = "" if row.settings or row.texts.get("needless") == OFF else row.needless
    remark = row.remark or refused or needless or row.refused
    return f"| {', '.join(names)} | {row.here or _settings(row)} | {remark} |\n".replace("|  |", "| |")


def _settings(row: Row) -> str:
    """Returns the settings of a row as the page has them: those of algo_cfg without their section."""
    paths = [f"{section}.{name}" if section != "algo_cfg" else name for section, name in row.paths()]
    return ", ".join(f"`{path}`" for path in paths) or "-"


def _algorithms() -> str:
    """Returns the table of the algorithms that have another name here."""
    rows = []
    for name, row in ALGORITHMS.items():
        with_them = "".join(f", `{path}: {str(value).lower()}`" for path, value in implied(row).items())
        rows.append(f"| {name} | {row.settings}{with_them.replace(': per', ': PER')} | {row.remark} |\n")
    return HEAD + "".join(rows)


def written(text: str) -> str:
    """Returns the text of docs/rllib.md with its tables made anew."""
    return "".join(_parts(text))


def _parts(text: str) -> Iterator[str]:
    made = of_rllib()
    for part in re.split(r"(?m)^(?=## )", text):
        title = part.partition("\n")[0].removeprefix("## ")
        yield re.sub(r"(?m)(?:^\|.*\n)+", lambda _, title=title: made[title], part, count=1) if title in made else part


# -------------------------------------------------------------------------------------------------------- JoyRL


def of_joyrl() -> Iterator[str]:
    """Yields the lines of the table of keys in docs/joyrl.md. Other spellings come first in each section."""
    yield "| section | key of JoyRL | here |"
    yield "|---|---|---|"
    for section, rows in joyrl.KEYS.items():
        every = {**rows, **joyrl.SHARED} if section == "algo_cfg" else rows
        for name, row in sorted(every.items(), key=lambda item: (not item[1].spelling(section), item[0].lower())):
            yield f"| `{section}` | `{name}` | {_of_joyrl(section, name, row)} |"


def _of_joyrl(section: str, name: str, row: Row) -> str:
    """Returns what a key is here, in words."""
    if key := row.spelling(section):
        return f"`{key}`"
    if name in joyrl.NETWORKS:
        return "the network is rewritten, see below"
    values = ", ".join({True: "true", False: "false", None: "null"}.get(value, str(value)) for value in row.values)
    needless = f"nothing is needed{values and f' for {values}'}: {row.needless}" if row.needless else ""
    remark = "" if needless.endswith(row.remark) else row.remark
    return "; ".join(part for part in (remark, needless) if part).removesuffix(f" ({PROGRAM} convert OLD.yaml)")


# ------------------------------------------------------------------------------------------------------ ConvLab-2


def of_convlab() -> list[str]:
    """Returns the lines of the table of the names in a config.json."""
    head = [
        f"| `config.json` | {' | '.join(f'`{kind}`: {algo}' for kind, algo in convlab.POLICIES.items())} |",
        "|---|---|---|---|",
    ]
    rows = sorted({*convlab.UNUSED, *(name for kind in convlab.POLICIES for name in convlab.TABLES[kind])})
    cells = {name: [_cell(name, kind) for kind in convlab.POLICIES] for name in rows}
    return [*head, *(f"| `{name}` | {' | '.join(cells[name])} |" for name in rows)]


def _cell(name: str, kind: str) -> str:
    row = convlab.TABLES[kind].get(name)
    return f"`{row.settings}`" if row else "–" if name in convlab.UNUSED else ""


def main(path: Path = PAGE) -> None:
    path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
