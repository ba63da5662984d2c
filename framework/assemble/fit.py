"""Checks that an algorithm can be used with an environment and with several processes, before torch is imported."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gymnasium.spaces import Box, Space

import algos
import envs
from config import machine
from config.model.memory_spec import MemorySpec, ReplaySpec, RolloutSpec
from config.model.schema import OF_THE_ENVIRONMENT, AlgoConfig
from config.read import limits
from config.read.loader import ConfigError, RunConfig
from envs.base import VectorEnv
from framework.assemble import compiling, resources
from framework.dataset import minari_sets
from framework.errors import DataError, JoystickError
from framework.film import mp4
from framework.policies.assignment import assign
from framework.policies.plan import PolicyPlan, plan, run_ahead

if TYPE_CHECKING:
    from algos.base import EnvSpec


def check(config: RunConfig) -> None:
    """Raises ConfigError if the algorithm does not suit the environment, and EnvError if that does not start."""
    _rows_that_fit(config)
    env = envs.make(config.env_package, config.env.model_copy(update={"render_mode": None}), rows=1)
    try:
        problems = list(_problems(config, env))
    finally:
        env.close()
    _check_schedules(config)
    _check_format(config)
    if config.general.video_fre and (faults := drawing_faults(config)):
        place = config.where.get("general_cfg.video_fre", "default")
        raise ConfigError([f"{place}: general_cfg.video_fre: {fault}" for fault in faults])
    if problems:
        raise ConfigError([f"{config.where.get(key, 'default')}: {key}: {problem}" for key, problem in problems])
    _check_compile(config, env.joint is not None)  # last: it may take seconds


def _check_format(config: RunConfig) -> None:
    """Raises ConfigError if what writes the trajectories or the videos is not installed."""
    cfg = config.general
    if cfg.video_format == "mp4":
        try:
            mp4.check_package()
        except JoystickError as error:
            place = config.where.get("general_cfg.video_format", "default")
            raise ConfigError([f"{place}: general_cfg.video_format: {error}"]) from None
    if cfg.collect_traj and cfg.collect_format == "minari":
        try:
            minari_sets.storages()
        except DataError as error:
            place = config.where.get("general_cfg.collect_format", "default")
            raise ConfigError([f"{place}: general_cfg.collect_format: {error}"]) from None


def _check_compile(config: RunConfig, several: bool) -> None:
    """Raises ConfigError if updates that cannot be compiled should be."""
    asked = config.general.mode == "train" and compiling.is_asked_for(config)
    if asked and (why := compiling.reason_not(config, several)):
        place = config.where.get("general_cfg.compile", "default")
        raise ConfigError([f"{place}: general_cfg.compile: {why}; auto and off do without"])


def _check_schedules(config: RunConfig) -> None:
    """Raises ConfigError if a learning rate follows the plan of the run, and there is none."""
    sections = {f"policies_cfg.{name}": policy for name, policy in config.policies.items() if policy.train}
    for section, algo in (sections or {"algo_cfg": config.algo}).items():
        if algo.schedule() != "constant" and not limits.planned(config.general):
            places = (config.where.get(f"{each}.lr_schedule") for each in (section, "algo_cfg"))
            message = f"{algo.schedule()} follows the plan of the run, and there is none"
            needed = "general_cfg.max_episode, max_total_step or max_update"
            place = next(filter(None, places), "default")
            raise ConfigError([f"{place}: {section}.lr_schedule: {message}; set {needed}"])


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
        place = config.where.get("env_cfg.n_envs", "default")
        need = f"need at least {rows * ROW_BYTES / 2**30:,.0f} GiB and this machine has {free / 2**30:,.1f} GiB free"
        raise ConfigError([f"{place}: env_cfg.n_envs: {rows:,} environments {need}"])


def _problems(config: RunConfig, env: VectorEnv) -> list[tuple[str, str]]:
    """Returns pairs of a setting and the reason why it does not suit the environment."""
    env_id = getattr(config.env, "id", config.general.env_name)
    if env.joint is not None:
        return list(_joint_problems(config, env, env_id))
    if config.policies:
        first = f"policies_cfg.{next(iter(config.policies))}.agents"
        return [(first, f"{env_id} has a single agent, whose settings are those of algo_cfg; leave policies_cfg out")]
    return misfits(config.algo_package.NAME, config.algo, env, env_id)


def misfits(name: str, algo: AlgoConfig, env: VectorEnv, env_id: str) -> list[tuple[str, str]]:
    """Returns pairs of a setting and the reason why an algorithm does not suit an environment of a single agent."""
    cls = type(algo)
    faults = list(_wrong_spaces(name, algo, env.observation_space, env.action_space, env_id))
    if not faults and not _has_model(algo, env):
        faults = [f"{name} needs a transition model, and {env_id} has none ({_WITH_MODEL})"]
    if not faults and not _has_bounds(algo, env):
        faults = [f"{name} needs bounded actions; those of {env_id} are unbounded ({_described(env.action_space)})"]
    if not faults and not _has_expert(algo, env):
        needed = f"needs an expert, and {env_id} has none of its own"
        faults = [f"{name} {needed}; algo_cfg.expert can name a task directory, or a function of your own"]
    if not faults and not _has_goal(algo, env):
        needed = f"needs an environment with goals, and {env_id} has none ({_WITH_GOAL})"
        if _has_goal(cls(), env):
            return [("algo_cfg.her_ratio", f"{needed}; set it to 0")]
        faults = [f"{name} {needed}"]
    if not faults and _compresses(algo) and not resources.keeps_frames(algo.memory(rows=1), env.observation_space):
        large = f"observations of at least {resources.LEAST_OBSERVATION:,} bytes, without goals that are replaced"
        why = f"is for images: {large}, unlike those of {env_id}"
        return [("algo_cfg.buffer_compress", f"{why}; set it to false")]
    if not faults and not _has_several(algo, env):
        needed = f"needs the global state of several agents, and {env_id} has a single one"
        if _has_several(cls(), env):
            return [("algo_cfg.critic_input", f"global {needed}; set it to own")]
        faults = [f"{name} {needed}"]
    if not faults:
        return []
    able = ", ".join(_able(env, algos.offline() if cls.OFFLINE else algos.learning())) or "none"
    return [("general_cfg.algo_name", f"{'. '.join(faults)}. Algorithms that can: {able}")]


def _wrong_spaces(name: str, algo: AlgoConfig, observation: Space, action: Space, env_id: str) -> Iterator[str]:
    """Yields the spaces that an algorithm does not support."""
    for kind, space, known in (
        ("actions", action, type(algo).ACTION_SPACES),
        ("observations", observation, type(algo).OBSERVATION_SPACES),
    ):
        if not _is_one_of(space, known):
            yield f"{name} needs {kind} that are {' or '.join(known)}; {env_id} has {_described(space)}"


def _is_one_of(space: Space, names: Sequence[str]) -> bool:
    """Returns True if a space is of one of these classes, or of a subclass."""
    return any(kind.__name__ in names for kind in type(space).__mro__)


def _joint_problems(config: RunConfig, env: VectorEnv, env_id: str) -> Iterator[tuple[str, str]]:
    """Yields pairs of a setting and the reason why it does not suit the agents of a multi-agent environment."""
    for name, algo, package, slots in assign(config, env.joint):
        key = f"policies_cfg.{name}.algo_name" if config.policies else "general_cfg.algo_name"
        agents = f"{env_id}, agent {slots.agents[0]},"
        actions = slots.type.action_space if type(algo).JOINT else slots.action_space
        yield from ((key, text) for text in _wrong_spaces(package.NAME, algo, slots.observation_space, actions, agents))
        if algo.NEEDS_MODEL:
            yield key, f"{package.NAME} plans with the transition model of a single-agent environment"
        spec = algo.memory(rows=1) if algo.train else None
        if isinstance(spec, ReplaySpec) and spec.relabel:
            yield key, f"{package.NAME} relabels the goals of a single-agent environment"
        section = f"policies_cfg.{name}" if config.policies else "algo_cfg"
        if spec is not None and spec.data is not None:
            yield f"{section}.data", "is for a single agent"
        if algo.train and _compresses(algo):
            yield f"{section}.buffer_compress", "is for a single agent"
        if algo.train and algo.asked_expert():
            yield f"{section}.expert", "is for a single agent"
        if algo.NEEDS_BOUNDS and isinstance(slots.action_space, Box) and not slots.action_space.is_bounded():
            yield key, f"{package.NAME} needs bounded actions; those of {agents} are unbounded"


def _described(space: Space) -> str:
    """Returns a space in a few words; the bounds of a Box would fill lines."""
    if not isinstance(space, Box):
        return str(space)
    return f"Box, {' x '.join(map(str, space.shape)) or 1} number{'' if space.shape in ((), (1,)) else 's'}"


_WITH_MODEL = "without wrappers, FrozenLake-v1, CliffWalking-v1, Taxi-v4 and the toy env_cfg.id=walk have one"
_WITH_GOAL = "general_cfg.env_name=toy env_cfg.id=bitflip has them; the interface is in docs/environments.md"


def _has_model(algo: AlgoConfig, env: VectorEnv) -> bool:
    return not algo.NEEDS_MODEL or env.model is not None


def _has_bounds(algo: AlgoConfig, env: VectorEnv) -> bool:
    return not (algo.NEEDS_BOUNDS and isinstance(env.action_space, Box)) or env.action_space.is_bounded()


def _has_goal(algo: AlgoConfig, env: VectorEnv) -> bool:
    spec = algo.memory(rows=1)
    return not (isinstance(spec, ReplaySpec) and spec.relabel) or env.goal is not None


def _compresses(algo: AlgoConfig) -> bool:
    spec = algo.memory(rows=1)
    return isinstance(spec, ReplaySpec) and spec.compress


def _has_expert(algo: AlgoConfig, env: VectorEnv) -> bool:
    return algo.asked_expert() != OF_THE_ENVIRONMENT or env.expert is not None


def _has_several(algo: AlgoConfig, env: VectorEnv) -> bool:
    return algo.JOINT or not algo.needs_global_state() or env.joint is not None


def _able(env: VectorEnv, names: list[str]) -> list[str]:
    """Returns those of the algorithms that suit this environment with their default settings."""
    configs = {name: algos.get(name).Config() for name in names}
    return [
        name
        for name, algo in configs.items()
        if _is_one_of(env.action_space, algo.ACTION_SPACES)
        and _is_one_of(env.observation_space, algo.OBSERVATION_SPACES)
        if _has_model(algo, env) and _has_bounds(algo, env) and _has_goal(algo, env)
        if _has_expert(algo, env) and _has_several(algo, env)
    ]


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
    joined = not run_ahead(config) or not (spec.joint or isinstance(config.algo.memory(1), RolloutSpec))
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
    if run_ahead(config) and (why := _must_not_lag(policy)):
        place = config.where.get("general_cfg.run_ahead", "default")
        raise ConfigError([f"{place}: general_cfg.run_ahead: {why}; set it to 0"])
    place = config.where.get("general_cfg.n_learners", "default")
    if cfg.n_learners > 1 and not type(policy.algo).HAS_GRADIENTS:
        raise ConfigError([f"{place}: general_cfg.n_learners: {name} has no gradients to share"])
    batch = _minibatch(policy.memory, policy.spec.rows)
    if batch is not None and batch % cfg.n_learners:
        raise ConfigError(
            [f"{place}: general_cfg.n_learners: a batch of {batch} cannot be split evenly between {cfg.n_learners}"]
        )


def _must_not_lag(policy: PolicyPlan) -> str | None:
    """Returns the reason why workers have to wait for the learner; None if they need not."""
    if not type(policy.algo).MAY_LAG:
        return f"{policy.package.NAME} learns only from what its newest policy has done"
    if isinstance(policy.memory, RolloutSpec) and getattr(policy.algo, "normalize_reward", False):
        return "normalize_reward follows each row without a gap, and windows of several workers come in any order"
    return policy.algo.must_wait()


def _minibatch(wanted: MemorySpec, rows: int) -> int | None:
    """Returns the number of samples of a minibatch, which learners divide; None if it depends on the data."""
    if isinstance(wanted, ReplaySpec):
        return wanted.batch_size
    if wanted.unit == "episodes":
        return None
    samples = wanted.length * rows // (wanted.sequence or wanted.length)
    return min(wanted.minibatch or samples, samples)
