"""Vector environments made from gymnasium's environments."""

import functools
import logging
from functools import partial
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from config.own import env_packages
from envs.base import EnvContext, EnvError, VectorEnv
from envs.common import headless, recipe, registry
from envs.common.rows import assemble
from envs.common.vector import GymnasiumVector, mode_of
from envs.common.wrappers import wrap
from envs.gym import native
from envs.gym.agents import Agents
from envs.gym.config import Config
from envs.gym.fresh import FORGETS, Fresh
from envs.gym.pool import Pool
from envs.gym.validate import several_in
from envs.several.multi_agent import MultiAgentVector


def make(cfg: Config, rows: int, context: EnvContext | None = None) -> VectorEnv:
    """Makes a vector environment. Raises EnvError if it cannot be made or violates gymnasium's API."""
    prepare(cfg.render_mode, cfg.id, rows)
    try:
        if cfg.vectorization == "envpool" or (cfg.vectorization == "native" and not _known_to_us(cfg.id)):
            return _make_vector(cfg, rows)
        if several_in(cfg.id):
            return MultiAgentVector.of(cfg, rows, lambda index: Agents(make_scalar(cfg, index)), context)
        env = _make_rows(cfg, rows)
    except EnvError as error:
        if (others := registry.tried_with(cfg.id)) is None:
            raise
        raise EnvError(f"{error}\n{others}") from error
    env.recipe = recipe.of_gymnasium(cfg.id, cfg.constructor, cfg.wrappers)
    return env


def _make_rows(cfg: Config, rows: int) -> VectorEnv:
    """Makes rows that give the numbers of the scalar environment."""
    kind = _rows_of_ours(cfg, rows)
    if kind is None:
        return assemble(partial(make_scalar, cfg), cfg.id, rows, cfg.vectorization, cfg.action_mask)
    scalar = make_scalar(cfg, 0)
    env = GymnasiumVector(mode_of(kind(scalar, rows)), cfg.id, obey_masks=cfg.action_mask)
    env.source_space = scalar.observation_space
    return env


def prepare(render_mode: str | None, name: str, rows: int) -> None:
    """Prepares for rendering in this mode. Raises EnvError if these rows cannot be rendered."""
    if render_mode == "human" and rows > 1:
        raise EnvError(
            "{name}: render_mode human shows one environment, not {rows}; set env_cfg.n_envs: 1", name=name, rows=rows
        )
    if render_mode != "human":
        headless.prepare()


def make_scalar(cfg: Config, index: int) -> gymnasium.Env:
    """Makes the environment of a row with its wrappers. Its API is checked once by us, not by gymnasium at every
    step."""
    spec = registry.lookup(cfg.id)  # registers it, also in a process of its own
    if registry.needs_mujoco(spec):
        _listen_to_mujoco()
    keywords = {**cfg.constructor, **_rendering(cfg)}
    with registry.without_its_warning():
        env: Any = gymnasium.make(cfg.id.rpartition(":")[2], disable_env_checker=True, **keywords)
    package = env_packages.of_id(cfg.id)
    if package and package.forgets:
        env = Fresh(env, FORGETS[package.forgets])
    return wrap(env, cfg.wrappers)


def _rendering(cfg: Config) -> dict[str, Any]:
    """Returns the render_mode argument; none without a mode, since a constructor need not accept it."""
    return {} if cfg.render_mode is None else {"render_mode": cfg.render_mode}


def _rows_of_ours(cfg: Config, rows: int) -> type[native.Rows] | None:
    """Returns our own vector version of a task, which gives the numbers of the scalar one; None where it is not used:
    for one row, which may be drawn, for so few that a loop is faster, with wrappers, and with settings that it does not
    know."""
    if cfg.vectorization not in ("auto", "native") or rows == 1 or cfg.wrappers or cfg.render_mode is not None:
        return None
    kind = _known_to_us(cfg.id)
    if kind is None or (cfg.vectorization == "auto" and rows < kind.LEAST):
        return None
    return kind if cfg.constructor.keys() <= {*kind.SETTINGS, "max_episode_steps"} else None


def _known_to_us(env_id: str) -> type[native.Rows] | None:
    spec = registry.lookup(env_id)
    return native.ROWS.get(str(spec and spec.entry_point))


def _raw_rewards(spec: EnvSpec | None) -> dict[str, bool]:
    """Atari's own vector environment clips rewards by default, and then every score would be that of clipped ones.
    The agent can clip what it learns from (algo_cfg.reward_clip)."""
    return {"reward_clipping": False} if str(spec and spec.vector_entry_point).startswith("ale_py") else {}


def _make_vector(cfg: Config, rows: int) -> VectorEnv:
    """Makes rows that another package steps: envpool, or the package of the environment."""
    try:
        env: Any = Pool(cfg.id, rows, cfg.constructor) if cfg.vectorization == "envpool" else _native(cfg, rows)
        return GymnasiumVector(env, cfg.id, obey_masks=cfg.action_mask)
    except Exception as error:
        raise EnvError(
            "{id} could not be made: {kind}: {error}", id=cfg.id, kind=type(error).__name__, error=error
        ) from error


def _native(cfg: Config, rows: int) -> Any:
    keywords = {**_raw_rewards(registry.lookup(cfg.id)), **cfg.constructor, **_rendering(cfg)}
    with registry.without_its_warning():
        return mode_of(gymnasium.make_vec(cfg.id, rows, vectorization_mode="vector_entry_point", **keywords))


def _listen_to_mujoco() -> None:
    """Redirects MuJoCo's warnings: its C code repeats them and writes MUJOCO_LOG.TXT to the current folder."""
    import mujoco

    mujoco.set_mju_user_warning(_warned_by_mujoco)


@functools.cache
def _warned_by_mujoco(text: str) -> None:
    """Logs each warning once, except deprecations that only the authors of the environment's model can fix."""
    if "is deprecated" not in text:
        logging.getLogger("joystick").warning("MuJoCo: %s", text)
