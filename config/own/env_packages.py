"""Packages of environments that are named by their ids alone: a table of what pip installs, what is imported, and which
wrappers the ids need.

Only modules of this table are imported without permission, for ids that it lists, and only from folders of installed
packages: a file of that name in the current folder or in a task directory is never imported in its place.
"""

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from config.tell.language import english, tr

GYM = "gym"
"""Kind of environment of an id that no row is for."""


class Default(NamedTuple):
    """Settings under env_cfg that ids need, unless others are written."""

    ids: str
    settings: Mapping[str, Any]
    why: str


class EnvPackage(NamedTuple):
    """A row of the table."""

    module: str
    """Module that registers the environments when it is imported."""
    pip: str
    """Arguments of pip install."""
    ids: str
    """Pattern of the ids; case is ignored, for what a typing error leaves."""
    example: str
    """One of the ids."""
    title: str = ""
    """Name by which users know the package; empty for that of the module."""
    family: str = ""
    """Folder of presets for all of the ids; empty if there is none."""
    kind: str = GYM
    """Kind of environment that makes the ids."""
    register: str = ""
    """module:function that registers the ids after the import; empty if the import does it."""
    requires: tuple[str, ...] = ()
    """Versions of other packages with which the environments were tried."""
    defaults: tuple[Default, ...] = ()
    agents: bool = False
    """True if observations, actions and rewards are tuples with a part for each agent."""
    forgets: str = ""
    """Function of envs/gym/fresh.py that makes an episode independent of the one before it; empty if a reset does."""

    listed: bool = False
    """True if `list envs` names all of the ids; they are few, and the package is imported fast."""
    headless: Mapping[str, str] = {}
    """Variables of the process with which it draws without a display, where the usual ones do not do."""

    @property
    def top(self) -> str:
        """Name of the package that is imported."""
        return self.module.partition(".")[0]

    @property
    def name(self) -> str:
        return self.title or self.top

    def matches(self, env_id: str) -> bool:
        return re.search(self.ids, env_id, re.IGNORECASE) is not None

    def version(self) -> str:
        """Returns the installed version; empty if it is not known."""
        words = (word for word in self.pip.replace('"', "").split() if not word.startswith("-"))
        return _version(re.split(r"[\[=<>]", next(words))[0])

    def other_versions(self) -> list[str]:
        """Returns the installed packages whose versions are others than those that the environments were tried with."""
        pairs = [text.partition("==")[::2] for text in self.requires]
        return [f"{name} {there}" for name, wanted in pairs if (there := _version(name)) and there != wanted]


_MUJOCO = ("mujoco==3.3.0",)
_WITHOUT_TEXT = english("the part mission is text, which no network here reads")
PACKAGES = (
    EnvPackage(
        "ale_py",
        "ale-py",
        r"^ALE[/-]|(NoFrameskip|Deterministic|-ram)-v\d+$",
        "ALE/Pong-v5",
        family="_atari",
        listed=True,
    ),
    EnvPackage(
        "minatar",
        "minatar",
        r"^MinAtar[/-]",
        "MinAtar/Breakout-v1",
        family="_minatar",
        listed=True,
        register="minatar.gym:register_envs",
        forgets="last_action",
    ),
    EnvPackage(
        "minigrid",
        "minigrid",
        r"^(MiniGrid|BabyAI)-",
        "MiniGrid-DoorKey-5x5-v0",
        family="_minigrid",
        defaults=(
            Default(
                r"^MiniGrid-",
                {"wrappers": [{"wrapper_name": "FilterObservation", "filter_keys": ["image", "direction"]}]},
                _WITHOUT_TEXT,
            ),
            Default(
                r"^BabyAI-",
                {"wrappers": ["minigrid.wrappers:DictObservationSpaceWrapper", "AsArrays"]},
                english("the part mission is text, of which it makes numbers of words"),
            ),
        ),
    ),
    EnvPackage(
        "highway_env",
        "highway-env",
        r"^(highway|exit|intersection|lane-keeping|merge|parking|(?-i:racetrack)|roundabout|two-way|u-turn)(-\w+)*-v\d+$",
        "highway-fast-v0",
        family="_highway",
        headless={"SDL_VIDEODRIVER": "offscreen"},
    ),
    EnvPackage(
        "flappy_bird_gymnasium",
        "flappy-bird-gymnasium",
        r"^FlappyBird-",
        "FlappyBird-v0",
        family="_flappy_bird",
        defaults=(
            Default(r"^FlappyBird-", {"score_limit": 100}, english("an episode of a good player has no other end")),
        ),
    ),
    EnvPackage(
        "gymnasium_robotics",
        'gymnasium-robotics "mujoco==3.3.0"',
        r"^(Fetch|Hand|Adroit|PointMaze|AntMaze|Point_|Ant_|FrankaKitchen)\w*-v\d+$",
        "FetchReach-v4",
        family="_robotics",
        requires=_MUJOCO,
    ),
    EnvPackage(
        "shimmy",
        '"shimmy[dm-control]" "dm-control==1.0.28" "mujoco==3.3.0"',
        r"^dm_control/",
        "dm_control/cartpole-balance-v0",
        title="dm_control",
        family="_dm_control",
        requires=_MUJOCO,
    ),
    EnvPackage(
        "metaworld",
        "metaworld",
        r"^Meta-World/",
        "Meta-World/reach-v3",
        family="_metaworld",
        register="envs.gym.metaworld:register",
        requires=_MUJOCO,
        defaults=(
            Default(r"^Meta-World/", {"seed": 1}, english("the goals of a task are drawn once, from this seed")),
            Default(
                r"^Meta-World/", {"wrappers": ["WidenBounds"]}, english("the goal is outside the bounds of its space")
            ),
        ),
        forgets="generator",
    ),
    EnvPackage(
        "vizdoom.gymnasium_wrapper",
        "vizdoom",
        r"^Vizdoom",
        "VizdoomBasic-v1",
        family="_vizdoom",
        defaults=(
            Default(
                r"^Vizdoom",
                {
                    "wrappers": [
                        {"wrapper_name": "PartOfObservation", "part": "screen"},
                        {"wrapper_name": "Resize", "shape": 84},
                    ]
                },
                english("the screen alone, at a size that a network can learn from"),
            ),
            Default(
                r"^Vizdoom",
                {"doom_config_path": os.devnull},
                english("no _vizdoom.ini of the current folder is read or written"),
            ),
        ),
    ),
    EnvPackage(
        "procgen",
        " ".join(("--no-deps", "procgen2", "gym3", "gym", "gym-notices", "cffi", "pycparser", "filelock")),
        r"^procgen-",
        "procgen-coinrun-v0",
        family="_procgen",
        register="envs.gym.procgen:register",
    ),
    EnvPackage("lbforaging", "lbforaging", r"^Foraging-", "Foraging-8x8-2p-1f-v3", family="_lbforaging", agents=True),
    EnvPackage("rware", "rware", r"^rware-", "rware-tiny-2ag-v2", family="_rware", agents=True),
    EnvPackage(
        "vmas", "vmas", r"^vmas/", "vmas/balance", family="_vmas", register="envs.gym.vmas:register", agents=True
    ),
    EnvPackage("mpe2", "mpe2 pettingzoo", r"^mpe2?/", "mpe/simple_spread_v3", kind="pettingzoo"),
    EnvPackage(
        "pettingzoo",
        "pettingzoo",
        r"^(atari|butterfly|classic|sisl)/",
        "classic/tictactoe_v3",
        title="PettingZoo",
        kind="pettingzoo",
    ),
    EnvPackage("panda_gym", "panda-gym", r"^Panda\w+-v\d+$", "PandaReach-v3"),
    EnvPackage(
        "pybullet_envs_gymnasium",
        "pybullet-envs-gymnasium",
        r"^\w+Bullet(Duck)?Env-v\d+$",
        "HopperBulletEnv-v0",
    ),
)
"""All packages that are named by their ids alone."""


def of_id(env_id: str) -> EnvPackage | None:
    """Returns the package that registers an id, also of one as module:Id, if it is this module; None for gymnasium's
    own ids and others."""
    module, _, name = env_id.rpartition(":")
    fitting = (row for row in PACKAGES if row.matches(name) and module in ("", row.module, row.top))
    return next(fitting, None)


def family_of(env_id: str) -> str:
    """Returns the folder of presets for all ids of the package of an id; empty if there is none."""
    row = of_id(env_id)
    return row.family if row else ""


def settings_of(env_id: str) -> Iterator[tuple[str, Any, str]]:
    """Yields the settings under env_cfg that an id needs, their values, and why."""
    row = of_id(env_id)
    for default in row.defaults if row else ():
        if re.search(default.ids, env_id.rpartition(":")[2]):
            yield from ((key, value, tr(default.why)) for key, value in default.settings.items())


def is_listed(name: str) -> bool:
    """Returns True for module:Id of a row, and for a wrapper module:Class that a row names."""
    wrappers = (
        wrapper for row in PACKAGES for default in row.defaults for wrapper in default.settings.get("wrappers", ())
    )
    return name in wrappers or (":" in name and of_id(name) is not None)


# -------------------------------------------------------------------------------------------------- importing


def is_installed(module: str) -> bool:
    """Returns True if a module can be imported from a folder of installed packages."""
    top = module.partition(".")[0]
    with installed_alone():
        return importlib.util.find_spec(top) is not None


def load(module: str) -> ModuleType:
    """Imports a module from a folder of installed packages. Raises ModuleNotFoundError if it is not there."""
    if not is_installed(module):
        raise ModuleNotFoundError(tr("no package {module} is installed", module=module), name=module)
    with installed_alone():
        return importlib.import_module(module)


@contextmanager
def installed_alone() -> Iterator[None]:
    """Lets imports find what is installed, and nothing in the current folder, where a file may have any name."""
    path = sys.path[:]
    sys.path[:] = [folder for folder in path if _holds_packages(folder)]
    try:
        yield
    finally:
        sys.path[:] = [*path, *(folder for folder in sys.path if folder not in path)]


def look_alike(module: str) -> str:
    """Returns the file or folder in the current folder that has the name of a module; empty if there is none."""
    top = module.partition(".")[0]
    return next((name for name in (f"{top}.py", top) if Path(name).exists()), "")


def _holds_packages(folder: str) -> bool:
    """Returns True for a folder of sys.path that pip or the system fills: one of Python's own, one that a .pth file in
    these adds, or one that is named site-packages or dist-packages."""
    place = os.path.realpath(folder)
    if not folder or place == os.path.realpath(os.getcwd()):
        return False
    own = any(place == base or place.startswith(base + os.sep) for base in _pythons_own())
    return own or os.path.basename(place) in ("site-packages", "dist-packages")


@cache
def _pythons_own() -> tuple[str, ...]:
    """Returns the folders of the standard library, of installed packages, and those that .pth files add."""
    import site
    import sysconfig

    packages = {*site.getsitepackages(), site.getusersitepackages()}
    packages |= {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    added = {line for folder in packages for file in Path(folder).glob("*.pth") for line in _lines(file)}
    library = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    zipped = {folder for folder in sys.path if folder.endswith(".zip") and folder.startswith(sys.base_prefix)}
    every = {*packages, *library, *zipped, *(line for line in added if os.path.isabs(line))}
    return tuple(sorted(os.path.realpath(folder) for folder in every))


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version  # which most commands do not need

    try:
        return version(name)
    except PackageNotFoundError:
        return ""
