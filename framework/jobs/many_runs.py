"""Builds the members of a group of runs: one for each seed, or for each experiment of a file."""

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch

from config.read.loader import ConfigError, RunConfig
from envs.base import EnvError
from framework.assemble import build, resources
from framework.assemble import fit as compatibility
from framework.disk.task_dir import new_folder
from framework.errors import JoystickError
from framework.jobs import group
from framework.jobs.group import Member
from framework.policies.plan import plan

MOST_OF_A_NAME = 60
"""Characters of an experiment's name that its folder has."""


def run_seeds(config: RunConfig, command_line: list[str], seeds: Sequence[int], jobs: int | None) -> int:
    """Trains once for each seed. Returns the exit status."""
    refuse_loaded(config, "--seeds", "omit --seeds")
    found = checked(config)
    config, show = beside_others(config), config.general.show_fig
    members = [Member(n, f"seed {n}", f"seed_{n}", config, words=(f"general_cfg.seed={n}",)) for n in seeds]
    folder = new_folder("seeds", found.env_id, config.algorithms, config.into, config.start)
    return group.run("seed", members, folder, command_line, jobs, found.fitting, show)


def run_experiments(
    configs: Mapping[str, RunConfig],
    title: str,
    command_line: list[str],
    seeds: Sequence[int] | None,
    jobs: int | None,
    check: Callable[[RunConfig], None],
) -> int:
    """Trains each experiment once, or once for each seed. Returns the exit status. title: of the folder. check: raises
    an error if algorithm and environment do not fit; the problems of all experiments are reported at once."""
    fitting, problems = math.inf, []
    show = any(config.general.show_fig for config in configs.values())
    for name, config in configs.items():
        try:
            refuse_loaded(config, "a group of experiments", "run it alone")
            check(config)
            fitting = min(fitting, checked(config).fitting)
        except (JoystickError, EnvError, ConfigError) as error:
            problems.append(f"{name}: {error}")
    if problems:
        raise ConfigError(problems)
    folders = dict(zip(configs, file_names(configs), strict=True))
    members = [
        member for name, config in configs.items() for member in _members(name, folders[name], config, seeds or ())
    ]
    [safe] = file_names([title])
    folder = new_folder("runs", safe, str(len(members)), members[0].config.into, members[0].config.start)
    return group.run("run", members, folder, command_line, jobs, fitting, show)


def _members(name: str, safe: str, config: RunConfig, seeds: Sequence[int]) -> list[Member]:
    """Returns the run of an experiment, or one for each seed. safe: name for its files."""
    one = Member(name, name, safe, beside_others(config), f"{safe}.yaml", experiment=name)
    return [
        one._replace(
            name=f"{name} {seed}",
            label=f"{name}, seed {seed}",
            folder=f"{safe}_{seed}",
            words=(f"general_cfg.seed={seed}",),
        )
        for seed in seeds
    ] or [one]


def file_names(names: Iterable[str]) -> list[str]:
    """Returns a name of a folder for each name, none twice."""
    found: list[str] = []
    for name in names:
        safe = re.sub(r"[^\w-]+", "-", name).strip("-")[:MOST_OF_A_NAME] or "run"
        later = (f"{safe}_{number}" for number in itertools.count(2))
        found.append(next(each for each in itertools.chain([safe], later) if each.lower() not in map(str.lower, found)))
    return found


def beside_others(config: RunConfig) -> RunConfig:
    """Returns the settings of a run that shares the cores with others, and opens no window."""
    changes = {"torch_threads": config.general.torch_threads or 1, "show_fig": False}
    return replace(config, general=config.general.model_copy(update=changes))


def refuse_loaded(config: RunConfig, who: str, otherwise: str) -> None:
    """Raises ConfigError for a test or a loaded model."""
    for key, wrong, why in (
        ("mode", "test", f"trains; to test one of its runs, {otherwise}"),
        ("load_checkpoint", True, f"starts every run from the beginning; omit it, or {otherwise}"),
    ):
        if getattr(config.general, key) == wrong:
            place = config.where.get(f"general_cfg.{key}", "default")
            raise ConfigError([f"{place}: general_cfg.{key}: {who} {why}"])


class Checked(NamedTuple):
    """Facts about a run that are known before it starts."""

    env_id: str
    fitting: float
    """Number of such runs whose memories fit into this machine."""
    disk: int
    """Bytes of its checkpoints (of one, if its limits do not tell their number) and of the journal of its memory."""
    columns: tuple[str, ...]
    """Columns of its progress.csv."""
    memory: int
    """Bytes of its memories when they are full, and of what is copied from them for a while."""


def checked(config: RunConfig) -> Checked:
    """Refuses once, before there is a folder, what each run would refuse. The agent is built on the CPU, so that this
    process takes no memory of a GPU."""
    env = build.make_env(config, config.env.n_envs)
    try:
        spec = build.env_spec(config, env)
        build.device_of(config)
        agent = build.make_agent(config, spec, config.general.seed, torch.device("cpu"))
        whole = plan(config, compatibility.spec_of_all(config, spec))
        fitting = resources.memories_that_fit(config, whole)
        saves = (resources.checkpoints(config, whole) or 1) * resources.checkpoint_bytes(agent.weights())
        disk = saves + resources.journal_bytes(config, whole)
        rows = build.make_rows(config, agent, whole, env, build.make_callbacks(config))
        return Checked(spec.id, fitting, disk, rows.progress_columns, resources.needed_bytes(config, whole))
    finally:
        env.close()
