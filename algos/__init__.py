"""Finds algorithms by folder: there is no registry to edit.

algos/<name>/__init__.py holds NAME (as users write it), its Config, and ALIASES if there are other spellings of the
name; algos/<name>/agent.py holds Agent.
A variant is a folder without an agent: its Config is that of its family with other defaults, and the family's agent
is used. Listing and describing never import torch.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from config.own import former
from config.tell.language import tr

former.answer()

_ROOT = Path(__file__).parent

NEAREST = {
    "auto": tr("auto is a choice of the command line, --algo auto"),
    "apex": tr("Ape-X is PER_DQN with n_step 3, dueling and several workers (mp_backend: ray) here"),
}
"""Algorithms that are often asked for and are not here."""


class UnknownAlgorithm(LookupError):
    """No folder has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.instead = NEAREST.get(name.lower(), "")
        """Algorithm to use instead; empty if none is known."""


@cache
def _folders() -> dict[str, ModuleType]:
    """Returns NAME -> package of every folder that is an algorithm."""
    names = sorted(path.parent.name for path in _ROOT.glob("*/config.py"))
    return {package.NAME: package for package in (import_module(f"algos.{name}") for name in names)}


@cache
def _spellings() -> dict[str, ModuleType]:
    """Returns each spelling of a name in lower case -> package."""
    folders = _folders().items()
    return {
        spelling.lower(): package for name, package in folders for spelling in (name, *getattr(package, "ALIASES", ()))
    }


def available() -> list[str]:
    """Names as users write them."""
    return sorted(_folders(), key=str.lower)


def learning() -> list[str]:
    """Names of the algorithms that learn from what they collect alone. The others are opponents of policies that do,
    those that learn from given data, and those that imitate an expert."""
    kinds = {name: get(name).Config for name in available()}
    return [name for name, kind in kinds.items() if kind.LEARNS and not (kind.OFFLINE or kind.IMITATES)]


def offline() -> list[str]:
    """Names of the algorithms that are made for given data."""
    return [name for name in available() if get(name).Config.OFFLINE]


def get(name: str) -> ModuleType:
    """Returns the package of an algorithm: NAME, Config, perhaps ALIASES. A dotted name is a user's own package."""
    if "." in name:
        return import_module(name)
    spelling = name.lower()
    if spelling.isidentifier() and (_ROOT / spelling / "config.py").exists():
        package = import_module(f"algos.{spelling}")
        if package.NAME.lower() == spelling:
            return package  # without importing all others
    if spelling not in _spellings():
        raise UnknownAlgorithm(name)
    return _spellings()[spelling]


def fitted_q(*arguments: Any) -> Any:
    """Returns a FittedQ of these arguments (algos/common/parts/fitted_q.py). Imports torch."""
    return import_module("algos.common.parts.fitted_q").FittedQ(*arguments)


def agent_class(package: ModuleType) -> Any:
    """Returns the Agent class of a package, or of its family. Imports torch. Raises UnfitError if there is none, or an
    unfinished one."""
    base = import_module("algos.base")
    homes = [home for cls in package.Config.__mro__ if (home := cls.__module__.rpartition(".")[0])]
    home = next((home for home in homes if find_spec(f"{home}.agent")), None)
    if home is None:
        raise base.UnfitError("{home} has no file agent.py, in which its class Agent is expected", home=homes[0])
    agent = getattr(import_module(f"{home}.agent"), "Agent", None)
    if not (isinstance(agent, type) and issubclass(agent, base.Agent)):
        raise base.UnfitError(
            "{home}.agent has no class Agent that inherits from algos.base.Agent, directly or through another class",
            home=home,
        )
    if missing := ", ".join(sorted(getattr(agent, "__abstractmethods__", ()))):
        raise base.UnfitError("class Agent of {home}.agent lacks functions: {names}", home=home, names=missing)
    return agent


def make_agent(package: ModuleType, *arguments: Any) -> Any:
    """Makes an agent of these arguments. That of a user's own is looked at when its functions are called first. Raises
    UnfitError for one that cannot be."""
    cls = agent_class(package)
    if cls.__module__.startswith("algos."):
        return cls(*arguments)
    return import_module("algos.first_calls").make(cls, arguments)
