"""Joystick as a library: everything that is public, and the command `joystick`, which is python main.py.

    import joystick

    with joystick.Run("PPO", "CartPole-v1", seed=1) as run:
        for _ in range(10):
            print(joystick.pretty(run.train(1000)))

Importing it loads neither torch nor Ray. In a clone this file is the module; pip installs a folder `joystick` with the
layout of a clone, and this file as its __init__.py.
"""

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from importlib.util import find_spec
from opcode import opname
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

_ROOT = Path(__file__).resolve().parent


def _open_house() -> None:
    """Makes the packages beside this file importable. Raises ImportError if one of their names means another module.

    The path is appended, so that no module of the user is replaced by one of ours.
    """
    if str(_ROOT) not in sys.path:
        sys.path.append(str(_ROOT))
    for name in ("algos", "config", "envs", "framework"):
        spec = find_spec(name)
        places = [spec.origin, *(spec.submodule_search_locations or ())] if spec else []
        place = next((Path(place).resolve() for place in places if place), _ROOT)
        if not place.is_relative_to(_ROOT):
            raise ImportError(
                f"joystick has a package {name!r}, and in this program that name means {place}; "
                "rename it, or move it into a package of your own",
                name=name,
                path=str(place),
            )


_open_house()


if TYPE_CHECKING:
    from config.own.objects import register as register
    from config.read.loader import ConfigError as ConfigError
    from config.read.search_space import choice as choice
    from config.read.search_space import grid as grid
    from config.read.search_space import integer as integer
    from config.read.search_space import log as log
    from config.read.search_space import uniform as uniform
    from config.tell.language import UserError as UserError
    from envs.base import EnvContext as EnvContext
    from envs.base import EnvError as EnvError
    from envs.python.old_gym import OldGym as OldGym
    from framework.commands.work.compare import compare as compare
    from framework.data import tianshou as tianshou
    from framework.data.algorithm import policy as policy
    from framework.data.batch import Batch as Batch
    from framework.data.buffer import ReplayBuffer as ReplayBuffer
    from framework.data.collector import Collector as Collector
    from framework.data.conversion import to_numpy as to_numpy
    from framework.data.conversion import to_torch as to_torch
    from framework.data.list_buffer import ListReplayBuffer as ListReplayBuffer
    from framework.data.policy import Policy as Policy
    from framework.data.prioritized import PrioritizedReplayBuffer as PrioritizedReplayBuffer
    from framework.data.prioritized import PrioritizedVectorReplayBuffer as PrioritizedVectorReplayBuffer
    from framework.data.returns import gae_returns as gae_returns
    from framework.data.returns import nstep_returns as nstep_returns
    from framework.data.trainers import offpolicy_trainer as offpolicy_trainer
    from framework.data.trainers import onpolicy_trainer as onpolicy_trainer
    from framework.data.vector import CachedReplayBuffer as CachedReplayBuffer
    from framework.data.vector import VectorReplayBuffer as VectorReplayBuffer
    from framework.dataset.trace_reader import read_traces as read_traces
    from framework.errors import JoystickError as JoystickError
    from framework.jobs.seeds import TrainedGroup as TrainedGroup
    from framework.jobs.seeds import train as train
    from framework.jobs.tune import Tuned as Tuned
    from framework.jobs.tune import tune as tune
    from framework.record.callbacks import Callbacks as Callbacks
    from framework.record.loggers import Logger as Logger
    from framework.record.pretty import pretty as pretty
    from framework.runs.policy import TrainedPolicies as TrainedPolicies
    from framework.runs.policy import TrainedPolicy as TrainedPolicy
    from framework.runs.policy import load as load
    from framework.runs.session import Run as Run

_HOMES = {
    "Batch": "framework.data.batch",
    "CachedReplayBuffer": "framework.data.vector",
    "Callbacks": "framework.record.callbacks",
    "Collector": "framework.data.collector",
    "EnvContext": "envs.base",
    "OldGym": "envs.python.old_gym",
    "ConfigError": "config.read.loader",
    "EnvError": "envs.base",
    "JoystickError": "framework.errors",
    "ListReplayBuffer": "framework.data.list_buffer",
    "Logger": "framework.record.loggers",
    "Policy": "framework.data.policy",
    "PrioritizedReplayBuffer": "framework.data.prioritized",
    "PrioritizedVectorReplayBuffer": "framework.data.prioritized",
    "ReplayBuffer": "framework.data.buffer",
    "Run": "framework.runs.session",
    "TrainedGroup": "framework.jobs.seeds",
    "TrainedPolicies": "framework.runs.policy",
    "TrainedPolicy": "framework.runs.policy",
    "Tuned": "framework.jobs.tune",
    "UserError": "config.tell.language",
    "VectorReplayBuffer": "framework.data.vector",
    "choice": "config.read.search_space",
    "compare": "framework.commands.work.compare",
    "gae_returns": "framework.data.returns",
    "grid": "config.read.search_space",
    "integer": "config.read.search_space",
    "load": "framework.runs.policy",
    "log": "config.read.search_space",
    "nstep_returns": "framework.data.returns",
    "offpolicy_trainer": "framework.data.trainers",
    "onpolicy_trainer": "framework.data.trainers",
    "policy": "framework.data.algorithm",
    "pretty": "framework.record.pretty",
    "read_traces": "framework.dataset.trace_reader",
    "register": "config.own.objects",
    "register_env": "config.own.objects",
    "to_numpy": "framework.data.conversion",
    "to_torch": "framework.data.conversion",
    "train": "framework.jobs.seeds",
    "tune": "framework.jobs.tune",
    "uniform": "config.read.search_space",
}
"""Public name -> module that defines it, imported on first use."""
_DIALOG = {
    "Act": "envs.dialog.acts:Act",
    "Environment": "framework.dialog.environment:environment",
    "Evaluator": "envs.dialog.evaluator:Evaluator",
    "MultiWozEvaluator": "envs.dialog.composition:MultiWozEvaluator",
    "PG": "framework.dialog.policies:pg",
    "PPO": "framework.dialog.policies:ppo",
    "PipelineAgent": "envs.dialog.composition:PipelineAgent",
    "RuleDST": "envs.dialog.composition:RuleDST",
    "RulePolicy": "envs.dialog.composition:RulePolicy",
    "Tracker": "envs.dialog.tracker:Tracker",
    "User": "envs.dialog.user:User",
    "parse": "envs.dialog.acts:parse",
    "sample": "framework.dialog.sampling:sample",
}
"""Public name in joystick.dialog -> module:name, imported on first use."""


class _Part(ModuleType):
    """A module such as joystick.dialog, whose names are imported on first use. What it lacks is an ImportError: of any
    other error, `from joystick.dialog import name` would not show the text."""

    def __init__(self, name: str, homes: Mapping[str, str], instead: Callable[[str], str]) -> None:
        super().__init__(f"joystick.{name}")
        self.__all__, self._homes, self._instead = list(homes), homes, instead
        sys.modules[self.__name__] = self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._homes:
            raise ImportError(_lacks(self.__name__, name, self._instead(name)))
        home, _, thing = self._homes[name].partition(":")
        return getattr(import_module(home), thing)

    def __dir__(self) -> list[str]:
        return sorted(self._homes)


def _instead_of(name: str) -> str:
    """Returns the end of a sentence about a name that joystick.dialog does not have."""
    from config.foreign.names import policy_instead
    from config.tell.language import tr
    from config.tell.names import did_you_mean
    from envs.dialog.other_words import OF_THE_MODULE

    if instead := policy_instead(name) or OF_THE_MODULE.get(name):
        return tr("; {remark}", remark=instead)
    if name.upper() in ("MLE", "MLEPOLICY"):
        return tr("; imitation is joystick.Run('BC', 'town'), with data of an expert (docs/dialog.md)")
    return did_you_mean(name, _DIALOG) or tr("; it has {names}", names=", ".join(_DIALOG))


def _lacks(module: str, name: str, instead: str) -> str:
    """Returns a sentence about a name that a module does not have. instead: its end."""
    from config.tell.language import tr

    return tr("{module} has no {name!r}{instead}", module=module, name=name, instead=instead)


dialog = _Part("dialog", _DIALOG, _instead_of)
"""Dialogues put together in Python, as in ConvLab-2."""
_PUBLIC = (*_HOMES, "dialog")
__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name not in _HOMES:
        from config.tell.language import tr

        user = sys._getframe(1)
        is_import = opname[user.f_code.co_code[user.f_lasti]] == "IMPORT_FROM"
        kind = ImportError if is_import else AttributeError  # the import statement shows the text of no other error
        instead = _instead(name, _HOMES)
        raise kind(tr("module 'joystick' has no attribute {name!r}{instead}", name=name, instead=instead))
    return getattr(import_module(_HOMES[name]), "register" if name == "register_env" else name)


def _instead(name: str, names: Collection[str]) -> str:
    """Returns the end of a sentence about a name that is not one of these: what to write in its place."""
    from config.foreign.names import algorithm_instead
    from config.foreign.rllib_keys import ALGORITHMS
    from config.tell.language import tr
    from config.tell.names import did_you_mean
    from framework.catalog import ALGOS
    from framework.data.absent_names import INSTEAD
    from framework.runs.other_words import OF_RAYS_TUNE, OF_THE_MODULE, stem_of

    instead = "" if name in names else OF_RAYS_TUNE.get(name)
    if instead := instead or INSTEAD.get(name) or OF_THE_MODULE.get(name):
        return tr("; {remark}", remark=instead)
    algos = {key.lower(): ALGOS.get(key).NAME for key in ALGOS.available()}
    algos = {their.lower(): row.settings for their, row in ALGORITHMS.items() if row.settings} | algos
    if name.endswith("Policy") and (algo := algos.get(name.removesuffix("Policy").lower())):
        return tr('; joystick.policy("{algo}", env) is a policy of this algorithm', algo=algo)
    algo = algos.get(name.lower()) or algos.get(stem_of(name).lower())
    if algo:
        return tr('; an algorithm is named in joystick.Run("{algo}", env)', algo=algo)
    if name in ("make", "Env", "gym"):
        return tr('; joystick.Run("PPO", "CartPole-v1") makes its environment itself')
    if remark := algorithm_instead(name):
        return tr("; {remark}", remark=remark)
    return did_you_mean(name, names) or tr("; public are {names}", names=", ".join(names))


class _Tianshou(ModuleType):
    """The module joystick.tianshou, imported on first use. What it lacks is an ImportError, as of joystick.dialog."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        home = import_module("framework.data.tianshou")
        if name in _OF_TIANSHOU and name not in home.__all__:
            return self
        if name not in (*home.__all__, "__all__"):
            raise ImportError(_lacks("joystick.tianshou", name, _instead(name, home.__all__)))
        return getattr(home, name)

    def __dir__(self) -> list[str]:
        return sorted(self.__all__)


_OF_TIANSHOU = (
    "data", "env", "env.pettingzoo_env", "exploration", "policy", "trainer", "utils", "utils.net", "utils.net.common",
)  # fmt: skip
"""Modules in tianshou, whose names are all in joystick.tianshou."""
if not TYPE_CHECKING:
    tianshou = sys.modules["joystick.tianshou"] = _Tianshou("joystick.tianshou")
    sys.modules.update({f"joystick.tianshou.{name}": tianshou for name in _OF_TIANSHOU})
    for _name in ("rllib", "tune"):  # nothing is in them: an import from them is answered
        _Part(_name, {}, lambda name: _instead(name, [f"joystick.{home}" for home in _HOMES]))


def __dir__() -> list[str]:
    return sorted(_PUBLIC)


def command() -> int:
    """Runs the command line as `python main.py` does, and returns the exit status."""
    sys.path.insert(0, str(_ROOT))
    from main import main

    return main()


if __name__ == "__main__":
    sys.exit(command())
