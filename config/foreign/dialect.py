"""The protocol of a dialect: what is understood of another library."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

from config.foreign.table import Scope
from config.model import SECTIONS
from config.model.fields import Strict
from config.read.finder import Finder
from config.read.sources import Source
from config.read.yaml_reader import Document, dumped, inline
from config.tell.language import tr
from config.tell.names import printable

Hint = Callable[[str, str], str]
"""Returns the end of a sentence about an unknown setting of a section."""


class Flags(NamedTuple):
    """Flags of another library, as they are written; None if they are not."""

    config: str | Mapping[str, Any] | None
    stop: str | None
    algo: str | None
    env: str | None
    checkpoint_freq: int | None


class Changes(NamedTuple):
    """Sentences on what became of the settings of a source."""

    notes: Iterable[str] = ()
    needless: Iterable[str] = ()
    """Settings for which nothing is needed here."""
    problems: Iterable[str] = ()
    defaults: Source | None = None
    """Settings that the library has where a file says nothing, and that are others here. A run that is loaded has its
    own."""


class OldFile(NamedTuple):
    """A file that is converted, and the flags of the command."""

    document: Document
    path: str
    find_algo: Finder
    find_env: Finder
    hint: Callable[[str, str, Mapping[str, type[Strict]], str], str]
    """Returns the end of a sentence about a key that a section does not have. The models are those of the sections, the
    last argument is the algorithm."""
    name: str = ""
    """Name of one of several experiments."""
    algo: str | None = None
    env: str | None = None


class ConversionError(Exception):
    """A file that cannot be converted; its arguments are the problems, a sentence each."""


@dataclass(frozen=True)
class Dialect:
    """The words and files of another library that are understood. A part that it lacks does nothing."""

    library: str = ""
    of_flags: Callable[[Flags], Iterable[Source]] = lambda flags: ()
    """Yields the settings in flags that have settings of their own."""
    put_flags: Callable[[Source, Flags, Iterable[Source]], Iterable[str]] = lambda source, flags, others: ()
    """Adds the other flags to the source of the command line, and yields notes; others: sources that they depend on."""
    rewrite: Callable[[Source, Finder, Finder, dict[str, Any]], Changes] = lambda *_: Changes()
    """Rewrites a file that is in the library's words by our names, as soon as it is read. The settings are
    those of general_cfg on the command line."""
    put_policies: Callable[[Source, Callable[[str], str | None]], None] = lambda source, algorithm: None
    """Puts the policies of a source under policies_cfg, before the algorithms are chosen. The function returns
    our name of one."""
    present_id: Callable[[str, ModuleType | None], str] = lambda name, kind: name
    """Returns the id here of an environment. The package is that of its kind."""
    put_env: Callable[[Source, Scope, ModuleType | None], None] = lambda source, scope, kind: None
    """Puts the present id of an environment in the place of one that has gone, before anything is translated."""
    translate: Callable[[Source, Scope, Hint], Changes] = lambda source, scope, hint: Changes()
    """Puts the words of a source that are left under our names, once the models of all sections are known."""
    translate_policies: Callable[[Source, Mapping[str, type[Strict]], list[Source], Hint], Changes] = lambda *_: (
        Changes()
    )
    """Does the same with the settings of each policy. The models are those of all sections."""
    hint: Callable[[str, str], str] = lambda section, key: ""
    """Returns the end of a sentence about a key of a section that needs more than another name; empty for others."""
    keys: Callable[[str], Iterable[str]] = lambda section: ()
    """Returns the keys of a section, of which one may be meant."""
    experiments: Callable[[Document], dict[str, Source]] = lambda document: {}
    """Returns the settings of each experiment of a file by its name; none for a file that has no experiments."""
    take_repeats: Callable[[Document], int] = lambda document: 0
    """Takes the number of runs out of a file with one experiment, and returns it; 0 without any."""
    settings: Callable[[Document], Source | None] = lambda document: None
    """Returns the settings of a file that names no algorithm; None for any other file."""
    of_policy: Callable[[Any, str], Source | None] = lambda config, algo: None
    """Returns the settings of a file, or a mapping, that a program gives to a policy of the library; None if it has no
    such policy. The name is that of the algorithm here."""
    recognizes: Callable[[Document], bool] = lambda document: False
    """Returns True for a file of the library."""
    convert: Callable[[OldFile], str] = lambda file: ""
    """Returns the file by our names, with a comment for each change. Raises ConversionError."""
    flags: Callable[[Document], tuple[str, ...]] = lambda document: ()
    """Returns the words of the command convert that a file of the library takes: algo, env, name."""


# ------------------------------------------------------------------------------------------------ a converted file

LOST = tr("Not converted; look for a setting that does the same:")
NEEDLESS = tr("Left out, since nothing is needed here:")


def new_file(
    sections: Mapping[str, Mapping[str, Any]],
    comments: Mapping[str, str],
    omitted: Mapping[str, Iterable[str]],
    more: Mapping[str, Any] | None = None,
) -> str:
    """Returns settings as a file. comments: section.key -> what a setting was; omitted: heading -> settings that the
    file lacks, at its top; more: sections for its end."""
    lines = []
    for heading, parts in omitted.items():
        listed = [f"#   {printable(part)}\n" for part in parts]
        lines += [f"# {heading}\n", *listed] if listed else []
    for section in SECTIONS:
        lines += [f"{section}:\n"] if sections.get(section) else []
        for key, value in sections.get(section, {}).items():
            comment = comments.get(f"{section}.{key}")
            lines.append(f"  {inline(key)}: {inline(value)}" + (f"  # {printable(comment)}" if comment else "") + "\n")
    if more:
        lines.append(dumped(dict(more)))
    return "".join(lines)
