"""Arguments of joystick.Run and joystick.train: from them to the settings of a run."""

import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

from config.foreign.names import all_at_once
from config.model.fields import is_whole
from config.own import objects as own
from config.read.loader import ConfigError, RunConfig, load
from config.read.yaml_reader import Place
from config.tell.arguments import ArgumentError
from config.tell.hints import setting_of
from config.tell.language import tr
from config.tell.names import did_you_mean
from framework.assemble import fit as compatibility
from framework.catalog import ALGOS, ENVS
from framework.errors import JoystickError
from framework.record.callbacks import from_functions
from framework.record.loggers import Logger
from framework.runs import other_words

Settings = Mapping[str, Any]
Arguments = ParamSpec("Arguments")
CallbackSource = type | str | Mapping[str, Callable[[dict[str, Any]], Any]] | None
"""Callbacks from Python: a class, module:name, or functions by event."""


def with_setting_hints(init: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Returns a constructor that says, for an argument that it does not have, what to write in its place."""

    @wraps(init)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        if policy := next((arg for arg in args[1:] if isinstance(arg, str) and arg.endswith("Policy")), ""):
            remark = other_words.NETWORKS_FOLLOW
            raise ArgumentError(
                tr("Run has no place for {policy!r}: leave it out; {remark}", policy=policy, remark=remark)
            )
        if len(args) > 3:
            raise ArgumentError(
                tr("Run takes algo and env by position, and settings by name: config={value!r:.80}", value=args[3])
            )
        check_names("Run", kwargs, init, kwargs.get("algo") or next(iter(args[1:2]), ""))
        init(*args, **kwargs)

    return call


def check_names(call: str, words: Mapping[str, Any], function: Callable[..., Any], algo: object) -> None:
    """Raises ArgumentError for all arguments that a function does not have, with what to write in their place. call:
    name of the function in the message."""
    names = inspect.signature(function).parameters
    strange = {
        name: setting_for(name, value, names, str(algo or "")) for name, value in words.items() if name not in names
    }
    if strange:
        sentences = (
            tr("{call} has no argument {name!r}{hint}", call=call, name=name, hint=hint)
            for name, hint in strange.items()
        )
        raise ArgumentError("\n".join(sentences))


def check_count(call: str, count: int | None) -> None:
    """Raises JoystickError for a number of steps or episodes that is not a whole number from 1 on."""
    if count is not None and not is_whole(count):
        raise JoystickError("{call}({count!r}): expected a whole number, at least 1", call=call, count=count)


def copied(name: str, settings: Settings | None, names: str = "name") -> dict[str, Any]:
    """Returns settings; none for None. Raises ConfigError for what is not a mapping. names: whose they are."""
    if not isinstance(settings, Mapping | None) or not all(isinstance(key, str) for key in settings or ()):
        raise ConfigError(
            "Python: {name}: got {settings!r}; expected a mapping of settings by {names}",
            name=name,
            settings=settings,
            names=names,
        )
    return dict(settings or {})


def check_path(name: str, value: object) -> None:
    """Raises ConfigError for an argument that is not a path."""
    if not isinstance(value, str | os.PathLike):
        raise ConfigError("Python: {name}: got {value!r}; expected a path", name=name, value=value)


def check_list(name: str, value: object) -> None:
    """Raises ConfigError for an argument that is not a list, or text, which would be read letter by letter."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        text = tr(" (text)") if isinstance(value, str) else ""
        raise ConfigError("Python: {name}: got {value!r}{text}; expected a list", name=name, value=value, text=text)


def setting_for(name: str, value: Any, arguments: Iterable[str], algo: str) -> str:
    """Returns the end of a sentence about an unknown argument: the setting of this name, or the nearest argument."""
    if name in ("verbose", "progress_bar"):
        return tr("; use show=True")
    if name in other_words.OF_THE_CONSTRUCTOR:
        return f"; {other_words.OF_THE_CONSTRUCTOR[name]}"
    path, remark = setting_of(name, ALGOS, ENVS, algo) or ("", "")
    if not path:
        return f"; {remark}" if remark else did_you_mean(name, arguments)
    section = path.partition(".")[0]
    keys = [part.partition(".")[2] for part in all_at_once(name, path, ALGOS, algo).split()]
    spelling = f"{section}={{{', '.join(f'{key!r}: ' + ('VALUE' if remark else repr(value)) for key in keys)}}}"
    return tr("; a setting is written {spelling}{remark}", spelling=spelling, remark=remark and f" ({remark})")


def config_of(
    algo: str | None = None,
    env: str | Callable[..., Any] | None = None,
    *,
    seed: int | None = None,
    general_cfg: Settings | None = None,
    algo_cfg: Settings | None = None,
    env_cfg: Settings | None = None,
    policies_cfg: Mapping[str, Settings] | None = None,
    config: Settings | None = None,
    env_name: str | None = None,
    yaml: str | Path | None = None,
    words: Iterable[str] = (),
    into: str | Path | None = None,
    allow_import: Iterable[str] = (),
    callbacks: CallbackSource = None,
    metrics: Sequence[str] = (),
    preset: str | None = "auto",
) -> RunConfig:
    """Returns the settings of a run, from the arguments of joystick.Run."""
    sections = {"general_cfg": general_cfg, "algo_cfg": algo_cfg, "env_cfg": env_cfg, "policies_cfg": policies_cfg}
    values = {name: copied(name, settings) for name, settings in sections.items()}
    if config is not None:
        config = copied("config", config, "RLlib's names")
        env = _one_environment(env, config.pop("env", None))
        callbacks = config.pop("callbacks", None) if callbacks is None else callbacks
        values["general_cfg"].setdefault("result_names", "rllib")  # who writes RLlib's names reads them, too
    maker = values["env_cfg"].get("id") if env is None else env
    if env_name is None and "env_name" not in values["general_cfg"] and (callable(maker) or own.is_registered(maker)):
        env_name = "python"
    if preset != "auto":
        values["general_cfg"].setdefault("preset", preset)
    values["general_cfg"] |= {k: v for k, v in (("env_name", env_name), ("seed", seed)) if v is not None}
    if isinstance(algo, str) and algo.endswith((".yaml", ".yml")):
        raise ConfigError("Python: algo: {algo!r} is a file of settings; write yaml={algo!r}", algo=algo)
    if not (algo is None or isinstance(algo, str) or callable(algo)):
        raise ConfigError("Python: algo: got {algo!r:.80}; expected the name of an algorithm, such as 'PPO'", algo=algo)
    if isinstance(algo, str) and isinstance(env, str) and _is_algorithm(env) and not _is_algorithm(algo):
        raise ConfigError("Python: {env} is an algorithm, which comes first: {env!r}, {algo!r}", algo=algo, env=env)
    loggers = values["general_cfg"].get("loggers")
    for logger in loggers if isinstance(loggers, list | tuple) else ():
        if isinstance(logger, Logger):
            raise ConfigError(
                "Python: general_cfg.loggers: got an object of {name}; write the class, {name}",
                name=type(logger).__name__,
            )
    if not (env is None or isinstance(env, str) or callable(env)):
        raise ConfigError("Python: env: got {env!r}; expected an id, or the class or function that makes it", env=env)
    flags = {"algo": algo, "env": env, "into": into, "allow_import": allow_import, "config": config}
    return loaded(yaml, words, values, callbacks, metrics, of_rllib=config is not None, **flags)


def _one_environment(env: Any, other: Any) -> Any:
    """Returns the environment of a run from its argument env and the env of its config: one, or the same twice."""
    if env is not None and other is not None and env is not other and env != other:
        what = tr("sets {setting}, which {other} sets too; keep one", setting="env_cfg.id", other="env")
        raise ConfigError(Place("Python", "config: env").fault(what))
    return other if env is None else env


def loaded(
    yaml: str | Path | None,
    words: Iterable[str],
    values: Mapping[str, Settings],
    callbacks: CallbackSource,
    metrics: Sequence[str],
    **flags: Any,
) -> RunConfig:
    """Returns the settings of a run. flags: words of the command line."""
    for name, path in (("yaml", yaml), ("into", flags.get("into"))):
        if path is not None:
            check_path(name, path)
    if flags.get("into") is not None:
        flags["into"] = str(flags["into"])
    for name, value in (("words", words), ("allow_import", flags["allow_import"]), ("metrics", metrics)):
        check_list(name, value)
    if metrics and not isinstance(callbacks, Mapping):
        raise ConfigError("Python: metrics: only callbacks that are functions need it; a class has METRICS")
    if isinstance(callbacks, Mapping):
        callbacks = from_functions(callbacks, metrics)
    if callbacks is not None:
        if not isinstance(callbacks, str | type):
            raise ConfigError(
                "Python: callbacks: got {value!r}; expected a class, or functions by event", value=callbacks
            )
        values = {**values, "general_cfg": {**values.get("general_cfg", {}), "callbacks": callbacks}}
    flags, values = own.by_name(flags), own.by_name(values)
    config = of_program(yaml, words, values=values, **flags)
    if config.general.mode != "train":
        raise ConfigError("Python: general_cfg.mode: a Run trains; joystick.load(NAME) gives a trained model")
    compatibility.check(config)
    return config


def _is_algorithm(name: str) -> bool:
    return name.lower() in map(str.lower, ALGOS.available())


def of_program(yaml: str | Path | None, words: Iterable[str] = (), **flags: Any) -> RunConfig:
    """Returns the settings that a program asks for."""
    with arguments_for_flags():
        return load(yaml, words, find_algo=ALGOS, find_env=ENVS, **flags)


@contextmanager
def arguments_for_flags() -> Iterator[None]:
    """Lets a message that names the flag --allow-import name the argument instead, which is what a program can give."""
    try:
        yield
    except ConfigError as error:
        said = [re.sub(r"--allow-import (\w+)", r'allow_import=["\1"]', problem) for problem in error.problems]
        raise ConfigError(*said) from None


def import_argument(packages: Iterable[str]) -> str:
    """Returns the argument that allows packages to be imported, behind another one; empty if there is none."""
    listed = list(packages)
    return f", allow_import={listed}" if listed else ""
