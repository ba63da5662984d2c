"""Checks that an algorithm can be used with an environment and with several processes, before torch is imported."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import algos
import envs
from config import machine
from config.model.memory_spec import MemorySpec, ReplaySpec, RolloutSpec
from config.model.schema import AlgoConfig
from config.read import limits
from config.read.loader import ConfigError, RunConfig
from config.tell.language import tr
from envs.base import EnvError, VectorEnv
from envs.several.joint import JointActionSpace
from framework.assemble import compiling, needs, resources
from framework.dataset import minari_sets
from framework.errors import DataError, JoystickError
from framework.film import mp4
from framework.policies.assignment import assign
from framework.policies.policy_plan import PolicyPlan, plan

if TYPE_CHECKING:
    from algos.base import EnvSpec


def check(config: RunConfig) -> None:
    """Raises ConfigError if the algorithm does not suit the environment, and EnvError if that does not start, or is
    another one in evaluations."""
    _rows_that_fit(config)
    with _one_row(config) as env:
        problems = list(_problems(config, env))
        if config.eval_env:
            with _one_row(config.of_evaluation()) as eval_env:
                _check_same_spaces(eval_env, env)
    _check_schedules(config)
    _check_format(config)
    if config.general.video_fre and (faults := drawing_faults(config)):
        place = config.where.get("general_cfg.video_fre", tr("default"))
        raise ConfigError(*[f"{place}: general_cfg.video_fre: {fault}" for fault in faults])
    if problems:
        raise ConfigError(*[f"{config.where.get(key, 'default')}: {key}: {problem}" for key, problem in problems])
    _check_compile(config)  # last: it may take seconds


def _one_row(config: RunConfig) -> contextlib.closing[VectorEnv]:
    """Returns an environment of one row, which does not draw."""
    cfg = config.env.model_copy(update={"render_mode": None})
    return contextlib.closing(envs.make(config.env_package, cfg, rows=1))


def _check_same_spaces(eval_env: VectorEnv, env: VectorEnv) -> None:
    """Raises EnvError if the environment of evaluations is not one that the agent of the training can act in."""
    for what, there, here in (
        (tr("agents"), _agents_of(eval_env), _agents_of(env)),  # whose observations are packed into one
        (tr("observations"), eval_env.observation_space, env.observation_space),
        (tr("actions"), eval_env.action_space, env.action_space),
    ):
        if there != here:
            raise EnvError(
                "general_cfg.eval_env: {what} of evaluations are {there}, and those of training {here}; "
                "they have to be the same",
                what=what,
                there=there,
                here=here,
            )


def _agents_of(env: VectorEnv) -> str:
    """Returns the agents of an environment with their spaces; empty for one without several agents."""
    if not isinstance(env.action_space, JointActionSpace):
        return ""
    types = env.action_space.layout.types
    return "; ".join(f"{', '.join(kind.agents)}: {kind.observation_space}, {kind.action_space}" for kind in types)


def _check_format(config: RunConfig) -> None:
    """Raises ConfigError if what writes the trajectories or the videos is not installed."""
    cfg = config.general
    if cfg.video_format == "mp4":
        try:
            mp4.check_package()
        except JoystickError as error:
            place = config.where.get("general_cfg.video_format", tr("default"))
            raise ConfigError(f"{place}: general_cfg.video_format: {error}") from None
    if cfg.collect_traj and cfg.collect_format == "minari":
        try:
            minari_sets.storages()
        except DataError as error:
            place = config.where.get("general_cfg.collect_format", tr("default"))
            raise ConfigError(f"{place}: general_cfg.collect_format: {error}") from None


def _check_compile(config: RunConfig) -> None:
    """Raises ConfigError if updates that cannot be compiled should be."""
    compiled = config.general.mode == "train" and compiling.is_asked_for(config)
    if compiled and (why := compiling.reason_not(config)):
        place = config.where.get("general_cfg.compile", tr("default"))
        raise ConfigError("{place}: general_cfg.compile: {why}; auto and off do without", place=place, why=why)


def _check_schedules(config: RunConfig) -> None:
    """Raises ConfigError if a setting follows the plan of the run, and there is none."""
    sections = {f"policies_cfg.{name}": policy for name, policy in config.policies.items() if policy.train}
    for section, algo in (sections or {"algo_cfg": config.algo}).items():
        for key, schedule in ({} if limits.planned(config.general) else algo.schedules()).items():
            places = (config.where.get(f"{part}.{key}") for part in (section, "algo_cfg"))
            place = next(filter(None, places), tr("default"))
            raise ConfigError(
                "{place}: {section}.{key}: {schedule} follows the plan of the run, and there is none; "
                "set general_cfg.max_episode, max_total_step, max_update or max_iteration",
                place=place,
                section=section,
                key=key,
                schedule=schedule if isinstance(schedule, str) else json.dumps(schedule),
            )


def drawing_faults(config: RunConfig) -> list[str]:
    """Returns the reasons why the environment cannot be filmed."""
    check = getattr(config.env_package, "check", lambda cfg: ())
    return [fault.message for fault in check(config.env.model_copy(update={"render_mode": config.env.FILM[0]}))]


ROW_BYTES = 2048
"""Memory that a row takes at least: its environment, and its part of the arrays."""


def _rows_that_fit(config: RunConfig) -> None:
    """Raises ConfigError if there is not enough memory for that many environments; making them would take minutes."""
    rows, free = config.env.n_envs, machine.available_bytes()
    if free is not None and rows * ROW_BYTES > free:
        place = config.where.get("env_cfg.n_envs", tr("default"))
        raise ConfigError(
            "{place}: env_cfg.n_envs: {rows:,} environments need at least {needed:,.0f} GiB and this machine has "
            "{free:,.1f} GiB free",
            place=place,
            rows=rows,
            needed=rows * ROW_BYTES / 2**30,
            free=free / 2**30,
        )


def _problems(config: RunConfig, env: VectorEnv) -> list[tuple[str, str]]:
    """Returns pairs of a setting and the reason why it does not suit the environment."""
    env_id = config.env_id
    if env.joint is not None:
        return list(_joint_problems(config, env, env_id))
    if config.policies:
        first = f"policies_cfg.{next(iter(config.policies))}.agents"
        return [
            (
                first,
                tr(
                    "{env_id} has a single agent, whose settings are those of algo_cfg; leave policies_cfg out",
                    env_id=env_id,
                ),
            )
        ]
    return misfits(config.algo_package.NAME, config.algo, env, env_id)


def misfits(name: str, algo: AlgoConfig, env: VectorEnv, env_id: str) -> list[tuple[str, str]]:
    """Returns pairs of a setting and the reason why an algorithm does not suit an environment of a single agent."""
    faults = list(needs.misfits(needs.needs_of(algo, name, type(algo)()), needs.offers_of(env, env_id, algo)))
    if not faults or faults[0][0] != needs.ALGORITHM:
        return [(f"algo_cfg.{setting}", fault) for setting, fault in faults]
    names = needs.able(env, algos.offline() if type(algo).OFFLINE else algos.learning())
    able = ", ".join(sorted(names, key=lambda other: not other.startswith(f"{name}_"))) or "none"  # SAC: SAC_D first
    sentences = ". ".join(fault for _, fault in faults)
    return [("general_cfg.algo_name", tr("{sentences}. Algorithms that can: {able}", sentences=sentences, able=able))]


def _joint_problems(config: RunConfig, env: VectorEnv, env_id: str) -> Iterator[tuple[str, str]]:
    """Yields pairs of a setting and the reason why it does not suit the agents of a multi-agent environment."""
    for name, algo, package, slots in assign(config, env.joint):
        section = f"policies_cfg.{name}" if config.policies else "algo_cfg"
        actions = slots.type.action_space if type(algo).JOINT else slots.action_space
        facts = {"bounds": partial(needs.is_bounded, slots.action_space)}
        agents = f"{env_id}, agent {slots.agents[0]},"
        offers = needs.Offers(agents, actions, slots.observation_space, facts, "agents")
        for setting, fault in needs.misfits(needs.needs_of(algo, package.NAME), offers):
            of_algorithm = setting == needs.ALGORITHM and not config.policies
            yield f"{'general_cfg' if of_algorithm else section}.{setting}", fault


# ------------------------------------------------------------------------------------------ many processes


def spec_of_all(config: RunConfig, spec: "EnvSpec") -> "EnvSpec":
    """Returns the spec with the rows of all workers. Raises ConfigError if processes cannot share the work."""
    if config.general.mp_backend == "ray":
        spec = all_rows(config, spec)
        refuse(config, spec)
    return spec


def all_rows(config: RunConfig, spec: "EnvSpec") -> "EnvSpec":
    """Returns the spec with the rows of a window: those of all workers, if their fragments are joined. Joint fragments
    that come in any order are split for each worker."""
    joined = not config.run_ahead or not (spec.joint or isinstance(config.algo.memory(1), RolloutSpec))
    return replace(spec, rows=spec.rows * (config.general.n_workers if joined else 1))


def refuse(config: RunConfig, spec: "EnvSpec") -> None:
    """Raises ConfigError if processes cannot share the work, and RayError if this machine is too small for them."""
    cfg = config.general
    for policy in plan(config, spec).learning:
        _refuse_policy(config, policy)
    if cfg.ray_address is None:
        resources.processes_that_fit(cfg.n_workers, cfg.n_learners)


def _refuse_policy(config: RunConfig, policy: PolicyPlan) -> None:
    """Raises ConfigError if processes cannot share the work of a policy."""
    cfg, name = config.general, policy.package.NAME
    if config.run_ahead and (why := _must_not_lag(policy)):
        place = config.where.get("general_cfg.run_ahead", tr("default"))
        raise ConfigError("{place}: general_cfg.run_ahead: {why}; set it to 0", place=place, why=why)
    place = config.where.get("general_cfg.n_learners", tr("default"))
    if cfg.n_learners > 1 and not type(policy.algo).HAS_GRADIENTS:
        raise ConfigError("{place}: general_cfg.n_learners: {name} has no gradients to share", place=place, name=name)
    batch = _minibatch(policy.memory, policy.spec.rows)
    if batch is not None and batch % cfg.n_learners:
        raise ConfigError(
            "{place}: general_cfg.n_learners: a batch of {batch} cannot be split evenly between {n_learners}",
            place=place,
            batch=batch,
            n_learners=cfg.n_learners,
        )


def _must_not_lag(policy: PolicyPlan) -> str | None:
    """Returns the reason why workers have to wait for the learner; None if they need not."""
    if not type(policy.algo).MAY_LAG:
        return tr("{name} learns only from what its newest policy has done", name=policy.package.NAME)
    if isinstance(policy.memory, RolloutSpec) and getattr(policy.algo, "normalize_reward", False):
        return tr("normalize_reward follows each row without a gap, and windows of several workers come in any order")
    return policy.algo.must_wait()


def _minibatch(memory: MemorySpec, rows: int) -> int | None:
    """Returns the number of samples of a minibatch, which learners divide; None if it depends on the data."""
    if isinstance(memory, ReplaySpec):
        return memory.batch_size
    if memory.unit == "episodes":
        return None
    samples = memory.length * rows // (memory.sequence or memory.length)
    return min(memory.minibatch or samples, samples)
