"""Names in the config.json of ConvLab-2's policies. Its flags: config/foreign/flags.py."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from config.foreign.cases import NoCounterpartError
from config.foreign.dialect import ConversionError, OldFile
from config.foreign.table import Scope, tables
from config.read import opening
from config.read.sources import Source, document_of
from config.read.yaml_reader import Document, DocumentError, Place, dumped, parse, read
from config.tell.error_text import shown
from config.tell.language import tr
from config.tell.names import did_you_mean, printable

POLICIES = {"ppo": "PPO", "pg": "REINFORCE", "mle": "BC"}
"""Folder of a policy in ConvLab-2 -> the algorithm."""
TABLES = tables("convlab")
"""Folder of a policy -> its names in config.json."""
UNUSED = TABLES["every policy"]
"""Names that set nothing, where the table of the policy has no setting, and why."""
DISCRIMINATOR = TABLES["gdpl"]
"""Names of the discriminator in GDPL's config.json."""
OF_CONVLAB = {"batchsz", "h_dim", "hv_dim", "policy_lr", "print_per_batch", "save_per_epoch", "update_round",
              "value_lr", "pos_weight", "lr_irl", "anneal", "hi_dim"}  # fmt: skip
"""Names by which a config.json of ConvLab-2 is known."""


def kind_of(content: Any) -> str | None:
    """Returns the policy whose config.json this is; None if it is none."""
    if not isinstance(content, Mapping) or not OF_CONVLAB & set(content):
        return None
    if set(content) & set(DISCRIMINATOR):
        return "gdpl"
    if set(content) & {"epsilon", "tau", "policy_lr", "value_lr", "hv_dim"}:
        return "ppo"
    if set(content) & {"print_per_batch", "pos_weight", "weight_decay", "epoch"}:
        return "mle"
    return "pg" if "update_round" in content or "lr" in content else "ppo"


def from_config(config: str) -> Source | None:
    """Returns the settings of --config if that is a file, or the content of a config.json of ConvLab-2; None for other
    content."""
    try:
        document = _document(config)
    except DocumentError as error:
        return Source(True, problems=[str(error)]) if _is_file(config) else None
    kind = kind_of(document.value)
    return from_document(document, kind) if kind else None


def from_document(document: Document, kind: str) -> Source:
    """Returns the settings of a config.json of a policy."""
    source = Source(True, problems=list(document.duplicates))
    if kind not in POLICIES:
        name = next(name for name in DISCRIMINATOR if name in document.value)
        source.refuse(document.place.parts[name], DISCRIMINATOR[name].refused)
        return source
    for name, value in document.value.items():
        _put(source, name, value, document.place.parts[name], kind)
    return source


def of_policy(config: Any, algo: str) -> Source | None:
    """Returns the settings of a config.json that a program names, or gives as a mapping, for a policy; None if no
    policy has this algorithm."""
    kind = next((kind for kind, name in POLICIES.items() if name == algo), None)
    if kind is None:
        return None
    try:
        if isinstance(config, Mapping):
            return from_document(document_of(config, "config"), "gdpl" if kind_of(config) == "gdpl" else kind)
        if not isinstance(config, str | Path):
            raise DocumentError(tr("config: got {value!r}; expected a file, or {{name: value}}", value=config))
        document = _document(str(config), named=True)
    except DocumentError as error:
        return Source(True, problems=[str(error)])
    return from_document(document, "gdpl" if kind_of(document.value) == "gdpl" else kind)


def _put(source: Source, name: str, value: Any, place: Place, kind: str) -> None:
    """Puts a setting under our name, and notes what became of it."""
    if row := TABLES[kind].get(name):
        ours = row.settings
        try:
            setting = value if row.is_renaming else row.meaning(value, Scope({})).settings[f"algo_cfg.{ours}"]
        except NoCounterpartError as reason:
            return source.refuse(place, tr("got {value}; {reason}", value=shown(value), reason=reason))
        source.put("algo_cfg", ours, setting, Place(place.text, name, place.parts))
        source.notes += [] if ours == name else [f"{place.text}: {name} -> algo_cfg.{ours}"]
    elif name in UNUSED:
        source.notes.append(
            tr(
                "{place}: {name} needs nothing here: {reason}",
                place=place.text,
                name=name,
                reason=UNUSED[name].needless,
            )
        )
    else:
        possible = {*TABLES[kind], *UNUSED}
        near = did_you_mean(name, possible) or tr("; known are: {names}", names=", ".join(sorted(possible)))
        source.refuse(place, tr("is no setting of ConvLab-2's policy {kind}{near}", kind=kind, near=near))


def kind_in(config: str) -> str | None:
    """Returns the policy whose config.json --config names or has."""
    try:
        return kind_of(_document(config).value)
    except DocumentError:
        return None


def _is_file(config: str) -> bool:
    return config.strip().endswith(".json") and "{" not in config


def _document(config: str, named: bool = False) -> Document:
    """Returns the mapping in a file, or in a text. named: it is a file, whatever its name. Raises DocumentError."""
    file = named or _is_file(config)
    document = read(config.strip(), opening.named) if file else parse(config, "--config", numbered=False)
    if file and not isinstance(document.value, dict):
        raise DocumentError(tr("{file}: expected {{name: value}}", file=config.strip()))
    return document


def converted(file: OldFile) -> str:
    """Returns the settings of a config.json as a file: those of the algorithm, for dialogues."""
    kind = kind_of(file.document.value) or ""
    source = from_document(file.document, kind)
    if source.problems:
        raise ConversionError(*source.problems)
    notes = "".join(f"# {printable(note)}\n" for note in source.notes)
    sections = {"general_cfg": {"algo_name": POLICIES[kind], "env_name": "dialog"}, **source.sections}
    return notes + dumped(sections)
