"""The algorithm and its settings for an environment of which nothing else is known, by fixed rules (--algo auto)."""

import json
import math
from typing import Any, NamedTuple

from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space

from config.read.sources import Source, from_values
from config.tell.language import tr

MOST_PAIRS = 100_000
"""Largest number of pairs of state and action for which a table is learned."""
SHORT = 200_000
"""Steps up to which experience is used again and again, since the environment is what runs out."""
LONG = 1_000_000
"""Steps above which continuous actions are learned from fresh experience, which costs less time for each step."""
LONGEST = 1000
"""Steps of an episode of a table: where nothing else ends it, an early policy may go around in circles."""
USUAL = 100_000
"""Steps of a run whose length is not written."""
OF_IMAGES: list[dict[str, Any]] = [{"layer_type": "linear", "layer_size": [512], "activation": "relu"}]
"""Layers after the convolutions that are put before them."""
OF_GRIDS: list[dict[str, Any]] = [
    {"layer_type": "conv2d", "out_channel": 16, "kernel_size": 3, "stride": 1, "activation": "relu"},
    {"layer_type": "linear", "layer_size": [128], "activation": "relu"},
]
"""Layers for small images, of which each cell matters (Young and Tian, 2019)."""
LARGEST_GRID = 20
"""Largest side of a small image."""


class Task(NamedTuple):
    """Facts about an environment, and the length of the run."""

    actions: Space
    observations: Space
    steps: int = USUAL
    goals: bool = False
    """True if it has goals that can be replaced in hindsight."""
    several: bool = False
    """True if there are several agents."""
    pictures: tuple[str, ...] = ()
    """Parts of a Dict or Tuple observation that are images."""

    @property
    def sees(self) -> bool:
        """True if observations are images, or have some."""
        space = self.observations
        return bool(self.pictures) or (isinstance(space, Box) and len(space.shape) >= 2)


class Choice(NamedTuple):
    """An algorithm, its settings, and the reasons for them."""

    algo: str
    settings: dict[str, Any]
    """By section.key."""
    why: str

    def source(self) -> Source:
        """Returns the settings as a file would give them, below flags and words of the command line."""
        sections: dict[str, dict[str, Any]] = {"general_cfg": {"preset": "none"}}
        for path, value in self.settings.items():
            section, _, key = path.partition(".")
            sections.setdefault(section, {})[key] = value
        return from_values(sections, "--algo auto")

    def words(self) -> list[str]:
        """Returns the settings as words of a command line."""
        return [
            f"{path}={json.dumps(value) if isinstance(value, bool | dict | list) else value}"
            for path, value in self.settings.items()
        ]


def choose(task: Task) -> Choice:
    """Returns the algorithm for a task."""
    if task.several:
        return _ppo(task, tr("several agents, which learn by themselves with one network"))
    if _table_of(task) is not None:
        return _table(task)
    match task.actions:
        case Discrete():
            return _for_discrete(task, int(task.actions.n))
        case Box() if task.actions.is_bounded():
            return _for_box(task)
        case Box():
            return _ppo(task, tr("continuous actions without bounds"))
        case _:
            source = getattr(task.actions, "source", task.actions)  # of the flat actions of a Tuple or Dict
            return _ppo(task, tr("actions of several numbers ({space})", space=type(source).__name__))


def _for_discrete(task: Task, count: int) -> Choice:
    if task.goals:
        why = tr("goals, and {count} actions: goals are replaced in hindsight", count=count)
        return _dqn(task, why, **{"algo_cfg.her_ratio": 0.8, "algo_cfg.n_step": 1})
    if task.sees:
        return _ppo(task, tr("images, and {count} actions", count=count))
    if task.steps > SHORT:
        return _ppo(task, tr("{count} actions, and steps enough for fresh experience", count=count))
    why = tr("{count} actions, and at most {steps:,} steps: experience is used again", count=count, steps=SHORT)
    return _dqn(task, why)


def _for_box(task: Task) -> Choice:
    if task.goals:
        return _sac(task, "SAC_HER", tr("continuous actions and goals, which are replaced in hindsight"))
    if task.sees:
        return _ppo(task, tr("images, and continuous actions"))
    if task.steps > LONG:
        return _ppo(task, tr("continuous actions, and more than {steps:,} steps", steps=LONG))
    why = tr("continuous actions, and at most {steps:,} steps: experience is used again", steps=LONG)
    return _sac(task, "SAC", why)


def _table_of(task: Task) -> int | None:
    """Returns the number of pairs of state and action, if a table of them is small enough."""
    space = task.observations
    if not isinstance(task.actions, Discrete):
        return None
    match space:
        case Discrete():
            states = int(space.n)
        case MultiDiscrete():
            states = math.prod(space.nvec.reshape(-1).tolist())
        case MultiBinary():
            states = 2 ** int(math.prod(space.shape))
        case _:
            return None
    pairs = states * int(task.actions.n)
    return pairs if pairs <= MOST_PAIRS else None


def _run(steps: int, rows: int) -> dict[str, Any]:
    """Returns how long a run is, with twenty evaluations on the way."""
    return {
        "general_cfg.max_total_step": steps,
        "general_cfg.max_episode": -1,
        "general_cfg.online_eval": True,
        "general_cfg.online_eval_episode": 20,
        "general_cfg.model_save_unit": "step",
        "general_cfg.model_save_fre": max(1, steps // 20),
        "env_cfg.n_envs": rows,
    }


def _table(task: Task) -> Choice:
    states = (_table_of(task) or 0) // int(task.actions.n)  # type: ignore[attr-defined]
    why = tr("{states:,} states, so few that a table holds the value of each action", states=states)
    settings = {"lr": 0.2, "gamma": 0.99, "epsilon_decay": max(1, task.steps // 10), "epsilon_end": 0.02}
    run = {**_run(task.steps, 1), "general_cfg.max_step": LONGEST}
    return Choice("QLearning", {**run, **_section(settings)}, why)


def _dqn(task: Task, why: str, **more: Any) -> Choice:
    settings = {
        "gamma": 0.99, "lr": 1e-3, "batch_size": 64, "train_fre": 4, "updates_per_train": 4, "target_update": 200,
        "learning_starts": _warmup(task), "n_step": 3, "epsilon_decay": max(1, task.steps // 8), "epsilon_end": 0.02,
        "normalize_obs": not task.sees, "max_grad_norm": 10,
    }  # fmt: skip
    return Choice("DQN", {**_run(task.steps, 1), **_section(settings), **more}, why)


def _sac(task: Task, algo: str, why: str) -> Choice:
    short = task.steps <= SHORT // 4
    settings = {
        "gamma": 0.99, "actor_lr": 1e-3 if short else 3e-4, "critic_lr": 1e-3 if short else 3e-4,
        # noise that lasts over steps finds a reward that noise in each step never reaches
        "learning_starts": _warmup(task), "start_steps": 0, "noise_repeat": 16,
    }  # fmt: skip
    return Choice(algo, {**_run(task.steps, 1), **_section(settings)}, why)


def _ppo(task: Task, why: str) -> Choice:
    usual = {
        "lr": 3e-4 if task.steps > LONG // 2 else 1e-3, "lr_schedule": "linear", "gamma": 0.99, "gae_lambda": 0.95,
        "entropy_coef": 0.0, "normalize_obs": not task.sees and isinstance(task.observations, Box),
        "normalize_reward": isinstance(task.actions, Box) and not task.several,
    }  # fmt: skip
    rows, own = _ppo_by_task(task)
    return Choice("PPO", {**_run(task.steps, rows), **_section({**usual, **own})}, why)


def _ppo_by_task(task: Task) -> tuple[int, dict[str, Any]]:
    """Returns the number of rows, and the settings that differ from the usual ones."""
    if task.sees:
        window = _window(task, 2048 if task.several else 4096)
        return 16, {
            "lr": 5e-4 if task.several else 3e-4 if task.steps > LONG else 1e-3,
            "batch_size": window, "sgd_batch_size": max(64, window // 8), "k_epochs": 4, "entropy_coef": 0.01,
            **({"branches": {name: [] for name in task.pictures}} if task.pictures else {}),
            **dict.fromkeys(("actor_layers", "critic_layers"), _layers(task.observations)),
        }  # fmt: skip
    if task.several:
        window = _window(task, 2048)
        return 16, {"lr": 5e-4, "batch_size": window, "sgd_batch_size": max(64, window // 8), "k_epochs": 8}
    if isinstance(task.actions, Box):
        return 8, {"batch_size": _window(task, 4096), "sgd_batch_size": 256, "k_epochs": 10}
    return 16, {
        "gamma": 0.999, "gae_lambda": 0.98, "batch_size": _window(task, 16384), "sgd_batch_size": 64, "k_epochs": 4,
        "entropy_coef": 0.01,
    }  # fmt: skip


def _layers(space: Space) -> list[dict[str, Any]]:
    """Returns the layers of networks for images."""
    sides = space.shape if isinstance(space, Box) else ()
    return OF_GRIDS if len(sides) == 3 and max(sides) <= LARGEST_GRID else OF_IMAGES


def _window(task: Task, most: int) -> int:
    """Returns how much experience is learned from at once: a power of two, about a sixtieth of the run."""
    return min(max(2 ** int(math.log2(max(2, task.steps // 60))), 512), most)


def _warmup(task: Task) -> int:
    return min(1000, max(64, task.steps // 20))


def _section(settings: dict[str, Any]) -> dict[str, Any]:
    return {f"algo_cfg.{key}": value for key, value in settings.items()}
