"""Names that users of other libraries type, and what they are called here. Messages, the schema and the models of
settings ask here, and name no library."""

import json
from collections.abc import Container, Iterator
from typing import Any

from config.foreign import table
from config.foreign.table import Row, words
from config.foreign.vocabularies import VOCABULARIES
from config.read.finder import Finder
from config.tell.language import tr

TABLES = {vocabulary.library: words(vocabulary.words) for vocabulary in VOCABULARIES if words(vocabulary.words)}
"""Library -> its words outside of our sections."""
_ALGORITHMS = [vocabulary.words.get(table.ALGORITHMS, {}) for vocabulary in VOCABULARIES]
_RENAMED = {name: row.settings for rows in _ALGORITHMS for name, row in rows.items() if row.settings}
_ENVIRONMENTS = {name: here for vocabulary in VOCABULARIES for name, here in vocabulary.environments.items()}
_ABSENT = {name: row for vocabulary in VOCABULARIES for name, row in vocabulary.absent.items()}
NAMES: dict[str, Row] = {
    name: row
    for library in reversed(TABLES.values())
    for name, row in library.items()
    if ("algo_cfg", name) not in row.paths()
}
"""Foreign name -> what it is here. A name that is also a setting here is taken for that setting."""

_LAYER_LISTS = ("actor_layers", "critic_layers")
RATES = ("actor_lr", "critic_lr", "alpha_lr")
"""Learning rates of an actor-critic, where other libraries have one."""
TOGETHER = {
    "learning_rate": RATES,
    "normalize": ("normalize_obs", "normalize_reward"),
    **dict.fromkeys(("policy_kwargs", "net_arch", "activation_fn", "lstm_hidden_size", "hidden_dim"), _LAYER_LISTS),
}
"""Foreign name -> settings that it sets at once."""


def origin(value: dict[Any, Any], file: str) -> str:
    """Returns the end of a sentence that names the library whose file this looks like; empty if none does."""
    sentences = (vocabulary.origin(value, file) for vocabulary in reversed(VOCABULARIES))
    return next(filter(None, sentences), "")


def aliases(section: str) -> dict[str, str]:
    """Returns the other spellings of a section's settings."""
    keys = ((word, row) for vocabulary in VOCABULARIES for word, row in vocabulary.sections.get(section, {}).items())
    return {word: key for word, row in keys if (key := row.spelling(section))}


def accepted(section: str) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """Yields the keys of other libraries that a section accepts, what they are here, and the accepted values; none:
    all."""
    for vocabulary in VOCABULARIES:
        for word, row in vocabulary.sections.get(section, {}).items():
            here = row.remark or row.needless or ", ".join(key for _, key in row.paths())
            description = tr("{library}'s key, here: {name}.", library=vocabulary.library, name=here)
            yield word, description, row.values if row.is_renaming else ()


def algorithm_here(name: str) -> str:
    """Returns the end of a sentence about an algorithm of another library; empty for any other name."""
    ours = _RENAMED.get(name.lower())
    return tr("it is {name} here", name=ours) if ours else algorithm_instead(name)


def algorithm_instead(name: str) -> str:
    """Returns what to take in place of an algorithm of another library; empty for any other name."""
    rows = (rows.get(_folded(name), Row()) for rows in reversed(_ALGORITHMS))
    return next((row.refused for row in rows if row.refused), "")


def policy_instead(name: str) -> str:
    """Returns what to take in place of a policy of another library without a counterpart; empty for any other name."""
    row = _ABSENT.get(name.lower())
    return row.refused if row else ""


def algorithm_of_class(name: str) -> str:
    """Returns the name of an algorithm without the ending that a class of another library has."""
    endings = (ending for vocabulary in VOCABULARIES for ending in vocabulary.class_endings)
    return next((name.removesuffix(ending) for ending in endings if name.endswith(ending)), name)


def environment_here(env_id: str) -> str:
    """Returns our id and arguments of an environment that has another name here; empty for any other."""
    ours, arguments = _ENVIRONMENTS.get(env_id, ("", {}))
    listed = ", ".join(f"{name}: {json.dumps(value)}" for name, value in arguments.items())
    return ours and tr("{name} with {arguments}", name=ours, arguments=listed)


def ours(name: str) -> Iterator[tuple[str, str, str]]:
    """Yields (section, setting, remark) for a foreign name, best first."""
    row = _row(name)
    for section, key in row.paths():
        yield section, key, row.remark


def caution(name: str, fields: Container[str]) -> str:
    """Returns a remark on a setting whose name means another setting, or another value of it, in another library; empty
    for others. fields: the settings that exist."""
    for library, rows in TABLES.items():
        row = rows.get(name, Row())
        keys = [key for _, key in row.paths()]
        differs = name not in keys or (keys == [name] and row.lines)
        if keys and differs and keys[0] in fields and row.remark:
            return tr("of {library}: {remark}", library=library, remark=row.remark)
        if name in keys[1:] and keys[0] in fields:
            return tr("{name} of {library} is {other} here", name=name, library=library, other=keys[0])
    return ""


def together(name: str, key: str, fields: Container[str]) -> list[str]:
    """Returns the settings that a foreign name sets at once. key: the one that it means; fields: those that exist."""
    group = TOGETHER.get(_folded(name), ())
    return [part for part in group if part in fields] if key in group else [key]


def all_at_once(name: str, path: str, find_algo: Finder, algo: str) -> str:
    """Returns the paths of all settings that a foreign name sets for an algorithm, with blanks between them. path: the
    one that it means."""
    section, _, key = path.partition(".")
    own_name = next((other for other in find_algo.available() if other.lower() == algo.lower()), "")
    fields = find_algo.get(own_name).Config.model_fields if own_name else {}
    return " ".join(f"{section}.{part}" for part in together(name, key, fields)) if key in fields else path


def remark_on(name: str) -> str:
    """Returns what to do in place of a foreign name that no setting corresponds to; empty for any other name."""
    row = _row(name)
    return "" if row.settings else row.refused or row.needless


def _row(name: str) -> Row:
    return NAMES.get(_folded(name), Row())


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")
