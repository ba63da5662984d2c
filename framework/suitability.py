"""Can this algorithm act in this environment? Answered by the environment itself, before torch is imported."""

from gymnasium.spaces import Box, Space

import algos
import envs
from config.loader import ConfigError, RunConfig
from config.schema import AlgoConfig, NetworkConfig, ReplaySpec
from envs.base import VectorEnv


def check(config: RunConfig) -> None:
    """ConfigError where it cannot; EnvError where the environment does not even start."""
    env = envs.make(config.env_package, config.env.model_copy(update={"render_mode": None}), rows=1)
    try:
        problems = list(_problems(config, env))
    finally:
        env.close()
    if isinstance(config.algo, NetworkConfig) and config.algo.lr_schedule != "constant" and not _planned(config):
        place = config.where.get("algo_cfg.lr_schedule", "default")
        message = f"{config.algo.lr_schedule} follows the plan of the run, and there is none"
        limits = "general_cfg.max_episode, max_total_step or max_update"
        raise ConfigError([f"{place}: algo_cfg.lr_schedule: {message}; set {limits}"])
    if problems:
        raise ConfigError([f"{config.where.get(key, 'default')}: {key}: {problem}" for key, problem in problems])


def _planned(config: RunConfig) -> bool:
    cfg = config.general
    return cfg.mode == "test" or max(cfg.max_episode, cfg.max_total_step, cfg.max_update) > 0


def _problems(config: RunConfig, env: VectorEnv) -> list[tuple[str, str]]:
    """(setting, what is wrong with it)."""
    name, cls = config.algo_package.NAME, type(config.algo)
    env_id = getattr(config.env, "id", config.general.env_name)
    misfits = [
        f"{name} needs {kind} that are {' or '.join(known)}; {env_id} has {_told(space)}"
        for kind, space, known in (
            ("actions", env.action_space, cls.ACTION_SPACES),
            ("observations", env.observation_space, cls.OBSERVATION_SPACES),
        )
        if type(space).__name__ not in known
    ]
    if not misfits and not _tells_rules(config.algo, env):
        misfits = [f"{name} needs the rules of the environment, and {env_id} does not tell them ({_TELLS_RULES})"]
    if not misfits and not _has_bounds(config.algo, env):
        misfits = [f"{name} needs actions between bounds, and {env_id} has {_told(env.action_space)} without"]
    if not misfits and not _has_goal(config.algo, env):
        needed = f"needs an environment with goals, and {env_id} has none ({_HAS_GOAL})"
        if _has_goal(cls(), env):
            return [("algo_cfg.her_ratio", f"{needed}; set it to 0")]
        misfits = [f"{name} {needed}"]
    able = ", ".join(_able(env)) or "none"
    return [("general_cfg.algo_name", f"{'. '.join(misfits)}. Algorithms that can: {able}")] if misfits else []


def _told(space: Space) -> str:
    """A space in a few words; the bounds of a Box would fill lines."""
    if not isinstance(space, Box):
        return str(space)
    return f"Box, {' x '.join(map(str, space.shape)) or 1} number{'' if space.shape in ((), (1,)) else 's'}"


_TELLS_RULES = (
    "FrozenLake-v1, CliffWalking-v1, Taxi-v4 and the toy walk (general_cfg.env_name=toy env_cfg.id=walk) do, in their "
    "attribute P; wrappers that change observations, actions or rewards make it untrue"
)
_HAS_GOAL = (
    "it takes a Dict observation with observation, achieved_goal and desired_goal, a method compute_reward, and no "
    "wrapper that changes observations or rewards; the toys bitflip and reach have it, as in general_cfg.env_name=toy "
    "env_cfg.id=bitflip"
)


def _tells_rules(algo: AlgoConfig, env: VectorEnv) -> bool:
    return not algo.NEEDS_MODEL or env.model is not None


def _has_bounds(algo: AlgoConfig, env: VectorEnv) -> bool:
    return not (algo.NEEDS_BOUNDS and isinstance(env.action_space, Box)) or env.action_space.is_bounded()


def _has_goal(algo: AlgoConfig, env: VectorEnv) -> bool:
    spec = algo.memory(rows=1)
    return not (isinstance(spec, ReplaySpec) and spec.relabel) or env.goal is not None


def _able(env: VectorEnv) -> list[str]:
    """Algorithms that can act in this environment, with their defaults."""
    action, observation = type(env.action_space).__name__, type(env.observation_space).__name__
    configs = {name: algos.get(name).Config() for name in algos.available()}
    return [
        name
        for name, algo in configs.items()
        if action in algo.ACTION_SPACES and observation in algo.OBSERVATION_SPACES
        if _tells_rules(algo, env) and _has_bounds(algo, env) and _has_goal(algo, env)
    ]
