"""Reads settings by RLlib's names: --config, --stop, and experiments in a file. config/foreign/rllib_keys.py has the
words, config/foreign/rllib_values.py what their values mean here."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from config.foreign import convlab
from config.foreign import names as foreign_names
from config.foreign.cases import Meaning, NoCounterpartError
from config.foreign.dialect import Changes, Flags, Hint
from config.foreign.rllib_keys import CONFIG, LAST, NESTED, PARTS, RULES, algorithm_here, plain, row_of
from config.foreign.rllib_values import example_here
from config.foreign.table import Row, Scope
from config.model.schema import FILM
from config.program import PROGRAM
from config.read import sources
from config.read.sources import Source
from config.read.yaml_reader import Document, DocumentError, Place, parse
from config.tell.error_text import shown
from config.tell.language import tr
from config.tell.names import did_you_mean, of_others_by_name

# ------------------------------------------------------------------------------------------------------ reading


def of_flags(flags: Flags) -> Iterator[Source]:
    """Yields the settings of --config, which may use our sections or be a mapping of a program, and of --stop."""
    config = flags.config
    if isinstance(config, Mapping):
        yield from_settings(sources.document_of(config, "Python: config"))
        config = None
    elif config is not None and (source := convlab.from_config(config)):
        config = None
        yield source
    for flag, text, read in (("--config", config, from_settings), ("--stop", flags.stop, from_stop_rules)):
        if text is not None:
            document, problem = _json(flag, text)
            yield read(document) if document else Source(True, problems=[problem])


def _json(flag: str, text: str) -> tuple[Document | None, str]:
    """Returns the mapping in a text, or what is wrong with it."""
    try:
        try:
            document = parse(text, flag, numbered=False)
        except DocumentError:
            document = parse(text, flag)  # fails again, with line and column
    except DocumentError as error:
        return None, str(error)
    if isinstance(document.value, dict):
        return document, ""
    is_file = str(document.value).endswith((".yaml", ".yml", ".json"))
    end = tr("; a file is given as --yaml FILE") if is_file else ""
    value = shown(document.value)
    return None, tr("{flag}: got {value}; expected {{name: value}}{end}", flag=flag, value=value, end=end)


def from_settings(document: Document) -> Source:
    """Returns the settings of a mapping with our sections or RLlib's names."""
    source = sources.from_document(document, written=True)
    for key, *_ in source.strays:
        value, place = document.value[key], document.place.parts[key]
        if key == "env":  # the choice of the preset depends on it, before the names are translated
            source.put("env_cfg", "id", value, place)
        if isinstance(value, dict) and set(value) == {"eval"}:
            source.refuse(place, _EXPRESSION)
            continue
        source.foreign |= words_of(key, value, place)
    source.strays.clear()
    return source


def words_of(key: str, value: Any, place: Place) -> dict[str, tuple[Any, Place]]:
    """Returns RLlib's words in a setting, each with its place: the setting itself, and those within it."""
    word = _spelled(key)
    words = {word: (_null(value), place)}
    if word in NESTED and isinstance(value, dict):
        within = {part: place.parts.get(part, Place(place.text, f"{place.path}.{part}")) for part in value}
        words |= {f"{word}.{part}": (_null(value[part]), within[part]) for part in value}
    return words


_EXPRESSION = tr(
    "an expression is not evaluated; write values to try, such as {{choice: [1, 2]}} or {{log: [1e-5, "
    "1e-2]}} ({PROGRAM} tune -f FILE)",
    PROGRAM=PROGRAM,
)


def _null(value: Any) -> Any:
    """Returns a value, or None for Python's None, which is text in YAML: settings are pasted from programs."""
    return None if value == "None" else value


def _spelled(key: str) -> str:
    """Returns a word as RLlib spells it."""
    plain = key.lower().replace("-", "_")
    return plain if row_of(key) is None and row_of(plain) else key


def from_stop_rules(document: Document) -> Source:
    """Returns the settings of a mapping with RLlib's stop rules."""
    source = Source(True, problems=list(document.duplicates))
    for key, value in document.value.items():
        place = document.place.parts[key]
        if key in RULES:
            source.foreign[key] = (value, place)
        else:
            rules = [rule for rule in RULES if "/" not in rule]
            near = did_you_mean(key, RULES) or tr("; known: {names}", names=", ".join(rules))
            source.refuse(place, tr("is not a stop rule{near}", near=near))
    return source


def name_algorithm(source: Source, others: Iterable[Source] = ()) -> None:
    """Puts the algorithm that `run` of a source means. others: sources whose words it depends on, too."""
    cells = {word: cell for other in (*others, source) for word, cell in other.foreign.items()}
    if "run" in cells:
        words = {word: value for word, (value, _) in cells.items()}
        name, _, _ = algorithm_here(words["run"], words)
        source.put("general_cfg", "algo_name", name, cells["run"][1])


def put_flags(source: Source, flags: Flags, others: Iterable[Source]) -> Iterator[str]:
    """Adds --run, --env and --checkpoint-freq of RLlib, and yields what is to be said of the last. others: sources that
    the choice of the algorithm depends on, too."""
    id_written = source.sections.get("env_cfg", {}).get("id")
    env = flags.env if id_written == flags.env else None
    for word, flag, value in (("run", "--run", flags.algo), ("env", "--env", env)):
        if value:
            source.foreign[word] = (value, Place(flag, word))
    name_algorithm(source, others)
    if flags.checkpoint_freq:
        source.foreign["checkpoint_freq"] = (flags.checkpoint_freq, Place("--checkpoint-freq", "checkpoint_freq"))
    elif flags.checkpoint_freq == 0:
        yield f"--checkpoint-freq 0: {PARTS['checkpoint_freq'].meaning(0, Scope({})).remark}"


# -------------------------------------------------------------------------------------------------- translation


def translate(source: Source, scope: Scope, hint: Hint) -> Changes:
    """Puts the settings that have RLlib's names under ours, with a note on each."""
    return Changes(list(_translated(source, scope, lambda key: hint("algo_cfg", key))))


def _translated(source: Source, scope: Scope, hint: Callable[[str], str]) -> Iterator[str]:
    for key in sorted(source.foreign, key=lambda key: LAST.index(key) if key in LAST else -1):
        value, place = source.foreign[key]
        try:
            meaning = meaning_of(key, value, scope)
        except NoCounterpartError as reason:
            source.refuse(place, str(reason))
            continue
        except LookupError as missing:
            if "algo_cfg" in scope.models:
                source.refuse(place, _unknown(key, missing, hint))
            continue
        if _put(source, meaning, place) and (note := _note(key, value, meaning)):
            yield f"{place.text}: {note}"
    yield from _put_implied(source, scope)


def meaning_of(key: str, value: Any, scope: Scope) -> Meaning:
    """Returns the settings that a name and its value mean here. Raises NoCounterpartError, or LookupError for an
    unknown name."""
    row = row_of(key)
    if value is None and not (row and row.reads_null) and _is_word(key, scope):
        return Meaning({}, tr("null is the default"))
    if row:
        return _of_row(row, value, scope)
    mapping, point, word = key.partition(".")
    if point:
        words = [other.partition(".")[2] for other in CONFIG if other.startswith(f"{mapping}.")]
        listed = tr("; known: {words} and others (docs/rllib.md)", words=", ".join(words[:8]))
        near = did_you_mean(word, words) or listed
        raise NoCounterpartError("is not a word of {mapping}{near}", mapping=mapping, near=near)
    return _of_others(key, value, scope)


def _is_word(key: str, scope: Scope) -> bool:
    """Returns True for a name of RLlib or another library, and for a setting of ours."""
    known = bool(row_of(key) or foreign_names.remark_on(key) or next(foreign_names.ours(key), None))
    return known or any(key in model.spellings() for model in scope.models.values())


def _of_row(row: Row, value: Any, scope: Scope) -> Meaning:
    """Returns the meaning of a row's word, with sentences in place of the page's Markdown."""
    try:
        meaning = row.meaning(value, scope)
    except NoCounterpartError as reason:
        raise NoCounterpartError(plain(str(reason))) from None
    return meaning._replace(remark=plain(meaning.remark))


def _of_others(key: str, value: Any, scope: Scope) -> Meaning:
    """Returns the meaning of a name of another library, or of a setting of ours without its section."""
    if remark := foreign_names.remark_on(key):
        raise NoCounterpartError(remark)
    for section, name, remark in foreign_names.ours(key):
        if scope.has(f"{section}.{name}"):
            if remark:
                raise NoCounterpartError(
                    "is {name} here ({remark}); write {section}.{name}", name=name, remark=remark, section=section
                )
            return Meaning({f"{section}.{name}": value})
    owner = next((section for section, model in scope.models.items() if key in model.spellings()), None)
    if owner is None:
        raise LookupError(key)
    return Meaning({f"{owner}.{scope.models[owner].field_name(key)}": value})


def _unknown(key: str, missing: LookupError, hint: Callable[[str], str]) -> str:
    """Returns what is wrong with a word whose setting does not exist in this run."""
    paths = missing.args[0] if isinstance(missing.args[0], tuple) else str(missing.args[0]).split()
    for ours in (path.rpartition(".")[2] for path in paths) if row_of(key) else ():
        if renamed := of_others_by_name(hint(ours), ours):
            return (renamed if ours != key else hint(ours)).removeprefix(tr("; "))
    mistyped = "" if key in CONFIG else did_you_mean(key, CONFIG)  # before hint's, which answers with words of ours
    near = (mistyped or hint(key)).removeprefix(tr("; "))
    return near or tr("has no counterpart here")


def put_present_env(source: Source, scope: Scope, kind: ModuleType | None) -> None:
    """Puts the present id of an environment in the place of one that has gone, before anything is translated. A game of
    ale_py is played on its own vector environment, unless another way is written. kind: package of the environment."""
    if "env" not in source.foreign or not hasattr(kind, "current_id"):
        return
    value, place = source.foreign["env"]
    if not isinstance(value, str):
        return
    present, settings = present_id(value, kind)
    for key, setting in {"id": present, **settings}.items():
        source.put("env_cfg", key, setting, place)
    free = not any({"vectorization", "wrappers"} & set(other.sections.get("env_cfg", {})) for other in scope.sources)
    if present.startswith("ALE/") and free:
        source.put("env_cfg", "vectorization", "native", place)


def present_id(name: str, kind: ModuleType | None) -> tuple[str, dict[str, Any]]:
    """Returns the id here for an environment of RLlib's files, and further settings of env_cfg."""
    old, settings = example_here(name.removeprefix("ale_py:") if name.startswith("ale_py:ALE/") else name)
    if kind is None or not hasattr(kind, "current_id"):
        return old, settings
    return kind.current_id(kind.present_name(old)), settings


def _put_implied(source: Source, scope: Scope) -> Iterator[str]:
    """Puts what the algorithm in the place of another one has, unless something else is written; yields a note."""
    if "run" not in source.foreign:
        return
    value, place = source.foreign["run"]
    words = {word: part for other in scope.sources for word, (part, _) in other.foreign.items()}
    name, settings, remark = algorithm_here(value, words)
    free = {path: setting for path, setting in settings.items() if scope.has(path) and not _written(path, scope)}
    _put(source, Meaning(free), place)
    if remark:
        yield f"{place.text}: {_note('run', value, Meaning({'general_cfg.algo_name': name, **free}, remark))}"


def _written(path: str, scope: Scope) -> bool:
    section, _, key = path.partition(".")
    return any(key in source.sections.get(section, {}) for source in scope.sources)


def _put(source: Source, meaning: Meaning, place: Place) -> bool:
    """Puts settings into a source; returns False if nothing is new, or if another word sets one of them otherwise."""
    new = not meaning.settings
    for path, value in meaning.settings.items():
        section, _, name = path.partition(".")
        if name in source.sections.get(section, {}):
            other = source.places[section].parts[name].path
            if source.sections[section][name] != value:
                source.refuse(place, tr("sets {setting}, which {other} sets too; keep one", setting=path, other=other))
                return False
            new = new or other == place.path
        else:
            source.put(section, name, value, Place(place.text, place.path))
            new = True
    return new


def _note(key: str, value: Any, meaning: Meaning) -> str:
    """Returns a setting and its meaning in words; empty if they are the same."""
    if not meaning.settings:
        if not meaning.remark:
            return ""
        return tr("{key} {value} needs nothing here: {reason}", key=key, value=_plain(value), reason=meaning.remark)
    named = {path.partition(".")[2]: other for path, other in meaning.settings.items()}
    if named == {key: value} or (key == "env" and named == {"id": value}):
        return ""
    ours = ", ".join(f"{name} {_plain(other)}" for name, other in named.items())
    return f"{key} {_plain(value)} -> {ours}" + (f" ({meaning.remark})" if meaning.remark else "")


def _plain(value: Any) -> str:
    return "rgb_array" if value is FILM else value if isinstance(value, str) else shown(value)
