"""--algo auto: looks at the environment, and chooses an algorithm and its settings."""

from argparse import Namespace
from collections.abc import Sequence

from config.read import presets
from config.read.loader import ConfigError, load
from config.read.run_config import RunConfig
from config.system.terminal import quoted
from config.tell.language import tr
from envs.base import EnvError
from framework.assemble import build
from framework.assemble.algorithm_choice import USUAL, Choice, Task, choose
from framework.catalog import ALGOS, ENVS

LEAST_OF_IMAGE = 3
"""Number of axes from which a part of a Dict or Tuple observation is an image."""


def chosen(request: Namespace, words: Sequence[str]) -> tuple[Choice, list[str]]:
    """Returns the choice for the environment of a request, and notes for the user. words: settings that are written.
    Raises ConfigError if there is no environment to look at."""
    if request.yaml or request.resume or request.test:
        raise ConfigError("--algo auto chooses for an environment; leave out --yaml, --resume and --test")
    if "," in (request.env or ""):
        raise ConfigError("--algo auto chooses for one environment, and --env names several: {env}", env=request.env)
    ours = [word for word in words if not word.startswith("algo_cfg.")]
    flags = [flag for flag in request.abbreviated if not flag[1].startswith("algo_cfg.")]
    options = {"find_algo": ALGOS, "find_env": ENVS, "allow_import": request.allow_import, "abbreviated": flags}
    config = load(None, [*ours, "general_cfg.preset=none"], algo="PPO", env=request.env, stop=request.stop, **options)
    choice = choose(_task(config))
    return choice, _notes(choice, config)


def _task(config: RunConfig) -> Task:
    """Returns the facts of an environment."""
    try:
        env = build.make_env(config, 1)
    except EnvError as error:
        raise ConfigError(str(error)) from error
    try:
        limit = config.general.max_total_step if "general_cfg.max_total_step" in config.explicit else USUAL
        steps, several = limit if limit > 0 else USUAL, env.joint is not None
        pictures = tuple(part.name for part in env.parts if len(part.shape) >= LEAST_OF_IMAGE)
        return Task(env.action_space, env.observation_space, steps, env.goal is not None, several, pictures)
    finally:
        env.close()


def _notes(choice: Choice, config: RunConfig) -> list[str]:
    """Returns what was chosen and why, what to write for the same, and which presets there are."""
    settings = " ".join(map(quoted, choice.words()))
    notes = [
        tr("--algo auto: {algo}, since there are {why}", algo=choice.algo, why=choice.why),
        tr("the same is: --algo {algo} general_cfg.preset=none {settings}", algo=choice.algo, settings=settings),
    ]
    tuned = presets.algos_with(presets.folder_name(str(getattr(config.env, "id", ""))))
    if tuned:
        notes.append(tr("tuned presets for this environment: {algos} (--algo NAME)", algos=", ".join(tuned)))
    return notes
