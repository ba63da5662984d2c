"""Names in the config.json of ConvLab-2's policies, and its example. Its flags: config/foreign/flags.py."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from config.foreign.dialect import ConversionError, OldFile
from config.foreign.values import linear
from config.read import opening
from config.read.sources import Source, document_of
from config.read.yaml_reader import Document, DocumentError, Dumper, Place, parse, read
from config.tell.error_text import shown
from config.tell.names import did_you_mean, printable

DATABASES = Path("multiwoz")
"""Folder in which the databases of MultiWOZ are looked for."""
SMALL = "mini"
"""Dialogues without them."""


def databases() -> dict[str, str]:
    """Returns the settings of dialogues in MultiWOZ if its databases are there, otherwise those of the small domain."""
    if (DATABASES / "restaurant_db.json").is_file():
        return {"id": "full", "data_dir": str(DATABASES)}
    return {"id": SMALL}


def example(algo: str) -> dict[str, Any]:
    """Returns the settings of ConvLab-2's example."""
    named = {f"env_cfg.{key}": value for key, value in databases().items()}
    large = "env_cfg.data_dir" in named and algo == "PPO"
    preset = {"general_cfg.preset": "multiwoz/PPO", "general_cfg.start_from": None} if large else {}
    return {"general_cfg.env_name": "dialog", **named, **preset}


POLICIES = {"ppo": "PPO", "pg": "REINFORCE", "mle": "BC"}
"""Folder of a policy in ConvLab-2 -> the algorithm."""
NAMES: dict[str, dict[str, str]] = {
    "batchsz": {"ppo": "sgd_batch_size", "mle": "batch_size"},
    "epoch": {"mle": "data_epochs"},
    "epsilon": {"ppo": "eps_clip"},
    "gamma": {"ppo": "gamma", "pg": "gamma"},
    "h_dim": {"ppo": "actor_layers", "pg": "actor_layers", "mle": "actor_layers"},
    "hv_dim": {"ppo": "critic_layers"},
    "lr": {"pg": "lr", "mle": "lr"},
    "policy_lr": {"ppo": "actor_lr"},
    "tau": {"ppo": "gae_lambda"},
    "update_round": {"ppo": "k_epochs"},
    "value_lr": {"ppo": "critic_lr"},
    "weight_decay": {"mle": "weight_decay"},
}
"""Name in config.json -> policy -> our setting in algo_cfg."""
_ONCE = "REINFORCE learns once from a whole window"
UNUSED: dict[str, str] = {
    "batchsz": _ONCE,
    "update_round": _ONCE,
    "load": "general_cfg.start_from=NAME begins with the weights of another run",
    "log_dir": "logs are in the task directory",
    "pos_weight": "each act of a set counts once",
    "print_per_batch": "general_cfg.model_summary_fre says how often losses are logged",
    "save_dir": "checkpoints are in the task directory, --into FOLDER",
    "save_per_epoch": "general_cfg.model_save_fre says how often a checkpoint is saved",
}
"""Names of config.json that set nothing, where NAMES has no setting for the policy, and why."""
DISCRIMINATOR = ("lr_irl", "anneal", "clip", "hi_dim")
"""Names of the discriminator in GDPL's config.json."""
OWN_WORDS = {"batchsz", "h_dim", "hv_dim", "policy_lr", "print_per_batch", "save_per_epoch", "update_round", "value_lr",
             "pos_weight", *DISCRIMINATOR} - {"clip"}  # fmt: skip
"""Names by which a config.json of ConvLab-2 is known."""
REFUSED = (
    "GDPL is not here: it learns its reward from dialogues of people with a discriminator of its own; PPO takes the "
    "reward of the environment, and AIRL and GAIL learn one from data of an expert"
)


def kind_of(content: Any) -> str | None:
    """Returns the policy whose config.json this is; None if it is none."""
    if not isinstance(content, Mapping) or not OWN_WORDS & set(content):
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
        source.problems.append(f"{document.place.parts[name].text}: {name}: {REFUSED}")
        return source
    for name, value in document.value.items():
        _put(source, name, value, document.place.parts[name], kind)
    return source


def of_policy(config: Any, kind: str) -> Source:
    """Returns the settings of a config.json that a program names, or gives as a mapping, for a policy."""
    try:
        if isinstance(config, Mapping):
            return from_document(document_of(config, "config"), "gdpl" if kind_of(config) == "gdpl" else kind)
        if not isinstance(config, str | Path):
            raise DocumentError(f"config: got {config!r}; expected a file, or {{name: value}}")
        document = _document(str(config), named=True)
    except DocumentError as error:
        return Source(True, problems=[str(error)])
    return from_document(document, "gdpl" if kind_of(document.value) == "gdpl" else kind)


def _put(source: Source, name: str, value: Any, place: Place, kind: str) -> None:
    """Puts a setting under our name, and notes what became of it."""
    ours = NAMES.get(name, {}).get(kind)
    if ours is not None and name in ("h_dim", "hv_dim"):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            source.problems.append(f"{place.text}: {name}: got {shown(value)}; expected a whole number, at least 1")
            return
        value = [linear([value, value], "relu")]
    if ours is not None:
        source.put("algo_cfg", ours, value, Place(place.text, name, place.parts))
        source.notes += [] if ours == name else [f"{place.text}: {name} -> algo_cfg.{ours}"]
    elif name in UNUSED:
        source.notes.append(f"{place.text}: {name} needs nothing here: {UNUSED[name]}")
    else:
        possible = {key for key in {*NAMES, *UNUSED} if key in UNUSED or kind in NAMES[key]}
        near = did_you_mean(name, possible) or f"; known are: {', '.join(sorted(possible))}"
        source.problems.append(f"{place.text}: {name}: is no setting of ConvLab-2's policy {kind}{near}")


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
        raise DocumentError(f"{config.strip()}: expected {{name: value}}")
    return document


def converted(file: OldFile) -> str:
    """Returns the settings of a config.json as a file: those of the algorithm, for dialogues."""
    kind = kind_of(file.document.value) or ""
    source = from_document(file.document, kind)
    if source.problems:
        raise ConversionError(*source.problems)
    notes = "".join(f"# {printable(note)}\n" for note in source.notes)
    sections = {"general_cfg": {"algo_name": POLICIES[kind], "env_name": "dialog"}, **source.sections}
    return notes + yaml.dump(sections, Dumper=Dumper, sort_keys=False, allow_unicode=True)
