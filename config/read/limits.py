"""Decides unwritten limits: a written limit is never cut short by a default."""

from collections.abc import Container, Iterator, Mapping
from types import ModuleType
from typing import Any

from config.config import RUN_LIMITS, GeneralConfig
from config.model.schema import AlgoConfig
from config.read import sources
from config.read.source_stack import SourceStack
from config.tell.language import tr


def of_test(general: GeneralConfig, explicit: bool) -> tuple[dict[str, Any], str]:
    """Returns the number of test episodes as max_episode, and a note; explicit: max_episode is set for this test."""
    if explicit and general.max_episode > 0:
        return {}, ""
    count = general.online_eval_episode
    note = tr(
        "test episodes: {count} (online_eval_episode); general_cfg.max_episode=N plays another number", count=count
    )
    return {"max_episode": count}, note


def planned(general: GeneralConfig) -> bool:
    """Returns True if the length of a run is known before it begins, so that a learning rate can fall over it."""
    return general.mode == "test" or any(limit > 0 for limit in general.length)


def keep_rates(built: dict[str, Any], where: Container[str]) -> Iterator[str]:
    """Makes learning rates constant that fall by default, in a run whose length is not planned; yields notes."""
    for section, algo in built.items():
        schedule = algo.schedules().get("lr_schedule") if isinstance(algo, AlgoConfig) else None
        if schedule and f"{section}.lr_schedule" not in where:
            built[section] = algo.model_copy(update={"lr_schedule": "constant"})
            yield tr(
                "{section}.lr_schedule is constant: {schedule} needs max_episode, max_total_step, max_update or "
                "max_iteration",
                section=section,
                schedule=schedule,
            )


OFFLINE_UPDATES = 10_000
"""Number of updates from given data if no limit is set."""


def of_training(
    general: GeneralConfig,
    explicit: Container[str],
    env: str,
    own_limit: int | None,
    offline: int = 0,
    epochs: int | None = None,
) -> tuple[dict[str, Any], str]:
    """Returns the values of unwritten limits, and a note on what was decided; own_limit: of the environment in steps;
    offline: number of updates from given data before anything is collected, -1: all; epochs: length of such a run in
    passes over the data.

    JoyRL's defaults (100 episodes of at most 200 steps) hold if max_episode is written or no limit is.
    """
    limits = [key for key in RUN_LIMITS if key in explicit and getattr(general, key) > 0]
    if epochs:
        note = tr("max_update becomes that of data_epochs: {epochs}", epochs=epochs) if "max_update" in limits else ""
        return {key: -1 for key in ("max_episode", "max_step") if key not in explicit}, note
    if offline < 0 and not limits:
        values = {key: -1 for key in ("max_episode", "max_step") if key not in explicit}
        note = tr("no limit is set: max_update is {updates:,}", updates=OFFLINE_UPDATES)
        return {**values, "max_update": OFFLINE_UPDATES}, note
    unwritten = [key for key in ("max_episode", "max_step") if key not in explicit]
    if "max_episode" not in limits and (limits or "max_episode" in explicit):
        values = dict.fromkeys(unwritten, -1)
        if own_limit:
            ends = tr(
                "max_step is -1: episodes of {env} end by its own limit of {limit} steps", env=env, limit=own_limit
            )
        else:
            ends = tr("max_step is -1: episodes of {env} end by the environment alone", env=env)
        how = {
            "max_episode": tr("max_episode is -1, since {limits} is set", limits=tr(" and ").join(limits)),
            "max_step": ends,
        }
        return values, tr("; ").join(how[key] for key in unwritten)
    most = general.max_step
    if own_limit is None:
        steps = tr("max_step is {steps}", steps=most)
    elif own_limit > most:
        steps = tr(
            "max_step is {steps} ({env} itself ends after {limit}; general_cfg.max_step=-1)",
            steps=most,
            env=env,
            limit=own_limit,
        )
    else:
        steps = ""
    if "max_episode" in unwritten:
        first = tr("no limit is set: max_episode is {episodes}", episodes=general.max_episode)
        both = tr("{limit}, {other}", limit=first, other=steps)
        return {}, both if steps and "max_step" in unwritten else first
    return {}, tr("{limit}, JoyRL's default", limit=steps) if steps and "max_step" in unwritten else ""


AMOUNTS = tuple(key for key in RUN_LIMITS if key != "max_time")
"""Limits that count training; a run with one of them need not have another."""


def leave_out(stack: SourceStack) -> Iterator[str]:
    """Takes limits that nobody wrote, those of a preset or of the usual run of an algorithm, out of a new run for which
    another amount is written, or that collects nothing; yields a note. A run that is loaded keeps its own."""
    written, place = sources.merge((source for source in stack.sources if source.written), "general_cfg", GeneralConfig)
    amounts, idle = [key for key in AMOUNTS if is_limit(written.get(key))], AMOUNTS
    if not amounts and sources.merge(stack.sources, "algo_cfg", AlgoConfig)[0].get("offline_updates") == -1:
        amounts, idle = ["offline_updates"], ("max_episode", "max_total_step")
    if not amounts or stack.general("load_checkpoint") is True:
        return
    unused = []
    epochs = any(source.written and "data_epochs" in source.sections.get("algo_cfg", {}) for source in stack.sources)
    for source in stack.sources:
        passes = None if source.written or epochs else source.sections.get("algo_cfg", {}).get("data_epochs")
        if passes and "max_update" in amounts:  # which it would set
            unused.append(f"data_epochs {passes:,} ({source.places['algo_cfg'].parts['data_epochs'].text})")
            source.put("algo_cfg", "data_epochs", None, place.parts["max_update"])
        settings = {} if source.written else source.sections.get("general_cfg", {})
        for key in idle:
            if key not in written and is_limit(settings.get(key)):
                where = source.places["general_cfg"].parts[key]
                unused.append(f"{key} {settings[key]:,} ({where.text})")
                source.put("general_cfg", key, -1, place.parts.get(amounts[0], where))
    if unused:
        yield tr(
            "not used, since {amounts} is written: {limits}",
            amounts=tr(" and ").join(amounts),
            limits=", ".join(unused),
        )


def is_limit(value: Any) -> bool:
    """Returns True for a number above 0; nothing has been validated yet."""
    return isinstance(value, int | float) and value > 0


def of_run(
    stack: SourceStack, built: Mapping[str, Any], kind: ModuleType, explicit: Container[str]
) -> tuple[dict[str, Any], str]:
    """Returns the values of unwritten limits, and a note on what was decided. built: sections; kind: package of the
    environment; explicit: settings that the user wrote."""
    general, algo, env = built["general_cfg"], built["algo_cfg"], built["env_cfg"]
    if general.mode == "test":
        return of_test(general, "general_cfg.max_episode" in explicit)
    merged, _ = sources.merge(stack.sources, "general_cfg", GeneralConfig)
    set_keys = {key for key, value in merged.items() if value is not None}
    own_limit = kind.own_limit(env) if hasattr(kind, "own_limit") else None
    name, offline = getattr(env, "id", general.env_name), algo.offline_updates_of()
    return of_training(general, set_keys, name, own_limit, offline, algo.data_epochs_of())
