"""Look-up of names in PettingZoo's registries and in mpe2's list. Only modules of these two packages are imported."""

import os
import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from config.own import env_packages
from config.tell.language import tr
from envs.common.registry import nearest
from envs.common.registry import needs as missing_package

INSTALL = "pip install -r requirements-extra.txt"
_PIP = {"multi_agent_ale_py": "multi_agent_ale_py", "pyspiel": "open_spiel", "pygame": "pygame-ce"}
"""Module -> its name for pip, where they differ or an extra of PettingZoo needs it."""
_NEEDS = {
    "atari/": "multi_agent_ale_py",
    "classic/chess_": "chess",
    "classic/leduc_": "rlcard",
    "classic/texas_": "rlcard",
    "classic/hanabi_": "shimmy",
    "butterfly/pistonball_": "pymunk",
    "sisl/multiwalker_": "Box2D",
    "sisl/": "scipy",
    "": "pygame",
}
"""Start of a name -> module that these environments need."""
_VERSION = re.compile(r"[-_]v(?=\d+$)")


class Entry(NamedTuple):
    """One environment: its name, and `module:function` for each interface that it has."""

    id: str
    entries: dict[str, str]

    def interface(self, api: str) -> str:
        """Returns parallel or aec for api auto."""
        return ("parallel" if "parallel" in self.entries else "aec") if api == "auto" else api

    def creator(self, api: str) -> Callable[..., Any]:
        """Returns the function that makes the environment; imports its module."""
        module, _, name = self.entries[self.interface(api)].partition(":")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of pygame's own imports
            creator: Callable[..., Any] = getattr(env_packages.load(module), name)
        return creator

    def constructor(self) -> Any:
        """Returns the class whose parameters are the settings."""
        module: Any = env_packages.load(self.entries["aec"].partition(":")[0])
        return getattr(module, "_env", None) or module.raw_env


def missing(env_id: str = "") -> str | None:
    """Returns the package that PettingZoo's environments need and that is not installed; None if there is none."""
    packages = ("pettingzoo", "mpe2") if canonical(env_id).startswith("mpe/") or not env_id else ("pettingzoo",)
    return next((name for name in packages if not env_packages.is_installed(name)), None)


def all_entries() -> dict[str, Entry]:
    """Returns all environments by name."""
    if missing("pettingzoo"):
        return {}
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "hide")
    registries = env_packages.load("pettingzoo.env_registry.registration")
    environments: dict[str, Entry] = {}
    for api, specs in (("aec", registries.aec_registry), ("parallel", registries.parallel_registry)):
        for name, spec in specs.items():
            entry = environments.setdefault(canonical(name), Entry(canonical(name), {}))
            entry.entries[api] = spec.entry_point
    return {**environments, **_of_mpe2()}


def _of_mpe2() -> dict[str, Entry]:
    if missing("mpe/"):
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        modules = env_packages.load("mpe2.all_modules").mpe_environments
    names = {"aec": "env", "parallel": "parallel_env"}
    return {
        name: Entry(name, {api: f"{module.__name__}:{function}" for api, function in names.items()})
        for name, module in modules.items()
    }


def canonical(env_id: str) -> str:
    """Returns a name with its version as _v1, where PettingZoo also has -v1, and mpe2's by the prefix in its list."""
    name = _VERSION.sub("_v", env_id.strip())
    return f"mpe/{name.removeprefix('mpe2/')}" if name.startswith("mpe2/") else name


def lookup(env_id: str) -> Entry | None:
    """Returns the environment of a name; None if there is none."""
    return all_entries().get(canonical(env_id))


def unknown(env_id: str) -> str:
    """Returns what to write instead of an unknown name."""
    names, name = list(all_entries()), canonical(env_id)
    stem = name.rpartition("_v")[0] or name
    if current := [other for other in names if other.rpartition("_v")[0] == stem]:
        return tr("there is no {env_id}; the current version is {current}", env_id=env_id, current=current[-1])
    namespaces = sorted({other.partition("/")[0] for other in names})
    space, _, stem_of_id = name.rpartition("/")
    hint = nearest(name, names) or tr(" or ").join(other for other in names if other.partition("/")[2] == stem_of_id)
    same = [other for other in names if other.partition("/")[0] == space]
    listed = (
        tr("there are {names}", names=", ".join(same))
        if same
        else tr(
            "the names begin with {namespaces}, as in {example}", namespaces=", ".join(namespaces), example=names[0]
        )
    )
    remedy = tr("did you mean {hint}?", hint=hint) if hint else listed
    return tr("there is no environment {env_id!r}; {remedy}", env_id=env_id, remedy=remedy)


def unusable(entry: Entry) -> str | None:
    """Returns why an environment cannot be made here, and the remedy; None if it can."""
    for start, module in _NEEDS.items():
        if entry.id.startswith(start) and not env_packages.is_installed(module):
            return needs(entry.id, module)
    return None


def needs(env_id: str, module: str) -> str:
    """Returns a message for a package that is not installed."""
    return missing_package(env_id, module, f"pip install {_PIP.get(module, module)}")


def ids() -> list[str]:
    """Returns the names of the environments that can be made here."""
    return sorted(name for name, entry in all_entries().items() if unusable(entry) is None)


def explain(env_id: str) -> str:
    """Returns what is known of an environment: interfaces, agents and their spaces."""
    entry = all_entries()[canonical(env_id)]
    lines = [entry.id, "", tr("interfaces    {names}", names=", ".join(sorted(entry.entries)))]
    try:
        env = entry.creator("auto")()
        env.reset(seed=0)
        kinds: dict[str, list[str]] = {}
        for agent in env.possible_agents:
            spaces = tr(
                "observation {observation}, action {action}",
                observation=env.observation_space(agent),
                action=env.action_space(agent),
            )
            kinds.setdefault(" ".join(spaces.split())[:200], []).append(agent)
        lines += [f"{', '.join(agents)}\n  {spaces}" for spaces, agents in kinds.items()]
        env.close()
    except Exception as error:  # of a package that is missing, or of an environment that needs arguments
        lines.append(tr("cannot be made here: {error}", error=error))
    return "\n".join(lines) + "\n"
