"""Look-up of ids in gymnasium's registry, and hints for ids that are not there."""

import contextlib
import importlib
import importlib.util
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path

import gymnasium
from gymnasium.envs.registration import EnvSpec

from config.own import env_packages
from config.own.env_packages import EnvPackage
from config.tell.language import tr
from envs.common import headless

_ID = re.compile(r"^(?P<name>.*?)(?:-v(?P<version>\d+))?$", re.DOTALL)
_EXTRAS = {
    "gymnasium.envs.box2d": ("Box2D", '"gymnasium[box2d]"'),
    "gymnasium.envs.mujoco": ("mujoco", '"gymnasium[mujoco]"'),
    "gymnasium.envs.phys2d": ("jax", '"gymnasium[jax]"'),
    "gymnasium.envs.tabular": ("jax", '"gymnasium[jax]"'),
}
"""Module of an environment of gymnasium itself -> package that it needs, and its name for pip."""
_OLD_ATARI = re.compile(r"^(?P<game>[A-Z]\w*?)(-ram)?(NoFrameskip|Deterministic)?-v[04]$")
"""Ids of Atari games before the prefix ALE/. Other ids match too, such as MountainCar-v0."""
_DRAWN_BY_PYGAME = {
    "gymnasium.envs.classic_control": '"gymnasium[classic-control]"',
    "gymnasium.envs.toy_text": '"gymnasium[toy-text]"',
}
"""Environments that need pygame for rendering only."""


def lookup(env_id: str) -> EnvSpec | None:
    """Returns the registered spec of an id, after importing the module of `module:Id`, or the package that the table of
    packages has for it; None if there is none."""
    module, _, name = env_id.rpartition(":")
    package = env_packages.of_id(env_id)
    if name not in gymnasium.registry and package and env_packages.is_installed(package.module):
        register(package)
    elif module and package is None:
        importlib.import_module(module)
    elif _OLD_ATARI.match(name) and name not in gymnasium.registry and env_packages.is_installed("ale_py"):
        env_packages.load("ale_py")  # Breakout-v4 and the like, of which current_id knows the present name
    return gymnasium.registry.get(name)


_registered: set[str] = set()
"""Modules of packages whose ids this process has registered."""


def register(package: EnvPackage) -> None:
    """Registers the environments of an installed package of the table."""
    if env_packages.is_installed("gym_notices"):  # the package gym, which some need, advertises its successor
        env_packages.load("gym_notices.notices").notices.clear()
    headless.prepare(package)
    env_packages.load(package.module)
    if package.module in _registered:
        return
    _registered.add(package.module)
    if package.register:
        module, _, function = package.register.partition(":")
        ours = module.partition(".")[0] == __name__.partition(".")[0]
        getattr(importlib.import_module(module) if ours else env_packages.load(module), function)()


def of_ale(env_id: str) -> str | None:
    """Returns the current id of an Atari game for an older one; None for any other id."""
    old = _OLD_ATARI.match(env_id)
    spec = lookup(env_id) if old else None
    if old is None or (spec and not str(spec.entry_point).startswith("ale_py")):
        return None
    name = f"ALE/{old['game']}-v5"
    return name if name in gymnasium.registry else None


def unusable(spec: EnvSpec) -> str | None:
    """Returns why a registered environment cannot be made here, and the remedy; None if it can."""
    if getattr(spec.entry_point, "__name__", "") == "_raise_mujoco_py_error":
        return tr("{id} has left gymnasium; the current version is {current}", id=spec.id, current=_current(spec.id))
    entry = spec.entry_point if isinstance(spec.entry_point, str) else ""
    for module, (package, pip) in _EXTRAS.items():
        if entry.startswith(module) and importlib.util.find_spec(package) is None:
            return needs(spec.id, package, f"pip install {pip}")
    return None


def current_id(env_id: str) -> str:
    """Returns the newest version of an environment of which an older one cannot be made any more; any other id
    unchanged."""
    if ":" in env_id:
        return env_id
    spec = lookup(env_id)
    gone = spec is None or getattr(spec.entry_point, "__name__", "") == "_raise_mujoco_py_error"
    newest = of_ale(env_id) or _current(env_id) if gone else None
    older = newest and (newest.startswith("ALE/") or 0 <= _split(env_id)[1] < _split(newest)[1])
    return newest if newest and older else env_id


def outdated(env_id: str) -> str | None:
    """Returns a sentence on an id that gymnasium has a newer version of; None for any other id."""
    spec = lookup(env_id) if ":" not in env_id else None
    current = _current(env_id) if spec else None
    return (
        tr("{env_id} is an older version; the current one is {current}", env_id=env_id, current=current)
        if current not in (None, env_id)
        else None
    )


@contextlib.contextmanager
def without_its_warning() -> Iterator[None]:
    """Silences gymnasium's warning of an older version, which comes for each process and is said once by us, and that
    of a mode of drawing that an environment has and does not list."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r".*The environment .* is out of date", DeprecationWarning)
        warnings.filterwarnings("ignore", r".*initialised with render_mode", UserWarning)
        yield


def needs_mujoco(spec: EnvSpec | None) -> bool:
    """Returns True for gymnasium's own MuJoCo environments if MuJoCo is installed."""
    entry = spec.entry_point if spec and isinstance(spec.entry_point, str) else ""
    return entry.startswith("gymnasium.envs.mujoco") and importlib.util.find_spec("mujoco") is not None


def needs(env_id: str, package: str, install: str) -> str:
    """Returns a message for a package that is not installed. install: the command that installs it."""
    return tr(
        "{env_id} needs the package {package}, which is not installed: {install}",
        env_id=env_id,
        package=package,
        install=install,
    )


def undrawable(spec: EnvSpec) -> str | None:
    """Returns why an environment cannot render here, and the remedy; None if it can."""
    entry = spec.entry_point if isinstance(spec.entry_point, str) else ""
    pip = next((pip for module, pip in _DRAWN_BY_PYGAME.items() if entry.startswith(module)), None)
    if pip is None or importlib.util.find_spec("pygame"):
        return None
    return tr("drawing {id} needs the package pygame, which is not installed: pip install {pip}", id=spec.id, pip=pip)


def unknown_id(env_id: str) -> str:
    """Returns a message for an id that is not registered, with what to write instead."""
    module, colon, name = env_id.rpartition(":")
    if callable(getattr(sys.modules.get(module), name, None)):
        return tr(
            "no id {name!r} is registered, and {module} has a class {name}: general_cfg.env_name=python takes it",
            name=name,
            module=module,
        )
    package = env_packages.of_id(env_id)
    if package and not env_packages.is_installed(package.module):
        return missing(env_id, package)
    if current := of_ale(name) or _current(name):
        return tr(
            "there is no {env_id}; the current version is {current}",
            env_id=env_id,
            current=f"{module}{colon}{of_ale(current) or current}",
        )
    hint, file = "", f"{env_id}.py"
    examples = (package.example for package in env_packages.PACKAGES if package.kind == env_packages.GYM)
    if near := file if Path(file).is_file() else nearest(name, [*gymnasium.registry, *examples], least=0.75):
        hint = tr("; did you mean {hint}?", hint=near)
    elif not module and re.search(r"/|-v\d+$", name):  # an id as a user registers it
        hint = tr("; an environment of your own is named my_module:{name}, with --allow-import my_module", name=name)
    elif not module:
        hint = tr("; the command list envs shows all")
    if _OLD_ATARI.match(name) and not env_packages.is_installed("ale_py"):
        hint += tr(" (an Atari game needs the package ale-py, which is not installed: pip install ale-py)")
    return tr("there is no environment {env_id!r}{hint}", env_id=env_id, hint=hint)


def missing(env_id: str, package: EnvPackage) -> str:
    """Returns a message for a package of the table that is not installed."""
    message = needs(env_id, package.name, f"pip install {package.pip}")
    if file := env_packages.look_alike(package.module):
        message += tr(" ({file} in this folder is not imported in its place)", file=file)
    return message


def tried_with(env_id: str) -> str | None:
    """Returns a sentence on packages of another version than the environments were tried with; None without one."""
    package = env_packages.of_id(env_id)
    others = package.other_versions() if package else []
    if package is None or not others:
        return None
    wanted = " ".join(f'"{text}"' for text in package.requires)
    return tr(
        "{package} was tried with {wanted}, and {others} is installed: pip install {install} in an environment of "
        "its own",
        package=package.name,
        wanted=", ".join(package.requires),
        others=", ".join(others),
        install=wanted,
    )


def nearest(word: str, names: Iterable[str], most: int = 3, least: float = 0.6) -> str:
    """Returns the most similar names as `a or b`; empty if none is similar."""
    folded = {name.lower(): name for name in names}
    return tr(" or ").join(folded[match] for match in get_close_matches(word.lower(), folded, most, least))


def _current(env_id: str) -> str | None:
    """Returns the newest registered version of an environment."""
    stem_of_id = _split(env_id)[0].lower()
    versions = [
        (version, name) for name in gymnasium.registry for stem, version in [_split(name)] if stem.lower() == stem_of_id
    ]
    return max(versions)[1] if versions else None


def _split(env_id: str) -> tuple[str, int]:
    match = _ID.match(env_id)
    assert match is not None
    return match["name"], int(match["version"] or -1)


def ids(every: bool = False) -> list[str]:
    """Returns the usable ids in their newest versions. Of installed packages with many of them, one of each, unless
    every is set: to list them means to import them all."""
    installed = [
        package
        for package in env_packages.PACKAGES
        if package.kind == env_packages.GYM and env_packages.is_installed(package.module)
    ]
    for package in installed:
        if every or package.listed:
            with contextlib.suppress(Exception):  # of a package that cannot be imported; check reports that
                register(package)
    usable = (spec for spec in gymnasium.registry.values() if _made_here(spec) and unusable(spec) is None)
    newest: dict[str, tuple[int, str]] = {}
    for spec in usable:
        stem, version = _split(spec.id)
        newest[stem.lower()] = max(newest.get(stem.lower(), (version, spec.id)), (version, spec.id))
    names = {name for _, name in newest.values() if not _OLD_ATARI.match(name) or of_ale(name) is None}
    if not every:
        names = {name for name in names if (row := env_packages.of_id(name)) is None or row.listed}
        names |= {package.example for package in installed}
    return sorted(names)


def _made_here(spec: EnvSpec) -> bool:
    """Returns False for adapters that need the environment itself as an argument."""
    return not spec.id.startswith("GymV") and not spec.id.startswith(("phys2d/", "tabular/"))


def explain(env_id: str) -> str:
    """Returns what is known of a registered environment: spaces, step limit, and the first lines of its help."""
    spec = gymnasium.registry[env_id]
    lines = [env_id, ""]
    try:
        with without_its_warning():
            env = gymnasium.make(env_id)
        lines[1:1] = [" ".join((env.unwrapped.__doc__ or "").split("##")[0].split())[:400]]
        lines += [
            tr("observation   {space}", space=_short(env.observation_space)),
            tr("action        {space}", space=_short(env.action_space)),
        ]
        env.close()
    except Exception as error:  # of a package that is missing, or of an environment that needs arguments
        lines += [tr("cannot be made here: {error}", error=error)]
    lines.append(tr("step limit    {limit}", limit=spec.max_episode_steps or tr("none of its own")))
    if spec.reward_threshold is not None:
        lines.append(tr("solved at     {threshold:g}", threshold=spec.reward_threshold))
    return "\n".join(filter(None, lines)) + "\n"


def _short(space: gymnasium.Space) -> str:
    """Returns a space in a few words; the bounds of a Box would fill lines."""
    if not isinstance(space, gymnasium.spaces.Box):
        return str(space)
    size = " x ".join(map(str, space.shape)) or "1"
    return tr(
        "Box, {size}, {dtype}, from {min:g} to {max:g}",
        size=size,
        dtype=space.dtype,
        min=space.low.min(),
        max=space.high.max(),
    )
