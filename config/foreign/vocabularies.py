"""The words of all dialects, for hints, the schema and the models of settings. Imports little: models take their other
spellings from here. config/foreign/names.py answers questions about them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from config.foreign import joyrl, rllib_keys, sb3, table
from config.foreign.table import Row, Table, tables


@dataclass(frozen=True)
class Vocabulary:
    """Words of another library."""

    library: str
    words: Mapping[str, Table] = field(default_factory=dict)
    """Heading -> words outside of our sections. Algorithms have a heading of their own."""
    sections: Mapping[str, Table] = field(default_factory=dict)
    """Section -> the library's keys there, for a library whose sections are ours."""
    environments: Mapping[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    """Id there -> id and arguments here."""
    absent: Mapping[str, Row] = field(default_factory=dict)
    """Policy without a counterpart, in lower case -> the row with what to take in its place."""
    class_endings: tuple[str, ...] = ()
    """Endings of the names of classes, behind the name of an algorithm."""
    origin: Callable[[dict[Any, Any], str], str] = lambda value, file: ""
    """Returns the end of a sentence that names the library if a file looks like its own. The text is the file's
    name."""


VOCABULARIES = (
    Vocabulary("Stable-Baselines3, sb3-contrib and rl-baselines3-zoo", sb3.TABLES, origin=sb3.origin),
    Vocabulary("CleanRL", tables("cleanrl")),
    Vocabulary("Tianshou", tables("tianshou")),
    Vocabulary("RLlib", {"": rllib_keys.HINTS}, class_endings=rllib_keys.CLASS_ENDINGS, origin=rllib_keys.origin),
    Vocabulary("Others", tables("others")),
    Vocabulary("ConvLab-2", absent={"gdpl": tables("convlab")["gdpl"]["lr_irl"]}),
    Vocabulary("JoyRL", {table.ALGORITHMS: joyrl.ALGORITHMS}, sections=joyrl.KEYS, environments=joyrl.ENVS),
)
"""A word of several libraries means what the first of them says."""
