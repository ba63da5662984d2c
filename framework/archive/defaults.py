"""Defaults of the settings of a run."""

from collections.abc import Mapping
from typing import Any

import algos
import envs
from config.config import GeneralConfig
from config.model import policies


def defaults_of(settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the defaults of each section, a section for each policy among them. Those of a user's own package are not
    known here: its code is not imported for a page."""
    general = settings.get("general_cfg", {})
    defaults = {
        "general_cfg": GeneralConfig().model_dump(mode="json"),
        "algo_cfg": _defaults(algos, general.get("algo_name")),
        "env_cfg": _defaults(envs, general.get("env_name")),
    }
    for name, policy in policies.below(settings).items():
        defaults[policies.section_of(name)] = _defaults(algos, policy.get("algo_name"), policy=True)
    return defaults


def _defaults(finder: Any, name: Any, policy: bool = False) -> dict[str, Any]:
    if not isinstance(name, str) or "." in name:
        return {}
    try:
        config = finder.get(name).Config
        instance = policies.combined(config)(agents="*") if policy else config()
        defaults: dict[str, Any] = instance.model_dump(mode="json")
    except (LookupError, ValueError):
        return {}
    return defaults
