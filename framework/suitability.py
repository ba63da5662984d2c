"""Can this algorithm act in this environment? Answered by the environment itself, before torch is imported."""

import algos
import envs
from config.loader import ConfigError, RunConfig
from config.schema import NetworkConfig
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
        place = config.where.get("general_cfg.algo_name", "default")
        raise ConfigError([f"{place}: general_cfg.algo_name: {problem}" for problem in problems])


def _planned(config: RunConfig) -> bool:
    cfg = config.general
    return cfg.mode == "test" or max(cfg.max_episode, cfg.max_total_step, cfg.max_update) > 0


def _problems(config: RunConfig, env: VectorEnv) -> list[str]:
    name, cls = config.algo_package.NAME, type(config.algo)
    env_id = getattr(config.env, "id", config.general.env_name)
    needs = (
        ("actions", env.action_space, cls.ACTION_SPACES),
        ("observations", env.observation_space, cls.OBSERVATION_SPACES),
    )
    return [
        f"{name} needs {kind} that are {' or '.join(known)}; {env_id} has {space}. "
        f"Algorithms that can: {', '.join(_able(env)) or 'none'}"
        for kind, space, known in needs
        if type(space).__name__ not in known
    ]


def _able(env: VectorEnv) -> list[str]:
    """Algorithms that can act in this environment."""
    action, observation = type(env.action_space).__name__, type(env.observation_space).__name__
    classes = {name: algos.get(name).Config for name in algos.available()}
    return [n for n, c in classes.items() if action in c.ACTION_SPACES and observation in c.OBSERVATION_SPACES]
