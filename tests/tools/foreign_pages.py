"""The tables of words of other libraries in docs/ and docs/zh/: python -m tests.tools.foreign_pages writes those of
docs/rllib.md, docs/joyrl.md and docs/names.md, and of their pages in Chinese, anew."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from config.foreign import convlab, joyrl
from config.foreign import names as foreign_names
from config.foreign.rllib_keys import ALGORITHMS, MAPPINGS, TABLES, implied
from config.foreign.table import OFF, Row, Table, lines
from config.program import ROOT
from config.tell import language
from tests.tools.pages import anchors

DOCS = ROOT / "docs"
FOLDERS = {"en": DOCS, "zh": DOCS / "zh"}
"""Folder of the pages by their language."""
OF_RLLIB, OF_JOYRL, OF_NAMES = "rllib.md", "joyrl.md", "names.md"
"""Names of the pages."""
TABLE = re.compile(r"(?m)(?:^\|.*\n)+")
WORDS = {
    "there": "那边",
    "here": "这里",
    "remark": "说明",
    "section": "配置段",
    "key of JoyRL": "JoyRL 的键",
    "the network is rewritten, see below": "改写网络，见下文",
    "nothing is needed": "不需要",
    "nothing is needed for {values}": "值为 {values} 时不需要",
    "; ": "；",
    ": ": "：",
    ", ": "、",
}
"""What only the tables say, in Chinese. What the program says, too, is in its catalogs."""
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)")


def said(words: str) -> str:
    """Returns words of the tables in the language that is chosen."""
    return words if language.spoken() == language.ENGLISH else WORDS[words]


def head(*columns: str) -> str:
    return f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|\n"


def led(text: str, page: str) -> str:
    """Returns a text with its links made for the folder of the language that is chosen."""
    folder = FOLDERS[language.spoken()]

    def link(match: re.Match[str]) -> str:
        name, anchor = match[1] or page, match[2]
        here = (folder / name).exists()
        if anchor and here:
            anchor = anchors(folder / name)[anchors(DOCS / name).index(anchor)]
        path = match[1] if here else f"../{name}"
        return f"]({path}#{anchor})" if anchor else f"]({path})"

    return LINK.sub(link, text)


def _parts(text: str) -> list[str]:
    return re.split(r"(?m)^(?=## )", text)


def with_tables(text: str, page: str, made: Mapping[str, str]) -> str:
    """Returns the text of a page, or of its page in Chinese, whose parts are in the same order, with tables in the
    place of the first ones below some headings, by the heading in English."""
    parts = []
    for part, original in zip(_parts(text), _parts((DOCS / page).read_text(encoding="utf-8")), strict=True):
        title = original.partition("\n")[0].removeprefix("## ")
        table = led(made[title], page) if title in made else None
        parts.append(part if table is None else TABLE.sub(lambda _, table=table: table, part, count=1))
    return "".join(parts)


def names_written(text: str) -> str:
    """Returns the text of docs/names.md, or of its page in Chinese, with its tables of settings made anew."""
    tables = {library: table for library, table in foreign_names.TABLES.items() if library != "RLlib"}
    columns = head(said("there"), said("here"), said("remark"))
    made = {
        library: columns + "".join(_of_name(name, row) for name, row in sorted(table.items()))
        for library, table in tables.items()
    }
    return with_tables(text, OF_NAMES, made)


def _of_name(name: str, row: Row) -> str:
    settings = said(", ").join(f"`{path}`" for path in row.settings.split())
    return f"| `{name}` | {settings} | {row.remark or row.refused or row.needless} |\n"


# -------------------------------------------------------------------------------------------------------- RLlib


def of_rllib() -> dict[str, str]:
    """Returns the table below each heading of docs/rllib.md."""
    made = {title: _table(table) for title, table in TABLES.items()}
    nested = "".join(_rows(table, f"{name}.") for name, table in MAPPINGS.items())
    return {**made, "Mappings": _head() + nested, "Algorithms": _algorithms()}


def _head() -> str:
    return head("RLlib", said("here"), said("remark"))


def _table(table: Table) -> str:
    return _head() + _rows(table)


def _rows(table: Table, above: str = "") -> str:
    return "".join(_row([f"`{above}{word}`" for word in words], row) for words, row in lines(table))


def _row(names: list[str], row: Row) -> str:
    refused = row.refused if row.values else ""
    needless = "" if row.settings or row.texts.get("needless") == OFF else row.needless
    remark = row.remark or refused or needless or row.refused
    return f"| {said(', ').join(names)} | {row.here or _settings(row)} | {remark} |\n".replace("|  |", "| |")


def _settings(row: Row) -> str:
    """Returns the settings of a row as the page has them: those of algo_cfg without their section."""
    paths = [f"{section}.{name}" if section != "algo_cfg" else name for section, name in row.paths()]
    return said(", ").join(f"`{path}`" for path in paths) or "-"


def _algorithms() -> str:
    """Returns the table of the algorithms that have another name here."""
    rows = []
    for name, row in ALGORITHMS.items():
        with_them = "".join(f"{said(', ')}`{path}: {str(value).lower()}`" for path, value in implied(row).items())
        rows.append(f"| {name} | {row.settings}{with_them.replace(': per', ': PER')} | {row.remark} |\n")
    return _head() + "".join(rows)


def rllib_written(text: str) -> str:
    """Returns the text of docs/rllib.md, or of its page in Chinese, with its tables made anew."""
    return with_tables(text, OF_RLLIB, of_rllib())


# -------------------------------------------------------------------------------------------------------- JoyRL


def of_joyrl() -> str:
    """Returns the table of keys in docs/joyrl.md. Other spellings come first in each section."""
    return head(said("section"), said("key of JoyRL"), said("here")) + "".join(_rows_of_joyrl())


def joyrl_written(text: str) -> str:
    """Returns the text of docs/joyrl.md, or of its page in Chinese, with the table of keys made anew."""
    return re.sub(r"(?m)^\|[^|]+\|[^|]*JoyRL[^|]*\|[^|]+\|\n(?:^\|.*\n)+", lambda _: of_joyrl(), text, count=1)


def _rows_of_joyrl() -> Iterator[str]:
    for section, rows in joyrl.KEYS.items():
        every = {**rows, **joyrl.SHARED} if section == "algo_cfg" else rows
        for name, row in sorted(every.items(), key=lambda item: (not item[1].spelling(section), item[0].lower())):
            yield f"| `{section}` | `{name}` | {_of_joyrl(section, name, row)} |\n"


def _of_joyrl(section: str, name: str, row: Row) -> str:
    """Returns what a key is here, in words."""
    if key := row.spelling(section):
        return f"`{key}`"
    if name in joyrl.NETWORKS:
        return said("the network is rewritten, see below")
    words = ({True: "true", False: "false", None: "null"}.get(value, str(value)) for value in row.values)
    values = said(", ").join(words)
    nothing = said("nothing is needed for {values}").format(values=values) if values else said("nothing is needed")
    needless = f"{nothing}{said(': ')}{row.needless}" if row.needless else ""
    remark = "" if needless.endswith(row.remark) else row.remark
    text = said("; ").join(part for part in (remark, needless) if part)
    return re.sub(r" ?[(（][^()（）]* convert OLD\.yaml[)）]$", "", text)


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


WRITTEN = {OF_RLLIB: rllib_written, OF_JOYRL: joyrl_written, OF_NAMES: names_written}


def main(folders: dict[str, Path] = FOLDERS) -> None:
    for letters, folder in folders.items():
        for name, written in WRITTEN.items():
            with language.chosen(letters):
                (folder / name).write_text(written((folder / name).read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
