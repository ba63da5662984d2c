"""joystick.tune: tuning from a Python program, of training runs or of a function."""

import sys
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from config import machine
from config.own import objects as own
from config.read.loader import ConfigError
from config.read.paths import as_written, fixed
from config.read.tuning import Tuning, continued, folder_named, from_file, from_values
from config.tell.arguments import with_hints
from config.tell.language import tr
from framework.archive.trials import TrialResult
from framework.assemble import fit as compatibility
from framework.catalog import ALGOS, ENVS
from framework.errors import CtrlC, JoystickError
from framework.jobs import session
from framework.jobs.functions import Function, FunctionPlan, Functions
from framework.jobs.tuner import Tuner
from framework.runs import other_words
from framework.runs.arguments import arguments_for_flags, import_argument
from framework.screen import terminal


class Tuned(NamedTuple):
    """The result of a tuning."""

    trials: list[dict[str, Any]]
    """A mapping for each trial: name, settings, state, score, best, step, seconds, status, folder, and the reason for a
    failure; best first."""
    best: dict[str, Any] | None
    """The trial that won; None if none has a score."""
    folder: Path


@with_hints(other_words.OF_TUNE)
def tune(
    what: str | Path | Mapping[str, Any] | Function | None = None,
    space: Mapping[str, Any] | None = None,
    *,
    samples: int | None = None,
    search: str | None = None,
    batch: int | None = None,
    scheduler: str | None = None,
    score: str | None = None,
    mode: str | None = None,
    rungs: int | None = None,
    eta: int | None = None,
    seeds: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    ray_address: str | None = None,
    words: Iterable[str] = (),
    into: str | Path | None = None,
    resume: str | Path | None = None,
    allow_import: Iterable[str] = (),
    show: bool = False,
) -> Tuned:
    """Tries settings, as the command tune does. what: a file, its content as a mapping, or a function of settings and
    a report. space: values to try by section.key, made by grid, choice, uniform, log and integer. resume: name or
    folder of a tuning to continue. show: print what the command line prints."""
    flags = {"samples": samples, "search": search, "batch": batch, "ray_address": ray_address, "scheduler": scheduler,
             "score": score, "mode": mode, "rungs": rungs, "eta": eta,
             "seeds": seeds, "seed": seed, "jobs": jobs}  # fmt: skip
    if isinstance(words, str) or isinstance(allow_import, str):
        raise ConfigError("Python: words and allow_import: got text; expected lists")
    if not isinstance(space, Mapping | None):
        raise ConfigError("Python: space: got {space!r}; expected values to try by section.key", space=space)
    options = {"find_algo": ALGOS, "find_env": ENVS, "allow_import": tuple(allow_import), "into": into}
    function = what if callable(what) else None
    screen = terminal.choose(sys.stdout) if show else terminal.Screen()
    with arguments_for_flags():
        tuning = _tuning(what, space, resume, words, flags, options)
        folder = fixed(folder_named(resume)) if resume is not None else None
        if function is None:
            work, status = session.run(tuning, compatibility.check, screen, sys.argv, folder)
        else:
            work, status = _of_function(function, tuning, screen, folder)
    if work.session != "ended":  # also if a trial alone was stopped: what is left has no winner
        sentence = tr(
            "{name} is saved: joystick.tune({function}resume={name!r}{imports}) goes on",
            name=str(as_written(work.folder)),
            function="" if function is None else "function, ",
            imports=import_argument(tuning.options["allow_import"]),
        )
        raise CtrlC(sentence) if status >= 128 else JoystickError(sentence)
    return _result(work)


def _tuning(
    what: Any,
    space: Mapping[str, Any] | None,
    resume: str | Path | None,
    words: Iterable[str],
    flags: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Tuning:
    if resume is not None:
        where = {name: flags[name] for name in ("jobs", "ray_address")}
        extra = [name for name, value in flags.items() if value is not None and name not in where]
        if extra or space or words or options["into"] or not (what is None or callable(what)):
            raise ConfigError(
                "Python: resume continues a tuning with its own settings; give nothing else but jobs and ray_address"
            )
        return continued(folder_named(resume), (), where, **options)
    if isinstance(what, str) and what.lower() in map(str.lower, ALGOS.available()):
        raise ConfigError(
            "Python: got {what!r}; expected {{'general_cfg': {{'algo_name': {what!r}}}}}, a file or a function",
            what=what,
        )
    if isinstance(what, str | Path):
        return from_file(what, words, flags, leaves=space, **options)
    if isinstance(what, Mapping) or callable(what):
        return from_values(_by_name(what) if isinstance(what, Mapping) else {}, words, flags, leaves=space, **options)
    raise ConfigError("Python: got {what!r}; expected a file, a mapping of settings, or a function", what=what)


def _by_name(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns settings with names in place of classes and functions. One that makes the environment is of python."""
    general, env = values.get("general_cfg") or {}, values.get("env_cfg") or {}
    if isinstance(env, Mapping) and callable(env.get("id")) and isinstance(general, Mapping):
        values = {**values, "general_cfg": {"env_name": "python", **general}}
    return dict(own.by_name(values))


def _of_function(function: Function, tuning: Tuning, screen: terminal.Screen, folder: Path | None) -> tuple[Tuner, int]:
    """Tries the settings of a function."""
    plan = FunctionPlan(tuning)
    plan.check()
    jobs = int(min(tuning.settings.jobs or machine.cores(), len(plan.first)))
    runner = Functions(function, jobs)
    if folder is None:
        name = getattr(function, "__name__", "function")
        folder = session.make_folder(tuning, name, "function", sys.argv, name)
    return session.drive(plan, folder, runner, screen)


def _result(work: Tuner) -> Tuned:
    reasons = {name: failure["reason"] for name, failure in work.failures.items()}
    trials = [{**_facts(row, work.paths), "reason": reasons.get(row.trial.name)} for row in work.by_score()]
    best = next((trial for trial in trials if work.best and trial["name"] == work.best.name), None)
    return Tuned(trials, best, work.folder)


def _facts(row: TrialResult, paths: list[str]) -> dict[str, Any]:
    settings = dict(zip(paths, row.trial.settings, strict=True))
    facts = row._asdict()
    del facts["trial"]
    return {"name": row.trial.name, "settings": settings, **facts}


def _refuse(name: str, *args: Any, **words: Any) -> NoReturn:
    """Raises AttributeError for a name of the module ray.tune, which is a function here."""
    instead = other_words.OF_RAYS_TUNE.get(name) or other_words.OF_THE_MODULE[name]
    raise AttributeError(tr("joystick.tune is a function, and has no {name!r}; {remark}", name=name, remark=instead))


for _name in (*other_words.OF_RAYS_TUNE, "Tuner", "grid_search", "sample_from", "loguniform", "randint", "function"):
    setattr(tune, _name, partial(_refuse, _name))
