"""All of RLlib's words, and what each is here. The tables of docs/rllib.md are made of these, and so are messages, and
what --config, --stop and files of experiments set."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from config.foreign import rllib_values, values
from config.foreign.table import ALGORITHMS as OF_ALGORITHMS
from config.foreign.table import Row, Scope, Table, tables
from config.foreign.values import Settings
from config.program import PROGRAM
from config.system.terminal import quoted
from config.tell.language import tr

_TABLES = tables("rllib", vars(values) | vars(rllib_values))
ALGORITHMS = _TABLES.pop(OF_ALGORITHMS)
"""RLlib's algorithm in upper case -> the one here, with settings that it has unless others are written."""
MAPPINGS: Mapping[str, Table] = {name[:-1]: table for name, table in _TABLES.items() if name.endswith(".")}
"""Name of a mapping -> its words."""
TABLES: Mapping[str, Table] = {title: table for title, table in _TABLES.items() if not title.endswith(".")}
"""Heading of the page -> its rows."""
RULES, PARTS = TABLES["Stop rules"], TABLES["Experiments in a file"]
"""Stop rules; parts of an experiment, beside env, stop and config."""


def _config() -> Iterator[tuple[str, Row]]:
    for title, table in TABLES.items():
        if title != "Model" and table not in (RULES, PARTS):
            yield from table.items()
    for name, table in (("model", TABLES["Model"]), *MAPPINGS.items()):
        yield from ((f"{name}.{word}", row) for word, row in table.items())


CONFIG: Table = dict(_config())
"""Each word of --config, or of config in a file -> its row; those of a mapping behind its name and a point."""
LAST = [word for words in (CONFIG, RULES, PARTS) for word, row in words.items() if row.last]
"""Words that are translated after all others, whose values they depend on; in this order, as some depend on others."""
NESTED = ("model", *MAPPINGS)
"""Mappings whose words are translated one by one."""
OF_MODEL_BESIDE_IT = (
    "vf_share_layers", "fcnet_hiddens", "fcnet_activation", "use_lstm", "free_log_std", "_disable_preprocessor_api",
    "_disable_action_flattening",
)  # fmt: skip
"""Words of `model` that old files have beside it."""


def row_of(word: str) -> Row | None:
    """Returns what a word is here: of config, a stop rule, or a part of an experiment; None for any other."""
    if word in OF_MODEL_BESIDE_IT:
        return CONFIG[f"model.{word}"]
    rows = (table[word] for table in (CONFIG, RULES, PARTS) if word in table)
    return next(rows, None)


def plain(text: str) -> str:
    """Returns a text of the page as a part of a message: without links and quotes."""
    folder = tr("docs/")
    text = re.sub(r"\[\w+\]\(#[^)]*\)", f"{folder}rllib.md", text)
    text = re.sub(r"\[(\w+\.md)\]\([^)]*\)", rf"{folder}\1", text)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "")


@dataclass(frozen=True)
class _Hint(Row):
    """A row for messages, whose texts have no Markdown."""

    row: Row = field(kw_only=True)

    @property
    def remark(self) -> str:
        return plain(self.row.remark)

    @property
    def refused(self) -> str:
        return plain(_answer(self.row))


def _hints() -> Iterator[tuple[str, Row]]:
    """Yields each word, in lower case, with its row as messages have it. A word that two mappings have means something
    else in each."""
    nested = Counter(word for table in MAPPINGS.values() for word in table)
    for table in (*MAPPINGS.values(), *TABLES.values()):
        for word, row in table.items():
            if nested[word] < 2:
                yield word.lower(), _Hint(row.settings, row=row)


def _answer(row: Row) -> str:
    """Returns what to do in place of words without a setting of their own."""
    here = row.here.strip("-")
    parts = (tr("here it is {here}", here=here) if here else "", row.remark)
    needless = "" if row.settings else row.needless
    return row.refused or needless or ": ".join(part for part in parts if part)


HINTS: Table = dict(_hints())
"""Each word, of a mapping or not -> its row as messages have it."""


_DISCRETE = re.compile(
    r"(^|:)ALE/|(NoFrameskip|Deterministic)-v\d|^(CartPole|Acrobot|MountainCar|LunarLander|FrozenLake|Taxi)-"
)
"""Ids of environments whose actions are Discrete."""


def algorithm_here(name: Any, words: Mapping[str, Any]) -> tuple[Any, Settings, str]:
    """Returns the algorithm here for one of RLlib's, settings that it has unless others are written, and a remark.
    words: all others that are written."""
    row = ALGORITHMS.get(str(name).upper().replace("-", "_"), Row())
    ours, settings, remark = row.settings or name, implied(row), row.remark
    atoms_written = words.get("num_atoms")
    if str(ours).upper() == "DQN" and isinstance(atoms_written, int) and atoms_written > 1:
        return "C51", settings, "; ".join(filter(None, (remark, tr("DQN with num_atoms is C51"))))
    if str(ours).upper() == "SAC" and isinstance(words.get("env"), str) and _DISCRETE.search(words["env"]):
        return "SAC_D", settings, tr("SAC for Discrete actions")
    return ours, settings, remark


def implied(row: Row) -> Settings:
    """Returns the settings that an algorithm has unless others are written."""
    return {} if row.is_renaming else row.meaning(None, Scope({})).settings


CLASS_ENDINGS = ("Trainer", "Agent", "Algorithm", "Config")
"""Endings of the names of RLlib's classes, behind the algorithm."""


def origin(value: dict[Any, Any], file: str) -> str:
    """Returns the end of a sentence about a file of experiments; empty for any other."""
    theirs = any({"run", "env"} <= set(part) for part in value.values() if isinstance(part, dict))
    return (
        tr("; it looks like experiments of RLlib: {PROGRAM} -f {file}", PROGRAM=PROGRAM, file=quoted(file))
        if theirs
        else ""
    )
